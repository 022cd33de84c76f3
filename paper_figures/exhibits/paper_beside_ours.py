"""A table of printed and measured numbers: one row per name, the paper's numbers left, ours right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from paper_figures.table import Column, Table, make_table
from rws_theory.printed import printed_in

Numbers = Mapping[str, Mapping[str, Any]]


def beside(
    stem: str, key: str, printed: Numbers, here: Numbers, caption: str, columns: Sequence[Column] | None = None
) -> Table:
    """Return a table with one row per name, the paper's names first; a name of both sides has both in one row.

    printed: name -> column -> number or text; here: name -> field -> the same; columns: what is shown of `here`, by
    default every field. They become "paper: ..." and "here: ...", and are empty if that side has no such name. The ends
    of intervals are columns of the CSV. Give reward models the paper's names (`names.guide_name`), so that they share
    the paper's rows.

    >>> columns = [Column("win, %", "win", ".0f", ("low", "high"))]
    >>> here = {"A": {"win": 60.0, "low": 50.0, "high": 70.0}}
    >>> table = beside("s", "model", {"A": {"win": 60.2}}, here, "A caption.", columns)
    >>> table.shown
    [{'model': 'A', 'paper: win': '60.2', 'here: win, %': '60 [50, 70]'}]
    >>> list(table.rows[0])
    ['model', 'paper: win', 'here: win, %', 'here: win, %, low', 'here: win, %, high']
    """
    left = dict.fromkeys(column for row in printed.values() for column in row)
    if columns is None:
        columns = [Column(name) for name in dict.fromkeys(name for row in here.values() for name in row)]
    rows, texts = [], []
    for name in dict.fromkeys([*printed, *here]):
        given, ours = printed.get(name, {}), here.get(name, {})
        row: dict[str, Any] = {key: name} | {f"paper: {column}": given.get(column) for column in left}
        text = {key: name} | {f"paper: {column}": Column(column).text(given) for column in left}
        for column in columns:
            row |= {f"here: {label}": value for label, value in column.values(ours).items()}
            text[f"here: {column.label}"] = column.text(ours) if ours else None
        rows.append(row)
        texts.append(text)
    return Table(stem, rows, texts, caption)


def numbers_by(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return name -> the means of each measure of its rows, with the ends of their intervals, for `measured`.

    >>> numbers_by([{"name": "a", "measure": "win", "mean": 1.0, "low": 0.0, "high": 2.0, "n": 9, "reward_scale": 8.0}])
    {'a': {'s_R': 8.0, 'prompts': 9, 'win': 1.0, 'win low': 0.0, 'win high': 2.0}}
    """
    lines: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["mean"] is not None:
            line = lines.setdefault(row["name"], {"s_R": row.get("reward_scale"), "prompts": row["n"]})
            line |= {row["measure"]: row["mean"]} | {f"{row['measure']} {end}": row[end] for end in ("low", "high")}
    return lines


def measured(label: str, measure: str, form: str = ".3g") -> Column:
    """Return the column of a measure of `numbers_by` with its interval."""
    return Column(label, measure, form, (f"{measure} low", f"{measure} high"))


def printed_range(quantity: str) -> tuple[float, float]:
    """Return the ends of the range that the text on the keyword task prints; both are the same for a single number.

    >>> printed_range("perplexity of RWS below that of the default"), printed_range("GOD of the default")
    ((12, 16), (0.95, 0.95))
    """
    entry = _keyword_task()[quantity]
    low, high = ("value", "value") if "value" in entry else ("low", "high")
    return entry[low], entry[high]


def ranges_table(stem: str, ours: Mapping[str, Iterable[float | None]], over: str) -> Table:
    """Return each range or number of that text with the range of ours; quantities without a number are left out.

    ours: quantity, as `printed_in("keyword_task")` names it, -> our values; over: what these are of, in words.
    """
    rows = [
        {"quantity": quantity, **dict(zip(_ENDS, (*printed_range(quantity), min(values), max(values)), strict=True))}
        | {"where in the paper": _keyword_task()[quantity]["where"]}
        for quantity, found in ours.items()
        if (values := [value for value in found if value is not None])
    ]
    columns = [
        Column("quantity"),
        Column("paper: printed", form=lambda row: _range(row, "paper", "g")),
        Column("here: range", form=lambda row: _range(row, "here", ".2f")),
        Column("where in the paper"),
    ]
    caption = (
        f"{printed_in('keyword_task')['where']}: numbers in the text, as printed, and the same quantities here, over "
        f"{over}. GOD here is in steps. Percentages and ratios can be compared, levels cannot."
    )
    return make_table(stem, rows, columns, caption)


_ENDS = ("paper: low", "paper: high", "here: low", "here: high")


def _keyword_task() -> dict[str, dict[str, Any]]:
    task = printed_in("keyword_task")
    return {entry["quantity"]: entry for entry in (*task["ranges"], *task["values"])}


def _range(row: Mapping[str, Any], side: str, form: str) -> str:
    return " to ".join(dict.fromkeys(f"{row[f'{side}: {end}']:{form}}" for end in ("low", "high")))


def agrees(printed: float, computed: float) -> bool:
    """Return whether `computed` rounds to `printed` at the decimals that `printed` shows; a tie may round either way.

    >>> agrees(0.486, 0.48641), agrees(1.73, 4.8121)
    (True, False)
    """
    decimals = len(f"{printed!r}".partition(".")[2])
    return abs(printed - computed) <= 0.5 * 10.0**-decimals + 1e-12
