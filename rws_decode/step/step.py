"""One step of reward-weighted sampling, as the paper's algorithm reads: complete, score, scale, commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from rws_decode.canvas.end_of_text import deferred_positions, ranked_logits
from rws_decode.canvas.layout import Canvas, lay_out
from rws_decode.canvas.schedule import PlannedStep
from rws_decode.predictors.base import MaskPredictor
from rws_decode.settings import Options
from rws_decode.step.cached_reward import Rewards, Scorer, score_rows
from rws_decode.step.candidate import TokenSampler
from rws_decode.step.counting import Count, Past, count_for, current_block, remembered
from rws_decode.step.cut_and_ties import Choice, commit
from rws_decode.step.forward import Completion, MaskedLogits, masked_logits
from rws_decode.step.hypotheses import Hypotheses
from rws_decode.step.revising import Held, Revision, observe, revise
from rws_decode.strategies.protocol import (
    LookingStrategy,
    MaskedPositions,
    OwnCount,
    Remembering,
    Strategy,
    asks_reward,
    factors_of,
)
from rws_decode.trace.record import NOT_NEEDED, Info


class State(NamedTuple):
    """A batch of b rows between two steps.

    step: how many steps are done; canvas: prompts and answers as they are; masked: bool [b, n], the answers' positions
    that hold no token yet; rows: int64 [b], the number of each row's prompt in the decode; past: the logits of
    the steps before, the last first, where the strategy compares steps; held: the commits, where it may undo them.
    """

    step: int
    canvas: Canvas
    masked: Tensor
    rows: Tensor
    past: tuple[Past, ...] = ()
    held: Held | None = None

    def of(self, rows: Tensor) -> State:
        """Return the state of those rows alone. rows: bool [b]."""
        return self if bool(rows.all()) else self.at(rows)

    def at(self, rows: Tensor) -> State:
        """Return the state of some rows, bool [b], or int64 in any order, also one row several times."""
        held = None if self.held is None else self.held.of(rows)
        return self._replace(canvas=self.canvas.of(rows), masked=self.masked[rows], rows=self.rows[rows], held=held)


def forward(decoder: Decoder, state: State) -> MaskedLogits:
    """Return the logits of all masked positions, by one forward of the predictor."""
    suppressed = decoder.end_ids if decoder.options.end_of_text == "suppress" else ()
    return masked_logits(
        decoder.predictor,
        state.canvas,
        state.masked,
        cfg=decoder.options.cfg,
        suppressed=suppressed,
        published=decoder.options.ranking == "topk",
    )


def score(decoder: Decoder, completion: Completion) -> Rewards | None:
    """Return the rewards of the completed answers, None where the strategy does not ask at this step."""
    if decoder.scorer is None or not decoder.asks(completion.view.step):
        return None
    everyone = torch.ones_like(completion.rows, dtype=torch.bool)
    return score_rows(decoder.scorer, completion.rows, completion.tokens, everyone)


@dataclass(frozen=True, eq=False)
class Decoder:
    """All that the steps of a decode share; `count`: how many prompts there are in all.

    end_ids: the tokens that `options.end_of_text` is about. forward and score are Step 1's and Step 2's work; a saving
    wraps one of them (`savings.saving`), the step stays the same. memory: bytes of the logits of hypotheses.
    """

    predictor: MaskPredictor
    strategy: Strategy
    plan: Sequence[PlannedStep]
    options: Options
    end_ids: Sequence[int]
    sampler: TokenSampler
    scorer: Scorer | None
    count: int
    forward: Callable[[Decoder, State], MaskedLogits] = forward
    score: Callable[[Decoder, Completion], Rewards | None] = score
    memory: int = 2**30

    def init(self, rows: Sequence[int], prompts: Sequence[Sequence[int]]) -> State:
        """Return the first state: prompts, then masks. rows: the prompts' numbers, rising; prompts: their ids."""
        canvas = lay_out(self.predictor, prompts, self.plan[-1].stop, self.options.padding)
        masked = torch.ones_like(canvas.answer, dtype=torch.bool)
        return State(0, canvas, masked, torch.tensor(rows, device=canvas.ids.device))

    def step(self, state: State) -> tuple[State, Info]:
        """Run one step on all rows: the four steps of the paper's algorithm."""
        # Step 1: one forward over the whole canvas; complete every masked position.
        seen, verified = observe(self, state)
        completion = complete(self, state, seen)
        # Step 2: the reward r of prompt and completed answer, normalised; None where the strategy does not ask.
        reward = self.score(self, completion)
        # Step 3: the factor of all logits of a row; RWS: s_R sqrt(sigmoid(r) + eps).
        view = completion.view._replace(reward=None if reward is None else self._by_prompt(state, reward.assumed))
        factor = torch.from_numpy(factors_of(self.strategy, view).copy())
        # Step 4: scale, rank the block's positions by confidence, commit the first k; a strategy may undo commits.
        completion, revision = revise(self, state, completion._replace(view=view), factor, verified)
        choice = commit(self.strategy, completion, factor, state.canvas.answer, self.options)
        answer = torch.where(choice.chosen, completion.tokens, completion.before)
        answer = answer.masked_fill(revision.again, self.predictor.mask_id)
        canvas = state.canvas._replace(ids=state.canvas.ids.scatter(1, state.canvas.answer, answer))
        past = state.past
        if isinstance(self.strategy, Remembering):
            past = (Past(state.rows[seen.row], seen.position, seen.logits), *past)[: self.strategy.memory]
        masked = state.masked & ~choice.chosen | revision.again
        after = State(state.step + 1, canvas, masked, state.rows, past, revision.held(state.step, choice.chosen))
        return after, self._info(state, completion, reward, factor, choice, revision)

    def asks(self, step: int) -> bool:
        """Return whether the reward is asked at a step."""
        return self.scorer is not None and asks_reward(self.strategy, step)

    def _by_prompt(self, state: State, values: Tensor) -> object:
        table = torch.zeros(self.count, dtype=torch.float64)
        table[state.rows.cpu()] = values
        return table.numpy()

    def _info(
        self,
        state: State,
        completion: Completion,
        reward: Rewards | None,
        factor: Tensor,
        choice: Choice,
        revision: Revision,
    ) -> Info:
        """Return the step's row of the trace: NaN and -1 for what is not known."""
        rows, look = state.rows.cpu(), completion.view.look
        unknown = torch.full((len(rows),), torch.nan, dtype=torch.float64)
        use = torch.zeros(len(rows), dtype=torch.int8) if reward is None else reward.use
        unneeded = use == NOT_NEEDED
        # A candidate that changes counts where it is committed, and where it moves others: a score reads them all,
        # drawn ones have other confidences, deferred ones another turn.
        moving = self.options.sampling_temperature > 0 or self.options.end_of_text.startswith("defer")
        counted = completion.block if moving else choice.chosen
        near = completion.unsure if self.asks(state.step) else completion.unsure & counted
        return Info(
            step=state.step,
            rows=rows,
            candidate=completion.tokens.masked_fill(state.masked & ~completion.computed, -1),
            value=choice.value.masked_fill(unneeded.to(choice.value.device)[:, None], torch.nan),
            chosen=choice.chosen,
            unscaled=choice.unscaled,
            masked_again=revision.again,
            factor=factor[rows].masked_fill(unneeded, torch.nan),
            reward_raw=unknown if reward is None else reward.raw,
            reward_normalised=unknown if reward is None else reward.normalised,
            reward_use=use,
            ties=choice.ties,
            saturated=choice.saturated.masked_fill(unneeded.to(choice.saturated.device), -1),
            inexact=choice.inexact,
            near_ties=torch.maximum(choice.near_ties, revision.near),
            near_tokens=near.sum(dim=1),
            forwards=revision.forwards.cpu() + (0 if look is None else look.forwards),
            calls=revision.calls + (0 if look is None else look.calls),
            logits_dtype=str(completion.view.logits.dtype).removeprefix("torch."),
        )


