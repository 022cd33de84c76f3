"""What a digest asks of a model, and fingerprints of its weights, config, tokenizer, chat template, end of text."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from itertools import islice
from typing import Any

import torch

from paper_figures.extra.check.digest import CheckpointPrint, EndOfTextPrint, TemplatePrint, TokenizerPrint
from rws_decode.checkpoints.files import Checkpoint
from rws_decode.checkpoints.weights import read_headers, stored_tensors
from rws_decode.predictors.base import MaskPredictor, ends_of, forbidden_ids, prompt_ids
from rws_decode.predictors.masked_language_model import HFMaskPredictor
from rws_decode.predictors.world import WorldPredictor
from rws_decode.settings import Shape
from rws_decode.text.dialogue import Dialogue
from rws_decode.text.prompt_ids import plain_ids

# What tokenizers treat in different ways: case, digits, blanks, line ends, other scripts, names of special tokens.
TEXTS = (
    "The cat sat on the mat.",
    "the cat and a dog , it was red",
    "In 1999, 12345.678 people paid $3.50 (or 20%).",
    "  two blanks,\ttab\nline end\r\n\n",
    "naïve café — 東京の猫 🐈 שלום",
    "def f(x):\n    return x ** 2  # square",
    "[MASK] <s> </s> <|endoftext|> <|eot_id|> [CLS] <|mdm_mask|>",
    "antidisestablishmentarianism don't can't I'll",
    "",
)
TURNS = ("What is a cat?", "An animal.", "And a dog?")

PROMPTS = (
    "What is the capital of France?",
    "Write a short story about a cat and a dog.",
    "If 3 pens cost 6 dollars, how much do 5 pens cost?",
    "Name three things that every kitchen needs.",
)
SHAPE = Shape(32, 16, 32)
STRATEGIES = ("default", "temperature:4")
GUIDED = "rws:8"

_RANGES = 64  # of ids that have a hash of their own
_LONGEST = 100  # characters of a value of config.json that is kept as it is
# What says which program wrote the file, not what the model is.
_UNREAD = {"transformers_version", "_name_or_path"}
_WORLD = "world.npz"


def hash_of(*parts: bytes | memoryview) -> str:
    """Return a short hash of some bytes, in hexadecimal."""
    whole = sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "little"))
        whole.update(part)
    return whole.hexdigest()[:16]


def tensor_bytes(tensor: torch.Tensor) -> memoryview:
    """Return a tensor's numbers as bytes, in their own dtype."""
    return tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data


def checkpoint_print(predictor: MaskPredictor) -> CheckpointPrint:
    """Return what the predictor's files hold, or its network where it has none.

    Of the files, so that a dtype chosen at loading changes nothing. One hash stands for each layer.
    """
    checkpoint = _files_of(predictor)
    if checkpoint is not None:
        config = checkpoint.read_json("config.json")
        kept = {key: value for key, value in config.items() if key not in _UNREAD}
        return CheckpointPrint(predictor.name, "files", _of_files(checkpoint), {k: _short(v) for k, v in kept.items()})
    if isinstance(predictor, HFMaskPredictor):
        return CheckpointPrint(predictor.name, "memory", _by_part(_hashes(predictor.model.state_dict().items())), {})
    return CheckpointPrint(predictor.name, "nothing", {}, {})


def stored_dtypes(predictor: MaskPredictor) -> str | None:
    """Return the dtypes in which a checkpoint's files hold their weights, the commonest first; None without files."""
    checkpoint = _files_of(predictor)
    if checkpoint is None or checkpoint.directory is None or (checkpoint.directory / _WORLD).is_file():
        return None
    stored = read_headers(checkpoint).values()
    counts = Counter(str(tensor.torch_dtype or tensor.dtype).removeprefix("torch.") for tensor in stored)
    return " and ".join(name for name, _ in counts.most_common())


def weights_hash(network: torch.nn.Module) -> str:
    """Return one hash of all weights of a network in memory, in the dtype that they have there."""
    return hash_of(json.dumps(_by_part(_hashes(network.state_dict().items())), sort_keys=True).encode())


def _files_of(predictor: MaskPredictor) -> Checkpoint | None:
    checkpoint = getattr(predictor, "checkpoint", None)
    return checkpoint if checkpoint is not None and checkpoint.directory is not None else None


def _of_files(checkpoint: Checkpoint) -> dict[str, str]:
    folder = checkpoint.directory
    assert folder is not None
    if (folder / _WORLD).is_file():
        return {_WORLD: hash_of((folder / _WORLD).read_bytes())}
    stored = read_headers(checkpoint)
    files = sorted({tensor.file for tensor in stored.values()})

    def read(file: str) -> dict[str, str]:
        return _hashes(stored_tensors(checkpoint, {k: tensor for k, tensor in stored.items() if tensor.file == file}))

    # Hashing releases Python's lock, and large checkpoints have many files.
    with ThreadPoolExecutor(8) as pool:
        return _by_part({name: each for hashes in pool.map(read, files) for name, each in hashes.items()})


