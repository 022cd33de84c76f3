"""Pieces of a transformer written from their descriptions, to hold models against."""

from __future__ import annotations

import torch
from torch import Tensor


def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    """Divide by the root mean square in float32, then scale by the gain."""
    wide = x.float()
    return gain * (wide * torch.rsqrt((wide * wide).mean(-1, keepdim=True) + eps)).to(x.dtype)


def rotate(x: Tensor, theta: float) -> Tensor:
    """Turn the pairs (i, i + h/2) of each head by position * theta^(-2i/h), in float32; x: [heads, L, h]."""
    half = x.shape[-1] // 2
    angle = torch.arange(x.shape[1]).float()[:, None] * theta ** (-torch.arange(half).float() / half)
    first, second = x.float().split(half, dim=-1)
    turned = [first * angle.cos() - second * angle.sin(), second * angle.cos() + first * angle.sin()]
    return torch.cat(turned, dim=-1).to(x.dtype)
