"""The pattern of Table 8: what of it needs a reward?

Shows: perplexity against GOD for temperature, RWS and the fixed factor of equal mean, beside the same as printed;
and what share of RWS's change its fixed factor makes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.exhibits.shared import evidence
from paper_figures.exhibits.shared.evidence import (
    Placed,
    arms_of,
    draw_table8,
    fields_of,
    legend_of,
    path_of,
    placed,
    scatter,
    short_of,
    text_of,
)
from paper_figures.exhibits.shared.exhibit import (
    GREY,
    Exhibit,
    Label,
    Picture,
    figure,
    panel_title,
    place_labels,
    plain_log,
)
from paper_figures.recorded import Recorded
from paper_figures.recorded.comparisons import comparisons_of
from paper_figures.statistics.intervals import Interval, ratio_interval
from paper_figures.statistics.resampling import text_pairs
from paper_figures.studies.evidence_arms import METHODS, WORLDS, Arm
from paper_figures.table import Column, Table, make_table
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ()
_DRAWN = ("default", "temperature", "rws", "constant")
_MEASURES = {"log_perplexity": "perplexity", "god_tokens": "GOD"}


def compute(runs: Path) -> Placed:
    """Return mean GOD and geometric mean perplexity of the greedy default, temperature, RWS and constant."""

    def keep(arm: Arm) -> bool:
        return arm.method in _DRAWN and not arm.sampling_temperature and not arm.one_by_one

    data = placed(runs, "god_tokens", lambda world: "log_perplexity", keep)
    levels = {
        world: {arm: (god, Interval(*np.exp(level))) for arm, (god, level) in arms.items()}
        for world, arms in data.places.items()
    }
    return replace(data, places=levels)


def draw(data: Placed) -> Figure:
    """Draw perplexity against GOD, a panel for each model and reward, and one as printed."""
    picture = figure(max(7.6, 3.4 * (1 + len(data.places))), 4.4)
    panels = picture.subplots(1, 1 + len(data.places), squeeze=False)[0]
    labels: dict[Axes, list[Label]] = {}
    for axes, (world, places) in zip(panels, data.places.items(), strict=False):
        labels[axes] = scatter(axes, places, lambda arm: short_of(arm) if arm.method in ("default", "rws") else "")
        for rws in path_of(places, "rws"):
            pair = [places[arm] for arm in (rws, Arm("constant", rws.number)) if arm in places]
            axes.plot(*zip(*((god.mean, level.mean) for god, level in pair), strict=True), color=GREY, linewidth=1.0)
        plain_log(axes)
        axes.set_xlabel("GOD  [tokens]")
        panel_title(axes, WORLDS[world].model)
    labels[panels[-1]] = draw_table8(panels[-1])
    panels[-1].set_xlabel("GOD  [unit not said]")
    panel_title(panels[-1], "As printed: LLaDA, Table 8")
    panels[0].set_ylabel("perplexity")
    legend_of(picture, data.arms, 4, control=f"{METHODS['constant'].title}, no reward")
    place_labels(picture, labels)
    return picture


def _changes(record: Recorded) -> dict[tuple[str, float, str], Interval]:
    """Return how RWS changes each measure from confidence, by model, reward and s_R, as the study compares them."""
    named, found = {"nll": "log_perplexity", "log_prob": "log_perplexity", "god": "god_tokens"}, {}
    for row in comparisons_of(record):
        if row.arm == Arm("default") and not row.drawn and row.measure in named:
            ends = (row.found.difference, row.found.low, row.found.high)
            # Of an exact model the perplexity is that of its own log p.
            turned = (-ends[0], -ends[2], -ends[1]) if row.measure == "log_prob" else ends
            found[row.world, row.scale, named[row.measure]] = Interval(*turned)
    return found


def share_of_change(frames: Sequence[pandas.DataFrame], measure: str) -> Interval | None:
    """Return the change that RWS's fixed factor makes from confidence, as a share of RWS's own.

    frames: the answers of confidence, RWS and fixed factor. share = mean(fixed - confidence) / mean(RWS - confidence),
    with a percentile bootstrap interval over prompts, of which those with the same three texts are one.
    """
    default, rws, constant = frames
    texts = text_pairs(zip(default["tokens"], rws["tokens"], strict=True), constant["tokens"])
    changes = ((frame[measure] - default[measure]).to_numpy(dtype=float) for frame in (constant, rws))
    part, whole = (np.bincount(texts, weights=change) for change in changes)
    return ratio_interval(part, whole, np.random.default_rng(0))


def _table(data: Placed) -> Table:
    rows, changes = [], _changes(data.evidence)
    for world in data.places:
        arms, default = arms_of(data.evidence, world), Arm("default")
        for rws in path_of(arms, "rws"):
            constant = Arm("constant", rws.number)
            for measure in _MEASURES if default in arms and constant in arms else ():
                frames = [arms[arm] for arm in (default, rws, constant)]
                change = changes.get((world, rws.number or 0.0, measure))
                real = change is not None and not change.low <= 0 <= change.high
                row: dict[str, Any] = {"world": world, "s_R": rws.number, "measure": measure}
                row["constant"] = float((frames[2][measure] - frames[0][measure]).mean())
                share = share_of_change(frames, measure) if real else None
                for name, interval in (("RWS", change), ("share", share)):
                    row |= fields_of(name, interval)
                    row[f"{name} text"] = interval and text_of(interval, signed=name != "share")
                rows.append(row)
    columns = [Column("world"), Column("s_R"), Column("measure", form=lambda row: _MEASURES[row["measure"]])]
    columns += [Column("RWS", "RWS text"), Column("constant", form="+.2f"), Column("share", "share text")]
    caption = (
        "Change from the default, paired. Perplexity as its natural logarithm. RWS: as in the table "
        "evidence_comparisons. Share: fixed factor's change over RWS's, where the interval of RWS's excludes 0."
    )
    return make_table("table8_pattern", rows, columns, caption)


def _headline(numbers: Table) -> list[str]:
    """Return, where RWS raises GOD and lowers perplexity, what share of both its fixed factor makes."""
    lines = []
    for level, god in zip(numbers.rows[::2], numbers.rows[1::2], strict=True):
        shares = god["share"], level["share"]
        if None not in shares and god["RWS"] > 0 > level["RWS"]:
            lines.append(
                f"RWS {god['s_R']:g} in {WORLDS[god['world']].model} changes GOD by {god['RWS text']} tokens and log "
                f"perplexity by {level['RWS text']} from the default: Table 8's pattern. Its fixed factor makes "
                f"{100 * shares[0]:.0f} % and {100 * shares[1]:.0f} % of these."
            )
    return lines


def exhibit(runs: Path) -> Exhibit:
    """Return the figure of Table 8's pattern, here and as printed."""
    data, title, inputs = compute(runs), "Table 8's pattern: what of it needs a reward", evidence.inputs_of(runs)
    if not data.places:
        return Exhibit(title, conclusions=("The results have no default, temperature or RWS.",), inputs=inputs)
    printed, numbers = printed_in("table8_temperature"), _table(data)
    caption = (
        "Geometric mean of perplexity against mean GOD, by the exact model where there is one, else by the "
        "causal model. A grey line joins RWS and the fixed factor of equal mean. At the right the printed "
        f"table ({printed['where']}), on another model and task: levels cannot be compared. There the dotted line is "
        "the default's GOD, and the box is at RWS's GOD, below its worst perplexity. Bars: 95 % intervals. "
        f"{evidence.source_line(data.evidence)}"
    )
    alt = (
        "Perplexity against GOD, a panel for each model and one as printed: confidence decoding, temperatures, RWS "
        "and its fixed factor."
    )
    return Exhibit(
        title,
        (Picture("table8_pattern", draw(data), caption, alt),),
        (numbers,),
        conclusions=tuple(_headline(numbers)) or ("No scale of RWS shows the pattern in these results.",),
        inputs=inputs,
    )
