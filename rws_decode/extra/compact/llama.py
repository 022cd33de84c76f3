"""The forward of a Llama, Mistral, Qwen2 or Qwen3 in fewer, larger operations, replayed where asked."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from rws_decode.extra.compact.graphs import Replays

_KINDS = ("llama", "mistral", "qwen2", "qwen3")
_LAYING_OUT = Lock()  # two threads would lay the same weights out twice


class LeanLlama:
    """Final hidden states of a transformers Llama, Mistral, Qwen2 or Qwen3 model, all positions, after the last norm.

    The arithmetic is the model's own with fewer roundings and launches: query, key and value in one matrix product,
    gate and up in another, residual sums inside the products, one kernel a norm. Results agree with the model up to
    rounding. No value is read on the host, so a CUDA graph can hold it.

    The weights that are multiplied together are laid out in one tensor, of which the model's own parameters become
    views: the model is unchanged, and no memory is taken twice.

    model: one that is `supported`, in evaluation mode; causal: whether a position sees only those before it.
    """

    def __init__(self, model: Any, *, causal: bool) -> None:
        self.model = model
        self.causal = causal
        config = model.config
        self.heads: int = config.num_attention_heads
        self.shared: int = config.num_key_value_heads
        self.size: int = getattr(config, "head_dim", None) or config.hidden_size // self.heads
        self._layers = [
            (
                layer,
                _together([layer.self_attn.q_proj, layer.self_attn.k_proj, layer.self_attn.v_proj]),
                _together([layer.mlp.gate_proj, layer.mlp.up_proj]),
            )
            for layer in model.layers
        ]

    @staticmethod
    def supported(model: Any) -> bool:
        """Return whether the model can be computed here.

        It must have full attention, angles that do not depend on the length, and plain linear layers on one device.
        """
        config = getattr(model, "config", None)
        if config is None or config.model_type not in _KINDS or not hasattr(model, "layers"):
            return False
        windowed = config.model_type == "mistral" and config.sliding_window is not None
        rope = (getattr(config, "rope_parameters", None) or {}).get("rope_type", "default")
        kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
        linear = [part for part in model.modules() if "Linear" in type(part).__name__]
        return (
            rope not in ("dynamic", "longrope")
            and not windowed
            and kinds == {"full_attention"}
            and all(type(part) is nn.Linear for part in linear)
            and len({parameter.device for parameter in model.parameters()}) == 1
            and len({parameter.dtype for parameter in model.parameters()}) == 1
            and not any(hasattr(part, "_hf_hook") for part in model.modules())
        )

    @torch.no_grad()
    def __call__(self, ids: Tensor, visible: Tensor | None = None, positions: Tensor | None = None) -> Tensor:
        """Return hidden states [B, L, d] of ids int64 [B, L].

        visible: bool [B, 1, 1, L], False on padding, None for none; positions: int64 [B, L], None for 0 to L - 1. A
        causal model needs neither: no token of a row sees the padding on its right.
        """
        batch, length = ids.shape
        if positions is None:
            positions = torch.arange(length, device=ids.device)[None]
        x = self.model.embed_tokens(ids).view(batch * length, -1)
        cos, sin = self.model.rotary_emb(x, position_ids=positions)  # [1 or B, L, size]
        half = sin.shape[-1] // 2
        angles = cos[:, :, None], torch.cat([-sin[..., :half], sin[..., half:]], dim=-1)[:, :, None]
        for layer, (qkv, offset), (gate_up, shift) in self._layers:
            norm = layer.input_layernorm
            mixed = F.linear(F.rms_norm(x, x.shape[-1:], norm.weight, norm.variance_epsilon), qkv, offset)
            mixed = self._attend(
                self._normed(layer.self_attn, mixed.view(batch, length, -1, self.size)), angles, visible
            )
            x = _added(x, mixed.reshape(batch * length, -1), layer.self_attn.o_proj)
            norm = layer.post_attention_layernorm
            both = F.linear(F.rms_norm(x, x.shape[-1:], norm.weight, norm.variance_epsilon), gate_up, shift)
            gate, up = both.chunk(2, dim=-1)
            x = _added(x, layer.mlp.act_fn(gate) * up, layer.mlp.down_proj)
        norm = self.model.norm
        return F.rms_norm(x, x.shape[-1:], norm.weight, norm.variance_epsilon).view(batch, length, -1)

    def _normed(self, attention: Any, parts: Tensor) -> Tensor:
        """Return queries, keys and values, [B, L, heads + 2 shared, size], the first two normalised as Qwen3's are."""
        if not hasattr(attention, "q_norm"):
            return parts
        query, key, value = parts.split([self.heads, self.shared, self.shared], dim=2)
        query = F.rms_norm(query, (self.size,), attention.q_norm.weight, attention.q_norm.variance_epsilon)
        key = F.rms_norm(key, (self.size,), attention.k_norm.weight, attention.k_norm.variance_epsilon)
        return torch.cat([query, key, value], dim=2)

    def _attend(self, parts: Tensor, angles: tuple[Tensor, Tensor], visible: Tensor | None) -> Tensor:
        """Return the attention, [B, L, heads, size], of queries, keys and values [B, L, heads + 2 shared, size]."""
        cos, sin = angles
        turning = parts[:, :, : self.heads + self.shared]
        turned = torch.empty_like(turning, memory_format=torch.contiguous_format)
        halves = slice(None, self.size // 2), slice(self.size // 2, None)
        scaled = turning * cos
        for half, other_half in (halves, halves[::-1]):
            torch.addcmul(scaled[..., half], turning[..., other_half], sin[..., half], out=turned[..., half])
        query, key = turned.split([self.heads, self.shared], dim=2)
        value = parts[:, :, self.heads + self.shared :]
        query, key, value = (part.transpose(1, 2) for part in (query, key, value))
        grouped = self.heads != self.shared
        if grouped and visible is not None:
            # Not every kernel takes both a mask and shared heads: without one, all pairs would lie in memory.
            key, value = (part.repeat_interleave(self.heads // self.shared, dim=1) for part in (key, value))
            grouped = False
        mixed = F.scaled_dot_product_attention(
            query, key, value, attn_mask=visible, is_causal=self.causal, enable_gqa=grouped
        )
        return mixed.transpose(1, 2)


def _together(parts: Sequence[nn.Linear]) -> tuple[Tensor, Tensor | None]:
    """Return the weights of layers that read the same input as one, [sum of outputs, inputs], and their offsets."""
    weight = _as_one([part.weight for part in parts])
    offsets = [part.bias for part in parts]
    return weight, None if offsets[0] is None else _as_one([offset for offset in offsets if offset is not None])


def _as_one(parts: Sequence[Tensor]) -> Tensor:
    """Return parameters end to end in one tensor, whose views they become; a tensor laid out already is reused."""
    first, shape = parts[0], (sum(len(part) for part in parts), *parts[0].shape[1:])
    starts = [first.storage_offset() + sum(part.numel() for part in parts[:number]) for number in range(len(parts))]
    storage = first.untyped_storage()
    if all(
        part.untyped_storage()._cdata == storage._cdata and part.storage_offset() == start and part.is_contiguous()
        for part, start in zip(parts, starts, strict=True)
    ):
        return first.data.as_strided(shape, first.data.stride())
    with torch.inference_mode(False), torch.no_grad():  # a tensor made in inference mode cannot be trained
        joined = torch.cat([part.data for part in parts])
        for part, piece in zip(parts, joined.split([len(part) for part in parts]), strict=True):
            part.data = piece
    return joined


def _added(x: Tensor, mixed: Tensor, layer: nn.Linear) -> Tensor:
    # In place, as cuBLAS would copy the first term to the place of the sum.
    x.addmm_(mixed, layer.weight.T)
    return x if layer.bias is None else x.add_(layer.bias)


class Body:
    """Final hidden states of a transformers model, by `LeanLlama` and `Replays`, made when first needed.

    model: a decoder without its head; causal: whether a position sees only those before it. A model whose weights moved
    is laid out, and recorded, again.
    """

    def __init__(self, model: Any, *, causal: bool) -> None:
        self.model = model
        self.causal = causal
        self.replays = Replays()
        self._lean: LeanLlama | None = None
        self._made_from: object = None

    @property
    def supported(self) -> bool:
        """Return whether `LeanLlama` can compute the model."""
        return LeanLlama.supported(self.model)

    @staticmethod
    def of(owner: Any, model: Any, *, causal: bool) -> Body:
        """Return the body of a predictor's or a reward model's network, which lives as long as its owner."""
        with _LAYING_OUT:
            if "body" not in vars(owner):
                vars(owner)["body"] = Body(model, causal=causal)
            return vars(owner)["body"]

    def __call__(self, ids: Tensor, visible: Tensor | None = None, positions: Tensor | None = None) -> Tensor:
        """Return hidden states [B, L, d], as `LeanLlama` does; they are lost with the next call."""
        # A model that moves also moves its first layer; an address alone could be used again on another device.
        first = self.model.layers[0].self_attn.q_proj.weight
        with _LAYING_OUT:
            if self._lean is None or self._made_from != (first.device, first.dtype, first.data_ptr()):
                self._lean, self.replays = LeanLlama(self.model, causal=self.causal), Replays()
                self._made_from = first.device, first.dtype, first.data_ptr()  # where it lies now
            lean, replays = self._lean, self.replays
        return replays("the forward", lean, ids, visible, positions)
