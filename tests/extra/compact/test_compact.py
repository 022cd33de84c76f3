"""The compact decoder: the tokens of `decode`, the model's own forward, and no waiting for the device."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
import tiny_models
import torch
import transformers
from grouped import grouped
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import EOS, PAD, VOCABULARY, bert_predictor, full_modernbert_predictor, llada_predictor, word_tokenizer
from torch.overrides import TorchFunctionMode

import rws_decode as rws
from rws_decode import RWS, CausalReward, CompactSavings, Confidence, RWSEvery, Savings, Temperature, decode_compact
from rws_decode.canvas.end_of_text import Ends
from rws_decode.canvas.layout import Prompt, lay_out
from rws_decode.canvas.schedule import block_plan
from rws_decode.extra.compact import forward as network_at
from rws_decode.extra.compact import rewards as scoring
from rws_decode.extra.compact import step as gpu_step
from rws_decode.extra.compact.forward import Network
from rws_decode.extra.compact.llama import LeanLlama
from rws_decode.extra.compact.rewards import DeviceScorer
from rws_decode.extra.compact.step import CompactSteps
from rws_decode.predictors import BidirectionalPredictor, attend_both_ways
from rws_decode.step.completion import TokenSampler
from rws_decode.step.step import Decoder, Done, State, run

SIZES = tiny_models.LLAMA_SIZES | {
    "hidden_size": 32,
    "intermediate_size": 48,
    "initializer_range": 0.4,
    "pad_token_id": PAD,
}
SIZES |= {"tie_word_embeddings": False}
LLAMA = transformers.LlamaForCausalLM, transformers.LlamaConfig
NETWORKS: dict[str, Any] = {
    "llama": (*LLAMA, {}),
    "llama with offsets": (*LLAMA, {"attention_bias": True, "mlp_bias": True}),
    "llama, heads of their own": (*LLAMA, {"num_key_value_heads": 4, "head_dim": 16}),
    "mistral": (transformers.MistralForCausalLM, transformers.MistralConfig, {"sliding_window": None}),
    "qwen2": (transformers.Qwen2ForCausalLM, transformers.Qwen2Config, {}),
    "qwen3": (transformers.Qwen3ForCausalLM, transformers.Qwen3Config, {"head_dim": 12}),
}
PROMPTS = ["the cat sat on the mat .", "a dog", "", "it was red and small"]
ONE = {
    name: replace(CompactSavings.nothing(), **{name: True})
    for name in ("graphs", "places", "block_only", "certain", "reuse", "settled")
}
ALL = ONE | {"nothing": CompactSavings.nothing(), "usual": CompactSavings.usual(), "all": CompactSavings()}


def network(name: str, *, both_ways: bool = True, dtype: torch.dtype = torch.float32, seed: int = 0) -> Any:
    torch.manual_seed(seed)
    kind, config, changes = NETWORKS[name]
    settings = config(**SIZES | changes)
    settings._attn_implementation = attend_both_ways() if both_ways else "sdpa"
    model = kind(settings).eval()
    for part in model.modules():
        if getattr(part, "bias", None) is not None:
            torch.nn.init.normal_(part.bias, std=0.2)
        if type(part).__name__ == "Qwen3RMSNorm":
            torch.nn.init.normal_(part.weight, mean=1.0, std=0.2)
    return model.to(dtype)


def bidirectional(name: str, **options: Any) -> BidirectionalPredictor:
    given = {key: options.pop(key) for key in ("dtype", "seed") if key in options}
    return BidirectionalPredictor(network(name, **given), word_tokenizer(), name=name, **options)


@lru_cache
def predictor_named(name: str) -> Any:
    factories: dict[str, Any] = {
        "llada": lambda: bidirectional("llama", precise_rotary=True),
        "dream": lambda: bidirectional("qwen2", shifted=True),
        "bert": bert_predictor,
        "modernbert": full_modernbert_predictor,
        "function": llada_predictor,
    }
    return factories[name]()


def causal_reward(**changes: Any) -> CausalReward:
    torch.manual_seed(3)
    model = transformers.LlamaForSequenceClassification(transformers.LlamaConfig(**SIZES | {"num_labels": 1} | changes))
    return CausalReward(model, word_tokenizer(), mean=0.0, std=0.5, name="causal")


@lru_cache
def reward_named(name: str) -> Any:
    words = rws.CallableReward(lambda prompt, answer: len(set(answer.split())), mean=4.0, std=1.5, name="words")
    return words if name == "words" else causal_reward()


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=settings.default.max_examples // 5)
@given(
    model=st.sampled_from(["llada", "dream", "bert", "modernbert", "function"]),
    reward=st.sampled_from(["words", "causal"]),
    prompts=st.lists(st.sampled_from(PROMPTS), min_size=1, max_size=3),
    scale=st.sampled_from([0.05, 1.0, 8.0, 100.0]),
    rule=st.sampled_from([Temperature, RWS, rws.FlippedReward, lambda scale: RWSEvery(scale, every=2)]),
    policy=st.sampled_from(["none", "suppress"]),
    padding=st.sampled_from(["left", "right"]),
    shape=st.sampled_from([(12, 6, 6), (12, 4, 12), (8, 8, 4)]),
)
def test_the_tokens_are_those_of_decode(
    name: str, model: str, reward: str, prompts: list, scale: float, rule: Any, policy: Any, padding: Any, shape: Any
) -> None:
    options = {"length": shape[0], "steps": shape[1], "block": shape[2], "reward": reward_named(reward)}
    options |= {"end_of_text": policy, "padding": padding}
    predictor, strategy = predictor_named(model), rule(scale)
    full = rws.decode(predictor, prompts, strategy, savings=Savings.nothing(), **grouped(**options))
    less = decode_compact(predictor, prompts, strategy, savings=ALL[name], **grouped(**options))
    for trace, other in zip(full, less, strict=True):
        run, steps = other.commit_step >= 0, other.steps_run
        assert rws.replay(other).diverged_at is None
        same = [np.array_equal(getattr(trace, key)[run], getattr(other, key)[run]) for key in ("commit_step", "tokens")]
        if all(same):
            assert trace.text == other.text
            known = ~np.isnan(other.factor)
            np.testing.assert_allclose(other.factor[known], trace.factor[:steps][known], rtol=1e-4)
            kept = ~np.isnan(other.value) & ~np.isnan(trace.value[:steps])
            np.testing.assert_allclose(other.value[kept], trace.value[:steps][kept], rtol=1e-3, atol=1e-3)
        else:
            # Counted: another arithmetic may round otherwise.
            assert trace.near_ties.any() or trace.near_tokens.any() or other.inexact.any()
        assert run.all() or ALL[name].settled
        assert (other.reward_use != 3).all() or ALL[name].certain
        assert other.reward_calls + other.reward_calls_saved == trace.reward_asked[:steps].sum()


def test_logits_that_are_the_same_give_the_very_trace_of_decode() -> None:
    predictor, reward = predictor_named("bert"), reward_named("words")
    options = {"length": 12, "steps": 6, "block": 6, "reward": reward}
    for strategy in (Confidence(), rws.Schedule(tuple(np.linspace(0.1, 30, 6).tolist())), RWS(8.0)):
        (trace,) = rws.decode(predictor, PROMPTS[:1], strategy, savings=Savings.nothing(), **grouped(**options))
        (other,) = decode_compact(predictor, PROMPTS[:1], strategy, savings=ALL["nothing"], **grouped(**options))
        mine, theirs = trace.arrays(), other.arrays()
        for field in set(mine) - {"value", "factor", "reward_raw", "reward_normalised"}:
            assert np.array_equal(mine[field], theirs[field]), field
        np.testing.assert_allclose(other.value, trace.value, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(other.factor, trace.factor, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "dtype"), [*((name, torch.float32) for name in NETWORKS), ("qwen3", torch.bfloat16)], ids=str
)
def test_the_lean_forward_is_the_models_own(name: str, dtype: torch.dtype) -> None:
    for both_ways in (True, False):
        model = network(name, both_ways=both_ways, dtype=dtype)
        ids = torch.randint(VOCABULARY, (2, 11), generator=torch.Generator().manual_seed(1))
        before = {key: value.clone() for key, value in model.state_dict().items()}
        with torch.inference_mode():
            expected = model.model(input_ids=ids, use_cache=False).last_hidden_state
            assert LeanLlama.supported(model.model)
            states = LeanLlama(model.model, causal=not both_ways)(ids)
            again = model.model(input_ids=ids, use_cache=False).last_hidden_state
        assert states.dtype == dtype
        tolerance = {torch.float32: 2e-5, torch.bfloat16: 0.15}[dtype]
        torch.testing.assert_close(states, expected, rtol=tolerance, atol=tolerance)
        torch.testing.assert_close(again, expected, rtol=tolerance, atol=tolerance)
        assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())


class Silent(CompactSteps):
    """A decoder whose texts are made up, on a device whose tensors have no values."""

    @staticmethod
    def _to_host(tokens: torch.Tensor, proved: torch.Tensor | None) -> Any:
        assert proved is not None and tokens.is_meta
        return [[6] * tokens.shape[1]] * len(tokens), [False] * len(tokens)


ROWS = torch.arange(2)


class OrdinaryCopies(TorchFunctionMode):
    """What is made on the "meta" device of the host's memory: on CUDA the host would wait for such a copy."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        given = [tensor for tensor in args if isinstance(tensor, torch.Tensor) and not tensor.is_meta and tensor.dim()]
        made = isinstance(result, torch.Tensor) and result.is_meta
        if made and (given or function in (torch.tensor, torch.as_tensor)):
            self.found.append(str(function))
        return result


