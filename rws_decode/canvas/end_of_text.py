"""What is done about end-of-text tokens, which confidence decoding likes to commit early and everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import torch
from torch import Tensor

from rws_decode.canvas import EndOfText
from rws_decode.common.arguments import is_id
from rws_decode.predictors.base import MaskPredictor, ends_of
from rws_theory.checks import one_of

PUBLISHED = "defer-published"


def end_tokens(
    predictor: MaskPredictor, policy: EndOfText, end_ids: Sequence[int] | None, temperature: float = 0.0
) -> list[int]:
    """Return the end-of-text ids that a policy acts on, sorted: those given, or all of the predictor's.

    Policies: "none" leaves them alone; "suppress" sets their logits to -inf, so that they are never committed and take
    no probability; "defer" keeps the logits, and commits a position whose candidate ends the text only once no other
    position of the block is masked. Both act on logits or candidates as they are, before any factor and after any
    noise, so they mean the same at every scale and sampling temperature. (Drawn candidates are drawn anew at each step,
    so a position that was deferred may come up with another token.)

    "defer" is what LLaDA's authors say of their flag confidence_eos_eot_inf (Nie et al. 2025, Appendix B.4).
    "defer-published" is what their code does: besides, the confidence of the other positions leaves those tokens out of
    the softmax; and where tokens are drawn, at a sampling temperature above 0, the end of text itself (`end_id`) is
    left alone, and only the other ids wait, such as LLaDA's end of turn (github.com/ML-GSAI/LLaDA, generate.py and
    issue 137). temperature: that of sampling.

    ValueError for an unknown policy, and for one that acts where no end-of-text id is known or one is out of range.

    >>> from rws_decode.predictors import CallablePredictor
    >>> end_tokens(CallablePredictor(lambda canvas: canvas, mask_id=0, end_id=5), "defer", None)
    [5]
    """
    one_of("end_of_text", policy, get_args(EndOfText))
    given = list(ends_of(predictor) if end_ids is None else end_ids)
    if not all(map(is_id, given)):
        raise ValueError(f"end_ids is {given}: token ids, whole numbers, are needed")
    ids = sorted({int(token) for token in given})
    if policy != "none" and not ids:
        raise ValueError(f"end_of_text is {policy!r}: predictor {predictor.name} names no end of text, give end_ids")
    if policy == PUBLISHED and temperature > 0:
        ids = [token for token in ids if token != predictor.end_id]
    limit = float("inf") if predictor.vocab_size is None else predictor.vocab_size
    for token in ids:
        if not 0 <= token < limit:
            raise ValueError(f"end_ids holds {token}: {predictor.name} has ids 0 to {limit - 1}")
    return ids


def deferred_positions(candidate: Tensor, policy: str, ids: Sequence[int]) -> Tensor:
    """Return which positions wait for the others, bool like `candidate`: when deferring, those that end text.

    >>> deferred_positions(torch.tensor([[5, 7]]), "defer", [5]).tolist()
    [[True, False]]
    """
    if policy not in ("defer", PUBLISHED):
        return torch.zeros_like(candidate, dtype=torch.bool)
    return torch.isin(candidate, torch.tensor(ids, dtype=candidate.dtype, device=candidate.device))


def ranked_logits(logits: Tensor, candidate: Tensor, policy: str, ids: Sequence[int]) -> Tensor:
    """Return the logits by which N positions are ranked, [N, V]: those given, but under "defer-published".

    There the tokens `ids` have no share, and positions whose candidate is one of them are level, as the published loop
    gives all of these confidence 0. candidate: int64 [N].

    >>> ranked_logits(torch.tensor([[5.0, 2.0], [1.0, 2.0]]), torch.tensor([0, 1]), "defer-published", [0]).tolist()
    [[0.0, 0.0], [-inf, 2.0]]
    """
    if policy != PUBLISHED or not ids:
        return logits
    ranked = logits.clone()
    ranked[:, list(ids)] = float("-inf")
    return ranked.masked_fill_(deferred_positions(candidate, policy, ids)[:, None], 0.0)
