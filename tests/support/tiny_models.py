"""Tiny mask predictors in memory, for tests of whatever decodes; those in files are `rws_decode.extra.testing`'s."""

from typing import Any

from torch import Tensor

from rws_decode.extra.compact.llama import LeanLlama
from rws_decode.extra.testing.networks import (  # noqa: F401 - tests take them from here
    CLS,
    EOS,
    MASK,
    PAD,
    SEP,
    SPECIAL,
    UNK,
    VOCABULARY,
    WORDS,
    bert,
    bert_classifier,
    diffusion_gemma,
    llama,
    llama_classifier,
    modernbert,
    word_tokenizer,
)
from rws_decode.predictors import CallablePredictor, HFMaskPredictor

# Of a Llama, Mistral or Qwen of two layers, heads that share keys and values among them.
LLAMA_SIZES: dict[str, Any] = {"vocab_size": VOCABULARY, "hidden_size": 16, "intermediate_size": 32}
LLAMA_SIZES |= {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
LLAMA_SIZES |= {"max_position_embeddings": 128, "initializer_range": 0.6, "bos_token_id": CLS, "eos_token_id": EOS}


def bert_predictor(seed: int = 0) -> HFMaskPredictor:
    return HFMaskPredictor(bert(seed), word_tokenizer(), name="tiny-bert")


def modernbert_predictor(seed: int = 0) -> HFMaskPredictor:
    return HFMaskPredictor(modernbert(seed), word_tokenizer(), name="tiny-modernbert")


def full_modernbert_predictor(seed: int = 0) -> HFMaskPredictor:
    """A ModernBERT with global attention throughout, as the shipped model."""
    network = modernbert(seed, global_attn_every_n_layers=1)
    return HFMaskPredictor(network, word_tokenizer(), name="tiny-full-modernbert")


def llada_predictor(seed: int = 0) -> CallablePredictor:
    """Wrap the LLaDA-like network; as in LLaDA, padding and end of text are one token."""
    model, codec = llama(seed), word_tokenizer()
    body = LeanLlama(model.model, causal=False)  # in a fraction of the time of the model's own forward
    return CallablePredictor(
        lambda canvas: model.lm_head(body(canvas)),
        mask_id=MASK,
        pad_id=EOS,
        end_id=EOS,
        forbidden_ids=(PAD,),
        vocab_size=VOCABULARY,
        encode=lambda text: codec(text)["input_ids"],
        decode=lambda ids: codec.decode(ids, skip_special_tokens=True),
        name="tiny-llada",
    )


def fixed_predictor(table: Tensor, **options: Any) -> CallablePredictor:
    """A predictor whose logits at a canvas column are a row of the table, whatever the canvas; its mask is 0."""
    return CallablePredictor(
        lambda canvas: table[: canvas.shape[1]].expand(len(canvas), -1, -1), **({"mask_id": 0} | options)
    )
