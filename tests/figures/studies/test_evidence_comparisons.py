"""RWS minus each arm of the evidence study: against loops, with verdicts that follow, and the headline."""

import re

import numpy as np
import pandas as pd
import pytest
from evidence_records import PROMPTS, SCALES
from evidence_records import evidence_record as record
from scipy import stats

from paper_figures.recorded.verdicts import (
    Comparison,
    compare,
    comparisons_of,
    reward_answer,
    rivals_of,
)
from paper_figures.statistics.equivalence import least_difference
from paper_figures.statistics.intervals import mean_interval
from paper_figures.statistics.significance import holm, max_t
from paper_figures.studies import evidence
from paper_figures.studies.evidence_arms import WORLDS, Arm, arms_of
from rws_decode.rewards import load_reward


def row_of(world: str, measure: str, arm: Arm, scale: float = 8.0, drawn: bool = False) -> Comparison:
    key = (world, measure, arm, scale, drawn)
    (row,) = (r for r in comparisons_of(record()) if (r.world, r.measure, r.arm, r.scale, r.drawn) == key)
    return row


def raw(world: str, method: str, number: float | None, column: str) -> dict[str, float]:
    """Return an arm's greedy values by prompt at the usual steps, read row by row."""
    values = {}
    for row in record().answers.to_dict("records"):
        if (row["world"], row["split"], row["method"], row["drawn"]) != (world, "test", method, False):
            continue
        if row["steps"] == WORLDS[world].steps and (number is None or row["number"] == number):
            values[row["prompt"]] = row[column]
    return values


def test_arms_pair_prompts_whatever_the_order_of_rows() -> None:
    answers = record().answers
    mixed = arms_of(answers.sample(frac=1.0, random_state=0), "english:era")
    for arm, rows in arms_of(answers, "english:era").items():
        assert mixed[arm]["prompt"].tolist() == rows["prompt"].tolist() == sorted(rows["prompt"])


def test_a_difference_of_rewards_is_what_loops_give() -> None:
    row = row_of("english:era", "reward", Arm("constant", 8.0))
    first, second = (raw("english:era", method, 8.0, "reward") for method in ("rws", "constant"))
    deviation = load_reward("era").std
    differences = [(first[prompt] - second[prompt]) / deviation for prompt in sorted(first)]
    mean = sum(differences) / len(differences)
    spread = (sum((d - mean) ** 2 for d in differences) / (len(differences) - 1)) ** 0.5
    assert row.n == PROMPTS == len(differences)
    assert row.difference == pytest.approx(mean)
    t = mean / (spread / PROMPTS**0.5)
    assert row.p_alone == pytest.approx(2 * stats.t.sf(abs(t), PROMPTS - 1))
    below = stats.t.cdf((mean - row.margin) / (spread / PROMPTS**0.5), PROMPTS - 1)
    above = stats.t.sf((mean + row.margin) / (spread / PROMPTS**0.5), PROMPTS - 1)
    assert row.p_equivalent_alone == pytest.approx(max(below, above))
    assert row.least is not None
    cut = stats.t.isf(0.025, PROMPTS - 1)
    assert stats.nct.sf(cut, PROMPTS - 1, row.least / spread * PROMPTS**0.5) == pytest.approx(0.8, abs=1e-6)
    assert (row.low, row.high) == pytest.approx(mean_interval(differences)[1:])


def test_a_net_win_rate_counts_who_scores_more() -> None:
    row = row_of("mini:mini", "net mini-judge", Arm("schedule", 2.0), scale=2.0)
    first, second = (raw("mini:mini", method, 2.0, "judge_scores") for method in ("rws", "schedule"))
    wins = sum(first[p][0] > second[p][0] for p in first)  # type: ignore[index]
    losses = sum(first[p][0] < second[p][0] for p in first)  # type: ignore[index]
    assert (row.wins, row.losses) == (wins, losses)
    assert row.difference == pytest.approx((wins - losses) / PROMPTS)
    assert row.p_alone == pytest.approx(stats.binomtest(wins, wins + losses).pvalue)


def test_p_is_corrected_over_all_scales_and_controls_of_the_measure() -> None:
    rows = [r for r in comparisons_of(record()) if (r.world, r.drawn, r.measure) == ("english:era", False, "reward")]
    answers = arms_of(record().answers, "english:era")
    deviation = load_reward("era").std
    table = [
        (answers[Arm("rws", row.scale)]["reward"] - answers[row.arm]["reward"]).to_numpy(dtype=float) / deviation
        for row in rows
    ]
    alone = [max_t(values[None], np.random.default_rng(0))[0] for values in table]
    assert {row.scale for row in rows} == set(SCALES)
    assert [row.p for row in rows] == pytest.approx(max_t(table, np.random.default_rng(2)), abs=0.02)
    assert all(row.p >= p - 0.02 for row, p in zip(rows, alone, strict=True))
    assert [row.p_equivalent for row in rows] == holm([row.p_equivalent_alone for row in rows])


def test_prompts_with_the_same_two_texts_count_once() -> None:
    answers = record().answers
    even = answers[(answers["split"] == "test") & answers["prompt"].str[-1].isin([*"02468"])]
    twice = pd.concat([even, even.assign(prompt=even["prompt"] + " again")], ignore_index=True)
    once, both = (compare(rows, {"english:era": 0.5}) for rows in (even, twice))
    for row, half in zip(both, once, strict=True):
        assert (row.n, row.distinct, row.same) == (2 * half.n, half.distinct, 2 * half.same) and half.distinct == half.n
        assert (row.difference, row.p) == pytest.approx((half.difference, half.p))
        if row.wins is None and half.least is not None:
            error = half.least / least_difference(1.0, half.n) / half.n**0.5  # type: ignore[operator]
            ends = stats.t.interval(0.95, half.n - 1, half.difference, error)
            assert (row.low, row.high, row.least, row.p_alone, row.p_equivalent_alone) == pytest.approx(
                (*ends, half.least, half.p_alone, half.p_equivalent_alone)
            )
            assert row.by_prompt[1] - row.by_prompt[0] < row.high - row.low


def test_every_arm_is_compared_and_drawn_tokens_with_drawn_tokens() -> None:
    arms = list(arms_of(record().answers, "english:era"))
    greedy = rivals_of(arms, Arm("rws", 8.0), 0.5)
    assert {arm.method for arm in greedy} == {
        *("constant", "schedule", "swapped", "default", "temperature", "better-scale", "left-to-right"),
        *("random-order", "best-of", "particles", "lookahead", "tilt-decode"),
    }
    assert Arm("default", None, 0.0, True) in greedy and Arm("temperature", 0.5) in greedy
    assert Arm("temperature", 2.0) not in greedy
    assert all(arm.sampling_temperature for arm in rivals_of(arms, Arm("rws", 8.0, 1.0), 0.5))


def test_scales_are_chosen_on_validation_prompts() -> None:
    assert evidence.chosen_scales(record().answers, "mini:mini") == {"rws": 8.0, "temperature": 0.5}
    assert any(row.arm == Arm("temperature", 0.5) for row in comparisons_of(record()))


def test_the_headline_tells_where_rws_beats_all_three_controls_and_where_not() -> None:
    rows = list(comparisons_of(record()))
    assert re.search(r"RWS beats all three .* in none of 12 .* the other 12 are mixed", reward_answer(rows))
    assert reward_answer([row for row in rows if row.arm.method != "swapped"]) == ""  # not all three are there
