"""Figure 1: when each position of an answer is committed: left to right, by confidence, and by RWS.

Shows: position in the answer against diffusion step, a panel per strategy, for one prompt. The table has every prompt.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from paper_figures.exhibits.shared.exhibit import LINES, Exhibit, Picture, figure, panel_title
from paper_figures.exhibits.shared.traces import STRATEGIES, CommitOrders, commit_orders
from paper_figures.table import Column, Table, make_table
from rws_decode.common.palette import Look
from rws_decode.trace.trace import Trace
from rws_decode.view.plots.commit_order import draw_order
from rws_theory import footrule_mean, generation_order_deviation

NEEDS: tuple[str, ...] = ("commit-order",)


def draw(orders: CommitOrders) -> Figure:
    """Draw one panel per strategy, stacked as in the paper: a mark where and when a token is committed."""
    picture = figure(6.6, 7.4)
    panels = picture.subplots(len(STRATEGIES), 1, sharex=True, sharey=True)
    for axes, name in zip(panels, STRATEGIES, strict=True):
        trace, line = orders.of(name), LINES[name]
        look, text = Look(line.color, line.marker, line.dash, ""), orders.written(trace)
        # Left to right runs in blocks of one step's tokens: the blocks of the other two are the ones to see.
        draw_order(axes, trace, look, text=text, block=orders.of("rws").block)
        panel_title(axes, f"{line.label}:  GOD {trace.god_tokens:.2f} tokens, {trace.god_steps:.2f} steps")
        axes.set_ylabel("diffusion step")
        axes.legend(loc="upper left", handletextpad=0.5, borderaxespad=0.2)
    panels[-1].set_xlabel("position in the answer  [tokens, from 0]")
    return picture


def table(orders: CommitOrders) -> Table:
    """Return both readings of GOD for every prompt and strategy, and their means over the prompts."""
    rows = [
        {"prompt": str(index), "strategy": name, **_measures(trace, orders.written(trace))}
        for index, row in orders.traces.items()
        for name, trace in row.items()
    ]
    for name in STRATEGIES:
        of_name = [row for row in rows if row["strategy"] == name]
        means = {field: float(np.mean([row[field] for row in of_name])) for field in list(rows[0])[2:]}
        rows.append({"prompt": "mean", "strategy": name, **means})
    columns = [Column("prompt"), Column("strategy", form=lambda row: LINES[row["strategy"]].label)]
    columns += [Column(name, form=".2f" if "GOD" in name else "g") for name in list(rows[0])[2:]]
    caption = (
        f"Generation Order Deviation of each prompt ({len(orders.traces)} here) and on average, in both readings, and "
        "of the text alone, before its first end-of-text token."
    )
    return make_table("fig1_commit_order", rows, columns, caption)


def _measures(trace: Trace, written: int) -> dict[str, float]:
    # The first `written` positions alone: how far the text itself is from left to right.
    text = float(generation_order_deviation(trace.commit_step[:written], "tokens")) if written else 0.0
    return {
        "GOD, tokens": trace.god_tokens,
        "GOD, steps": trace.god_steps,
        "tokens of text": written,
        "GOD of the text, tokens": text,
        "ties": int(trace.ties.sum()),
    }


def exhibit(runs: Path) -> Exhibit:
    """Return Fig. 1 from the traces below `runs`."""
    orders = commit_orders(runs)
    first, deviations = orders.of("rws"), table(orders)
    mean = {row["strategy"]: row for row in deviations.rows if row["prompt"] == "mean"}
    random = footrule_mean(first.length, first.block, per_step=first.length // first.steps)
    caption = (
        f"Commit order of one answer ({first.length} tokens, {first.steps} steps, blocks of {first.block}, model "
        f"{first.predictor}, reward {first.reward_model}, s_R = {first.strategy['reward_scale']:g}) to held-out prompt "
        f"{orders.drawn}, “{first.prompt_text}” Each mark is a token. The dotted line is strict left-to-right order; "
        "dashed lines separate blocks. Open grey marks are end-of-text filler: the positions from the first end of "
        f"text on. A random order within blocks would have a mean GOD of {random:.2f} tokens. Left to "
        "right commits each step's tokens as one block."
    )
    alt = (
        "Three scatter panels of position in the answer against diffusion step: left to right, by confidence, and RWS, "
        "with the Generation Order Deviation of each."
    )
    of_rws, of_default = mean["rws"], mean["default"]
    several = len(orders.traces) > 1
    prompts = f"{'Mean over the prompts' if several else 'Prompt'} {', '.join(map(str, orders.traces))}"
    summary = (
        f"{prompts}, GOD in tokens: RWS {of_rws['GOD, tokens']:.2f}, the default {of_default['GOD, tokens']:.2f}, a "
        f"random order within blocks {random:.2f}."
    )
    return Exhibit(
        "Figure 1: commit order",
        (Picture("fig1_commit_order", draw(orders), caption, alt),),
        (deviations,),
        conclusions=(summary,),
        inputs=tuple(file for named in orders.files.values() for file in named.values()),
    )
