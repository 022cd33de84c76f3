"""One row decoded by a plain loop, a token at a time: the slow version of what scales, orders, counts or revises."""

import math
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from rws_decode import MaskPredictor, Shape
from rws_decode.predictors import forbidden_ids
from rws_decode.text.dialogue import row_of


class Row(NamedTuple):
    """What a rule sees of a row's block, by position: candidates, the most confident first, and committed tokens.

    left_out: the probability of a committed token, seen as masked; when, then: steps of commits, and probabilities at
    that time; k: what the schedule commits; waits: candidates that end the text; logits: of all positions, [n, V],
    closed tokens -inf; history: all probabilities at each step so far; look: those of another answer, for one forward.
    """

    step: int
    masked: dict[int, float]
    entropy: dict[int, float]
    visible: dict[int, float]
    left_out: Callable[[int], float]
    when: dict[int, int]
    then: dict[int, float]
    k: int
    answer: list[int]
    candidate: dict[int, int]
    waits: set[int]
    logits: Tensor
    history: list[Tensor]
    look: Callable[[list[int]], Tensor]


# Which positions go, or how many of the most confident; and which are masked again.
Rule = Callable[[Row], tuple[int | Collection[int], set[int]]]


def confidence(row: Row) -> tuple[int, set[int]]:
    """As many of the most confident as the schedule says."""
    return row.k, set()


def by_value(value: Callable[[Row, int], float]) -> Rule:
    """The largest values go first, those that wait last."""

    def rule(row: Row) -> tuple[list[int], set[int]]:
        key = {i: (i in row.waits, -value(row, i), i) for i in row.masked}
        return sorted(key, key=key.__getitem__)[: row.k], set()

    return rule


class SlowRun(NamedTuple):
    """The answer before each step, the final one, the step of each commit that stands, forwards, and scales by step."""

    canvases: list[list[int]]
    tokens: list[int]
    commit_step: list[int]
    forwards: int
    scales: list[float]


def slow_decode(
    predictor: MaskPredictor,
    prompt: list[int],
    shape: Shape,
    rule: Rule = confidence,
    scale: float | Callable[[int, list[int]], float] = 1.0,
    *,
    cfg: float = 0.0,
    sampling_temperature: float = 0.0,
    seed: int = 0,
    suppress: Sequence[int] = (),
    defer: Sequence[int] = (),
) -> SlowRun:
    """Decode a prompt, or its gaps, by a rule, at a scale of all logits, perhaps a function of step and answer."""
    mask, noise = predictor.mask_id, torch.Generator().manual_seed(seed)
    row, closed = row_of(prompt, mask, shape.length), [*forbidden_ids(predictor), *suppress]
    places, forwards = [place for place, token in enumerate(row) if token == mask], 0

    def seen(start: list[int], answer: list[int]) -> Tensor:
        canvas = torch.tensor([start])
        canvas[0, places] = torch.tensor(answer)
        return predictor.logits(canvas, None)[0, places].detach()

    def logits_of(answer: list[int]) -> Tensor:
        nonlocal forwards
        forwards += 1
        z = seen(row, answer)
        if cfg:
            blind = seen([mask] * len(row), answer)
            z = blind + (cfg + 1) * (z - blind)
        z = z.double()
        z[:, closed] = -math.inf
        return z

    answer, canvases, history, scales = [mask] * shape.length, [], [], []
    when: dict[int, int] = {}
    then: dict[int, float] = {}
    per_block = shape.steps // (shape.length // shape.block)
    for step in range(shape.steps):
        open_ = [i for i, token in enumerate(answer) if token == mask]
        if not open_:
            break
        canvases.append(list(answer))
        logits = logits_of(answer)
        scores = logits[open_]
        if sampling_temperature:
            uniform = torch.rand(scores.shape, generator=noise, dtype=torch.float64)
            scores = scores.exp() / (-uniform.log()) ** sampling_temperature
        candidate = dict(zip(open_, scores.argmax(dim=-1).tolist(), strict=True))
        completed = [candidate.get(i, token) for i, token in enumerate(answer)]
        scales.append(scale(step, completed) if callable(scale) else scale)
        scaled = scales[-1] * logits
        p = scaled.softmax(dim=-1)
        history.append(p)
        number = open_[0] // shape.block
        block = range(number * shape.block, (number + 1) * shape.block)
        waits = {i for i in block if candidate.get(i) in defer}
        odds = {}
        for i in (i for i in block if answer[i] == mask):
            others = torch.cat([scaled[i, : candidate[i]], scaled[i, candidate[i] + 1 :]])
            odds[i] = float(scaled[i, candidate[i]] - others.logsumexp(dim=0))
        order = sorted(odds, key=lambda i: (i in waits, -odds[i], i))
        masked = {i: float(p[i, candidate[i]]) for i in order}
        entropy = {i: -sum(q * math.log(q) for q in p[i].tolist() if q > 0) for i in order}
        visible = {i: float(p[i, answer[i]]) for i in block if answer[i] != mask}

        def look(other: list[int], by: float = scales[-1]) -> Tensor:
            return (by * logits_of(other)).softmax(dim=-1)

        def left_out(i: int, before: tuple[int, ...] = tuple(answer), look: Callable[..., Tensor] = look) -> float:
            return float(look([*before[:i], mask, *before[i + 1 :]])[i, before[i]])

        go, again = order, set[int]()
        if step + 1 < (number + 1) * per_block:
            rest = (shape.plan[step].commits, list(answer), candidate, waits, logits, history, look)
            chosen, again = rule(Row(step, masked, entropy, visible, left_out, when, then, *rest))
            go = order[:chosen] if isinstance(chosen, int) else chosen
        for i in go:
            answer[i], when[i], then[i] = candidate[i], step, masked[i]
        for i in again:
            answer[i] = mask
    stands = [when[i] if answer[i] != mask else -1 for i in range(shape.length)]
    return SlowRun(canvases, answer, stands, forwards, scales)
