"""Figure 5: mean win rate over the rewards: RWS against confidence decoding, with controls and other judges.

Shows: the two bars that the paper's text gives numbers for. Then, measured here, for RWS and each control: how many
prompts it wins from confidence and loses to it, by its own reward and by other reward models, with 95 % intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from paper_figures.exhibits.shared.exhibit import (
    LINES,
    Dots,
    Exhibit,
    Picture,
    draw_dots,
    figure,
    height_of,
    joint_legend,
    marks_of,
    panel_title,
)
from paper_figures.exhibits.shared.results import (
    Difference,
    Results,
    Row,
    beside,
    controls_of,
    in_words,
    measured,
    method_name,
    numbers_by,
    read_run,
    rws_minus,
    setting,
    with_mean,
)
from paper_figures.table import Column, Table
from rws_theory.printed import printed_in

NEEDS = ("reward-bench",)
RELATIONS = {"own": "own reward", "other": "other reward models"}
# Who wins: RWS or its control, and confidence decoding.
_LOOKS = {"method wins": LINES["rws"], "default wins": LINES["default"]}


@dataclass(frozen=True)
class MeanWinRates:
    """The experiment's table `mean_win_rates`, in percent of prompts; lines: (method, scale) in the order of rows.

    relations: which judges there are, "own" first; a run of one reward model has no others.
    """

    run: Results
    rows: Sequence[Row]
    lines: Sequence[tuple[str, float | None]]
    relations: Sequence[str]
    guides: int
    printed: Mapping[str, Any]

    def of(self, relation: str, line: tuple[str, float | None], measure: str) -> Row | None:
        """Return the row of one method and measure by one kind of judge; None if there is none, or no value."""
        scale = {} if line[1] is None else {"reward_scale": line[1]}
        return with_mean(self.rows, relation=relation, method=line[0], measure=measure, **scale)

    def minus(self, relation: str, line: tuple[str, float | None]) -> Difference | None:
        """Return the mean net of RWS minus that of a method; for RWS itself its net, with p against confidence."""
        method, scale = line
        if method != "rws":
            return rws_minus(self.of(relation, line, "net"))
        row, tested = self.of(relation, line, "net"), self.of(relation, ("default", scale), "net")
        return Difference(row["mean"], row["low"], row["high"], tested["p_holm"] if tested else None) if row else None

    def name(self, line: tuple[str, float | None]) -> str:
        """Return a line's method, with its scale where the run has several."""
        return method_name(line[0]) + ("" if line[1] is None else f", s_R = {line[1]:g}")


def compute(runs: Path) -> MeanWinRates:
    """Read the experiment's outcome below `runs`; MissingRun, with the command, if it is missing."""
    run = read_run(runs, NEEDS[0])
    rows = run.table("mean_win_rates", "no answer was judged")
    # The table has a column of scales only where a reward has several.
    scales = sorted({row["reward_scale"] for row in rows}) if "reward_scale" in rows[0] else [None]
    lines = [(method, scale) for scale in scales for method in ("rws", *controls_of(rows))]
    guides = len({row["guide"] for row in run.rows.get("win_rates", ())})
    relations = [relation for relation in RELATIONS if any(row["relation"] == relation for row in rows)]
    return MeanWinRates(run, rows, lines, relations, guides, printed_in("table1_win_rate"))


