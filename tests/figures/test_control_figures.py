"""The saturation and controls figures: every number is the results', and sentences turn when the numbers do."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_illustrations import whole

from paper_figures.exhibits.exhibit import MissingRun
from paper_figures.exhibits.style import styled
from paper_figures.figures import controls, saturation
from paper_figures.figures.parts import controls_net_rates, saturation_rounding
from rws_decode.common.files import write_json
from rws_theory import footrule_mean
from rws_theory.printed import printed_in

SCALES = (1.0, 16.0, 32.0)
SHAPE = {"model": "tiny", "length": 64, "steps": 32, "block": 32}
CONTROLS = ("constant", "shuffled", "flipped", "random", "default", "temperature")
METRICS = ("coherent", "judge", "perplexity", "god_steps", "exact")


def _precision() -> dict[str, Any]:
    """Return made-up results in which bfloat16 alone lowers GOD, at 16 and 32, by 2 and 4 steps of 5."""
    rows = []
    for strategy in ("temperature", "rws", "constant", "shuffled"):
        for index, scale in enumerate(SCALES):
            for ranking in ("exact", "float32", "bfloat16"):
                due = -2.0 * index if ranking == "bfloat16" else 0.0
                width = 0.5 if due else 0.0
                row: dict[str, Any] = {"strategy": strategy, "scale": scale, "ranking": ranking, "n": 12}
                row |= {"god_steps": 5.0 + due, "god_tokens": 10.0 + 2 * due}
                row |= {"god_steps_due": due, "god_steps_due_low": due - width, "god_steps_due_high": due + width}
                row |= {"god_steps_due_p": 0.01, "god_steps_due_p_holm": 0.03 if due == -4.0 else 0.2}
                row |= {"saturated": 0.1 * index, "inexact": 0.2 * index, "tied": 0.0, "near_tied": 0.0}
                rows.append(row | {"same_tokens": 1.0})
    return {"settings": SHAPE | {"prompts": 12, "reward": "guide"}, "seconds": 3.5, "summary": rows}


def _temperature() -> dict[str, Any]:
    """Return made-up results in which RWS differs from the constant alone, in GOD at s_R = 16."""
    rows = [
        {"control": control, "guide": guide, "scale": scale, "metric": metric, "n": 8}
        | {"difference": 0.01, "low": -0.1, "high": 0.12, "p": 0.5, "p_holm": 1.0}
        for guide in ("first", "second")
        for control in CONTROLS
        for scale in SCALES
        for metric in METRICS
    ]
    (line,) = (row for row in rows if _key(row) == ("first", "constant", 16.0, "god_steps"))
    line |= {"difference": -0.3, "low": -0.5, "high": -0.1, "p_holm": 0.02}
    return _study({"controls": rows}, prompts="examples:keywords", reward_scale=list(SCALES))


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("guide", "control", "scale", "metric"))


def _judged() -> dict[str, Any]:
    """Return made-up win rates: RWS 10 points above the default by its own guide, level by the others."""
    rows = []
    for relation, gain in (("own", 10.0), ("other", 0.0)):
        for method in ("best-of-n", "constant", "default", "rws", "shuffled"):
            net = {"default": 0.0, "constant": gain / 2}.get(method, gain)
            row = {"relation": relation, "method": method, "measure": "net", "n": 9, "pairs": 9}
            row |= {"mean": net, "low": net - 4, "high": net + 4, "printed": None}
            ends: dict[str, Any] = dict.fromkeys(("difference", "difference_low", "difference_high", "p", "p_holm"))
            if method != "rws":
                less = net - gain
                ends = {"difference": less, "difference_low": less - 3, "difference_high": less + 1}
                ends |= {"p": 0.04, "p_holm": 0.04 if less < -8 else 0.6}
            rows += [row | ends, row | ends | {"measure": "win"}]
    return _study({"mean_win_rates": rows}, prompts="stories:all")


def _study(tables: dict[str, Any], *, prompts: str, **settings: Any) -> dict[str, Any]:
    in_file = {name: {"caption": "", "rows": rows, "shown": rows} for name, rows in tables.items()}
    return {
        "settings": SHAPE | {"rewards": ["first", "second"], **settings},
        "prompts": {"source": prompts, "test": 8, "validation": 2},
        "selection": None,
        "units": "units-1",
        "seconds": 2.0,
        "tables": in_file,
    }


def _write(folder: Path, **changed: dict[str, Any]) -> Path:
    results = {"precision": _precision(), "temperature": _temperature(), "reward-bench": _judged()}
    for name, of_name in results.items():
        write_json(folder / name / "results.json", changed.get(name.replace("-", "_"), of_name))
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _write(tmp_path_factory.mktemp("runs"))


@pytest.mark.parametrize("module", [saturation, controls], ids=["saturation", "controls"])
@pytest.mark.parametrize("made_by", ["runs", "figure_runs"])
def test_the_exhibit_is_whole(module: Any, made_by: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    with styled():
        whole(module.exhibit(request.getfixturevalue(made_by)), tmp_path if made_by == "figure_runs" else None)


@pytest.mark.parametrize("module", [saturation, controls], ids=["saturation", "controls"])
def test_missing_results_are_named_with_the_command(module: Any, tmp_path: Path) -> None:
    with pytest.raises(MissingRun, match=f"python -m paper_figures experiment {module.NEEDS[0]}"):
        module.compute(tmp_path)


def test_saturation_draws_the_rows_of_the_results(runs: Path) -> None:
    data = saturation.compute(runs)
    assert data.random == pytest.approx(footrule_mean(64, 32, per_step=2, reading="steps"))
    with styled():
        picture = saturation.draw(data)
    axes = picture.axes
    for column, name in enumerate(("temperature", "rws", "constant")):
        god, due, equal, other = axes[4 * column : 4 * column + 4]
        for ranking, look in saturation_rounding.RANKINGS.items():
            rows = data.of(name, ranking)
            (line,) = (line for line in god.lines if line.get_label() == look.label)
            assert line.get_ydata().tolist() == [row["god_steps"] for row in rows]
            for panel, field in ((equal, "saturated"), (other, "inexact")):
                (line,) = (line for line in panel.lines if line.get_color() == look.color)
                assert line.get_ydata() == pytest.approx([100 * row[field] for row in rows])
        bars = {container.lines[0].get_color(): container for container in due.containers}
        line, _, (ends,) = bars[saturation_rounding.RANKINGS["bfloat16"].color].lines
        assert line.get_ydata() == pytest.approx([0.0, -40.0, -80.0])  # of an exact GOD of 5 steps
        segments = np.array([segment[:, 1] for segment in ends.get_segments()])
        assert segments == pytest.approx(np.array([[0, 0], [-50, -30], [-90, -70]]))
    table = printed_in("table8_temperature")["rows"]
    assert axes[-1].lines[0].get_xydata().tolist() == [[row["scale"], row["god"]] for row in table]
    assert axes[-1].lines[0].get_markerfacecolor() == "white"


def test_saturation_says_what_the_intervals_say(runs: Path) -> None:
    lines = saturation_rounding.conclusions(saturation.compute(runs))
    assert len(lines) == 1 + 3 * 2 + 1  # twelve prompts are enough for three corrected tests
    # At 16 the interval excludes zero, and p says no.
    start = "Temperature, ranked by softmax in bfloat16: an effect of rounding on GOD is shown at 1 of 3 scales;"
    assert lines[0].startswith(start)
    assert "largest at 32, -80 % [-90, -70] of the exact GOD" in lines[0]
    temperature = lines[1]
    assert "lowers GOD at 2 of 3 scales, by intervals that exclude zero (16, 32)" in temperature
    assert "most at 32: -4.00 [-4.50, -3.50] steps, -80 % of the exact GOD" in temperature
    assert "20 % of the confidences are exactly 1 and 40 % of the steps" in temperature
    assert temperature.endswith("Corrected p is at most 0.05 at 32.")
    single = next(line for line in lines if line.startswith("Temperature, ranked by softmax in float32"))
    assert single.endswith("no effect of rounding on GOD is shown.")
    table = {row["scale"]: row["god"] for row in printed_in("table8_temperature")["rows"]}
    assert f"largest at scale 16 ({table[16.0]}) and {table[32.0]} at 32" in lines[-1]
    assert "exact (log-odds, float64) 5.00 to 5.00; softmax in float32 5.00 to 5.00" in lines[-1]
    assert "rounding lowers GOD here (softmax in bfloat16;" in lines[-1]


def test_saturation_turns_with_the_signs(tmp_path: Path) -> None:
    results = _precision()
    for row in results["summary"]:
        due = -row["god_steps_due"]
        row |= {"god_steps": 5.0 + due, "god_steps_due": due}
        row |= {"god_steps_due_low": -row["god_steps_due_high"], "god_steps_due_high": -row["god_steps_due_low"]}
    lines = saturation_rounding.conclusions(saturation.compute(_write(tmp_path, precision=results)))
    assert "+80 % [+70, +90]" in lines[0] and "raises GOD at 2 of 3 scales" in lines[1]
    assert lines[-1].endswith("No lowering by rounding is shown here at 32, so the printed fall is not explained.")


def test_saturation_with_few_prompts_one_strategy_and_no_deviation_says_so(tmp_path: Path) -> None:
    results = _precision()
    results["summary"] = [
        row | {"n": 4, "god_steps": 0.0 if row["ranking"] == "exact" else row["god_steps"]}
        for row in results["summary"]
        if row["strategy"] == "temperature" and row["scale"] != 16.0
    ]
    results["settings"] = results["settings"] | {"length": 64, "steps": 24}  # blocks of unequal steps
    del results["settings"]["reward"]
    folder = _write(tmp_path, precision=results)
    data = saturation.compute(folder)
    assert data.random is None
    with styled():
        exhibit = saturation.exhibit(folder)
    assert "With 4 prompts no p of this test, corrected for 2 scales, can be below 0.25" in " ".join(
        exhibit.conclusions
    )
    assert "% of the exact GOD" not in exhibit.conclusions[0]
    # Without the scale of the printed maximum there is no comparison.
    assert exhibit.conclusions[-1].endswith("(-19 %).")
    assert "random order" not in exhibit.pictures[0].caption and "Reward model" not in exhibit.pictures[0].caption


def test_saturation_sets_the_printed_numbers_beside_ours(runs: Path) -> None:
    measured, side = saturation.tables(saturation.compute(runs))
    rows = {float(row["scale"]): row for row in side.rows}
    for printed in printed_in("table8_temperature")["rows"]:
        row = rows[printed["scale"]]
        assert row["paper: GOD, reading not said"] == printed["god"]
        ours = row["here: GOD in steps, softmax in bfloat16"]
        assert ours == {1.0: 5.0, 16.0: 3.0, 32.0: 1.0}.get(printed["scale"])
    (line,) = (
        row
        for row in measured.shown
        if (row["strategy"], row["scale"], row["ranking"]) == ("Temperature", "32", "bfloat16")
    )
    assert line["due to rounding, steps"] == "-4.00 [-4.50, -3.50] * p 0.03"
    assert (line["share due"], line["equal to 1"], line["other set"]) == ("-80 %", "20.0 %", "40.0 %")


def test_controls_draw_the_first_guide_with_intervals_and_marks(runs: Path) -> None:
    data = controls.compute(runs)
    with styled():
        picture = controls.draw(data)
    panels = np.array(picture.axes).reshape(4, 4)
    for line, metric in zip(panels, ("coherent", "judge", "perplexity", "god_steps"), strict=True):
        for axes, control in zip(line, controls.CONTROLS, strict=True):
            rows = data.of(control, metric)
            assert [row["guide"] for row in rows] == ["first"] * len(SCALES)
            for index, (container, row) in enumerate(zip(axes.containers, rows, strict=True)):
                point, _, (bar,) = container.lines
                assert point.get_xydata().tolist() == [[index, row["difference"]]]
                assert bar.get_segments()[0][:, 1] == pytest.approx([row["low"], row["high"]])
                assert (point.get_markerfacecolor() == "white") == (row["p_holm"] > 0.05)
    assert [axes.get_title(loc="left") for axes in panels[0]] == [
        "minus constant",
        "minus shuffled",
        "minus sign turned",
        "minus random",
    ]


def test_controls_count_what_is_distinguishable(runs: Path) -> None:
    with styled():
        exhibit = controls.exhibit(runs)
    constant, shuffled = exhibit.conclusions[:2]
    # Two guides, four measures, three scales.
    assert "a difference is shown in 1 of 24 comparisons (4 measures at 3 scales)" in constant
    assert "GOD in steps lower at s_R = 16; by intervals alone in 1." in constant
    assert "by own guide +5 [+4, +8]; by other reward models +0 [-1, +3]" in constant
    assert "shown in none of 24 comparisons" in shuffled and "; by intervals alone in none." in shuffled
    own_line, others = exhibit.conclusions[-2:]
    assert own_line.endswith("own guide: net win rate +10 [+6, +14] %; the interval excludes zero, p 0.04.")
    assert others.endswith("models: net win rate +0 [-4, +4] %; the interval does not exclude zero, p 0.6.")
    assert "1 of 48 are marked" in exhibit.pictures[0].alt and "RWS, by own guide: +10" in exhibit.pictures[1].alt
    assert "model tiny" in exhibit.pictures[0].caption


def test_controls_turn_with_the_signs(tmp_path: Path) -> None:
    results = _temperature()
    for row in results["tables"]["controls"]["rows"]:
        row |= {"difference": -row["difference"], "low": -row["high"], "high": -row["low"]}
    judged = _judged()
    for row in judged["tables"]["mean_win_rates"]["rows"]:
        row |= {"mean": -row["mean"], "low": -row["high"], "high": -row["low"]}
    data = controls.compute(_write(tmp_path, temperature=results, reward_bench=judged))
    lines = [*controls.exhibit(tmp_path).conclusions]
    assert "GOD in steps higher at s_R = 16" in lines[0]
    assert "own guide: net win rate -10 [-14, -6] %; the interval excludes zero" in lines[-2]
    assert len(data.nets) == 8


def test_nets_are_drawn_as_measured_and_marked_by_p(runs: Path) -> None:
    data = controls.compute(runs)
    assert [net.method for net in data.nets[::2]] == ["rws", "constant", "shuffled", "best-of-n"]
    assert [net.relation for net in data.nets[:2]] == ["own", "other"]
    with styled():
        left, right = controls_net_rates.draw_nets(data.nets).axes
    drawn = [container.lines[0].get_xdata()[0] for container in left.containers]
    assert drawn == [net.mean for net in data.nets]
    others = [net for net in data.nets if net.method != "rws"]
    for container, net in zip(right.containers, others, strict=True):
        assert net.minus is not None
        point, _, (bar,) = container.lines
        assert point.get_xdata()[0] == net.minus["difference"]
        assert bar.get_segments()[0][:, 0] == pytest.approx([net.minus["low"], net.minus["high"]])
        assert (point.get_markerfacecolor() == "white") == (net.minus["p_holm"] > 0.05)


def test_without_coherence_other_judges_or_several_guides_controls_are_drawn_all_the_same(tmp_path: Path) -> None:
    results, judged = copy.deepcopy(_temperature()), copy.deepcopy(_judged())
    kept = [row for row in results["tables"]["controls"]["rows"] if row["metric"] in ("judge", "god_steps")]
    results["tables"]["controls"]["rows"] = [row for row in kept if row["control"] != "random"]
    for row in results["tables"]["controls"]["rows"]:
        row |= dict.fromkeys(("difference", "low", "high"), 0.0) | {"p_holm": 1.0}
    rows = judged["tables"]["mean_win_rates"]["rows"]
    judged["tables"]["mean_win_rates"]["rows"] = [row for row in rows if row["relation"] == "own"]
    with styled():
        exhibit = controls.exhibit(_write(tmp_path, temperature=results, reward_bench=judged))
    assert len(exhibit.pictures[0].figure.axes) == 2 * 3
    assert "in none of 12 comparisons (2 measures at 3 scales); by intervals alone in none" in exhibit.conclusions[0]
    assert len(exhibit.conclusions) == 3 + 1 and "random" not in " ".join(exhibit.conclusions)
    assert "other reward models" not in " ".join(exhibit.conclusions)


def test_two_scales_of_one_guide_are_told_apart(tmp_path: Path) -> None:
    judged = _judged()
    rows = judged["tables"]["mean_win_rates"]["rows"]
    judged["tables"]["mean_win_rates"]["rows"] = [row | {"reward_scale": s} for row in rows for s in (2.0, 8.0)]
    data = controls.compute(_write(tmp_path, reward_bench=judged))
    assert [net.name for net in data.nets[:4]] == ["RWS, s_R = 2"] * 2 + ["RWS, s_R = 8"] * 2
    assert data.nets[0].minus is not None and data.nets[0].minus["p_holm"] == 0.04  # of the default at that scale
