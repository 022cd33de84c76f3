"""The results of the scale-path experiment, as its figure and tables read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paper_figures.exhibits.runs import read_named
from paper_figures.plan import command

Row = Mapping[str, Any]

AXES = {"temperature": "constant factor c", "reward-scale": "reward scale $s_R$"}
WORDS = {"temperature": "factors c", "reward-scale": "reward scales s_R"}


@dataclass(frozen=True)
class Profile:
    """The experiment's outcome: `prompts`, each with outputs, paths and walks; `summary` rows; the grid; settings."""

    prompts: Sequence[Row]
    summary: Sequence[Row]
    grid: Sequence[float]
    settings: Row

    @property
    def drawn(self) -> Row:
        """Return the prompt that is drawn: the run's first, so that nobody chose it for its looks."""
        return self.prompts[0]

    def path(self, over: str) -> Row:
        """Return the drawn prompt's path over an axis."""
        return next(path for path in self.drawn["paths"] if path["over"] == over)

    def rows(self, over: str) -> list[Row]:
        """Return the summary rows of an axis, prompt by prompt, without their total."""
        return [row for row in self.summary if row["over"] == over and row["prompt"] != "all"]

    def missed(self, over: str) -> set[int]:
        """Return the drawn prompt's outputs of an axis that no point of the grid gives."""
        pieces = self.path(over)["pieces"]
        hit = {piece["output"] for piece in pieces for point in self.grid if _holds(piece, point)}
        return {piece["output"] for piece in pieces} - hit


def _holds(piece: Row, point: float) -> bool:
    return bool(piece["lower"] <= point <= piece["upper"])


def read_profile(runs: Path) -> Profile:
    """Read the experiment's outcome below `runs`; MissingRun, with the command, if it is missing."""
    parts = ("profiles", "summary", "grid", "settings")
    path, made_by = runs / "scale-path" / "results.json", command("scale-path", runs)
    results, _ = read_named(path, made_by, parts)
    if not results["profiles"]:
        raise ValueError(f"{path} holds no prompt: run {made_by} --retry-failed")
    return Profile(*(results[part] for part in parts))


def letters(number: int) -> str:
    """Return the name of an output: A to Z, then AA and on.

    >>> letters(0), letters(25), letters(26), letters(52)
    ('A', 'Z', 'AA', 'BA')
    """
    head, last = divmod(number, 26)
    return (letters(head - 1) if head else "") + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[last]
