"""The word-level tokenizer of the story language."""

from __future__ import annotations

from typing import Literal

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from rws_decode.mini.stories.grammar import TEMPLATES
from rws_decode.mini.stories.lexicon import words
from rws_decode.mini.stories.tasks import prompt_vocabulary

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[EOS]")


def special_id(tokenizer: PreTrainedTokenizerFast, name: Literal["pad", "cls", "sep", "mask", "eos"]) -> int:
    """Return the id of a special token that every tokenizer of this package has.

    >>> special_id(story_tokenizer(), "mask")
    4
    """
    token = getattr(tokenizer, f"{name}_token_id")
    assert isinstance(token, int)
    return token


def story_tokenizer() -> PreTrainedTokenizerFast:
    """Build the tokenizer: one id per word, `[CLS] prompt [SEP]` alone, `[CLS] prompt [SEP] answer [EOS]` as a pair.

    >>> tok = story_tokenizer()
    >>> tok.convert_ids_to_tokens(tok("Write a short science story.")["input_ids"])
    ['[CLS]', 'write', 'a', 'short', 'science', 'story', '.', '[SEP]']
    """
    literal = [
        word for group in TEMPLATES.values() for template in group for word in template.split() if word[0] != "{"
    ]
    pronouns = "she he her his him it them was were".split()
    classes = [word for group in words().values() for word in group]
    vocabulary = list(dict.fromkeys([*SPECIAL, *prompt_vocabulary(), *literal, *pronouns, *classes]))
    core = Tokenizer(models.WordLevel({word: i for i, word in enumerate(vocabulary)}, unk_token="[UNK]"))
    core.normalizer = normalizers.Lowercase()
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex("[.,:?]"), "isolated")]
    )
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B [EOS]",
        special_tokens=[(token, vocabulary.index(token)) for token in ("[CLS]", "[SEP]", "[EOS]")],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        eos_token="[EOS]",
        model_max_length=512,
        clean_up_tokenization_spaces=False,
    )
