"""What the decoder promises about masks, prompts, rewards and ties."""

import math
from typing import Any

import numpy as np
import pytest
import tiny_models
import torch
from examples import examples
from grouped import grouped
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import CLS, EOS, MASK, PAD, SEP, VOCABULARY, fixed_predictor, llada_predictor, modernbert_predictor
from torch import Tensor

from rws_decode import RWS, CallablePredictor, CallableReward, Confidence, Options, Savings, Shape, Temperature, decode

PREDICTORS = {"bert": tiny_models.bert_predictor(), "modernbert": modernbert_predictor(), "llada": llada_predictor()}


def table_predictor(table: Tensor, **options: object) -> CallablePredictor:
    return fixed_predictor(table, **{"mask_id": MASK, "pad_id": PAD, "end_id": EOS, "vocab_size": VOCABULARY} | options)


def test_mask_padding_and_declared_ids_are_never_committed() -> None:
    table = torch.zeros(8, VOCABULARY)
    table[:, MASK], table[:, PAD], table[:, CLS], table[:, SEP], table[:, 9] = 50.0, 40.0, 30.0, 20.0, 10.0
    predictor = table_predictor(table, forbidden_ids=(CLS, SEP))
    (trace,) = decode(predictor, [[7]], Confidence(), Shape(length=4, steps=2, block=4))
    assert trace.tokens.tolist() == [9] * 4
    assert not np.isin(trace.candidate, [MASK, PAD, CLS, SEP]).any()
    # Forbidden tokens take no probability either: 20 others share what 9 leaves.
    assert trace.value[0, 0] == pytest.approx(10 - math.log(VOCABULARY - 5))


class Spy(CallablePredictor):
    def __init__(self) -> None:
        table = torch.randn(40, VOCABULARY, generator=torch.Generator().manual_seed(3))
        named = {"mask_id": MASK, "pad_id": PAD, "end_id": EOS, "vocab_size": VOCABULARY}

        def logits(canvas: Tensor) -> Tensor:
            return table[: canvas.shape[1]].expand(len(canvas), -1, -1) + canvas.cumsum(1)[..., None] % 7 * table[:1]

        super().__init__(logits, **named, decode=lambda ids: " ".join(map(str, ids)))
        self.seen: list[tuple[Tensor, Tensor | None]] = []

    def logits(self, canvas: Tensor, attention_mask: Tensor | None) -> Tensor:
        self.seen.append((canvas.clone(), attention_mask))
        return super().logits(canvas, attention_mask)


@given(st.lists(st.lists(st.sampled_from(range(6, VOCABULARY)), max_size=5), min_size=1, max_size=3), st.integers(0, 2))
@settings(max_examples=examples(100))
def test_only_masks_of_the_current_block_ever_change(prompts: list[list[int]], rule: int) -> None:
    predictor = Spy()
    strategy = (Confidence(), Temperature(5.0), RWS(4.0))[rule]
    reward = CallableReward(lambda prompt, answer: float(len(prompt + answer) % 5))
    batch = decode(predictor, prompts, strategy, Shape(length=8, steps=4, block=4), reward=reward)
    assert len(predictor.seen) == 4
    final = batch.tokens
    for row, prompt in enumerate(prompts):
        width = len(prompt) + 8
        for step, (canvas, attention_mask) in enumerate(predictor.seen):
            line = canvas[row].tolist()
            assert line[: len(prompt)] == prompt
            assert line[width:] == [PAD] * (len(line) - width)
            done = batch[row].commit_step < step
            assert line[len(prompt) : width] == np.where(done, final[row], MASK).tolist()
            assert done[4:].sum() == 0 or step > 2
            assert (attention_mask is None) == (len({len(p) for p in prompts}) == 1)
            if attention_mask is not None:
                assert attention_mask[row].tolist() == [True] * width + [False] * (len(line) - width)


def test_the_reward_reads_prompt_and_the_whole_completed_answer() -> None:
    calls: list[tuple[str, str]] = []

    def remember(prompt: str, answer: str) -> float:
        calls.append((prompt, answer))
        return 0.0

    (trace,) = decode(Spy(), [[7, 8]], RWS(4.0), Shape(length=8, steps=8, block=4), reward=CallableReward(remember))
    completions = [" ".join(map(str, row)) for row in trace.candidate.tolist()]
    completions = [text.split(f" {EOS}")[0] for text in completions]
    assert [prompt for prompt, _ in calls] == ["7 8"] * len(calls)
    assert [answer for _, answer in calls] == list(dict.fromkeys(completions))
    assert trace.reward_calls == len(calls) < 8
    assert trace.reward_calls + trace.reward_calls_saved == 8
    assert trace.factor == pytest.approx(4 * math.sqrt(0.5 + 1e-5))


