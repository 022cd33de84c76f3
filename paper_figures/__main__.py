"""Command line: `python -m paper_figures [NAME ...] [--runs DIR] [--out DIR]`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import NoReturn

__all__ = ["NAMES", "main", "make"]

# In the order of the page.
NAMES = ("fig1_commit_order", "appendix_d", "table8_temperature")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Exit with status 2 and one line, without the usage that argparse would print first."""
        self.exit(2, f"{self.prog}: {message}\n")


def make(names: Sequence[str], runs: Path, out: Path) -> list[Path]:
    """Write the named figures and tables below `out`, then the page of all that are there; return every path written.

    Inputs are read for all names before anything is written. ValueError for an unknown name or absent runs, with the
    command that makes them.
    """
    if unknown := [name for name in names if name not in NAMES]:
        raise ValueError(f"NAME is {unknown[0]!r}: one of {', '.join(NAMES)} is needed")
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out is {out}: a file; a directory is needed")
    from paper_figures.exhibits import save
    from paper_figures.report import write_page
    from paper_figures.style import styled

    with styled():
        made = {name: import_module(f"paper_figures.{name}").exhibit(runs) for name in NAMES if name in names}
        written = [path for name, exhibit in made.items() for path in save(name, exhibit, out)]
    return [*written, *write_page(NAMES, runs, out)]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0, or 2 with one line on standard error for bad input."""
    parser = _Parser(
        prog="python -m paper_figures",
        description="Draw the paper's figures and tables from recorded runs, beside what the paper printed, and write "
        f"a page that shows them. Names: {', '.join(NAMES)}; all of them by default.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a figure or table; all by default")
    parser.add_argument(
        "--runs", type=Path, default=Path("out/runs"), metavar="DIR", help="results of experiments (out/runs)"
    )
    parser.add_argument("--out", type=Path, default=Path("out"), metavar="DIR", help="where files go (out)")
    parser.add_argument("--json", action="store_true", help="print what was written as JSON on standard output")
    args = parser.parse_args(argv)
    try:
        written = make(args.names or NAMES, args.runs, args.out)
    except (ValueError, OSError) as error:
        print(f"{parser.prog}: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    files = [path.relative_to(args.out).as_posix() for path in written]
    if args.json:
        print(json.dumps({"out": str(args.out), "page": "index.html", "written": files}))
    else:
        print(f"{len(files)} files below {args.out}; open {args.out / 'index.html'}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
