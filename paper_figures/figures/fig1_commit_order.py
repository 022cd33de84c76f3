"""Figure 1: when each position of an answer is committed: left to right, by confidence, and by RWS.

Shows: position in the answer against diffusion step, a panel per strategy, for one prompt. The table has every prompt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from paper_figures.exhibits.canvas_cells import end_of
from paper_figures.exhibits.exhibit import Exhibit, MissingRun, Picture
from paper_figures.exhibits.runs import read_results_json
from paper_figures.exhibits.style import LINES, figure, panel_title
from paper_figures.plan import command
from paper_figures.table import Column, Table, make_table
from rws_decode.common.palette import Look
from rws_decode.trace.trace import Trace, load
from rws_decode.view.plots.commit_order import draw_order
from rws_theory import footrule_mean, generation_order_deviation

NEEDS: tuple[str, ...] = ("commit-order",)

STRATEGIES = ("left-to-right", "default", "rws")


@dataclass(frozen=True, eq=False)
class CommitOrders:
    """Traces of every prompt by strategy, and how many tokens of each answer stand before its end of text.

    `traces[prompt][strategy]`, by the number of a held-out prompt, or its name; `written[prompt][strategy]`: tokens
    before the first end of text, all of them where there is none or the model names none; `settings` and `files` of the
    run.
    """

    traces: Mapping[int | str, Mapping[str, Trace]]
    written: Mapping[int | str, Mapping[str, int]]
    settings: Mapping[str, Any]
    files: tuple[str, ...]

    @property
    def drawn(self) -> int | str:
        """Return which prompt is drawn: the run's first, so that nobody chose it for its looks."""
        return next(iter(self.traces))


def compute(runs: Path) -> CommitOrders:
    """Load the traces that the experiment's results name; MissingRun where these or a trace are absent."""
    (experiment,) = NEEDS
    folder, made_by = runs / experiment, command(experiment, runs)
    results = read_results_json(folder / "results.json", made_by, ("rows", "settings"))
    paths: dict[int | str, dict[str, Path]] = {}
    for row in results["rows"]:
        paths.setdefault(row["example"], {})[row["method"]] = folder / row["trace"]
    paths = {index: by_strategy for index, by_strategy in paths.items() if by_strategy.keys() >= set(STRATEGIES)}
    if not paths:
        strategies = ", ".join(STRATEGIES)
        raise ValueError(f"{folder / 'results.json'} has no prompt with {strategies}: run {made_by} --retry-failed")
    for path in (path for named in paths.values() for path in named.values()):
        if not path.is_file():
            raise MissingRun(f"{path} is missing: make it with {made_by}")
    end = end_of(results["settings"]["model"])
    traces = {i: {name: load(paths[i][name]) for name in STRATEGIES} for i in paths}
    written = {i: {name: _written(trace, end) for name, trace in row.items()} for i, row in traces.items()}
    files = tuple(str(paths[i][name].relative_to(runs)) for i in paths for name in STRATEGIES)
    return CommitOrders(traces, written, results["settings"], files)


def _written(trace: Trace, end: int | None) -> int:
    ends: NDArray[np.int64] = np.flatnonzero(trace.tokens == end) if end is not None else np.array([], dtype=np.int64)
    return int(ends[0]) if ends.size else trace.length


def draw(orders: CommitOrders) -> Figure:
    """Draw one panel per strategy, stacked as in the paper: a mark where and when a token is committed."""
    picture = figure(6.6, 7.4)
    panels = picture.subplots(len(STRATEGIES), 1, sharex=True, sharey=True)
    for axes, name in zip(panels, STRATEGIES, strict=True):
        trace, written = orders.traces[orders.drawn][name], orders.written[orders.drawn][name]
        # Left to right runs in blocks of one step's tokens: the blocks of the other two are the ones to see.
        block = orders.traces[orders.drawn]["rws"].block
        line = LINES[name]
        draw_order(axes, trace, Look(line.color, line.marker, line.dash, ""), text=written, block=block)
        panel_title(axes, f"{LINES[name].label}:  GOD {trace.god_tokens:.2f} tokens, {trace.god_steps:.2f} steps")
        axes.set_ylabel("diffusion step")
        axes.legend(loc="upper left", handletextpad=0.5, borderaxespad=0.2)
    panels[-1].set_xlabel("position in the answer  [tokens, from 0]")
    return picture


def table(orders: CommitOrders) -> Table:
    """Return both readings of GOD for every prompt and strategy, and their means over the prompts."""
    rows = [
        {"prompt": str(index), "strategy": name, **_measures(trace, orders.written[index][name])}
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
    orders = compute(runs)
    first, deviations = orders.traces[orders.drawn]["rws"], table(orders)
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
    said = (
        f"{prompts}, GOD in tokens: RWS {of_rws['GOD, tokens']:.2f}, the default {of_default['GOD, tokens']:.2f}, a "
        f"random order within blocks {random:.2f}."
    )
    return Exhibit(
        "Figure 1: commit order",
        (Picture("fig1_commit_order", draw(orders), caption, alt),),
        (deviations,),
        conclusions=(said,),
        inputs=orders.files,
    )
