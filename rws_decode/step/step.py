"""One step of reward-weighted sampling, as the paper's algorithm reads: complete, score, scale, commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rws_decode.canvas.end_of_text import Ends
from rws_decode.canvas.layout import Canvas, lay_out
from rws_decode.canvas.schedule import PlannedStep, current_block
from rws_decode.predictors.base import MaskPredictor, block_of, forbidden_ids, logits_reader
from rws_decode.settings import Options
from rws_decode.step.cached_reward import Rewards, Scorer, score_rows
from rws_decode.step.completion import (
    At,
    Candidates,
    Choice,
    Completion,
    MaskedLogits,
    Scheduled,
    TokenSampler,
    masked_logits,
    places_of,
)
from rws_decode.step.select import cut, rank
from rws_decode.strategies.protocol import (
    MaskedPositions,
    Strategy,
    abilities_of,
    asks_reward,
    checked_factors,
    gives_order,
    order_of,
)
from rws_decode.trace.data import NOT_NEEDED


class State(NamedTuple):
    """A batch of b rows between two steps.

    step: how many steps are done; canvas: prompts and answers as they are; masked: bool [b, n], the answers' positions
    that hold no token yet; rows: int64 [b], the number of each row's prompt in the decode; beside: what layers around
    the step keep from one step to the next, each by its own name; the step hands it on.
    """

    step: int
    canvas: Canvas
    masked: Tensor
    rows: Tensor
    beside: Mapping[str, Any] = MappingProxyType({})

    def of(self, rows: Tensor) -> State:
        """Return the state of those rows alone. rows: bool [b]."""
        return self if bool(rows.all()) else self.at(rows)

    def at(self, rows: Tensor) -> State:
        """Return the state of some rows, bool [b], or int64 in any order, also one row several times."""
        extras = {name: kept.of(rows) for name, kept in self.beside.items()}
        canvas = self.canvas.of(rows)
        return self._replace(canvas=canvas, masked=self.masked[rows], rows=self.rows[rows], beside=extras)

    def filled(self, chosen: Tensor, tokens: Tensor) -> State:
        """Return the state with tokens, int64 [b, n], at the chosen of its masked positions, bool [b, n]."""
        ids, places = self.canvas.ids, self.canvas.answer
        ids = ids.scatter(1, places, torch.where(chosen, tokens, ids.gather(1, places)))
        return self._replace(canvas=self.canvas._replace(ids=ids), masked=self.masked & ~chosen)


class Done(NamedTuple):
    """What a step did to b rows, those of the prompts `rows`, int64 [b].

    dtype: of the logits. reward: None where it was not asked; factor: float64 [b]; choice: what it committed, and what
    a full record reads. The rest are what layers around the step did. masked_again, edited: bool [b, n], tokens that
    were masked again or replaced; near: int64 [b], how many of these rounding could add or take away; forwards: int64
    [b], of each row; computed_columns: int64 [b], 0 for the whole canvas; calls: of the batch.
    """

    step: int
    rows: Tensor
    dtype: torch.dtype
    reward: Rewards | None
    factor: Tensor
    choice: Any
    masked_again: Tensor
    edited: Tensor
    near: Tensor
    forwards: Tensor
    computed_columns: Tensor
    calls: int = 1

    @property
    def known_factor(self) -> Tensor:
        """Return the factors, NaN where no reward was needed: any leads to the same choice."""
        if self.reward is None:
            return self.factor
        return self.factor.masked_fill((self.reward.use == NOT_NEEDED).to(self.factor.device), torch.nan)

    @classmethod
    def of(cls, state: State, dtype: torch.dtype, reward: Rewards | None, factor: Tensor, choice: Any) -> Done:
        """Return what a plain step did: one forward, and nothing besides."""
        nowhere, none = torch.zeros_like(state.masked), torch.zeros_like(state.rows)
        return cls(state.step, state.rows, dtype, reward, factor, choice, nowhere, nowhere, none, none + 1, none)


Observer = Callable[[State, Done], bool | None]
"""Sees each step of a batch, and the state after it; what is true ends the batch there."""


def run(decoder: Decoder, state: State, observers: Sequence[Observer] = (), steps: int | None = None) -> State:
    """Take step after step until the plan is done, no row is left, or an observer ends it; return the last state.

    The only loop: it decodes, reveals given answers, carries copies on and drives a GPU. What is kept of a step is its
    observers' affair. steps: at most so many.
    """
    last = len(decoder.plan) if steps is None else state.step + steps
    while state.step < last and len(state.rows):
        state, done = decoder.step(decoder, state)
        if any([observe(state, done) for observe in observers]):
            break
        del done  # its logits, before the next step's are made
        state = decoder.going(decoder, state)
    return state


def plain_step(decoder: Decoder, state: State) -> tuple[State, Done]:
    """Run one step on all rows: the four steps of the paper's algorithm."""
    # Step 1: one forward over the whole canvas; complete every masked position.
    completion = decoder.complete(decoder, state, decoder.forward(decoder, state))
    # Step 2: the reward r of prompt and completed answer, normalised; None where the strategy does not ask.
    reward = decoder.score(decoder, completion)
    # Step 3: the factor of all logits of a row; RWS: s_R sqrt(sigmoid(r) + eps).
    completion = completion if reward is None else rewarded(completion, reward.assumed)
    factor = torch.from_numpy(checked_factors(decoder.strategy, completion.view, state.rows.tolist()))
    # Step 4: scale, rank the block's positions by confidence, commit the first k.
    choice = decoder.select(decoder, completion, factor)
    after = state.filled(choice.chosen, choice.completion.tokens)._replace(step=state.step + 1)
    return after, Done.of(state, completion.view.logits.dtype, reward, factor, choice)


