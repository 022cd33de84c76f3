"""Net win rates of RWS and its controls against the default, and RWS minus each control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from paper_figures.exhibits.differences import clear, difference_text, excludes_zero
from paper_figures.exhibits.exhibit import Picture
from paper_figures.exhibits.names import RELATIONS, guide_name, method_name
from paper_figures.exhibits.runs import Results
from paper_figures.exhibits.style import GREY, LINES, figure, panel_title
from paper_figures.table import Table

Row = Mapping[str, Any]

_LOOKS = {"own": LINES["temperature"], "other": LINES["constant"]}


@dataclass(frozen=True)
class Net:
    """A method's net win rate against the default, in percent of prompts, and RWS minus it, by one kind of judge.

    mean, low, high: of the rate; minus: difference, low, high, p_holm; of RWS itself, minus the default, which has 0.
    """

    name: str
    method: str
    relation: str
    mean: float
    low: float
    high: float
    minus: Row | None


def nets_of(run: Results, order: Sequence[str]) -> tuple[Net, ...]:
    """Return the net win rates from a study's mean win rates.

    Order: RWS, the methods of `order`, further ones; the own guide before other reward models.
    """
    nets = []
    rows = [row for row in run.rows.get("mean_win_rates", ()) if row["measure"] == "net" and row["mean"] is not None]
    for row in rows:
        if row["method"] == "default":
            continue
        name = method_name(row["method"])
        if row.get("reward_scale") is not None:
            name += f", s_R = {row['reward_scale']:g}"
        against = row
        if row["method"] == "rws":
            keys = ("relation", "reward_scale")
            same = [other for other in rows if all(other.get(key) == row.get(key) for key in keys)]
            against = next((other for other in same if other["method"] == "default"), row)
        ends = (row["mean"], row["low"], row["high"])
        nets.append(Net(name, row["method"], row["relation"], *ends, _minus(against)))
    methods = list(dict.fromkeys(["rws", *order, *(net.method for net in nets)]))
    judges = list(RELATIONS)
    return tuple(sorted(nets, key=lambda net: (methods.index(net.method), net.name, judges.index(net.relation))))


def _minus(row: Row) -> Row | None:
    """Return RWS minus the row's method: in the table the difference is the other way round."""
    if row["difference"] is None:
        return None
    ends = {"difference": "difference", "low": "difference_high", "high": "difference_low"}
    # Rounded, as means of equal numbers differ in the last bit; adding 0.0 leaves no negative zero.
    return {name: round(-row[key], 9) + 0.0 for name, key in ends.items()} | {"p_holm": row["p_holm"]}


def draw_nets(nets: Sequence[Net]) -> Figure:
    """Draw the net win rate of every method against the default, and beside it RWS minus the method."""
    names = list(dict.fromkeys(net.name for net in nets))
    relations = [name for name in RELATIONS if any(net.relation == name for net in nets)]
    picture = figure(6.6, 1.5 + 0.42 * len(names))
    left, right = picture.subplots(1, 2, sharey=True)
    for net in nets:
        at = names.index(net.name) + (0.14 if net.relation == "other" else -0.14) * (len(relations) > 1)
        look = _LOOKS[net.relation]
        spread = [[max(net.mean - net.low, 0.0)], [max(net.high - net.mean, 0.0)]]
        style = {"color": look.color, "marker": look.marker, "linestyle": "none", "elinewidth": 1.0, "capsize": 2}
        left.errorbar(net.mean, at, xerr=spread, **style)
        if net.minus is not None and net.method != "rws":
            middle = net.minus["difference"]
            ends = [[max(middle - net.minus["low"], 0.0)], [max(net.minus["high"] - middle, 0.0)]]
            style["markerfacecolor"] = look.color if clear(net.minus) else "white"
            right.errorbar(middle, at, xerr=ends, **style)
    for axes, title in ((left, "Method against the default"), (right, "RWS minus the method")):
        axes.axvline(0, color=GREY, linewidth=1.0)
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        panel_title(axes, title)
        for row in range(1, len(names), 2):
            axes.axhspan(row - 0.5, row + 0.5, color="#f2f2f2", zorder=0, linewidth=0)
    left.set_yticks(range(len(names)), names)
    left.set_ylim(len(names) - 0.5, -0.5)
    left.set_xlabel("prompts won minus lost  [%]")
    right.set_xlabel("difference  [percentage points]")
    handles = [
        Line2D([], [], linestyle="none", color=look.color, marker=look.marker, label=f"by {RELATIONS[name]}")
        for name, look in _LOOKS.items()
        if name in relations
    ]
    hollow: dict[str, Any] = {"color": "black", "marker": "o", "markerfacecolor": "white", "linestyle": "none"}
    handles.append(Line2D([], [], label="right: hollow where none is shown", **hollow))
    picture.legend(handles=handles, loc="outside upper center", ncols=3, handletextpad=0.2)
    return picture


