"""Tiny models and tokenizers, made in a moment, for tests of whatever loads, decodes or scores."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import Tensor
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    LlamaConfig,
    LlamaForCausalLM,
    ModernBertConfig,
    ModernBertForMaskedLM,
    PreTrainedTokenizerFast,
)

from rws_decode.files import write_json
from rws_decode.predictors import CallablePredictor, HFMaskPredictor

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[EOS]")
WORDS = (
    *("the", "a", "cat", "dog", "bird", "sat", "ran", "flew", "on", "under", "over", "mat", "tree"),
    *("hill", "and", "then", "it", "was", "red", "blue", "small", "."),
)
PAD, UNK, CLS, SEP, MASK, EOS = range(6)
VOCABULARY = len(SPECIAL) + len(WORDS)


def tokenizer(words: tuple[str, ...] = WORDS) -> PreTrainedTokenizerFast:
    """Build a word-level tokenizer: `[CLS] prompt [SEP]`, and `[CLS] prompt [SEP] answer [EOS]` for a pair."""
    vocabulary = {word: token for token, word in enumerate((*SPECIAL, *words))}
    core = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()  # type: ignore[assignment]
    core.post_processor = processors.TemplateProcessing(  # type: ignore[assignment]
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [EOS]:1",
        special_tokens=[(token, vocabulary[token]) for token in ("[CLS]", "[SEP]", "[EOS]")],
    )
    names = dict(
        zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token", "eos_token"), SPECIAL, strict=True)
    )
    return PreTrainedTokenizerFast(tokenizer_object=core, **names)


def bert(seed: int = 0, *, vocabulary: int = VOCABULARY, positions: int = 64) -> BertForMaskedLM:
    """Build a BERT of random weights, spread enough that its predictions depend on the context."""
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=positions,
        initializer_range=0.6,
        pad_token_id=PAD,
        mask_token_id=MASK,
        eos_token_id=EOS,
    )
    return BertForMaskedLM(config).eval()


def modernbert(seed: int = 0, *, every: int = 2) -> ModernBertForMaskedLM:
    """Build a ModernBERT (rotary; global attention in every so many layers, else local) of random weights."""
    torch.manual_seed(seed)
    config = ModernBertConfig(
        vocab_size=VOCABULARY,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        global_attn_every_n_layers=every,
        local_attention=8,
        initializer_range=0.6,
        initializer_cutoff_factor=2.0,
        pad_token_id=PAD,
        cls_token_id=CLS,
        sep_token_id=SEP,
        bos_token_id=CLS,
        eos_token_id=EOS,
        mask_token_id=MASK,
    )
    return ModernBertForMaskedLM(config).eval()


def llama(seed: int = 0) -> LlamaForCausalLM:
    """Build the network of LLaDA, a Llama, of random weights; see `llada_logits` for its attention."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        initializer_range=0.6,
        tie_word_embeddings=False,
    )
    return LlamaForCausalLM(config).eval()


def llada_logits(model: LlamaForCausalLM, canvas: Tensor) -> Tensor:
    """Return logits [B, L, V] under bidirectional attention: every position sees every other."""
    batch, length = canvas.shape
    everywhere = torch.zeros(batch, 1, length, length)
    return model(input_ids=canvas, attention_mask=everywhere, use_cache=False).logits


def bert_predictor(seed: int = 0) -> HFMaskPredictor:
    return HFMaskPredictor(bert(seed), tokenizer(), name="tiny-bert")


def modernbert_predictor(seed: int = 0) -> HFMaskPredictor:
    return HFMaskPredictor(modernbert(seed), tokenizer(), name="tiny-modernbert")


def full_modernbert_predictor(seed: int = 0) -> HFMaskPredictor:
    """A ModernBERT with global attention throughout, as the shipped model."""
    return HFMaskPredictor(modernbert(seed, every=1), tokenizer(), name="tiny-full-modernbert")


def llada_predictor(seed: int = 0) -> CallablePredictor:
    """Wrap the LLaDA-like network; as in LLaDA, padding and end of text are one token."""
    model, codec = llama(seed), tokenizer()
    return CallablePredictor(
        lambda canvas: llada_logits(model, canvas),
        mask_id=MASK,
        pad_id=EOS,
        end_id=EOS,
        forbidden_ids=(PAD,),
        vocab_size=VOCABULARY,
        encode=lambda text: codec(text)["input_ids"],
        decode=lambda ids: codec.decode(ids, skip_special_tokens=True),
        name="tiny-llada",
    )


def classifier(seed: int = 0) -> BertForSequenceClassification:
    """Build a one-output sequence classifier of random weights."""
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=128,
        initializer_range=0.6,
        pad_token_id=PAD,
        num_labels=1,
    )
    return BertForSequenceClassification(config).eval()


def save_predictor(folder: Path, *, with_tokenizer: bool = True, examples: list[dict[str, str]] | None = None) -> Path:
    """Save the tiny BERT as a checkpoint directory."""
    bert().save_pretrained(folder)
    if with_tokenizer:
        tokenizer().save_pretrained(folder)
    if examples is not None:
        write_json(folder / "examples.json", examples)
    return folder


def save_reward(folder: Path, statistics: dict[str, object] | None) -> Path:
    """Save the tiny classifier as a reward checkpoint, with its reward.json unless None."""
    classifier().save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    if statistics is not None:
        write_json(folder / "reward.json", statistics)
    return folder
