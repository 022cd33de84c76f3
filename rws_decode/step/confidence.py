"""Step 4, first half: the order of positions, by the confidence of their scaled logits in a chosen precision."""

from __future__ import annotations

import torch
from torch import Tensor

from rws_decode.settings import Precision, Ranking

# Rows of logits widened at once: 64 rows of a 126,464-word vocabulary are 62 MiB in float64.
_CHUNK = 64


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
    for a factor that is not positive and finite.

    >>> z = torch.tensor([[0.0, 1.0, 3.0], [0.0, 30.0, 60.0]])
    >>> best = z.argmax(-1)
    >>> rank_values(z, best, 2.0).round(decimals=4).tolist()
    [3.8731, 60.0]
    >>> rank_values(z, best, 8.0, "probability", "float32").tolist()
    [0.9999998807907104, 1.0]
    """
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
    """Return `rank_values` of all rows at once, unchecked. factor: [N], in the dtype of scaling."""
    picked = token[:, None]
    # The product is in the wider of the two dtypes, that of scaling.
    if ranking != "log-odds":
        scaled = (logits.to(dtype) * factor[:, None]).to(dtype)
        return torch.softmax(scaled, dim=-1).gather(1, picked)[:, 0].double()
    wide = logits.to(dtype)
    gaps = wide - wide.gather(1, picked)
    gaps.scatter_(1, picked, float("-inf"))
    return -torch.logsumexp((gaps * factor[:, None]).to(dtype), dim=-1).double()
