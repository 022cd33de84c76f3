"""Make the two pictures of README.md: two decodes in lock-step, and the frontier of laws.

    make pictures

The decodes are made anew, the frontier is drawn from the record of the study of laws that ships.
"""

import shutil
import tempfile
from pathlib import Path

from command_lines import decoding as decode
from command_lines import figures

IMAGES = Path(__file__).parents[2] / "docs" / "images"
RUNS = {"default": "--strategy default", "rws": "--strategy rws --reward-scale 8"}


def animation(folder: Path, out: Path) -> None:
    """Write the GIF of the default and RWS on one prompt of `mini`; the traces go into a folder."""
    for name, strategy in RUNS.items():
        options = f"--model mini --reward mini --example 3 {strategy} --trace {folder / name}"
        done(decode(["generate", *options.split()]))
    traces = [str(folder / name / "trace.parquet") for name in RUNS]
    done(decode(["view", *traces, "--model", "mini", "--out", str(out)]))


def frontier(folder: Path, out: Path) -> None:
    """Write the still of the frontier; the whole exhibit goes into a folder."""
    done(figures(["at_a_glance", "--runs", str(folder / "runs"), "--out", str(folder)]))
    shutil.copyfile(folder / "figures" / "glance_frontier.png", out)


def done(status: int) -> None:
    """Raise SystemExit for a command that failed; it has said why."""
    if status:
        raise SystemExit(status)


if __name__ == "__main__":
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        animation(Path(scratch), IMAGES / "decodes.gif")
        frontier(Path(scratch), IMAGES / "frontier.png")
