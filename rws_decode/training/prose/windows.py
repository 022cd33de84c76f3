"""Windows of prompt and answer over token streams, and the masks that the objectives put on them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from rws_decode.training.prose.corpus import Document
from rws_decode.training.prose.vocabulary import SPECIAL

__all__ = [
    "ANSWER",
    "CLS",
    "EOS",
    "MASK",
    "PROMPT",
    "SHORTEST",
    "Streams",
    "cut",
    "heldout_windows",
    "mask_answer",
    "mask_anywhere",
    "sample_windows",
    "streams",
]

PROMPT = (16, 32)
ANSWER = 64
SHORTEST = 48
CLS, MASK, EOS = SPECIAL.index("[CLS]"), SPECIAL.index("[MASK]"), SPECIAL.index("[EOS]")


@dataclass(frozen=True)
class Streams:
    """Entries as token ids, and for every entry the positions at which a sentence begins."""

    tokens: tuple[Tensor, ...]
    sentences: tuple[Tensor, ...]

    @property
    def size(self) -> int:
        """Number of tokens."""
        return sum(len(t) for t in self.tokens)


def streams(tokenizer: PreTrainedTokenizerFast, documents: Sequence[Document]) -> Streams:
    """Token streams of all entries long enough for one window (shortest prompt and shortest answer)."""
    tokens, sentences = [], []
    for document in documents:
        for entry in document.entries:
            encoded = tokenizer(entry, add_special_tokens=False, return_offsets_mapping=True)
            ids = torch.tensor(encoded.input_ids)
            if len(ids) < PROMPT[0] + SHORTEST:
                continue
            starts = {0} | {m.end() for m in re.finditer(r"[.?!;][\"')]* (?=\S)", entry)}
            begin = [i for i, (a, _) in enumerate(encoded.offset_mapping) if a in starts]
            tokens.append(ids)
            sentences.append(torch.tensor(begin))
    if not tokens:
        raise ValueError(f"corpus: no entry has the {PROMPT[0] + SHORTEST} tokens that a window needs")
    return Streams(tuple(tokens), tuple(sentences))


def cut(entry: Tensor, begin: int, prompt: int) -> Tensor:
    """Window of shape (1 + prompt + 64,): [CLS], the prompt, and the answer, filled up with [EOS] where the entry ends.

    >>> cut(torch.arange(10, 100), 0, 16).shape
    torch.Size([81])
    """
    body = entry[begin : begin + prompt + ANSWER]
    window = torch.full((1 + prompt + ANSWER,), EOS)
    window[0] = CLS
    window[1 : 1 + len(body)] = body
    return window


def sample_windows(data: Streams, batch: int, generator: torch.Generator) -> tuple[Tensor, int]:
    """`batch` windows of one common prompt length (so that nothing is padded), and that length.

    Entries are drawn by length; every second window begins with a sentence, the others anywhere.
    """
    prompt = int(torch.randint(PROMPT[0], PROMPT[1] + 1, (), generator=generator))
    lengths = torch.tensor([max(1, len(t) - prompt - SHORTEST + 1) for t in data.tokens], dtype=torch.float64)
    chosen = torch.multinomial(lengths, batch, replacement=True, generator=generator)
    rows = []
    for row, index in enumerate(chosen.tolist()):
        last = int(lengths[index]) - 1
        begin = int(torch.randint(0, last + 1, (), generator=generator))
        if row % 2 == 0:
            earlier = data.sentences[index][data.sentences[index] <= begin]
            begin = int(earlier[-1]) if len(earlier) else 0
        rows.append(cut(data.tokens[index], begin, prompt))
    return torch.stack(rows), prompt


def mask_anywhere(windows: Tensor, low: float, high: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """First objective: one mask rate per row from [low, high], on any token but [CLS]. Returns (masked, weights).

    The weights make the weighted sum a mean over the masked tokens.
    """
    rates = low + (high - low) * torch.rand(len(windows), 1, generator=generator)
    masked = torch.rand(windows.shape, generator=generator) < rates
    masked[:, 0] = False
    return masked, masked.float() / max(1, int(masked.sum()))


def mask_answer(windows: Tensor, prompt: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Second objective, the diffusion bound: t uniform in (0, 1], answer tokens masked with probability t, weight 1/t.

    Returns (masked, weights) whose weighted sum of cross-entropies is an unbiased NELBO in nats per answer token.
    t is stratified over the rows, which leaves the expectation and lowers the variance. The prompt is never masked.
    """
    rows, length = windows.shape
    offset = torch.rand((), generator=generator)
    t = ((torch.arange(rows) + 1 - offset) / rows)[torch.randperm(rows, generator=generator)].unsqueeze(1)
    masked = torch.rand(windows.shape, generator=generator) < t
    masked[:, : 1 + prompt] = False
    answer = length - 1 - prompt
    return masked, masked / t / (rows * answer)


def heldout_windows(data: Streams, training: Streams, count: int, seed: int) -> list[tuple[Tensor, int]]:
    """`count` windows (window, prompt length) that begin with a sentence, without overlap, none close to training text.

    A window is close when more than half of its 8-grams occur in the training streams.
    """
    known = {tuple(t[i : i + 8].tolist()) for t in training.tokens for i in range(len(t) - 7)}
    generator = torch.Generator().manual_seed(seed)
    candidates = [(i, int(b)) for i, s in enumerate(data.sentences) for b in s]
    taken: dict[int, list[int]] = {}
    chosen: list[tuple[Tensor, int]] = []
    for j in torch.randperm(len(candidates), generator=generator).tolist():
        index, begin = candidates[j]
        prompt = int(torch.randint(PROMPT[0], PROMPT[1] + 1, (), generator=generator))
        entry = data.tokens[index]
        if len(entry) - begin < prompt + SHORTEST or any(
            abs(begin - b) < PROMPT[1] + ANSWER for b in taken.get(index, [])
        ):
            continue
        grams = [tuple(g) for g in entry[begin : begin + prompt + ANSWER].unfold(0, 8, 1).tolist()]
        if sum(g in known for g in grams) > len(grams) / 2:
            continue
        taken.setdefault(index, []).append(begin)
        chosen.append((cut(entry, begin, prompt), prompt))
        if len(chosen) == count:
            return chosen
    raise ValueError(f"held-out corpus: room for {len(chosen)} separate windows only; {count} are needed")
