"""Make the pictures of README.md and docs: RWS against its twins, two decodes in lock-step, and the Pareto front.

    make pictures

The decodes are made anew, the others are drawn from the records that ship.
"""

import shutil
import tempfile
from pathlib import Path

from command_lines import decoding as decode
from command_lines import figures
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from paper_figures.recorded.ablations import names_of, recorded_ablations
from rws_decode.common.palette import BLUE, RULE, VERMILION

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


def twins(out: Path) -> None:
    """Write RWS minus confidence decoding and minus its fixed factor, in each model, at the scale that was chosen."""
    figure = Figure((7.0, 3.1), layout="constrained")
    panel = figure.subplots()
    found = recorded_ablations(chosen=True)
    shown = [("{}\nreward: {}".format(*names_of(world)), found[world, scale]) for world, scale in found][::-1]
    looks = {
        "confidence": ("s", VERMILION, "minus confidence decoding"),
        "fixed factor": ("o", BLUE, "minus a fixed factor"),
    }
    panel.axvspan(-0.1, 0.1, color=RULE, alpha=0.6, linewidth=0)
    for place, (_, result) in enumerate(shown):
        for each in result.comparisons:
            if each.twin in looks:
                mark, color, _ = looks[each.twin]
                height = place + (0.13 if each.twin == "confidence" else -0.13)
                panel.plot([each.low, each.high], [height, height], color=color, linewidth=2.5)
                panel.plot(each.difference, height, marker=mark, color=color, markersize=7)
    panel.set_yticks(range(len(shown)), [label for label, _ in shown])
    panel.set_ylim(-0.6, len(shown) - 0.4)
    panel.set_xlabel("reward of RWS minus reward of the other [SD]")
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(
        [Line2D([], [], marker=mark, color=color) for mark, color, _ in looks.values()],
        [text for *_, text in looks.values()],
        loc="center right",
        frameon=False,
        title="RWS",
    )
    figure.savefig(out, dpi=150)


def done(status: int) -> None:
    """Raise SystemExit for a command that failed; it has said why."""
    if status:
        raise SystemExit(status)


if __name__ == "__main__":
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        animation(Path(scratch), IMAGES / "decodes.gif")
        frontier(Path(scratch), IMAGES / "frontier.png")
    twins(IMAGES / "ablations.png")
