"""Families of published models that fill block after block: SDAR, Fast-dLLM v2 and LLaDA2.

SDAR (Cheng et al. 2025, arXiv:2510.06303) is Qwen3's network, and the logits at a place are its own; its config says
how long a block is, 4 to 64. Fast-dLLM v2 (Wu et al. 2025, arXiv:2509.26328) is Qwen2's in blocks of 32, and its logits
are one position late. LLaDA2.0 and 2.1 (arXiv:2512.15745) are GLM-4's mixture of experts under other names, in blocks
of 32: of 256 experts in 8 groups, scored by a sigmoid, the best 8 of the best 4 groups are used, and one by all tokens;
half of each head is rotary. 2.1 is trained to replace committed tokens (`revising`). The block-wise models of A2D and
Dream are in `families` and `predictors.llada_dream`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rws_decode.checkpoints.config import Config
from rws_decode.extra.families import LLADA_MOE, plain_layout
from rws_decode.predictors.families import HEADS, QWEN, Family, Layout

SDAR = Family(
    name="sdar",
    layout=lambda raw: plain_layout(raw, "qwen3", block=raw.whole("block_size", 4)),
    width=151936,
    mask=("<|MASK|>", 151669),
    **QWEN,
    mask_aliases=("<MASK>",),
)
FAST_DLLM_V2 = Family(
    name="fast_dllm_qwen",
    layout=lambda raw: plain_layout(raw, "qwen2", block=raw.whole("bd_size", 32), shifted=True),
    width=152064,
    mask=("|<MASK>|", 151665),
    **QWEN,
)

_AT = r"^model\.layers\.(\d+)\."
_LLADA2_NAMES = {
    r"^model\.word_embeddings\.": "model.embed_tokens.",
    rf"{_AT}attention\.query_key_value\.": r"model.layers.\1.self_attn.query_key_value.",
    rf"{_AT}attention\.query_layernorm\.": r"model.layers.\1.self_attn.q_norm.",
    rf"{_AT}attention\.key_layernorm\.": r"model.layers.\1.self_attn.k_norm.",
    rf"{_AT}attention\.dense\.": r"model.layers.\1.self_attn.o_proj.",
    rf"{_AT}mlp\.gate\.expert_bias$": r"model.layers.\1.mlp.gate.e_score_correction_bias",
}
# A config can describe other networks; the published checkpoints have one of these values, the first if it is absent.
_LLADA2: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("use_bias", "use_qkv_bias"), (False,)),
    **dict.fromkeys(("norm_head", "use_sliding_window"), (False, None)),
    **dict.fromkeys(("moe_router_enable_expert_bias", "norm_topk_prob"), (True, None)),
    "hidden_act": ("silu",),
    "rope_scaling": (None,),
    "score_function": ("sigmoid", None),
    "use_qk_norm": (True,),
}


def _llada2(raw: Config) -> Layout:
    """Return how a LLaDA2 checkpoint is loaded; ValueError for a config of another network, or of none."""
    from transformers import Glm4MoeConfig

    raw.refuse_others("LLaDA2", _LLADA2)
    width, heads, shared = raw.heads(*HEADS)
    sizes = ("vocab_size", "intermediate_size", "num_hidden_layers", "max_position_embeddings", "moe_intermediate_size")
    routed = ("num_experts", "num_experts_per_tok", "n_group", "topk_group", "num_shared_experts")
    experts, chosen, groups, best, common = map(raw.whole, routed)
    if experts % groups or best > groups or chosen > best * (experts // groups):
        raise raw.refused(
            f"its config.json has {experts} experts in n_group {groups}, of which "
            f"topk_group {best} stay for num_experts_per_tok {chosen}: groups of one size, with enough experts, are "
            "needed"
        )
    rope = {key: raw.number(key) for key in ("rope_theta", "partial_rotary_factor")}
    sized: dict[str, Any] = {key: raw.whole(key) for key in sizes}
    # Kept by the class, though its signature does not list them.
    sized |= {"head_dim": raw.whole("head_dim", width // heads), "num_nextn_predict_layers": 0}
    config = Glm4MoeConfig(
        **sized,
        hidden_size=width,
        num_attention_heads=heads,
        num_key_value_heads=shared,
        rms_norm_eps=raw.number("rms_norm_eps"),
        rope_parameters={"rope_type": "default", **rope},
        tie_word_embeddings=raw.flag("tie_word_embeddings"),
        num_experts_per_tok=chosen,
        n_routed_experts=experts,
        n_shared_experts=common,
        n_group=groups,
        topk_group=best,
        routed_scaling_factor=raw.number("routed_scaling_factor"),
        first_k_dense_replace=0 if raw.get("first_k_dense_replace") == 0 else raw.whole("first_k_dense_replace"),
        use_qk_norm=True,
        use_cache=False,
    )
    block = raw.whole("block_size", 32)
    return Layout("glm4_moe", config, config.vocab_size, _LLADA2_NAMES, block=block, fused=True)


LLADA2 = replace(LLADA_MOE, name="llada2_moe", layout=_llada2)
