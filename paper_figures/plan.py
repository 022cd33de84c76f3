"""The runs that figures need, in small sizes that take minutes on two cores; absent ones are made.

The studies' own sizes are larger (`FULL`). Any other sizes work too: run `rws experiment NAME` with
your options, and the figures are made from those results.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from paper_figures.runner.claims_run import NAME as CLAIMS
from paper_figures.runner.claims_run import make_claims, up_to_date
from paper_figures.studies import options_class, study_module
from rws_decode.cli.app import read_words
from rws_decode.cli.progress import tell

if TYPE_CHECKING:
    from paper_figures.runner.executors import Backend, RunOptions

# One stated reward scale, that of the evidence's rarer controls: six validation prompts would choose one by chance. Two
# rewards and a third judge show what each judges. Turned and random rewards are left to `reward-bench` and the recorded
# evidence, which has the prompts for them. `precision` has the prompts that five corrected sign-flip tests need to say
# anything, and both scales between which the printed GOD falls; a fixed factor of equal mean is a temperature again.
_JUDGED = "--rewards mini exact --judges mini-judge"
_METHODS = "constant shuffled margin best-of-n"
_SMALL = f"--validation 0 --reward-scale 8 --methods {_METHODS} {_JUDGED}"
# Seconds do not depend on the reward scale. The fixed factor asks no reward: it shows the machine's noise.
_TIMED_SMALL = f"--repetitions 2 --reward-scale 8 {_JUDGED}"
PLAN: dict[str, str] = {
    "commit-order": "",
    "temperature": f"--prompts 10 --methods temperature temperature-bf16 {_METHODS}",
    "reward-bench": "--prompts 25 --validation 0 --reward-scale 8",
    "keywords": f"--prompts 12 {_SMALL}",
    "mt-bench": f"--prompts 6 {_SMALL}",
    "humaneval": f"--prompts 16 {_SMALL}",
    "diversity": f"--prompts 10 {_SMALL}",
    "precision": "--prompts 9 --scales 0.1 1 4 16 32 --strategies temperature rws",
    "scale-path": "--prompts 2",
    "frequency": f"--prompts 6 --timing-prompts 2 --methods constant shuffled {_TIMED_SMALL}",
    "overhead": f"--prompts 2 --methods constant {_TIMED_SMALL}",
    "claims": "",  # no study: the checks of `rws_theory.claims`
}
# Each study's own sizes: some 45 minutes on two cores.
FULL: dict[str, str] = dict.fromkeys(PLAN, "")


def missing(runs: Path, experiments: Iterable[str]) -> list[str]:
    """Return the studies, in the plan's order, that have no results below `runs`; claims of other code do not count."""

    def present(name: str) -> bool:
        path = runs / name / "results.json"
        return up_to_date(path) if name == CLAIMS else path.is_file()

    names = set(experiments)
    return [name for name in PLAN if name in names and not present(name)]


def make_missing(
    runs: Path, experiments: Iterable[str], backend: Backend | None = None, plan: Mapping[str, str] = PLAN
) -> list[str]:
    """Run the studies that have no results below `runs`, with the plan's options, and return their names.

    backend: runs them all, in this process if None; answers are timed in this process. An interrupted study goes on
    where it was when it is run again. ValueError for runs that cannot be made.
    """
    from paper_figures.runner.executors import in_process, kept_open

    names = missing(runs, experiments)
    with kept_open(backend or in_process()) as shared:
        for name in names:
            tell(f"running {command(name, runs, plan)}")
            if name == CLAIMS:
                make_claims(runs, shared)
                continue
            with redirect_stdout(sys.stderr):
                study_module(name).run(replace(parsed(name, runs, plan), shared=shared))
    return names


def command(experiment: str, runs: Path, plan: Mapping[str, str] = PLAN) -> str:
    """Return the command that makes an experiment's results with the plan's options.

    >>> command("scale-path", Path("out/runs"))
    'rws experiment scale-path --out out/runs --prompts 2'
    """
    if experiment == CLAIMS:
        return f"rws figures ledger --runs {runs}"
    return f"rws experiment {experiment} --out {runs} {plan[experiment]}".rstrip()


def parsed(experiment: str, runs: Path, plan: Mapping[str, str]) -> RunOptions:
    """Return an experiment's options as its command reads the plan's."""
    return read_words(options_class(experiment), ["--out", str(runs), *plan[experiment].split()])
