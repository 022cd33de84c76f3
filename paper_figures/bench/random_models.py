"""Make models of a named shape with random weights, on their device: as large and fast as real ones, no download.

The two models exchange text, as real ones do: tokens -> words -> the reward model's tokens. The words are "w0", "w1",
...; a real tokenizer takes longer over each.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from paper_figures.bench.shapes import LlamaShape, Shapes
from rws_decode.predictors.bidirectional import BidirectionalPredictor, attend_both_ways
from rws_decode.rewards.causal import CausalReward

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

MASK, END, BEGIN = "<|mask|>", "<|end|>", "<|begin|>"
# What masked positions attend to decides how far their logits differ: scores of this deviation pick out a few others.
_ATTENTION_SPREAD = 9.0
_LOGIT_SPREAD = 2.0


def bare_network(shape: LlamaShape, reward: bool, dtype: torch.dtype) -> Any:
    """Return a shape's network without its weights: on the meta device."""
    from transformers import LlamaForCausalLM, LlamaForSequenceClassification

    kind = LlamaForSequenceClassification if reward else LlamaForCausalLM
    more: dict[str, Any] = {"num_labels": 1} if reward else {}
    attention = "sdpa" if reward else attend_both_ways()
    with torch.device("meta"):
        return kind._from_config(shape.config(**more), attn_implementation=attention, dtype=dtype)


def parameter_count(shape: LlamaShape, *, reward: bool = False) -> int:
    """Count the weights of a network of this shape, which is built without memory for them.

    reward: count the sequence classifier of one output in place of the language model.

    >>> from paper_figures.bench.shapes import SHAPES
    >>> parameter_count(SHAPES["llada-8b"].predictor), parameter_count(SHAPES["llada-8b"].reward, reward=True)
    (8015581184, 7504928768)
    """
    return sum(weight.numel() for weight in bare_network(shape, reward, torch.bfloat16).parameters())


def make_predictor(
    shapes: Shapes, *, device: str | torch.device = "cpu", dtype: torch.dtype = torch.float32, seed: int = 0
) -> BidirectionalPredictor:
    """Return a mask predictor of LLaDA's kind with random weights, which are drawn on the device in their dtype.

    Its logits have standard deviation about 2 at every size, and depend on position and text. No token is favoured.
    """
    shape = shapes.predictor
    model = _filled(bare_network(shape, False, dtype), torch.device(device), seed, shapes.mask)
    return BidirectionalPredictor(
        model,
        _tokenizer(shape.vocabulary, {shapes.mask: MASK, shapes.end: END}, mask_token=MASK, eos_token=END),
        name=shape.name,
        mask_id=shapes.mask,
        end_ids=(shapes.end,),
        precise_rotary=True,
    )


def make_reward(
    shapes: Shapes, *, device: str | torch.device = "cpu", dtype: torch.dtype = torch.float32, seed: int = 1
) -> CausalReward:
    """Return a reward model of Llama's kind with random weights; raw scores have mean 0 and deviation about 1."""
    shape = shapes.reward
    model = _filled(bare_network(shape, True, dtype), torch.device(device), seed)
    last = shape.vocabulary - 1
    tokenizer = _tokenizer(shape.vocabulary, {last - 1: BEGIN, last: END}, bos_token=BEGIN, eos_token=END)
    tokenizer.backend_tokenizer.post_processor = _as_pair(last - 1, last)
    return CausalReward(model, tokenizer, mean=0.0, std=1.0, name=shape.name)


def make_models(
    shapes: Shapes, *, device: str | torch.device = "cpu", dtype: torch.dtype = torch.float32, seed: int = 0
) -> tuple[BidirectionalPredictor, CausalReward]:
    """Return predictor and reward model of a shape on one device."""
    predictor = make_predictor(shapes, device=device, dtype=dtype, seed=seed)
    return predictor, make_reward(shapes, device=device, dtype=dtype, seed=seed + 1)


def random_prompts(shapes: Shapes, count: int, length: int, seed: int = 0) -> list[str]:
    """Return prompts of `length` words each, which the predictor reads as as many tokens.

    >>> from paper_figures.bench.shapes import SHAPES
    >>> random_prompts(SHAPES["tiny"], 2, 3)
    ['w44 w47 w64', 'w67 w67 w9']
    """
    if count < 1 or length < 1:
        raise ValueError(f"count is {count} and length {length}: at least 1 of each is needed")
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
    """Return the standard deviation of a matrix's weights: an input of deviation 1 gives an output of deviation 1.

    Queries and keys are larger: otherwise attention would be near the mean of all, the same for every masked position.
    What joins the residual stream is smaller, so that its sum over all layers has deviation 1.
    """
    part = name.split(".")[-2]
    if part == "embed_tokens":
        return 1.0
    unit = 1 / math.sqrt(weight.shape[1])
    gains = {"q_proj": math.sqrt(_ATTENTION_SPREAD), "k_proj": math.sqrt(_ATTENTION_SPREAD), "lm_head": _LOGIT_SPREAD}
    return unit * (1 / math.sqrt(2 * layers) if part in ("o_proj", "down_proj") else gains.get(part, 1.0))


def _tokenizer(size: int, special: dict[int, str], **names: str) -> PreTrainedTokenizerFast:
    """Return a tokenizer of `size` words; special: id -> token in place of a word."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {special.get(token, f"w{token}"): token for token in range(size)}
    core = Tokenizer(models.WordLevel(words))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=core, clean_up_tokenization_spaces=False, **names)


def _as_pair(begin: int, end: int) -> Any:
    from tokenizers import processors

    return processors.TemplateProcessing(
        single=f"{BEGIN} $A {END}",
        pair=f"{BEGIN} $A {END} $B {END}",
        special_tokens=[(BEGIN, begin), (END, end)],
    )
