"""RWS minus each arm of the evidence study: as `ablate` has it, against loops, and the headline."""

import re

import numpy as np
import pytest
from evidence_records import PROMPTS, SCALES
from evidence_records import evidence_record as record

from paper_figures.recorded import MEASURES, comparisons, recorded_ablation
from paper_figures.recorded.comparisons import TWINS, Comparison, compare_arms, comparisons_of, reward_answer, rivals_of
from paper_figures.studies.evidence_arms import WORLDS, Arm, arms_of, chosen_scales
from rws_decode.ablation.verdict import side_of

CONFIDENCE = (-1.0, -0.6, -0.2)  # rewards of the validation prompts' confidence texts


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


def test_a_difference_of_rewards_is_what_ablate_gives() -> None:
    result = recorded_ablation(record().answers, "english:era", 8.0)
    sides = {each.twin: each for each in result.comparisons}
    assert len(sides) == 5
    for twin, found in sides.items():
        method = TWINS[twin]
        number = {"default": None, "temperature": 0.5}.get(method, 8.0)
        row = row_of("english:era", "reward", Arm(method, number))
        assert row.blind and row.verdict == found.verdict and row.found.n == PROMPTS == found.n
        cells, wanted = ([each.difference, each.low, each.high] for each in (row.found, found))
        assert cells == pytest.approx(wanted) and (row.found.equal, row.found.distinct) == (found.equal, found.distinct)


def test_a_difference_is_what_loops_give_in_sd_over_confidence_texts() -> None:
    row = row_of("english:era", "reward", Arm("constant", 8.0))
    first, second = (raw("english:era", method, 8.0, "reward") for method in ("rws", "constant"))
    assert row.uncut == pytest.approx(np.mean([first[p] - second[p] for p in first]) / np.std(CONFIDENCE))
    assert row.found.difference <= row.uncut and row.found.low < row.found.difference < row.found.high


def test_a_net_win_rate_counts_who_scores_more() -> None:
    row = row_of("mini:mini", "net mini-judge", Arm("schedule", 2.0), scale=2.0)
    first, second = (raw("mini:mini", method, 2.0, "judge_scores") for method in ("rws", "schedule"))
    wins = sum(first[p][0] > second[p][0] for p in first)  # type: ignore[index]
    losses = sum(first[p][0] < second[p][0] for p in first)  # type: ignore[index]
    assert row.found.difference == row.uncut == pytest.approx((wins - losses) / PROMPTS)


def test_a_smaller_log_perplexity_is_better() -> None:
    rows = [row for row in comparisons_of(record()) if row.measure == "nll"]
    for row in rows:
        assert row.verdict == side_of(-row.found.high, -row.found.low, MEASURES["nll"].margin)
    assert {row.world for row in rows} == {"mini:mini"}


def test_intervals_of_the_twins_of_a_scale_hold_together_and_those_of_other_methods() -> None:
    rows = [r for r in comparisons_of(record()) if (r.world, r.drawn, r.measure) == ("english:era", False, "log_prob")]
    assert {row.scale for row in rows} == set(SCALES)
    for blind in (True, False):
        kept = [row for row in rows if row.scale == 8.0 and row.blind == blind]
        arms = arms_of(record().answers, "english:era")
        for row in kept:
            both = arms[Arm("rws", 8.0)], arms[row.arm]
            alone, together = (compare_arms(*both, "english:era", "log_prob", family) for family in (1, len(kept)))
            assert alone is not None and together is not None and together[0] == row.found
            assert row.found.high - row.found.low > alone[0].high - alone[0].low


def test_prompts_of_one_speech_are_one_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    arms = arms_of(record().answers, "english:era")
    both = arms[Arm("rws", 8.0)], arms[Arm("constant", 8.0)]
    assert row_of("english:era", "reward", Arm("constant", 8.0)).by_speech is None  # these are no openings
    monkeypatch.setattr(comparisons, "addresses_of", lambda world, prompts: np.array([name[-1] for name in prompts]))
    found = compare_arms(*both, "english:era", "log_prob", 1)
    assert found is not None and found[2] is not None
    values = (both[0]["log_prob"] - both[1]["log_prob"]).astype(float) / WORLDS["english:era"].length
    means = values.groupby(both[0]["prompt"].str[-1]).mean()
    assert sorted(found[3]) == pytest.approx(sorted(means)) and found[2].n == len(means) == 10
    assert found[2].difference == pytest.approx(means.mean())


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
    assert chosen_scales(record().answers, "mini:mini") == {"rws": 8.0, "temperature": 0.5}
    assert any(row.arm == Arm("temperature", 0.5) for row in comparisons_of(record()))


def test_the_headline_tells_where_rws_is_better_than_all_three_controls_and_where_not() -> None:
    rows = list(comparisons_of(record()))
    assert re.search(r"RWS is better than all three .* in none of 12 .* the other 12 are mixed", reward_answer(rows))
    assert reward_answer([row for row in rows if row.arm.method != "swapped"]) == ""  # not all three are there
