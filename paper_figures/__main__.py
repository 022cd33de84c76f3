"""Command lines: `python -m paper_figures`, which draws all figures, and `rws`, which has every command."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from paper_figures.commands import CALIBRATE
from paper_figures.exhibits import NAMES
from rws_decode import __main__ as decoding
from rws_theory import __main__ as theory
from rws_theory.commands.line import Command, closest, run_line

DESCRIPTION = "The experiments behind the paper's figures and tables."

COMMANDS: dict[str, Command] = {
    "figures": Command(
        "paper_figures.commands.figures", "draw the paper's figures and tables, and a page that shows them", True
    ),
    "experiment": Command(
        "paper_figures.commands.experiment", "run one of the paper's comparisons, or resume it", True
    ),
    "summarize": Command(
        "paper_figures.commands.summarize", "print the tables of experiments with the paper's numbers beside ours"
    ),
    "judge": Command(
        "paper_figures.commands.judge", "ask a language model which of two answers is better, in both orders", True
    ),
    "calibrate": CALIBRATE,
    "frontier": Command(
        "paper_figures.commands.frontier", "find the frontier of log-probability and reward, and place methods below it"
    ),
    "steering": Command(
        "paper_figures.commands.steering", "measure how far methods are from the true tilt, at budgets of forwards"
    ),
    "verify": Command(
        "paper_figures.commands.verify", "compute a sample of the recorded answers again, and say how many are equal"
    ),
    "record": Command("paper_figures.commands.record", "make a run of the evidence study the record that ships"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run `python -m paper_figures` and return its exit status; words that name no command are those of `figures`."""
    words = list(sys.argv[1:] if argv is None else argv)
    first = words[0] if words else ""
    if first != "--version" and closest(first, [*NAMES, *COMMANDS]) not in COMMANDS:
        words = ["figures", *words]
    return run_line("python -m paper_figures", DESCRIPTION, COMMANDS, words)


def rws(argv: Sequence[str] | None = None) -> int:
    """Run the console command `rws`, which has the commands of all packages, and return its exit status."""
    commands = {**decoding.COMMANDS, **theory.COMMANDS, **COMMANDS}
    return run_line("rws", "Reward-Weighted Sampling: decode, prove, reproduce.", commands, argv, group=decoding.GROUP)


if __name__ == "__main__":
    sys.exit(main())
