"""HumanEval (Chen et al. 2021): completions run against the benchmark's own checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from paper_figures.data.loaders import HumanEvalProblem
from paper_figures.sandbox.bubblewrap import Limits
from paper_figures.sandbox.run import Execution, execute
from rws_theory.checks import whole


def check_completion(
    problem: HumanEvalProblem,
    completion: str,
    *,
    allow_code_execution: bool = False,
    limits: Limits | None = None,
) -> Execution:
    """Run prompt + completion against the problem's checks; arguments and errors as in `execute`.

    The completion is what follows the prompt, as in the benchmark: cut off what a chat model says around it before.
    This runner is stricter than the benchmark's own in three ways, which no canonical solution meets. Results must be
    plain data. The helpers that the checks use are those of the prompt, whatever the completion makes of them. A
    StopIteration fails also where the check iterates over its calls.
    """
    return execute(
        problem.prompt + completion,
        problem.test,
        problem.entry_point,
        setup=problem.prompt,
        allow_code_execution=allow_code_execution,
        limits=limits,
    )


def check_canonical(
    problems: Iterable[HumanEvalProblem],
    *,
    allow_code_execution: bool = False,
    limits: Limits | None = None,
    workers: int = 1,
    advance: Callable[[int], object] = lambda count: None,
) -> list[tuple[HumanEvalProblem, Execution]]:
    """Run every problem's canonical solution, `workers` at a time. All of them should pass."""
    whole("workers", workers)
    rows = list(problems)
    results: list[tuple[HumanEvalProblem, Execution]] = []
    # Threads, as each only waits for the processes that do the work.
    with ThreadPoolExecutor(workers) as pool:
        runs = pool.map(
            lambda problem: check_completion(
                problem, problem.canonical_solution, allow_code_execution=allow_code_execution, limits=limits
            ),
            rows,
        )
        for problem, run in zip(rows, runs, strict=True):
            results.append((problem, run))
            advance(1)
    return results