def complete(decoder: Decoder, state: State, seen: MaskedLogits) -> Completion:
    """Give every position of `seen` its best token, or the one that the sampler draws."""
    row, position, logits, published, error = seen
    token, lead = decoder.sampler.draw(logits, state.rows[row])
    if not bool(logits.gather(1, token[:, None]).isfinite().all()):
        name = decoder.predictor.name
        raise ValueError(f"predictor {name} gives no finite largest logit at step {state.step}")
    before, nowhere = state.canvas.ids.gather(1, state.canvas.answer), torch.zeros_like(state.masked)
    tokens = before.index_put((row, position), token)
    block = in_block(state, decoder.plan)
    inside = block[row, position]
    deferring = (token[inside], decoder.options.end_of_text, decoder.end_ids)
    ranked = ranked_logits(logits if bool(inside.all()) else logits[inside], *deferring)
    places = (state.rows[row[inside]], position[inside])
    masked = torch.zeros(decoder.count, block.shape[1], dtype=torch.bool, device=block.device)
    masked[state.rows] = state.masked
    view = MaskedPositions(state.step, decoder.count, block.shape[1], *places, ranked, token[inside], masked=masked)
    view = view._replace(before=remembered(state.past, view)) if state.past else view
    deferred = block & deferred_positions(tokens, decoder.options.end_of_text, decoder.end_ids)
    if isinstance(decoder.strategy, LookingStrategy):
        view = view._replace(look=Hypotheses(decoder, partial(forward, decoder), state, tokens, deferred[block]))
    commits: int | Count = decoder.plan[state.step].commits
    if isinstance(decoder.strategy, OwnCount):
        commits = count_for(decoder.strategy, view, state.rows, block, state.step, decoder.plan)
    return Completion(
        rows=state.rows,
        tokens=tokens,
        before=before,
        computed=nowhere.index_put((row, position), torch.ones_like(inside)),
        unsure=nowhere.index_put((row, position), lead <= 2 * error),
        block=block,
        deferred=deferred,
        view=view,
        row=row[inside],
        published=ranked if published is logits else ranked_logits(published[inside], *deferring),
        error=error[inside],
        commits=commits,
        width=state.canvas.ids.shape[1],
    )


def in_block(state: State, plan: Sequence[PlannedStep]) -> Tensor:
    """Return the masked positions of each row's current block, the first with masks left, bool [b, n]."""
    return state.masked & current_block(state.masked, plan)
