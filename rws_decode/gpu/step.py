"""One step of the compact decoder: the same four steps, and nothing waits for the device but the reward's text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rws_decode.canvas import Padding
from rws_decode.canvas.layout import Canvas, lay_out
from rws_decode.canvas.schedule import PlannedStep
from rws_decode.gpu.choice import choose
from rws_decode.gpu.forward import Network, sent
from rws_decode.gpu.rewards import DeviceScorer
from rws_decode.gpu.row_statistics import RELATIVE, RowStatistics, row_statistics
from rws_decode.predictors.base import MaskPredictor, block_of, ends_of
from rws_decode.settings import CompactSavings
from rws_decode.step.rounding import ROUNDING_UNITS
from rws_decode.step.savings import certain_from
from rws_decode.step.step import State
from rws_decode.strategies.protocol import (
    FactorStrategy,
    MaskedPositions,
    abilities_of,
    asks_reward,
    factors_of,
)
from rws_decode.trace.data import NOT_NEEDED, REUSED, SCORED
from rws_decode.trace.record import Info, Record

# Factors at which log F is known where a reward may be left out: both ends of the range, and what lies between.
_FACTORS = 9


class _Observed(NamedTuple):
    """What one forward says: b rows, m masked positions each, the first `in_block` of them those of the current block.

    position: int64 [b, m], positions in the answer, rising; logits: [b, in_block, V]; token: int64 [b, m]; error:
    float64 [b, m], of the logits; lead: float32 [b, m]; tokens: int64 [b, n], the completed answer; log_f: float32
    [b, m], at the factor that was known before; unscaled: the same at factor 1.
    """

    position: Tensor
    logits: Tensor
    token: Tensor
    error: Tensor
    lead: Tensor
    tokens: Tensor
    log_f: Tensor
    unscaled: Tensor


class _Asked(NamedTuple):
    """Factors of a step, float64 [b], and of the rewards behind them: raw scores, normalised, [b], and uses."""

    factor: Tensor
    raw: Tensor
    normalised: Tensor
    use: list[int]


class _Seen(NamedTuple):
    """A step's info, still on the device, and whether all logits of each row were numbers: bool [b]."""

    info: Info
    sound: Tensor


