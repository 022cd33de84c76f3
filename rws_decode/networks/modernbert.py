"""ModernBERT (Warner et al. 2024) as the shipped models are, without the seconds that importing transformers takes.

The arithmetic is that of transformers' classes of the same names, operation by operation: on a CPU the bits are the
same. So are the names of modules and weights. What other ModernBERTs may have besides, such as sliding windows, is
not here.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Logits(NamedTuple):
    """What a network returns: logits [B, L, V], or [B, 1] of a classifier."""

    logits: Tensor


class _Rotary(nn.Module):
    def __init__(self, config: SimpleNamespace) -> None:
        super().__init__()
        size = config.hidden_size // config.num_attention_heads
        theta = config.rope_parameters["full_attention"]["rope_theta"]
        # On the CPU also where weights are laid out without memory.
        exponents = torch.arange(0, size, 2, dtype=torch.float, device="cpu") / size
        self.frequencies: Tensor
        self.register_buffer("frequencies", 1.0 / (theta**exponents), persistent=False)

    @torch.no_grad()
    def forward(self, like: Tensor, positions: Tensor, kind: str = "full_attention") -> tuple[Tensor, Tensor]:
        """Return cosines and sines [.., L, h / heads], both halves alike, in the dtype of `like`."""
        angles = positions[..., None].float() * self.frequencies
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos().to(like.dtype), angles.sin().to(like.dtype)


class _Attention(nn.Module):
    def __init__(self, config: SimpleNamespace) -> None:
        super().__init__()
        self.size = config.hidden_size // config.num_attention_heads
        self.Wqkv = nn.Linear(config.hidden_size, 3 * config.hidden_size, bias=False)
        self.Wo = nn.Linear(config.hidden_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor, angles: tuple[Tensor, Tensor], seen: Tensor | None) -> Tensor:
        batch, length, _ = x.shape
        parts = self.Wqkv(x).view(batch, length, 3, -1, self.size).unbind(dim=-3)
        query, key, value = (part.transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(
            _turned(query, angles), _turned(key, angles), value, attn_mask=seen, scale=self.size**-0.5
        )
        return self.Wo(mixed.transpose(1, 2).reshape(batch, length, -1))


class _FeedForward(nn.Module):
    def __init__(self, config: SimpleNamespace) -> None:
        super().__init__()
        self.Wi = nn.Linear(config.hidden_size, 2 * config.intermediate_size, bias=False)
        self.act = nn.GELU()
        self.Wo = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        first, gate = self.Wi(x).chunk(2, dim=-1)
        return self.Wo(self.act(first) * gate)


class _Layer(nn.Module):
    def __init__(self, config: SimpleNamespace, number: int) -> None:
        super().__init__()
        self.attn_norm = _norm(config) if number else nn.Identity()
        self.attn = _Attention(config)
        self.mlp_norm = _norm(config)
        self.mlp = _FeedForward(config)

    def forward(self, x: Tensor, angles: tuple[Tensor, Tensor], seen: Tensor | None) -> Tensor:
        x = x + self.attn(self.attn_norm(x), angles, seen)
        return x + self.mlp(self.mlp_norm(x))


class _Embeddings(nn.Module):
    def __init__(self, config: SimpleNamespace) -> None:
        super().__init__()
        # Not filled with random numbers: on a device without memory, that loads PyTorch's compiler.
        empty = torch.empty(config.vocab_size, config.hidden_size)
        self.tok_embeddings = nn.Embedding.from_pretrained(empty, freeze=False)
        self.norm = _norm(config)

    def forward(self, input_ids: Tensor) -> Tensor:
        return self.norm(self.tok_embeddings(input_ids))


class _Body(nn.Module):
    def __init__(self, config: SimpleNamespace) -> None:
        super().__init__()
        self.config = config
        self.embeddings = _Embeddings(config)
        self.layers = nn.ModuleList([_Layer(config, number) for number in range(config.num_hidden_layers)])
        self.final_norm = _norm(config)
        self.rotary_emb = _Rotary(config)

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None, position_ids: Tensor | None) -> Tensor:
        if position_ids is None:
            position_ids = torch.arange(input_ids.shape[1], device=input_ids.device)[None]
        x = self.embeddings(input_ids)
        angles = self.rotary_emb(x, position_ids)
        # Kernels are faster without a mask where nothing is padded, and then round in another way.
        seen = None
        if attention_mask is not None and not bool(attention_mask.all()):
            seen = attention_mask.bool()[:, None, None, :]
        for layer in self.layers:
            x = layer(x, angles, seen)
        return self.final_norm(x)


class _Head(nn.Module):
    def __init__(self, config: SimpleNamespace) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.act = nn.GELU()
        self.norm = _norm(config)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.act(self.dense(x)))


class ModernBertNetwork(nn.Module):
    """A trunk and a head of hidden states; what it is read for comes on top."""

    def __init__(self, config: SimpleNamespace) -> None:
        super().__init__()
        self.config = config
        self.model = _Body(config)
        self.head = _Head(config)

    @property
    def device(self) -> torch.device:
        """Return the device of the weights."""
        return self.model.final_norm.weight.device

    @property
    def dtype(self) -> torch.dtype:
        """Return the dtype of the weights."""
        return self.model.final_norm.weight.dtype

    def get_input_embeddings(self) -> nn.Embedding:
        """Return the embedding of tokens."""
        return self.model.embeddings.tok_embeddings


class ModernBertForMaskedLM(ModernBertNetwork):
    """A masked language model: logits [B, L, V] of every position."""

    def __init__(self, config: SimpleNamespace) -> None:
        super().__init__(config)
        self.decoder = nn.Linear(config.hidden_size, config.vocab_size, bias=True)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, position_ids: Tensor | None = None
    ) -> Logits:
        """Return logits [B, L, V] of ids int64 [B, L]; attention_mask: [B, L], 0 on padding; position_ids: [B, L]."""
        return Logits(self.decoder(self.head(self.model(input_ids, attention_mask, position_ids))))


class ModernBertForSequenceClassification(ModernBertNetwork):
    """A classifier of one output: logits [B, 1] from the mean of the final states."""

    def __init__(self, config: SimpleNamespace) -> None:
        super().__init__(config)
        self.classifier = nn.Linear(config.hidden_size, 1, bias=True)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, position_ids: Tensor | None = None
    ) -> Logits:
        """Return logits [B, 1] of ids int64 [B, L], as `ModernBertForMaskedLM.forward` takes them."""
        hidden = self.model(input_ids, attention_mask, position_ids)
        if attention_mask is None:
            attention_mask = torch.ones(hidden.shape[:2], dtype=torch.bool, device=hidden.device)
        mean = (hidden * attention_mask[..., None]).sum(dim=1) / attention_mask.sum(dim=1, keepdim=True)
        return Logits(self.classifier(self.head(mean)))


def _norm(config: SimpleNamespace) -> nn.LayerNorm:
    return nn.LayerNorm(config.hidden_size, eps=config.norm_eps, bias=False)


def _turned(x: Tensor, angles: tuple[Tensor, Tensor]) -> Tensor:
    """Return queries or keys [B, heads, L, size], turned by their places' angles in float32."""
    cos, sin = (part[:, None] for part in angles)
    first, second = x.float().chunk(2, dim=-1)
    return (x.float() * cos + torch.cat((-second, first), dim=-1) * sin).to(x.dtype)
