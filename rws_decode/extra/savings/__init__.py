"""Leave out work that cannot change the text: other blocks, rewards that cannot change a choice, texts that are final.

Wrappers of a step's forward and score, and of what goes on; the proof that no reward changes a choice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor

from rws_decode.predictors.base import ends_of
from rws_decode.settings import Savings
from rws_decode.step.cached_reward import Rewards, score_rows
from rws_decode.step.completion import Completion, MaskedLogits, Scheduled
from rws_decode.step.rounding import at_the_cut, in_parts
from rws_decode.step.step import Decoder, State, forward, in_block
from rws_decode.strategies.protocol import abilities_of, factor_alone

_INNER = 7  # factors between the ends of the range, where the ends alone do not refute


def saving(decoder: Decoder, savings: Savings) -> Decoder:
    """Return the decoder with the savings that are on. (`Scorer` reuses scores.)"""
    exact = decoder.options.ranking == "log-odds" and decoder.options.precision == "float64"
    able = abilities_of(decoder.strategy)
    compares = able.memory > 0  # a block's first step is compared with the one before it
    scaled = able.factor_range and factor_alone(decoder.strategy)
    if savings.block_only and decoder.options.sampling_temperature == 0 and not compares:
        decoder = replace(decoder, forward=block_alone)
    if savings.certain and exact and scaled:
        decoder = replace(decoder, score=unless_certain)
    if savings.settled:
        decoder = replace(decoder, going=partial(leave_settled, decoder.going))
    return decoder


def block_alone(decoder: Decoder, state: State) -> MaskedLogits:
    """Return the logits of the block's masked positions alone where no reward reads the whole completion."""
    if not decoder.asks(state.step):
        state = state._replace(masked=in_block(state, decoder.plan))
    return forward(decoder, state)


def unless_certain(decoder: Decoder, completion: Completion) -> Rewards | None:
    """Score the rows whose commit a reward could change; no other row asks, unless its text has a score already.

    Guarantee: a row that is left out commits the same positions for every reward within the model's bounds
    (`certain`).
    """
    scorer, strategy = decoder.scorer, cast("Any", decoder.strategy)
    if scorer is None or not decoder.asks(completion.view.step):
        return None
    assert isinstance(completion.commits, Scheduled)
    answers = zip(completion.rows.tolist(), completion.tokens.tolist(), strict=True)
    scored = torch.tensor([scorer.reuse and scorer.recall(row, answer) is not None for row, answer in answers])
    unscored = ~scored.to(completion.rows.device)
    contested, seats = at_the_cut(completion.block, completion.deferred, completion.commits.k)
    view, (low, high) = completion.view, strategy.factor_range(*scorer.rewards)
    same = certain(
        view.logits,
        view.candidate,
        completion.row,
        view.position,
        contested & unscored[:, None],
        seats,
        low,
        high,
        completion.error,
    )
    return score_rows(scorer, completion.rows, completion.tokens, ~(same & unscored))


def leave_settled(going: Callable[[Decoder, State], State], decoder: Decoder, state: State) -> State:
    """Return the state without the rows whose text is final: an end of text is committed, and all before it.

    No text is final that the strategy may revise.
    """
    state, ends = going(decoder, state), ends_of(decoder.predictor)
    if not ends or abilities_of(decoder.strategy).changes:
        return state
    canvas = state.canvas
    ids = canvas.ids.gather(1, canvas.answer)
    ended = torch.isin(ids, torch.tensor(ends, device=ids.device)) & ~state.masked
    first = ended.to(torch.uint8).argmax(dim=1, keepdim=True)
    open_before = state.masked.cumsum(dim=1).gather(1, first)[:, 0]
    stay = ~(ended.any(dim=1) & (open_before == 0))
    return state.of(stay)


class _Curve(NamedTuple):
    """log F and its derivative by the factor at G factors, float64 [G, N]."""

    value: Tensor
    slope: Tensor


def certain(
    logits: Tensor,
    token: Tensor,
    row: Tensor,
    position: Tensor,
    contested: Tensor,
    k: Tensor,
    low: float,
    high: float,
    error: Tensor,
) -> Tensor:
    """Return for each row whether one set of k positions is proved most confident at every factor in [low, high].

    Positions go by log F(c) = logsumexp_{k != t} c (z_k - z_t), smallest first, t the candidate. A set is proved where
    it is on top at consecutive factors, 2 or 9 in equal ratios, and chords and tangents keep it there between them
    (docs/theory.md, eq. (T31)). (`rws_theory.selection.selection_path` finds the whole path, breakpoints too.)

    logits: [N, V] of the masked positions of a block, -inf forbidden; token: int64 [N]; row, position: int64 [N], place
    in the grid; contested: bool [B, n], the positions that compete, others are out of the question; k: int64 [B], how
    many of them are chosen; 0 < low <= high; error: float64 [N], by how much a position's logits may be off
    (`rounding.logit_error`; zeros to take them as they are), which moves log F(c) by at most 2 c times as much.
    Returns bool [B]; True where all or none are chosen.

    Guarantee: True is a proof for all logits within `error` of those given, with the rounding of float64 on the
    unfavourable side (sums of V terms, taking exp to be accurate to 8 ulp) and so wide of it that ranking in float64
    chooses the same set. False proves nothing: exact ties and narrow gaps are False.
    """
    number = contested.sum(dim=1)
    open_ = (k > 0) & (k < number)
    proved = ~open_
    # The two ends of the range decide most rows. Only the rest is tried at more factors between them.
    for factors in (2, 2 + _INNER):
        if not bool(open_.any()):
            break
        scales = torch.logspace(0, 1, factors, base=high / low, dtype=torch.float64, device=logits.device) * low
        scales[0], scales[-1] = low, high
        competing = open_[row] & contested[row, position]
        places = (row[competing], position[competing])
        curve = _curves(logits[competing], token[competing], scales)
        grid = contested & open_[:, None]
        rounding = 8 * (logits.shape[-1] + 2048) * torch.finfo(torch.float64).eps
        same, above = _compared(curve, error[competing].double(), places, grid, k, scales, rounding)
        proved = proved | (open_ & same & above)
        open_ = open_ & same & ~above
    return proved


