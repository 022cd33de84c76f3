"""States of the complete scale path: canvases evaluated in batches, their scales cut into proved intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rws_decode.canvas.layout import Canvas
from rws_decode.canvas.schedule import due
from rws_decode.common.threads import torch_threads
from rws_decode.step.cached_reward import Scorer
from rws_decode.step.rounding import at_the_cut
from rws_decode.step.step import Decoder, State, complete, forward
from rws_decode.strategies.factors import RWS
from rws_decode.strategies.protocol import MaskedPositions
from rws_theory.selection import Bracket, selection_path
from rws_theory.threshold import threshold_path

Answer = tuple[int, ...]


class Span(NamedTuple):
    """Scales [lower, upper] at which the answer positions were committed at `commit_step`, -1 where they were not."""

    lower: float
    upper: float
    commit_step: tuple[int, ...]


class SpanEnd(NamedTuple):
    """A span after `steps` steps, with its answer, or None where the budget left it out."""

    span: Span
    steps: int
    answer: Answer | None


class View(NamedTuple):
    """The planned step of a state, as far as its forward decides it.

    completed: the answer with the candidates; always: positions committed at any scale; positions: those that compete
    for `seats`, rising; block: all masked positions of the block; logits: [N, V], of the competing positions; gain:
    factor per unit of the scale, None if the scale is the factor, or nothing depends on it; near: masked positions
    whose candidate rounding may change; threshold: the probability from which positions are committed, the most
    confident one in any case, None where `seats` are.
    """

    completed: Answer
    always: tuple[int, ...]
    positions: tuple[int, ...]
    block: frozenset[int]
    seats: int
    logits: Tensor
    gain: float | None
    near: frozenset[int]
    threshold: float | None = None

    @property
    def choice(self) -> bool:
        """Return whether not all of the competing positions are committed."""
        return 0 < self.seats < len(self.positions)

    def competing(self) -> NDArray[np.float64]:
        """Return the logits of the competing positions, [positions, V]; none without a choice."""
        return (self.logits if self.choice else self.logits[:0]).double().cpu().numpy()

    def cut(
        self, logits: NDArray[np.float64], lower: float, upper: float
    ) -> list[tuple[float, float, tuple[int, ...]]]:
        """Return the proved parts of [lower, upper], rising and disjoint, each with the positions committed there.

        logits: as `competing` returns them.
        """
        if not self.choice:
            return [(lower, upper, (*self.always, *(self.positions if self.seats else ())))]
        low, high = lower, upper
        if self.gain is not None:  # the rounded product of scale and gain lies within these
            low, high = math.nextafter(lower * self.gain, 0.0), math.nextafter(upper * self.gain, math.inf)
        if self.threshold is None:
            path = selection_path(logits, self.seats, low, high)
            pieces, brackets = [piece.selected for piece in path.pieces], path.brackets
        else:
            pieces, brackets = _above(logits, self.threshold, low, high)
        # A bracket that is a breakpoint separates two pieces; others have the same piece on both sides.
        index, begin = 0, lower
        parts = []
        for bracket in brackets:
            end, after = bracket.lower, bracket.upper
            if self.gain is not None:  # scales whose product with the gain lies in the bracket, rounded outward
                end, after = math.nextafter(end / self.gain, 0.0), math.nextafter(after / self.gain, math.inf)
            parts.append((begin, min(end, upper), index))
            index, begin = index + bracket.breakpoint, max(after, lower)
        parts.append((begin, upper, index))
        return [
            (start, stop, (*self.always, *(self.positions[i] for i in pieces[index])))
            for start, stop, index in parts
            if start < stop or (lower == upper and not brackets)
        ]


def _above(
    logits: NDArray[np.float64], tau: float, low: float, high: float
) -> tuple[list[tuple[int, ...]], Sequence[Bracket]]:
    """Return the sets that reach a threshold, or the most confident position alone, and the brackets between them."""
    path = threshold_path(logits, tau, low, high)
    above, brackets = [piece.positions for piece in path.pieces], list(path.brackets)
    if above[0]:
        return above, brackets
    end = brackets[0] if brackets else Bracket(high, high, False)
    alone = selection_path(logits, 1, low, end.upper)
    early = [bracket for bracket in alone.brackets if bracket.upper < end.lower or not brackets]
    before = [piece.selected for piece in alone.pieces][: 1 + sum(bracket.breakpoint for bracket in early)]
    if not brackets:
        return before, early
    late = alone.brackets[len(early) :]
    if end.breakpoint and not late and before[-1] == above[1]:  # the position committed alone is the one that passes
        return [*before, *above[2:]], [*early, *brackets[1:]]
    begin = min([end.lower, *(bracket.lower for bracket in late)])
    changes = end.breakpoint and before[-1] != above[1]
    after = above[1 if changes else 2 :]
    return [*before, *after], [*early, Bracket(begin, end.upper, changes), *brackets[1:]]


def widest(states: dict[Answer, list[Span]], most: int) -> tuple[dict[Answer, list[Span]], list[Span]]:
    """Return at most `most` states, those of the largest total width in log scale, and the spans of the others."""
    if len(states) <= most:
        return states, []

    def width(answer: Answer) -> float:
        return sum(math.log(span.upper) - math.log(span.lower) for span in states[answer])

    selected = set(sorted(states, key=lambda answer: (-width(answer), states[answer][0].lower))[:most])
    dropped = [span for answer, spans in states.items() if answer not in selected for span in spans]
    return {answer: spans for answer, spans in states.items() if answer in selected}, dropped


@dataclass(eq=False)
class Forwards:
    """Evaluates canvases of one prompt in batches, scores their completions, and counts.

    decoder: of as many rows as a batch has; start: the canvas before the first step, of one row; gains: of each text
    scored.
    """

    decoder: Decoder
    start: Canvas
    rule: RWS
    threshold: float | None
    gains: dict[str, float] = field(default_factory=dict)
    forwards: int = 0
    batches: int = 0
    near_tokens: int = 0

    def evaluate(self, answers: list[Answer], step: int) -> Iterator[tuple[Answer, View]]:
        """Yield each answer with the view of its step."""
        for begin in range(0, len(answers), self.decoder.count):
            chunk = answers[begin : begin + self.decoder.count]
            yield from zip(chunk, self._batch(chunk, step), strict=True)

    @torch_threads()
    @torch.inference_mode()
    def _batch(self, answers: list[Answer], step: int) -> list[View]:
        decoder, canvas = self.decoder, self.start.of(torch.zeros(len(answers), dtype=torch.int64))
        before = torch.tensor(answers, device=canvas.ids.device)  # [B, n]
        canvas = canvas._replace(ids=canvas.ids.scatter(1, canvas.answer, before))
        masked = before == decoder.predictor.mask_id
        state = State(step, canvas, masked, torch.arange(len(answers), device=masked.device))
        completion = complete(decoder, state, forward(decoder, state))
        self.forwards += len(answers)
        self.batches += 1
        block = completion.block
        commits = decoder.plan[step].commits if self.threshold is None else due(block, step, decoder.plan)
        competing, seats = at_the_cut(block, completion.deferred, commits)
        always, position = block & ~competing, completion.view.position
        if completion.deferred is not None:
            always = always & ~completion.deferred
        views = [
            View(
                completed=tuple(answer),
                always=tuple(always[n].nonzero()[:, 0].tolist()),
                positions=tuple(competing[n].nonzero()[:, 0].tolist()),
                block=frozenset(block[n].nonzero()[:, 0].tolist()),
                seats=int(seats[n]),
                logits=completion.published[completion.row.eq(n) & competing[n, position]],
                gain=None,
                near=frozenset(completion.unsure[n].nonzero()[:, 0].tolist()),
                threshold=self.threshold,
            )
            for n, answer in enumerate(completion.tokens.tolist())
        ]
        return views if decoder.scorer is None else self._score(views, decoder.scorer)

    def _score(self, views: list[View], scorer: Scorer) -> list[View]:
        """Return the views with their gains where there is a choice; each text is scored once."""
        texts = [scorer.text(0, list(view.completed)) for view in views]
        answers = {text: list(view.completed) for text, view in zip(texts, views, strict=True) if view.choice}
        new = {text: ids for text, ids in answers.items() if text not in self.gains}
        if new:
            _, normalised = scorer.score([0] * len(new), list(new.values()))
            view = MaskedPositions(0, len(new), reward=normalised)
            self.gains |= zip(new, self.rule.factor(view).tolist(), strict=True)
        return [
            view._replace(gain=self.gains[text]) if view.choice else view
            for text, view in zip(texts, views, strict=True)
        ]

    def follow(self, answer: Answer, spans: list[Span], view: View, step: int) -> Iterator[tuple[Answer, Span]]:
        """Yield the answers to which a state's spans lead, each with its part of a span."""
        committed: set[int] = set()
        logits = view.competing()
        for span in spans:
            for lower, upper, chosen in view.cut(logits, span.lower, span.upper):
                child, when = list(answer), list(span.commit_step)
                for position in chosen:
                    child[position], when[position] = view.completed[position], step
                committed.update(chosen)
                yield tuple(child), Span(lower, upper, tuple(when))
        # A score depends on every candidate, deferral on those of the block, a commit on those committed.
        read = view.near if view.gain is not None else view.block if self.decoder.ends.defers else committed
        self.near_tokens += len(view.near & read)
