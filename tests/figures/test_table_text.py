"""Tables on a terminal: no line is too long, every row can be told from the others, the reference stands first."""

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from paper_figures.statistics import Summary, summary_table
from paper_figures.table import Brief, Table
from paper_figures.table_text import WIDTH, fitted, terminal_text

CELLS = st.one_of(st.none(), st.integers(-99, 99), st.floats(-9, 9), st.text(max_size=60), st.just("word " * 30))
NAMES = st.lists(st.from_regex(r"[a-z]{1,12}( [a-z]{1,12}){0,3}|[a-z]{1,9}_[a-z]{1,9}", fullmatch=True), unique=True)


@given(st.data(), st.integers(40, 120))
def test_no_line_is_longer_than_the_width(data: st.DataObject, width: int) -> None:
    names = data.draw(NAMES.filter(lambda names: 0 < len(names) < 15))
    rows = [{name: data.draw(CELLS) for name in names} for _ in range(data.draw(st.integers(1, 6)))]
    lines = fitted(rows, width).splitlines()
    # A header's single word may be longer than what is left for it; here none is.
    assert all(len(line) <= width for line in lines), lines


def test_a_table_that_fits_is_shown_as_it_is_and_else_columns_of_one_value_stand_above() -> None:
    rows = [{"guide": "mini", "method": "rws", "own_score": 1.5}, {"guide": "mini", "method": "margin", "own_score": 2}]
    whole = ["guide  method  own_score", "mini   rws           1.5", "mini   margin          2"]
    assert fitted(rows).splitlines() == whole
    assert fitted(rows, 20).splitlines() == ["guide mini", "", *(line.removeprefix(line[:7]) for line in whole)]


def test_caption_and_rows_of_the_brief_form_are_shown() -> None:
    table = Table("t", [], [{"a": "long"}], "Long caption.", Brief("Short one. " * 20, [{"a": "short"}]))
    text = terminal_text([table])
    assert "Long" not in text and "long" not in text and "short" in text
    assert max(map(len, text.splitlines())) <= WIDTH


def test_the_reference_stands_first_and_clear_differences_are_marked() -> None:
    values = {"rws": [0.0] * 8, "best": [1.0] * 8, "zero": [0.0, 0.1] * 4}
    frame = pd.DataFrame(
        [
            {"method": method, "scale": scale, "example": str(number), "net": value}
            for method, row in values.items()
            for scale in (8.0, 2.0)
            for number, value in enumerate(row)
        ]
    )
    summary = Summary(("net",), ("scale", "method"), {"method": "rws"}, ("example",), ("scale",))
    table = summary_table("controls", "Means. In brackets the difference to rws.", frame, summary)
    assert table is not None and table.brief is not None
    order = [(2.0, "rws"), (2.0, "best"), (2.0, "zero"), (8.0, "rws"), (8.0, "best"), (8.0, "zero")]
    assert [(row["scale"], row["method"]) for row in table.rows] == order
    assert [row["net"] for row in table.brief.rows] == ["0", "1*", "0.05"] * 2
    assert "In brackets" in table.caption and "(+1 [+0.35, +1], p 0.016)" in table.shown[1]["net"]
    assert table.brief.caption == (
        "Means. A * marks a difference from rws, p < 0.05 after Holm's correction; controls.md has them all."
    )
