"""Every figure and table, from real runs as small as they can be: whole, readable, of the numbers that there are."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from handmade_runs import assert_whole, read_csv
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from paper_figures.exhibits import NAMES, Exhibit, MissingRun, load_exhibit, save, styled
from paper_figures.exhibits.shared.exhibit import Label, figure, place_labels
from rws_theory import printed

# Of the recorded studies, whose numbers and words the page of all exhibits has too.
LONG = {"evidence", "law_frontier", "quality_per_forward", "at_a_glance", "order_quality", "table8_pattern"}
COMPUTED = {"table2_llm_judge"}  # half of the draws are counted


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name in LONG)) for name in NAMES])
def test_it_is_whole_and_names_the_run_that_it_lacks(name: str, figure_runs: Path, tmp_path: Path) -> None:
    module = load_exhibit(name)
    with styled():
        exhibit = module.exhibit(figure_runs)
        assert_whole(exhibit, 6.6 if module.NEEDS else 10.2)  # warnings are errors here; `figure_page` writes the files
        save(name, replace(exhibit, pictures=()), tmp_path)
    for table in exhibit.tables:
        assert len(read_csv(tmp_path / "tables" / f"{table.name}.csv")) == len(table.rows)
    assert all((figure_runs / path).exists() for path in exhibit.inputs)
    printed_cells = cells(exhibit, "paper: ")
    assert printed_cells <= {number for each in printed.NAMES for number in numbers(printed.printed_in(each))}
    if module.NEEDS and name not in COMPUTED | LONG:
        results = [json.loads((figure_runs / need / "results.json").read_text("utf-8")) for need in module.NEEDS]
        assert cells(exhibit, "here: ") <= {sign * number for number in numbers(results) for sign in (1, -1)}
    for need in module.NEEDS:
        with pytest.raises(MissingRun, match=need):
            module.exhibit(tmp_path / "none")


def numbers(value: Any) -> Iterator[float]:
    """Yield the numbers of a value of lists and dicts, to nine decimals."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from numbers(part)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield round(value, 9)


def cells(exhibit: Exhibit, beginning: str) -> set[float]:
    """Return the numbers of an exhibit's columns of one side, but for what is computed from them."""
    columns = [(column, value) for table in exhibit.tables for row in table.rows for column, value in row.items()]
    kept = [value for column, value in columns if column.startswith(beginning) and not column.endswith("computed")]
    return set(numbers(kept))


def test_labels_of_equal_points_do_not_cover_each_other() -> None:
    with styled():
        picture = figure(4, 3)
        axes = picture.add_subplot()
        axes.set_xlim(0, 1)
        place_labels(picture, {axes: [Label(0.5, 0.5, f"label {index}", "black") for index in range(6)]})
        FigureCanvasAgg(picture).draw()
        boxes = [Text.get_window_extent(text) for text in axes.texts]  # without the lines to their points
    pairs = [(first, second) for index, first in enumerate(boxes) for second in boxes[:index]]
    assert len(boxes) == 6 and not any(first.overlaps(second) for first, second in pairs)