def test_every_setting_of_a_decode_is_recorded_and_the_usual_ones_are_these() -> None:
    (plain,) = decode(table_predictor(torch.zeros(65, VOCABULARY)), [[7]], Confidence())
    usual = {"reuse": True, "cache": True, "certain": False, "block_only": False, "settled": False}
    usual |= {"batch_invariant": False}
    assert plain.metadata() == {
        **{"length": 64, "steps": 32, "steps_run": 32, "block": 32, "ranking": "log-odds", "precision": "float64"},
        **{"logits_dtype": "float32", "strategy": {"name": "default"}, "predictor": "callable", "reward_model": None},
        **{"reward_settings": {}, "savings": usual | {"spread": None, "memory": 2**30}, "mask_id": MASK, "offset": 1},
        **{"width": 65, "padding": "right", "sampling_temperature": 0.0, "seed": 0, "cfg": 0.0, "end_of_text": "none"},
        **{"end_ids": [], "prompt_text": None, "text": None, "forwards": 32, "reward_calls": 0},
        **{"reward_calls_saved": 0, "reward_tokens": 0, "reward_tokens_saved": 0},
        **{"pieces": {}, "final_reward": None, "log_prob": None, "rules_broken": None},
    }
    score, named = (lambda _, text: len(set(text.split()))), {"mean": 4.0, "std": 1.5, "name": "many-words"}
    bounded = CallableReward(score, bounds=(0.0, math.inf), **named)
    savings = Savings(reuse=False, certain=True, spread=9.0, memory=10**6)
    rest: dict[str, Any] = {"ranking": "probability", "precision": "float32", "padding": "left", "end_of_text": "defer"}
    options = Options(sampling_temperature=1, seed=(3, 4), cfg=1, end_ids=[9, 8], **rest)
    prompts, shape = [[6, 7], "the cat sat"], Shape(length=8, steps=4, block=4)
    how: dict[str, Any] = {"reward": bounded, "savings": savings, "options": options}
    batch = decode(PREDICTORS["llada"], prompts, RWS(2.0, 0.25), shape, **how)
    for trace, seed, prompt in zip(batch, (3, 4), ("the a", "the cat sat"), strict=True):
        assert trace.metadata() == plain.metadata() | rest | {
            **{"length": 8, "steps": 4, "steps_run": 4, "block": 4, "offset": 5, "width": 13, "seed": seed},
            **{"strategy": {"name": "rws", "reward_scale": 2.0, "eps": 0.25}, "predictor": "tiny-llada"},
            **{"reward_model": "many-words", "reward_settings": {"mean": 4.0, "std": 1.5, "bounds": [0.0, None]}},
            "savings": usual | {"reuse": False, "certain": True, "spread": 9.0, "memory": 10**6},
            **{"sampling_temperature": 1.0, "cfg": 1.0, "end_ids": [8, 9], "prompt_text": prompt},
            **{"text": PREDICTORS["llada"].decode_answer(trace.tokens), "forwards": 4, "reward_calls": 4},
            **{"pieces": trace.pieces, "final_reward": trace.final_reward},
        }
        assert trace.pieces and trace.final_reward is not None
        assert type(trace.cfg) is type(trace.sampling_temperature) is float
    assert [trace.prompt.tolist() for trace in batch] == [[6, 7], PREDICTORS["llada"].encode_prompt("the cat sat")]
    assert batch.texts == [trace.text for trace in batch] and batch.reward_calls == 8


@pytest.mark.parametrize(
    ("places", "options", "numbers"),
    [(False, {}, 2 * 8 + 13), (True, {"cfg": 0.5}, 4 * 8), (True, {"ranking": "topk"}, 4 * 8)],
    ids=str,
)
def test_a_batch_takes_the_rows_whose_logits_fit_memory(places: bool, options: dict[str, Any], numbers: int) -> None:
    """A row's logits are `numbers` times the vocabulary, of 4 bytes; 13 columns: the longest prompt and the answer."""
    table = torch.randn(13, VOCABULARY, generator=torch.Generator().manual_seed(0))
    predictor = table_predictor(table)
    if places:
        predictor.logits_at = lambda canvas, mask, row, column: table[column].clone()  # type: ignore[attr-defined]
    row = 4 * VOCABULARY * numbers
    forwards = []
    for memory in (4 * row, 4 * row - 1, 2 * row, 2 * row - 1):
        arguments = grouped(length=8, steps=2, block=8, **options, savings=Savings(memory=memory))
        forwards.append(decode(predictor, [[7] * n for n in (5, 0, 3, 1)], Confidence(), **arguments).forwards)
    assert forwards == [2, 4, 4, 8]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_outputs_that_are_not_numbers_are_named(value: float) -> None:
    broken = CallableReward(lambda prompt, answer: value, name="broken")
    with pytest.raises(ValueError, match=rf"^reward model broken scored {value} for prompt 'a dog'"):
        decode(PREDICTORS["bert"], ["a dog"], RWS(1.0), Shape(length=2, steps=1, block=2), reward=broken)
    table = torch.zeros(9, VOCABULARY)
    table[3, 9] = value
    with pytest.raises(ValueError, match=r"^predictor odd gives no finite largest logit at step 0$"):
        decode(table_predictor(table, name="odd"), [[7]], Confidence(), Shape(length=4, steps=1, block=4))
