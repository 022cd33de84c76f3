"""Make the pictures of README.md and docs: RWS and its twins, two decodes, the Pareto front, theorems.

    make pictures

The decodes are made anew, the others are drawn from the records that ship.
"""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from command_lines import decoding as decode
from command_lines import figures
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from paper_figures.recorded import recorded_ablations
from paper_figures.recorded.ablations import names_of
from rws_decode import plots
from rws_decode.common.palette import BLACK, BLUE, RULE, VERMILION
from rws_theory import selection_path
from rws_theory.tilting import scaled_reward_mean, tilted_cumulants

IMAGES = Path(__file__).parents[2] / "docs" / "images"
RUNS = {"default": "--strategy default", "rws": "--strategy rws --reward-scale 8"}


def animation(folder: Path, out: Path) -> None:
    for name, strategy in RUNS.items():
        options = f"--model mini --reward mini --example 3 {strategy} --trace {folder / name}"
        done(decode(["generate", *options.split()]))
    traces = [str(folder / name / "trace.parquet") for name in RUNS]
    done(decode(["view", *traces, "--model", "mini", "--out", str(out)]))


def frontier(folder: Path, out: Path) -> None:
    done(figures(["law_frontier", "--runs", str(folder / "runs"), "--out", str(folder)]))
    shutil.copyfile(folder / "figures" / "law_frontier.png", out)


TOO_SMALL = "grey: too small to matter"
LOOKS = {
    "confidence": ("s", VERMILION, "minus confidence decoding"),
    "fixed factor": ("o", BLUE, "minus its mean factor"),
    "tuned fixed factor": ("D", BLACK, "minus a tuned fixed factor"),
}


def forest(
    panel: Axes, shown: Mapping[str, Mapping[str, tuple[float, float, float]]], twins: Sequence[str]
) -> tuple[list[Line2D], list[str]]:
    """Draw differences and intervals of twins, a line each, by the label of their model; return what a legend takes."""
    count = len(shown)
    panel.axvspan(-0.1, 0.1, color=RULE, alpha=0.6, linewidth=0)
    for place, sides in enumerate(shown.values()):
        for n, twin in enumerate(twins):
            (mark, color, _), (difference, low, high) = LOOKS[twin], sides[twin]
            height = count - 1 - place + 0.26 * ((len(twins) - 1) / 2 - n)
            panel.plot([low, high], [height, height], color=color, linewidth=2.5)
            panel.plot(difference, height, marker=mark, color=color, markersize=7 if len(twins) < 3 else 5)
    panel.set_yticks(range(count), [*shown][::-1])
    panel.set_ylim(-0.6, count - 0.4)
    panel.set_xlabel("reward of RWS minus reward of the other [SD]")
    panel.spines[["top", "right"]].set_visible(False)
    return [Line2D([], [], marker=LOOKS[twin][0], color=LOOKS[twin][1]) for twin in twins], [
        LOOKS[twin][2] for twin in twins
    ]


def tuned(folder: Path, out: Path) -> None:
    """Write tuned RWS minus confidence decoding and two fixed factors, in each case."""
    done(figures(["experiment", "normalisation", "--recorded", "--out", str(folder)]))
    table = pd.read_csv(folder / "normalisation" / "normalisation.csv")
    shown = {}
    for name, rows in table.groupby("cell", sort=False):
        world, tokens, steps = name.split("/")
        label = "{}\nreward: {}; {} tokens, {} steps".format(*names_of(world), tokens, steps)
        shown[label] = {row.twin: (row.cut, row.low_always, row.high_always) for row in rows.itertuples()}
    figure = Figure((7.0, 5.4), layout="constrained")
    panel = figure.subplots()
    figure.legend(
        *forest(panel, shown, [*LOOKS]), loc="outside upper center", ncols=3, frameon=False, title="RWS", fontsize=9
    )
    panel.tick_params(axis="y", labelsize=8.5)
    panel.annotate(TOO_SMALL, (0.15, 0), fontsize=8, va="center")
    figure.savefig(out, dpi=150)


def twins(out: Path) -> None:
    """Write RWS minus confidence decoding and minus its fixed factor, in each model, at the scale that was chosen."""
    figure = Figure((7.0, 3.1), layout="constrained")
    panel = figure.subplots()
    found = recorded_ablations(chosen=True)
    shown = [("{}\nreward: {}".format(*names_of(world)), found[world, scale]) for world, scale in found][::-1]
    sides = {name: {e.twin: (e.difference, e.low, e.high) for e in result.comparisons} for name, result in shown[::-1]}
    legend = forest(panel, sides, [*LOOKS][:2])
    panel.legend(*legend, loc="center right", bbox_to_anchor=(1, 0.33), frameon=False, title="RWS")
    panel.annotate(TOO_SMALL, (0.115, len(shown) - 0.55), fontsize=8, va="top")
    varied = [100 * (result.factor_variation or 0) for _, result in shown]  # the models in which it varies stand first
    first = sum(share < 5 for share in varied)
    panel.axhline(first - 0.5, color=RULE, linewidth=1)
    for height, text in (
        (first - 0.22, f"factor varies by {varied[-1]:.0f} and {varied[-2]:.0f} %: a test"),
        (first - 0.78, f"by {max(varied[:first]):.0f} % at most: no real test"),
    ):
        panel.annotate(text, (1.74, height), fontsize=9, ha="right", va="center")
    figure.savefig(out, dpi=150)


def theorems(folder: Path) -> None:
    """Write a picture of each section of docs/theorems.md."""
    from paper_figures.extra.notebook_plots import order_worth, ranks, tilting

    pair = ranks.pair_of(*ranks.PAIRS["the paper's example"])
    picture = plots.confidence_curves(pair, names="ab", unit="probability")
    logits = np.random.default_rng(0).normal(size=(6, 12)) * 2
    chosen = plots.selection(selection_path(logits, 2, 0.1, 8.0))
    log_p, beta = np.log(list(tilting.WEIGHTS.values())), np.linspace(0, 7, 281)
    gain = Figure((7.0, 3.1), layout="constrained")
    panel, reward = gain.subplots(), tilting.REWARDS["on the middle word"]
    panel.plot(beta, tilted_cumulants(log_p, reward, beta)[:, 0], color=BLUE, label="sampling p exp(beta R) / Z")
    scaled = scaled_reward_mean(log_p, reward, beta + 1)
    panel.plot(beta, scaled, "--", color=VERMILION, label="scaling all logits by the factor beta + 1")
    panel.set(xlabel="beta", ylabel="expected reward")
    panel.legend(frameon=False)
    orders = order_worth.draw_recorded(order_worth.recorded_kl())
    for name, figure in {"crossing": picture, "chosen": chosen, "reward": gain, "order": orders}.items():
        figure.savefig(folder / f"theorems-{name}.png", dpi=110)


def done(status: int) -> None:
    """Raise SystemExit for a command that failed; it has said why."""
    if status:
        raise SystemExit(status)


if __name__ == "__main__":
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        animation(Path(scratch), IMAGES / "decodes.gif")
        frontier(Path(scratch), IMAGES / "frontier.png")
        tuned(Path(scratch), IMAGES / "tuned.png")
    twins(IMAGES / "ablations.png")
    theorems(IMAGES)
