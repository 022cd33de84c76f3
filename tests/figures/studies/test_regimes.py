"""Theorem 1's regimes: pairs against curves on a fine grid, shares against counting by hand, and the figure of both."""

from __future__ import annotations

import copy
import csv
import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import single_stage_runs
from grouped import grouped
from scipy.stats import beta
from single_stage_runs import PROMPTS, assert_refused, options_of, save_models

from paper_figures.exhibits.exhibit import Exhibit, MissingRun
from paper_figures.exhibits.style import styled
from paper_figures.figures import regimes as figure
from paper_figures.runner.results import read_unit_rows
from paper_figures.runner.units import Unit
from paper_figures.statistics.intervals import clustered_share, exact_share
from paper_figures.studies.summaries.regimes import MEASURES, case_of
from paper_figures.studies.work.regimes import DISTRIBUTIONS, drawn_pairs, pair_row, step_logits
from rws_decode.common.files import write_json
from rws_decode.decode import decode
from rws_decode.predictors import load_predictor
from rws_decode.rewards import load_reward
from rws_decode.strategies.factors import RWS
from rws_theory.confidence import gap_statistics, log_odds

SHAPE = {"length": 8, "steps": 4, "block": 8}


def logits(*gaps: float) -> np.ndarray:
    return np.array([0.0, *(-gap for gap in gaps)])


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("dimension", [3, 6])
def test_crossings_are_those_of_the_curves(distribution: str, dimension: int) -> None:
    scales = np.geomspace(1e-4, 1e3, 20001)
    for a, b in drawn_pairs(distribution, dimension, 40, seed=1):
        row = pair_row(a, b)
        if row["identical"]:
            continue
        ahead, behind = (a, b) if log_odds(a, 1.0) > log_odds(b, 1.0) else (b, a)
        difference = log_odds(ahead[None], scales) - log_odds(behind[None], scales)
        signs = np.sign(difference[np.abs(difference) > 1e-11])
        where = scales[np.abs(difference) > 1e-11]
        changes = where[1:][signs[1:] != signs[:-1]]
        assert (row["below"], row["above"]) == ((changes < 1).sum(), (changes > 1).sum())
        total, smallest = (gap_statistics([ahead, behind]).total, gap_statistics([ahead, behind]).smallest)
        assert row["sigma"] == pytest.approx((total[1] - total[0]) / total.sum(), abs=1e-12)
        assert row["delta"] == pytest.approx((smallest[1] - smallest[0]) / max(smallest.sum(), 1e-300), abs=1e-12)
        assert row["corrected"] is True and (dimension > 3 or row["mended"] is True)
        if smallest[0] != smallest[1]:
            assert row["printed"] is False  # whatever the case: see the experiment's docstring
            alone = total[0] < total[1] and smallest[0] < smallest[1]  # the one case that can be true for itself
            assert row["items"] is bool(alone and row["below"] == 1)


@pytest.mark.parametrize(
    ("a", "b", "case", "below", "above", "mended"),
    [
        ((1, 3.5, 3.5), (1.5, 1.5, 6.5), "a", 1, 1, False),
        ((1, 1.5, 7), (0.5, 3, 5), "b", 2, 0, False),
        ((1.75, 1.75, 5.25, 5.5, 7), (1.25, 3.25, 3.5, 5, 9), "both", 3, 0, False),
        ((2, 2, 3), (1, 1, 1), "b", 0, 0, True),
    ],
    ids=["both sides", "none allowed", "three", "holds"],
)
def test_the_known_counterexamples(
    a: tuple[float, ...], b: tuple[float, ...], case: str, below: int, above: int, mended: bool
) -> None:
    for pair in ((a, b), (b, a)):  # whoever is named first, the one ahead at 1 is a
        row = pair_row(logits(*pair[0]), logits(*pair[1]))
        assert (case_of(row), row["below"], row["above"], row["mended"]) == (case, below, above, mended)
        assert row["printed"] is False and row["corrected"] is True
    assert pair_row(logits(1, 2), logits(2, 1))["identical"]


