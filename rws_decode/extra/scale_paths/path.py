"""The complete scale path: every output that any fixed factor, or any reward scale, in an interval produces."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, NamedTuple, get_args

import torch

from rws_decode.canvas.end_of_text import PUBLISHED
from rws_decode.canvas.layout import lay_out
from rws_decode.common.arguments import is_id
from rws_decode.common.page import Page
from rws_decode.common.threads import torch_threads
from rws_decode.extra.scale_paths.states import Forwards, Span, SpanEnd, widest
from rws_decode.final_text import FinalReward, outcomes
from rws_decode.job import Job, prepare
from rws_decode.predictors.base import MaskPredictor, pieces_of
from rws_decode.rewards.base import RewardModel
from rws_decode.rewards.callable import normalised_reward
from rws_decode.settings import Options, Shape
from rws_decode.step.cached_reward import Scorer
from rws_decode.step.completion import TokenSampler
from rws_decode.step.step import Decoder
from rws_decode.strategies.counted import Threshold
from rws_decode.strategies.factors import RWS, Confidence
from rws_decode.text.dialogue import Dialogue
from rws_theory.checks import one_of, whole
from rws_theory.orders.deviation import generation_order_deviation
from rws_theory.show import figures, quoted, shortened

Over = Literal["temperature", "reward-scale"]

_WIDTH = 1e-12
_SHAPE, _OPTIONS = Shape(), Options()


@dataclass(frozen=True)
class ScalePiece:
    """The answer at the scales from `lower` to `upper`: token ids, their text (None without a tokenizer), and the step
    at which each was committed.

    final_reward, log_prob, rules_broken: of the text, as in `trace.trace.Trace`.
    """

    lower: float
    upper: float
    tokens: tuple[int, ...]
    text: str | None
    commit_step: tuple[int, ...]
    final_reward: FinalReward | None = None
    log_prob: float | None = None
    rules_broken: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        text = shortened(self.tokens) if self.text is None else quoted(self.text, 72)
        return f"ScalePiece({figures(self.lower)} to {figures(self.upper)}: {text})"

    @property
    def god_steps(self) -> float:
        """Generation Order Deviation of the commits, in steps."""
        return float(generation_order_deviation(self.commit_step, "steps"))


@dataclass(frozen=True)
class Breakpoint:
    """An interval of scales, [lower, upper], inside which nothing is proved.

    step: the first step at which the commits on both sides differ, so that the interval holds a breakpoint. None if
    that is not proved: the interval reaches an end of the range, or the commits are the same on both sides.
    """

    lower: float
    upper: float
    step: int | None

    @property
    def proved(self) -> bool:
        """Whether the interval is proved to hold a breakpoint."""
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


@dataclass(frozen=True, repr=False)
class ScalePath:
    """Every answer over a range of scales, with proof.

    Attributes
    ----------
    over : what the scale is, "temperature" (the fixed factor c) or "reward-scale" (s_R).
    scale_min, scale_max : the range asked for.
    pieces : rising and disjoint. Neighbours differ in their tokens or commit steps; those that differ in commit steps
        alone stay apart.
    unexplored : intervals that the budget left out, rising and disjoint; empty without a budget. Pieces and unexplored
        intervals together cover the range, each beginning where the one before ends. The end that two share is
        an estimate inside an interval of `breakpoints`; outside these intervals, what a piece says is proved. (Should
        nothing at all be proved, there is no piece, and one interval of `breakpoints` is the whole range.)
    breakpoints : intervals, rising and disjoint, of every scale at which the commits change, some inside `unexplored`.
    certified : nothing is unexplored, and every interval of `breakpoints` holds a proved breakpoint and has a relative
        width of 1e-12 or less.
    states : different canvases with masks; each is evaluated once, unless the budget leaves it out.
    forwards, batches : canvases evaluated, and the batched forwards that they took.
    grid_forwards : forwards that decoding at a grid of as many scales as there are pieces would take.
    reward_calls : texts scored: each once, and none for a state that commits whatever the scale.
    near_tokens : near-ties of candidates over the states (`rounding.logit_error`), where they are committed or the
        completion is scored. On another device, or in batches of another size, these may take another token.
        `certified` is about the logits that were computed.
    prompt_text : the prompt, None without a tokenizer.
    spelling : the text of each token by itself, by its id in decimal.
    threshold : the probability from which positions were committed, None if as many as the schedule says.
    """

    over: Over
    scale_min: float
    scale_max: float
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
    prompt_text: str | None = None
    spelling: dict[str, str] = field(default_factory=dict)
    threshold: float | None = None

    def __repr__(self) -> str:
        size = f"{len(self.answers)} answers in {len(self.pieces)} pieces"
        rest = f", {len(self.unexplored)} intervals unexplored" if self.unexplored else ""
        proof = "certified" if self.certified else "not certified"
        low, high = f"{self.scale_min:g}", f"{self.scale_max:g}"
        rule = "" if self.threshold is None else f" at threshold {self.threshold:g}"
        return f"ScalePath({self.over} from {low} to {high}{rule}: {size}{rest}, {proof}, {self.forwards} forwards)"

    def _repr_html_(self) -> str:
        from rws_decode.extra.scale_paths.page import table_of

        return table_of(self)

    @property
    def answers(self) -> dict[tuple[int, ...], list[ScalePiece]]:
        """Return the different answers by their tokens, each with its pieces, in the order of the axis."""
        answers: dict[tuple[int, ...], list[ScalePiece]] = {}
        for piece in self.pieces:
            answers.setdefault(piece.tokens, []).append(piece)
        return answers

    def view(self, grid: Sequence[float] | None = None) -> Page:
        """Return an interactive page of the path, which a notebook shows by itself and `save` writes to a file.

        grid: scales that are marked, by default the paper's (`page.scale_path_page`).
        """
        from rws_decode.extra.scale_paths.page import scale_path_page

        return scale_path_page(self, grid)

    def at(self, scale: float) -> ScalePiece | None:
        """Return the piece that holds a scale, None where it is unexplored; ValueError outside the range.

        Inside an interval of `breakpoints` the answer is an estimate.
        """
        if not self.scale_min <= scale <= self.scale_max:
            raise ValueError(f"scale is {scale}: the path covers {self.scale_min} to {self.scale_max}")
        return next((piece for piece in self.pieces if piece.lower <= scale <= piece.upper), None)


def scale_path(
    predictor: MaskPredictor,
    prompt: str | Dialogue | Sequence[int],
    scale_min: float,
    scale_max: float,
    shape: Shape = _SHAPE,
    *,
    over: Over = "temperature",
    threshold: float | None = None,
    reward: RewardModel | Callable[..., float] | None = None,
    eps: float = 1e-5,
    options: Options = _OPTIONS,
    budget: int | None = None,
    batch: int = 16,
    progress: Callable[[Level], None] | None = None,
) -> ScalePath:
    r"""Return every answer that greedy decoding gives at any scale of a range, and where on the axis it does.

    over="temperature": the scale is the fixed factor c of all logits (`factors.Temperature`). over="reward-scale":
    it is s_R of Reward-Weighted Sampling (`factors.RWS`), with its reward model. A state fixes the greedy completion,
    hence the normalised reward r, so that the factor is s_R times the known gain g(r) = sqrt(sigmoid(r) + eps).

    A state is a canvas with masks, and the intervals of scales that lead to it. Its logits do not depend on the scale
    and are computed once, for up to `batch` states in one forward. :func:`rws_theory.selection.selection_path` cuts its
    intervals into proved pieces, each with one choice of positions. What is not proved is not followed.

    Guaranteed: at a scale outside `breakpoints` and `unexplored`, decoding gives exactly the tokens and commit steps of
    the piece that holds it: both rank positions by their exact confidence, exact ties leftmost. (An RWS factor is a
    rounded product: within a relative distance of about 1e-15 of a breakpoint in s_R it may be on the other side.) All
    is about the logits and rewards as they are computed. In batches of one they may round otherwise (`near_tokens`).

    threshold: the probability from which positions are committed, as `counted.Threshold` counts them, scaled by the
    axis; None commits as the schedule says.

    budget: the most canvases to evaluate, at least `steps`. Each step evaluates its equal share of the rest: the states
    of the widest intervals in log scale. The others become `unexplored`; what is explored is as without a budget.

    prompt, shape: as in `decode`, gaps too; reward: as in `decode`, asked for over="reward-scale"; over="temperature",
    it scores the answers alone. options: cfg, end_of_text and end_ids; nothing is sampled. progress: called after each
    level. ValueError names the argument that is wrong, or the model whose output is not finite.

    >>> import torch
    >>> from rws_decode.predictors import CallablePredictor
    >>> table = torch.tensor([[0.0, 1.1, 0.6, 0.3], [0.0, 1.0, 0.4, 0.4]], dtype=torch.float64)
    >>> predictor = CallablePredictor(lambda canvas: table.expand(len(canvas), -1, -1), mask_id=0)
    >>> path = scale_path(predictor, [], 0.01, 32.0, Shape(length=2, steps=2, block=2))
    >>> [(round(piece.lower, 4), round(piece.upper, 4), piece.commit_step) for piece in path.pieces], path.certified
    ([(0.01, 4.8121, (0, 1)), (4.8121, 32.0, (1, 0))], True)
    >>> path.states, path.grid_forwards  # Appendix D's pair: three canvases give the answer at every factor
    (3, 4)
    """
    options.only("the scale path", "cfg", "end_of_text", "end_ids")
    if options.end_of_text == PUBLISHED:
        raise ValueError(f"end_of_text is {PUBLISHED!r}: the scale path knows none, suppress and defer")
    if threshold is not None and options.end_of_text == "defer":
        raise ValueError("end_of_text is 'defer': the scale path at a threshold knows none and suppress alone")
    rule = RWS(1.0, eps)
    if over == "reward-scale":
        normalised_reward(reward, "a reward scale", predictor.name)
    scaled = rule if over == "reward-scale" else Confidence()
    strategy = scaled if threshold is None else Threshold(threshold, scaled=scaled)
    job = prepare(predictor, [prompt], strategy, shape, reward, options)
    length, steps = job.shape.length, job.shape.steps
    if not 0 < scale_min <= scale_max < math.inf:
        range_ = f"scale_min and scale_max are {scale_min} and {scale_max}"
        raise ValueError(f"{range_}: 0 < scale_min <= scale_max < inf is needed")
    one_of("over", over, get_args(Over))
    if budget is not None and (not is_id(budget) or budget < steps):
        raise ValueError(f"budget is {budget!r:.80}: a whole number of forwards, at least steps, {steps}, is needed")
    whole("batch", batch)
    # A session's cache would make scores depend, by rounding, on the texts before them.
    scorer = None if job.asked is None else Scorer(predictor, job.asked, job.prompts, cache=False)
    sampler = TokenSampler(0.0, 0, batch)
    decoder = Decoder(predictor, strategy, job.shape.plan, options, job.ends, sampler, scorer, batch)
    run = Forwards(decoder, lay_out(predictor, [job.prompts[0].ids], length), rule, threshold)
    low, high = float(scale_min), float(scale_max)

    met, ends = 0, list[SpanEnd]()
    states = {(predictor.mask_id,) * length: [Span(low, high, (-1,) * length)]}
    for step in range(steps):
        met += len(states)
        if budget is not None:
            states, dropped = widest(states, (budget - run.forwards) // (steps - step))
            ends += [SpanEnd(span, step, None) for span in dropped]
        children: dict[tuple[int, ...], list[Span]] = {}
        for answer, view in run.evaluate(list(states), step):
            for child, span in run.follow(answer, states[answer], view, step):
                children.setdefault(child, []).append(span)
        if progress is not None:
            progress(Level(step, len(states), sum(map(len, states.values())), run.forwards))
        done = {answer for answer in children if predictor.mask_id not in answer}
        ends += [SpanEnd(span, step + 1, answer) for answer in children if answer in done for span in children[answer]]
        states = {answer: spans for answer, spans in children.items() if answer not in done}

    parts, breakpoints = _assembled(ends, low, high)
    answers = {span_end.answer for _, _, span_end in parts if span_end.answer is not None}
    read = {*job.prompts[0].ids, *(token for answer in answers for token in answer)}
    measures = _ends(job, sorted(answers), scorer)
    pieces = tuple(
        ScalePiece(begin, end, span_end.answer, commit_step=span_end.span.commit_step, **measures[span_end.answer])
        for begin, end, span_end in parts
        if span_end.answer is not None
    )
    unexplored = tuple(Unexplored(begin, end) for begin, end, span_end in parts if span_end.answer is None)
    return ScalePath(
        over=over,
        scale_min=low,
        scale_max=high,
        pieces=pieces,
        unexplored=unexplored,
        breakpoints=breakpoints,
        certified=not unexplored and all(point.proved and point.relative_width <= _WIDTH for point in breakpoints),
        states=met,
        forwards=run.forwards,
        batches=run.batches,
        grid_forwards=sum(max(piece.commit_step) + 1 for piece in pieces),
        reward_calls=len(run.gains),
        near_tokens=run.near_tokens,
        prompt_text=job.prompts[0].text,
        threshold=threshold,
        spelling=pieces_of(predictor, sorted(read)),
    )


def _ends(job: Job, answers: Sequence[tuple[int, ...]], scorer: Scorer | None) -> dict[tuple[int, ...], dict[str, Any]]:
    """Return text, reward, log-probability and broken rules of each answer; new texts are scored in one batch."""
    numbered = {number: list(answer) for number, answer in enumerate(answers)}
    rewards = {} if scorer is None else {number: scorer.recall(0, answer) for number, answer in numbered.items()}
    with torch_threads(), torch.inference_mode():
        ends = outcomes(job.predictor, job.reward, job.prompts * len(answers), numbered, rewards)
    fields: dict[tuple[int, ...], dict[str, Any]] = {}
    for number, answer in enumerate(answers):
        end = ends[number]
        scored, broken = end["final_reward"], end["rules_broken"]
        fields[answer] = {
            "text": job.predictor.decode_answer(list(answer)),
            "final_reward": None if scored is None else FinalReward(scored["raw"], scored["normalised"]),
            "log_prob": end["log_prob"],
            "rules_broken": None if broken is None else tuple(broken),
        }
    return fields


def _assembled(
    spans: Iterable[SpanEnd], low: float, high: float
) -> tuple[list[tuple[float, float, SpanEnd]], tuple[Breakpoint, ...]]:
    """Return the parts that cover [low, high] and the gaps, both rising, from proved spans, which are disjoint.

    A gap lies between two spans, or between a span and an end of the range. A part reaches to the middle of the gap
    beside it, or to the end of the range. Neighbours of the same outcome are one part.
    """
    rising = sorted(spans, key=lambda outcome: outcome.span.lower)
    if not rising:
        return [], (Breakpoint(low, high, None),)
    gaps = [Breakpoint(low, rising[0].span.lower, None)] if rising[0].span.lower > low else []
    ends = [low]
    for first, second in pairwise(rising):
        lower, upper = first.span.upper, second.span.lower
        gaps.append(Breakpoint(lower, upper, _divergence(first, second)))
        ends.append(lower + (upper - lower) / 2)
    if rising[-1].span.upper < high:
        gaps.append(Breakpoint(rising[-1].span.upper, high, None))
    ends.append(high)

    parts: list[tuple[float, float, SpanEnd]] = []
    for outcome, (begin, end) in zip(rising, pairwise(ends), strict=True):
        last = parts[-1][2] if parts else None
        steps = outcome.span.commit_step
        if last and last.answer == outcome.answer and (last.answer is None or last.span.commit_step == steps):
            begin = parts.pop()[0]
        parts.append((begin, end, outcome))
    return parts, tuple(gaps)


def _divergence(first: SpanEnd, second: SpanEnd) -> int | None:
    """Return the first step, of those that both ran, at which they committed different positions; else None."""
    common = min(first.steps, second.steps)
    differing = [
        min(step for step in pair if step >= 0)
        for pair in zip(first.span.commit_step, second.span.commit_step, strict=True)
        if pair[0] != pair[1]
    ]
    step = min(differing, default=common)
    return step if step < common else None
