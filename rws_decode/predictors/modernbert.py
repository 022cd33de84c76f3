"""ModernBERT's forward at the places that are asked for: the same network, without what those places do not need."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class ModernBertAt:
    """Final hidden states of a transformers ModernBertModel (Warner et al. 2024) at N places of a canvas.

    The arithmetic is the model's own, arranged to do less: queries, output projection and feed-forward of the last
    layer at the N places alone; embedding, its norm and the first layer's projections looked up by token, as they do
    not depend on the place; residual sums inside the matrix products. Results agree with the model up to rounding.

    It is meant for evaluation mode. Weights are read where they are; the tables, [V, 4 h] numbers, are made once.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.heads: int = model.config.num_attention_heads
        self._tables: tuple[Tensor, Tensor] | None = None
        self._made_from: tuple[Any, ...] = ()
        self._angles: dict[int, tuple[Tensor, Tensor]] = {}

    @staticmethod
    def supported(model: Any) -> bool:
        """Return whether a model is a ModernBERT of full attention, without biases, of unscaled rotary positions."""
        config = model.config
        if config.model_type != "modernbert" or not hasattr(model, "final_norm"):
            return False
        rotary = config.rope_parameters["full_attention"] or {}
        plain = set(config.layer_types) == {"full_attention"} and rotary.get("rope_type") == "default"
        return plain and not (config.attention_bias or config.mlp_bias)

    def plain(self) -> bool:
        """Return whether all linear layers are their weights alone, as those of an adapter are not."""
        return all(type(part) is nn.Linear for part in self.model.modules() if "Linear" in type(part).__name__)

    @torch.no_grad()
    def __call__(
        self, canvas: Tensor, attention_mask: Tensor | None, positions: Tensor | None, row: Tensor, column: Tensor
    ) -> Tensor:
        """Return hidden states [N, h] after the final norm.

        canvas: int64 [B, L]; attention_mask: bool [B, L] or None; positions: int64 [B, L], None for 0 to L - 1; row,
        column: int64 [N], row rising.
        """
        batch, length = canvas.shape
        angles = self._cos_sin(length) if positions is None else self._cos_sin_at(positions)
        visible = None if attention_mask is None else attention_mask[:, None, None, :]
        embedded, projected = self._token_tables()
        x, qkv = embedded[canvas].view(batch * length, -1), projected[canvas]  # [B L, h], [B, L, 3 h]
        *layers, last = self.model.layers
        for layer, following in zip(layers, [*layers[1:], last], strict=True):
            query, key, value = self._rotated(qkv, angles)
            mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=visible)
            x = self._finish(layer, x, mixed.transpose(1, 2).reshape(batch * length, -1))
            qkv = following.attn.Wqkv(following.attn_norm(x)).view(batch, length, -1)
        query, key, value = self._rotated(qkv, angles)
        # Rows may ask for different numbers of places: a row's own stand first, and what fills up is dropped.
        counts = torch.bincount(row, minlength=batch)
        rank = torch.arange(len(row), device=row.device) - (counts.cumsum(0) - counts)[row]
        picked = query.new_zeros(batch, self.heads, int(counts.max()) if len(row) else 0, query.shape[-1])
        picked[row, :, rank] = query[row, :, column]
        mixed = F.scaled_dot_product_attention(picked, key, value, attn_mask=visible)
        mixed = mixed[row, :, rank].flatten(1)  # [N, h]
        return self.model.final_norm(self._finish(last, x[row * length + column], mixed))

    def _finish(self, layer: Any, x: Tensor, mixed: Tensor) -> Tensor:
        x = torch.addmm(x, mixed, layer.attn.Wo.weight.T)
        first, gate = layer.mlp.Wi(layer.mlp_norm(x)).chunk(2, dim=-1)
        return torch.addmm(x, layer.mlp.act(first).mul_(gate), layer.mlp.Wo.weight.T)

    def _rotated(self, qkv: Tensor, angles: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Return query, key and value [B, heads, L, h / heads], the first two turned by their places' angles."""
        batch, length, _ = qkv.shape
        cos, sin = angles  # [1 or B, L, 1, 1, h / heads / 2]
        parts = qkv.view(batch, length, 3, self.heads, -1)
        first, second = parts[:, :, :2].chunk(2, dim=-1)
        turned = torch.empty_like(parts[:, :, :2], memory_format=torch.contiguous_format)
        left, right = turned.chunk(2, dim=-1)
        torch.mul(first, cos, out=left).addcmul_(second, sin, value=-1)
        torch.mul(second, cos, out=right).addcmul_(first, sin)
        query, key = turned.permute(2, 0, 3, 1, 4).unbind(0)
        return query, key, parts[:, :, 2].transpose(1, 2)

    def _token_tables(self) -> tuple[Tensor, Tensor]:
        embeddings, projection = self.model.embeddings, self.model.layers[0].attn.Wqkv
        weights = (embeddings.tok_embeddings.weight, embeddings.norm.weight, projection.weight)
        # Weights that were moved or trained since then give other tables (not those written through .data).
        state = tuple((weight.data_ptr(), weight._version) for weight in weights)
        if self._tables is None or self._made_from != state:
            every = torch.arange(self.model.config.vocab_size, device=weights[0].device)
            embedded = embeddings(input_ids=every)
            self._tables, self._made_from = (embedded, projection(embedded)), state
        return self._tables

    def _cos_sin(self, length: int) -> tuple[Tensor, Tensor]:
        if length not in self._angles:
            device = self.model.embeddings.tok_embeddings.weight.device
            self._angles[length] = self._cos_sin_at(torch.arange(length, device=device)[None])
        return self._angles[length]

    def _cos_sin_at(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        like = self.model.embeddings.tok_embeddings.weight
        cos, sin = self.model.rotary_emb(like, positions, "full_attention")  # [.., L, h / heads], both halves alike
        half = cos.shape[-1] // 2
        return cos[..., None, None, :half], sin[..., None, None, :half]