@dataclass(frozen=True, eq=False)
class CompactDecoder:
    """All that the batches of a compact decode share; `count`: how many prompts there are in all.

    closed: end-of-text ids that are never committed.
    """

    predictor: MaskPredictor
    strategy: FactorStrategy
    plan: Sequence[PlannedStep]
    count: int
    padding: Padding
    closed: list[int]
    scorer: DeviceScorer | None
    savings: CompactSavings

    def run(self, rows: Sequence[int], prompts: Sequence[Sequence[int]]) -> Record:
        """Decode some of the rows. rows: their numbers among all, rising; prompts: their token ids."""
        canvas = lay_out(self.predictor, prompts, self.plan[-1].stop, self.padding)
        network = Network(self.predictor, canvas, self.closed, self.savings)
        return self._recorded(self.steps(canvas, network, rows), Record(rows, canvas, len(self.plan)))

    def steps(self, canvas: Canvas, network: Network, rows: Sequence[int]) -> list[_Seen]:
        """Run the plan and return what each step did, still on the device.

        Between two texts that a reward reads, no value is asked of the device, but for one at the end of each block
        where `savings.settled` looks for the end of text.
        """
        masked = torch.ones_like(canvas.answer, dtype=torch.bool)
        state = State(0, canvas._replace(ids=canvas.ids.clone()), masked, torch.tensor(rows))
        seen: list[_Seen] = []
        for planned, following in zip(self.plan, [*self.plan[1:], None], strict=True):
            state, step_seen = self.step(state, network)
            seen.append(step_seen)
            last = following is None or following.start != planned.start
            if last and self.savings.settled and self._settled(state, planned.stop):
                break
        return seen

    def step(self, state: State, network: Network) -> tuple[State, _Seen]:
        """Run one step on all rows."""
        planned, rows, canvas = self.plan[state.step], state.rows.tolist(), state.canvas
        asked = self.scorer is not None and asks_reward(self.strategy, state.step)
        # Step 1: one forward; its logits are read once, for candidates and for log F at a factor that is known.
        factor = None if asked else self._factors(state.step, rows, None, canvas.ids.device)
        seen = self._observe(state, network, asked, factor)
        in_block = seen.logits.shape[1]
        log_f = seen.log_f[:, :in_block]
        # Steps 2 and 3: the reward, where it can matter, and the factor.
        reward = self._ask(seen, state.step, rows) if asked else None
        if reward is not None:
            factor = reward.factor
            log_f = self._at(seen.logits, factor[:, None]).log_f.view(-1, in_block)
        assert factor is not None
        # Step 4: the most confident positions of the block.
        position, token, error = (part[:, :in_block] for part in (seen.position, seen.token, seen.error))
        choice = choose(seen.logits, token, log_f, factor, error, planned.commits)
        unscaled = choose(
            seen.logits, token, seen.unscaled[:, :in_block], torch.ones_like(factor), error, planned.commits
        )
        nowhere = torch.zeros_like(state.masked)
        chosen = nowhere.scatter(1, position, choice.chosen)
        before = canvas.ids.gather(1, canvas.answer)
        ids = canvas.ids.scatter(1, canvas.answer, torch.where(chosen, seen.tokens, before))
        near = seen.lead <= 2 * seen.error
        computed = nowhere.scatter(1, seen.position, True)
        unknown = torch.full_like(factor, torch.nan)
        info = Info(
            step=state.step,
            rows=state.rows,
            candidate=seen.tokens.masked_fill(state.masked & ~computed, -1),
            value=torch.full_like(nowhere, torch.nan, dtype=torch.float64).scatter(1, position, choice.value),
            chosen=chosen,
            unscaled=nowhere.scatter(1, position, unscaled.chosen),
            masked_again=nowhere,
            edited=nowhere,
            factor=factor,
            reward_raw=unknown if reward is None else reward.raw,
            reward_normalised=unknown if reward is None else reward.normalised,
            reward_use=torch.tensor([0] * len(rows) if reward is None else reward.use, dtype=torch.int8),
            ties=choice.ties,
            saturated=choice.saturated,
            inexact=choice.inexact,
            near_ties=choice.near_ties,
            near_tokens=(near if asked else near[:, :in_block] & choice.chosen).sum(dim=1),
            forwards=torch.ones(len(rows), dtype=torch.int64),
            computed_columns=torch.zeros(len(rows), dtype=torch.int64),
            logits_dtype=str(seen.logits.dtype).removeprefix("torch."),
        )
        after = State(state.step + 1, canvas._replace(ids=ids), state.masked & ~chosen, state.rows)
        return after, _Seen(info, ~seen.lead.isnan().any(dim=1))

    def _observe(self, state: State, network: Network, asked: bool, factor: Tensor | None) -> _Observed:
        """Run the forward and read its logits once: candidates everywhere or in the block, log F at a known factor."""
        planned, ids, masked, answer = self.plan[state.step], state.canvas.ids, state.masked, state.canvas.answer
        batch = len(ids)
        # How many positions are masked follows from the plan alone, so that nobody need count them.
        in_block = sum(step.commits for step in self.plan[state.step :] if step.start == planned.start)
        everywhere = (asked or not self.savings.block_only) and block_of(self.predictor) is None
        m = in_block + masked.shape[1] - planned.stop if everywhere else in_block
        # Blocks before this one hold no mask: the masked positions from the left are the block's, then the later ones.
        position = (~masked).to(torch.uint8).argsort(dim=1, stable=True)[:, :m]
        row = torch.arange(batch, device=ids.device).repeat_interleave(m)
        logits = network.logits(ids, row, answer.gather(1, position).flatten())
        logits = logits.view(batch, m, logits.shape[-1])
        ones = torch.ones(batch, dtype=torch.float64, device=ids.device)
        read = self._at(logits, ones[:, None] if factor is None else torch.stack([factor, ones], dim=1))
        log_f = read.log_f.view(batch, m, -1)
        token = read.token.view(batch, m)
        eps = torch.finfo(logits.dtype).eps * ROUNDING_UNITS[logits.dtype]
        return _Observed(
            position=position,
            logits=logits[:, :in_block],
            token=token,
            error=eps * read.largest.double().view(batch, m),
            lead=read.lead.view(batch, m),
            tokens=ids.gather(1, answer).scatter(1, position, token),
            log_f=log_f[..., 0],
            unscaled=log_f[..., -1],
        )

    @staticmethod
    def _at(logits: Tensor, factors: Tensor, slopes: bool = False) -> RowStatistics:
        """Return the statistics of logits [b, m, V] at factors [b, G] of their rows."""
        batch, m, width = logits.shape
        by_position = factors[:, None].expand(-1, m, -1).reshape(batch * m, -1)
        return row_statistics(logits.reshape(batch * m, width), by_position, slopes=slopes)

    def _factors(
        self, number: int, rows: Sequence[int], reward: NDArray[np.float64] | None, device: torch.device
    ) -> Tensor:
        """Return the strategy's factors of these rows, float64 [b], on the device."""
        given = factors_of(self.strategy, MaskedPositions(number, self.count, reward=reward))[list(rows)]
        if not (np.isfinite(given) & (given > 0)).all():
            raise ValueError(f"factor is {given.tolist()}: it must be positive and finite")
        return sent(torch.from_numpy(given.copy()), device)

    def _ask(self, seen: _Observed, step: int, rows: Sequence[int]) -> _Asked:
        """Ask the reward where it can matter; elsewhere assume one that leads to the same choice."""
        assert self.scorer is not None
        device = seen.tokens.device
        answers, proved = self._to_host(seen.tokens, self._proved(seen, self.plan[step].commits))
        texts = [self.scorer.text(*pair) for pair in zip(rows, answers, strict=True)]
        needed = [i for i, row in enumerate(rows) if self.scorer.has(row, texts[i]) or not proved[i]]
        use = [NOT_NEEDED] * len(rows)
        raw = torch.full((len(rows),), torch.nan, dtype=torch.float64, device=device)
        if needed:
            asked = [rows[i] for i in needed]
            at = sent(torch.tensor(needed), device)
            raw = raw.index_copy(0, at, torch.stack(self.scorer.scores(asked, [texts[i] for i in needed])))
            for i, row in zip(needed, asked, strict=True):
                use[i] = self.scorer.uses[row]
        normalised = (raw - self.scorer.model.mean) / self.scorer.model.std
        inside = float(np.clip(0.0, *self.scorer.rewards))
        assumed = normalised.nan_to_num(nan=inside, posinf=torch.inf, neginf=-torch.inf)
        rule: Any = self.strategy
        if abilities_of(rule).tensor_factor:
            factor = rule.tensor_factor(assumed)
        else:
            reward = np.full(self.count, np.nan)
            reward[list(rows)] = assumed.cpu().numpy()
            factor = self._factors(step, rows, reward, device)
        return _Asked(factor, raw, normalised, use)

    def _to_host(self, tokens: Tensor, proved: Tensor | None) -> tuple[list[list[int]], list[bool]]:
        """Return the answers and the rows that are proved, in one transfer: here the host waits, for the text."""
        if proved is None:
            return tokens.tolist(), [False] * len(tokens)
        *columns, flags = torch.cat([tokens, proved[:, None].long()], dim=1).T.tolist()
        return [list(answer) for answer in zip(*columns, strict=True)], [bool(flag) for flag in flags]

    def _proved(self, seen: _Observed, k: int) -> Tensor | None:
        """Return the rows that commit the same at every factor that a reward can give, bool [b]; None: not looked."""
        rule: Any = self.strategy
        if not abilities_of(rule).factor_range or not self.savings.certain or self.scorer is None:
            return None
        batch, in_block, _ = seen.logits.shape
        low, high = rule.factor_range(*self.scorer.rewards)
        # Rounded outward, as float32 has them.
        ends = np.nextafter(np.asarray([low, high], np.float32), np.asarray([0.0, np.inf], np.float32))
        scales = torch.logspace(0, 1, _FACTORS, base=float(ends[1] / ends[0]), dtype=torch.float64) * float(ends[0])
        scales[0], scales[-1] = float(ends[0]), float(ends[1])
        scales = sent(scales.float().double(), seen.logits.device)
        read = self._at(seen.logits, scales.expand(batch, -1), slopes=True)
        assert read.slope is not None
        shape = (batch, in_block, _FACTORS)
        return certain_from(read.log_f.view(shape), read.slope.view(shape), scales, k, RELATIVE)

    def _settled(self, state: State, stop: int) -> bool:
        """Return whether every row holds an end of text among its committed tokens, all before `stop`."""
        ends = ends_of(self.predictor)
        if not ends:
            return False
        answer = state.canvas.ids.gather(1, state.canvas.answer[:, :stop])
        return bool(torch.isin(answer, sent(torch.tensor(ends), answer.device)).any(dim=1).all())

    def _recorded(self, seen: list[_Seen], record: Record) -> Record:
        """Fetch what the steps did; ValueError for logits or rewards that were no numbers."""
        sound = torch.stack([step.sound for step in seen]).all(dim=1).tolist()
        if not all(sound):
            name = self.predictor.name
            raise ValueError(f"predictor {name} gives no finite largest logit at step {sound.index(False)}")
        record.logits_dtype, record.calls, arrays = seen[0].info.logits_dtype, len(seen), record.arrays
        # One transfer an array, not one a step.
        for name, array in arrays.items():
            array[:, : len(seen)] = torch.stack([getattr(step.info, name) for step in seen], dim=1).cpu().numpy()
        unneeded = arrays["reward_use"] == NOT_NEEDED
        arrays["factor"][unneeded] = np.nan
        arrays["value"][unneeded] = np.nan
        arrays["saturated"][unneeded] = -1
        if self.scorer is not None:
            for row, use, raw in zip(record.rows.tolist(), arrays["reward_use"], arrays["reward_raw"], strict=True):
                self.scorer.checked(row, raw[np.isin(use, (SCORED, REUSED))].tolist())
        return record
