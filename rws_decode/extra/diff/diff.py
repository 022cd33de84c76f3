"""Where two runs diverge, and why: which positions changed places, and at which factor their curves cross."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rws_decode.canvas.schedule import block_plan
from rws_decode.extra.diff.changes import Change, changes
from rws_decode.extra.diff.difference import CandidateChange, Pair, Parting, Reversal, StepChange, TraceDiff
from rws_decode.predictors.base import MaskPredictor
from rws_decode.replay.step_logits import check_predictor, masked_rows, waiting
from rws_decode.step.select import rank_values
from rws_decode.trace.data import UNUSUAL, check_traces
from rws_decode.trace.labels import revised_words
from rws_decode.trace.trace import Trace
from rws_theory.crossings import Crossing, Crossings, crossings

# Results and costs of a run, which are no settings.
_OUTCOMES = set("text pieces final_reward log_prob rules_broken steps_run forwards computed_columns own_ids".split())
_OUTCOMES |= set("reward_calls reward_calls_saved reward_tokens reward_tokens_saved".split())
# Settings that must agree for a canvas to have the same logits in both runs.
_OF_LOGITS = ("prompt", "mask_id", "length", "predictor", "cfg", "key_cache", "end_of_text", "end_ids")


def diff(first: Trace, second: Trace, predictor: MaskPredictor | None = None) -> TraceDiff:
    """Compare two runs step by step, and say where they diverge and why.

    Up to that step both runs have the same canvas. If they then commit different sets, each position that only the
    first committed has changed places with each that only the second did. predictor: the runs' mask predictor; it
    computes the logits of that canvas again (alone, without padding), and `rws_theory.crossings` proves at which
    factors the curves of two such positions cross (Theorem 1 of the paper, corrected, is about these crossings).
    ValueError for a predictor with another mask id.

    >>> from rws_decode import CallablePredictor, Confidence, Shape, Temperature, decode
    >>> table = torch.tensor([[0, 0, 0, 0.0], [9, 1.1, 0.6, 0.3], [9, 1.0, 0.4, 0.4]])  # Appendix D's two positions
    >>> predictor = CallablePredictor(lambda canvas: table.expand(len(canvas), -1, -1), mask_id=0)
    >>> runs = [decode(predictor, [[1]], rule, Shape(2, 2, 2))[0] for rule in (Confidence(), Temperature(8.0))]
    >>> print(diff(*runs, predictor))  # doctest: +ELLIPSIS
    strategy: default in the first run, temperature:8 in the second
    the runs diverge at step 0, where other positions were committed; the factor is 1 in the first run, 8 in the second
      (steps and positions count from 0)
      '1' at 1 overtakes '1' at 0 at factor 4.812
        the two are ranked by -0.09315 and -0.05436 in the first run, by ...
    1 of the 1 later steps commit other positions; factors, rewards or candidates differ at this and every later step
    """
    check_traces(first=first, second=second)
    if predictor is not None:
        for trace in (first, second):
            check_predictor(trace, predictor)
    _check_comparable(first, second)
    settings = _settings(first, second)
    both = min(first.steps_run, second.steps_run)
    changes = tuple(filter(None, (_step(first, second, step) for step in range(both))))
    parting = _parting(first, second, {change.name for change in settings}, predictor)
    missing = tuple(dict.fromkeys(word for each in (first, second) if each.of_step_map for word in each.missing))
    return TraceDiff(parting is None, settings, parting, changes, both, missing)


def _check_comparable(first: Trace, second: Trace) -> None:
    """Raise ValueError where a step map lacks what the comparison needs: texts of tokens, or revised tokens."""
    for one, other in ((first, second), (second, first)):
        if one.own_ids and not other.pieces:
            raise ValueError("the runs cannot be compared: one has the texts of its tokens alone, the other their ids")
        if one.of_step_map and other.revisions:
            raise ValueError(
                f"the runs cannot be compared: in one {other.revisions} tokens were {revised_words(other)}, of which "
                "the step map that the other is of does not tell"
            )


def _settings(first: Trace, second: Trace) -> tuple[Change, ...]:
    texts = first.own_ids or second.own_ids or first.prompt is None or second.prompt is None
    first_settings, second_settings = (
        trace.metadata()
        | {name: getattr(trace, name) for name in UNUSUAL}
        | {"prompt": trace.prompt_text if texts else trace.prompt.tolist()}
        for trace in (first, second)
    )
    differing = changes(first_settings, second_settings, known=first.of_step_map or second.of_step_map)
    return tuple(change for change in differing if change.name not in _OUTCOMES)


def _step(first: Trace, second: Trace, step: int) -> StepChange | None:
    first_tokens, second_tokens = set(_committed(first, second, step)), set(_committed(second, first, step))
    changes = _candidates(first, second, step)
    comparable = not first.of_step_map and not second.of_step_map
    factors = _unequal(first.factor, second.factor, step) if comparable else None
    rewards = _unequal(first.reward_raw, second.reward_raw, step) if comparable else None
    again = _again(first, step), _again(second, step)
    revised = None if again[0] == again[1] else (tuple(again[0]), tuple(again[1]))
    if first_tokens == second_tokens and not changes and factors is None and rewards is None and revised is None:
        return None
    only = tuple(sorted(first_tokens - second_tokens)), tuple(sorted(second_tokens - first_tokens))
    return StepChange(step, *only, changes, factors, rewards, revised)


def _parting(first: Trace, second: Trace, unequal: set[str], predictor: MaskPredictor | None) -> Parting | None:
    of_map = first.of_step_map or second.of_step_map  # a step map has the commits of a step, not its plan
    plans = [
        [] if of_map else block_plan(trace.length, trace.steps, trace.block, trace.counts)[: trace.steps_run]
        for trace in (first, second)
    ]
    for step in range(max(first.steps_run, second.steps_run)):
        both = step < min(first.steps_run, second.steps_run)
        first_tokens, second_tokens = _committed(first, second, step), _committed(second, first, step)
        revised = _again(first, step) != _again(second, step)
        if first_tokens == second_tokens and not revised:
            continue
        factors = (_at(first.factor, step), _at(second.factor, step))
        if unequal & {"prompt", "mask_id"}:
            return Parting(step, "prompt", factors, (), ())
        if not both or (not of_map and plans[0][step] != plans[1][step]):
            return Parting(step, "count" if of_map else "plan", factors, (), ())
        candidates = _candidates(first, second, step)
        if revised:
            return Parting(step, "revision", factors, candidates, ())
        if set(first_tokens) == set(second_tokens):
            changed = tuple(change for change in candidates if change.position in first_tokens)
            return Parting(step, "candidate", factors, changed, ())
        pairs = product(sorted(first_tokens.keys() - second_tokens), sorted(second_tokens.keys() - first_tokens))
        curves = _Curves(first, second, step, unequal, predictor)
        why = "order" if len(first_tokens) == len(second_tokens) else "count"
        return Parting(step, why, factors, candidates, tuple(curves.reversal(i, j) for i, j in pairs))
    return None


class _Curves:
    """The exact confidence curves of the positions of a canvas that both runs have."""

    def __init__(
        self, first: Trace, second: Trace, step: int, unequal: set[str], predictor: MaskPredictor | None
    ) -> None:
        self.first, self.second, self.step = first, second, step
        self.with_predictor = predictor is not None
        self.obstacle = self._obstacle(unequal)
        self.rows: dict[int, NDArray[np.float64]] = {}
        if predictor is not None and not self.obstacle:
            self.rows, error = masked_rows(first, step, predictor)
            if not all(_explains(trace, step, self.rows, error) for trace in (first, second)):
                self.rows, self.obstacle = {}, f"{predictor.name} does not give the values that the runs recorded"

    def _obstacle(self, unequal: set[str]) -> str:
        logits = [name for name in _OF_LOGITS if name in unequal]
        if logits:
            return f"the runs' logits are not the same: {', '.join(logits)}"
        if self.first.missing or self.second.missing:
            return "a record of tokens does not tell the values"
        if "order" in (self.first.ranking, self.second.ranking):
            return "a strategy's own order, not confidence, ranked the positions"
        low, high = self.first.factor[self.step], self.second.factor[self.step]
        if math.isnan(low) or math.isnan(high):
            return "a factor is not known, as no reward was needed there"
        return "the factors are equal" if low == high else ""

    def reversal(self, earlier: int, later: int) -> Reversal:
        """Return the reversal of two positions that changed places."""
        pair, step = [earlier, later], self.step
        crossings_between: tuple[Crossing, ...] = ()
        certified, note = (False, self.obstacle) if self.with_predictor else (None, "")
        waits = [waiting(trace, step)[pair].tolist() for trace in (self.first, self.second)]
        if any(a != b for a, b in waits):
            certified, note = certified and False, "the end-of-text policy made one of them wait"
        elif self.rows:
            crossings_between, certified, note = self._crossed(earlier, later)
        first_values, second_values = (trace.value[step, pair].tolist() for trace in (self.first, self.second))
        tellers = [self.first if self.first.candidate[step, place] >= 0 else self.second for place in pair]
        words = [run.words(run.candidate[step, [place]])[0] for run, place in zip(tellers, pair, strict=True)]
        values = (first_values[0], first_values[1]), (second_values[0], second_values[1])
        return Reversal(earlier, later, (words[0], words[1]), *values, crossings_between, certified, note)

    def _crossed(self, earlier: int, later: int) -> tuple[tuple[Crossing, ...], bool, str]:
        for trace in (self.first, self.second):
            for position in (earlier, later):
                if self.rows[position][trace.candidate[self.step, position]] < self.rows[position].max():
                    return (), False, f"the candidate of position {position} is not the most likely token"
        result = crossings(self.rows[earlier], self.rows[later])
        start, end = float(self.first.factor[self.step]), float(self.second.factor[self.step])
        low, high = min(start, end), max(start, end)
        between = tuple(crossing for crossing in result.crossings if low < crossing.upper and crossing.lower < high)
        signs = _sign(result, start), _sign(result, end)
        if signs == (1, -1):
            return between, True, ""
        if None in signs:
            return between, False, "the exact order at one of the factors could not be proved"
        return between, False, "the exact order at the two factors does not say so: rounding, ties or other logits did"


def _explains(trace: Trace, step: int, rows: dict[int, NDArray[np.float64]], error: dict[int, float]) -> bool:
    """Return whether logits computed again give the log-odds that a trace recorded, up to rounding."""
    if (trace.ranking, trace.precision) != ("log-odds", "float64"):
        return True
    factor = float(trace.factor[step])
    for position in np.flatnonzero(trace.eligible[step] & ~np.isnan(trace.value[step])).tolist():
        recorded, logits = float(trace.value[step, position]), torch.tensor(rows[position])[None]
        again = float(rank_values(logits, torch.tensor(trace.candidate[step, [position]]), factor))
        slack = 2 * factor * error[position] + 1e-9 * (1 + abs(recorded))
        if recorded != again and not abs(recorded - again) <= slack:
            return False
    return True


def _sign(pair: Crossings, factor: float) -> int | None:
    """Return the proved sign of P^a - P^b at a factor, None where a crossing's certified interval leaves it open."""
    low, high = min(factor, 1.0), max(factor, 1.0)
    passed = 0
    for crossing in pair.crossings if low < high else ():
        if crossing.upper < low or high < crossing.lower:
            continue
        if crossing.multiplicity is None or not low < crossing.lower <= crossing.upper < high:
            return None
        passed += crossing.multiplicity
    return pair.sign_at_one * (-1) ** passed if pair.complete or low == high else None