def nets_picture(run: Results, nets: Sequence[Net]) -> Picture:
    """Return the drawn net win rates with caption and alternative text."""
    guides = ", ".join(guide_name(guide) for guide in run.settings["rewards"])
    chosen = "chosen on validation prompts" if run.selection else "given"
    caption = (
        f"Net win rate against the default on {run.prompts['test']} test prompts of {run.prompts['source']}, model "
        f"{run.settings['model']}, mean over the guides {guides}, s_R {chosen}; judged by the guide itself, as in the "
        "paper, and by other reward models. Left: each method. Right: RWS minus the method, filled if the interval "
        "excludes zero and p of the sign-flip permutation test, not corrected over methods, is at most 0.05. Bars are "
        "95 % intervals over prompts. Above zero is better."
    )
    parts = (f"{net.name}, by {RELATIONS[net.relation]}: {net.mean:+.0f}" for net in nets)
    alt = f"Net win rates against the default in percent, as dots with bars. {'; '.join(parts)}."
    return Picture("controls_net", draw_nets(nets), caption, alt)


def nets_table(nets: Sequence[Net]) -> Table:
    """Return the net win rates and RWS minus each method, of RWS itself minus the default, as a table."""
    rows, shown = [], []
    for net in nets:
        start = {"method": net.name, "judged by": RELATIONS[net.relation]}
        minus = net.minus or dict.fromkeys(("difference", "low", "high", "p_holm"))
        row: dict[str, Any] = start | {"net": net.mean, "low": net.low, "high": net.high}
        rows.append(row | {f"RWS minus it, {name}": value for name, value in minus.items()})
        interval = {"difference": net.mean, "low": net.low, "high": net.high}
        text = {"net, %": difference_text(interval) + " *" * excludes_zero(interval), "RWS minus it": None, "p": None}
        if net.minus is not None:
            if net.method != "rws":
                text["RWS minus it"] = difference_text(net.minus) + " *" * excludes_zero(net.minus)
            text["p"] = None if net.minus["p_holm"] is None else f"{net.minus['p_holm']:.2g}"
        shown.append(start | text)
    caption = (
        "Net win rate against the default: prompts won minus lost, in percent, mean over the guides, with 95 % "
        "intervals; RWS minus each method on the same prompts; * if an interval excludes zero; p of the "
        "sign-flip permutation test of that difference, not corrected over the methods. In the rows of RWS, p is of "
        "its net win rate."
    )
    return Table("controls_net", rows, shown, caption)


def against_default(nets: Sequence[Net]) -> list[str]:
    """Return the net win rate of RWS in words, by each kind of judge."""
    lines = []
    for net in (net for net in nets if net.method == "rws"):
        interval = {"difference": net.mean, "low": net.low, "high": net.high}
        p = None if net.minus is None else net.minus["p_holm"]
        p_text = "" if p is None else f", p {p:.2g}"
        lines.append(
            f"{net.name} against the default, by {RELATIONS[net.relation]}: net win rate {difference_text(interval)} "
            f"%; the interval {'excludes' if excludes_zero(interval) else 'does not exclude'} zero{p_text}."
        )
    return lines


def minus_line(nets: Sequence[Net], method: str) -> str:
    """Return RWS minus a method in net win rate as a sentence after a space; "" if the method was not run."""
    parts = []
    for net in nets:
        if net.method == method and net.minus is not None:
            same = not any(net.minus[name] for name in ("difference", "low", "high"))
            text = "0 in every prompt" if same else difference_text(net.minus)
            parts.append(f"by {RELATIONS[net.relation]} {text}{', shown' if clear(net.minus) else ''}")
    return f" Net win rate, RWS minus it, in points: {'; '.join(parts)}." if parts else ""
