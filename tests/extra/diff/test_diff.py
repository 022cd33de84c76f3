"""Differences of two runs: where they part, by which pairs, and at which factor those cross."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from command_lines import decoding as main
from examples import examples
from grouped import grouped
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import bert_predictor, fixed_predictor

from rws_decode import RWS, CallablePredictor, CallableReward, Confidence, LeftToRight, Temperature, Trace, decode, diff
from rws_decode.extra.testing import tiny_checkpoint
from rws_theory import crossings

GOLDEN = 10 * math.log((1 + math.sqrt(5)) / 2)  # where the two positions of Appendix D cross
PREDICTOR = bert_predictor()
REWARD = CallableReward(lambda prompt, answer: float(len(answer)), mean=20, std=10, name="length")


def table_predictor(rows: list[list[float]]) -> CallablePredictor:
    """Make a predictor whose answer positions, after no prompt, have the given logits of tokens 1 and on."""
    return fixed_predictor(torch.tensor([[0.0, *row] for row in rows], dtype=torch.float64))


APPENDIX = table_predictor([[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]])


def run(rule: object, predictor: object = PREDICTOR, prompt: object = "the cat sat", **options: object) -> Trace:
    shape = {"length": 12, "steps": 6, "block": 12} | options
    (trace,) = decode(predictor, [prompt], rule, **grouped(**shape))  # type: ignore[arg-type]
    return trace


def appendix(rule: object, **options: object) -> Trace:
    return run(rule, APPENDIX, [], **({"length": 2, "steps": 2, "block": 2} | options))


def test_two_runs_of_one_setting_are_the_same() -> None:
    difference = diff(run(Confidence()), run(Temperature(1.0)), PREDICTOR)
    assert difference.same and difference.parting is None and difference.steps == ()
    assert [change.name for change in difference.settings] == ["strategy"]
    assert str(difference).endswith("the runs commit the same tokens at the same steps")


def test_the_worked_example_crosses_at_the_golden_ratio() -> None:
    first, second = appendix(Confidence()), appendix(Temperature(8.0))
    difference = diff(first, second, APPENDIX)
    assert not difference.same and difference.parting is not None
    assert (difference.parting.step, difference.parting.why, difference.parting.factors) == (0, "order", (1.0, 8.0))
    (pair,) = difference.parting.reversals
    assert (pair.earlier, pair.later, pair.certified, pair.note) == (0, 1, True, "")
    (crossing,) = pair.crossings
    assert crossing.lower <= GOLDEN <= crossing.upper
    assert pair.in_first == tuple(first.value[0]) and pair.in_second == tuple(second.value[0])
    assert pair.in_first[0] > pair.in_first[1] and pair.in_second[0] < pair.in_second[1]
    assert "at 1 overtakes '1' at 0 at factor 4.812\n" in str(difference)
    assert [(c.step, c.only_first, c.only_second) for c in difference.steps] == [(0, (0,), (1,)), (1, (1,), (0,))]
    back, unproved = diff(second, first, APPENDIX).parting, diff(first, second).parting
    assert back is not None and (back.reversals[0].earlier, back.reversals[0].certified) == (1, True)
    assert unproved is not None and (unproved.reversals[0].crossings, unproved.reversals[0].certified) == ((), None)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 24), min_size=4, max_size=4), min_size=3, max_size=6),
    st.sampled_from([0.05, 0.5, 1.0, 3.0, 8.0]),
    st.sampled_from([0.1, 1.0, 2.0, 16.0]),
    st.integers(1, 2),
)
def test_certified_pairs_are_the_exact_ones(rows: list[list[int]], low: float, high: float, per_step: int) -> None:
    size = len(rows) - len(rows) % per_step
    predictor = table_predictor([[value / 4 for value in row] for row in rows[:size]])
    options = {"length": size, "steps": size // per_step, "block": size}
    difference = diff(*(run(Temperature(c), predictor, [], **options) for c in (low, high)), predictor)
    if low == high:
        assert difference.same
    if difference.parting is None:
        return
    assert difference.parting.why == "order"
    for pair in difference.parting.reversals:
        a, b = (np.array(rows[i]) / 4 for i in (pair.earlier, pair.later))
        exact = crossings(a, b)
        assert pair.crossings == tuple(c for c in exact.crossings if min(low, high) < c.root < max(low, high))
        if pair.certified:
            assert sum(c.multiplicity or 0 for c in pair.crossings) % 2 == 1
        else:  # equal curves, or values that float64 does not tell apart
            assert "rounding, ties" in pair.note
            assert pair.in_first[0] == pytest.approx(pair.in_first[1], rel=1e-12, abs=1e-12) or pair.in_second[
                0
            ] == pytest.approx(pair.in_second[1], rel=1e-12, abs=1e-12)


def test_a_reward_moves_the_factor_and_the_factor_the_order() -> None:
    difference = diff(run(Confidence()), run(RWS(8.0), reward=REWARD), PREDICTOR)
    assert {change.name for change in difference.settings} == {"strategy", "reward_model", "reward_settings"}
    changed = {change.step: change for change in difference.steps}
    assert set(changed) == set(range(6))  # the factor differs at every step
    assert math.isnan(changed[0].rewards[0]) and changed[0].factors[0] == 1.0  # type: ignore[index]


def test_every_difference_is_listed() -> None:
    first, second = run(Confidence()), run(Temperature(0.2))
    changes = {change.step: change for change in diff(first, second).steps}
    for step in range(6):
        ours, theirs = (set(np.flatnonzero(trace.chosen[step]).tolist()) for trace in (first, second))
        open_ = first.masked[step] & second.masked[step]
        other = np.flatnonzero(open_ & (first.candidate[step] != second.candidate[step])).tolist()
        assert set(changes[step].only_first) == ours - theirs and set(changes[step].only_second) == theirs - ours
        assert [change.position for change in changes[step].candidates] == other
        assert changes[step].factors == (1.0, 0.2) and changes[step].rewards is None


def test_reasons_other_than_crossings_are_given_as_such() -> None:
    plain, doubled = appendix(Confidence()), table_predictor([[2.2, 1.2, 0.6], [2.0, 0.8, 0.8]])
    rounded = table_predictor([[1.0, 0.4, 0.4], [1.1, 0.6, 0.3], [9.0, 0.0, 0.0]])
    options = {"length": 3, "steps": 3, "block": 3}
    bf16 = {"ranking": "probability", "precision": "bfloat16"}
    pair = [run(Temperature(40.0), rounded, [], **options, **more) for more in ({}, bf16)]  # type: ignore[arg-type]
    for difference, note in (
        (diff(plain, appendix(Temperature(8.0), cfg=0.5), APPENDIX), "logits are not the same: cfg"),
        (diff(appendix(Temperature(8.0)), appendix(LeftToRight()), APPENDIX), "a strategy's own order"),
        (diff(*pair, rounded), "the factors are equal"),
        (diff(plain, appendix(Temperature(8.0)), doubled), "does not give the values"),
    ):
        assert difference.parting is not None and difference.parting.why == "order"
        assert all(pair.certified is False and note in pair.note for pair in difference.parting.reversals)
        assert note in str(difference)


def test_drawn_tokens_are_not_explained_by_curves_of_the_most_likely() -> None:
    runs = [appendix(Temperature(c), sampling_temperature=5.0, seed=seed) for c in (1.0, 8.0) for seed in range(12)]
    partings = [diff(a, b, APPENDIX).parting for a in runs[:12] for b in runs[12:]]
    notes = {pair.note for each in partings if each is not None for pair in each.reversals if not pair.certified}
    assert any("is not the most likely token" in note for note in notes)
    assert "candidate" in {parting.why for parting in partings if parting is not None}


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    traces = [run(Confidence()), run(Temperature(0.2))]
    paths = [str(trace.save(tmp_path / f"{name}.parquet")) for name, trace in zip("ab", traces, strict=True)]
    model = str(tiny_checkpoint("bert", tmp_path / "model"))
    assert main(["diff", *paths, "--model", model, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == diff(*traces, PREDICTOR).as_json()
    assert main(["diff", *paths]) == 0
    assert capsys.readouterr().out == f"{diff(*traces)}\n"
    assert main(["diff", paths[0], str(tmp_path / "none.parquet")]) == 2
    assert "no trace at" in capsys.readouterr().err
