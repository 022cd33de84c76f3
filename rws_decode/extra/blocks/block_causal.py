"""Causal language models of transformers that fill block after block: a position sees its own block and those before.

Blocks are counted back from the last column of a row, so that an answer of whole blocks begins with one, as in BD3LM's
own sampler (github.com/ZHZisZZ/dllm, core/samplers/bd3lm.py); the prompt's first block may be short. The loops of SDAR
(github.com/JetAstra/SDAR, generate.py), LLaDA2 and Fast-dLLM v2 count from the prompt's first token. Both are the same
where the prompt's length is a multiple of the block's.
"""

from __future__ import annotations

from threading import get_ident
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rws_decode.common.threads import torch_threads
from rws_decode.predictors.bidirectional import BidirectionalPredictor


def block_mask(real: Tensor, block: int, start: int = 0, stop: int | None = None) -> Tensor:
    """Return the attention mask: the columns that each column sees, bool [B, 1, L, L]. real: bool [B, L], no padding.

    start, stop: of the columns that see, up to `stop`. Padding is seen by itself alone, so that no kernel divides by 0.

    >>> block_mask(torch.tensor([[True, True, True]]), 2)[0, 0].int().tolist()
    [[1, 0, 0], [1, 1, 1], [1, 1, 1]]
    """
    column = torch.arange(real.shape[1], device=real.device)
    last = torch.where(real, column, 0).amax(dim=1, keepdim=True)
    to_the_end = (last - column).div(block, rounding_mode="floor")  # [B, L], blocks
    own, other = to_the_end[:, start:stop, None], to_the_end[:, None, :stop]
    itself = column[start:stop, None] == column[:stop]
    return (itself | (other >= own) & real[:, None, :stop])[:, None]


class _Prefix(NamedTuple):
    """Whole blocks without masks, and their keys and values. ids, real: [B, C]; width: of the canvases they begin."""

    ids: Tensor
    real: Tensor
    width: int
    cache: Any

    def begins(self, ids: Tensor, real: Tensor) -> bool:
        """Return whether a canvas begins with these columns."""
        columns = self.ids.shape[1]
        if self.width != ids.shape[1] or self.ids.shape[0] != ids.shape[0] or self.ids.device != ids.device:
            return False
        return torch.equal(self.ids, ids[:, :columns]) and torch.equal(self.real, real[:, :columns])


class BlockCausalPredictor(BidirectionalPredictor):
    """A model as `BidirectionalPredictor` has it, whose positions see their block of `block` tokens and those before.

    `logits_at` keeps keys and values of the blocks before the first mask, which no later token changes, for a thread's
    last canvases of as many rows, and computes the blocks from there to the last one needed. `logits` computes
    everything. The two agree up to rounding.
    """

    def __init__(self, model: Any, tokenizer: Any = None, *, block: int, **options: Any) -> None:
        super().__init__(model, tokenizer, **options)
        self.block = block
        self._prefixes: dict[int, _Prefix] = {}  # of each thread: none cuts the keys of another

    def visible(self, attention_mask: Tensor | None, canvas: Tensor) -> Tensor | None:
        """Return what each column sees, bool [B or 1, 1, L, L]."""
        everything = torch.ones_like(canvas[:1], dtype=torch.bool)
        return block_mask(everything if attention_mask is None else attention_mask, self.block)

    @torch_threads()
    @torch.no_grad()
    def logits_at(self, canvas: Tensor, attention_mask: Tensor | None, row: Tensor, column: Tensor) -> Tensor:
        """Return the logits [N, V] that predict N places, row rising, from their blocks and the keys before."""
        if self.model._forward_pre_hooks:  # such as those of `watch`, which see the whole canvas
            return super().logits_at(canvas, attention_mask, row, column)
        source = self.source(attention_mask, row, column)
        real = torch.ones_like(canvas, dtype=torch.bool) if attention_mask is None else attention_mask
        # Rows are shifted to end in the same column, on whichever side they are padded, and so do their blocks.
        width = canvas.shape[1]
        columns = torch.arange(width, device=canvas.device)
        padding = width - 1 - torch.where(real, columns, 0).amax(dim=1)
        order = (columns - padding[:, None]) % width
        ids, real, source = canvas.gather(1, order), real.gather(1, order), source + padding[row]
        open_ = ((ids == self.mask_id) & real).any(dim=0).nonzero().flatten().tolist()
        first, last = (int(source.min()), int(source.max())) if len(source) else (width - 1, width - 1)
        start, stop = self._start(min([first, *open_[:1]]), width), self._start(last, width) + self.block
        start = max(0, start)
        prefix = self._extended(ids, real, start)
        hidden = self._run(ids, real, start, stop, prefix.cache)
        prefix.cache.crop(start - stop)
        self._prefixes[get_ident()] = prefix
        return self.model.lm_head(hidden[row, source - start])

    def _start(self, column: int, width: int) -> int:
        """Return the first column of a column's block, below 0 for one that is cut short."""
        return width + (column - width) // self.block * self.block

    def _extended(self, ids: Tensor, real: Tensor, start: int) -> _Prefix:
        """Return the prefix of the columns before `start`: the cached one extended, or a new one."""
        from transformers import DynamicCache

        # The prefix is taken out of the cache meanwhile, so that a forward that fails leaves no broken one.
        prefix = self._prefixes.pop(get_ident(), None)
        if prefix is None or not prefix.begins(ids, real) or prefix.ids.shape[1] > start:
            prefix = _Prefix(ids[:, :0], real[:, :0], ids.shape[1], DynamicCache())
        have = prefix.ids.shape[1]
        if have < start:
            self._run(ids, real, have, start, prefix.cache)
        return prefix._replace(ids=ids[:, :start].clone(), real=real[:, :start].clone())

    def _run(self, ids: Tensor, real: Tensor, start: int, stop: int, cache: Any) -> Tensor:
        """Return final hidden states [B, stop - start, d] of some columns; their keys and values join the cache."""
        mask = None
        if stop - start > self.block or not bool(real[:, :stop].all()):
            mask = block_mask(real, self.block, start, stop)
        return self.model.model(
            input_ids=ids[:, start:stop],
            attention_mask=mask,
            position_ids=(real.long().cumsum(dim=1) - 1).clamp(min=0)[:, start:stop],
            past_key_values=cache,
            use_cache=True,
        ).last_hidden_state