def draw(data: MeanWinRates) -> Figure:
    """Draw the printed means on an axis of their own, and ours: a pair per method, a panel per kind of judge."""
    text, names = data.printed["text"], [data.name(line) for line in data.lines]
    picture = figure(6.6, 1.9 + height_of(["RWS"], 2) + height_of(names, 2))
    grid = picture.add_gridspec(2, len(data.relations), height_ratios=(height_of(["RWS"], 2), height_of(names, 2)))
    top = picture.add_subplot(grid[0, :])
    means = zip(_LOOKS.items(), (text["win_mean"], text["default_mean"]), strict=True)
    marks = [Dots(look, f"{who}, as printed", {"RWS": (mean, None, None)}, hollow=True) for (who, look), mean in means]
    draw_dots(top, ["RWS"], marks)
    panel_title(top, f"Printed in the text: mean of {len(data.printed['rows'])} rewards, by own reward, no interval")
    panels = [picture.add_subplot(grid[1, index]) for index in range(len(data.relations))]
    for axes, relation in zip(panels, data.relations, strict=True):
        series = []
        for (label, look), measure in zip(_LOOKS.items(), ("win", "loss"), strict=True):
            rows = {data.name(line): row for line in data.lines if (row := data.of(relation, line, measure))}
            series.append(Dots(look, f"{label}, here", marks_of(rows)))
        draw_dots(axes, names, series, labelled=axes is panels[0])
        panel_title(axes, f"Here: by {RELATIONS[relation]}")
    for axes in (top, *panels):
        axes.set_xlim(-3, 103)
    picture.supxlabel("prompts won by each side; the rest are ties  [percent, mean over rewards]", fontsize=9)
    joint_legend(picture, 2, "outside upper center")
    return picture


def table(data: MeanWinRates) -> Table:
    """Return the printed means beside ours, a row per method and kind of judge."""
    text = data.printed["text"]
    printed = {f"RWS, by {RELATIONS['own']}": {"wins, %": text["win_mean"], "default wins, %": text["default_mean"]}}
    here: dict[str, dict[str, Any]] = {}
    for relation in data.relations:
        for line in data.lines:
            rows = [row for name in ("win", "draw", "loss", "net") if (row := data.of(relation, line, name))]
            name, minus = f"{data.name(line)}, by {RELATIONS[relation]}", data.minus(relation, line)
            here |= numbers_by({**row, "name": name} for row in rows)
            here.setdefault(name, {})["minus"] = minus and minus.text()
    columns = [measured("wins, %", "win", ".1f"), measured("draws, %", "draw", ".1f")]
    columns += [measured("default wins, %", "loss", ".1f"), measured("net, points", "net", "+.1f")]
    columns.append(Column("net of RWS minus this", "minus"))
    caption = (
        f"Left: the means in the text of {data.printed['where']}; Figure 5 shows them without intervals. "
        f"{setting(data.run)} Means over {data.guides} rewards, prompt by prompt, with 95 % intervals over "
        "prompts. Last column: on the same prompts, with p of the sign-flip permutation test, not corrected over "
        "methods. For RWS itself it is its net over the default. *: the interval excludes zero and p is at most 0.05."
    )
    return beside("fig5_mean_win_rate", "method and judge", printed, here, caption, columns)


def exhibit(runs: Path) -> Exhibit:
    """Return Figure 5 from the experiment's results below `runs`."""
    data = compute(runs)
    text = data.printed["text"]
    caption = (
        f"Top, hollow: the means that the text of {data.printed['where']} gives for Figure 5. Below, on axes of their "
        f"own, what was measured. {setting(data.run)} Per method: prompts that it wins from the default, and below "
        f"them those that the default wins; mean over {data.guides} rewards, 95 % intervals over prompts. A control "
        "that does as well as RWS needs no reward for it."
    )
    alt = (
        f"Dots. Printed: RWS wins {text['win_mean']} percent, the default {text['default_mean']}. Here, a pair of dots "
        "with intervals for RWS and each control, by their own reward and by other reward models."
    )
    lines = []  # by kind of judge, the net of RWS and the same minus that of its fixed factor
    for scale in dict.fromkeys(scale for _, scale in data.lines):
        where = "" if scale is None else f" at s_R = {scale:g}"
        for relation in data.relations:
            net, minus = (data.minus(relation, (method, scale)) for method in ("rws", "constant"))
            less = f"; minus that of {in_words('constant')}, {minus.text()}" if minus else ""
            if net:
                lines.append(
                    f"Mean over {data.guides} rewards{where}, by {RELATIONS[relation]}: net win rate of RWS, points, "
                    f"{net.text()}{less}."
                )
    pictures = (Picture("fig5_mean_win_rate", draw(data), caption, alt),)
    return Exhibit("Figure 5: mean win rate", pictures, (table(data),), tuple(lines), data.run.inputs)
