"""Readers given changed files: a short run of `fuzz_files`, and what longer ones found."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from fuzz_files import TARGETS, TooSlow, bounded, check, fuzz


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TARGETS)
def test_changed_files_are_read_or_refused_in_a_line_that_names_them(name: str, root: Path) -> None:
    fuzz(name, root, 4, chosen=0)  # `make fuzz` tries more


def changed(file: str, **fields: Any) -> Callable[[Path], None]:
    """Return what sets fields of a JSON file."""

    def change(folder: Path) -> None:
        (folder / file).write_text(json.dumps({**json.loads((folder / file).read_text("utf-8")), **fields}))

    return change


def replaced(file: str, text: str | bytes) -> Callable[[Path], object]:
    data = text if isinstance(text, bytes) else text.encode()
    return lambda folder: (folder / file).write_bytes(data)


def of_a_trace(**fields: Any) -> Callable[[Path], None]:
    """Return what sets fields of a trace's metadata."""

    def change(folder: Path) -> None:
        table = pq.read_table(folder / "trace.parquet")
        metadata = dict(table.schema.metadata)
        (name,) = (name for name in metadata if b"rws" in name)
        header = json.loads(metadata[name])
        header["trace"] |= fields
        metadata[name] = json.dumps(header).encode()
        pq.write_table(table.replace_schema_metadata(metadata), folder / "trace.parquet")

    return change


DEEP = "[" * 100_000
UNFIT = {"max_length": None, "strategy": "LongestFirst"}
CONFIG, TOKENIZER, SETTINGS = "config.json", "tokenizer.json", "tokenizer_config.json"
WEIGHTS = "model.safetensors"

# The target, what is changed, and what the refusal says.
FOUND: dict[str, tuple[str, Callable[[Path], object], str]] = {
    # tokenizers raises a plain Exception, and transformers whatever a value of another kind leads to.
    "truncation": ("reward", changed(TOKENIZER, truncation=UNFIT), "its tokenizer is not one that transformers reads"),
    "tokenizer class": ("predictor", changed(SETTINGS, tokenizer_class=0.5), "its tokenizer is refused"),
    "length limit nan": ("reward", changed(SETTINGS, model_max_length=float("nan")), "its tokenizer is not one"),
    "template that divides": ("llada", replaced("chat_template.jinja", "{{ 1 / 0 }}"), "chat template fails"),
    "model type": ("predictor", changed(CONFIG, model_type=[]), "model_type in its config.json is []"),
    # A model of as many layers, or of such sizes, is built before a weight is missed.
    **{
        f"{name} {key}": (name, changed(CONFIG, **{key: 10**9}), f"{key} in its config.json is 1000000000, at most")
        for name, key in (("predictor", "num_hidden_layers"), ("predictor", "vocab_size"), ("qrm", "num_labels"))
    },
    "llada layers": ("llada", changed(CONFIG, n_layers=10**9), "n_layers in its config.json is 1000000000, at most"),
    # Of which the config itself makes a list, before any model.
    "dream layers": ("dream", changed(CONFIG, num_hidden_layers=2**31), "num_hidden_layers in its config.json is 21"),
    "qrm gate": ("qrm", changed(CONFIG, gating_n_hidden=10**9), "gating_n_hidden in its config.json is 1000000000"),
    "qrm quantiles": ("qrm", changed(CONFIG, num_quantiles=2**24, num_objectives=2**10), "does not fit its config"),
    # JSON that Python cannot read, in every file.
    **{f"deep {name}": (name, replaced(CONFIG, DEEP), "nested too deep") for name in ("predictor", "reward")},
    "deep header": ("reward", replaced(WEIGHTS, (10**5).to_bytes(8, "little") + b"[" * 10**5), WEIGHTS),
    "long header": ("reward", replaced(WEIGHTS, (2**62).to_bytes(8, "little") + b"{}"), WEIGHTS),
    "index of objects": ("skywork", changed("model.safetensors.index.json", weight_map={"a": {"b": "c"}}), "names"),
    # Arrays and traces.
    "header of an array": (
        "array",
        replaced("logits.npy", b"\x93NUMPY\x01\x00\x76\x00" + b"{'descr': '<f8', (" + b" " * 99 + b"\n"),
        "logits.npy",
    ),
    "surrogate in a trace": ("trace", of_a_trace(strategy="\ud800"), "surrogates not allowed"),
    "nan in a trace": ("trace", of_a_trace(cfg=float("nan")), "not a whole Parquet file"),
    "cells of a trace": ("trace", of_a_trace(steps_run=2**40, length=2**40), "is more than"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", FOUND.values(), ids=FOUND.keys())
def test_what_was_found_is_refused(case: tuple[str, Callable[[Path], object], str], root: Path, tmp_path: Path) -> None:
    name, change, reasons = case
    whole = root / f"whole-{name}"
    if not whole.exists():
        TARGETS[name].make(whole)
    folder = tmp_path / name
    shutil.copytree(whole, folder)
    change(folder)
    message = check(TARGETS[name], folder)
    assert any(part in message for part in reasons.split("|")), message


def test_memory_and_time_are_bounded_while_a_file_is_read() -> None:
    with pytest.raises(MemoryError), bounded(extra=2**28):
        np.ones(2**30)
    with pytest.raises(TooSlow), bounded(seconds=1):
        while True:
            pass
