"""Write a checkpoint of a family once under the names of transformers, and tell such a converted one when it loads."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from safetensors import safe_open
from safetensors.torch import save_file

from rws_decode.checkpoints.config import Config, config_of
from rws_decode.checkpoints.files import Checkpoint, fetch, locate
from rws_decode.checkpoints.weights import refuse_nonfinite
from rws_decode.common.files import write_json
from rws_decode.predictors.families import DECODERS, Family, Layout, decoder_config, described, renamed
from rws_decode.predictors.loading import MARKER, family_named, family_names, family_of

__all__ = ["convert"]

FORMAT = 1
_ATTENTION = ("bidirectional", "block-causal")
_TEXT_FILES = ("*.txt", "*.model", "*.jinja", "*token*.json", "vocab.json", "generation_config.json", "examples.json")


def convert(source: str, target: str | os.PathLike[str], *, revision: str | None = None) -> Path:
    """Write a converted checkpoint of LLaDA, Dream or another family to a new directory, and return its path.

    source: a directory or hub id (at `revision`) in the published layout. The tensors keep their values, dtype and
    shards, one of which is in memory at a time; tokenizer files are copied, code is not. config.json is that of
    transformers' LlamaForCausalLM, Qwen2ForCausalLM and so on with an entry `masked_diffusion`, mask and end tokens, by
    which `load_predictor` knows the checkpoint: its logits are those of the source to the last bit.

    The directory appears whole or not at all. ValueError for a source that `load_predictor` would refuse or that is
    converted already, for a target that exists, and for too little disk space, with the number that is missing.
    """
    goal = Path(target)
    if goal.exists():
        raise ValueError(f"target is {goal}: it exists already, name a new directory")
    located = locate("source", source, {})
    checkpoint = fetch(Checkpoint(located.name, located.directory), revision)
    raw = config_of(checkpoint)
    family = family_of(raw)
    if family is None or MARKER in raw:
        kind = "converted already" if MARKER in raw else f"of model_type {raw.get('model_type')!r}"
        raise ValueError(
            f"source is {source}: it is {kind}, a published checkpoint of {', '.join(family_names())} is needed"
        )
    layout, headers, stored, _, mask, ends = described(raw, family)
    if layout.fused:
        raise ValueError(
            f"source is {source}: {family.name} stores attention as one tensor, load it as it is published"
        )
    # The dtype of the largest tensor: norms may be kept in another.
    largest = max(stored.values(), key=lambda tensor: math.prod(tensor.shape))
    config = converted_config(family, layout, mask, ends, str(largest.torch_dtype).removeprefix("torch."))

    goal.parent.mkdir(parents=True, exist_ok=True)
    folder, files = Path(checkpoint.source), {tensor.file for tensor in headers.values()}
    needed, free = sum((folder / file).stat().st_size for file in files), shutil.disk_usage(goal.parent).free
    if needed > free:
        raise ValueError(
            f"target is in {goal.parent}: {needed / 10**9:.3g} GB are needed and {free / 10**9:.3g} GB are free, "
            f"{(needed - free) / 10**9:.3g} GB are missing"
        )
    with TemporaryDirectory(dir=goal.parent, prefix=f".{goal.name}.", suffix=".part") as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        _copy_weights(checkpoint, files, dict(layout.renamed), made)
        for path in {path for pattern in _TEXT_FILES for path in folder.glob(pattern) if path.is_file()}:
            shutil.copyfile(path, made / path.name)
        settings: Any = checkpoint.read_json("tokenizer_config.json")
        if isinstance(settings, dict) and "auto_map" in settings:
            write_json(made / "tokenizer_config.json", {key: settings[key] for key in settings if key != "auto_map"})
        write_json(made / "config.json", config)
        os.rename(made, goal)
    return goal


def _copy_weights(checkpoint: Checkpoint, files: set[str], names: dict[str, str], scratch: Path) -> None:
    table: dict[str, str] = {}
    for file in sorted(files):
        with safe_open(Path(checkpoint.source) / file, framework="pt") as opened:
            tensors = {renamed(key, names): opened.get_tensor(key) for key in opened.keys()}  # noqa: SIM118
        refuse_nonfinite(checkpoint, tensors.items())
        save_file(tensors, scratch / file, metadata={"format": "pt"})
        with (scratch / file).open("rb") as written:
            os.fsync(written.fileno())
        table |= dict.fromkeys(tensors, file)
        del tensors
    if len(set(table.values())) > 1 or "model.safetensors" not in table.values():
        total = sum((scratch / file).stat().st_size for file in set(table.values()))
        index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(table.items()))}
        write_json(scratch / "model.safetensors.index.json", index)


_UNUSED = frozenset(
    "transformers_version _name_or_path bos_token_id output_hidden_states output_attentions return_dict id2label "
    "label2id problem_type chunk_size_feed_forward is_encoder_decoder pretraining_tp".split()
)


def converted_config(family: Family, layout: Layout, mask: int, ends: Sequence[int], dtype: str) -> dict[str, Any]:
    """Return the config.json of a converted checkpoint: transformers' own, with the marker and the special tokens."""
    config = layout.config.to_dict()
    return {key: value for key, value in config.items() if key not in _UNUSED} | {
        "architectures": [f"{DECODERS[layout.kind]}ForCausalLM"],
        "dtype": dtype,
        "mask_token_id": mask,
        "eos_token_id": list(ends),
        "pad_token_id": ends[0] if ends else None,
        MARKER: {
            "format": FORMAT,
            "family": family.name,
            "attention": "bidirectional" if layout.block is None else "block-causal",
            **({} if layout.block is None else {"block": layout.block}),
            "shifted": layout.shifted,
            "precise_rotary": layout.precise_rotary,
            "vocab_size": layout.vocabulary,
        },
    }


def converted(raw: Config) -> Family:
    """Return the family of a converted checkpoint; ValueError for a marker that this version does not know."""
    marker = raw[MARKER]
    family = family_named(str(marker.get("family"))) if isinstance(marker, dict) else None
    if family is None or marker.get("format") != FORMAT or marker.get("attention") not in _ATTENTION:
        raise raw.refused(
            f"{MARKER} in its config.json is not of format {FORMAT}, for "
            f"{' or '.join(_ATTENTION)} attention, of a family of {', '.join(family_names())}"
        )
    return replace(family, layout=_layout)


def _layout(raw: Config) -> Layout:
    """Return how a converted checkpoint is loaded: as it is. ValueError for a config that contradicts itself."""
    kind, marker = str(raw.get("model_type")), Config(raw[MARKER], raw.checkpoint)
    if kind not in DECODERS:
        raise raw.wrong("model_type", f"none of {', '.join(DECODERS)}")
    rows, vocabulary = raw.whole("vocab_size"), marker.whole("vocab_size")
    if rows < vocabulary:
        raise raw.refused(f"its config.json counts {vocabulary} tokens in {rows} rows")
    config = decoder_config(kind, Config({key: value for key, value in raw.items() if key != MARKER}, raw.checkpoint))
    shifted, precise = marker.flag("shifted"), marker.flag("precise_rotary")
    block = marker.whole("block") if marker["attention"] == "block-causal" else None
    return Layout(kind, config, vocabulary, shifted=shifted, precise_rotary=precise, block=block)
