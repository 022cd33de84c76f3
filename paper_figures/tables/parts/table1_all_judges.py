"""Table 1 beside ours, and every method judged by its own guide and by other reward models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from paper_figures.exhibits.differences import Difference, difference_from_row, span
from paper_figures.exhibits.names import method_name, methods_in
from paper_figures.exhibits.paper_beside_ours import beside, number_text
from paper_figures.exhibits.runs import Results, lookup, setting
from paper_figures.table import Table

Row = Mapping[str, Any]

_WIN, _DRAW, _LOSS = "RWS wins, W/(W+L+T), %", "draws, %", "default wins, %"
_HALF = "(W + T/2)/N, %"
_DEFAULT = "confidence (default)"
# Measure -> who judges.
JUDGES = {"net": "own guide", "others_net": "other reward models"}


@dataclass(frozen=True)
class WinRates:
    """The experiment's table `win_rates`, in percent of prompts; guides: (guide, scale) -> name, in the rows' order."""

    run: Results
    rows: Sequence[Row]
    guides: Mapping[tuple[str, float | None], str]
    printed: Mapping[str, Any]

    def of(self, key: tuple[str, float | None], method: str, measure: str) -> Row | None:
        """Return the row of one guide, method and measure; None if there is none, or it has no value."""
        row = lookup(self.rows, guide=key[0], reward_scale=key[1], method=method, measure=measure)
        return None if row is None or row["mean"] is None else row

    def net(self, key: tuple[str, float | None], measure: str = "net") -> Difference | None:
        """Return the net win rate of RWS with its interval and the corrected p against the default."""
        row, tested = self.of(key, "rws", measure), self.of(key, "default", measure)
        if row is None:
            return None
        p = None if tested is None else tested["p_holm"]
        return Difference(self.guides[key], row["mean"], row["low"], row["high"], p)


def win_rate_tables(data: WinRates) -> tuple[Table, Table]:
    """Return the printed table beside ours, and every method by own and other judges."""
    return _printed(data), _methods(data)


def _printed(data: WinRates) -> Table:
    paper = data.printed
    printed: dict[str, dict[str, Any]] = {_DEFAULT: {"GOD": paper["default_god"]}}
    for row in paper["rows"]:
        printed[row["model"]] = {
            "GOD": row["god"],
            _WIN: row["win"],
            _DRAW: row["draw"],
            _LOSS: row["default_win"],
            f"{_HALF}, from these": round(row["win"] + row["draw"] / 2, 2),
        }
    here: dict[str, dict[str, Any]] = {_DEFAULT: {}}
    shown: dict[str, dict[str, str | None]] = {_DEFAULT: {}}
    for key, name in data.guides.items():
        line, text = _ours(data, key)
        here[name], shown[name] = line, text
        for column, measure in (("GOD, tokens", "god_tokens"), ("GOD, steps", "god_steps")):
            row = data.of(key, "default", measure)
            here[_DEFAULT][column] = None if row is None else row["mean"]
            shown[_DEFAULT][column] = span(row, form=".2f")
    caption = (
        f"Left: {paper['where']}: {paper['task']}, without intervals. {setting(data.run)} Here too the guide judges. A "
        "draw is an equal score; equal texts have equal scores. Brackets: 95 % intervals, Wilson's for shares, "
        "Tango's for net, else the bootstrap over prompts. Net: won minus lost; p: sign-flip permutation test of net, "
        "corrected over the guides by Holm's method. The paper does not say in which unit it counts GOD. The ledger "
        "of claims says whether the paper's text and table agree."
    )
    # The default's line first fills the columns of GOD: those of our table are to stand in its own order.
    order = next(iter(here[name] for name in data.guides.values()))
    here = {name: {column: line.get(column) for column in order} for name, line in here.items()}
    table = beside("table1_win_rate", "reward model", printed, here, caption, shown)
    ends = [column for column in table.rows[0] if column.endswith((", low", ", high"))]
    return replace(table, shown=[{k: v for k, v in row.items() if k not in ends} for row in table.shown])


def _ours(data: WinRates, key: tuple[str, float | None]) -> tuple[dict[str, Any], dict[str, str | None]]:
    """Return a guide's numbers, and the same as text with intervals."""
    line: dict[str, Any] = {"s_R": key[1]}
    text: dict[str, str | None] = {"s_R": number_text(key[1])}
    win = data.of(key, "rws", "win")
    line["prompts"] = None if win is None else win["n"]
    for column, measure, form in (
        ("GOD, tokens", "god_tokens", ".2f"),
        ("GOD, steps", "god_steps", ".2f"),
        (_WIN, "win", ".0f"),
        (_DRAW, "draw", ".0f"),
        (_LOSS, "loss", ".0f"),
    ):
        row = data.of(key, "rws", measure)
        line |= _numbers(column, row)
        text[column] = span(row, form=form)
    net = data.of(key, "rws", "net")
    half = None if net is None else {end: (100 + net[end]) / 2 for end in ("mean", "low", "high")}
    line |= _numbers(_HALF, half) | _numbers("net, points", net)
    text |= {_HALF: span(half), "net, points": span(net, form="+.0f")}
    difference = data.net(key)
    line["p of net"] = None if difference is None else difference.p
    text["p of net"] = None if difference is None or difference.p is None else f"{difference.p:.2g}"
    return line, text


def _numbers(column: str, row: Row | None) -> dict[str, Any]:
    names = {"mean": column, "low": f"{column}, low", "high": f"{column}, high"}
    return {name: None if row is None else row[end] for end, name in names.items()}


def _methods(data: WinRates) -> Table:
    methods = methods_in(data.rows)
    shares = {"won, %": "win", "drawn, %": "draw", "lost, %": "loss"}
    rows, shown = [], []
    for key, name in data.guides.items():
        for method in methods:
            line: dict[str, Any] = {"guide": name, "method": method}
            text: dict[str, str | None] = {"guide": name, "method": method_name(method)}
            for column, measure in shares.items():
                row = data.of(key, method, measure)
                line[f"own guide: {column}"] = None if row is None else row["mean"]
                text[f"own guide: {column}"] = None if row is None else f"{row['mean']:.0f}"
            for measure, judge in JUDGES.items():
                row = data.of(key, method, measure)
                difference = None if method == "rws" else difference_from_row(name, row)
                line |= _numbers(f"{judge}: net, points", row)
                text[f"{judge}: net, points"] = span(row, form="+.0f")
                column = f"{judge}: RWS minus this"
                ends = (
                    (None,) * 4
                    if difference is None
                    else (difference.value, difference.low, difference.high, difference.p)
                )
                names = (column, f"{column}, low", f"{column}, high", f"{column}, p")
                line |= dict(zip(names, ends, strict=True))
                text[column] = None if difference is None else difference.text() + (" *" if difference.sign else "")
            for column, measure, form in (("GOD, tokens", "god_tokens", ".2f"), ("cost", "cost", ".0f")):
                row = data.of(key, method, measure)
                line[column] = None if row is None else row["mean"]
                text[column] = None if row is None else f"{row['mean']:{form}}"
            rows.append(line)
            shown.append(text)
    caption = (
        "What Table 1 leaves out: each method against the default on the same prompts, judged by its own guide and by "
        "all other reward models (their mean net), and RWS minus each method: difference of net, 95 % interval, p "
        "corrected over the guides by Holm's method; *: the interval excludes zero and p is at most 0.05. The constant "
        "factor is each answer's mean RWS factor; shuffled, random and sign-turned rewards go through the same rule as "
        "the true ones. Cost: forwards plus reward calls."
    )
    return Table("table1_methods", rows, shown, caption)
