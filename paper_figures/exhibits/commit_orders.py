"""Read the traces of the commit-order experiment for figures: every prompt, decoded in three orders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from paper_figures.exhibits.canvas_cells import end_of, words_of
from paper_figures.exhibits.exhibit import MissingRun
from paper_figures.exhibits.runs import read_results_json
from paper_figures.plan import command
from rws_decode.trace.trace import Trace, load

NAME = "commit-order"
STRATEGIES = ("left-to-right", "default", "rws")


@dataclass(frozen=True, eq=False)
class CommitOrders:
    """`traces[prompt][strategy]` of a model, by the number of a held-out prompt, or its name.

    end: the model's end-of-text token, None where it names none; files: those of the traces, below the runs.
    """

    model: str
    end: int | None
    traces: Mapping[int | str, Mapping[str, Trace]]
    files: Mapping[int | str, Mapping[str, str]]

    @property
    def drawn(self) -> int | str:
        """Return which prompt is drawn: the run's first, so that nobody chose it for its looks."""
        return next(iter(self.traces))

    def of(self, strategy: str) -> Trace:
        """Return the trace of the drawn prompt."""
        return self.traces[self.drawn][strategy]

    def inputs(self, *strategies: str) -> tuple[str, ...]:
        """Return the files of the drawn prompt's traces, below the runs."""
        return tuple(self.files[self.drawn][name] for name in strategies)

    def words(self, trace: Trace, tokens: Iterable[int]) -> tuple[str, ...]:
        """Return tokens of a trace as words; each trace has the words of its own tokens alone."""
        return words_of(trace, tokens, self.end)

    def written(self, trace: Trace) -> int:
        """Return how many tokens stand before the first end of text, all of them where there is none."""
        ends = np.flatnonzero(trace.tokens == self.end)
        return int(ends[0]) if ends.size else trace.length

    def parted(self) -> tuple[NDArray[np.int64], int]:
        """Return the steps at which the default and RWS commit different positions, and how many steps both ran."""
        default, rws = self.of("default"), self.of("rws")
        steps = min(default.steps_run, rws.steps_run)
        return np.flatnonzero((default.chosen[:steps] != rws.chosen[:steps]).any(axis=1)), steps


def commit_orders(runs: Path) -> CommitOrders:
    """Load the traces that the experiment's results name; MissingRun where these or a trace are absent."""
    made_by, results = command(NAME, runs), read_results_json(runs, NAME, ("rows", "settings"))
    files: dict[int | str, dict[str, str]] = {}
    for row in results["rows"]:
        files.setdefault(row["example"], {})[row["method"]] = f"{NAME}/{row['trace']}"
    whole = {prompt: named for prompt, named in files.items() if named.keys() >= set(STRATEGIES)}
    files = {prompt: {name: named[name] for name in STRATEGIES} for prompt, named in whole.items()}
    if not files:
        strategies = ", ".join(STRATEGIES)
        raise ValueError(
            f"{runs / NAME / 'results.json'} has no prompt with {strategies}: run {made_by} --retry-failed"
        )
    for path in (runs / file for named in files.values() for file in named.values()):
        if not path.is_file():
            raise MissingRun(f"{path} is missing: make it with {made_by}")
    traces = {prompt: {name: load(runs / file) for name, file in named.items()} for prompt, named in files.items()}
    model = results["settings"]["model"]
    return CommitOrders(model, end_of(model), traces, files)
