"""One step of a recorded RWS decode beside the same step of confidence decoding, and which step that is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from paper_figures.exhibits.token_words import words_of
from paper_figures.figures import fig1_commit_order
from paper_figures.figures.fig1_commit_order import CommitOrders
from rws_decode.trace.trace import Trace
from rws_decode.view.plots.decode_steps import foremost

_SHOWN = 56  # tokens of the canvas: more do not fit on the page in words


@dataclass(frozen=True, eq=False)
class Step:
    """One step of the RWS trace beside the same step of confidence decoding, on the same canvas.

    step: from 0; parted: whether the two commit different positions there. Of the first n positions: `words` of the
    completion, `masked` bool [n]; hidden: positions of the answer that are not drawn. Of the m masked positions of the
    block, the foremost where they are many (`open`, how many there are): `position` int [m], `tokens`, their best
    tokens as words, `before` and `after` [m], what they are ranked by at factor 1 and at the step's factor, `default`
    and `rws` bool [m], which either commits. raw, normalised, factor: the reward's; mean, std: of the reward model,
    None if not recorded; same: whether both runs completed the canvas to the same text.
    """

    trace: Trace
    step: int
    parted: bool
    words: tuple[str, ...]
    masked: NDArray[np.bool_]
    hidden: int
    open: int
    position: NDArray[np.int64]
    tokens: tuple[str, ...]
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    default: NDArray[np.bool_]
    rws: NDArray[np.bool_]
    raw: float
    normalised: float
    factor: float
    mean: float | None
    std: float | None
    same: bool
    orders: CommitOrders
    files: tuple[str, ...]

    @property
    def scale(self) -> float:
        """Return the reward scale s_R."""
        return float(self.trace.strategy["reward_scale"])

    @property
    def unit(self) -> str:
        """Return what positions are ranked by, with its unit."""
        return "log-odds  [nats]" if self.trace.ranking == "log-odds" else "confidence  [probability]"

    def committed(self, which: NDArray[np.bool_]) -> str:
        """Return the words and positions of the chosen ones of the m positions, as text."""
        hits = np.flatnonzero(which)
        return ", ".join(f"“{self.tokens[i]}” at {self.position[i]}" for i in hits)


def shown_step(default: Trace, rws: Trace) -> tuple[int, bool]:
    """Return the first step at which the two commit different positions, and True; else the middle step, and False.

    Up to that step both have the same canvas, so that their log-odds differ by the factor alone.
    """
    steps = min(default.steps_run, rws.steps_run)
    parted = np.flatnonzero((default.chosen[:steps] != rws.chosen[:steps]).any(axis=1))
    return (int(parted[0]), True) if parted.size else (steps // 2, False)


def compute(runs: Path) -> Step:
    """Read the step from the run's first prompt; ValueError where the trace has no reward for it."""
    orders = fig1_commit_order.compute(runs)
    default, rws = (orders.traces[orders.drawn][name] for name in ("default", "rws"))
    step, parted = shown_step(default, rws)
    if not rws.reward_asked[step]:
        raise ValueError(f"step {step} of the rws trace of prompt {orders.drawn} has no reward: decode without savings")
    words = words_of(orders.settings["model"])
    candidate = rws.candidate[step]
    ends = np.flatnonzero(candidate == words.end) if words.end is not None else np.array([], dtype=np.int64)
    count = min(int(ends[0]) + 1 if ends.size else rws.length, _SHOWN)
    texts = words.words(candidate)
    names = tuple(f"/{name}-{orders.drawn}.parquet" for name in ("default", "rws"))
    measured = ~np.isnan(default.value[step]) & ~np.isnan(rws.value[step])
    position = np.flatnonzero(rws.eligible[step] & measured)
    commits = int(rws.chosen[step].sum())
    position = position[foremost(commits, default.value[step, position], rws.value[step, position])]
    return Step(
        rws,
        step,
        parted,
        texts[:count],
        rws.masked[step, :count],
        rws.length - count,
        int(rws.eligible[step].sum()),
        position,
        tuple(texts[index] for index in position),
        default.value[step, position],
        rws.value[step, position],
        default.chosen[step, position],
        rws.chosen[step, position],
        float(rws.reward_raw[step]),
        float(rws.reward_normalised[step]),
        float(rws.factor[step]),
        rws.reward_settings.get("mean"),
        rws.reward_settings.get("std"),
        bool(np.array_equal(default.candidate[step], candidate)),
        orders,
        tuple(file for file in orders.files if file.endswith(names)),
    )
