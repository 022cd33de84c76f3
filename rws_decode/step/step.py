"""One step of reward-weighted sampling, as the paper's algorithm reads: complete, score, scale, commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rws_decode.canvas.batches import current_block
from rws_decode.canvas.end_of_text import Ends
from rws_decode.canvas.layout import Canvas, lay_out
from rws_decode.canvas.schedule import PlannedStep
from rws_decode.predictors.base import MaskPredictor, block_of
from rws_decode.settings import Options
from rws_decode.step.cached_reward import Rewards, Scorer, score_rows
from rws_decode.step.completion import Candidates, Choice, Completion, Done, Scheduled, TokenSampler
from rws_decode.step.diagnose import diagnose
from rws_decode.step.forward import MaskedLogits, masked_logits
from rws_decode.step.select import cut, rank
from rws_decode.strategies.protocol import MaskedPositions, OrderStrategy, Strategy, asks_reward, factors_of, order_of
from rws_decode.trace.record import Info


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
        beside = {name: kept.of(rows) for name, kept in self.beside.items()}
        canvas = self.canvas.of(rows)
        return self._replace(canvas=canvas, masked=self.masked[rows], rows=self.rows[rows], beside=beside)

    def filled(self, chosen: Tensor, tokens: Tensor) -> State:
        """Return the state with tokens, int64 [b, n], at the chosen of its masked positions, bool [b, n]."""
        ids, places = self.canvas.ids, self.canvas.answer
        ids = ids.scatter(1, places, torch.where(chosen, tokens, ids.gather(1, places)))
        return self._replace(canvas=self.canvas._replace(ids=ids), masked=self.masked & ~chosen)


def plain_step(decoder: Decoder, state: State) -> tuple[State, Done]:
    """Run one step on all rows: the four steps of the paper's algorithm."""
    # Step 1: one forward over the whole canvas; complete every masked position.
    completion = decoder.complete(decoder, state, decoder.forward(decoder, state))
    # Step 2: the reward r of prompt and completed answer, normalised; None where the strategy does not ask.
    reward = decoder.score(decoder, completion)
    # Step 3: the factor of all logits of a row; RWS: s_R sqrt(sigmoid(r) + eps).
    completion = completion if reward is None else rewarded(completion, reward.assumed)
    factor = torch.from_numpy(factors_of(decoder.strategy, completion.view)[state.rows.cpu().numpy()])
    # Step 4: scale, rank the block's positions by confidence, commit the first k.
    choice = decoder.select(decoder, completion, factor)
    after = state.filled(choice.chosen, choice.completion.tokens)._replace(step=state.step + 1)
    nowhere, none = torch.zeros_like(state.masked), torch.zeros_like(state.rows)
    return after, Done(reward, factor, choice, nowhere, nowhere, none, none + 1, none)


def forward(decoder: Decoder, state: State) -> MaskedLogits:
    """Return the logits of all masked positions, by one forward of the predictor.

    Those of the current block alone where the predictor fills block after block: the later ones are not begun.
    """
    return masked_logits(
        decoder.predictor,
        state.canvas,
        state.masked if decoder.whole else in_block(state, decoder.plan),
        cfg=decoder.options.cfg,
        suppressed=decoder.ends.suppressed,
        published=decoder.options.ranking == "topk",
    )


