"""One step of the compact decoder: the same four steps, which wait for the device only for the reward's text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from rws_decode.common.later import Floats
from rws_decode.common.plugins import hook
from rws_decode.extra.compact.choice import choose
from rws_decode.extra.compact.forward import Network, sent
from rws_decode.extra.compact.rewards import DeviceScorer
from rws_decode.extra.compact.row_statistics import RELATIVE, RowStatistics, row_statistics
from rws_decode.extra.compact.savings import CompactSavings
from rws_decode.predictors.base import ends_of
from rws_decode.step.cached_reward import Rewards
from rws_decode.step.diagnose import Diagnosis
from rws_decode.step.record import Record
from rws_decode.step.rounding import ROUNDING_UNITS
from rws_decode.step.step import Decoder, Done, State
from rws_decode.strategies.protocol import MaskedPositions, abilities_of, checked_factors
from rws_decode.trace.data import NOT_NEEDED, REUSED, SCORED

# Factors at which log F is known where a reward may be left out: both ends of the range, and what lies between.
_FACTORS = 9


class _Observed(NamedTuple):
    """The result of a forward of b rows with m masked positions each, of which the first `in_block` are in the block.

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


class Committed(NamedTuple):
    """The commits of a step, and their record for the trace, on the device: `candidate` int64, `chosen` bool, [b, n].

    diagnosis: None where tokens alone are recorded.
    """

    candidate: Tensor
    chosen: Tensor
    diagnosis: Diagnosis | None


