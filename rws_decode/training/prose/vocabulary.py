"""The encoder's WordPiece vocabulary, pruned to a corpus, with an end-of-text token."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer, decoders
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

__all__ = ["SPECIAL", "Pruned", "identity", "load_tokenizer", "prune", "pruned_tokenizer"]

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[EOS]")


@dataclass(frozen=True)
class Pruned:
    """A pruned vocabulary: `tokens[i]` is the piece with the new id i, `origin[i]` its id in the encoder's vocabulary.

    [EOS] is new; it takes the origin of [SEP], the encoder's own end of a text.
    """

    tokens: tuple[str, ...]
    origin: tuple[int, ...]


def prune(tokenizer: Tokenizer, texts: Iterable[str], size: int) -> Pruned:
    """Keep `size` pieces: special tokens, every character the texts need, then the most frequent pieces.

    The single characters (as a start and as a continuation) guarantee that no training text needs [UNK]: a word
    whose piece was dropped falls back to shorter ones. Raises ValueError when `size` is too small for them.
    """
    vocabulary = tokenizer.get_vocab()
    missing = [t for t in SPECIAL[:-1] if t not in vocabulary]
    if missing:
        raise ValueError(f"encoder tokenizer: lacks {', '.join(missing)}; a BERT WordPiece tokenizer is needed")
    counts: Counter[str] = Counter()
    characters: set[str] = set()
    for text in texts:
        for piece in tokenizer.encode(text, add_special_tokens=False).tokens:
            counts[piece] += 1
            if piece not in SPECIAL:
                characters.update(piece.removeprefix("##"))
    needed = [c for c in sorted(characters) if c in vocabulary] + [
        f"##{c}" for c in sorted(characters) if f"##{c}" in vocabulary
    ]
    if size < len(SPECIAL) + len(needed):
        raise ValueError(f"--vocabulary {size}: must be at least {len(SPECIAL) + len(needed)} to spell this corpus")
    ranked = [
        p
        for p, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if p not in SPECIAL and p not in needed
    ]
    kept = [*needed, *ranked][: size - len(SPECIAL)]
    kept.sort(key=lambda p: vocabulary[p])
    tokens = (*SPECIAL, *kept)
    return Pruned(tokens, tuple(vocabulary["[SEP]" if t == "[EOS]" else t] for t in tokens))


def pruned_tokenizer(source: Tokenizer, pruned: Pruned) -> PreTrainedTokenizerFast:
    """A fast tokenizer with the pruned vocabulary, the source's normaliser, and "[CLS] text" as its template."""
    state = json.loads(source.to_str())
    state["model"]["vocab"] = {token: i for i, token in enumerate(pruned.tokens)}
    state["added_tokens"] = [
        {
            "id": i,
            "content": t,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for i, t in enumerate(SPECIAL)
    ]
    state["truncation"] = state["padding"] = state["post_processor"] = None
    tokenizer = Tokenizer.from_str(json.dumps(state))
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A", special_tokens=[("[CLS]", SPECIAL.index("[CLS]"))])
    tokenizer.decoder = decoders.WordPiece(prefix="##", cleanup=True)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        eos_token="[EOS]",
        clean_up_tokenization_spaces=True,
    )


def load_tokenizer(directory: Path) -> PreTrainedTokenizerFast:
    """The tokenizer saved in `directory`."""
    return PreTrainedTokenizerFast.from_pretrained(directory)


def identity(tokenizer: PreTrainedTokenizerFast) -> Pruned:
    """A pruned vocabulary as it is: every id is its own origin."""
    tokens = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    return Pruned(tuple(tokens), tuple(range(len(tokens))))