def forward(decoder: Decoder, state: State) -> MaskedLogits:
    """Return the logits of all masked positions, by one forward of the predictor.

    Those of the current block alone where the predictor fills block after block: the later ones are not begun.
    """
    masked = state.masked if decoder.whole else in_block(state, decoder.plan)
    return masked_logits(
        decoder.predictor,
        state.canvas,
        masked,
        cfg=decoder.options.cfg,
        suppressed=decoder.ends.suppressed,
        published=decoder.options.ranking == "topk",
        at=decoder.at,
        forbidden=decoder.forbidden,
    )


def complete(decoder: Decoder, state: State, masks: MaskedLogits) -> Completion:
    """Give every masked position its best token, or the one that the sampler returns."""
    everyone, masked, ends = len(state.rows) == decoder.count, state.masked, decoder.ends
    token, lead = drawn(decoder, state.step, masks.row if everyone else state.rows[masks.row], masks.logits)
    before, block = state.canvas.ids.gather(1, state.canvas.answer), in_block(state, decoder.plan)
    tokens = before.index_put((masks.row, masks.position), token)
    inside = places_of(block[masks.row, masks.position])
    own, candidate = (masks, token) if inside is None else (masks.at(inside), token[inside])
    ranked = ends.ranked(own.logits, candidate)
    if not everyone:
        masked = masked.new_zeros(decoder.count, masked.shape[1]).index_put((state.rows,), masked)
    deferred, commits = block & ends.waits(tokens) if ends.defers else None, decoder.plan[state.step].commits
    waits = torch.zeros_like(candidate, dtype=torch.bool) if deferred is None else deferred[own.row, own.position]
    number, n = own.row if everyone else state.rows[own.row], block.shape[1]
    view = MaskedPositions(state.step, decoder.count, n, number, own.position, ranked, candidate, masked=masked)
    view, k = view._replace(commits=commits, waits=waits), Scheduled(commits)
    published = ranked if own.published is own.logits else ends.ranked(own.published, candidate)
    stood = (state.rows, tokens, before, state.canvas, state.masked)
    return Completion(*stood, block, deferred, masks, lead, view, own.row, published, k)


def drawn(decoder: Decoder, step: int, row: Tensor, logits: Tensor) -> Candidates:
    """Return the best token of each position, or the sampled one. row: int64 [N], rising, of the prompts."""
    candidates = decoder.sampler.draw(logits, row)
    if not bool(logits.gather(1, candidates.token[:, None]).isfinite().all()):
        raise ValueError(f"predictor {decoder.predictor.name} gives no finite largest logit at step {step}")
    return candidates


