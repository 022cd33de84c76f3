"""What guidance costs on the hardware: the exhibit, the guides that tell it, and how a reader may draw it."""

from pathlib import Path

import pytest
from documented_commands import page
from matplotlib.axes import Axes
from PIL import Image

from paper_figures.__main__ import main as figures
from paper_figures.exhibits.shared.exhibit import styled
from paper_figures.extra.bench import device_cost
from paper_figures.extra.bench.shapes import shapes_named
from rws_theory.printed import printed_in

LLADA = shapes_named("llada-8b")


def _drawn(axes: Axes) -> dict[str, list[float]]:
    """Return the values of each label, from the top."""
    drawn: dict[str, list[float]] = {}
    for container in axes.containers:
        drawn.setdefault(container.get_label(), []).append(float(container.lines[0].get_xdata()[0]))
    return drawn


def test_printed_and_measured_seconds_are_drawn_as_the_tables_have_them() -> None:
    with styled():
        exhibit = device_cost.exhibit(Path())
    above, below = exhibit.pictures[0].figure.axes
    printed, measured = (table.rows for table in exhibit.tables)
    table, rows = printed_in("table11_overhead"), {row["method"]: row for row in printed}
    assert rows["RWS, GRM"]["least seconds"] is None
    floors = [row["least seconds"] for row in printed if row["least seconds"]]
    assert floors == pytest.approx([1.946, *[3.803] * 3], abs=5e-4)
    assert rows["default"]["over the least"] == pytest.approx(table["default_seconds"] / floors[0])
    assert _drawn(above) == {
        "default, as printed": [table["default_seconds"]],
        "RWS, as printed": [row["seconds"] for row in table["rows"]],
        "least time": floors,
    }
    columns = {"default": "default seconds", "RWS": "RWS seconds", "least time": "least RWS seconds"}
    assert _drawn(below) == {label: [row[column] for row in measured] for label, column in columns.items()}


def test_a_reader_gives_the_width_and_settings_of_matplotlib_and_leaves_captions_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def drawn(*words: object) -> tuple[int, bytes, bool]:
        assert figures(["device_cost", "--workers", "0", *map(str, words)]) == 0
        with Image.open("out/figures/device_cost.png") as picture:
            return picture.width, picture.tobytes(), Path("out/tables/device_cost_printed.tex").read_text()[0] == "%"

    assert drawn("--width", 9, "--no-caption")[::2] == (1800, False)
    assert "cut off" not in capsys.readouterr().err
    usual, narrow = drawn(), drawn("--width", 3)
    assert usual[2] and narrow[0] == 600 and "note: device_cost is cut off at 3 inches" in capsys.readouterr().err
    Path("green.mplstyle").write_text("axes.facecolor: 00ff00\nbackend: TkAgg\n")
    styled = drawn("--style", Path("green.mplstyle"))
    Path("green.mplstyle").rename("matplotlibrc")
    assert drawn()[1] == styled[1] != usual[1]


def test_measured_seconds_are_those_of_the_guide_and_none_is_below_the_least() -> None:
    result, table = device_cost.measured(), device_cost.measured_table()
    assert result["complete"] and all(check["passed"] for check in result["checks"])
    ways = {(row["batch"], row["way"]): row for row in result["ways"]}
    for row in table.rows:
        assert row["RWS seconds"] > max(row["default seconds"], row["least RWS seconds"])
        assert row["increase, %"] == pytest.approx(100 * (row["RWS seconds"] / row["default seconds"] - 1))
    guide = page("docs/guides/gpu.md")
    loops = {"plain": "default, loops as published", "default": "default, `--compact`"}
    loops |= {"naive rws": "RWS, loops as published", "rws": "RWS, `--compact`"}
    for way, words in loops.items():
        own = [ways[batch, way] for batch in (1, 4, 16)]
        seconds = [f"{row['median_seconds'] / row['batch']:.2f}" for row in own]
        memory = [f"{row['memory_bytes'] / 2**30:.2f}" for row in own]
        assert f"| {words} | {' | '.join(seconds)} |" in guide
        assert "rws" not in way or f"| GiB above the weights: {words} | {' | '.join(memory)} |" in guide
