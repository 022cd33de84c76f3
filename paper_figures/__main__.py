"""Command line: `python -m paper_figures [NAME ...] [--runs DIR] [--out DIR]`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from paper_figures.contents import MODULES, NAMES
from rws_decode.__main__ import Command, run_line
from rws_decode.common.exits import ended

__all__ = ["COMMANDS", "main", "make"]

COMMANDS: dict[str, Command] = {
    "experiment": Command("paper_figures.commands.experiment", "run one of the paper's comparisons, or resume it", True),
    "summarize": Command("paper_figures.commands.summarize", "tables of experiments, the paper's numbers beside ours"),
    "judge": Command(
        "paper_figures.commands.judge", "ask a language model which of two answers is better, both ways", True
    ),
    "bench": Command("paper_figures.commands.bench", "seconds and reward calls beside the loops in use"),
    "humaneval-check": Command(
        "paper_figures.commands.humaneval_check", "run HumanEval's canonical solutions in the sandbox"
    ),
}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Exit with status 2 and one line, without the usage that argparse would print first."""
        self.exit(2, f"{self.prog}: {' '.join(message.split())}\n")


def make(names: Sequence[str], runs: Path, out: Path, workers: int = 0, full: bool = False) -> list[Path]:
    """Write the named figures and tables below `out`, then the page of all that are there; return every path written.

    workers: processes that run the experiments whose results are absent, in the sizes of `plan.PLAN`, or, if `full`, in
    their own; with 0 nothing is run. Inputs are read for all names before anything is written. ValueError for an
    unknown name, or absent runs that are not to be made, with the command that makes them.
    """
    if unknown := [name for name in names if name not in NAMES]:
        raise ValueError(f"NAME is {unknown[0]!r}: one of {', '.join(NAMES)} is needed")
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out is {out}: a file; a directory is needed")
    from paper_figures.exhibits.exhibit import save
    from paper_figures.exhibits.style import styled
    from paper_figures.plan import FULL, PLAN, make_missing
    from paper_figures.report.provenance import run_facts
    from paper_figures.report.report import write_page

    modules = {name: import_module(MODULES[name]) for name in NAMES if name in names}
    needs = dict.fromkeys(need for module in modules.values() for need in module.NEEDS)
    if workers:
        make_missing(runs, needs, workers, FULL if full else PLAN)
    with styled():
        made = {name: module.exhibit(runs) for name, module in modules.items()}
        facts = {need: run_facts(runs, need) for need in needs}
        written = [
            path
            for name, exhibit in made.items()
            for path in save(name, exhibit, out, {need: facts[need] for need in modules[name].NEEDS if facts[need]})
        ]
    return [*written, *write_page(runs, out)]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0; with one line on standard error 2 for bad input, 130 when
    interrupted, and what else `rws_decode.common.exits.ended` says.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] in COMMANDS:
        return run_line("python -m paper_figures", "Experiments, and what judges them.", COMMANDS, words)
    parser = _Parser(
        prog="python -m paper_figures",
        description="Draw the paper's figures and tables, beside what the paper printed, and write a page that shows "
        "them. Experiments whose results are not below --runs are run first, in small sizes: some minutes for all. "
        f"Names: {', '.join(NAMES)}; all of them by default.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a figure or table; all by default")
    parser.add_argument(
        "--runs", type=Path, default=Path("out/runs"), metavar="DIR", help="results of experiments (out/runs)"
    )
    parser.add_argument("--out", type=Path, default=Path("out"), metavar="DIR", help="where files go (out)")
    parser.add_argument(
        "--workers", type=int, default=2, metavar="N", help="processes that run what is absent (2); 0: run nothing"
    )
    parser.add_argument(
        "--full", action="store_true", help="run what is absent in the experiments' own sizes: some 45 minutes for all"
    )
    parser.add_argument("--json", action="store_true", help="print what was written as JSON on standard output")

    def run() -> int:
        args = parser.parse_args(words)
        if args.workers < 0:
            raise ValueError(f"--workers is {args.workers}: at least 0 is needed")
        written = make(args.names or NAMES, args.runs, args.out, args.workers, args.full)
        files = [path.relative_to(args.out).as_posix() for path in written]
        if args.json:
            print(json.dumps({"out": str(args.out), "page": "index.html", "written": files}))
        else:
            print(f"{len(files)} files below {args.out}; open {args.out / 'index.html'}", file=sys.stderr)
        return 0

    return ended(parser.prog, run, "; the same command goes on where it was")


if __name__ == "__main__":
    sys.exit(main())
