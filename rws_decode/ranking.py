"""How masked positions are ordered, in which precision, and how ties break."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

__all__ = ["Precision", "Ranking", "Selection", "ceiling", "rank_values", "select_top"]

Ranking = Literal["log-odds", "probability"]
Precision = Literal["bfloat16", "float32", "float64"]

# Rows of logits widened at once: 64 rows of a 126,464-word vocabulary are 62 MiB in float64.
_CHUNK = 64


class Selection(NamedTuple):
    """The outcome of `select_top`: chosen, bool [B, n]; ties, int64 [B], candidates level with the last chosen one."""

    chosen: Tensor
    ties: Tensor


def ceiling(ranking: Ranking) -> float:
    """Return the value at which a ranking saturates: probability 1, log-odds infinity.

    Positions at the ceiling cannot be told apart, however far apart their logits are.

    >>> ceiling("probability"), ceiling("log-odds")
    (1.0, inf)
    """
    _check("ranking", ranking, get_args(Ranking))
    return 1.0 if ranking == "probability" else float("inf")


def rank_values(
    logits: Tensor,
    token: Tensor,
    factor: Tensor | float,
    ranking: Ranking = "log-odds",
    precision: Precision = "float64",
) -> Tensor:
    """Return the confidence of `token` under the logits times `factor`, by which positions are ranked; float64 [N].

    Step 4 of the paper's algorithm. With scaled logits c z and chosen token t, "probability" is
    softmax(c z)_t, computed throughout in `precision` (the scalar itself is applied as PyTorch applies a Python
    number), as public decoders do: it reaches exactly 1 once c times the top-two margin passes about 6 in bfloat16,
    17 in float32. "log-odds" is logit(softmax(c z)_t) = -logsumexp_{k != t} c (z_k - z_t): the same order, as logit
    is increasing, but it never saturates at finite logits.

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
    _check("ranking", ranking, get_args(Ranking))
    _check("precision", precision, get_args(Precision))
    dtype: torch.dtype = getattr(torch, precision)
    # PyTorch multiplies a bfloat16 tensor by a Python number in float32 and rounds once; do the same per row.
    compute = torch.float64 if dtype == torch.float64 else torch.float32
    scale = torch.as_tensor(factor, dtype=torch.float64, device=logits.device).expand(logits.shape[0])
    if not bool((torch.isfinite(scale) & (scale > 0)).all()):
        raise ValueError(f"factor is {factor}: it must be positive and finite")
    chunks = zip(logits.split(_CHUNK), token.split(_CHUNK), scale.to(compute).split(_CHUNK), strict=True)
    pieces = [_rank_chunk(rows, chosen, factors, ranking, dtype) for rows, chosen, factors in chunks]
    return torch.cat(pieces)


def _rank_chunk(logits: Tensor, token: Tensor, factor: Tensor, ranking: Ranking, dtype: torch.dtype) -> Tensor:
    picked, compute = token[:, None], factor.dtype
    if ranking == "probability":
        scaled = (logits.to(dtype).to(compute) * factor[:, None]).to(dtype)
        return torch.softmax(scaled, dim=-1).gather(1, picked)[:, 0].double()
    wide = logits.to(dtype)
    gaps = wide - wide.gather(1, picked)
    gaps.scatter_(1, picked, float("-inf"))
    return -torch.logsumexp((gaps.to(compute) * factor[:, None]).to(dtype), dim=-1).double()


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
    wanted = torch.as_tensor(k, dtype=torch.int64, device=values.device).expand(values.shape[0])
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


def _check(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} is {value!r}: it must be one of {', '.join(allowed)}")
