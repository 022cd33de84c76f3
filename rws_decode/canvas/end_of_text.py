"""Suppress or defer end-of-text tokens, which confidence decoding tends to commit early."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import torch
from torch import Tensor

from rws_decode.canvas.schedule import EndOfText
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
    noise, so they mean the same at every scale and sampling temperature. (Candidates are sampled anew at each step, so
    a position that was deferred may get another token.)

    "defer" is what LLaDA's authors say of their flag confidence_eos_eot_inf (Nie et al. 2025, Appendix B.4).
    "defer-published" is what their code does: besides, the confidence of the other positions leaves those tokens out of
    the softmax; and where tokens are sampled (at a temperature above 0), the end of text itself (`end_id`) is
    left alone, and only the other ids wait, such as LLaDA's end of turn (github.com/ML-GSAI/LLaDA, generate.py and
    issue 137). temperature: that of sampling.

    ValueError for an unknown policy, and for one that acts where no end-of-text id is known or one is out of range.
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


@dataclass(frozen=True)
class Ends:
    """What a decode does about the tokens that end text: a policy of `end_tokens`, and the ids that it acts on."""

    policy: str = "none"
    ids: Sequence[int] = ()

    @property
    def suppressed(self) -> Sequence[int]:
        """The ids that are never committed."""
        return self.ids if self.policy == "suppress" else ()

    @property
    def defers(self) -> bool:
        """Whether positions that end text wait for the others."""
        return self.policy in ("defer", PUBLISHED)

    def level(self, ranking: str) -> bool:
        """Whether what waits has confidence 0 and one torch.topk chooses among all, as the published loop does."""
        return self.policy == PUBLISHED and ranking == "topk"

    def waits(self, candidate: Tensor) -> Tensor:
        """Return which positions wait for the others, bool like `candidate`: when deferring, those that end text."""
        if not self.defers:
            return torch.zeros_like(candidate, dtype=torch.bool)
        return torch.isin(candidate, torch.tensor(self.ids, dtype=candidate.dtype, device=candidate.device))

    def ranked(self, logits: Tensor, candidate: Tensor) -> Tensor:
        """Return the logits by which N positions are ranked, [N, V]: those given, but under "defer-published".

        There the tokens `ids` have no share, and positions whose candidate is one of them are level, as the published
        loop gives all of these confidence 0. candidate: int64 [N].
        """
        if self.policy != PUBLISHED or not self.ids:
            return logits
        ranked = logits.clone()
        ranked[:, list(self.ids)] = float("-inf")
        return ranked.masked_fill_(self.waits(candidate)[:, None], 0.0)
