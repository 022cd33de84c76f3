"""Step 1: logits and the token of each mask, greedy or sampled by Gumbel-max; the state between a step's stages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rws_decode.canvas.layout import Canvas
from rws_decode.common.arguments import check_seeds, per_row
from rws_decode.predictors.base import MaskPredictor, forbidden_ids, logits_at
from rws_decode.step.rounding import logit_error, rows_at_once
from rws_decode.strategies.protocol import MaskedPositions

At = Callable[[MaskPredictor, Tensor, Tensor | None, Tensor, Tensor], Tensor]

_SHORT = 2**13  # logits of a row that a core's cache holds beside those of its neighbours


class Candidates(NamedTuple):
    """A token per position, int64 [N], and by how many logits it leads the runner-up, float64 [N], inf if alone.

    With noise, the lead is that of the noised logits z - T log(-log u).
    """

    token: Tensor
    lead: Tensor


def greedy(logits: Tensor) -> Candidates:
    """Return the largest logit of each row, the first among equals. logits: [N, V].

    The whole row is read once, for the maxima of its parts; only the part with the largest is looked into. A short row
    on the CPU is read twice: that takes fewer operations.
    """
    if logits.shape[1] <= _SHORT and logits.device.type == "cpu" and logits.dtype in (torch.float32, torch.float64):
        token = torch.from_numpy(logits.numpy(force=True).argmax(axis=1)[:, None])
        best = logits.gather(1, token)
        others = logits.scatter(1, token, -torch.inf)
        return Candidates(token[:, 0], (best.double() - others.amax(dim=1, keepdim=True).double())[:, 0])
    size = 1 << (logits.shape[1].bit_length() // 2)
    whole = logits.shape[1] // size
    parts = logits[:, : whole * size].unflatten(1, (whole, size)).amax(dim=2)
    if logits.shape[1] > whole * size:
        parts = torch.cat([parts, logits[:, whole * size :].amax(dim=1, keepdim=True)], dim=1)
    part = parts.argmax(dim=1, keepdim=True)
    begin = (part * size).clamp(max=logits.shape[1] - size)  # before the last part stand smaller ones
    inside = logits.gather(1, begin + torch.arange(size, device=logits.device))
    place = inside.argmax(dim=1, keepdim=True)
    best = inside.gather(1, place)
    others = torch.cat([parts.scatter_(1, part, -torch.inf), inside.scatter_(1, place, -torch.inf)], dim=1)
    return Candidates((begin + place)[:, 0], (best.double() - others.amax(dim=1, keepdim=True).double())[:, 0])


def gumbel_scores(logits: Tensor, uniform: Tensor, temperature: float) -> Tensor:
    """Return exp(z) / (-log u)^T in float64, whose largest entry is distributed as softmax(z / T); shape [N, V].

    Gumbel-max as in LLaDA's official loop (Nie et al. 2025): the same operations, hence the same bits, from the same u.
    logits: [N, V]; uniform: float64 [N, V] in [0, 1); temperature T > 0.
    """
    return logits.double().exp() / (-torch.log(uniform)) ** temperature


def cut(logits: Tensor, temperature: float, top_p: float = 1.0, top_k: int | None = None) -> Tensor:
    """Return the logits, -inf for the tokens that cannot be sampled; shape [N, V].

    top_k keeps the k largest logits and all that equal the k-th. top_p keeps the fewest tokens, the largest first, the
    smaller id first among equals, whose mass under softmax(z / T) is at least p. Both count over all tokens, as Dream's
    loop does (generation_utils.py, sample_tokens): together they keep what each keeps. T > 0; 0 < p <= 1; k >= 1.

    >>> cut(torch.tensor([[0.0, 2.0, 1.0, 1.0]]), 1.0, top_k=2).tolist()
    [[-inf, 2.0, 1.0, 1.0]]
    >>> cut(torch.tensor([[0.0, 2.0, 1.0, 1.0]]), 1.0, top_p=0.6).tolist()
    [[-inf, 2.0, 1.0, -inf]]
    """
    out = torch.zeros_like(logits, dtype=torch.bool)
    if top_k is not None and top_k < logits.shape[-1]:
        out = logits < logits.topk(top_k, dim=-1).values[:, -1:]
    if top_p < 1:
        best, order = logits.double().sort(dim=-1, descending=True, stable=True)
        mass = (best / temperature).softmax(dim=-1).cumsum(dim=-1)
        enough = torch.zeros_like(out)  # before the first token there is no mass: it stays
        enough[:, 1:] = mass[:, :-1] >= top_p
        out = out | torch.zeros_like(out).scatter(1, order, enough)
    return logits.masked_fill(out, -torch.inf)


class TokenSampler:
    """Samples each row's tokens by Gumbel-max, with a generator of the row's own.

    temperature: T, at least 0; 0 is greedy, without noise. top_p, top_k: as in `cut`. seed: one number, or one per
    row. At each step a row takes one float64 number per masked position and token, positions in order, from a
    torch.Generator on the CPU: what a prompt gets depends on its seed alone, not on the batch, the device or the
    padding. ValueError for bad seeds.

    >>> sampler = TokenSampler(1.0, 0, rows=1)
    >>> sampler.draw(torch.tensor([[0.0, 50.0]]), torch.tensor([0])).token.tolist()
    [1]
    """

    def __init__(
        self,
        temperature: float,
        seed: int | Sequence[int],
        rows: int,
        top_p: float = 1.0,
        top_k: int | None = None,
    ) -> None:
        seeds = tuple(seed) if isinstance(seed, Iterable) else seed
        check_seeds("seed", seeds)
        self.temperature, self.top_p, self.top_k = float(temperature), top_p, top_k
        self.seeds: list[int] = per_row("seed", seeds, rows).tolist()
        self._generators = [torch.Generator().manual_seed(number) for number in self.seeds]

    def draw(self, logits: Tensor, row: Tensor) -> Candidates:
        """Return a token for each position. logits: [N, V]; row: int64 [N], rising, the row that each belongs to."""
        if self.temperature == 0:
            return greedy(logits)
        counts = torch.bincount(row, minlength=len(self._generators)).tolist()
        pieces, uniforms, begin, end, most = [], [], 0, 0, rows_at_once(logits)
        for count, generator in zip(counts, self._generators, strict=True):
            for drawn in range(0, count, most):
                shape = (min(most, count - drawn), logits.shape[1])
                uniforms.append(torch.rand(shape, generator=generator, dtype=torch.float64))
                end += shape[0]
                if end - begin >= most or end == len(row):  # many short rows are compared at once
                    pieces.append(self._draw(logits[begin:end], torch.cat(uniforms).to(logits.device)))
                    uniforms, begin = [], end
        return Candidates(torch.cat([piece.token for piece in pieces]), torch.cat([piece.lead for piece in pieces]))

    def _draw(self, logits: Tensor, uniform: Tensor) -> Candidates:
        logits = cut(logits, self.temperature, self.top_p, self.top_k)
        scores = gumbel_scores(logits, uniform, self.temperature)
        noised = logits.double() - self.temperature * torch.log(-torch.log(uniform))
        best, token = scores.max(dim=-1)
        certain = greedy(noised)
        # Beyond the exponents of float64 the scores are all 0 or inf, and their logarithms still tell them apart.
        lost = ~(best.isfinite() & (best > 0))
        return Candidates(torch.where(lost, certain.token, token), certain.lead)


class MaskedLogits(NamedTuple):
    """Logits of the N masked positions of a batch: row and position, int64 [N], rising; logits and published, [N, V].

    logits: -inf where a token cannot be committed. published: what the predictor gave, forbidden tokens too; the same
    tensor as `logits` where that was not asked for. off: `error` where it does not follow from the logits.
    """

    row: Tensor
    position: Tensor
    logits: Tensor
    published: Tensor
    off: Tensor | None = None

    @property
    def error(self) -> Tensor:
        """Return by how much the logits of each position may be off, float64 [N] (`rounding.logit_error`)."""
        return logit_error(self.logits) if self.off is None else self.off

    def at(self, index: Tensor | slice) -> MaskedLogits:
        """Return those of some positions; a slice gives views, as logits are much to copy."""
        logits, off = self.logits[index], None if self.off is None else self.off[index]
        published = logits if self.published is self.logits else self.published[index]
        return MaskedLogits(self.row[index], self.position[index], logits, published, off)


def masked_logits(
    predictor: MaskPredictor,
    canvas: Canvas,
    masked: Tensor,
    *,
    cfg: float = 0.0,
    suppressed: Sequence[int] = (),
    published: bool = False,
    at: At | None = None,
    forbidden: Sequence[int] | None = None,
) -> MaskedLogits:
    """Return the logits at the masked positions of a batch, by one forward.

    masked: bool [B, n], positions of the answers; cfg: guidance scale; suppressed: end-of-text ids that are never
    committed and take no probability, also not among those published. forbidden: [MASK], padding and the predictor's
    forbidden ids (`forbidden_ids`); at: computes the logits of some places; both the predictor's own if None.
    """
    row, position = masked.nonzero(as_tuple=True)
    places, reader = (canvas.prompt, row, canvas.answer[row, position]), at or logits_at
    logits, off = guided_logits(predictor, canvas.ids, canvas.attention_mask, *places, cfg, reader)
    if suppressed and max(suppressed) >= logits.shape[-1]:
        raise ValueError(f"end_ids holds {max(suppressed)}: {predictor.name} gives {logits.shape[-1]} logits")
    if suppressed:
        logits[:, list(suppressed)] = float("-inf")
    given = logits.clone() if published else logits
    forbidden = forbidden_ids(predictor) if forbidden is None else forbidden
    closed = torch.tensor([token for token in forbidden if token < logits.shape[-1]], dtype=torch.int64)
    logits.index_fill_(1, closed.to(logits.device), float("-inf"))
    return MaskedLogits(row, position, logits, given, off)


def guided_logits(
    predictor: MaskPredictor,
    canvas: Tensor,
    attention_mask: Tensor | None,
    prompt: Tensor,
    row: Tensor,
    column: Tensor,
    cfg: float,
    reader: At = logits_at,
) -> tuple[Tensor, Tensor | None]:
    """Return classifier-free guided logits at N positions, [N, V], and by how much they may be off, float64 [N].

    un + (s + 1) (cond - un), as in LLaDA (Nie et al. 2025): `cond` of the canvas, `un` of the canvas with its prompt
    masked, both in one forward of 2 B rows. s = cfg = 0 is `cond` itself, by one forward of B rows; the error is None
    there, else s + 1 times that of `cond` plus s times that of `un` (`rounding.logit_error`).

    canvas: int64 [B, L]; attention_mask: bool [B, L] or None; prompt: bool [B, L], its columns; row and column:
    int64 [N]. A token that `cond` excludes (-inf) stays excluded. ValueError where the logits have another shape.
    """
    if cfg == 0:
        return reader(predictor, canvas, attention_mask, row, column), None
    both = torch.cat([canvas, canvas.masked_fill(prompt, predictor.mask_id)])
    mask = None if attention_mask is None else torch.cat([attention_mask, attention_mask])
    rows = torch.cat([row, row + len(canvas)])
    conditional, unconditional = reader(predictor, both, mask, rows, torch.cat([column, column])).chunk(2)
    error = (cfg + 1) * logit_error(conditional) + cfg * logit_error(unconditional)
    logits = unconditional + (cfg + 1) * (conditional - unconditional)
    return logits.masked_fill_(conditional == -torch.inf, -torch.inf), error


def places_of(holds: Tensor) -> Tensor | slice | None:
    """Return the places where a condition holds, bool [N]: a slice if they are neighbours, None if all hold."""
    places = holds.numpy(force=True).nonzero()[0]
    if len(places) == len(holds):
        return None
    if len(places) and places[-1] - places[0] == len(places) - 1:
        return slice(int(places[0]), int(places[-1]) + 1)
    return torch.from_numpy(places).to(holds.device)


class Scheduled(NamedTuple):
    """How many positions of each row go in a step: as many as the schedule says, one number or int64 [b]."""

    k: int | Tensor

    def seeing(self, view: MaskedPositions) -> Scheduled:
        return self

    def of(self, value: Tensor, odds: bool, scale: Tensor) -> tuple[int | Tensor, Tensor | None]:
        """Return the numbers, and which positions wait for the others, bool [N] or None.

        value: what ranks the N positions, log-odds or probabilities; scale: float64 [N], the factors.
        """
        return self.k, None

    def uncertain(self, low: Tensor, high: Tensor, odds: bool, scale: Tensor, error: Tensor) -> Tensor | int:
        """Return how many positions logits that are off by their error would add or take away, int64 [b].

        low, high: the least and greatest ranking value of each position; error: of its logits; [N].
        """
        return 0


class Completion(NamedTuple):
    """Step 1's outcome for b rows: every masked position with a token, and what ranks those of the block.

    tokens, before: int64 [b, n], the answers completed, and as they were; canvas, masked: before the step; block,
    deferred: bool [b, n], the block's masked positions, and those of them that wait for the others, None for none.
    seen: the logits of all positions that got a candidate; lead: float64, by how much each leads. view: the block's N
    masked positions; row: int64 [N], which of the b rows each is in; published: [N, V], the logits that are ranked.
    commits: how many positions of a row go, `Scheduled`, or what a layer has in its place.
    """

    rows: Tensor
    tokens: Tensor
    before: Tensor
    canvas: Canvas
    masked: Tensor
    block: Tensor
    deferred: Tensor | None
    seen: MaskedLogits
    lead: Tensor
    view: MaskedPositions
    row: Tensor
    published: Tensor
    commits: Any

    @property
    def error(self) -> Tensor:
        """Return by how much the logits of the N positions may be off, float64 [N]."""
        everywhere = torch.zeros(self.masked.shape, dtype=torch.float64, device=self.masked.device)
        return everywhere.index_put((self.seen.row, self.seen.position), self.seen.error)[self.block]

    @property
    def unsure(self) -> Tensor:
        """Return the positions whose candidate rounding could change, bool [b, n]."""
        near = self.lead <= 2 * self.seen.error
        return torch.zeros_like(self.masked).index_put((self.seen.row, self.seen.position), near)

    @property
    def candidate(self) -> Tensor:
        """Return the completed answers, int64 [b, n], -1 where a masked position got no candidate."""
        everywhere = torch.ones_like(self.seen.row, dtype=torch.bool)
        computed = torch.zeros_like(self.masked).index_put((self.seen.row, self.seen.position), everywhere)
        return self.tokens.masked_fill(self.masked & ~computed, -1)

    def grid(self, values: Tensor) -> Tensor:
        """Return values of the N positions where these stand, [b, n], 0 elsewhere."""
        nowhere = torch.zeros(self.block.shape, dtype=values.dtype, device=values.device)
        return nowhere.masked_scatter_(self.block, values)


class Ranked(NamedTuple):
    """What confidence under some factors says of N positions.

    log_odds: float64 [N], exact at the cut; value: float64 [N], what the options rank by; k: how many positions of each
    row go; deferred: bool [b, n], those that go only once no other is left, None where there are none.
    """

    log_odds: Tensor
    value: Tensor
    k: int | Tensor
    deferred: Tensor | None


class Choice(NamedTuple):
    """What a step commits.

    completion: what was chosen from; scale: float64 [N], the factor of each position; ranked: by confidence; value:
    float64 [N], what ranks them, confidence or the strategy's own order; chosen: bool [b, n]; ties: int64 [b].
    sensitivity: of the strategy's own order (`Abilities`), None where confidence ranks.
    """

    completion: Completion
    scale: Tensor
    ranked: Ranked
    value: Tensor
    chosen: Tensor
    ties: Tensor
    sensitivity: float | None = None

    @property
    def candidate(self) -> Tensor:
        """Return the completed answers, int64 [b, n], -1 where a masked position got no candidate."""
        return self.completion.candidate
