"""Table 10: the LLM judge's win rates by the place of RWS's answer, and what they allow to conclude.

Shows: the printed shares taken as counts of 80 dialogues, with exact 95 % intervals and sign tests. Beside them, the
verdicts of the run by order if it asked an LLM; reward models score one answer at a time and know no order.
Inputs: RUNS/mt-bench/results.json, made by `python -m paper_figures experiment mt-bench --out RUNS`.
Run time: two seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from paper_figures.exhibits.differences import span
from paper_figures.exhibits.dot_plot import Dots, draw_dots, height_of
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.names import guide_names
from paper_figures.exhibits.paper_beside_ours import beside
from paper_figures.exhibits.runs import lookup, setting
from paper_figures.exhibits.style import GREY, LINES, PRINTED, Line, figure, joint_legend, panel_title
from paper_figures.table import Table
from paper_figures.tables.parts.table2_table10_judges import Dialogues, Judge, judged_dialogues, verdict_of
from paper_figures.tables.parts.table10_printed import PLACES, counted_shares, counts_table, printed_lines
from rws_decode.common.palette import BLUE
from rws_theory.printed import printed_in

Row = Mapping[str, Any]

NEEDS: tuple[str, ...] = ("mt-bench",)
_STEM = "table10_llm_judge_orders"
_LOOKS = {"first": Line(PRINTED, "s", "solid", ""), "second": Line(PRINTED, "o", "solid", "")}
_OURS = {"first": LINES["rws"], "second": Line(BLUE, "o", "solid", "")}
# Columns of the run's table `llm_orders`, in percent here.
_MEASURES = {
    "as_first": "RWS shown first, RWS win, %",
    "as_second": "RWS shown second, RWS win, %",
    "order_decides": "order decides, % of those asked about",
    "answer_1": "verdicts for answer 1, %",
    "identical": "same texts, %",
    "invalid": "no verdict, %",
}


@dataclass(frozen=True)
class Orders:
    """The run's verdicts, and the printed shares tested (`table10_printed.counted_shares`)."""

    data: Dialogues
    tested: Sequence[Row]

    def of_order(self, judge: Judge, measure: str) -> dict[str, Row]:
        """Return reward model -> the row of RWS in the run's table of orders that has a mean, in percent."""
        rows = [row for row in self.data.run.rows.get("llm_orders", ()) if judge.about.items() <= row.items()]
        by_guide = {}
        for (guide, scale), name in guide_names(rows).items():
            row = lookup(rows, guide=guide, reward_scale=scale, method="rws", measure=measure)
            if row is not None and row["mean"] is not None:
                by_guide[name] = {end: 100.0 * row[end] for end in ("mean", "low", "high")} | {"n": row["n"]}
        return by_guide


def compute(runs: Path) -> Orders:
    """Read the run's verdicts and test what was printed; MissingRun, with the command, if the run is missing."""
    return Orders(judged_dialogues(runs), counted_shares())


def draw(orders: Orders) -> Figure:
    """Draw the printed shares with exact intervals, RWS first and second; beside them ours, where an LLM judged."""
    data = orders.data
    names = [row["model"] for row in printed_in(_STEM)["rows"]]
    printed = [
        Dots(_LOOKS[order], f"{label}, as printed", _marks(orders, order), hollow=True)
        for order, label in PLACES.items()
    ]
    height = max(height_of(names, 2), height_of(data.guides, 2) if data.llm else 0.0)
    picture = figure(6.6, height + 1.05)
    panels = picture.subplots(1, 2 if data.llm else 1, squeeze=False)[0]
    draw_dots(panels[0], names, printed)
    counts = f", of {orders.tested[0]['of']} dialogues" if orders.tested else ""
    exact = ", exact 95 % intervals" if orders.tested and not data.llm else ""
    panel_title(panels[0], f"Printed{counts}{exact}")
    if data.llm:
        panel_title(panels[1], f"Here: {data.judges[0].name}")
        ours = {order: orders.of_order(data.judges[0], f"as_{order}") for order in PLACES}
        marks = {
            order: {name: (row["mean"], row["low"], row["high"]) for name, row in by_guide.items()}
            for order, by_guide in ours.items()
        }
        draw_dots(
            panels[1], data.guides, [Dots(_OURS[order], f"{PLACES[order]}, here", marks[order]) for order in PLACES]
        )
        panels[1].set_xlim(-3, 103)
    for axes in panels:
        axes.axvline(50, color=GREY, linewidth=1.0, linestyle=(0, (4, 3)))
        axes.set_xlabel("dialogues in which RWS is preferred  [%]")
    panels[0].set_xlim(40, 80)
    panels[0].set_xticks(range(40, 81, 10))
    joint_legend(picture, 2)
    return picture