def certain_from(log_f: Tensor, slope: Tensor, scales: Tensor, k: int, rounding: float) -> Tensor:
    """Return the result of `certain`, bool [B], from curves at some factors, all m positions competing.

    log_f, slope: [B, m, G], log F and its derivative at the rising factors `scales`, float64 [G], of the logits as they
    are; rounding: the error bound of either, as a share of 1 and of itself. No value is copied to the host.
    """
    rows, m, _ = log_f.shape
    grid = torch.ones(rows, m, dtype=torch.bool, device=log_f.device)
    if not 0 < k < m:
        return grid.new_ones(rows)
    row = torch.arange(rows, device=log_f.device).repeat_interleave(m)
    places = (row, torch.arange(m, device=log_f.device).repeat(rows))
    value = log_f.double().flatten(0, 1).T
    curve = _Curve(value.masked_fill(~value.isfinite(), torch.nan), slope.double().flatten(0, 1).T)
    seats = torch.full((rows,), k, device=log_f.device)
    # Both ends of every comparison are computed, and slopes carry their own rounding: four times the share of one.
    same, above = _compared(curve, value.new_zeros(rows * m), places, grid, seats, scales, 4 * rounding)
    return same & above


def _curves(logits: Tensor, token: Tensor, scales: Tensor) -> _Curve:
    values, slopes = [], []
    for rows, chosen in in_parts(logits, token):
        gaps = rows.double().gather(1, chosen[:, None]) - rows.double()  # [n, V], inf where forbidden
        gaps.scatter_(1, chosen[:, None], torch.inf)
        nearest = gaps.amin(dim=1, keepdim=True)
        finite = gaps.masked_fill(gaps.isinf(), 0.0)
        value, slope = [], []
        for scale in scales.tolist():
            weight = torch.exp(-scale * (gaps - nearest.clamp(max=1e300)))
            total = weight.sum(dim=1)
            value.append(total.log() - scale * nearest[:, 0])
            slope.append(-(weight * finite).sum(dim=1) / total)
        values.append(torch.stack(value))
        slopes.append(torch.stack(slope))
    # A position with one possible token has log F = -inf: it is not compared, so nothing is proved of its row.
    value = torch.cat(values, dim=1)
    return _Curve(value.masked_fill(~value.isfinite(), torch.nan), torch.cat(slopes, dim=1))


def _compared(
    curve: _Curve,
    error: Tensor,
    places: tuple[Tensor, Tensor],
    grid: Tensor,
    k: Tensor,
    scales: Tensor,
    rounding: float,
) -> tuple[Tensor, Tensor]:
    """Return for each row whether one set is on top at all scales, and whether it is proved between them: bool [B].

    rounding: the error bound of a value, as a share of 1 and of its inputs.
    """
    shape = (len(scales), *grid.shape)
    value = torch.full(shape, torch.inf, dtype=torch.float64, device=grid.device)
    slope = torch.zeros(shape, dtype=torch.float64, device=grid.device)
    value[:, places[0], places[1]], slope[:, places[0], places[1]] = curve.value, curve.slope
    unsure = torch.zeros_like(value)
    unsure[:, places[0], places[1]] = 2 * scales[:, None] * error
    order = value.argsort(dim=-1, stable=True)
    rank = order.argsort(dim=-1)
    top = (rank < k[:, None]) & grid  # [G, B, n]
    same = (top == top[0]).all(dim=0).all(dim=-1)

    inside, outside = top[0], grid & ~top[0]
    # The last scale has no interval to its right; a single comparison of values there is the end of the one before.
    width = scales.diff()[:, None, None]
    reach = (value[:-1].abs() + value[1:].abs()) + (slope[:-1].abs() + slope[1:].abs()) * width
    # A logit error moves the whole curve by at most that of the interval's larger factor.
    slack = rounding * (1 + reach) + unsure[1:]
    a, b = value[:-1] + slack, value[1:] + slack  # chords from above
    left, right = value[:-1] - slack, value[1:] - slack  # tangents from below
    left_at_b = left + slope[:-1] * width
    right_at_a = right - slope[1:] * width
    # Where the two tangents of a position cross, as a share of the interval.
    gain = (left - right_at_a) + (right - left_at_b)
    share = torch.where(gain > 0, (left - right_at_a) / gain, 0.5)
    lowest = left + (left_at_b - left) * share
    p, q = (..., slice(None), None), (..., None, slice(None))
    chord = a[p] + (b - a)[p] * share[q]
    below = (a[p] < left[q]) & (b[p] < right[q]) & (chord < lowest[q])
    counts = (inside[p] & outside[q])[None]
    return same, (below | ~counts).all(dim=-1).all(dim=-1).all(dim=0)
