"""RWS in Dream's hooks, against a stand-in of Dream's published sampling loop; and as a model of lm-eval."""

import math
from collections.abc import Callable
from importlib.util import find_spec
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import CLS, EOS, MASK, PAD, SEP, bert, bert_predictor, word_tokenizer
from torch import Tensor

from rws_decode import RWS, CallableReward, MaskPredictor, Shape, strategy_log_prob
from rws_decode.extra.adapters.dream import DreamHooks
from rws_decode.extra.adapters.generation import generate
from rws_decode.extra.adapters.lm_eval import RWSLM
from rws_decode.extra.testing import exact_predictor
from rws_theory import reward_factor
from rws_theory.worlds import JointTable

Hook = Callable[..., Tensor]
MODEL, CODEC = bert(), word_tokenizer()
PROMPTS = ["the cat sat", "a dog ran", "it was red"]
IDS = torch.tensor([[CLS, *CODEC(prompt, add_special_tokens=False)["input_ids"], SEP] for prompt in PROMPTS])
LENGTH = 8
REWARD = CallableReward(lambda prompt, answer: len(set(answer.split())) + 0.1 * len(prompt), mean=4.0, std=1.5)


def words(ids: list[int]) -> str:
    return CODEC.decode(ids, skip_special_tokens=True)


def dream(
    tokens_hook: Hook, logits_hook: Hook, *, steps: int = 5, alg: str = "maskgit_plus", dtype: torch.dtype | None = None
) -> tuple[Tensor, list[Tensor]]:
    """Sample as Dream does: int(masks (1 - s / t)) commits, topk by row; return the last canvas and all."""
    x = torch.nn.functional.pad(IDS, (0, LENGTH), value=MASK)
    times = torch.linspace(1, 1e-3, steps + 1)
    x, history = tokens_hook(None, x, None), []
    for step in range(steps):
        masked = x == MASK
        with torch.no_grad():
            logits = MODEL(input_ids=x).logits
        logits[..., [PAD, MASK]] = -1e4
        logits = logits_hook(step, x, logits if dtype is None else logits.to(dtype))
        probabilities = logits[masked].softmax(dim=-1)
        best, token = probabilities.max(dim=-1)
        if alg == "topk_margin":
            two = probabilities.topk(2, dim=-1).values
            best = two[:, 0] - two[:, 1]
        masks = masked.sum() / len(x)
        count = int(masks * (1 - times[step + 1] / times[step])) if step < steps - 1 else int(masks)
        confidence = torch.full(x.shape, -torch.inf, dtype=logits.dtype)
        confidence[masked] = best
        if count:
            positions = confidence.topk(count).indices
            filled = x.masked_scatter(masked, token)
            x = x.scatter(1, positions, filled.gather(1, positions))
        x = tokens_hook(step, x, logits)
        history.append(x.clone())
    return x, history


def slow_factors(x: Tensor, logits: Tensor) -> list[tuple[float, float]]:
    """Return raw reward and RWS factor of each row's greedy completion, one position at a time."""
    factors = []
    for prompt, row, z in zip(PROMPTS, x.tolist(), logits.tolist(), strict=True):
        answer = []
        for column in range(IDS.shape[1], len(row)):
            allowed = [token for token in range(len(z[column])) if token not in (MASK, PAD)]
            best = max(allowed, key=lambda token: z[column][token])
            answer.append(best if row[column] == MASK else row[column])
        text = words(answer[: answer.index(EOS)] if EOS in answer else answer)
        (raw,) = REWARD.score([prompt], [text])
        factors.append((raw, float(reward_factor((raw - REWARD.mean) / REWARD.std, 8.0, 1e-5))))
    return factors


@pytest.mark.parametrize("alg", ["maskgit_plus", "topk_margin"])
def test_the_hook_multiplies_by_the_factor_of_the_greedy_completion(alg: str) -> None:
    rows: list[list[tuple[float, float]]] = []

    def slow(step: int, x: Tensor, logits: Tensor) -> Tensor:
        rows.append(slow_factors(x, logits))
        return logits * torch.tensor([factor for _, factor in rows[-1]])[:, None, None]

    options = {"mask_id": MASK, "end_id": EOS, "prompts": PROMPTS, "reward": REWARD, "decode": words}
    rws = DreamHooks(RWS(8.0), **options, forbidden_ids=[PAD])
    for _ in range(2):  # a second run starts anew
        final, history = dream(rws.tokens, rws.logits, alg=alg)
    expected, slow_history = dream(lambda step, x, logits: x, slow, alg=alg)
    assert torch.equal(final, expected) and not bool((final == MASK).any())
    assert all(map(torch.equal, history, slow_history))
    assert [done.step for done in rws.steps] == [0, 1, 2, 3, 4]
    np.testing.assert_allclose([done.reward_raw for done in rws.steps], [[raw for raw, _ in row] for row in rows])
    np.testing.assert_allclose([done.factor for done in rws.steps], [[factor for _, factor in row] for row in rows])
    assert len(np.unique([done.factor for done in rws.steps])) > 3


PREDICTOR = bert_predictor()
SMALL: dict[str, Any] = {"max_new_tokens": 8, "steps": 4, "block_length": 4}


def requests(*args: Any) -> list[Any]:
    """Make requests of the harness, of its own class where it is installed: the model reads `args` alone."""
    if find_spec("lm_eval") is None:
        return [SimpleNamespace(args=each) for each in args]
    from lm_eval.api.instance import Instance

    return [Instance(request_type="loglikelihood", doc={}, arguments=each, idx=0) for each in args]


