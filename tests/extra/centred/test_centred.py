"""RWS centred on its own drafts: its factors by a slow reference, its rows apart, its twins."""

import math
import pickle
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rws_decode import MaskedPositions, RWSCentred, Shape, decode, load_predictor, load_reward
from rws_decode.ablation.twins import Twin

SHAPE = Shape(16, 8, 8)


def slow_factor(rewards: list[float], scale: float, spread: float) -> float:
    s = spread or statistics.pstdev(rewards)
    z = 0.0 if s < 1e-9 else (rewards[-1] - statistics.fmean(rewards)) / s
    return scale * math.sqrt(1 / (1 + math.exp(-z)) + 1e-5)


@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_a_decode_has_the_factors_of_the_slow_reference_whatever_its_batch(spread: float) -> None:
    english, era = load_predictor("english"), load_reward("era")
    rule = RWSCentred(1.5, spread)
    runs = decode(english, english.prompts[:6], rule, SHAPE, reward=era)
    for trace in runs:
        rewards = trace.reward_normalised.tolist()
        expected = [slow_factor(rewards[: step + 1], 1.5, spread) for step in range(trace.steps)]
        assert trace.factor == pytest.approx(expected, rel=1e-9)
    assert max(np.ptp(trace.factor) for trace in runs) > 0.3
    text = "rws-centred:1.5" + (f"+sd:{spread}" if spread else "")
    alone = decode(english, english.prompts[4:5], text, SHAPE, reward=era)
    assert alone[0].tokens.tolist() == runs[4].tokens.tolist()
    # The twin that is given its own rewards is the run itself.
    table = tuple(tuple(trace.reward_normalised.tolist()) for trace in runs)
    again = decode(english, english.prompts[:6], Twin(rule, table), SHAPE, reward=era)
    assert [trace.factor.tolist() for trace in again] == [trace.factor.tolist() for trace in runs]


@given(st.lists(st.lists(st.floats(-9, 9), min_size=2, max_size=2), min_size=1, max_size=6), st.floats(0.5, 3))
def test_rows_keep_apart_and_a_scaled_moved_reward_has_the_same_factors(steps: list[list[float]], by: float) -> None:
    rule = RWSCentred(2.0)

    def factors(rewards: list[list[float]]) -> list[list[float]]:
        views = (MaskedPositions(step, 2, reward=np.array(row)) for step, row in enumerate(rewards))
        return [rule.factor(view).tolist() for view in views]

    found = factors(steps)
    for row in range(2):
        scores = [step[row] for step in steps]
        if all(statistics.pstdev(scores[:n]) > 1e-6 for n in range(2, len(scores) + 1)):
            moved = factors([[by * value + 1.0 for value in step] for step in steps])
            expected = [slow_factor(scores[: n + 1], 2.0, 0.0) for n in range(len(scores))]
            for own, other, slow in zip(found, moved, expected, strict=True):
                assert own[row] == pytest.approx(slow, rel=1e-6) == pytest.approx(other[row], rel=1e-6)


def test_a_step_without_those_before_it_is_refused_and_a_copy_begins_anew() -> None:
    rule = RWSCentred(2.0)
    rule.factor(MaskedPositions(0, 1, reward=np.array([1.0])))
    for other in (pickle.loads(pickle.dumps(rule)), RWSCentred(2.0)):
        with pytest.raises(ValueError, match="step is 1: rws-centred needs the steps before it"):
            other.factor(MaskedPositions(1, 1, reward=np.array([1.0])))
    with pytest.raises(ValueError, match="reward is None"):
        rule.factor(MaskedPositions(0, 1))
    assert rule == pickle.loads(pickle.dumps(rule)) and "past" not in repr(rule)
