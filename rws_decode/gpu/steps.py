"""The compact loop over one batch: nothing waits for the device but the reward, for the text that it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rws_decode.canvas.layout import Canvas, Padding, lay_out
from rws_decode.canvas.schedule import PlannedStep
from rws_decode.gpu.choice import choose
from rws_decode.gpu.forward import Network
from rws_decode.gpu.rewards import DeviceScorer
from rws_decode.gpu.row_statistics import RELATIVE, RowStatistics, row_statistics
from rws_decode.gpu.savings import CompactSavings
from rws_decode.gpu.transfer import sent
from rws_decode.predictors.base import MaskPredictor, ends_of
from rws_decode.step.certainty import certain_from
from rws_decode.step.loop import BatchRun
from rws_decode.step.rounding import ROUNDING_UNITS
from rws_decode.strategies.protocol import FactorStrategy, MaskedPositions, asks_reward
from rws_decode.trace.record import Record
from rws_decode.trace.trace import NOT_NEEDED, REUSED, SCORED

__all__ = ["CompactLoop"]

# Factors at which log F is known where a reward may be left out: both ends of the range, and what lies between.
_FACTORS = 9


class _Observed(NamedTuple):
    """What one forward says: b rows, m masked positions each, the first `own` of them those of the current block.

    position: int64 [b, m], places in the answer, rising; logits: [b, own, V]; token: int64 [b, m]; error: float64
    [b, m], of the logits; lead: float32 [b, m]; candidate: int64 [b, n], the completed answer; log_f: float32 [b, m],
    at the factor that was known before.
    """

    position: Tensor
    logits: Tensor
    token: Tensor
    error: Tensor
    lead: Tensor
    candidate: Tensor
    log_f: Tensor


class _Asked(NamedTuple):
    """Factors of a step, float64 [b], and of the rewards behind them: raw scores, normalised, [b], and uses."""

    factor: Tensor
    raw: Tensor
    normalised: Tensor
    use: list[int]


class _Done(NamedTuple):
    """What a step did, on the device: arrays by the names of `record.Record`; sound: bool [b], all logits numbers."""

    arrays: dict[str, Tensor]
    sound: Tensor
    asked: _Asked | None


@dataclass(frozen=True, eq=False)
class CompactLoop:
    """All that the batches of a compact decode share; `rows`: how many prompts there are in all.

    closed: end-of-text ids that are never committed.
    """

    predictor: MaskPredictor
    strategy: FactorStrategy
    plan: Sequence[PlannedStep]
    rows: int
    padding: Padding
    closed: list[int]
    scorer: DeviceScorer | None
    savings: CompactSavings

    def run(self, rows: Sequence[int], prompts: Sequence[Sequence[int]]) -> BatchRun:
        """Decode some of the rows. rows: their numbers among all, rising; prompts: their token ids."""
        canvas = lay_out(self.predictor, prompts, self.plan[-1].stop, self.padding)
        offsets, width = canvas.answer[:, 0].tolist(), canvas.ids.shape[1]
        network = Network(self.predictor, canvas, self.closed, self.savings)
        kept, dtype = self.steps(canvas, network, rows)
        record = self._recorded(kept, rows)
        return BatchRun(record, len(kept), offsets, width, dtype)

    def steps(self, canvas: Canvas, network: Network, rows: Sequence[int]) -> tuple[list[_Done], str]:
        """Run the plan and return what each step did, still on the device, and the logits' dtype.

        Between two texts that a reward reads, no value is asked of the device, but for one at the end of each block
        where `savings.settled` looks for the end of text.
        """
        ids, dtype = canvas.ids.clone(), ""
        kept: list[_Done] = []
        masked = torch.ones_like(canvas.answer, dtype=torch.bool)
        for number, planned in enumerate(self.plan):
            asked = self.scorer is not None and asks_reward(self.strategy, number)
            factor = None if asked else self._factors(number, rows, None, ids.device)
            seen = self._observe(number, canvas, network, ids, masked, asked, factor)
            own = seen.logits.shape[1]
            found = self._ask(seen, number, rows) if asked else None
            if found is not None:
                log_f = self._at(seen.logits, found.factor[:, None]).log_f.view(-1, own)
                factor = found.factor
            else:
                log_f = seen.log_f[:, :own]
            assert factor is not None
            place, token = seen.position[:, :own], seen.token[:, :own]
            choice = choose(seen.logits, token, log_f, factor, seen.error[:, :own], planned.commits)
            chosen = torch.zeros_like(masked).scatter(1, place, choice.chosen)
            before = ids.gather(1, canvas.answer)
            ids.scatter_(1, canvas.answer, torch.where(chosen, seen.candidate, before))
            near = seen.lead <= 2 * seen.error
            counted = near if asked else near[:, :own] & choice.chosen
            computed = torch.zeros_like(masked).scatter(1, seen.position, True)
            value = torch.full_like(masked, torch.nan, dtype=torch.float64).scatter(1, place, choice.value)
            arrays = {
                "candidate": seen.candidate.masked_fill(masked & ~computed, -1),
                "value": value,
                "chosen": chosen,
                "ties": choice.ties,
                "saturated": choice.saturated,
                "near_ties": choice.near_ties,
                "near_tokens": counted.sum(dim=1),
                "inexact": choice.inexact,
                "factor": factor,
            }
            kept.append(_Done(arrays, ~seen.lead.isnan().any(dim=1), found))
            masked = masked & ~chosen
            dtype = str(seen.logits.dtype).removeprefix("torch.")
            del seen  # two steps' logits at once would take twice the memory
            last = number + 1 == len(self.plan) or self.plan[number + 1].start != planned.start
            if last and self.savings.settled and self._settled(canvas, ids, planned.stop):
                break
        return kept, dtype

    def _observe(
        self,
        number: int,
        canvas: Canvas,
        network: Network,
        ids: Tensor,
        masked: Tensor,
        asked: bool,
        factor: Tensor | None,
    ) -> _Observed:
        """Run the forward and read its logits once: candidates everywhere or in the block, log F at a known factor."""
        planned, batch = self.plan[number], len(ids)
        # How many positions are masked follows from the plan alone, so that nobody need count them.
        left = sum(step.commits for step in self.plan[number:] if step.start == planned.start)
        everywhere = asked or not self.savings.block_only
        m = left + masked.shape[1] - planned.stop if everywhere else left
        # Blocks before this one hold no mask: the masked positions from the left are the block's, then the later ones.
        position = (~masked).to(torch.uint8).argsort(dim=1, stable=True)[:, :m]
        row = torch.arange(batch, device=ids.device).repeat_interleave(m)
        logits = network.logits(ids, row, canvas.answer.gather(1, position).flatten())
        logits = logits.view(batch, m, logits.shape[-1])
        scale = torch.ones(batch, dtype=torch.float64, device=ids.device) if factor is None else factor
        read = self._at(logits, scale[:, None])
        token = read.token.view(batch, m)
        before = ids.gather(1, canvas.answer)
        eps = torch.finfo(logits.dtype).eps * ROUNDING_UNITS[logits.dtype]
        return _Observed(
            position=position,
            logits=logits[:, :left],
            token=token,
            error=eps * read.largest.double().view(batch, m),
            lead=read.lead.view(batch, m),
            candidate=before.scatter(1, position, token),
            log_f=read.log_f.view(batch, m),
        )

    @staticmethod
    def _at(logits: Tensor, factors: Tensor, slopes: bool = False) -> RowStatistics:
        """Return the statistics of logits [b, m, V] at factors [b, G] of their rows."""
        batch, m, width = logits.shape
        wanted = factors[:, None].expand(-1, m, -1).reshape(batch * m, -1)
        return row_statistics(logits.reshape(batch * m, width), wanted, slopes=slopes)

    def _factors(
        self, number: int, rows: Sequence[int], reward: NDArray[np.float64] | None, device: torch.device
    ) -> Tensor:
        """Return the strategy's factors of these rows, float64 [b], on the device."""
        given = np.asarray(self.strategy.factor(MaskedPositions(number, self.rows, reward=reward)), np.float64)
        if given.shape not in ((), (self.rows,)):
            raise ValueError(
                f"strategy {self.strategy.name} gives factors of shape {given.shape}: one for each of {self.rows} rows "
                "is needed"
            )
        given = np.broadcast_to(given, self.rows)[list(rows)]
        if not (np.isfinite(given) & (given > 0)).all():
            raise ValueError(f"factor is {given.tolist()}: it must be positive and finite")
        return sent(torch.from_numpy(given.copy()), device)

    def _ask(self, seen: _Observed, number: int, rows: Sequence[int]) -> _Asked:
        """Ask the reward where it can matter; elsewhere take one that leads to the same choice."""
        assert self.scorer is not None
        k, device = self.plan[number].commits, seen.candidate.device
        answers, certain = self._told(seen.candidate, self._proved(seen, k))
        texts = self.scorer.texts(answers)
        needed = [i for i, row in enumerate(rows) if self.scorer.has(row, texts[i]) or not certain[i]]
        use = [NOT_NEEDED] * len(rows)
        raw = torch.full((len(rows),), torch.nan, dtype=torch.float64, device=device)
        if needed:
            asked = [rows[i] for i in needed]
            at = sent(torch.tensor(needed), device)
            raw = raw.index_copy(0, at, self.scorer.scores(asked, [texts[i] for i in needed]))
            for i, one in zip(needed, self.scorer.uses(asked), strict=True):
                use[i] = one
        normalised = (raw - self.scorer.model.mean) / self.scorer.model.std
        stand_in = float(np.clip(0.0, *self.scorer.rewards))
        usable = normalised.nan_to_num(nan=stand_in, posinf=torch.inf, neginf=-torch.inf)
        there = getattr(self.strategy, "tensor_factor", None)
        if there is not None:
            factor = there(usable)
        else:
            reward = np.full(self.rows, np.nan)
            reward[list(rows)] = usable.cpu().numpy()
            factor = self._factors(number, rows, reward, device)
        return _Asked(factor, raw, normalised, use)

    def _told(self, candidate: Tensor, proved: Tensor | None) -> tuple[list[list[int]], list[bool]]:
        """Return the answers and the rows that are proved, in one transfer: here the host waits, for the text."""
        if proved is None:
            return candidate.tolist(), [False] * len(candidate)
        *columns, flags = torch.cat([candidate, proved[:, None].long()], dim=1).T.tolist()
        return [list(answer) for answer in zip(*columns, strict=True)], [bool(flag) for flag in flags]

    def _proved(self, seen: _Observed, k: int) -> Tensor | None:
        """Return the rows that commit the same at every factor that a reward can give, bool [b]; None: not looked."""
        factors = getattr(self.strategy, "factor_range", None)
        if factors is None or not self.savings.certain or self.scorer is None:
            return None
        batch, own, _ = seen.logits.shape
        low, high = factors(*self.scorer.rewards)
        # Rounded outward, as float32 has them.
        ends = np.nextafter(np.asarray([low, high], np.float32), np.asarray([0.0, np.inf], np.float32))
        scales = torch.logspace(0, 1, _FACTORS, base=float(ends[1] / ends[0]), dtype=torch.float64) * float(ends[0])
        scales[0], scales[-1] = float(ends[0]), float(ends[1])
        there = sent(scales.float().double(), seen.logits.device)
        found = self._at(seen.logits, there.expand(batch, -1), slopes=True)
        assert found.slope is not None
        shape = (batch, own, _FACTORS)
        return certain_from(found.log_f.view(shape), found.slope.view(shape), there, k, RELATIVE)

    def _settled(self, canvas: Canvas, ids: Tensor, stop: int) -> bool:
        """Return whether every row holds an end of text among its committed tokens, all before `stop`."""
        known = ends_of(self.predictor)
        if not known:
            return False
        answer = ids.gather(1, canvas.answer[:, :stop])
        return bool(torch.isin(answer, sent(torch.tensor(known), ids.device)).any(dim=1).all())

    def _recorded(self, kept: list[_Done], rows: Sequence[int]) -> Record:
        """Fetch what the steps did; ValueError for logits or rewards that were no numbers."""
        record = Record(len(rows), self.plan[-1].stop, len(self.plan))
        sound = torch.stack([step.sound for step in kept]).all(dim=1).tolist()
        if not all(sound):
            step = sound.index(False)
            raise ValueError(f"predictor {self.predictor.name} gives no finite largest logit at step {step}")
        for name in kept[0].arrays:
            record.arrays[name][:, : len(kept)] = torch.stack([step.arrays[name] for step in kept], dim=1).cpu().numpy()
        for number, step in enumerate(kept):
            if step.asked is not None:
                raw, normalised, use = step.asked.raw, step.asked.normalised, np.array(step.asked.use, np.int8)
                record.add(number, reward_raw=raw, reward_normalised=normalised, reward_use=use)
                record.add(number, use == NOT_NEEDED, factor=np.nan, value=np.nan, saturated=-1)
        if self.scorer is not None:
            for place, row in enumerate(rows):
                counted = np.isin(record.arrays["reward_use"][place], (SCORED, REUSED))
                self.scorer.checked(row, record.arrays["reward_raw"][place][counted].tolist())
        return record
