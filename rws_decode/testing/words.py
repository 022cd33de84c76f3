"""A vocabulary of a few words, and the tokenizer that reads them."""

from __future__ import annotations

from typing import Any

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[EOS]")
WORDS = (
    *("the", "a", "cat", "dog", "bird", "sat", "ran", "flew", "on", "under", "over", "mat", "tree"),
    *("hill", "and", "then", "it", "was", "red", "blue", "small", "."),
)
PAD, UNK, CLS, SEP, MASK, EOS = range(6)
VOCABULARY = len(SPECIAL) + len(WORDS)


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