def complete(decoder: Decoder, state: State, seen: MaskedLogits) -> Completion:
    """Give every position of `seen` its best token, or the one that the sampler draws."""
    token, lead = drawn(decoder, state.step, state.rows[seen.row], seen.logits)
    before, nowhere = state.canvas.ids.gather(1, state.canvas.answer), torch.zeros_like(state.masked)
    at, block = (seen.row, seen.position), in_block(state, decoder.plan)
    tokens, inside = before.index_put(at, token), block[at]
    own, candidate = seen if bool(inside.all()) else seen.at(inside), token[inside]
    ranked = decoder.ends.ranked(own.logits, candidate)
    masked = torch.zeros(decoder.count, block.shape[1], dtype=torch.bool, device=block.device)
    masked[state.rows] = state.masked
    deferred, commits = block & decoder.ends.waits(tokens), decoder.plan[state.step].commits
    places = (state.rows[own.row], own.position)
    view = MaskedPositions(state.step, decoder.count, block.shape[1], *places, ranked, candidate, masked=masked)
    return Completion(
        rows=state.rows,
        tokens=tokens,
        before=before,
        columns=state.canvas.answer,
        width=state.canvas.ids.shape[1],
        computed=nowhere.index_put(at, torch.ones_like(inside)),
        unsure=nowhere.index_put(at, lead <= 2 * seen.error),
        block=block,
        deferred=deferred,
        view=view._replace(commits=commits, waits=deferred[own.row, own.position]),
        row=own.row,
        published=ranked if own.published is own.logits else decoder.ends.ranked(own.published, candidate),
        error=own.error,
        commits=Scheduled(commits),
    )


def drawn(decoder: Decoder, step: int, row: Tensor, logits: Tensor) -> Candidates:
    """Return the best token of each position, or one that the sampler draws. row: int64 [N], rising, of the prompts."""
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
    return completion._replace(view=completion.view._replace(reward=by_prompt.numpy()))


def select(decoder: Decoder, completion: Completion, factor: Tensor) -> Choice:
    """Choose the positions that go first, by confidence or the strategy's own order. factor: float64 [b]."""
    scale = factor.to(completion.published.device)[completion.row]
    ranked = rank(completion, scale, decoder.options, decoder.ends)
    value = ranked.value
    if decoder.order is not None:
        value = order_of(decoder.order, completion.view._replace(scale=scale, log_odds=ranked.log_odds))
    chosen, ties = cut(completion, ranked, value, decoder.options, decoder.ends)
    return Choice(completion, scale, ranked, value, chosen, ties)


@dataclass(frozen=True, eq=False)
class Decoder:
    """All that the steps of a decode share; `count`: how many prompts there are in all.

    forward, complete, score and select are the step's work. A saving wraps one of them (`savings.saving`), a layer the
    whole step, `run` (`layers.layered`); the plain step knows neither. memory: bytes of the logits of hypotheses.
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
    run: Run = plain_step
    memory: int = 2**30

    def init(self, rows: Sequence[int], prompts: Sequence[Sequence[int]]) -> State:
        """Return the first state: prompts, then masks. rows: the prompts' numbers, rising; prompts: their ids."""
        canvas = lay_out(self.predictor, prompts, self.plan[-1].stop, self.options.padding)
        masked = torch.ones_like(canvas.answer, dtype=torch.bool)
        return State(0, canvas, masked, torch.tensor(rows, device=canvas.ids.device))

    def step(self, state: State) -> tuple[State, Info]:
        """Run one step on all rows, and return what the trace keeps of it."""
        after, done = self.run(self, state)
        return after, diagnose(done, self.order, self.options, self.ends)

    @cached_property
    def order(self) -> OrderStrategy | None:
        """The strategy where it has an order of its own; asking a Protocol takes longer than a small tensor's sum."""
        return self.strategy if isinstance(self.strategy, OrderStrategy) else None

    @cached_property
    def whole(self) -> bool:
        """Whether the predictor fills its canvas as a whole, not block after block."""
        return block_of(self.predictor) is None

    def asks(self, step: int) -> bool:
        """Return whether the reward is asked at a step."""
        return self.scorer is not None and asks_reward(self.strategy, step)


def in_block(state: State, plan: Sequence[PlannedStep]) -> Tensor:
    """Return the masked positions of each row's current block, the first with masks left, bool [b, n]."""
    return state.masked & current_block(state.masked, plan)


Run = Callable[[Decoder, State], tuple[State, Done]]  # a step of all rows: the plain one, or one in layers
