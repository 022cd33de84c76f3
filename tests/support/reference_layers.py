"""A transformer written from its description, to hold models against: one sequence, one expert at a time."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    """Divide by the root mean square in float32 at least, then scale by the gain."""
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    return gain * (wide * torch.rsqrt((wide * wide).mean(-1, keepdim=True) + eps)).to(x.dtype)


def rotate(x: Tensor, theta: float | Tensor) -> Tensor:
    """Turn pairs (i, i + h/2) of heads [heads, L, h] by position * theta^(-2i/h), or position * frequencies [h / 2]."""
    half, kind = x.shape[-1] // 2, torch.promote_types(x.dtype, torch.float32)
    if not isinstance(theta, Tensor):
        theta = theta ** (-torch.arange(half).to(kind) / half)
    angle = torch.arange(x.shape[1]).to(kind)[:, None] * theta
    first, second = x.to(kind).split(half, dim=-1)
    turned = [first * angle.cos() - second * angle.sin(), second * angle.cos() + first * angle.sin()]
    return torch.cat(turned, dim=-1).to(x.dtype)


def decoder_states(
    weights: dict[str, Tensor],
    config: dict[str, Any],
    ids: Tensor,
    *,
    causal: bool = False,
    block: int | None = None,
    frequencies: Tensor | None = None,
) -> Tensor:
    """Return a Llama-like network's last hidden states [L, d]; block: none of a later block, counted from the end."""
    heads, shared, eps = (config[key] for key in ("num_attention_heads", "num_key_value_heads", "rms_norm_eps"))
    size = config.get("head_dim") or config["hidden_size"] // heads
    hidden = torch.ones(len(ids), len(ids), dtype=torch.bool).triu(1) if causal else torch.tensor(False)
    if block is not None:
        number = [-((len(ids) - index - 1) // block) for index in range(len(ids))]
        hidden = torch.tensor([[theirs > own for theirs in number] for own in number])
    x = weights["model.embed_tokens.weight"][ids]
    for layer in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{layer}."
        part = {name.removeprefix(prefix): tensor for name, tensor in weights.items() if name.startswith(prefix)}
        normed, split = rms_norm(x, part["input_layernorm.weight"], eps), []
        for letter, count in zip("qkv", (heads, shared, shared), strict=True):
            rows = normed @ part[f"self_attn.{letter}_proj.weight"].T + part.get(f"self_attn.{letter}_proj.bias", 0.0)
            rows = rows.view(len(ids), count, size)
            if f"self_attn.{letter}_norm.weight" in part:
                rows = rms_norm(rows, part[f"self_attn.{letter}_norm.weight"], eps)
            split.append(rows.transpose(0, 1).repeat_interleave(heads // count, dim=0))
        theta = config["rope_theta"] if frequencies is None else frequencies
        wide = int(size * (config.get("partial_rotary_factor") or 1))
        turned = [rows.split([wide, size - wide], dim=-1) for rows in split[:2]]
        query, key = (torch.cat([rotate(first, theta), rest], dim=-1) for first, rest in turned)
        scores = (query @ key.transpose(1, 2) / size**0.5).masked_fill(hidden, -torch.inf)  # [heads, L, L]
        mixed = (scores.softmax(-1) @ split[2]).transpose(0, 1).reshape(len(ids), -1)
        x = x + mixed @ part["self_attn.o_proj.weight"].T
        normed = rms_norm(x, part["post_attention_layernorm.weight"], eps)
        x = x + (_routed(normed, part, config) if "mlp.gate.weight" in part else _fed(normed, part, "mlp"))
    return rms_norm(x, weights["model.norm.weight"], eps)


def _fed(x: Tensor, part: dict[str, Tensor], prefix: str) -> Tensor:
    gate, up = x @ part[f"{prefix}.gate_proj.weight"].T, x @ part[f"{prefix}.up_proj.weight"].T
    return (F.silu(gate) * up) @ part[f"{prefix}.down_proj.weight"].T


def _in_groups(x: Tensor, part: dict[str, Tensor], config: dict[str, Any]) -> Tensor:
    """Return each token's sum over experts and the shared one, as LLaDA2 routes, by groups of biased sigmoids."""
    mixed, size = _fed(x, part, "mlp.shared_experts"), config["num_experts"] // config["n_group"]
    for token, chances in enumerate((x @ part["mlp.gate.weight"].T).sigmoid()):
        rank = chances + part["mlp.gate.expert_bias"]
        groups = [rank[start : start + size].sort().values[-2:].sum() for start in range(0, len(rank), size)]
        kept = sorted(range(len(groups)), key=lambda group: -groups[group])[: config["topk_group"]]
        open_ = [expert for expert in range(len(rank)) if expert // size in kept]
        best = sorted(open_, key=lambda expert: -rank[expert])[: config["num_experts_per_tok"]]
        for expert in best:
            weight = config["routed_scaling_factor"] * chances[expert] / chances[best].sum()
            mixed[token] += weight * _fed(x[token], part, f"mlp.experts.{expert}")
    return mixed


def _routed(x: Tensor, part: dict[str, Tensor], config: dict[str, Any]) -> Tensor:
    """Return each token's sum over its experts, weighted by their probabilities as they are."""
    if config.get("score_function") == "sigmoid":
        return _in_groups(x, part, config)
    share = (x @ part["mlp.gate.weight"].T).softmax(-1)
    mixed = torch.zeros_like(x)
    for token in range(len(x)):
        for expert in share[token].argsort(descending=True)[: config["num_experts_per_tok"]].tolist():
            mixed[token] += share[token, expert] * _fed(x[token], part, f"mlp.experts.{expert}")
    return mixed
