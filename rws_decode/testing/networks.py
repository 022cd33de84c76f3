"""Tiny networks of transformers with random weights, and the tokenizer of a few words that they read.

Weights are spread enough that outputs depend on the context. Each network takes a seed, and entries of its config by
name.
"""

from __future__ import annotations

from typing import Any

import torch

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[EOS]")
WORDS = (
    *("the", "a", "cat", "dog", "bird", "sat", "ran", "flew", "on", "under", "over", "mat", "tree"),
    *("hill", "and", "then", "it", "was", "red", "blue", "small", "."),
)
PAD, UNK, CLS, SEP, MASK, EOS = range(6)
VOCABULARY = len(SPECIAL) + len(WORDS)
_SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 64,
    "initializer_range": 0.6,
}
_LLAMA: dict[str, Any] = {"num_key_value_heads": 2, "tie_word_embeddings": False}


def bert(seed: int = 0, **config: Any) -> Any:
    """Build a BERT for masked language modelling.

    >>> bert().config.vocab_size
    28
    """
    ids = {"pad_token_id": PAD, "mask_token_id": MASK, "eos_token_id": EOS}
    return _built("Bert", "MaskedLM", seed, _SIZES | ids | config)


def modernbert(seed: int = 0, **config: Any) -> Any:
    """Build a ModernBERT for masked language modelling: rotary, and with local attention in every other layer."""
    ids = {"bos_token_id": CLS, "cls_token_id": CLS, "sep_token_id": SEP, "eos_token_id": EOS, "mask_token_id": MASK}
    layers = {"global_attn_every_n_layers": 2, "local_attention": 8, "initializer_cutoff_factor": 2.0}
    return _built("ModernBert", "MaskedLM", seed, _SIZES | ids | layers | {"pad_token_id": PAD} | config)


def llama(seed: int = 0, **config: Any) -> Any:
    """Build a Llama, a causal language model."""
    return _built("Llama", "CausalLM", seed, _SIZES | _LLAMA | config)


def bert_classifier(seed: int = 0, **config: Any) -> Any:
    """Build a BERT of one layer that scores texts: a sequence classifier of one output."""
    own = {"num_hidden_layers": 1, "max_position_embeddings": 128, "pad_token_id": PAD, "num_labels": 1}
    return _built("Bert", "SequenceClassification", seed, _SIZES | own | config)


def llama_classifier(seed: int = 0, **config: Any) -> Any:
    """Build a Llama that scores texts at their last token: a sequence classifier of one output."""
    own = {"max_position_embeddings": 128, "pad_token_id": PAD, "num_labels": 1}
    return _built("Llama", "SequenceClassification", seed, _SIZES | _LLAMA | own | config)


def _built(family: str, task: str, seed: int, config: dict[str, Any]) -> Any:
    import transformers

    described = getattr(transformers, f"{family}Config")(**config)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return getattr(transformers, f"{family}For{task}")(described).eval()


def word_tokenizer(words: tuple[str, ...] = WORDS) -> Any:
    """Build a tokenizer of transformers: `[CLS] prompt [SEP]`, and `[CLS] prompt [SEP] answer [EOS]` for a pair.

    >>> codec = word_tokenizer()
    >>> codec("the cat")["input_ids"], codec.decode([CLS, 8, SEP])
    ([2, 6, 8, 3], '[CLS] cat [SEP]')
    """
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: token for token, word in enumerate((*SPECIAL, *words))}
    core = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [EOS]:1",
        special_tokens=[(token, vocabulary[token]) for token in ("[CLS]", "[SEP]", "[EOS]")],
    )
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token", "eos_token")
    return PreTrainedTokenizerFast(tokenizer_object=core, **dict(zip(names, SPECIAL, strict=True)))
