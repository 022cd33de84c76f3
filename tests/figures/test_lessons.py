"""What the lessons compute for themselves: what readers type into them, and numbers that a slow count confirms."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
import torch
from interactive_pages import data_of

from paper_figures.lessons import corollary, ranks, rounding, tilting
from rws_decode import Shape, Temperature, decode, load_predictor
from rws_theory.theorem1 import theorem1
from rws_theory.worlds.ensembles import corollary_study
from rws_theory.worlds.less_reward import rws_less_reward_example

# --- lesson 1 ---------------------------------------------------------------------------------------------------------


def test_gaps_are_exact_and_the_more_confident_position_is_a() -> None:
    assert ranks.pair_of("1/2 4/5", "3/5 3/5") == ranks.pair_of("0.5 0.8", "0.6 0.6")
    a, b = ranks.pair_of("1/2 1/2", "2 3")
    assert a == (0, Fraction(-2), Fraction(-3)) and theorem1(a, b).hypothesis


@pytest.mark.parametrize("typed", ["1 x", "1/0", "nan", "1e400 inf"])
def test_what_is_no_gap_is_said_in_a_line(typed: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(typed))) as refused:
        ranks.pair_of(typed, "1/2 3")
    assert "such as 1 3/2 0.25 are needed" in str(refused.value) and "\n" not in str(refused.value)


def test_the_page_of_pairs_says_who_is_ahead() -> None:
    pairs = {name: ranks.pair_of(*gaps) for name, gaps in ranks.PAIRS.items()}
    data = data_of(ranks.drag(pairs))
    assert [case["name"] for case in data["cases"]] == list(pairs)
    for case, (a, b) in zip(data["cases"], pairs.values(), strict=True):
        roots = theorem1(a, b).crossings.roots
        assert case["marks"] == pytest.approx(roots, rel=1e-4)
        for scale, said, (first, second) in zip(data["at"], case["said"], case["bars"][0]["values"], strict=True):
            confidence = [1 / sum(np.exp(scale * float(logit)) for logit in row) for row in (a, b)]
            assert [first, second] == pytest.approx(confidence, rel=1e-4)
            turned = sum(1 < root < scale or scale < root < 1 for root in roots) % 2
            assert f" {'ab'[turned]} is ahead" in said


def test_random_pairs_are_counted() -> None:
    shares = ranks.refutations(20, [3, 5])
    assert list(shares) == ["as printed", "(b) mended", "odd or even, and no-flip"]
    rng, refuted, seen = np.random.default_rng(0), 0, 0
    while seen < 20:
        verdict = theorem1(*([0, *(-rng.integers(1, 40, 2)).tolist()] for _ in "ab"))
        refuted += verdict.hypothesis and verdict.printed_holds is False
        seen += verdict.hypothesis
    assert shares["as printed"][3].mean == pytest.approx(5 * refuted)
    assert all(low <= mean <= high for series in shares.values() for mean, low, high in series.values())


# --- lesson 2 ---------------------------------------------------------------------------------------------------------


def test_the_page_of_words_has_the_expected_rewards() -> None:
    data = data_of(tilting.drag({"cat": 3, "dog": 2}, {"on the dog": (0, 1), "on both": (1, 1)}))
    dog, both = data["cases"]
    for at, c in enumerate(data["at"]):
        scaled = 2**c / (2**c + 3**c)
        tilted = 2 * np.exp(c - 1) / (2 * np.exp(c - 1) + 3)
        assert [line["values"][at] for line in dog["lines"]] == pytest.approx([tilted, scaled, 0.4], rel=1e-4)
        assert [series["values"][at][1] for series in dog["bars"]] == pytest.approx([tilted, scaled, 0.4], rel=1e-4)
        assert f"{scaled:.4f} scaled, {tilted:.4f} tilted, 0.4000 under p." in dog["said"][at]
    assert {value for line in both["lines"] for value in line["values"]} == {1}
    assert tilting.rising({"cat": 3, "dog": 2}, {"cat": (1, 0), "dog": (0, 1)}) == (["cat", "dog"], ["cat"])


def test_ensembles_are_counted_together() -> None:
    study = corollary_study(models=10)
    tallies = corollary.tallies_of(study)
    assert {tally.models for comparisons in tallies.values() for tally in comparisons} == {30}
    for reward, comparisons in tallies.items():
        cells = [cell for cell in study.cells if cell.reward == reward]
        for place, tally in enumerate(comparisons):
            assert tally.less == sum(cell.final[place].less for cell in cells)
            assert tally.against == cells[0].final[place].against
        lowered = sum(step.less for cell in cells for step in cell.first_step if step.against == "nothing")
        assert f"| {lowered} of 30 |" in corollary.counts_table(study).split(f"| {reward} |")[1].split("\n")[0]


def test_the_smallest_model_is_decoded_as_it_is_proved() -> None:
    example = rws_less_reward_example()
    decodes = corollary.decode_both(example, factors=5)
    assert decodes.completions == 1 and decodes.logits.shape == (2, 3)
    assert [tuple(run.tokens) for run in decodes.runs.values()] == [example.confidence, example.rws]


# --- lesson 5 ---------------------------------------------------------------------------------------------------------


def test_first_steps_are_those_of_whole_decodes() -> None:
    predictor, shape, scales = load_predictor("mini"), Shape(length=8, steps=4, block=8), np.geomspace(1, 16, 3)
    steps = rounding.first_steps(predictor, predictor.prompts[0], shape, scales)  # type: ignore[arg-type]
    assert list(steps.chosen) == list(steps.value) == list(rounding.RANKINGS)
    for name, options in rounding.RANKINGS.items():
        for at, scale in enumerate(scales):
            (trace,) = decode(predictor, predictor.prompts[0], Temperature(float(scale)), shape, options=options)
            assert (steps.chosen[name][at] == trace.chosen[0]).all()
            np.testing.assert_allclose(steps.value[name][at], trace.value[0])
            assert steps.committed(name, scale * 1.1) == np.flatnonzero(trace.chosen[0]).tolist()
    assert list(steps.words) == list(trace.words(trace.candidate[0]))


def test_the_page_of_a_step_says_what_is_committed() -> None:
    value = np.array([[0.5, 1.0, 1.0], [0.25, 0.5, 1.0]])
    chosen = {name: np.array([[0, 1, 1], [0, 1, 1]], bool) for name in rounding.RANKINGS}
    chosen["exact"] = np.array([[1, 1, 0], [1, 1, 0]], bool)
    values = dict.fromkeys(rounding.RANKINGS, value)
    exact, _, half, _ = data_of(rounding.drag(rounding.FirstSteps(np.array([1.0, 8.0]), "abc", chosen, values)))[
        "cases"
    ]
    assert half["bars"][0]["values"] == [[0, "Infinity", "Infinity"], [-1.0986, 0, "Infinity"]]
    assert exact["bars"][0]["values"] == value.tolist() and half["chosen"] == [[1, 2], [1, 2]]
    assert half["said"][0].startswith("At c = 1, 2 of 3 positions are at probability 1.0. Positions 1 and 2 are")
    assert half["said"][0].endswith("by the exact order, 0 and 1.")
    assert half["lines"][1] == {"name": "bfloat16", "values": [2, 1]}


@pytest.mark.parametrize("precision", ["bfloat16", "float32", "float64"])
def test_a_probability_is_one_from_where_softmax_says_so(precision: str) -> None:
    one, dtype = rounding.first_ones()[precision], getattr(torch, precision)
    wide = torch.float64 if precision == "float64" else torch.float32
    for margin, level in ((one, True), (one - 0.02, False)):
        two = torch.tensor([margin, 0.0], dtype=wide)
        assert bool(torch.softmax(two, 0).to(dtype)[0] == 1) == level
