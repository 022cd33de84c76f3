"""The tokenizers of reward models whose own class is remote code, from their files."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rws_decode.checkpoints.files import Checkpoint
from rws_decode.rewards.registry import Layout

_SENTENCEPIECE = {"sentencepiece": "sentencepiece", "protobuf": "google.protobuf"}


def load_tokenizer(checkpoint: Checkpoint, layout: Layout) -> Any:
    """Return the tokenizer in the files of a reward model whose own class is remote code.

    Its tokenizer.json is read first. A SentencePiece tokenizer.model needs the packages sentencepiece and protobuf:
    Eurus's is read as Llama's, InternLM2's with a space before a text only if it says so. ValueError without the
    packages, or without either file.
    """
    from tokenizers import normalizers
    from transformers import LlamaTokenizer, PreTrainedTokenizerFast
    from transformers.convert_slow_tokenizer import SentencePieceExtractor

    folder = Path(checkpoint.source)
    if (folder / "tokenizer.json").is_file():
        return PreTrainedTokenizerFast.from_pretrained(folder, **checkpoint.options)
    if not (folder / "tokenizer.model").is_file():
        raise ValueError(f"reward {checkpoint.name} lacks a tokenizer: neither tokenizer.json nor tokenizer.model")
    absent = [name for name, module in _SENTENCEPIECE.items() if not _installed(module)]
    if absent:
        raise ValueError(
            f"reward {checkpoint.name} has its tokenizer as tokenizer.model only, which needs "
            f"{' and '.join(absent)}: install them, or put a tokenizer.json beside it"
        )
    if layout != "internlm2":
        return LlamaTokenizer.from_pretrained(folder, **checkpoint.options)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder, **checkpoint.options)
    proto: Any = SentencePieceExtractor(str(folder / "tokenizer.model")).proto
    if proto.normalizer_spec.add_dummy_prefix:
        spaced = [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]
        tokenizer.backend_tokenizer.normalizer = normalizers.Sequence(spaced)
    return tokenizer


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
