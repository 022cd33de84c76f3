"""The decoding loop over one batch: predict, score, scale, select, commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rws_decode.canvas.end_of_text import EndOfText, deferred_positions
from rws_decode.canvas.layout import Canvas, Padding, lay_out
from rws_decode.canvas.schedule import PlannedStep
from rws_decode.predictors.base import MaskPredictor, ends_of
from rws_decode.step.candidate import TokenSampler
from rws_decode.step.certainty import certain
from rws_decode.step.forward import MaskedLogits, masked_logits
from rws_decode.step.order import Precision, Ranking, at_the_cut
from rws_decode.step.ranker import Ranked, Ranker
from rws_decode.step.reward import Scorer
from rws_decode.step.savings import Savings
from rws_decode.strategies.protocol import MaskedPositions, OrderStrategy, Strategy, asks_reward
from rws_decode.trace.record import Record
from rws_decode.trace.trace import NOT_NEEDED
from rws_decode.view.drafts import StepCallback, StepView

__all__ = ["BatchRun", "Loop"]


@dataclass(frozen=True, eq=False)
class BatchRun:
    """What a batch did: its record, forwards of the whole batch, the columns where answers begin, the canvas width.

    stopped: the places of the rows whose masks were left when a callback ended the batch.
    """

    record: Record
    forwards: int
    offsets: list[int]
    width: int
    logits_dtype: str
    stopped: frozenset[int] = frozenset()


class _Step(NamedTuple):
    """A step of b rows before its choice.

    view: the masked positions of the block; row: int64 [N], which of the b rows each of the view belongs to; here,
    computed: bool [b, n], the masked positions of the block, and those with a candidate; unsure: bool [b, n], where
    rounding could change the candidate.
    """

    view: MaskedPositions
    row: Tensor
    published: Tensor
    error: Tensor
    here: Tensor
    computed: Tensor
    before: Tensor
    candidate: Tensor
    unsure: Tensor
    commits: int
    asked: bool


@dataclass(frozen=True, eq=False)
class Loop:
    """All that the batches of a decode share; `rows`: how many prompts there are in all.

    callback: called after each step, before rows that are settled leave; what is true ends the batch.
    """

    predictor: MaskPredictor
    strategy: Strategy
    plan: Sequence[PlannedStep]
    rows: int
    padding: Padding
    ranking: Ranking
    precision: Precision
    sampler: TokenSampler
    cfg: float
    policy: EndOfText
    ending: Sequence[int]
    scorer: Scorer | None
    savings: Savings
    callback: StepCallback | None = None

    def run(self, rows: Sequence[int], prompts: Sequence[Sequence[int]]) -> BatchRun:
        """Decode some of the rows. rows: their numbers among all, rising; prompts: their token ids."""
        length = self.plan[-1].stop
        canvas = lay_out(self.predictor, prompts, length, self.padding)
        offsets, width = canvas.answer[:, 0].tolist(), canvas.ids.shape[1]
        ranker = Ranker(self.strategy, self.ranking, self.precision, self.policy, self.ending, width)
        record = Record(len(rows), length, len(self.plan))
        live, place = torch.tensor(rows, device=canvas.ids.device), np.arange(len(rows))
        masked = torch.ones_like(canvas.answer, dtype=torch.bool)  # [b, n], b rows still in the batch
        found, forwards = self._logits(canvas, masked, 0), 0
        dtype, stopped = str(found.logits.dtype).removeprefix("torch."), frozenset[int]()
        for number in range(len(self.plan)):
            forwards += 1
            step = self._observe(number, canvas, masked, live, found)
            ranked, rewards = self._choose(step, live, canvas, ranker)
            canvas.ids.copy_(_committed(canvas, step, ranked.chosen))
            self._write(record, number, place, live, masked, step, ranked, rewards)
            masked = masked & ~ranked.chosen
            if self.callback is not None and self.callback(self._view(step, live, canvas, ranked, rewards)):
                stopped = frozenset(place[masked.any(dim=1).cpu().numpy()].tolist())
                break
            if self.savings.settled and bool((done := self._settled(canvas, masked)).any()):
                mask = None if canvas.attention_mask is None else canvas.attention_mask[~done]
                canvas = Canvas(canvas.ids[~done], mask, canvas.answer[~done], canvas.prompt[~done])
                masked, live, place = masked[~done], live[~done], place[(~done).cpu().numpy()]
                if not len(place):
                    break
            if number + 1 < len(self.plan):
                del step, found  # two steps' logits at once would take twice the memory
                found = self._logits(canvas, masked, number + 1)
        return BatchRun(record, forwards, offsets, width, dtype, stopped)

    def _block(self, masked: Tensor, number: int) -> Tensor:
        planned = self.plan[number]
        here = torch.zeros_like(masked)
        here[:, planned.start : planned.stop] = masked[:, planned.start : planned.stop]
        return here

    def _asks(self, number: int) -> bool:
        return self.scorer is not None and asks_reward(self.strategy, number)

    def _logits(self, canvas: Canvas, masked: Tensor, number: int) -> MaskedLogits:
        partial = self.savings.block_only and not self._asks(number) and self.sampler.temperature == 0
        return masked_logits(
            self.predictor,
            canvas,
            self._block(masked, number) if partial else masked,
            cfg=self.cfg,
            suppressed=self.ending if self.policy == "suppress" else (),
            published=self.ranking == "topk",
        )

    def _observe(self, number: int, canvas: Canvas, masked: Tensor, live: Tensor, found: MaskedLogits) -> _Step:
        """Complete the answers: greedily, or by what the sampler draws."""
        row, position, logits, published, error = found
        token, lead = self.sampler.draw(logits, live[row])
        if not bool(logits.gather(1, token[:, None]).isfinite().all()):
            raise ValueError(f"predictor {self.predictor.name} gives no finite largest logit at step {number}")
        before, here = canvas.ids.gather(1, canvas.answer), self._block(masked, number)
        nowhere = torch.zeros_like(masked)
        own = here[row, position]
        contested = logits if bool(own.all()) else logits[own]
        view = MaskedPositions(
            number, self.rows, here.shape[1], live[row[own]], position[own], contested, token[own], None
        )
        return _Step(
            view=view,
            row=row[own],
            published=contested if published is logits else published[own],
            error=error[own],
            here=here,
            computed=nowhere.index_put((row, position), torch.ones_like(own)),
            before=before,
            candidate=before.index_put((row, position), token),
            unsure=nowhere.index_put((row, position), lead <= 2 * error),
            commits=self.plan[number].commits,
            asked=self._asks(number),
        )

    def _choose(
        self, step: _Step, live: Tensor, canvas: Canvas, ranker: Ranker
    ) -> tuple[Ranked, dict[str, NDArray[Any]] | None]:
        """Score, if the strategy asks, and rank; return what was chosen and the rewards, [rows] each."""
        if not step.asked:
            return self._ranked(step, None, live, canvas, ranker), None
        rewards = self._rewards(step, live)
        return self._ranked(step, self._stand_in(rewards), live, canvas, ranker), rewards

    def _ranked(
        self, step: _Step, reward: NDArray[np.float64] | None, live: Tensor, canvas: Canvas, ranker: Ranker
    ) -> Ranked:
        view = step.view._replace(reward=reward)
        return ranker.rank(view, step.published, step.error, step.commits, live, step.row, canvas.answer)

    def _stand_in(self, rewards: dict[str, NDArray[Any]]) -> NDArray[np.float64]:
        """Return normalised rewards, [rows], with one within the model's bounds where any leads to the same choice."""
        assert self.scorer is not None
        return np.nan_to_num(rewards["reward_normalised"], nan=float(np.clip(0.0, *self.scorer.rewards)))

    def _rewards(self, step: _Step, live: Tensor) -> dict[str, NDArray[Any]]:
        """Return raw and normalised rewards and their use, [rows] each; NaN in rows that are not scored."""
        assert self.scorer is not None
        out = {name: np.full(self.rows, np.nan) for name in ("reward_raw", "reward_normalised")}
        use = np.zeros(self.rows, dtype=np.int8)
        known = torch.tensor(self.scorer.known(live.tolist(), step.candidate.tolist()), device=live.device)
        needed = ~self._certain(step, ~known)
        use[live[~needed].cpu().numpy()] = NOT_NEEDED
        rows = live[needed].tolist()
        if rows:
            raw, normalised = self.scorer.score(rows, step.candidate[needed].tolist())
            out["reward_raw"][rows], out["reward_normalised"][rows] = raw, normalised
            use[rows] = self.scorer.uses(rows)
        return out | {"reward_use": use}

    def _certain(self, step: _Step, rows: Tensor) -> Tensor:
        """Return which rows are proved to commit the same whatever their reward, bool [b]; others than `rows` not."""
        ordered = isinstance(self.strategy, OrderStrategy)
        factors = None if ordered else getattr(self.strategy, "factor_range", None)
        exact = self.ranking == "log-odds" and self.precision == "float64"
        if factors is None or not (self.savings.certain and exact):
            return step.here.new_zeros(len(step.here))
        assert self.scorer is not None
        deferred = deferred_positions(step.candidate, self.policy, self.ending)
        contested, k = at_the_cut(step.here, deferred, step.commits)
        view, (low, high), contested = step.view, factors(*self.scorer.rewards), contested & rows[:, None]
        same = certain(view.logits, view.candidate, step.row, view.position, contested, k, low, high, step.error)
        return same & rows

    def _write(
        self,
        record: Record,
        number: int,
        place: NDArray[np.int64],
        live: Tensor,
        masked: Tensor,
        step: _Step,
        ranked: Ranked,
        rewards: dict[str, NDArray[Any]] | None,
    ) -> None:
        candidate = step.candidate.masked_fill(masked & ~step.computed, -1)
        # A candidate that changes counts where it is committed, and where it moves others: a score reads them all,
        # drawn ones have other confidences, deferred ones another turn.
        moving = self.sampler.temperature > 0 or self.policy == "defer"
        counted = step.unsure if step.asked else step.unsure & (step.here if moving else ranked.chosen)
        near_tokens = counted.sum(dim=1)
        record.add(number, place, candidate=candidate, near_tokens=near_tokens, **ranked._asdict())
        if rewards is not None:
            own = {name: array[live.cpu().numpy()] for name, array in rewards.items()}
            record.add(number, place, **own)
            record.add(number, place[own["reward_use"] == NOT_NEEDED], factor=np.nan, value=np.nan, saturated=-1)

    def _view(
        self, step: _Step, live: Tensor, canvas: Canvas, ranked: Ranked, rewards: dict[str, NDArray[Any]] | None
    ) -> StepView:
        rows, factor = live.cpu().numpy().copy(), ranked.factor.copy()
        if rewards is not None:
            factor[rewards["reward_use"][rows] == NOT_NEEDED] = np.nan
        return StepView(
            step=step.view.step,
            steps=len(self.plan),
            mask_id=self.predictor.mask_id,
            rows=rows,
            canvas=canvas.ids.gather(1, canvas.answer).cpu().numpy().copy(),
            candidate=step.candidate.cpu().numpy().copy(),
            chosen=ranked.chosen.cpu().numpy().copy(),
            factor=factor,
        )

    def _settled(self, canvas: Canvas, masked: Tensor) -> Tensor:
        """Return the rows whose text is final: an end of text is committed, and all before it; bool [b]."""
        known = ends_of(self.predictor)
        if not known:
            return masked.new_zeros(len(masked))
        ids = canvas.ids.gather(1, canvas.answer)
        ends = torch.isin(ids, torch.tensor(known, device=ids.device)) & ~masked
        open_before = masked.cumsum(dim=1).gather(1, ends.to(torch.uint8).argmax(dim=1, keepdim=True))[:, 0]
        return ends.any(dim=1) & (open_before == 0)


def _committed(canvas: Canvas, step: _Step, chosen: Tensor) -> Tensor:
    """Return the canvas's ids with the chosen positions committed."""
    return canvas.ids.scatter(1, canvas.answer, torch.where(chosen, step.candidate, step.before))
