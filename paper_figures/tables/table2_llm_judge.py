"""Table 2: two-turn dialogues, RWS against the default, judged by the paper's LLM and by our judges.

Shows: the printed win rates beside ours, by an LLM if the run asked one, else by the guide itself and by all other
reward models; RWS minus its controls on the same dialogues.
Inputs: RUNS/mt-bench/results.json, made by `python -m paper_figures experiment mt-bench --out RUNS`.
Run time: two seconds.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from paper_figures.exhibits.differences import differences_table, tally
from paper_figures.exhibits.dot_plot import AS_PRINTED, Dots, draw_dots, height_of, marks_of
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.judged_dialogues import Dialogues, judged_dialogues
from paper_figures.exhibits.names import method_name
from paper_figures.exhibits.paper_beside_ours import beside, measured, numbers_by
from paper_figures.exhibits.runs import setting
from paper_figures.exhibits.style import GREY, LINES, Line, figure, joint_legend, panel_title
from paper_figures.table import Table
from rws_decode.common.palette import AMBER, SKY
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ("mt-bench",)
DRAWN = ("rws", "constant")
_STEM = "table2_llm_judge"
# By a second judge the same methods stand in lighter marks of other shapes.
_SECOND = {"rws": Line(AMBER, "D", "solid", "RWS"), "constant": Line(SKY, "v", "solid", "constant")}

compute = judged_dialogues


def draw(data: Dialogues) -> Figure:
    """Draw the printed shares left, ours right: RWS and its constant by every judge, with 95 % intervals."""
    printed = {row["model"]: (row["win"], None, None) for row in printed_in(_STEM)["rows"]}
    series = [
        Dots(
            look[method],
            f"{'RWS' if method == 'rws' else method_name(method)}, by {judge}",
            marks_of(data.of(method, judge)),
        )
        for judge, look in zip(data.judges, (LINES, _SECOND), strict=False)  # the table has all of them
        for method in DRAWN
        if method in data.methods
    ]
    height = max(height_of([*printed], 1), height_of(data.guides, len(series)))
    picture = figure(6.6, height + 1.1)
    left, right = picture.subplots(1, 2, width_ratios=(2, 3))
    draw_dots(left, [*printed], [Dots(AS_PRINTED, AS_PRINTED.label, printed, hollow=True)])
    left.set_xlim(40, 80)
    left.set_xticks(range(40, 81, 10))
    panel_title(left, "Printed: GPT-4.1, MT-Bench")
    draw_dots(right, data.guides, series)
    right.set_xlim(-3, 103)
    panel_title(right, "Here: an LLM judges" if data.llm else "Here: reward models judge")
    for axes in (left, right):
        axes.axvline(50, color=GREY, linewidth=1.0, linestyle=(0, (4, 3)))
        axes.set_xlabel("preferred to the default  [%]")
    joint_legend(picture, 2)
    return picture


def tables(data: Dialogues) -> tuple[Table, ...]:
    """Return the printed table beside ours, and RWS minus its controls."""
    table = printed_in(_STEM)
    printed = {row["model"]: {"RWS win, %": row["win"], "default win, %": row["default_win"]} for row in table["rows"]}
    drawn = [{**row, "measure": f"{row['method']} by {row['measure']}"} for row in data.rows if row["method"] in DRAWN]
    columns = [
        measured(f"{'RWS' if method == 'rws' else method} preferred, by {judge}, %", f"{method} by {judge}", ".1f")
        for judge in data.judges
        for method in DRAWN
    ]
    caption = (
        f"Left: {table['where']}: {table['task']}. {setting(data.run)} {data.verdict()} Brackets: 95 % intervals over "
        "dialogues; nothing printed allows any for the left."
    )
    minus = {judge: f"preferred by {judge}, points" for judge in data.judges}
    return (
        beside(_STEM, "reward model", printed, numbers_by(drawn), caption, columns),
        differences_table("table2_differences", data.rows, minus),
    )


def exhibit(runs: Path) -> Exhibit:
    """Return Table 2 and its figure from the results below `runs`."""
    data = compute(runs)
    wins = [row["win"] for row in printed_in(_STEM)["rows"]]
    caption = (
        f"Left, hollow: {printed_in(_STEM)['where']}, as printed. The paper prints nothing about how dialogues differ, "
        f"so there are no bars (Table 10 allows some). Right: ours. {setting(data.run)} {data.verdict()} Bars: 95 % "
        "intervals over dialogues. Dashed: no preference."
    )
    alt = (
        f"Two panels of the share of dialogues preferred to the default, in percent. Printed, for {len(wins)} reward "
        f"models: {min(wins):g} to {max(wins):g}. Here, with 95 % intervals, by {' and by '.join(data.judges)}."
    )
    printed = (
        f"The printed LLM judge prefers RWS in {min(wins):g} to {max(wins):g} % of dialogues for {len(wins)} reward "
        "models, without intervals or controls."
        + ("" if data.llm else " No LLM has judged this run: whether one would prefer RWS here is not known.")
    )
    ours = tuple(
        f"RWS against the default on two-turn dialogues, by {judge}: {tally(found, 'reward models')}."
        for judge, found in data.against.items()
    )
    return Exhibit(
        "Table 2: two-turn dialogues judged",
        (Picture(_STEM, draw(data), caption, alt),),
        tables(data),
        conclusions=(printed, *ours),
        inputs=data.run.inputs,
    )
