"""Which prompts are decoded together: rows of like length, as many as memory holds."""

from __future__ import annotations

from collections.abc import Sequence


def logit_bytes(length: int, vocabulary: int, *, width: int = 0, guided: bool = False, published: bool = False) -> int:
    """Return the bytes that one row's logits take at the first step, when all of its positions are masked.

    length x vocabulary numbers of 4 bytes, held as they come and once more for the current block; twice more under
    guidance (with and without prompt), and for published copies. width: more
    columns for which logits come, those of the prompt where a predictor gives all logits alone. Half precision takes
    half of this, float64 twice. Ranking widens 64 positions at a time and is not counted, nor are the predictor's own
    activations.

    >>> logit_bytes(256, 126_464)
    258998272
    """
    copies = 2 + 2 * guided + 2 * published
    return 4 * vocabulary * (length * copies + (length + width) * (1 + guided) * (width > 0))


def batches(
    widths: Sequence[int], row_bytes: int | None, memory: int, spread: float | None = None, *, alone: bool = False
) -> list[list[int]]:
    """Return the indices of the rows of each batch, every row once: sorted by width, as many as fit, at least 1.

    widths: columns of each row; row_bytes: what a row takes, None for unknown (then memory sets no limit); memory:
    bytes; spread: by how large a share a row may be wider than the narrowest of its batch, None for any; alone: each
    row is a batch. Within a batch the indices rise.

    >>> batches([5, 90, 6, 80], row_bytes=10, memory=25), batches([5, 90, 6, 80], None, 0, spread=0.5)
    ([[0, 2], [1, 3]], [[0, 2], [1, 3]])
    """
    most = len(widths) if row_bytes is None else max(1, memory // max(row_bytes, 1))
    most = 1 if alone else most
    groups: list[list[int]] = []
    for row in sorted(range(len(widths)), key=widths.__getitem__):
        if not groups or len(groups[-1]) == most or _too_wide(widths[row], widths[groups[-1][0]], spread):
            groups.append([])
        groups[-1].append(row)
    return [sorted(batch) for batch in groups]


def _too_wide(width: int, narrowest: int, spread: float | None) -> bool:
    return spread is not None and width > narrowest * (1 + spread)