def score(decoder: Decoder, completion: Completion) -> Rewards | None:
    """Return the rewards of the completed answers, None where the strategy does not ask at this step."""
    if decoder.scorer is None or not decoder.asks(completion.view.step):
        return None
    everyone = torch.ones_like(completion.rows, dtype=torch.bool)
    return score_rows(decoder.scorer, completion.rows, completion.tokens, everyone)


def rewarded(completion: Completion, reward: Tensor) -> Completion:
    """Return the completion, its view with the normalised rewards of its rows, float64 [b]."""
    by_prompt = torch.zeros(completion.view.rows, dtype=torch.float64)
    by_prompt[completion.rows.cpu()] = reward
    view = completion.view._replace(reward=by_prompt.numpy())
    return completion._replace(view=view, commits=completion.commits.seeing(view))


def select(decoder: Decoder, completion: Completion, factor: Tensor) -> Choice:
    """Choose the positions that go first, by confidence or the strategy's own order. factor: float64 [b]."""
    scale, strategy = factor.to(completion.published.device)[completion.row], decoder.strategy
    ranked = rank(completion, scale, decoder.options, decoder.ends)
    value, sensitivity = ranked.value, None
    if gives_order(strategy):
        value = order_of(strategy, completion.view._replace(scale=scale, log_odds=ranked.log_odds))
        sensitivity = abilities_of(strategy).sensitivity
    chosen, ties = cut(completion, ranked, value, decoder.options, decoder.ends)
    return Choice(completion, scale, ranked, value, chosen, ties, sensitivity)


def unchanged(decoder: Decoder, state: State) -> State:
    """Return the state as it is: on a schedule all rows end with the plan."""
    return state


@dataclass(frozen=True, eq=False)
class Decoder:
    """All that the steps of a decode share; `count`: how many prompts there are in all.

    forward, complete, score and select are the step's work. A saving wraps one of them (`savings.saving`), a layer the
    whole `step` (`layers.layered`); the plain step knows neither. going: returns the rows that take another step.
    memory: bytes of the logits of hypotheses. at, whole, forbidden: how the predictor gives logits at places, whether
    it fills its canvas as a whole, and what is never committed; found out once.
    """

    predictor: MaskPredictor
    strategy: Strategy
    plan: Sequence[PlannedStep]
    options: Options
    ends: Ends
    sampler: TokenSampler
    scorer: Scorer | None
    count: int
    forward: Callable[[Decoder, State], MaskedLogits] = forward
    complete: Callable[[Decoder, State, MaskedLogits], Completion] = complete
    score: Callable[[Decoder, Completion], Rewards | None] = score
    select: Callable[[Decoder, Completion, Tensor], Choice] = select
    step: Step = plain_step
    going: Callable[[Decoder, State], State] = unchanged
    memory: int = 2**30
    at: At | None = None
    whole: bool | None = None
    forbidden: Sequence[int] | None = None

    def __post_init__(self) -> None:
        if self.at is None:
            found = {"at": logits_reader(self.predictor), "whole": block_of(self.predictor) is None}
            for name, value in (found | {"forbidden": forbidden_ids(self.predictor)}).items():
                object.__setattr__(self, name, value)

    def init(self, rows: Sequence[int], prompts: Sequence[Sequence[int]]) -> State:
        """Return the first state: prompts, then masks. rows: the prompts' numbers, rising; prompts: their ids."""
        canvas = lay_out(self.predictor, prompts, self.plan[-1].stop, self.options.padding)
        masked = torch.ones_like(canvas.answer, dtype=torch.bool)
        return State(0, canvas, masked, torch.tensor(rows, device=canvas.ids.device))

    def asks(self, step: int) -> bool:
        """Return whether the reward is asked at a step."""
        return self.scorer is not None and asks_reward(self.strategy, step)


def in_block(state: State, plan: Sequence[PlannedStep]) -> Tensor:
    """Return the masked positions of each row's current block, the first with masks left, bool [b, n]."""
    return state.masked & current_block(state.masked, plan)


Step = Callable[[Decoder, State], tuple[State, Done]]  # of all rows: the plain one, or one in layers
