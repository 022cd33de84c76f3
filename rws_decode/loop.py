"""The decoding loop over one batch: predict, score, scale, select, commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rws_decode.canvas import Canvas, Padding, lay_out
from rws_decode.certainty import certain
from rws_decode.completion import MaskedLogits, masked_logits
from rws_decode.end_of_text import EndOfText, deferred_positions
from rws_decode.guidance import Strategy, asks_reward
from rws_decode.orders import MaskedPositions
from rws_decode.predictors.base import MaskPredictor
from rws_decode.ranker import Ranker
from rws_decode.ranking import Precision, Ranking
from rws_decode.record import Record
from rws_decode.rounding import logit_error
from rws_decode.sampling import TokenSampler
from rws_decode.savings import Savings
from rws_decode.schedule import PlannedStep
from rws_decode.scoring import Scorer
from rws_decode.trace import NOT_NEEDED

__all__ = ["BatchRun", "Loop"]


@dataclass(frozen=True, eq=False)
class BatchRun:
    """What a batch did: its record, forwards of the whole batch, the columns where answers begin, the canvas width."""

    record: Record
    forwards: int
    offsets: list[int]
    width: int
    logits_dtype: str


@dataclass(frozen=True, eq=False)
class Loop:
    """All that the batches of a decode share; `rows`: how many prompts there are in all."""

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

    def run(self, rows: Sequence[int], prompts: Sequence[Sequence[int]]) -> BatchRun:
        """Decode some of the rows. rows: their numbers among all, rising; prompts: their token ids."""
        length = self.plan[-1].stop
        canvas = lay_out(self.predictor, prompts, length, self.padding)
        offsets, width = canvas.answer[:, 0].tolist(), canvas.ids.shape[1]
        ranker = Ranker(self.strategy, self.ranking, self.precision, self.policy, self.ending, width)
        record = Record(len(rows), length, len(self.plan))
        live, place = torch.tensor(rows, device=canvas.ids.device), np.arange(len(rows))
        masked = torch.ones_like(canvas.answer, dtype=torch.bool)  # [b, n], b rows still in the batch
        dtype, step = torch.float32, 0
        for step, planned in enumerate(self.plan):
            before = canvas.ids.gather(1, canvas.answer)  # [b, n]
            here = torch.zeros_like(masked)
            here[:, planned.start : planned.stop] = masked[:, planned.start : planned.stop]
            asked = self.scorer is not None and asks_reward(self.strategy, step)
            partial = self.savings.block_only and not asked and self.sampler.temperature == 0
            wanted = here if partial else masked
            found = self._logits(canvas, wanted)
            row, position, logits, published = found
            dtype = logits.dtype
            token, lead = self.sampler.draw(logits, live[row])
            if not bool(logits.gather(1, token[:, None]).isfinite().all()):
                raise ValueError(f"predictor {self.predictor.name} gives no finite largest logit at step {step}")
            candidate = before.index_put((row, position), token)

            own = slice(None) if partial else here[row, position]
            view = MaskedPositions(
                step, self.rows, length, live[row[own]], position[own], logits[own], token[own], None
            )
            error = logit_error(logits)
            rewards = None
            if asked:
                rewards = self._rewards(view, row[own], here, candidate, planned.commits, error[own], live)
                # Reward 0 stands in where any reward would lead to the same choice.
                view = view._replace(reward=np.nan_to_num(rewards["reward_normalised"]))
            ranked = ranker.rank(view, published[own], error[own], planned.commits, live, row[own], canvas.answer)
            canvas.ids.scatter_(1, canvas.answer, torch.where(ranked.chosen, candidate, before))
            masked_before, masked = masked, masked & ~ranked.chosen
            unsure = torch.zeros_like(masked).index_put((row, position), lead <= 2 * error)
            record.add(step, place, candidate=candidate.masked_fill(masked_before & ~wanted, -1), **ranked._asdict())
            record.add(step, place, near_tokens=(unsure if asked else unsure & ranked.chosen).sum(dim=1))
            if rewards is not None:
                rewards = {name: array[live.cpu().numpy()] for name, array in rewards.items()}
                record.add(step, place, **rewards)
                unknown = place[rewards["reward_use"] == NOT_NEEDED]
                record.add(step, unknown, factor=np.nan, value=np.nan)
            if self.savings.settled and bool((stays := ~self._settled(canvas, masked)).logical_not().any()):
                canvas = Canvas(*(None if part is None else part[stays] for part in canvas))
                masked, live, place = masked[stays], live[stays], place[stays.cpu().numpy()]
                if not len(place):
                    break
        return BatchRun(record, step + 1, offsets, width, str(dtype).removeprefix("torch."))

    def _logits(self, canvas: Canvas, wanted: Tensor) -> MaskedLogits:
        suppressed = self.ending if self.policy == "suppress" else ()
        published = self.ranking == "topk"
        return masked_logits(self.predictor, canvas, wanted, cfg=self.cfg, suppressed=suppressed, published=published)

    def _rewards(
        self,
        view: MaskedPositions,
        row: Tensor,
        here: Tensor,
        candidate: Tensor,
        commits: int,
        error: Tensor,
        live: Tensor,
    ) -> dict[str, NDArray[Any]]:
        """Return raw and normalised rewards and their use, [rows] each; NaN in rows that are not scored."""
        assert self.scorer is not None
        out = {name: np.full(self.rows, np.nan) for name in ("reward_raw", "reward_normalised")}
        use = np.zeros(self.rows, dtype=np.int8)
        needed = ~self._certain(view, row, here, candidate, commits, error)
        use[live[~needed].cpu().numpy()] = NOT_NEEDED
        rows = live[needed].tolist()
        if rows:
            raw, normalised = self.scorer.score(rows, candidate[needed].tolist())
            out["reward_raw"][rows], out["reward_normalised"][rows] = raw, normalised
            use[rows] = self.scorer.uses(rows)
        return out | {"reward_use": use}

    def _certain(
        self, view: MaskedPositions, row: Tensor, here: Tensor, candidate: Tensor, commits: int, error: Tensor
    ) -> Tensor:
        """Return the rows that commit the same positions whatever their reward: bool [b]."""
        factors = getattr(self.strategy, "factor_range", None)
        exact = self.ranking == "log-odds" and self.precision == "float64"
        if not (self.savings.certain and exact and factors is not None):
            return torch.zeros(len(here), dtype=torch.bool, device=here.device)
        deferred = deferred_positions(candidate, self.policy, self.ending)
        early, late = here & ~deferred, here & deferred
        number = early.sum(dim=1)
        cut_early = number > commits
        contested = torch.where(cut_early[:, None], early, late)
        k = torch.where(cut_early, commits, commits - number)
        return certain(view.logits, view.candidate, row, view.position, contested, k, *factors(), error)

    def _settled(self, canvas: Canvas, masked: Tensor) -> Tensor:
        """Return the rows whose text is final: an end of text is committed, and all before it; bool [b]."""
        end = self.predictor.end_id
        if end is None:
            return torch.zeros(len(masked), dtype=torch.bool, device=masked.device)
        ends = (canvas.ids.gather(1, canvas.answer) == end) & ~masked
        open_before = masked.cumsum(dim=1).gather(1, ends.to(torch.uint8).argmax(dim=1, keepdim=True))[:, 0]
        return ends.any(dim=1) & (open_before == 0)