@pytest.mark.parametrize("strategy", [Temperature(3.0), RWS(8.0), RWSEvery(8.0, 2)], ids=lambda s: s.name)
def test_a_step_asks_nothing_of_the_device_but_the_text(strategy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def sent(host: torch.Tensor, device: torch.device) -> torch.Tensor:
        return torch.empty(host.shape, dtype=host.dtype, device=device)

    for module in (gpu_step, scoring, network_at):
        monkeypatch.setattr(module, "sent", sent)
    # Tensors of the meta device have no values: whatever looks at one, or has a shape that depends on one, raises.
    reward = causal_reward()
    reward.model.to("meta")
    predictor = BidirectionalPredictor(network("llama").to("meta"), word_tokenizer(), name="meta")
    savings = replace(CompactSavings(), settled=False, reuse=False)
    prompts = [[6, 7], [8, 9, 10]]
    texts, saved = [Prompt([], "a"), Prompt([], "b")], {"reuse": False, "cache": False, "replay": True}
    scorer = DeviceScorer(predictor, reward, texts, **saved, device=predictor.device)
    greedy = TokenSampler(0.0, 0, 2)
    decoder = Decoder(predictor, strategy, block_plan(12, 6, 6), rws.Options(), Ends(), greedy, scorer, 2)
    did: list[Done] = []
    with torch.inference_mode():
        state = State(0, lay_out(predictor, prompts, 12), torch.ones(2, 12, dtype=torch.bool, device="meta"), ROWS)
        with OrdinaryCopies() as copies:
            loop = Silent(Network(predictor, state.canvas, [], savings), savings)
            run(replace(decoder, step=loop.step, going=loop.going), state, [lambda _, done: did.append(done)])
    assert copies.found == []
    assert [done.dtype for done in did] == [torch.float32] * 6
    for done in did:
        rewards = [] if done.reward is None else [done.reward.raw, done.reward.normalised]
        arrays = [done.factor, done.choice.candidate, done.choice.chosen, *done.choice.diagnosis, *rewards]
        assert all(array.is_meta for array in arrays)
    assert sum(done.reward is not None for done in did) == {"rws": 6, "rws-every": 3}.get(strategy.name, 0)


def test_a_batch_ends_with_the_block_in_which_all_rows_have_ended() -> None:
    table = torch.zeros(13, VOCABULARY)
    for position in range(13):
        table[position, EOS if position > 4 else 7] = 20.0 - position
    options = {"mask_id": tiny_models.MASK, "end_id": EOS, "vocab_size": VOCABULARY, "decode": str}
    predictor = tiny_models.fixed_predictor(table, **options)
    options = {"length": 12, "steps": 12, "block": 6}
    (full,) = decode_compact(predictor, [[6]], Confidence(), savings=CompactSavings.nothing(), **grouped(**options))
    (short,) = decode_compact(predictor, [[6]], Confidence(), **grouped(**options))
    assert (full.steps_run, short.steps_run, short.forwards) == (12, 6, 6)
    assert short.tokens.tolist() == full.tokens.tolist() and short.text == full.text
