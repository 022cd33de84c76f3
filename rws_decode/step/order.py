"""How masked positions are ordered by confidence, in which precision, and how ties break."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

__all__ = [
    "Precision",
    "Ranking",
    "Selection",
    "at_the_cut",
    "check_ranking",
    "dtype_of",
    "rank_rows",
    "rank_values",
    "select_deferring",
    "select_top",
    "select_topk",
]

Ranking = Literal["log-odds", "probability", "topk"]
Precision = Literal["model", "bfloat16", "float32", "float64"]

# Rows of logits widened at once: 64 rows of a 126,464-word vocabulary are 62 MiB in float64.
_CHUNK = 64


class Selection(NamedTuple):
    """The outcome of `select_top`: chosen, bool [B, n]; ties, int64 [B], candidates level with the last chosen one."""

    chosen: Tensor
    ties: Tensor


def check_ranking(ranking: str, precision: str) -> None:
    """Raise ValueError, naming the argument, unless both are among `Ranking` and `Precision`."""
    known = {"ranking": (ranking, get_args(Ranking)), "precision": (precision, get_args(Precision))}
    for name, (value, allowed) in known.items():
        if value not in allowed:
            raise ValueError(f"{name} is {value!r}: it must be one of {', '.join(allowed)}")


def dtype_of(precision: Precision, logits: Tensor) -> torch.dtype:
    """Return the dtype that a precision names; "model" is that of the logits.

    >>> dtype_of("model", torch.zeros(1, dtype=torch.bfloat16)), dtype_of("float32", torch.zeros(1))
    (torch.bfloat16, torch.float32)
    """
    return logits.dtype if precision == "model" else getattr(torch, precision)


def rank_values(
    logits: Tensor,
    token: Tensor,
    factor: Tensor | float,
    ranking: Ranking = "log-odds",
    precision: Precision = "float64",
) -> Tensor:
    """Return the confidence of `token` under the logits times `factor`, by which positions are ranked; float64 [N].

    Step 4 of the paper's algorithm. With scaled logits c z and chosen token t, "probability" and "topk" are
    softmax(c z)_t, computed throughout in `precision` (the scalar itself is applied as PyTorch applies a Python
    number), as public decoders do: it reaches exactly 1 once c times the top-two margin passes about 6 in bfloat16,
    17 in float32. "log-odds" is logit(softmax(c z)_t) = -logsumexp_{k != t} c (z_k - z_t): the same order, as logit
    is increasing, but it never saturates at finite logits; with delta the lead of t over the next token it is within
    4 eps (c |delta| + log V) of the exact value, eps that of `precision` (2^-52 in float64) and logits that the
    precision holds. The precision "model" is the dtype of the logits.

    logits: [N, V], any floating dtype; -inf marks a token that cannot be committed. token: int64 [N]. factor:
    positive, one number or [N]. Returns +inf log-odds (probability 1) where no other token is possible. ValueError
    for an unknown ranking or precision and for a factor that is not positive and finite.

    >>> z = torch.tensor([[0.0, 1.0, 3.0], [0.0, 30.0, 60.0]])
    >>> best = z.argmax(-1)
    >>> rank_values(z, best, 2.0).round(decimals=4).tolist()
    [3.8731, 60.0]
    >>> rank_values(z, best, 8.0, "probability", "float32").tolist()
    [0.9999998807907104, 1.0]
    """
    check_ranking(ranking, precision)
    dtype = dtype_of(precision, logits)
    # PyTorch multiplies a bfloat16 tensor by a Python number in float32 and rounds once; do the same per row.
    compute = torch.float64 if dtype == torch.float64 else torch.float32
    scale = torch.as_tensor(factor, dtype=torch.float64, device=logits.device).expand(logits.shape[0])
    if not bool((torch.isfinite(scale) & (scale > 0)).all()):
        raise ValueError(f"factor is {factor}: it must be positive and finite")
    chunks = zip(logits.split(_CHUNK), token.split(_CHUNK), scale.to(compute).split(_CHUNK), strict=True)
    pieces = [rank_rows(rows, chosen, factors, ranking, dtype) for rows, chosen, factors in chunks]
    return torch.cat(pieces)


def rank_rows(logits: Tensor, token: Tensor, factor: Tensor, ranking: Ranking, dtype: torch.dtype) -> Tensor:
    """Return `rank_values` of all rows at once, unchecked: no value is looked at. factor: [N], in the dtype of scaling.

    >>> rank_rows(torch.tensor([[0.0, 2.0]]), torch.tensor([1]), torch.ones(1), "log-odds", torch.float32).tolist()
    [2.0]
    """
    picked = token[:, None]
    # The product is in the wider of the two dtypes, that of scaling.
    if ranking != "log-odds":
        scaled = (logits.to(dtype) * factor[:, None]).to(dtype)
        return torch.softmax(scaled, dim=-1).gather(1, picked)[:, 0].double()
    wide = logits.to(dtype)
    gaps = wide - wide.gather(1, picked)
    gaps.scatter_(1, picked, float("-inf"))
    return -torch.logsumexp((gaps * factor[:, None]).to(dtype), dim=-1).double()


def select_top(values: Tensor, candidates: Tensor, k: int | Tensor) -> Selection:
    """Choose the k candidates of largest value in each row; among equal values the leftmost goes first.

    The top-k commit of Step 4 of the paper's algorithm, with the tie rule that it leaves open. values: [B, n];
    candidates: bool [B, n]; k: one number or int64 [B], at most the candidates of that row. Guarantee: exact
    comparison of the values given; `ties` counts the candidates equal to the k-th value that did not fit, so it is 0
    exactly where the chosen set does not depend on the tie rule. ValueError for NaN among the candidates' values or
    for a k out of range.

    >>> values = torch.tensor([[0.5, 1.0, 1.0, 1.0, 2.0]])
    >>> select_top(values, torch.tensor([[True, True, True, True, False]]), 2)
    Selection(chosen=tensor([[False,  True,  True, False, False]]), ties=tensor([1]))
    """
    if values.ndim != 2 or values.shape != candidates.shape:
        shapes = f"{tuple(values.shape)} and {tuple(candidates.shape)}"
        raise ValueError(f"values and candidates have shapes {shapes}: one shape [B, n] is needed")
    wanted = torch.as_tensor(k, device=values.device).expand(values.shape[0])
    available = candidates.sum(dim=1)
    if bool(((wanted < 0) | (wanted > available)).any()):
        raise ValueError(
            f"k is {wanted.tolist()}: each at least 0 and at most its row's candidates, {available.tolist()}"
        )
    if bool((values.isnan() & candidates).any()):
        raise ValueError("values holds NaN at a candidate: NaN has no rank")
    # Two stable sorts: candidates first, larger values first, leftmost first, even where values are infinite.
    order = torch.argsort(values, dim=1, descending=True, stable=True)
    candidates_first = torch.argsort((~candidates).gather(1, order).to(torch.uint8), dim=1, stable=True)
    order = order.gather(1, candidates_first)
    fits = torch.arange(values.shape[1], device=values.device)[None, :] < wanted[:, None]
    chosen = torch.zeros_like(candidates).scatter_(1, order, fits)
    if values.shape[1] == 0:
        return Selection(chosen, torch.zeros_like(wanted))
    last = values.gather(1, order.gather(1, (wanted - 1).clamp(min=0)[:, None]))
    level = candidates & ~chosen & (values == last)
    return Selection(chosen, torch.where(wanted > 0, level.sum(dim=1), 0))


def select_topk(
    values: Tensor, candidates: Tensor, k: int | Tensor, *, columns: Tensor, width: int, dtype: torch.dtype
) -> Selection:
    """Choose the k candidates of largest value in each row by `torch.topk`, as public decoders do.

    What ties break by is PyTorch's affair: it depends on device, dtype and the length of the row, so the confidences
    are laid out as the official LLaDA loop has them, over all `width` columns of the canvas, -inf elsewhere, in
    `dtype`. columns: int64 [B, n], the canvas column of each value; the rest as in `select_top`, whose tie count it
    shares. Guarantee: the same set as `select_top` wherever `ties` is 0 and `dtype` holds the values.

    >>> values = torch.tensor([[0.5, 1.0, 0.25]])
    >>> everywhere, columns = torch.ones(1, 3, dtype=torch.bool), torch.tensor([[4, 5, 6]])
    >>> select_topk(values, everywhere, 1, columns=columns, width=7, dtype=torch.float32).chosen.tolist()
    [[False, True, False]]
    """
    leftmost = select_top(values, candidates, k)
    canvas = torch.full((len(values), width), float("-inf"), dtype=dtype, device=values.device)
    canvas.scatter_(1, columns, values.to(dtype).masked_fill(~candidates, float("-inf")))
    picked = torch.zeros_like(canvas, dtype=torch.bool)
    for row, number in enumerate(leftmost.chosen.sum(dim=1).tolist()):
        picked[row, torch.topk(canvas[row], number).indices] = True
    return Selection(picked.gather(1, columns), leftmost.ties)


def at_the_cut(eligible: Tensor, deferred: Tensor, k: int | Tensor) -> tuple[Tensor, Tensor]:
    """Return the positions among which a choice of k is made, bool [B, n], and how many of them are chosen, int64 [B].

    Those that are not deferred if there are more than k of them; else the deferred ones, for what is left of k.

    >>> both, late = torch.tensor([[True, True, True]]), torch.tensor([[False, True, True]])
    >>> at_the_cut(both, late, 2)
    (tensor([[False,  True,  True]]), tensor([1]))
    """
    early = eligible & ~deferred
    spare = k - early.sum(dim=1)
    return torch.where((spare < 0)[:, None], early, eligible & deferred), torch.where(spare < 0, k, spare)


def select_deferring(
    select: Callable[[Tensor, Tensor, Tensor], Selection],
    values: Tensor,
    candidates: Tensor,
    deferred: Tensor,
    k: int | Tensor,
) -> Selection:
    """Choose k candidates, those that are `deferred` (bool [B, n]) only once no other is left; by `select` within each.

    `ties` counts those at the cut, which lies in one of the two groups.

    >>> values, everywhere = torch.tensor([[3.0, 2.0, 1.0]]), torch.ones(1, 3, dtype=torch.bool)
    >>> select_deferring(select_top, values, everywhere, torch.tensor([[True, False, False]]), 2).chosen.tolist()
    [[False, True, True]]
    """
    wanted = torch.as_tensor(k, device=values.device).expand(values.shape[0])
    if not bool(deferred.any()):
        return select(values, candidates, wanted)
    early, late = candidates & ~deferred, candidates & deferred
    now = torch.minimum(wanted, early.sum(dim=1))
    first, second = select(values, early, now), select(values, late, wanted - now)
    return Selection(first.chosen | second.chosen, first.ties + second.ties)
