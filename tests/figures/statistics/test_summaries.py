"""Tables of results: paired differences, tests and corrections against references, the paper's numbers beside them."""

import itertools
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper_figures.statistics import Summary, holm, paired_bootstrap_interval, paired_test, summarise, summary_table
from paper_figures.statistics.significance import LEAST_PAIRS
from paper_figures.studies import answers, temperature

NUMBERS = st.integers(-8, 8).map(float)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=9))
def test_exact_test_counts_every_pattern_of_signs(pairs: list[tuple[float, float]]) -> None:
    first, second = np.array(pairs).T
    differences = first - second
    patterns = [np.dot(signs, differences) for signs in itertools.product((-1, 1), repeat=len(differences))]
    share = np.mean(np.abs(patterns) >= abs(differences.sum()) - 1e-9)
    p = paired_test(first, second, np.random.default_rng(0))
    assert p == pytest.approx(min(1.0, share))
    assert paired_test(second, first, np.random.default_rng(0)) == pytest.approx(p)


def test_drawn_test_is_near_the_exact_one_and_never_zero() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(0.4, 1.0, 13), np.zeros(13)
    exact = paired_test(first, second, rng)
    assert exact == pytest.approx(paired_test(first, second, rng, resamples=4000), abs=0.03)
    assert 0 < paired_test(np.ones(40), np.zeros(40), rng) < 0.001


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_is_its_step_down_procedure(values: list[float]) -> None:
    adjusted = holm(values)
    for alpha in (0.01, 0.05, 0.2, 0.9):
        rejected, left = set[int](), sorted(range(len(values)), key=lambda i: values[i])
        while left and values[left[0]] * len(left) <= alpha:
            rejected.add(left.pop(0))
        assert {i for i, p in enumerate(adjusted) if p <= alpha} == rejected
    assert all(low <= high <= 1 for low, high in zip(values, adjusted, strict=True))


def frame() -> pd.DataFrame:
    """Return 8 prompts under a baseline and two scales, in no order, one value missing."""
    rows: list[dict[str, Any]] = []
    for example in range(8):
        for strategy, scale in (("default", None), ("temperature", 2.0), ("temperature", 4.0)):
            value = example + (scale or 0.0) * (1 + example % 3)
            labels = {"example": str(example), "prompt": f"p{example}", "strategy": strategy, "scale": scale}
            rows.append(
                labels | {"seed": 0, "god": value, "right": example % 2 == 0, "length": 64, "strategy_json": ""}
            )
    rows[1]["god"] = None
    return pd.DataFrame(rows).sample(frac=1.0, random_state=3, ignore_index=True)


def test_summary_pairs_prompts_and_corrects_over_scales() -> None:
    table = summarise(frame(), Summary(("god", "right")))
    rows = {(row["strategy"], row["scale"], row["measure"]): row for row in table}
    assert len(table) == 6 and json.dumps(table, allow_nan=False)
    two, four = rows["temperature", 2.0, "god"], rows["temperature", 4.0, "god"]
    assert (two["n"], two["pairs"], four["pairs"]) == (7, 7, 8)
    wanted = [2.0 * (1 + example % 3) for example in range(1, 8)]
    assert two["difference"] == pytest.approx(np.mean(wanted))
    interval = paired_bootstrap_interval(wanted, np.zeros(7), np.random.default_rng(0))
    assert (two["difference_low"], two["difference_high"]) == pytest.approx(interval[1:], abs=0.15)
    assert two["p"] == pytest.approx(2 / 2**7) and four["p"] == pytest.approx(2 / 2**8)
    assert [two["p_holm"], four["p_holm"]] == pytest.approx(holm([two["p"], four["p"]]))
    assert rows["temperature", 2.0, "right"]["p_holm"] == 1.0
    assert rows["default", None, "god"]["difference"] is None
    # The order of rows, and what else the table holds, change nothing.
    alone = summarise(frame().iloc[::-1], Summary(("god",)))
    assert {json.dumps(row) for row in alone} == {json.dumps(row) for row in table if row["measure"] == "god"}


def test_a_net_without_losses_is_no_share() -> None:
    rows = frame()
    won = (rows["example"] == "1").astype(float)
    low = {row["measure"]: row["low"] for row in summarise(rows.assign(net=won, win=won), Summary(("net", "win")))}
    assert low["net"] < 0 < low["win"], "one win of many leaves a net of zero possible"