@dataclass(frozen=True, eq=False)
class CompactSteps:
    """The steps of one batch on its device, in place of `Decoder.step` and `Decoder.going`.

    Between two texts that a reward reads, no value is copied from the device, except one at the end of each block if
    `savings.settled` is on. sound: of each step, whether all logits of each row were numbers.
    """

    network: Network
    savings: CompactSavings
    sound: list[Tensor] = field(default_factory=list)

    def step(self, decoder: Decoder, state: State) -> tuple[State, Done]:
        """Run one step on all rows."""
        planned, rows = decoder.plan[state.step], state.rows.tolist()
        rewarded = decoder.asks(state.step)
        # Step 1: one forward; its logits are read once, for candidates and for log F at a factor that is known.
        factor = None if rewarded else self._factors(decoder, state.step, rows, None)
        forward = self._observe(decoder, state, rewarded, factor)
        in_block = forward.logits.shape[1]
        log_f = forward.log_f[:, :in_block]
        # Steps 2 and 3: the reward, where it can matter, and the factor.
        reward = self._ask(decoder, forward, state.step, rows) if rewarded else None
        if reward is not None:
            rule: Any = decoder.strategy
            if abilities_of(rule).tensor_factor:
                factor = rule.tensor_factor(reward.assumed)
            else:
                normalised = np.full(decoder.count, np.nan)
                normalised[rows] = reward.assumed.cpu().numpy()
                factor = self._factors(decoder, state.step, rows, normalised)
            log_f = self._at(forward.logits, factor[:, None]).log_f.view(-1, in_block)
        assert factor is not None
        # Step 4: the most confident positions of the block.
        position, token, error = (part[:, :in_block] for part in (forward.position, forward.token, forward.error))
        choice = choose(forward.logits, token, log_f, factor, error, planned.commits)
        nowhere = torch.zeros_like(state.masked)
        chosen = nowhere.scatter(1, position, choice.chosen)
        computed = nowhere.scatter(1, forward.position, True)
        candidate, diagnosis = forward.tokens.masked_fill(state.masked & ~computed, -1), None
        if decoder.options.record == "full":
            ones, log_f = torch.ones_like(factor), forward.unscaled[:, :in_block]
            unscaled = choose(forward.logits, token, log_f, ones, error, planned.commits).chosen
            near = forward.lead <= 2 * forward.error
            diagnosis = Diagnosis(
                value=torch.full_like(nowhere, torch.nan, dtype=torch.float64).scatter(1, position, choice.value),
                unscaled=nowhere.scatter(1, position, unscaled),
                ties=choice.ties,
                saturated=choice.saturated,
                inexact=choice.inexact,
                near_ties=choice.near_ties,
                near_tokens=(near if rewarded else near[:, :in_block] & choice.chosen).sum(dim=1),
            )
        self.sound.append(~forward.lead.isnan().any(dim=1))
        after = state.filled(chosen, forward.tokens)._replace(step=state.step + 1)
        return after, Done.of(state, forward.logits.dtype, reward, factor, Committed(candidate, chosen, diagnosis))

    def going(self, decoder: Decoder, state: State) -> State:
        """Return the state, without any row where a block is done and every row holds an end of text."""
        stop, ends = decoder.plan[state.step - 1].stop, ends_of(decoder.predictor)
        inside = state.step < len(decoder.plan) and decoder.plan[state.step].stop == stop
        if inside or not self.savings.settled or not ends:
            return state
        answer = state.canvas.ids.gather(1, state.canvas.answer[:, :stop])
        ended = torch.isin(answer, sent(torch.tensor(ends), answer.device)).any(dim=1)
        return state._replace(rows=state.rows[:0]) if bool(ended.all()) else state

    def check(self, decoder: Decoder, record: Record) -> None:
        """Raise ValueError for logits or rewards of a batch's steps that were no numbers."""
        sound = torch.stack(self.sound).all(dim=1).tolist()
        if not all(sound):
            name = decoder.predictor.name
            raise ValueError(f"predictor {name} gives no finite largest logit at step {sound.index(False)}")
        if isinstance(decoder.scorer, DeviceScorer):
            arrays = record.arrays
            for row, use, raw in zip(record.rows.tolist(), arrays["reward_use"], arrays["reward_raw"], strict=True):
                decoder.scorer.checked(row, raw[np.isin(use, (SCORED, REUSED))].tolist())

    def _observe(self, decoder: Decoder, state: State, rewarded: bool, factor: Tensor | None) -> _Observed:
        """Run the forward and read its logits once: candidates everywhere or in the block, log F at a known factor."""
        planned, ids, masked, answer = decoder.plan[state.step], state.canvas.ids, state.masked, state.canvas.answer
        batch = len(ids)
        # The number of masked positions follows from the plan, without counting on the device.
        in_block = sum(step.commits for step in decoder.plan[state.step :] if step.start == planned.start)
        everywhere = (rewarded or not self.savings.block_only) and decoder.whole
        m = in_block + masked.shape[1] - planned.stop if everywhere else in_block
        # Blocks before this one hold no mask: the masked positions from the left are the block's, then the later ones.
        position = (~masked).to(torch.uint8).argsort(dim=1, stable=True)[:, :m]
        row = torch.arange(batch, device=ids.device).repeat_interleave(m)
        logits = self.network.logits(ids, row, answer.gather(1, position).flatten())
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

    @staticmethod
    def _factors(decoder: Decoder, number: int, rows: Sequence[int], reward: Floats | None) -> Tensor:
        """Return the strategy's factors of these rows, float64 [b], on the device."""
        view = MaskedPositions(number, decoder.count, reward=reward)
        return sent(torch.from_numpy(checked_factors(decoder.strategy, view, rows)), decoder.predictor.device)

    def _ask(self, decoder: Decoder, forward: _Observed, step: int, rows: Sequence[int]) -> Rewards:
        """Ask for the reward where it can matter; elsewhere assume one that leads to the same choice."""
        scorer, device = decoder.scorer, forward.tokens.device
        assert isinstance(scorer, DeviceScorer)
        answers, proved = self._to_host(forward.tokens, self._proved(decoder, forward, decoder.plan[step].commits))
        texts = [scorer.text(*pair) for pair in zip(rows, answers, strict=True)]
        needed = [i for i, row in enumerate(rows) if scorer.has(row, texts[i]) or not proved[i]]
        use = [NOT_NEEDED] * len(rows)
        raw = torch.full((len(rows),), torch.nan, dtype=torch.float64, device=device)
        if needed:
            needed_rows = [rows[i] for i in needed]
            index = sent(torch.tensor(needed), device)
            raw = raw.index_copy(0, index, torch.stack(scorer.scores(needed_rows, [texts[i] for i in needed])))
            for i, row in zip(needed, needed_rows, strict=True):
                use[i] = scorer.uses[row]
        normalised = (raw - scorer.model.mean) / scorer.model.std
        inside = float(np.clip(0.0, *scorer.rewards))
        assumed = normalised.nan_to_num(nan=inside, posinf=torch.inf, neginf=-torch.inf)
        return Rewards(raw, normalised, torch.tensor(use, dtype=torch.int8), assumed)

    @staticmethod
    def _to_host(tokens: Tensor, proved: Tensor | None) -> tuple[list[list[int]], list[bool]]:
        """Return the answers and the rows that are proved, in one transfer: here the host waits, for the text."""
        if proved is None:
            return tokens.tolist(), [False] * len(tokens)
        *columns, flags = torch.cat([tokens, proved[:, None].long()], dim=1).T.tolist()
        return [list(answer) for answer in zip(*columns, strict=True)], [bool(flag) for flag in flags]

    def _proved(self, decoder: Decoder, forward: _Observed, k: int) -> Tensor | None:
        """Return the rows that commit the same at every factor of any reward, bool [b]; None if not checked."""
        rule: Any = decoder.strategy
        if not abilities_of(rule).factor_range or not self.savings.certain or decoder.scorer is None:
            return None
        batch, in_block, _ = forward.logits.shape
        low, high = rule.factor_range(*decoder.scorer.rewards)
        # Rounded outward, as float32 has them.
        ends = np.nextafter(np.asarray([low, high], np.float32), np.asarray([0.0, np.inf], np.float32))
        scales = torch.logspace(0, 1, _FACTORS, base=float(ends[1] / ends[0]), dtype=torch.float64) * float(ends[0])
        scales[0], scales[-1] = float(ends[0]), float(ends[1])
        scales = sent(scales.float().double(), forward.logits.device)
        read = self._at(forward.logits, scales.expand(batch, -1), slopes=True)
        assert read.slope is not None
        shape = (batch, in_block, _FACTORS)
        certain_from = hook("certain-from", "savings.certain")
        return certain_from(read.log_f.view(shape), read.slope.view(shape), scales, k, RELATIVE)
