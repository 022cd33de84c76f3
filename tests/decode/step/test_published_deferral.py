"""LLaDA's flag that defers end-of-text tokens: as its authors describe it, and as their loop computes it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from rws_decode import CallablePredictor, Confidence, Options, Shape, Temperature, step_logits
from rws_decode.decode import decode
from rws_decode.predictors.callable import CallablePredictor as Predictor
from rws_decode.replay.replay import replay, replay_with

MASK, EOS, EOT, WORDS = 0, 1, 2, 9
LENGTH = 6


def predictor_of(seed: int, liking: float = 2.0) -> Predictor:
    """Return a predictor whose logits follow from the whole canvas, and which likes the ends of text."""
    generator = torch.Generator().manual_seed(seed)
    table = torch.randn(LENGTH + 1, WORDS, generator=generator)
    mixing = torch.randn(WORDS, WORDS, generator=generator)
    table[:, [EOS, EOT]] += liking

    def logits(canvas: torch.Tensor) -> torch.Tensor:
        seen = mixing[canvas].mean(dim=1, keepdim=True)
        given = (table[None] + seen).clone()
        given[:, :, MASK] = -50.0  # the published loop may commit the mask; here it never does
        return given

    return CallablePredictor(logits, mask_id=MASK, end_id=EOS)


def published(
    predictor: Predictor, shape: Shape, temperature: float, uniforms: torch.Generator
) -> tuple[list[int], list[int]]:
    """Decode in one obvious loop, with the flag as the public code computes it, and return tokens and commit steps."""
    canvas, commit_step = [5] + [MASK] * LENGTH, [-1] * LENGTH
    for step, planned in enumerate(shape.plan):
        logits = predictor.logits(torch.tensor([canvas]), None)[0].double()
        masked = [column for column in range(1, LENGTH + 1) if canvas[column] == MASK]
        noise = torch.rand((len(masked), WORDS), generator=uniforms, dtype=torch.float64) if temperature else None
        candidate, confidence = {}, {}
        for number, column in enumerate(masked):
            scores = logits[column].clone()
            scores[MASK] = -torch.inf
            if noise is not None:
                scores = scores.exp() / (-noise[number].log()) ** temperature
            candidate[column] = int(scores.argmax())
            # Greedy: the noised logits are the logits themselves, so both ends are closed. Drawn: a copy is, and of the
            # logits only the end of turn.
            ranked = logits[column].clone()
            ranked[[EOT] if temperature else [EOS, EOT]] = -torch.inf
            confidence[column] = float(ranked.softmax(dim=0)[candidate[column]])
        block = [column for column in masked if planned.start < column <= planned.stop]
        for column in sorted(block, key=lambda column: (-confidence[column], column))[: planned.commits]:
            canvas[column], commit_step[column - 1] = candidate[column], step
    return canvas[1:], commit_step


def described(predictor: Predictor, shape: Shape) -> tuple[list[int], list[int]]:
    """The same as it is described: the confidence is the probability, and minus infinity for an end of text."""
    canvas, commit_step = [5] + [MASK] * LENGTH, [-1] * LENGTH
    for step, planned in enumerate(shape.plan):
        probability = predictor.logits(torch.tensor([canvas]), None)[0].double().softmax(dim=-1)
        block = [column for column in range(planned.start + 1, planned.stop + 1) if canvas[column] == MASK]
        best = {column: int(probability[column, 1:].argmax()) + 1 for column in block}
        confidence = {column: float(probability[column, best[column]]) for column in block}
        order = sorted(block, key=lambda column: (best[column] in (EOS, EOT), -confidence[column], column))
        for column in order[: planned.commits]:
            canvas[column], commit_step[column - 1] = best[column], step
    return canvas[1:], commit_step


def run(predictor: Predictor, policy: str, shape: Shape, **options: Any) -> Any:
    told = Options(end_of_text=policy, end_ids=[EOS, EOT], **options)  # type: ignore[arg-type]
    (trace,) = decode(predictor, [[5]], Confidence(), shape, options=told)
    return trace


SHAPES = st.sampled_from([Shape(6, 6, 6), Shape(6, 3, 6), Shape(6, 4, 3), Shape(6, 6, 2)])


@given(st.integers(0, 10**6), SHAPES, st.sampled_from([0.0, 0.0, 0.5, 2.0]), st.sampled_from([0.0, 2.0, 4.0]))
@settings(max_examples=examples(300), deadline=None)
def test_the_published_flag_is_the_published_loop(seed: int, shape: Shape, temperature: float, liking: float) -> None:
    predictor = predictor_of(seed, liking)
    tokens, steps = published(predictor, shape, temperature, torch.Generator().manual_seed(seed))
    # The mask's own share, e^-50, does not show; "topk" would count it too.
    trace = run(predictor, "defer-published", shape, sampling_temperature=temperature, seed=seed)
    assert (trace.tokens.tolist(), trace.commit_step.tolist()) == (tokens, steps)
    assert trace.end_ids == ([EOT] if temperature else [EOS, EOT])
    assert replay(trace).diverged_at is None
    again = replay_with(trace, predictor)
    assert again.tokens.tolist() == tokens and np.array_equal(again.value, trace.value, equal_nan=True)


@given(st.integers(0, 10**6), SHAPES, st.sampled_from(["probability", "topk"]))
@settings(max_examples=examples(100), deadline=None)
def test_every_ranking_has_it(seed: int, shape: Shape, ranking: str) -> None:
    predictor = predictor_of(seed)
    trace = run(predictor, "defer-published", shape, ranking=ranking)
    _, steps = published(predictor, shape, 0.0, torch.Generator())
    # Positions that wait are level, and torch.topk takes those it likes.
    assert trace.ties.any() or trace.commit_step.tolist() == steps


@given(st.integers(0, 10**6), SHAPES)
@settings(max_examples=examples(100), deadline=None)
def test_the_described_flag_is_what_is_described(seed: int, shape: Shape) -> None:
    trace = run(predictor_of(seed), "defer", shape)
    assert (trace.tokens.tolist(), trace.commit_step.tolist()) == described(predictor_of(seed), shape)


def test_the_logits_of_a_step_are_those_that_ranked_it() -> None:
    predictor, shape = predictor_of(11), Shape(6, 6, 6)
    trace = run(predictor, "defer-published", shape)
    for step in range(6):
        seen = step_logits(trace, predictor, step)
        assert seen.candidate.tolist() == trace.candidate[step, seen.positions].tolist()
        for row, position, token in zip(seen.logits, seen.positions, seen.candidate, strict=True):
            others = np.logaddexp.reduce(np.delete(row - row[token], token))
            if token not in (EOS, EOT):
                assert trace.value[step, position] == pytest.approx(-others, rel=1e-9)
                assert np.isneginf(row[[EOS, EOT]]).all()


def test_a_scaled_decode_knows_it_too() -> None:
    waited, told = 0, Options(end_of_text="defer-published", end_ids=[EOS, EOT])
    for seed in range(10):
        (trace,) = decode(predictor_of(seed, 1.0), [[5]], Temperature(3.0), Shape(6, 6, 6), options=told)
        for step in range(6):
            ends = np.isin(trace.candidate[step], [EOS, EOT])
            assert not ends[trace.chosen[step]].any() or ends[trace.eligible[step]].all()
            waited += bool(ends[trace.eligible[step]].any() and not ends[trace.chosen[step]].any())
        assert replay(trace).diverged_at is None
    assert waited > 5


@pytest.mark.parametrize("strategy", ["entropy", "threshold:0.9", "p2:1", "lookum:2"])
def test_strategies_that_do_not_commit_by_confidence_refuse_it(strategy: str) -> None:
    with pytest.raises(ValueError, match=r"^end_of_text is 'defer-published': .* use 'defer'$"):
        decode(
            predictor_of(0),
            [[5]],
            strategy,
            Shape(6, 6, 6),
            options=Options(end_of_text="defer-published", end_ids=[1]),
        )