@pytest.mark.parametrize("share", [1.0, 0.5])  # of one other judge, or the mean of two
@pytest.mark.parametrize("baseline", ["default", "temperature"])
def test_a_net_win_rate_has_one_interval(share: float, baseline: str) -> None:
    rows = frame()
    rows = rows[rows["scale"] != 4.0]
    outcome = rows["example"].map({"0": 1.0, "1": share, "2": -1.0, "3": 1.0, "4": 1.0}).fillna(0.0)
    rows = rows.assign(net=outcome.where(rows["strategy"] != "default", 0.0), scale=1.0)
    first, second = summarise(rows, Summary(("net",), baseline={"strategy": baseline}, over=()))
    (rate,) = (row for row in (first, second) if row["strategy"] == "temperature")
    less = [second[name] for name in ("difference", "difference_low", "difference_high")]
    sign = 1 if second is rate else -1
    ends = [rate["mean"], *(rate[end] for end in (("low", "high") if sign == 1 else ("high", "low")))]
    assert less == [sign * end for end in ends] and rate["low"] < rate["mean"] < rate["high"]


def test_prompts_with_the_same_two_texts_count_once() -> None:
    once = frame().dropna(subset=["god"]).assign(text=lambda rows: rows["prompt"], method=lambda rows: rows["strategy"])
    once = once[once["scale"] != 4.0].assign(guide="g", reward_scale=None, turn=0, net=1.0, default_text=once["text"])
    once.loc[once["example"] == "1", "net"] = -1.0
    twice = pd.concat([once, once.assign(example=once["example"] + "b")], ignore_index=True)
    table = summary_table("both", "Means.", twice, Summary(("god", "net"), pair=("example",)))
    assert table is not None and "14 prompts gave only 7 distinct pairs" in table.caption
    (row,) = (row for row in table.rows if row["measure"] == "god" and row["difference"] is not None)
    (alone,) = (row for row in summarise(once, Summary(("god",), pair=("example",))) if row["difference"] is not None)
    assert (row["pairs"], row["distinct"], alone["distinct"], row["p"]) == (14, 7, 7, alone["p"])
    assert row["difference_high"] - row["difference_low"] > alone["difference_high"] - alone["difference_low"]
    net, plain = (summarise(rows, Summary(("net",))) for rows in (twice, twice.drop(columns="default_text")))
    assert all(row["high"] - row["low"] > other["high"] - other["low"] for row, other in zip(net, plain, strict=True))
    both = (list(answers.lines_of(rows)) for rows in (twice, once))
    several, one = (list(answers.comparisons(lines, "god", 0, "god"))[-1] for lines in both)
    assert several and one and (several.pairs, several.distinct, several.p) == (14, 7, one.p)
    assert several.ratio == pytest.approx(one.ratio)


def test_settings_that_differ_split_the_table() -> None:
    both = pd.concat([frame(), frame().assign(length=32, god=0.0)], ignore_index=True)
    table = summarise(both, Summary(("god",)))
    assert {row["length"] for row in table} == {32, 64} and len(table) == 6
    assert {row["difference"] for row in table if row["length"] == 32} == {None, 0.0}
    for rows, measure, message in (
        (frame(), "perplexity", r"results lack \['perplexity'\]"),
        (pd.concat([both] * 2), "god", "several runs are mixed"),
    ):
        with pytest.raises(ValueError, match=message):
            summarise(rows, Summary((measure,)))


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=LEAST_PAIRS - 1))
def test_no_test_of_fewer_pairs_is_clear_so_they_show_no_interval(differences: list[float]) -> None:
    zeros, pairs = [0.0] * len(differences), len(differences)
    assert paired_test(differences, zeros, np.random.default_rng(0)) > 0.05
    row = {"control": "default", "guide": "mini", "scale": 8.0, "metric": "reward", "n": pairs, "difference": 0.53}
    (shown,) = temperature._shown_controls([row | {"low": 0.12, "high": 1.18, "p": 0.5, "p_holm": 0.5}])
    assert shown["reward"] == f"+0.53 (n = {pairs}, too few)"
