"""Causal language models of transformers as mask predictors: attention both ways, logits at their positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from rws_decode.common.threads import torch_threads
from rws_decode.predictors.masked_language_model import HFMaskPredictor

ATTENTION = "bidirectional_sdpa"


def _attention(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, Tensor | None]:
    """Return scaled dot-product attention over all positions, or those of the mask, bool [B, 1, 1, L].

    Where the module is watched by a hook, its shares [B, heads, L, L] too, which the kernel does not give.
    """
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    options["is_causal"] = False
    query, key = query.to(value.dtype), key.to(value.dtype)
    mixed, _ = sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    if not module._forward_hooks:
        return mixed, None
    keys = key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)
    scores = query @ keys.transpose(2, 3) * module.scaling
    if attention_mask is not None:
        scores = scores.masked_fill(~attention_mask, -torch.inf)
    return mixed, scores.softmax(dim=-1)


def attend_both_ways() -> str:
    """Return the name under which `from_pretrained(attn_implementation=...)` finds bidirectional attention.

    transformers builds no mask for a name that it has none for, so the kernels get none where no row is padded.
    """
    from transformers import AttentionInterface

    AttentionInterface.register(ATTENTION, _attention)
    return ATTENTION


def turn_precisely(model: Any) -> None:
    """Have the rotary angles given in float32 whatever the weights' dtype, as LLaDA's rope_full_precision asks."""

    def in_float32(
        module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        # The module reads dtype and device of its first argument, no values.
        return (args[0].new_empty(0, dtype=torch.float32), *args[1:]), kwargs

    model.model.rotary_emb.register_forward_pre_hook(in_float32, with_kwargs=True)


class BidirectionalPredictor(HFMaskPredictor):
    """A Llama, Qwen2, Qwen3 or Qwen3-MoE of transformers whose positions all see each other, as LLaDA's and Dream's do.

    model: loaded with the attention of `attend_both_ways`. vocabulary: ids from there on fill up the embedding and are
    forbidden. shifted: whether the model's logits at i - 1 predict token i, and the first ones their own; `logits` and
    `logits_at` give those that predict each place. precise_rotary: see `turn_precisely`. The rest as
    `HFMaskPredictor`. ValueError for a model with another attention.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        vocabulary: int | None = None,
        shifted: bool = False,
        precise_rotary: bool = False,
        pad_id: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(model, tokenizer, **options)
        self.keeps_keys = True
        self.shifted = shifted
        if pad_id is not None:
            self.pad_id = pad_id
        filling = range(self.vocab_size if vocabulary is None else vocabulary, self.vocab_size)
        self.forbidden_ids: Sequence[int] = tuple(sorted({*self.forbidden_ids, *filling}))
        if precise_rotary:
            turn_precisely(model)

    def _refuse_causal(self) -> None:
        if (attention := self.model.config._attn_implementation) != ATTENTION:
            raise ValueError(f"model attends by {attention}: {ATTENTION} is needed")

    @torch_threads()
    def logits(self, canvas: Tensor, attention_mask: Tensor | None) -> Tensor:
        """Return the logits [B, L, V] that predict each place of canvas int64 [B, L]."""
        logits = self._forward(canvas, attention_mask)
        if not self.shifted:
            return logits
        batch, length = canvas.shape
        column = torch.arange(length, device=canvas.device).expand(batch, length)
        row = torch.arange(batch, device=canvas.device)[:, None].expand(batch, length)
        return logits[row, self.source(attention_mask, row, column)]

    @torch_threads()
    def logits_at(self, canvas: Tensor, attention_mask: Tensor | None, row: Tensor, column: Tensor) -> Tensor:
        """Return the logits [N, V] that predict N places, row rising: the head is applied to no others."""
        return super().logits_at(canvas, attention_mask, row, self.source(attention_mask, row, column))

    def source(self, attention_mask: Tensor | None, row: Tensor, column: Tensor) -> Tensor:
        """Return the columns whose logits predict these: where shifted, one to the left, from a row's first on."""
        if not self.shifted:
            return column
        first = torch.zeros_like(column) if attention_mask is None else attention_mask.int().argmax(dim=1)[row]
        return torch.maximum(column - 1, first)

    def _forward(self, canvas: Tensor, attention_mask: Tensor | None, network: Any = None) -> Tensor:
        positions = self._positions(attention_mask)
        padded = attention_mask is not None and not bool(attention_mask.all())
        visible = self.visible(attention_mask if padded else None, canvas)
        network = self.model if network is None else network
        return network(input_ids=canvas, attention_mask=visible, position_ids=positions, use_cache=False).logits

    def visible(self, attention_mask: Tensor | None, canvas: Tensor) -> Tensor | None:
        """Return which columns each column of canvas int64 [B, L] sees, bool [B, 1, 1 or L, L]; None for all."""
        return None if attention_mask is None else attention_mask[:, None, None, :]