def _committed(trace: Trace, other: Trace, step: int) -> dict[int, Any]:
    """Return the tokens (`_tokens`) that a step committed, by position; none where it was not run."""
    if step >= trace.steps_run:
        return {}
    positions = np.flatnonzero(trace.chosen[step])
    return dict(zip(positions.tolist(), _tokens(trace, other, trace.candidate[step, positions]), strict=True))


def _tokens(trace: Trace, other: Trace, ids: NDArray[np.int64]) -> list[Any]:
    """Return tokens in comparable form: their ids, or their texts where one of the runs has ids of its own."""
    return trace.words(ids) if trace.own_ids or other.own_ids else ids.tolist()


def _again(trace: Trace, step: int) -> dict[int, int]:
    """Return the new tokens of the positions that a step masked again or replaced."""
    if step >= trace.steps_run:
        return {}
    tokens = np.where(trace.masked_again[step], trace.mask, trace.candidate[step])
    positions = np.flatnonzero(trace.masked_again[step] | trace.edited[step])
    return dict(zip(positions.tolist(), tokens[positions].tolist(), strict=True))


def _candidates(first: Trace, second: Trace, step: int) -> tuple[CandidateChange, ...]:
    n = min(first.length, second.length)
    ids, other_ids = first.candidate[step, :n], second.candidate[step, :n]
    open_ = first.masked[step, :n] & second.masked[step, :n] & (ids >= 0) & (other_ids >= 0)
    both = np.flatnonzero(open_)
    pairs = zip(both.tolist(), _tokens(first, second, ids[both]), _tokens(second, first, other_ids[both]), strict=True)
    changes = []
    for position in [position for position, mine, other in pairs if mine != other]:
        before, after = int(ids[position]), int(other_ids[position])
        words = (first.words([before])[0], second.words([after])[0])
        changes.append(CandidateChange(position, before, after, words))
    return tuple(changes)


def _at(values: NDArray[np.float64], step: int) -> float:
    return float(values[step]) if step < len(values) else math.nan


def _unequal(first: NDArray[np.float64], second: NDArray[np.float64], step: int) -> Pair | None:
    pair = (float(first[step]), float(second[step]))
    return None if np.array_equal(pair[0], pair[1], equal_nan=True) else pair
