"""Make models of a named shape with random weights, on their device: as large and fast as real ones, no download.

The two models exchange text, as real ones do: tokens -> words -> the reward model's tokens. The words are "w0", "w1",
...; a real tokenizer takes longer over each.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM, LlamaForSequenceClassification, PreTrainedTokenizerFast

from paper_figures.extra.bench.shapes import LlamaShape, Shapes
from rws_decode.predictors.bidirectional import BidirectionalPredictor, attend_both_ways
from rws_decode.rewards.causal import CausalReward

MASK, END, BEGIN = "<|mask|>", "<|end|>", "<|begin|>"
# What masked positions attend to decides how far their logits differ: scores of this SD pick out a few others.
_ATTENTION_SPREAD = 9.0
_LOGIT_SPREAD = 2.0


def bare_network(shape: LlamaShape, reward: bool, dtype: torch.dtype) -> Any:
    """Return a shape's network without its weights, on the meta device: a sequence classifier of one output if reward.

    >>> from paper_figures.extra.bench.shapes import SHAPES
    >>> sum(weight.numel() for weight in bare_network(SHAPES["llada-8b"].predictor, False, torch.bfloat16).parameters())
    8015581184
    """
    rotary: dict[str, Any] = {"rope_type": "default", "rope_theta": 500_000.0}
    if shape.rope_factor is not None:
        rotary |= {"rope_type": "llama3", "factor": shape.rope_factor, "low_freq_factor": 1.0}
        rotary |= {"high_freq_factor": 4.0, "original_max_position_embeddings": shape.positions // 16}
    more: dict[str, Any] = {"num_labels": 1} if reward else {}
    config = LlamaConfig(
        vocab_size=shape.vocabulary,
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        intermediate_size=shape.inner,
        max_position_embeddings=shape.positions,
        rms_norm_eps=1e-5,
        rope_parameters=rotary,
        tie_word_embeddings=False,
        use_cache=True,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=None,
        **more,
    )
    kind: Any = LlamaForSequenceClassification if reward else LlamaForCausalLM
    attention = "sdpa" if reward else attend_both_ways()
    with torch.device("meta"):
        return kind._from_config(config, attn_implementation=attention, dtype=dtype)


def make_models(
    shapes: Shapes, *, device: str | torch.device = "cpu", dtype: torch.dtype = torch.float32, seed: int = 0
) -> tuple[BidirectionalPredictor, CausalReward]:
    """Return a mask predictor of LLaDA's kind and a reward model of Llama's kind, with random weights.

    Weights are sampled on the device in their dtype. The predictor's logits have standard deviation about 2 at every
    size, and depend on position and text; no token is favoured. Raw scores have mean 0 and SD about 1.
    """
    shape = shapes.predictor
    predictor = BidirectionalPredictor(
        _filled(bare_network(shape, False, dtype), torch.device(device), seed, shapes.mask),
        _tokenizer(shape.vocabulary, {shapes.mask: MASK, shapes.end: END}, mask_token=MASK, eos_token=END),
        name=shape.name,
        mask_id=shapes.mask,
        end_ids=(shapes.end,),
        precise_rotary=True,
    )
    last = shapes.reward.vocabulary - 1
    tokenizer = _tokenizer(last + 1, {last - 1: BEGIN, last: END}, bos_token=BEGIN, eos_token=END)
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A {END}", pair=f"{BEGIN} $A {END} $B {END}", special_tokens=[(BEGIN, last - 1), (END, last)]
    )
    network = _filled(bare_network(shapes.reward, True, dtype), torch.device(device), seed + 1)
    return predictor, CausalReward(network, tokenizer, mean=0.0, std=1.0, name=shapes.reward.name)


def random_prompts(shapes: Shapes, count: int, length: int, seed: int = 0) -> list[str]:
    """Return prompts of `length` words each, which the predictor reads as as many tokens.

    >>> from paper_figures.extra.bench.shapes import SHAPES
    >>> random_prompts(SHAPES["tiny"], 2, 3)
    ['w44 w47 w64', 'w67 w67 w9']
    """
    below = min(shapes.mask, shapes.end)
    draw = np.random.RandomState(seed).randint(0, below, (count, length))
    return [" ".join(f"w{token}" for token in row) for row in draw.tolist()]


def _filled(model: Any, device: torch.device, seed: int, mask: int | None = None) -> Any:
    """Draw the weights in place, in the order of their names; the same on every run on one kind of device."""
    model = model.to_empty(device=device)
    # Its frequencies are no weights, and stay in float32 whatever these are.
    with device:
        model.model.rotary_emb = type(model.model.rotary_emb)(config=model.config)
    draw, layers = torch.Generator(device).manual_seed(seed), model.config.num_hidden_layers
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim == 1:
                weight.fill_(1.0)
            else:
                weight.normal_(0.0, _spread(name, weight, layers), generator=draw)
        if mask is not None:
            _hide(model, mask)
    return model.requires_grad_(False).eval()


def _hide(model: Any, mask: int) -> None:
    """Let the mask's embedding guide attention only: it uses one column, which values and the MLP do not read.

    Otherwise masked positions would pass each other the mask's own embedding, and all would predict the same token.
    """
    embedding = model.get_input_embeddings().weight
    embedding[mask] = 0.0
    embedding[mask, 0] = 1.0
    for layer in model.model.layers:
        for part in (layer.self_attn.v_proj, layer.mlp.gate_proj, layer.mlp.up_proj):
            part.weight[:, 0] = 0.0


def _spread(name: str, weight: nn.Parameter, layers: int) -> float:
    """Return the standard deviation of a matrix's weights: an input of SD 1 gives an output of SD 1.

    Queries and keys are larger: otherwise attention would be near the mean of all, the same for every masked position.
    What joins the residual stream is smaller, so that its sum over all layers has SD 1.
    """
    part = name.split(".")[-2]
    if part == "embed_tokens":
        return 1.0
    unit = 1 / math.sqrt(weight.shape[1])
    gains = {"q_proj": math.sqrt(_ATTENTION_SPREAD), "k_proj": math.sqrt(_ATTENTION_SPREAD), "lm_head": _LOGIT_SPREAD}
    return unit * (1 / math.sqrt(2 * layers) if part in ("o_proj", "down_proj") else gains.get(part, 1.0))


def _tokenizer(size: int, special: dict[int, str], **names: str) -> PreTrainedTokenizerFast:
    """Return a tokenizer of `size` words; special: id -> token in place of a word."""
    words = {special.get(token, f"w{token}"): token for token in range(size)}
    core = Tokenizer(models.WordLevel(words))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=core, clean_up_tokenization_spaces=False, **names)
