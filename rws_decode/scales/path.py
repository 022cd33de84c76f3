"""The complete scale path: every output that any constant factor, or any reward scale, in an interval produces."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from rws_decode.canvas.end_of_text import end_tokens
from rws_decode.canvas.layout import encode_prompts
from rws_decode.predictors.base import MaskPredictor
from rws_decode.rewards.base import RewardModel
from rws_decode.scales.parts import assemble
from rws_decode.scales.states import Forwards, Left, Span, widest
from rws_decode.settings import Options, Shape
from rws_decode.step.cached_reward import scorer_for
from rws_decode.strategies.factors import RWS
from rws_decode.text.dialogue import Dialogue

__all__ = ["Breakpoint", "Level", "Over", "ScalePath", "ScalePiece", "Unexplored", "scale_path"]

Over = Literal["temperature", "reward-scale"]

_WIDTH = 1e-12
_SHAPE, _OPTIONS = Shape(), Options()


@dataclass(frozen=True)
class ScalePiece:
    """The answer at the scales from `lower` to `upper`: token ids, their text (None without a tokenizer), and the step
    at which each was committed."""

    lower: float
    upper: float
    tokens: tuple[int, ...]
    text: str | None
    commit_step: tuple[int, ...]


@dataclass(frozen=True)
class Breakpoint:
    """Scales [lower, upper] inside which nothing is proved.

    ``step``: the first step at which the positions committed on both sides differ, so that the commits change in here;
    None if that is not proved: the enclosure reaches an end of the range, or the same commits stand on both sides.
    """

    lower: float
    upper: float
    step: int | None

    @property
    def proved(self) -> bool:
        """Whether it is proved to hold a breakpoint."""
        return self.step is not None

    @property
    def relative_width(self) -> float:
        """(upper - lower) / upper."""
        return (self.upper - self.lower) / self.upper


@dataclass(frozen=True)
class Unexplored:
    """The scales from `lower` to `upper`, whose outputs the budget left out."""

    lower: float
    upper: float


class Level(NamedTuple):
    """Progress: a step, from 0, is done; `states` canvases of it were evaluated, `forwards` in all so far."""

    step: int
    states: int
    intervals: int
    forwards: int


@dataclass(frozen=True)
class ScalePath:
    """Every answer over a range of scales, with proof.

    Attributes
    ----------
    over : what the scale is, "temperature" (the constant factor c) or "reward-scale" (s_R).
    c_min, c_max : the range asked for.
    pieces : rising and disjoint. Neighbours differ in their tokens or commit steps; those that differ in commit steps
        alone stay apart.
    unexplored : intervals that the budget left out, rising and disjoint; empty without a budget. Pieces and unexplored
        intervals together cover [c_min, c_max], each beginning where the one before ends. The end that two share is
        an estimate inside an enclosure of `breakpoints`; outside all enclosures, what a piece says is proved. (Should
        nothing at all be proved, there is no piece, and one enclosure is the whole range.)
    breakpoints : enclosures, rising and disjoint, of every scale at which the commits change, some inside `unexplored`.
    certified : nothing is unexplored, and every enclosure holds a proved breakpoint and has a relative width of 1e-12
        or less.
    states : different canvases that were met with masks left; those not left out by the budget are evaluated once.
    forwards, batches : canvases evaluated, and the batched forwards that they took.
    grid_forwards : forwards that decoding at a grid of as many scales as there are pieces would take.
    reward_calls : texts scored: each once, and none for a state that commits whatever the scale.
    near_tokens : masked positions, over the states, whose candidate leads the runner-up by no more than rounding may
        change (`rounding.logit_error`), where they are committed or the completion is scored: on another device, or in
        batches of another size, these may take another token. `certified` is about the logits that were computed.
    """

    over: Over
    c_min: float
    c_max: float
    pieces: tuple[ScalePiece, ...]
    unexplored: tuple[Unexplored, ...]
    breakpoints: tuple[Breakpoint, ...]
    certified: bool
    states: int
    forwards: int
    batches: int
    grid_forwards: int
    reward_calls: int
    near_tokens: int

    def at(self, scale: float) -> ScalePiece | None:
        """Return the piece that holds a scale, None where it is unexplored; ValueError outside the range.

        Inside an enclosure of `breakpoints` the answer is an estimate.
        """
        if not self.c_min <= scale <= self.c_max:
            raise ValueError(f"scale is {scale}: the path covers {self.c_min} to {self.c_max}")
        return next((piece for piece in self.pieces if piece.lower <= scale <= piece.upper), None)


def scale_path(
    predictor: MaskPredictor,
    prompt: str | Dialogue | Sequence[int],
    c_min: float,
    c_max: float,
    shape: Shape = _SHAPE,
    *,
    over: Over = "temperature",
    reward: RewardModel | None = None,
    eps: float = 1e-5,
    options: Options = _OPTIONS,
    budget: int | None = None,
    batch: int = 16,
    progress: Callable[[Level], None] | None = None,
) -> ScalePath:
    r"""Return every answer that greedy decoding gives at any scale in [c_min, c_max], and where on the axis it does.

    over="temperature": the scale is the constant factor c of all logits (`factors.Temperature`). over="reward-scale":
    it is s_R of Reward-Weighted Sampling (`factors.RWS`, Step 3 of the paper), with its reward model; a state fixes
    the greedy completion, hence the normalised reward r, so that the factor is s_R times the known gain
    g(r) = sqrt(sigmoid(r) + eps), and lies in [s_R sqrt(eps), s_R sqrt(1 + eps)]. Both axes are the range that is
    given, nothing beyond it.

    Level by level, as `decode` goes step by step: a state is a canvas with masks, together with the intervals of scales
    that lead to it, of whatever commit history. Its logits do not depend on the scale and are computed once, for up to
    `batch` states in one forward. The positions that are committed are a piecewise-constant function of the factor,
    which :func:`rws_theory.selection.selection_path` cuts into proved pieces; each leads to a state of the next level.
    What is not proved (an enclosure of a breakpoint, relatively narrower than 1e-12 where it is certified) is not
    followed; breakpoints in s_R are those in c divided by g, rounded outward.

    Guaranteed: at a scale outside `breakpoints` and `unexplored`, decoding gives exactly the tokens and commit steps of
    the piece that holds it: both rank positions by their exact confidence, exact ties leftmost. (An RWS factor is a
    rounded product: within a relative distance of about 1e-15 of a breakpoint in s_R it may be on the other side.) All
    is about the logits and rewards as they are computed; a model whose numbers depend on the batch may give others in a
    batch of one (`near_tokens`).

    budget: at most so many canvases are evaluated, at least `steps`. Each level keeps as many states as its equal share
    of what is left allows, those of the widest intervals in log scale; the others become `unexplored`. Whatever is
    explored is as without a budget.

    prompt, shape: as in `decode`, gaps too; options: cfg, end_of_text and end_ids; nothing is sampled. progress: called
    after each level. Memory: the logits of two batches, those of one canvas in float64, and one level's tokens and
    commit steps.

    ValueError names the argument that is wrong, or the model whose output is not finite.

    >>> import torch
    >>> from rws_decode.predictors import CallablePredictor
    >>> table = torch.tensor([[0.0, 1.1, 0.6, 0.3], [0.0, 1.0, 0.4, 0.4]], dtype=torch.float64)
    >>> predictor = CallablePredictor(lambda canvas: table.expand(len(canvas), -1, -1), mask_id=0)
    >>> path = scale_path(predictor, [], 0.01, 32.0, Shape(length=2, steps=2, block=2))
    >>> [(round(piece.lower, 4), round(piece.upper, 4), piece.commit_step) for piece in path.pieces], path.certified
    ([(0.01, 4.8121, (0, 1)), (4.8121, 32.0, (1, 0))], True)
    >>> path.states, path.grid_forwards  # Appendix D's pair: three canvases tell what happens at every factor
    (3, 4)
    """
    length, steps = shape.length, shape.steps
    _check(c_min, c_max, over, budget, batch, steps)
    options.only("the scale path", "cfg", "end_of_text", "end_ids")
    rule = RWS(1.0, eps)
    encoded = encode_prompts(predictor, [prompt], length)
    end_ids = end_tokens(predictor, options.end_of_text, options.end_ids)
    # A session's cache would make scores depend, by rounding, on the texts before them.
    scorer = scorer_for(predictor, rule, reward, encoded, cache=False) if over == "reward-scale" else None
    run = Forwards(predictor, encoded[0].ids, length, batch, options, end_ids, scorer, rule)
    low, high = float(c_min), float(c_max)

    met, outcomes = 0, list[Left]()
    states = {(predictor.mask_id,) * length: [Span(low, high, (-1,) * length)]}
    for step, planned in enumerate(shape.plan):
        met += len(states)
        if budget is not None:
            states, dropped = widest(states, (budget - run.forwards) // (steps - step))
            outcomes += [Left(span, step, None) for span in dropped]
        children: dict[tuple[int, ...], list[Span]] = {}
        for answer, view in run.evaluate(list(states), planned):
            for child, span in run.follow(answer, states[answer], view, step):
                children.setdefault(child, []).append(span)
        if progress is not None:
            progress(Level(step, len(states), sum(map(len, states.values())), run.forwards))
        states = children
    outcomes += [Left(span, steps, answer) for answer, spans in states.items() for span in spans]

    parts, gaps = assemble(outcomes, low, high)
    pieces = tuple(
        ScalePiece(begin, end, left.answer, predictor.decode_answer(list(left.answer)), left.span.commit_step)
        for begin, end, left in parts
        if left.answer is not None
    )
    unexplored = tuple(Unexplored(begin, end) for begin, end, left in parts if left.answer is None)
    breakpoints = tuple(Breakpoint(*gap) for gap in gaps)
    return ScalePath(
        over=over,
        c_min=low,
        c_max=high,
        pieces=pieces,
        unexplored=unexplored,
        breakpoints=breakpoints,
        certified=not unexplored and all(point.proved and point.relative_width <= _WIDTH for point in breakpoints),
        states=met,
        forwards=run.forwards,
        batches=run.batches,
        grid_forwards=len(pieces) * steps,
        reward_calls=run.reward_calls,
        near_tokens=run.near_tokens,
    )


def _check(c_min: float, c_max: float, over: str, budget: int | None, batch: int, steps: int) -> None:
    if not 0 < c_min <= c_max < math.inf:
        raise ValueError(f"c_min and c_max are {c_min} and {c_max}: 0 < c_min <= c_max < inf is needed")
    if over not in get_args(Over):
        raise ValueError(f"over is {over!r}: it must be one of {', '.join(get_args(Over))}")
    if budget is not None and (isinstance(budget, bool) or not isinstance(budget, int) or budget < steps):
        raise ValueError(f"budget is {budget!r}: a whole number of forwards, at least steps, {steps}, is needed")
    if isinstance(batch, bool) or not isinstance(batch, int) or batch < 1:
        raise ValueError(f"batch is {batch!r}: a whole number of canvases, at least 1, is needed")