def test_shares_have_intervals_that_know_of_prompts() -> None:
    low, high = beta.ppf([0.025, 0.975], [3, 4], [8, 7])
    assert exact_share(3, 10) == pytest.approx((0.3, low, high))
    rng = np.random.default_rng(0)
    assert clustered_share([0, 0, 0, 0], [9, 9, 9, 9], rng) == exact_share(0, 4)
    assert clustered_share([9, 8], [9, 8], rng) == exact_share(2, 2)
    assert clustered_share([3], [9], rng)[1:] == (0.0, 1.0)
    counts, totals = [1, 5, 3, 0, 4, 2], [6, 8, 8, 8, 8, 7]
    interval = clustered_share(counts, totals, np.random.default_rng(1))
    slow, draw = [], np.random.default_rng(2)
    for _ in range(4000):
        picked = draw.integers(6, size=6)
        slow.append(sum(counts[k] for k in picked) / sum(totals[k] for k in picked))
    assert interval.mean == 15 / 45
    assert interval[1:] == pytest.approx(np.quantile(slow, [0.025, 0.975]), abs=0.02)
    with pytest.raises(ValueError, match="counts of at least one cluster"):
        clustered_share([2], [1], rng)


run = partial(single_stage_runs.run, "regimes")
results_of = partial(single_stage_runs.results_of, experiment="regimes")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_models(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def options(models: Path) -> list[str]:
    sizes = {"pairs_per_step": 3, "random_pairs": 15, "dimensions": (3, 6)}
    return options_of(models, **SHAPE, **sizes)


@pytest.fixture(scope="module")
def finished(options: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("finished")
    assert run(out, options) == 0
    return out


def test_logits_of_a_step_choose_what_the_decode_chose(models: Path) -> None:
    predictor, reward = load_predictor(str(models / "tiny")), load_reward(str(models / "reward"))
    shape = SHAPE | {"block": 4}
    (trace,) = decode(predictor, PROMPTS[:1], RWS(8.0), reward=reward, **grouped(**shape))
    unit = Unit(
        experiment="x", prompt=PROMPTS[0], strategy={"name": "rws"}, predictor=str(models / "tiny"), length=8, steps=4
    )
    steps = list(step_logits(unit, trace))
    assert [step.factor for step in steps] == trace.factor.tolist()
    for step in steps:
        assert step.position.tolist() == np.flatnonzero(trace.eligible[step.step]).tolist()
        order = np.argsort(-log_odds(step.logits, step.factor), kind="stable")
        chosen = np.flatnonzero(trace.chosen[step.step])
        assert sorted(step.position[order[: len(chosen)]]) == chosen.tolist()


def test_tables_count_the_pairs(finished: Path) -> None:
    results = results_of(finished)
    units = read_unit_rows(finished).to_dict("records")
    for row in results["summary"]:
        if row["source"] == "real":
            pairs = results["pairs"]
            assert row["interval"] == "prompts resampled"
        else:
            (unit,) = [unit for unit in units if unit["example"] == f"{row['source']}-{row['dimension']}"]
            pairs = unit["pairs"]
            assert row["interval"] == "Clopper-Pearson" and len(pairs) == 15
        kept = [pair for pair in pairs if not pair["identical"]]
        assert (row["pairs"], row["identical"]) == (len(kept), len(pairs) - len(kept))
        assert row["count"] == sum(map(MEASURES[row["measure"]], kept))
        assert row["low"] <= row["share"] == row["count"] / row["pairs"] <= row["high"]
    for source in {(row["source"], row["dimension"]) for row in results["cases"]}:
        cases = [row for row in results["cases"] if (row["source"], row["dimension"]) == source]
        (false,) = [
            row
            for row in results["summary"]
            if (row["source"], row["dimension"]) == source and row["measure"] == "printed false"
        ]
        assert sum(row["pairs"] for row in cases) == false["pairs"]
        assert sum(row["printed false"] for row in cases) == false["count"]
        for row in cases:
            assert sum(row[name] for name in ("none", "below 1", "above 1", "both sides")) == row["pairs"]
            assert row["corrected false"] == 0


def test_reach_counts_crossings_and_orders_that_turn(finished: Path, models: Path) -> None:
    predictor, reward = load_predictor(str(models / "tiny")), load_reward(str(models / "reward"))
    results = results_of(finished)
    grid, any_reward, used, turned = results["reach"]
    roots = [root for pair in results["pairs"] for root in pair["roots"]]
    assert (grid["of"], grid["count"]) == (len(roots), sum(0.01 <= root <= 32 for root in roots))
    assert any_reward["count"] == sum(8 * 1e-5**0.5 <= root <= 8 * (1 + 1e-5) ** 0.5 for root in roots)
    within = orders = 0
    for index, prompt in enumerate(PROMPTS):
        (trace,) = decode(predictor, [prompt], RWS(8.0), reward=reward, **grouped(**SHAPE))
        unit = Unit(experiment="x", prompt=prompt, strategy={"name": "rws"}, predictor=str(models / "tiny"))
        steps = {step.step: step for step in step_logits(unit, trace)}
        for pair in (pair for pair in results["pairs"] if pair["prompt"] == str(index)):
            within += sum(trace.factor.min() <= root <= trace.factor.max() for root in pair["roots"])
            step = steps[pair["step"]]
            i, j = (step.position.tolist().index(position) for position in pair["positions"])
            at_one, there = (log_odds(step.logits[[i, j]], scale) for scale in (1.0, step.factor))
            assert pair["reversed"] == ((at_one[0] > at_one[1]) != (there[0] > there[1]))
            orders += pair["reversed"]
    assert (used["count"], turned["count"], turned["of"]) == (within, orders, len(results["pairs"]))
    assert len({(pair["prompt"], pair["step"], *pair["positions"]) for pair in results["pairs"]}) == turned["of"]


def test_it_goes_on_where_it_stopped_and_a_seed_changes_it(
    finished: Path, options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.stat().st_mtime_ns for path in finished.rglob("*")}
    assert run(finished, options, "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    stored = results_of(finished)
    assert (printed["units"]["computed"], printed["tables"]["summary"]) == (0, stored["summary"])
    assert {path: path.stat().st_mtime_ns for path in finished.rglob("*")} == before
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    sorted((tmp_path / "regimes").glob("units-*/*.parquet"))[0].unlink()
    assert run(tmp_path, options) == 0
    again = results_of(tmp_path)
    assert stored.pop("seconds") > 0 and again.pop("seconds") > 0 and stored == again
    assert run(tmp_path, options, "--seed", "1") == 0
    assert results_of(tmp_path)["pairs"] != stored["pairs"]
    assert results_of(tmp_path)["summary"] != stored["summary"]


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--pairs-per-step", "0"], "--pairs-per-step is 0"),
        (["--random-pairs", "0"], "--random-pairs is 0"),
        (["--dimensions", "1"], "--dimensions is [1]"),
        (["--dimensions", "3", "3"], "--dimensions is [3, 3]"),
        (["--reward-scale", "0"], "reward_scale is 0.0"),
        (["--seed", "-1"], "--seed is -1"),
        (["--model", "nowhere"], "model is 'nowhere'"),
    ],
    ids=" ".join,
)
def test_bad_input_is_one_line_and_exit_two(
    extra: list[str], message: str, options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert_refused("regimes", tmp_path / "out", [*options, *extra], message, capsys)


def shown(folder: Path, results: dict[str, Any]) -> Exhibit:
    write_json(folder / "regimes/results.json", results)
    with styled():
        return figure.exhibit(folder)


def test_what_the_file_holds_is_drawn_and_listed(finished: Path, tmp_path: Path) -> None:
    results = results_of(finished)
    exhibit = shown(tmp_path, results)
    plane, bars, false = exhibit.pictures[0].figure.axes
    drawn = np.concatenate([np.asarray(part.get_offsets()) for part in plane.collections])
    kept = [pair for pair in results["pairs"] if not pair["identical"]]
    assert sorted(map(tuple, drawn.tolist())) == sorted((pair["sigma"], pair["delta"]) for pair in kept)
    data = figure.compute(tmp_path)
    heights = [patch.get_height() for patch in bars.patches]
    assert sum(heights) == pytest.approx(100 * len(data.sources))
    wanted = [100 * data.share(source, "case b")["share"] for source in data.sources]
    assert heights[: len(wanted)] == pytest.approx(wanted)
    for container, form in zip(false.containers, ("printed", "items", "mended", "corrected"), strict=True):
        line, _, (ends,) = container.lines
        rows = [data.share(source, f"{form} false") for source in data.sources]
        assert line.get_ydata().tolist() == pytest.approx([100 * row["share"] for row in rows])
        whiskers = np.array([segment[:, 1] for segment in ends.get_segments()])
        assert whiskers == pytest.approx(np.array([[100 * row["low"], 100 * row["high"]] for row in rows]))
    assert [list(table.rows) for table in exhibit.tables] == [results[name] for name in ("summary", "cases", "reach")]


def test_conclusions_follow_from_the_counts(finished: Path, tmp_path: Path) -> None:
    results = results_of(finished)
    total = len([pair for pair in results["pairs"] if not pair["identical"]])
    (printed,) = [row for row in results["summary"] if (row["source"], row["measure"]) == ("real", "printed false")]
    headline, first, *_ = shown(tmp_path, results).conclusions
    assert headline.startswith(f"Of {total} pairs of positions at steps of real decodes Theorem 1, with the sign of ")
    assert "as corrected here for none" in headline and headline.endswith(f"it is false for {printed['count']}.")
    assert first.startswith(f"Of {total} real pairs Theorem 1 is false with (b) mended for ")
    assert f"as printed for {printed['count']} (" in first
    assert "as corrected for none" in first and "not proved" not in first
    changed = copy.deepcopy(results)
    for row in changed["summary"]:
        if row["source"] == "real" and row["measure"] in ("printed false", "corrected false", "undecided"):
            row["count"] = {"printed false": 0, "corrected false": 2, "undecided": 3}[row["measure"]]
    lines = shown(tmp_path, changed).conclusions
    assert "as corrected here for 2." in lines[0] and lines[0].endswith("it is false for none.")
    assert "as printed for none (" in lines[1] and "as corrected for 2 (" in lines[1]
    assert lines[1].endswith("3 have a number of crossings that is not proved.")
    for row in changed["cases"]:
        if (row["source"], row["case"]) == ("real", "neither"):
            row |= {"pairs": 7, "none": 7, "below 1": 0, "above 1": 0, "both sides": 0}
    assert "of case (c), which is to have none: 0 of 7 have one or more." in shown(tmp_path, changed).conclusions[6]


def test_results_that_are_not_there_or_hold_no_pairs(finished: Path, tmp_path: Path) -> None:
    with pytest.raises(MissingRun, match="python -m paper_figures experiment regimes --out"):
        figure.compute(tmp_path)
    with pytest.raises(ValueError, match="holds no real pairs"):
        shown(tmp_path, results_of(finished) | {"pairs": []})


def test_a_real_run_makes_a_whole_exhibit(figure_runs: Path) -> None:
    with styled():
        exhibit = figure.exhibit(figure_runs)
    (picture,) = exhibit.pictures
    assert len(picture.alt) > 40 and len(exhibit.conclusions) == 8
    assert all(
        text.get_fontsize() >= 8 for text in picture.figure.findobj(lambda artist: hasattr(artist, "get_fontsize"))
    )
    with open(figure_runs / "regimes/cases.csv", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["source"] == "real"]
    assert sum(int(row["pairs"]) for row in rows) == sum(int(row["pairs"]) for row in exhibit.tables[1].rows[-4:]) > 0
