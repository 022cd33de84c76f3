"""Every figure and table, from real runs as small as they can be: whole, readable, and saved as it is."""

from dataclasses import replace
from pathlib import Path

import pytest
from handmade_runs import assert_whole, read_csv

from paper_figures.exhibits import NAMES, load_exhibit
from paper_figures.exhibits.shared.exhibit import MissingRun, save, styled

# Of the recorded studies, whose numbers and words the page of all exhibits has too.
LONG = {"evidence", "law_frontier", "quality_per_forward", "at_a_glance", "order_quality", "table8_pattern"}


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
    for need in module.NEEDS:
        with pytest.raises(MissingRun, match=need):
            module.exhibit(tmp_path / "none")
