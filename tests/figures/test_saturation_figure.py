"""What rounding does: every number drawn is the results', and sentences turn when the numbers do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paper_figures.exhibits.style import styled
from paper_figures.figures import saturation
from rws_decode.common.files import write_json
from rws_theory import footrule_mean

SCALES = (1.0, 16.0, 32.0)
SHAPE = {"model": "tiny", "length": 64, "steps": 32, "block": 32}


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


def _write(folder: Path, **changed: dict[str, Any]) -> Path:
    write_json(folder / "precision" / "results.json", changed.get("precision", _precision()))
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _write(tmp_path_factory.mktemp("runs"))


def test_saturation_draws_the_rows_of_the_results(runs: Path) -> None:
    data = saturation.compute(runs)
    assert data.random == pytest.approx(footrule_mean(64, 32, per_step=2, reading="steps"))
    with styled():
        (axes,) = saturation.draw(data).axes
    for ranking, look in saturation.RANKINGS.items():
        (line,) = (line for line in axes.lines if line.get_label() == look.label)
        assert line.get_ydata().tolist() == [row["god_steps"] for row in data.of("temperature", ranking)]
    assert [data.share(row) for row in data.of("temperature", "bfloat16")] == [
        pytest.approx(ends)
        for ends in ([0, 0, 0], [-40, -50, -30], [-80, -90, -70])  # of an exact GOD of 5 steps
    ]


@pytest.mark.parametrize(("sign", "word"), [(1, "lowers"), (-1, "raises")])
def test_saturation_says_what_the_intervals_say(sign: int, word: str, tmp_path: Path) -> None:
    results = _precision()
    for row in results["summary"]:
        ends = sorted(sign * row[f"god_steps_due{end}"] for end in ("_low", "_high"))
        due = sign * row["god_steps_due"]
        row |= {
            "god_steps": 5.0 + due,
            "god_steps_due": due,
            "god_steps_due_low": ends[0],
            "god_steps_due_high": ends[1],
        }
    claim, more = saturation.exhibit(_write(tmp_path, precision=results)).conclusions
    assert claim.startswith(f"At scale 32, rounding to bfloat16 {word} GOD by 80 %")
    # At 16 the interval excludes zero, and p says no.
    assert "70 to 90 % with 95 % confidence; an effect is shown at 1 of 3 scales" in more


def test_saturation_with_few_prompts_one_strategy_and_no_deviation_says_so(tmp_path: Path) -> None:
    results = _precision()
    results["summary"] = [
        row | {"n": 4, "god_steps": 0.0 if row["ranking"] == "exact" else row["god_steps"]}
        for row in results["summary"]
        if row["strategy"] == "temperature" and row["scale"] != 16.0
    ]
    results["settings"] = results["settings"] | {"length": 64, "steps": 24}  # blocks of unequal steps
    folder = _write(tmp_path, precision=results)
    data = saturation.compute(folder)
    assert data.random is None
    with styled():
        exhibit = saturation.exhibit(folder)
    assert "no exact GOD above 0" in exhibit.conclusions[0]
    assert "random order" not in exhibit.pictures[0].caption


def test_saturation_tells_what_rounding_adds(runs: Path) -> None:
    measured = saturation.table(saturation.compute(runs))
    (line,) = (
        row
        for row in measured.shown
        if (row["strategy"], row["scale"], row["ranking"]) == ("Temperature", "32", "bfloat16")
    )
    assert line["due to rounding, steps"] == "-4 [-4.5, -3.5], p 0.03 *"
    assert (line["share due"], line["equal to 1, %"], line["other set, %"]) == ("-80 %", "20.0", "40.0")
