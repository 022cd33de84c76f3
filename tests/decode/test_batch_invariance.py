"""A batch-invariant decode: no bit of a prompt's trace depends on what else is decoded, nor in what order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import bert_predictor, llada_predictor, modernbert_predictor

from rws_decode.canvas.batches import batches
from rws_decode.decode import decode
from rws_decode.predictors import CallablePredictor, load_predictor
from rws_decode.rewards import CausalReward, SequenceClassifierReward, load_reward
from rws_decode.settings import Options, Savings, Shape
from rws_decode.testing.networks import bert_classifier, llama_classifier, word_tokenizer
from rws_decode.trace.file import trace_bytes

INVARIANT = Savings(batch_invariant=True)
PREDICTORS = {"bert": bert_predictor(), "modernbert": modernbert_predictor(), "llada": llada_predictor()}
REWARDS = {
    "classifier": SequenceClassifierReward(bert_classifier(), word_tokenizer(), mean=0.0, std=0.3, name="tiny"),
    "causal": CausalReward(llama_classifier(), word_tokenizer(), mean=0.0, std=0.3, name="tiny-causal"),
}
PROMPTS = ["the cat sat on the mat .", "a dog", "", "it was red and small", "a dog"]


@given(
    st.sampled_from(sorted(PREDICTORS)),
    st.sampled_from(sorted(REWARDS)),
    st.sampled_from(["default", "rws:8", "entropy", "threshold:0.6+rws:8"]),
    st.lists(st.integers(0, len(PROMPTS) - 1), min_size=2, max_size=4),
    st.sampled_from([Options(), Options(sampling_temperature=0.8), Options(cfg=0.7, padding="left")]),
    st.sampled_from([INVARIANT, Savings(batch_invariant=True, certain=True, block_only=True, settled=True)]),
)
@settings(max_examples=examples(60), deadline=None)
def test_a_row_has_the_bytes_of_the_row_alone(
    model: str, reward: str, strategy: str, rows: list[int], options: Options, savings: Savings
) -> None:
    shape, told = Shape(8, 4, 4), {"options": options, "savings": savings, "reward": REWARDS[reward]}
    prompts = [PROMPTS[row] for row in rows]
    together = decode(PREDICTORS[model], prompts, strategy, shape, **told)  # type: ignore[arg-type]
    for prompt, trace in zip(prompts, together, strict=True):
        (alone,) = decode(PREDICTORS[model], [prompt], strategy, shape, **told)  # type: ignore[arg-type]
        assert trace_bytes(alone) == trace_bytes(trace)


@pytest.mark.parametrize("reward", ["mini", "mini-judge"])
def test_the_shipped_models_give_a_row_the_bytes_of_the_row_alone(reward: str) -> None:
    predictor, model, shape = load_predictor("mini"), load_reward(reward), Shape(32, 8, 32)
    told: dict[str, Any] = {"shape": shape, "reward": model, "savings": INVARIANT}
    prompts = [predictor.prompts[0], f"{predictor.prompts[1]} {predictor.prompts[2]}", predictor.prompts[3]]
    alone = [trace_bytes(decode(predictor, [prompt], "rws:8", **told)[0]) for prompt in prompts]
    assert [trace_bytes(trace) for trace in decode(predictor, prompts, "rws:8", **told)] == alone
    assert [trace_bytes(trace) for trace in decode(predictor, prompts[::-1], "rws:8", **told)] == alone[::-1]


class CountingReward:
    """A reward that says how many texts it was given at once."""

    name, mean, std = "counting", 0.0, 1.0

    def score(self, prompts: Sequence[str], answers: Sequence[str]) -> list[float]:
        """Return a tenth of the number of texts, for each."""
        return [0.1 * len(answers)] * len(answers)


def test_models_whose_bits_depend_on_the_batch_are_asked_for_one_row_at_a_time() -> None:
    """Stand-ins whose numbers say how many rows, and how many columns, they were given."""
    table = torch.linspace(0.0, 3.0, 7)

    def logits(canvas: torch.Tensor) -> torch.Tensor:
        return (table * (1.0 + len(canvas) / 64 + canvas.shape[1] / 1024)).expand(*canvas.shape, -1)

    predictor = CallablePredictor(logits, mask_id=0, decode=lambda ids: " ".join(map(str, ids)))
    predictor._encode = lambda text: [1] * len(text)
    same = {}
    for savings in (Savings(), INVARIANT):
        told: dict[str, Any] = {"shape": Shape(4, 4, 4), "reward": CountingReward(), "savings": savings}
        both, (alone,) = decode(predictor, ["a", "bcd"], "rws:8", **told), decode(predictor, ["a"], "rws:8", **told)
        pairs = ((both[0].value, alone.value), (both[0].reward_raw, alone.reward_raw))
        same[savings.batch_invariant] = [np.array_equal(*pair, equal_nan=True) for pair in pairs]
    assert same == {False: [False, False], True: [True, True]}


@given(st.lists(st.integers(0, 9), max_size=6), st.sampled_from([None, 1, 5]), st.sampled_from([None, 0.0]))
def test_each_row_is_a_batch_of_its_own(widths: list[int], row_bytes: int | None, spread: float | None) -> None:
    groups = batches(widths, row_bytes, 100, spread, alone=True)
    assert sorted(groups) == [[row] for row in range(len(widths))]
