"""Say which answers rounding can change, and between what values the mean of their scores then lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rws_decode.decode import decoded
from rws_decode.job import prepare
from rws_decode.predictors.base import MaskPredictor
from rws_decode.replay.replay import as_ended, run_settings
from rws_decode.replay.step_logits import check_fresh, check_predictor
from rws_decode.rewards.base import RewardModel
from rws_decode.step.completion import MaskedLogits
from rws_decode.step.step import Decoder, State, forward
from rws_decode.strategies.protocol import Strategy
from rws_decode.strategies.recorded import recorded
from rws_decode.strategies.table import strategy_from
from rws_decode.trace.data import check_known
from rws_decode.trace.labels import strategy_label
from rws_decode.trace.trace import Trace
from rws_theory.checks import whole

Bools, Ids, Floats = NDArray[np.bool_], NDArray[np.int64], NDArray[np.float64]

_NORMAL = 1.959964  # two-sided 95 % quantile


@dataclass(frozen=True, eq=False)
class Fragility:
    """Which of B answers rounding can change, and what that does to the mean of their scores.

    fragile: bool [B], whether a choice of the decode was within rounding; first_step: int64 [B], the first such step,
    from 0, or -1; scores: float64 [B] between 0 and 1, or None; changed: bool [B], whether one of `decodes` further
    decodes wrote another answer, or None where none was asked for.
    """

    fragile: Bools
    first_step: Ids
    scores: Floats | None = None
    changed: Bools | None = None
    decodes: int = 0

    @property
    def score(self) -> float | None:
        """The mean score."""
        return None if self.scores is None else float(self.scores.mean())

    @property
    def sampling(self) -> tuple[float, float] | None:
        """Wilson's 95 % interval of the mean score of further questions; for scores within 0 and 1 it is too wide."""
        if self.scores is None:
            return None
        p, part = float(self.scores.mean()), _NORMAL**2 / len(self.scores)
        half = (part * (p * (1 - p) + part / 4)) ** 0.5
        middle, size = p + part / 2, 1 + part
        return max(0.0, (middle - half) / size), min(1.0, (middle + half) / size)

    def span(self, flips: Bools) -> tuple[float, float] | None:
        """Return the least and the greatest mean score if each of these answers may have any score from 0 to 1."""
        if self.scores is None:
            return None
        kept = np.where(flips, 0.0, self.scores)
        return float(kept.mean()), float((kept + flips).mean())

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON has it: `span` for what is fragile, `changed_span` for what changed."""
        return {
            "answers": len(self.fragile),
            "fragile": self.fragile.tolist(),
            "first_step": [None if step < 0 else step for step in self.first_step.tolist()],
            "score": self.score,
            "sampling": self.sampling,
            "span": self.span(self.fragile),
            "decodes": self.decodes,
            "changed": None if self.changed is None else self.changed.tolist(),
            "changed_span": None if self.changed is None else self.span(self.changed),
        }

    def __repr__(self) -> str:
        count = len(self.fragile)
        score = "" if self.scores is None else f", score {self.score:.4f} between {_ends(self.span(self.fragile))}"
        return f"Fragility({int(self.fragile.sum())} of {count} answers can change{score})"

    def __str__(self) -> str:
        count = len(self.fragile)
        lines = [f"Rounding can change {int(self.fragile.sum())} of {count} answers."]
        if self.scores is not None:
            lines[0] += f" The score, {self.score:.4f}, then lies between {_ends(self.span(self.fragile))}."
            lines.append(f"Sampling alone: {_ends(self.sampling)} (95 % interval, n = {count}).")
        if self.changed is not None:
            line = f"{int(self.changed.sum())} of them changed in {self.decodes} decodes with logits moved by rounding"
            lines.append(f"{line}." if self.scores is None else f"{line}: between {_ends(self.span(self.changed))}.")
        return "\n".join(lines)


def _ends(interval: tuple[float, float] | None) -> str:
    assert interval is not None
    return f"{interval[0]:.4f} and {interval[1]:.4f}"


def fragility(
    traces: Sequence[Trace],
    scores: Sequence[float] | None = None,
    *,
    predictor: MaskPredictor | None = None,
    reward: RewardModel | None = None,
    decodes: int = 8,
    seed: int = 0,
) -> Fragility:
    """Say which answers another processor, batch or kernel could change, and where the mean score would then lie.

    An answer is fragile if a step had ties, or choices closer than the tolerance of its logits (`Trace.near_ties`,
    `Trace.near_tokens`). Other answers keep their tokens wherever logits move by no more than that tolerance. What
    rounding does to a reward's own score is not counted.

    scores: of the answers, between 0 and 1, such as 1 for right and 0 for wrong. predictor: where it is given, each
    fragile answer is decoded again (`moved_answers`), with `reward` or else the recorded factors; `changed` says which
    came out otherwise. ValueError for another number of scores than traces, and scores outside 0 to 1.
    """
    if not len(traces):
        raise ValueError("traces is empty: at least one trace is needed")
    for trace in traces:
        check_known(trace, "fragility", whole=True)
    near = [trace.ties + trace.near_ties + trace.near_tokens > 0 for trace in traces]
    fragile = np.array([bool(steps.any()) for steps in near])
    first = np.array([int(steps.argmax()) if steps.any() else -1 for steps in near])
    changed = None
    if predictor is not None:
        whole("decodes", decodes)
        changed = np.zeros(len(traces), dtype=np.bool_)
        for row in np.flatnonzero(fragile):
            trace = traces[int(row)]
            moved = moved_answers(trace, predictor, reward, decodes=decodes, seed=seed)
            changed[row] = bool((moved != trace.tokens).any())
    decodes = 0 if predictor is None else decodes
    return Fragility(fragile, first, None if scores is None else _scores(scores, len(traces)), changed, decodes)


def _scores(scores: Sequence[float], count: int) -> Floats:
    values = np.asarray(scores, dtype=np.float64)
    if values.shape != (count,):
        raise ValueError(f"scores has {len(values)} numbers for {count} traces: one for each, in order, is needed")
    if bad := [value for value in values.tolist() if not 0 <= value <= 1]:
        raise ValueError(f"scores holds {bad[0]}: numbers between 0 and 1 are needed, such as 1 for a right answer")
    return values


def moved_answers(
    trace: Trace, predictor: MaskPredictor, reward: RewardModel | None = None, *, decodes: int = 8, seed: int = 0
) -> Ids:
    """Decode a trace's prompt several times, every logit moved up or down by its tolerance; return int64 [decodes, n].

    The tolerance is that of `step.rounding.logit_error`; up or down is sampled from `seed` for every logit of every
    forward. Near-ties so fall either way, though not all of them in a few decodes. Of a strategy that asks a reward the
    recorded factors are taken unless `reward` is given. ValueError for a predictor that is not the trace's, and for a
    trace of a steering method.
    """
    check_predictor(trace, predictor)
    check_fresh(trace)
    shape, options = run_settings(trace)
    options = replace(options, seed=(trace.seed,) * decodes)
    strategy = _strategy_of(trace, reward)
    job = prepare(predictor, [trace.prompt.tolist()] * decodes, strategy, shape, reward, options)
    savings, callback = as_ended(trace)
    moved = partial(_moved_forward, torch.Generator().manual_seed(seed))
    return decoded(job, options, savings, callback=callback, step_forward=moved).tokens


def _strategy_of(trace: Trace, reward: RewardModel | None) -> Strategy:
    """Return the strategy of a trace's run; its factors where it asks a reward that is not given."""
    if "base" in trace.strategy:
        name = strategy_label(trace.strategy)
        raise ValueError(f"trace is of {name}, which chooses among copies: traces of one decode each are needed")
    strategy: Any = strategy_from(trace.strategy)
    if hasattr(strategy, "seed") and "seed" not in trace.strategy:  # one of each row, which a description leaves out
        strategy = replace(strategy, seed=trace.seed)
    return recorded(trace) if strategy.needs_reward and reward is None else strategy


def _moved_forward(generator: torch.Generator, decoder: Decoder, state: State) -> MaskedLogits:
    """Return a forward's logits, each up or down by its tolerance."""
    base = forward(decoder, state)
    up = torch.randint(0, 2, base.logits.shape, generator=generator, dtype=torch.int8).to(base.logits.device)
    by = (base.error[:, None] * (2 * up - 1)).to(base.logits.dtype)
    logits = base.logits + by
    return base._replace(logits=logits, published=logits if base.published is base.logits else base.published + by)
