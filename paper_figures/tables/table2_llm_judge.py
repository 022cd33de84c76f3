"""Table 2: two-turn dialogues, RWS against the default, judged by the paper's LLM and by our judges.

Shows: the printed win rates beside ours, by an LLM if the run asked one, else by the guide itself and by all other
reward models; RWS beside its controls on the same dialogues; each turn on its own.
Inputs: RUNS/mt-bench/results.json, made by `python -m paper_figures experiment mt-bench --out RUNS`.
Run time: two seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from paper_figures.exhibits.differences import Difference, span
from paper_figures.exhibits.dot_plot import AS_PRINTED, Dots, draw_dots, height_of
from paper_figures.exhibits.exhibit import Exhibit, Picture
from paper_figures.exhibits.findings import tally
from paper_figures.exhibits.names import guide_names, in_words, method_name
from paper_figures.exhibits.paper_beside_ours import agrees, beside
from paper_figures.exhibits.runs import lookup, setting
from paper_figures.exhibits.style import GREY, LINES, Line, figure, joint_legend, panel_title
from paper_figures.table import Table
from paper_figures.tables.parts.table2_table10_judges import Dialogues, Judge, judged_dialogues, preferred, verdict_of
from rws_decode.common.palette import AMBER, SKY
from rws_theory.printed import printed_in

Row = Mapping[str, Any]

NEEDS: tuple[str, ...] = ("mt-bench",)
DRAWN = ("rws", "constant")
_STEM = "table2_llm_judge"
# By a second judge the same methods stand in lighter marks of other shapes.
_SECOND = {"rws": Line(AMBER, "D", "solid", "RWS"), "constant": Line(SKY, "v", "solid", "constant")}


def compute(runs: Path) -> Dialogues:
    """Read the run's verdicts, an LLM's where there are any; MissingRun, with the command, if it is missing."""
    return judged_dialogues(runs)


def draw(data: Dialogues) -> Figure:
    """Draw the printed shares left, ours right: RWS and its constant by every judge, with 95 % intervals."""
    printed = {row["model"]: (row["win"], None, None) for row in printed_in(_STEM)["rows"]}
    series = [
        Dots(
            look[method],
            f"{'RWS' if method == 'rws' else method_name(method)}, by {judge.name}",
            {
                guide: (row["mean"], row["low"], row["high"])
                for (guide, other), row in judge.values.items()
                if other == method
            },
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
    """Return the printed table beside ours, RWS beside its controls, and the turns apart where there are any."""
    return (_beside(data), _controls(data), _turns(data))


def _beside(data: Dialogues) -> Table:
    table = printed_in(_STEM)
    printed = {row["model"]: {"RWS win, %": row["win"], "default win, %": row["default_win"]} for row in table["rows"]}
    here: dict[str, dict[str, Any]] = {guide: {} for guide in data.guides}
    text: dict[str, dict[str, str | None]] = {guide: {} for guide in data.guides}
    for judge in data.judges:
        for method in DRAWN:
            column = f"{'RWS' if method == 'rws' else 'constant'} preferred, by {judge.name}, %"
            for guide in data.guides:
                if (row := judge.values.get((guide, method))) is not None:
                    here[guide][column] = row["mean"]
                    text[guide][column] = span(row, form=".1f")
    if not data.llm:
        rows = data.run.rows.get("win_rates", ())
        for (guide, scale), label in guide_names(rows).items():
            for measure in ("win", "draw", "loss"):
                row = lookup(rows, guide=guide, reward_scale=scale, method="rws", measure=measure)
                percent = None if row is None or row["mean"] is None else 100.0 * row["mean"]
                here[label][f"RWS, {measure} by own guide, %"] = percent
    caption = (
        f"Left: {table['where']}: {table['task']}. {setting(data.run)} {verdict_of(data)} Brackets: 95 % intervals "
        "over dialogues; nothing printed allows any for the left."
    )
    return beside(_STEM, "reward model", printed, here, caption, text)


def _controls(data: Dialogues) -> Table:
    rows, shown = [], []
    for guide in data.guides:
        for method in data.methods:
            line: dict[str, str | None] = {"reward model": guide, "method": method_name(method)}
            for judge in data.judges:
                value, less = judge.values.get((guide, method)), judge.less.get((guide, method))
                rows.append(
                    {"reward model": guide, "method": method, "judge": judge.name}
                    | {name: (value or {}).get(key) for name, key in (("n", "n"), ("preferred, %", "mean"))}
                    | {f"preferred, %, {end}": (value or {}).get(end) for end in ("low", "high")}
                    | {"RWS minus it, points": None if less is None else less.value}
                    | {f"RWS minus it, points, {end}": getattr(less, end, None) for end in ("low", "high")}
                    | {"p, corrected": getattr(less, "p", None)}
                )
                line[f"preferred by {judge.name}, %"] = span(value, form=".1f")
                line[f"RWS minus it, by {judge.name}, points"] = None if less is None else less.text()
            shown.append(line)
    caption = (
        "RWS beside its controls on the same dialogues: the share preferred to the default, draws counted half, and "
        "RWS minus the method in percentage points, with the paired 95 % interval and p of the sign-flip "
        "permutation test, corrected over the reward models by Holm's method. If all dialogues differ by the same "
        "amount, a bootstrap has no width, and none is given."
    )
    return Table("table2_controls", rows, shown, caption)


def _turns(data: Dialogues) -> Table:
    by_turn = [row for row in data.run.rows.get("win_rates_by_turn", ()) if row["method"] == "rws"]
    names = guide_names(by_turn)
    rows, shown = [], []
    for guide, scale, turn in dict.fromkeys((row["guide"], row["reward_scale"], row["turn"]) for row in by_turn):
        line: dict[str, Any] = {"reward model": names[guide, scale], "turn": int(turn)}
        text: dict[str, str | None] = {"reward model": names[guide, scale], "turn": str(int(turn))}
        for measure, name in (("net", "own guide"), ("others_net", "other reward models")):
            share = preferred(lookup(by_turn, guide=guide, reward_scale=scale, turn=turn, measure=measure))
            column = f"RWS preferred, by {name}, %"
            line |= {column: (share or {}).get("mean")}
            line |= {f"{column}, {end}": (share or {}).get(end) for end in ("low", "high")}
            text[column] = span(share, form=".1f")
        rows.append(line)
        shown.append(text)
    caption = (
        "RWS against the default turn by turn, by reward models, draws counted half, with 95 % intervals. The second "
        "turn is answered after the method's own first answer."
    )
    return Table("table2_turns", rows, shown, caption)


def exhibit(runs: Path) -> Exhibit:
    """Return Table 2 and its figure from the results below `runs`."""
    data = compute(runs)
    caption = (
        f"Left, hollow: {printed_in(_STEM)['where']}, as printed. The paper prints nothing about how dialogues differ, "
        f"so there are no bars (Table 10 allows some). Right: ours. {setting(data.run)} {verdict_of(data)} Bars: 95 % "
        "intervals over dialogues. Dashed: no preference."
    )
    return Exhibit(
        "Table 2: two-turn dialogues judged",
        (Picture(_STEM, draw(data), caption, _alt(data)),),
        tables(data),
        conclusions=_conclusions(data),
        inputs=data.run.inputs,
    )


def _alt(data: Dialogues) -> str:
    printed = [row["win"] for row in printed_in(_STEM)["rows"]]
    parts = [
        f"{guide}, {method_name(method)}, by {judge.name}: {span(row, form='.1f')}."
        for judge in data.judges
        for method in DRAWN
        for (guide, other), row in judge.values.items()
        if other == method
    ]
    return (
        f"Two panels of the share of dialogues preferred to the default, in percent. Printed, for {len(printed)} "
        f"reward models: {min(printed):g} to {max(printed):g}. Here, with 95 % intervals: {' '.join(parts)}"
    )


def _conclusions(data: Dialogues) -> tuple[str, ...]:
    printed = printed_in(_STEM)["rows"]
    means = {row["model"]: (row["first"] + row["second"]) / 2 for row in printed_in("table10_llm_judge_orders")["rows"]}
    odd = [row["model"] for row in printed if not agrees(row["win"], means[row["model"]])]
    wins = [row["win"] for row in printed]
    lines = [
        f"The printed LLM judge prefers RWS in {min(wins):g} to {max(wins):g} % of dialogues for {len(wins)} reward "
        "models, without intervals or controls."
        + ("" if data.llm else " No LLM has judged this run: whether one would prefer RWS here is not known."),
        "The means of Table 10's two orders round to the printed numbers for "
        + (f"all models but {', '.join(odd)}." if odd else "every model."),
    ]
    for judge in data.judges:
        if (versus := _against_default(data, judge)) is not None:
            lines.append(f"RWS against the default on two-turn dialogues, {judge.called}: {versus}")
        controls = {name: less for name in data.methods[1:] if name != "default" and (less := judge.minus(name))}
        same = [method for method, less in controls.items() if all(difference.none for difference in less)]
        if same:
            others = "; ".join(map(in_words, same))
            lines.append(f"Exactly as RWS in every prompt, {judge.called}, for every reward model: {others}.")
        for method, less in controls.items():
            if method not in same:
                summary = tally(less, "reward models")
                lines.append(f"RWS minus {in_words(method)}, share preferred in points, {judge.called}: {summary}")
    return tuple(lines)


def _against_default(data: Dialogues, judge: Judge) -> str | None:
    """Return in words how RWS stands against the default; an LLM's verdicts by the sign test over whole dialogues."""
    if not data.llm:
        less = judge.minus("default")
        return f"in points of the share preferred above one half, {tally(less, 'reward models')}" if less else None
    rows = [row for row in data.run.rows.get("llm_sign_tests", ()) if judge.about.items() <= row.items()]
    names = guide_names(rows)
    differences = []
    for row in (row for row in rows if row["method"] == "rws"):
        value, low, high = (100 * row[end] - 50 for end in ("score", "low", "high"))
        differences.append(Difference(names[row["guide"], row["reward_scale"]], value, low, high, row["p_holm"]))
    summary = f"in points of (W + D/2)/N above one half, p of the sign test, {tally(differences, 'reward models')}"
    return summary if differences else None
