"""What a decode leaves out: the same tokens with and without, and that it is in fact left out."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import tiny_models
import torch
from grouped import grouped
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import EOS, MASK, VOCABULARY, bert_classifier, fixed_predictor, llada_predictor, modernbert_predictor
from tiny_models import word_tokenizer as tiny_tokenizer

import rws_decode as rws
from rws_decode import RWS, CallablePredictor, CallableReward, Confidence, MaskedPositions, RWSEvery, Savings, decode
from rws_decode.job import batches

PREDICTORS = {"bert": tiny_models.bert_predictor(), "modernbert": modernbert_predictor(), "llada": llada_predictor()}
REWARDS = {
    "words": CallableReward(lambda prompt, answer: len(set(answer.split())), mean=4.0, std=1.5, name="words"),
    "classifier": rws.SequenceClassifierReward(bert_classifier(), tiny_tokenizer(), mean=0.0, std=0.3, name="tiny"),
}
PROMPTS = ["the cat sat on the mat .", "a dog", "", "it was red and small"]
KINDS = ("reuse", "cache", "certain", "block_only", "settled")
ONE = {name: replace(Savings.nothing(), **{name: True}) for name in KINDS}
ALL = ONE | {
    "everything": Savings.everything(),
    "all but settled": replace(Savings.everything(), settled=False),
    "batches of one length": Savings(spread=0.0),
    "batches of one row": Savings(batch_invariant=True),
    "small batches": replace(Savings.everything(), memory=2 * 4 * VOCABULARY * 12 * 2),
}


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=settings.default.max_examples // 5)
@given(
    model=st.sampled_from(sorted(PREDICTORS)),
    reward=st.sampled_from(sorted(REWARDS)),
    prompts=st.lists(st.sampled_from(PROMPTS), min_size=1, max_size=3),
    scale=st.sampled_from([0.05, 1.0, 8.0, 100.0]),
    rule=st.sampled_from([RWS, rws.FlippedReward, lambda scale: RWSEvery(scale, every=2)]),
    policy=st.sampled_from(["none", "suppress", "defer", "defer-published"]),
    drawn=st.sampled_from([0.0, 0.0, 0.7]),
    shape=st.sampled_from([(12, 6, 6), (12, 4, 12), (8, 8, 4)]),
)
def test_tokens_are_the_same_with_each_saving(
    name: str, model: str, reward: str, prompts: list, scale: float, rule: Any, policy: Any, drawn: float, shape: Any
) -> None:
    options = {"length": shape[0], "steps": shape[1], "block": shape[2], "reward": REWARDS[reward]}
    options |= {"end_of_text": policy, "sampling_temperature": drawn, "seed": 5}
    predictor, strategy = PREDICTORS[model], rule(scale)
    full = decode(predictor, prompts, strategy, savings=Savings.nothing(), **grouped(**options))
    less = decode(predictor, prompts, strategy, savings=ALL[name], **grouped(**options))
    for trace, other in zip(full, less, strict=True):
        run = other.commit_step >= 0
        if (
            trace.near_ties[: other.steps_run].any() or trace.near_tokens[: other.steps_run].any()
        ) and not np.array_equal(trace.commit_step[run], other.commit_step[run]):
            continue  # counted: the forwards of another batch may round otherwise
        assert np.array_equal(trace.commit_step[run], other.commit_step[run])
        assert np.array_equal(trace.tokens[run], other.tokens[run])
        assert trace.text == other.text
        assert run.all() or ALL[name].settled
        known = ~np.isnan(other.factor)
        np.testing.assert_allclose(other.factor[known], trace.factor[: other.steps_run][known], rtol=1e-5)


def ending_after(kept: int) -> torch.Tensor:
    """Logits [12, V] that put words in the first positions and the end of text in all others, left ones surer."""
    z = torch.zeros(12, VOCABULARY)
    for position in range(12):
        z[position, EOS if position >= kept else 7] = 20.0 - position
    return z


def test_a_row_leaves_once_its_text_is_settled() -> None:
    tables, rows = {6: ending_after(3), 7: ending_after(9)}, []

    def logits(canvas: torch.Tensor) -> torch.Tensor:
        rows.append(canvas[:, 0].tolist())
        return torch.stack([torch.cat([torch.zeros(1, VOCABULARY), tables[int(row[0])]]) for row in canvas])

    predictor = CallablePredictor(logits, mask_id=MASK, end_id=EOS, vocab_size=VOCABULARY, decode=str)
    options = {"length": 12, "steps": 12, "block": 12}
    full = decode(predictor, [[6], [7]], Confidence(), **grouped(**options))
    rows.clear()
    short, long = decode(predictor, [[6], [7]], Confidence(), savings=Savings(settled=True), **grouped(**options))
    assert rows == [[6, 7]] * 4 + [[7]] * 6
    assert (short.steps_run, long.steps_run, short.forwards, long.forwards) == (4, 10, 4, 10)
    assert short.tokens.tolist() == full[0].tokens.tolist() == [7] * 3 + [EOS] * 9
    assert short.commit_step.tolist() == [0, 1, 2, 3] + [-1] * 8
    assert (short.text, long.text) == (full[0].text, full[1].text)

    # The rows that stay keep the rewards that are their own.
    score = CallableReward(lambda prompt, answer: float(answer.count("7")), std=4.0)
    options |= {"reward": score, "savings": Savings(settled=True, reuse=False)}
    for row, trace in zip([6, 7, 7], decode(predictor, [[6], [7], [7]], RWS(2.0), **grouped(**options)), strict=True):
        kept, steps = (3.0, 4) if row == 6 else (9.0, 10)
        assert trace.reward_raw.tolist() == [kept] * steps and trace.reward_use.tolist() == [1] * steps


def test_a_reward_that_cannot_matter_is_not_asked_and_the_trace_says_so() -> None:
    answers = []
    reward = CallableReward(lambda prompt, answer: answers.append(answer) or 0.0)
    predictor = fixed_predictor(ending_after(12), mask_id=MASK, encode=lambda text: [], decode=str)
    options = {"length": 12, "steps": 6, "block": 12, "reward": reward}
    (full,) = decode(predictor, [""], RWS(8.0), savings=Savings.nothing(), **grouped(**options))
    assert len(answers) == full.reward_calls == 6 and full.reward_calls_saved == 0
    answers.clear()
    (less,) = decode(predictor, [""], RWS(8.0), savings=Savings(certain=True), **grouped(**options))
    assert answers == [less.text] and less.reward_calls == 0 and less.reward_calls_saved == 6
    assert (less.reward_use == 3).all() and np.isnan(less.factor).all()
    assert np.array_equal(full.commit_step, less.commit_step)
    # In other numbers what the path proves of exact ones need not hold: the reward is asked.
    for ranking, precision in (("probability", "bfloat16"), ("probability", "float64"), ("log-odds", "float32")):
        rounded = options | {"ranking": ranking, "precision": precision}
        (asks,) = decode(predictor, [""], RWS(8.0), savings=Savings(certain=True), **grouped(**rounded))
        assert (asks.reward_use > 0).all() and not (asks.reward_use == 3).any()


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=20),
    st.integers(1, 40),
    st.integers(1, 200),
    st.none() | st.floats(0, 2),
)
def test_batches_hold_rows_once_within_limits(widths: list[int], row: int, memory: int, spread: float | None) -> None:
    partition = batches(widths, row, memory, spread)
    assert sorted(index for batch in partition for index in batch) == list(range(len(widths)))
    assert all(len(batch) == 1 or len(batch) * row <= memory for batch in partition)
    assert all(batch == sorted(batch) for batch in partition)
    spans = [(min(widths[i] for i in batch), max(widths[i] for i in batch)) for batch in partition]
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
    assert spread is None or all(widest <= narrowest * (1 + spread) for narrowest, widest in spans)


def test_any_token_that_ends_the_text_settles_and_is_deferred() -> None:
    table = ending_after(3)
    table[3, 9], table[3, EOS] = 17.0, 0.0  # the text ends with another token than the first of them
    predictor = fixed_predictor(table, mask_id=MASK, end_id=EOS, vocab_size=VOCABULARY, decode=str)
    predictor.end_ids = (EOS, 9)
    options = {"length": 12, "steps": 12, "block": 12}
    (full,) = decode(predictor, [[]], Confidence(), **grouped(**options))
    (less,) = decode(predictor, [[]], Confidence(), savings=Savings(settled=True), **grouped(**options))
    assert less.steps_run == 4 and less.text == full.text == "[7, 7, 7]"
    (late,) = decode(predictor, [[]], Confidence(), **grouped(end_of_text="defer", **options))
    assert late.end_ids == sorted([EOS, 9])
    (never,) = decode(predictor, [[]], Confidence(), **grouped(end_of_text="suppress", **options))
    assert not np.isin(never.tokens, [EOS, 9]).any()


# Two positions that change places at the factor 4.81: below it the first is committed first, above it the second.
CROSSING = torch.tensor([[-9.0, 1.1, 0.6, 0.3], [-9.0, 1.0, 0.4, 0.4]] * 2)


def crossing() -> CallablePredictor:
    return fixed_predictor(CROSSING, vocab_size=4, encode=lambda text: [], decode=str)


@pytest.mark.parametrize(
    ("bounds", "use"), [((-12.0, -10.0), [3, 3, 3, 3]), ((10.0, 14.0), [3, 3, 3, 3]), ((-12.0, 14.0), [1, 3, 1, 3])]
)
def test_a_choice_is_certain_within_the_bounds_of_the_reward_alone(bounds: tuple[float, float], use: list[int]) -> None:
    """A normalised reward of 0, outside of the first bounds, would choose otherwise than any within them."""
    answers: list[str] = []
    score = CallableReward(lambda prompt, answer: answers.append(answer) or bounds[0], std=2.0, bounds=bounds)
    options = {"length": 4, "steps": 4, "block": 2, "reward": score}
    (full,) = decode(crossing(), [""], RWS(8.0), savings=Savings.nothing(), **grouped(**options))
    assert len(answers) == 4
    answers.clear()
    savings = replace(Savings.nothing(), certain=True)
    less, other = decode(crossing(), ["", ""], RWS(8.0), savings=savings, **grouped(**options))
    assert less.reward_use.tolist() == other.reward_use.tolist() == use
    count = 2 * use.count(1)
    assert answers[count:] == ([] if less.text in answers[:count] else [less.text, other.text])  # for the trace alone
    assert less.reward_calls_saved == use.count(3)
    assert less.commit_step.tolist() == full.commit_step.tolist() and less.candidate.tolist() == full.candidate.tolist()
    known = less.reward_use != 3
    for name, missing in (("factor", np.nan), ("saturated", -1)):
        expected = np.where(known, getattr(full, name), missing)
        np.testing.assert_array_equal(getattr(less, name), expected, name)
    assert np.isnan(less.value[~known]).all() and np.array_equal(less.value[known], full.value[known], equal_nan=True)


class Rightmost(RWS):
    """A strategy with an order of its own that still has the factors it was made from."""

    name = "rightmost"

    def order(self, view: MaskedPositions) -> torch.Tensor:
        return view.position.double() * (1 if view.reward[0] < 11 else -1)


class Bare:
    """The least a strategy that asks the reward has to be: what its factors can be it does not say."""

    name, needs_reward = "bare", True

    def factor(self, view: MaskedPositions) -> np.ndarray:
        return np.full(view.rows, 8.0)


@pytest.mark.parametrize(("rule", "order"), [(Rightmost(8.0), [1, 0, 3, 2]), (Bare(), [1, 0, 3, 2])])
def test_a_choice_is_not_taken_for_certain_where_factors_are_not_what_decides(rule: Any, order: list[int]) -> None:
    score = CallableReward(lambda prompt, answer: 10.0, bounds=(10.0, 14.0))
    options = {"length": 4, "steps": 4, "block": 2, "reward": score, "savings": Savings(reuse=False, certain=True)}
    (trace,) = decode(crossing(), [""], rule, **grouped(**options))
    assert trace.reward_use.tolist() == [1, 1, 1, 1] and trace.commit_step.tolist() == order
