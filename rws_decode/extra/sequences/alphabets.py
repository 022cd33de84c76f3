"""Alphabets of residues and of SMILES: a vocab.txt whose tokens a regular expression cuts out of a text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESIDUES = "ACDEFGHIKLMNPQRSTVWY"
# An atom in brackets, one of two letters, a ring of two digits, the arrow of a reaction, or one character: Schwaller et
# al. 2019 (doi:10.1021/acscentsci.9b00576) cut SMILES so.
SMILES = r"\[[^\]]+\]|Br|Cl|%\d\d|>>|[BCNOSPFIbcnosp]|[-().=#+\\/:~@?>*$]|\d"
_SPECIAL = re.compile(r"\[(PAD|UNK|CLS|SEP|MASK|unused\d+)\]")


@dataclass(frozen=True)
class Alphabet:
    """The tokens of a vocab.txt, in order, and the regular expression that cuts a text into them.

    kind: "residues" or "SMILES".
    """

    kind: str
    pattern: str
    tokens: tuple[str, ...]

    @property
    def words(self) -> dict[str, int]:
        """Return the id of each token that a text may hold."""
        return {token: number for number, token in enumerate(self.tokens) if not _SPECIAL.fullmatch(token)}

    def check(self, name: str, text: str) -> None:
        """Raise ValueError, naming the place, unless a text without blanks is nothing but tokens; name: the model's."""
        words = self.words
        pieces = re.findall(rf"{self.pattern}|.", "".join(text.split()), re.DOTALL)
        for number, piece in enumerate(pieces):
            if piece not in words:
                place = sum(map(len, pieces[:number]))
                letters = f" {''.join(words)}, in capitals" if self.kind == "residues" else ""
                raise ValueError(
                    f"prompt {text.strip()[:60]!r} holds {piece!r:.40} at {place}: {name} reads {self.kind}{letters}; "
                    f"what is to be written is a gap, such as [MASK:1]"
                )

    def tokenizer(self, longest: int) -> Any:
        """Return a tokenizer of transformers, [CLS] text [SEP], that writes tokens without blanks between them."""
        from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
        from transformers import PreTrainedTokenizerFast

        ids = {token: number for number, token in enumerate(self.tokens)}
        engine = Tokenizer(models.WordLevel(ids, unk_token="[UNK]"))
        engine.normalizer = normalizers.Replace(Regex(r"\s+"), "")
        engine.pre_tokenizer = pre_tokenizers.Split(Regex(self.pattern), "isolated")
        ends = [(token, ids[token]) for token in ("[CLS]", "[SEP]")]
        engine.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
        engine.decoder = decoders.Fuse()
        # No token for unknown characters: they are refused.
        named = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "cls", "sep", "mask")}
        return PreTrainedTokenizerFast(
            tokenizer_object=engine, model_max_length=longest, clean_up_tokenization_spaces=False, **named
        )

    def predictor(self, model: Any, **options: Any) -> Any:
        """Return a network of these tokens as a mask predictor (`SequencePredictor`)."""
        from rws_decode.extra.sequences.predictor import SequencePredictor

        return SequencePredictor(model, self, **options)


def alphabet_of(folder: Path) -> Alphabet | None:
    """Return the alphabet of a directory that has a vocab.txt of residues or of SMILES, and no tokenizer.json.

    None for other files, such as a vocab.txt of pieces of words, which transformers reads.
    """
    if (folder / "tokenizer.json").exists() or not (folder / "vocab.txt").is_file():
        return None
    tokens = tuple((folder / "vocab.txt").read_text(encoding="utf-8", errors="replace").split("\n"))
    tokens = tokens[:-1] if tokens[-1] == "" else tokens
    words = {token for token in tokens if not _SPECIAL.fullmatch(token)}
    if len(set(tokens)) < len(tokens) or not {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"} <= set(tokens):
        return None
    if words >= set(RESIDUES) and all(re.fullmatch("[A-Z]", word) for word in words):
        return Alphabet("residues", "[A-Z]", tokens)
    if words >= {*"cCO()=1", ">>"} and all(re.fullmatch(SMILES, word) for word in words):
        return Alphabet("SMILES", SMILES, tokens)
    return None
