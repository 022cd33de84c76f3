"""What guidance costs on the hardware: the exhibit, the guides that tell it, and how a reader may draw it."""

from pathlib import Path

import pytest
from documented_commands import page
from matplotlib.axes import Axes

from paper_figures.exhibits import styled
from paper_figures.extra.bench import device_cost
from rws_theory.printed import printed_in


def _drawn(axes: Axes) -> dict[str, list[float]]:
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
