"""Tiny checkpoints of every supported layout, made on the spot, to test tools on without a network.

All weights are random, so texts and scores mean nothing; the files are laid out as those that people publish.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np

from rws_decode.checkpoints.packages import quiet
from rws_decode.common.files import write_bytes, write_json
from rws_decode.common.plugins import hook
from rws_decode.extra.testing import networks
from rws_decode.extra.testing.diffusion import MODELS
from rws_decode.extra.testing.networks import WORDS, word_tokenizer
from rws_decode.extra.testing.published_rewards import REWARD_MODELS
from rws_decode.predictors.world import MODEL_TYPE
from rws_decode.text.words import END
from rws_theory.checks import one_of
from rws_theory.worlds.ngram import NGram
from rws_theory.worlds.stored import pack

Kind = Literal["predictor", "reward", "causal", "uniform"]
# Writes into an empty directory: seed, changed entries of config.json, whether with a tokenizer.
Writer = Callable[[Path, int, Mapping[str, Any], bool], None]


@dataclass(frozen=True)
class _Layout:
    kind: Kind
    about: str
    write: Writer


def tiny_checkpoint(
    layout: str,
    directory: str | os.PathLike[str],
    *,
    seed: int = 0,
    config: Mapping[str, Any] | None = None,
    tokenizer: bool = True,
    files: Mapping[str, Any] | None = None,
) -> Path:
    """Write a tiny checkpoint of a layout (`tiny_checkpoints`) into a new or empty directory, and return its path.

    seed: of the weights. config: entries of config.json in place of the layout's own, sizes too. tokenizer: whether its
    files are written. files: values of further JSON files, such as {"examples.json": [{"prompt": "the cat"}]}; None
    leaves out one that the layout has. ValueError for an unknown layout, and a directory that holds something.

    Predictors are read by `load_predictor(path)`; rewards by `load_reward(path)`, the paper's by `load_reward(path,
    published=layout)`; a causal language model by transformers; one of uniform noise by
    `load_uniform(path)`.

    >>> from tempfile import TemporaryDirectory
    >>> from rws_decode import Shape, decode, load_predictor
    >>> with TemporaryDirectory() as folder:
    ...     predictor = load_predictor(str(tiny_checkpoint("llada", Path(folder) / "tiny")), progress=False)
    ...     (trace,) = decode(predictor, "the cat", "default", Shape(length=4, steps=2, block=4))
    >>> predictor
    BidirectionalPredictor('tiny', 33.3k parameters, 278 tokens)
    >>> trace.steps_run, trace.commit_step.tolist().count(0)
    (2, 2)
    """
    one_of("layout", layout, _LAYOUTS)
    folder = Path(directory)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"directory is {folder}: it holds something already, name a new one")
    folder.mkdir(parents=True, exist_ok=True)
    with quiet(progress=False):
        _LAYOUTS[layout].write(folder, seed, config or {}, tokenizer)
    for name, value in (files or {}).items():
        if value is None:
            (folder / name).unlink(missing_ok=True)
        else:
            write_json(folder / name, value)
    return folder


def tiny_checkpoints(kind: Kind | None = None) -> dict[str, str]:
    """Return the layouts by name, each with what it is; kind: mask predictors, rewards, causal or uniform models.

    >>> list(tiny_checkpoints("predictor"))
    ['llada', 'llada-converted', 'llada-moe', 'dream', 'dream-converted', 'a2d-qwen3', 'a2d-qwen3-converted', 'sdar', \
'sdar-converted', 'fast-dllm-v2', 'dream-reasoner', 'llada2', 'modernbert-chat', 'bert', 'modernbert', 'world']
    >>> tiny_checkpoints()["eurus"]
    'openbmb/Eurus-RM-7b as published'
    """
    return {name: layout.about for name, layout in _LAYOUTS.items() if kind in (None, layout.kind)}


def _converted(write: Writer, directory: Path, seed: int, changes: Mapping[str, Any], tokenizer: bool) -> None:
    directory.rmdir()  # `convert` makes it
    with TemporaryDirectory() as scratch:
        write(Path(scratch) / "published", seed, changes, tokenizer)
        hook("convert", "a converted checkpoint is asked for")(str(Path(scratch) / "published"), directory)


def _network(
    build: Callable[..., Any], directory: Path, seed: int, changes: Mapping[str, Any], tokenizer: bool
) -> None:
    network = build(seed, **changes)
    network.save_pretrained(directory)
    if tokenizer:
        word_tokenizer().save_pretrained(directory)
    if "SequenceClassification" in type(network).__name__:
        write_json(directory / "reward.json", {"mean": 0.0, "std": 1.0})


def _world(directory: Path, seed: int, changes: Mapping[str, Any], tokenizer: bool) -> None:
    words = [*WORDS, END]
    described = {
        "architectures": ["NGramForMaskedLM"],
        "model_type": MODEL_TYPE,
        "order": 3,
        "vocab_size": len(words) + 1,
        **changes,
    }
    rng = np.random.default_rng(seed)
    texts = [[*rng.integers(0, len(WORDS), size=8).tolist(), len(WORDS)] for _ in range(40)]
    arrays = pack(NGram.fit(texts, described["order"], vocabulary=len(words)).chain)
    stream = io.BytesIO()
    np.savez_compressed(stream, allow_pickle=False, **arrays)
    write_bytes(directory / "world.npz", stream.getvalue())
    write_json(directory / "config.json", described)
    if tokenizer:
        write_json(directory / "words.json", words, indent=None)


def _predictors() -> Iterator[tuple[str, _Layout]]:
    for name, model in MODELS.items():
        yield name, _Layout("predictor", f"{model.about} as published", model.write)
        if name in ("llada", "dream", "a2d-qwen3", "sdar"):
            written = partial(_converted, model.write)
            yield f"{name}-converted", _Layout("predictor", f"{model.about} after convert", written)


_LAYOUTS: dict[str, _Layout] = dict(_predictors()) | {
    "bert": _Layout("predictor", "BERT, a masked language model of transformers", partial(_network, networks.bert)),
    "modernbert": _Layout(
        "predictor", "ModernBERT, a masked language model of transformers", partial(_network, networks.modernbert)
    ),
    "world": _Layout("predictor", "an n-gram world of words, with exact conditionals", _world),
    "classifier": _Layout(
        "reward", "BERT, a sequence classifier that reads both ways", partial(_network, networks.bert_classifier)
    ),
    "causal-classifier": _Layout(
        "reward",
        "Llama, a sequence classifier that reads from left to right",
        partial(_network, networks.llama_classifier),
    ),
    **{name: _Layout("reward", f"{model.about} as published", model.write) for name, model in REWARD_MODELS.items()},
    "causal": _Layout("causal", "Llama, a causal language model of transformers", partial(_network, networks.llama)),
    "diffusion-gemma": _Layout(
        "uniform",
        "DiffusionGemma, a model of uniform noise of transformers",
        partial(_network, networks.diffusion_gemma),
    ),
}