def _marks(orders: Orders, order: str) -> dict[str, tuple[float, float | None, float | None]]:
    """Return model -> printed share and exact interval, in percent; no interval where no counts follow."""
    tested = {row["model"]: row for row in orders.tested if row["order"] == order}
    marks: dict[str, tuple[float, float | None, float | None]] = {}
    for row in printed_in(_STEM)["rows"]:
        ends = tested.get(row["model"])
        marks[row["model"]] = (
            row[order],
            None if ends is None else 100 * ends["low"],
            None if ends is None else 100 * ends["high"],
        )
    return marks


def tables(orders: Orders) -> tuple[Table, ...]:
    """Return the printed table beside ours, and the printed one tested where counts follow from it."""
    made = [_beside(orders)]
    if orders.tested:
        made.append(counts_table(orders.tested))
    return tuple(made)


def _beside(orders: Orders) -> Table:
    data, table = orders.data, printed_in(_STEM)
    printed = {
        row["model"]: {f"{label}, RWS win, %": row[order] for order, label in PLACES.items()} for row in table["rows"]
    }
    here: dict[str, dict[str, Any]] = {guide: {} for guide in data.guides}
    text: dict[str, dict[str, str | None]] = {guide: {} for guide in data.guides}
    for judge in data.judges:
        named = f" ({judge.name})" if len(data.judges) > 1 else ""
        columns = (
            {f"{label}{named}": orders.of_order(judge, measure) for measure, label in _MEASURES.items()}
            if data.llm
            else {
                f"RWS preferred, by {judge.name}, no order, %": {
                    guide: row for (guide, method), row in judge.values.items() if method == "rws"
                }
            }
        )
        for column, by_guide in columns.items():
            for guide, row in by_guide.items():
                here[guide][column] = row["mean"]
                text[guide][column] = span(row, form=".1f")
    unordered = "" if data.llm else " A reward model scores one answer at a time, so that no place can matter to it."
    caption = (
        f"Left: {table['where']}: {table['task']}; the default's shares are the rest of 100. {setting(data.run)} "
        f"{verdict_of(data)}{unordered} Brackets: 95 % intervals over dialogues."
    )
    return beside(_STEM, "reward model", printed, here, caption, text)


def exhibit(runs: Path) -> Exhibit:
    """Return Table 10 and its figure from what is printed and the results below `runs`."""
    orders = compute(runs)
    data = orders.data
    ours = f" Right: ours. {setting(data.run)} {verdict_of(data)} Bars: 95 % intervals." if data.llm else ""
    of = orders.tested[0]["of"] if orders.tested else 0
    bars = f"Bars: exact 95 % intervals (Clopper and Pearson) of shares of {of} dialogues. " if of else ""
    where = printed_in(_STEM)["where"]
    caption = f"{where}: hollow marks are the printed win rates of RWS. {bars}Dashed: no preference.{ours}"
    return Exhibit(
        "Table 10: the LLM judge, by the order of the answers",
        (Picture(_STEM, draw(orders), caption, _alt(orders)),),
        tables(orders),
        conclusions=_conclusions(orders),
        inputs=data.run.inputs,
    )


def _alt(orders: Orders) -> str:
    parts = [
        f"{row['model']}, {PLACES[row['order']]}: {100 * row['share']:g}, from {100 * row['low']:.1f} to "
        f"{100 * row['high']:.1f}."
        for row in orders.tested
    ]
    if orders.data.llm:
        judge = orders.data.judges[0]
        parts += [
            f"{name}, {PLACES[order]}, here by {judge.name}: {span(row, form='.1f')}."
            for order in PLACES
            for name, row in orders.of_order(judge, f"as_{order}").items()
        ]
    return (
        "Win rates of RWS in percent by reward model, in two marks each, RWS shown first and shown second, with "
        f"intervals and a line at 50. {' '.join(parts)}"
    )


def _conclusions(orders: Orders) -> tuple[str, ...]:
    lines = [*printed_lines(orders.tested)]
    data = orders.data
    if not data.llm:
        lines.append(
            "No LLM has judged the dialogues of this run, and a reward model knows of no order: whether the place of "
            "an answer matters to an LLM here is not known."
        )
    for judge in data.judges if data.llm else ():
        for measure, what, even in (
            ("answer_1", "share of verdicts for the answer shown first", 50.0),
            ("order_decides", "share of dialogues in which the preferred answers change with the order", 0.0),
        ):
            by_guide = orders.of_order(judge, measure)
            if by_guide:
                listed = "; ".join(f"{name} {span(row, form='.1f')}" for name, row in by_guide.items())
                away = [name for name, row in by_guide.items() if row["low"] > even or row["high"] < even]
                clear = "" if not even else f"; the interval leaves 50 outside for {', '.join(away) or 'none'}"
                lines.append(f"{judge.name}, {what}, %: {listed}{clear}.")
    return tuple(lines)