def exact_bound(predictor: MaskPredictor, prompt: list[int], answer: list[int]) -> float:
    """Average over all lengths l and all sets of l masked positions, from the definition."""
    total, length = 0.0, len(answer)
    for count in range(1, length + 1):
        sets = list(combinations(range(length), count))
        for places in sets:
            shown = [predictor.mask_id if position in places else token for position, token in enumerate(answer)]
            with torch.inference_mode():
                logits = predictor.logits(torch.tensor([prompt + shown]), None)[0].double().log_softmax(dim=-1)
            inside = sum(float(logits[len(prompt) + position, answer[position]]) for position in places)
            total += inside * length / count / len(sets) / length
    return total


def test_the_estimate_has_the_bound_as_its_mean() -> None:
    context, continuation = "the cat sat", " on the hill"
    model = RWSLM(PREDICTOR, mc_num=8, check_greedy=False)
    prompt, answer = model._pair(context, continuation)
    truth = exact_bound(PREDICTOR, prompt, answer)
    draws = []
    for seed in range(30):
        model.seed = seed
        draws.append(model.loglikelihood(requests((context, continuation)))[0][0])
    assert abs(np.mean(draws) - truth) < 4 * np.std(draws) / math.sqrt(len(draws))
    assert 0 < np.std(draws) < 0.2 * abs(truth)


def test_of_an_exact_model_the_bound_is_the_likelihood() -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(81)).reshape(3, 3, 3, 3)
    predictor = exact_predictor(JointTable(np.log(weights)))

    def text(line: str) -> list[int]:
        return [int(word) for word in line.split()]

    truth = math.log(weights[1, 2, 0, 1] / weights[1].sum())
    assert exact_bound(predictor, [1], [2, 0, 1]) == pytest.approx(truth)
    model = RWSLM(predictor, mc_num=600, batch_size=200, encode=text)
    ((bound, greedy),) = model.loglikelihood(requests(("1", " 2 0 1")))
    assert bound == pytest.approx(truth, abs=0.1)
    # A sample of one token leaves nothing to chance.
    ((likelihood, _),) = RWSLM(predictor, mc_num=1, encode=text).loglikelihood(requests(("1 2 0", " 1")))
    assert likelihood == pytest.approx(math.log(weights[1, 2, 0, 1] / weights[1, 2, 0].sum()))
    (whole,) = RWSLM(predictor, mc_num=600, batch_size=200, encode=text).loglikelihood_rolling(requests(("1 2 0 1",)))
    assert whole == pytest.approx(math.log(weights[1, 2, 0, 1]), abs=0.1)
    assert isinstance(greedy, bool)
    # A strategy's own law is exact: the model's with a token a step (T65), and that of the call with several.
    one = RWSLM(predictor, likelihood="strategy", max_new_tokens=8, steps=8, block_length=8, encode=text)
    assert one.loglikelihood(requests(("1", " 2 0 1")))[0][0] == pytest.approx(truth)
    assert one.loglikelihood_rolling(requests(("1 2 0 1",))) == [pytest.approx(math.log(weights[1, 2, 0, 1]))]
    several = RWSLM(predictor, likelihood="strategy", max_new_tokens=8, steps=4, block_length=8, encode=text)
    law = strategy_log_prob(predictor, [1], [[2, 0, 1]], "default", Shape(3, 2, 3))
    assert several.loglikelihood(requests(("1", " 2 0 1")))[0][0] == pytest.approx(law.log_prob[0])
    assert law.log_prob[0] != pytest.approx(truth)


def test_results_depend_on_neither_order_nor_batches() -> None:
    queries = requests(("the cat", " sat on the mat"), ("a dog", " ran"), ("it was", ""), ("", "red and blue"))
    base = RWSLM(PREDICTOR, mc_num=16).loglikelihood(queries)
    assert base[2] == (0.0, True)
    for size in (3, 16, "auto"):
        turned = RWSLM(PREDICTOR, mc_num=16, batch_size=size).loglikelihood(queries[::-1])[::-1]
        np.testing.assert_allclose([value for value, _ in turned], [value for value, _ in base], rtol=1e-5)
        assert [greedy for _, greedy in turned] == [greedy for _, greedy in base]
    assert RWSLM(PREDICTOR, mc_num=16, seed=1).loglikelihood(queries)[0] != base[0]
    drawn = RWSLM(PREDICTOR, likelihood="strategy", strategy="random-order", check_greedy=False)
    values = [value for value, _ in drawn.loglikelihood(queries)]
    np.testing.assert_allclose([value for value, _ in drawn.loglikelihood(queries[::-1])][::-1], values, rtol=1e-5)
    assert values[2] == 0 and all(value < 0 for value in values[:2])


def test_answers_are_those_of_generate_up_to_the_stops() -> None:
    contexts = ["the cat", "a dog sat on the mat", "it was red"]
    texts = generate(PREDICTOR, contexts, **SMALL).texts
    model = RWSLM(PREDICTOR, **SMALL)
    assert model.generate_until(requests(*((context, {}) for context in contexts))) == texts
    stop = str(texts[0]).split()[1]
    answers = model.generate_until(requests(*((context, {"until": [stop, "zebra", ""]}) for context in contexts)))
    assert answers == [str(text).split(stop)[0] for text in texts] and answers != texts
    assert model.generate_until(requests((contexts[0], {"until": stop}))) == answers[:1]
    two = {"max_gen_toks": 2, "do_sample": False, "temperature": 1.0}
    (short,) = model.generate_until(requests((contexts[0], two)))
    assert short == PREDICTOR.decode_answer(generate(PREDICTOR, contexts[:1], **SMALL).sequences[0, :2].tolist())
