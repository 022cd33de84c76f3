"""Greedy confidence decoding of a batch, as the judgement and the repetition objective use it."""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import BertForMaskedLM

from rws_decode.training.prose.vocabulary import SPECIAL
from rws_decode.training.prose.windows import ANSWER, EOS, MASK

BLOCK = 32
PER_STEP = 2


@torch.no_grad()
def decode(model: BertForMaskedLM, prompts: Tensor, *, length: int = ANSWER, block: int = BLOCK, per_step: int = PER_STEP) -> tuple[Tensor, Tensor]:
    """Answers and commit steps, both of shape (rows, length): at each step the `per_step` surest masks of the block are committed.

    `prompts` has shape (rows, n), [CLS] included. Confidence is the probability of the best token; ties go leftmost.
    Special tokens other than [EOS] are never committed. Raises ValueError where `block` does not divide `length` or
    `per_step` does not divide `block`.
    """
    if length % block or block % per_step:
        raise ValueError(f"block {block}: must divide length {length} and be a multiple of per_step {per_step}")
    model.eval()
    rows, start = prompts.shape
    canvas = torch.cat([prompts, torch.full((rows, length), MASK)], dim=1)
    steps = torch.zeros(rows, length, dtype=torch.long)
    forbidden = [i for i in range(len(SPECIAL)) if i != EOS]
    for step in range(length // per_step):
        first = step * per_step // block * block
        inside = slice(start + first, start + first + block)
        logits = model.cls(model.bert(canvas).last_hidden_state[:, inside])  # (rows, block, vocabulary)
        logits[..., forbidden] = -torch.inf
        confidence, token = logits.softmax(-1).max(-1)
        open_ = canvas[:, inside] == MASK
        places = torch.where(open_, confidence, -1.0).sort(dim=1, descending=True, stable=True).indices[:, :per_step]
        canvas[:, inside].scatter_(1, places, token.gather(1, places))
        steps[:, first : first + block].scatter_(1, places, step)
    return canvas[:, start:], steps