def _hashes(tensors: Iterable[tuple[str, torch.Tensor]]) -> dict[str, str]:
    return {
        name: hash_of(f"{tensor.dtype} {list(tensor.shape)}".encode(), tensor_bytes(tensor)) for name, tensor in tensors
    }


def _by_part(hashes: Mapping[str, str]) -> dict[str, str]:
    """Return one hash for each layer, and for each tensor outside of the layers."""
    parts: dict[str, list[str]] = {}
    for name, each in sorted(hashes.items()):
        layer = re.match(r"(.*?\.\d+)\.", name)
        parts.setdefault(layer[1] if layer else name, []).append(f"{name} {each}")
    return {part: hash_of("\n".join(each).encode()) for part, each in parts.items()}


def _short(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= _LONGEST else f"{text[:40]}... (hash {hash_of(text.encode())})"


def tokenizer_print(predictor: MaskPredictor) -> TokenizerPrint | None:
    """Return the tokenizer's names of ids by range, and the ids of `TEXTS` without a template; None without one."""
    encode: Callable[[str], list[int]] = predictor.encode_prompt
    names: dict[int, str] = {}
    if isinstance(predictor, HFMaskPredictor):
        codec = predictor.tokenizer
        if codec is None:
            return None
        names = {token: name for name, token in codec.get_vocab().items()}
        encode = partial(plain_ids, codec)
    elif isinstance(predictor, WorldPredictor):
        names = dict(enumerate(predictor.words.words))
    texts = _ids_of(encode, TEXTS)
    if texts is None:
        return None
    width = max(-(-(max(names, default=0) + 1) // _RANGES), 1)
    ranges: dict[int, list[str]] = {}
    for token in sorted(names):
        ranges.setdefault(token // width * width, []).append(f"{token} {names[token]}")
    return TokenizerPrint(
        len(names), {str(first): hash_of(*(name.encode() for name in each)) for first, each in ranges.items()}, texts
    )


def template_print(predictor: MaskPredictor) -> TemplatePrint | None:
    """Return the ids of `TEXTS` as prompts, and of a dialogue; None for a predictor that reads ids alone."""
    texts = _ids_of(predictor.encode_prompt, TEXTS)
    if texts is None:
        return None
    try:
        turns = tuple(prompt_ids(predictor, Dialogue(TURNS)))
    except ValueError:  # a template for one turn
        turns = ()
    return TemplatePrint(predictor.chat if isinstance(predictor, HFMaskPredictor) else None, (*texts, turns))


def _ids_of(encode: Callable[[str], list[int]], texts: Sequence[str]) -> tuple[tuple[int, ...], ...] | None:
    """Return the ids of texts, none of a text that cannot be read; None if no text can."""
    ids: list[tuple[int, ...] | None] = []
    for text in texts:
        try:
            ids.append(tuple(encode(text)))
        except ValueError:
            ids.append(None)
    return None if not any(ids) else tuple(each or () for each in ids)


def end_of_text_print(predictor: MaskPredictor, words: Sequence[int]) -> EndOfTextPrint:
    """Return the special tokens, and the texts of two words with an end, padding, or nothing between them.

    words: ids of a prompt, of which the first two that have text are taken.
    """
    ends, forbidden = ends_of(predictor), forbidden_ids(predictor)
    special = {predictor.mask_id, predictor.pad_id, *ends, *forbidden}
    texts = (token for token in words if token not in special and (predictor.decode_answer([token]) or "").strip())
    plain = list(islice(texts, 2))
    between = [None, *ends, predictor.pad_id]
    cuts = (predictor.decode_answer([*plain[:1], *([] if e is None else [e]), *plain[1:]]) for e in between)
    listed = hash_of(json.dumps(forbidden).encode())
    return EndOfTextPrint(predictor.mask_id, predictor.pad_id, ends, len(forbidden), listed, tuple(cuts))


def usual_prompts(predictor: MaskPredictor) -> tuple[str | tuple[int, ...], ...]:
    """Return the first prompts that ship with a model, or `PROMPTS`; ValueError for one that reads ids alone."""
    if isinstance(predictor, HFMaskPredictor | WorldPredictor) and predictor.prompts:
        return tuple(predictor.prompts[: len(PROMPTS)])
    try:
        predictor.encode_prompt(PROMPTS[0])
    except ValueError:
        raise ValueError(
            f"prompts are missing: {predictor.name} reads no text, give token ids (--input-ids on the command line)"
        ) from None
    return PROMPTS


def half_filled(ids: Sequence[int], count: int, mask_id: int) -> list[int]:
    """Return what stands in `count` answer positions of a fixed canvas: masks, and in turn the prompt's ids."""
    words = [token for token in ids if token != mask_id]
    return [words[i % len(words)] if i % 2 and words else mask_id for i in range(count)]
