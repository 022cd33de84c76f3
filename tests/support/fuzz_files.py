"""Files that are not what they say: each reader is given its own files with bytes and values changed by Hypothesis.

    python tests/support/fuzz_files.py [--seconds 3600] [--seed N] [NAME ...]

runs every target until the time is over; `--seed` repeats a round. A reader may return, or raise a ValueError of one
line that names the file or its folder. Anything else, or too much time or memory, is a finding: its folder is kept.
"""

import argparse
import io
import json
import logging
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from tiny_models import bert_predictor

from rws_decode import RWS, CallableReward, Shape, decode, load_predictor, load_reward, load_trace
from rws_decode.checkpoints import DIGESTS, models_directory
from rws_decode.extra.testing import tiny_checkpoint
from rws_theory import selection_path
from rws_theory.__main__ import read_npy

SECONDS = 20
BYTES = 3 * 2**30

# What JSON can hold and no reader expects; longer ones and deeper ones too.
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**31, -(2**63), 10**30, 0.5, -0.0, 1e308, float("nan"), float("inf"), ""),
    *("x", "../../etc/passwd", "\ud800", "\0", "\u202e🐈", "[MASK]", "y" * 200, [], {}, [[]], [None], [1, "a"]),
    *({"": {}}, [2**40] * 3, "float32", "model.safetensors", 10**9),
)


_DEEP = "nested five thousand times"


class TooSlow(BaseException):
    pass


@dataclass(frozen=True)
class Target:
    """A reader: `make` writes a whole folder, `files` are those that are changed, `read` reads it."""

    make: Callable[[Path], object]
    files: tuple[str, ...]
    read: Callable[[Path], object]
    # How a refusal may begin that is about what else was given, and cannot know the file.
    other: tuple[str, ...] = ()


@contextmanager
def bounded(seconds: int = SECONDS, extra: int = BYTES) -> Iterator[None]:
    """Let no more than `extra` bytes of address space be taken, nor more than `seconds` of this process's time."""

    def late(number: int, frame: FrameType | None) -> None:
        raise TooSlow

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGPROF, late)
    resource.setrlimit(resource.RLIMIT_AS, (used + extra, hard))
    # Again and again: what raises in a callback that ignores errors is lost.
    signal.setitimer(signal.ITIMER_PROF, seconds, 0.5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def check(target: Target, folder: Path) -> str:
    """Read a folder and say how it went, "read" or the message; AssertionError for a refusal that is not one line."""
    with bounded(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            target.read(folder)
        except (ValueError, FileNotFoundError) as error:
            message = str(error)
            assert "\n" not in message, f"more than one line: {message!r}"
            assert len(message) < 2000, f"long: {message[:300]!r}"
            named = folder.name in message or any(Path(file).name in message for file in target.files)
            assert named or message.startswith(target.other), f"unnamed: {message!r}"
            return message
    return "read"


# Changes of bytes and of values.


def changed_bytes(draw: st.DrawFn, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(changed)))
        kind = draw(st.sampled_from(["set", "cut", "drop", "insert", "repeat", "zero", "ones"]))
        some = draw(st.integers(1, 64))
        if kind == "set":
            changed[start : start + 1] = draw(st.binary(min_size=1, max_size=8))
        elif kind == "cut":
            del changed[start:]
        elif kind == "drop":
            del changed[start : start + some]
        elif kind == "insert":
            changed[start:start] = draw(st.binary(min_size=1, max_size=64))
        elif kind == "repeat":
            changed[start:start] = changed[start : start + some] * draw(st.integers(1, 50))
        else:
            changed[start : start + some] = (b"\0" if kind == "zero" else b"\xff") * some
    return bytes(changed)


def changed_value(draw: st.DrawFn, value: Any) -> Any:
    """Return a value of lists and dicts with some parts replaced, left out, or put in."""
    value = deepcopy(value)
    for _ in range(draw(st.integers(1, 3))):
        places = list(_places(value))
        if not places:
            return _some(draw)
        holder, key = places[draw(st.integers(0, len(places) - 1))]
        kind = draw(st.sampled_from(["replace", "replace", "replace", "drop", "deepen", "swap", "more"]))
        if kind == "drop":
            del holder[key]
        elif kind == "deepen":
            holder[key] = draw(st.sampled_from([[holder[key]], _DEEP]))
        elif kind == "swap":
            other, name = places[draw(st.integers(0, len(places) - 1))]
            holder[key] = deepcopy(other[name])
        elif kind == "more" and isinstance(holder, dict):
            holder[draw(st.sampled_from(["", "x", "auto_map", "quantization_config", "__class__", key + "_"]))] = 1
        else:
            holder[key] = _some(draw)
    return value


def _some(draw: st.DrawFn) -> Any:
    # A copy: what is changed further must not change what is drawn next.
    return deepcopy(draw(st.sampled_from(VALUES)))


def _places(value: Any, depth: int = 0) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict | list) and depth < 12:
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key], depth + 1)


def dumped(value: Any) -> str:
    """Return a value as JSON, in it what stands for a nesting that json.dumps itself cannot write."""
    return json.dumps(value).replace(json.dumps(_DEEP), "[" * 5000 + "]" * 5000)


def changed_safetensors(draw: st.DrawFn, data: bytes) -> bytes:
    """Return a safetensors file with another header, its length told rightly or not."""
    size = int.from_bytes(data[:8], "little")
    header = dumped(changed_value(draw, json.loads(data[8 : 8 + size]))).encode()
    length = draw(st.sampled_from([len(header), len(header), len(header), 0, 2**63, len(header) + 1, 2**40]))
    return length.to_bytes(8, "little") + header + data[8 + size :]


def changed_table(draw: st.DrawFn, data: bytes) -> bytes:
    """Return a Parquet file with other metadata or rows, or a column that is missing, renamed, or of other values."""
    table = pq.read_table(pa.BufferReader(data))
    metadata = {name: value for name, value in (table.schema.metadata or {}).items() if name != b"ARROW:schema"}
    kind = draw(st.sampled_from(["metadata", "metadata", "value", "type", "drop", "rename", "rows"]))
    index = draw(st.integers(0, table.num_columns - 1))
    if kind == "metadata" and metadata:
        name = draw(st.sampled_from(sorted(metadata)))
        try:
            metadata[name] = dumped(changed_value(draw, json.loads(metadata[name]))).encode()
        except ValueError:  # no JSON
            metadata[name] = changed_bytes(draw, metadata[name])
    elif kind == "drop":
        table = table.remove_column(index)
    elif kind == "rename":
        table = table.rename_columns([name + "_" * (place == index) for place, name in enumerate(table.schema.names)])
    elif kind == "rows":
        table = table.slice(draw(st.integers(0, table.num_rows)), draw(st.integers(0, table.num_rows)))
    else:
        column, wanted = table.column(index).to_pylist(), table.schema.field(index).type
        if kind == "type":
            wanted = draw(st.sampled_from([pa.string(), pa.float64(), pa.int64(), pa.binary(), pa.list_(pa.int8())]))
        else:
            some = [None, 0, 1, -1, 2**31 - 1, 5, 100, 0.5, float("nan"), float("inf"), "x", True]
            column[draw(st.integers(0, len(column) - 1))] = draw(st.sampled_from(some))
        with suppress(pa.ArrowException, TypeError, ValueError, OverflowError):
            table = table.set_column(index, table.schema.names[index], pa.array(column, wanted))
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(metadata), sink, write_page_checksum=draw(st.booleans()))
    return sink.getvalue().to_pybytes()


def changed_arrays(draw: st.DrawFn, data: bytes) -> bytes:
    """Return an .npz file in which one array is missing, or has another name, other values, another shape or type."""
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        arrays = dict(stored)
    name = draw(st.sampled_from(sorted(arrays)))
    changed = changed_value(draw, {name: arrays.pop(name).tolist()})
    sink = io.BytesIO()
    with suppress(ValueError, OverflowError, AttributeError):  # what is no array stays away
        arrays |= {key: np.array(value) for key, value in changed.items()}
    np.savez(sink, **arrays)
    return sink.getvalue()


def changes(draw: st.DrawFn, whole: dict[str, bytes]) -> tuple[str, bytes]:
    name = draw(st.sampled_from(sorted(whole)))
    data, kind = whole[name], Path(name).suffix
    if kind == ".json":
        structured = dumped(changed_value(draw, json.loads(data))).encode("utf-8", "surrogatepass")
    else:
        changed = {".safetensors": changed_safetensors, ".parquet": changed_table, ".npz": changed_arrays}
        structured = changed.get(kind, changed_bytes)(draw, data)
    return name, structured if draw(st.integers(0, 3)) else changed_bytes(draw, data)


# The readers.


def _make_trace(folder: Path) -> None:
    reward = CallableReward(lambda prompt, answer: float(len(answer)))
    (trace,) = decode(bert_predictor(), ["the cat sat"], RWS(2.0), Shape(length=8, steps=4, block=4), reward=reward)
    trace.save(folder / "trace.parquet")


def _read_trace(folder: Path) -> None:
    trace = load_trace(folder / "trace.parquet")
    assert load_trace(trace.save(folder / "again.parquet")) == trace


def _read_predictor(folder: Path) -> None:
    load_predictor(str(folder)).encode_prompt("the cat")


def _make_array(folder: Path) -> None:
    folder.mkdir()
    np.save(folder / "logits.npy", np.random.default_rng(0).normal(size=(3, 4)))


def _read_array(folder: Path) -> None:
    array = read_npy(str(folder / "logits.npy"), "logits.npy")
    if array.size < 100:
        try:
            selection_path(array, 1, 0.5, 2.0)
        except ValueError as error:
            raise ValueError(f"logits.npy: {error}") from error


WEIGHTS = ("config.json", "model.safetensors")
SHARDS = ("config.json", "model.safetensors.index.json", "model-00001-of-00002.safetensors")
_ENCODING = ("chat is True: ", "prompt 'the cat' encodes to the mask")
CODEC = ("tokenizer.json", "tokenizer_config.json")
TARGETS: dict[str, Target] = {
    "trace": Target(_make_trace, ("trace.parquet",), _read_trace),
    "predictor": Target(
        partial(tiny_checkpoint, "bert", files={"examples.json": [{"kind": "a", "prompt": "x"}]}),
        (*WEIGHTS, *CODEC, "examples.json"),
        _read_predictor,
        _ENCODING,
    ),
    **{
        name: Target(partial(tiny_checkpoint, name), ("config.json", *CODEC), _read_predictor, _ENCODING)
        for name in ("llada", "dream")
    },
    "world": Target(
        # Its digests would refuse every change before a reader sees it.
        partial(shutil.copytree, models_directory() / "english", ignore=shutil.ignore_patterns(DIGESTS)),
        ("config.json", "world.npz", "words.json"),
        lambda folder: decode(load_predictor(str(folder)), ["we ask the"], shape=Shape(length=2, steps=2)),
        _ENCODING,
    ),
    "reward": Target(
        partial(tiny_checkpoint, "classifier", files={"reward.json": {"mean": 0.0, "std": 1.0, "template": "pair"}}),
        (*WEIGHTS, "reward.json", *CODEC),
        lambda folder: load_reward(str(folder)),
    ),
    **{
        name: Target(
            partial(tiny_checkpoint, name, files={"reward.json": {"mean": 0.5, "std": 2.0}}),
            (*SHARDS, "reward.json", "tokenizer.json"),
            lambda folder: load_reward(str(folder)),
        )
        for name in ("skywork", "qrm")
    },
    "array": Target(_make_array, ("logits.npy",), _read_array),
}


def fuzz(name: str, root: Path, examples: int, chosen: int | None = None) -> None:
    """Read `examples` changed folders of a target; raise what Hypothesis finds, shrunk. chosen: the seed."""
    target = TARGETS[name]
    whole = root / f"whole-{name}"
    if not whole.exists():
        target.make(whole)
        target.read(whole)  # what is imported and cached once is no file's doing
    files = {str(path.relative_to(whole)): path.read_bytes() for path in whole.rglob("*") if path.is_file()}
    wanted = {file: files[file] for file in target.files if file in files}
    assert wanted, (name, sorted(files))
    trial = root / f"trial-{name}"

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=False,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],  # a finding is a file that is kept; making it smaller may take hours
        print_blob=False,
    )
    @given(data=st.data())
    def reads(data: st.DataObject) -> None:
        file, content = changes(data.draw, wanted)
        shutil.rmtree(trial, ignore_errors=True)
        shutil.copytree(whole, trial)
        (trial / file).write_bytes(content)
        check(target, trial)

    (reads if chosen is None else seed(chosen)(reads))()


def main(argv: Sequence[str] | None = None) -> int:
    """Fuzz for a while; 1 where something was found."""
    parser = argparse.ArgumentParser(description="read changed files until the time is over")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {' '.join(TARGETS)} (all)")
    parser.add_argument("--seconds", type=float, default=3600.0, help="(3600)")
    parser.add_argument("--seed", type=int, help="of the first round (drawn); the next ones have those that follow")
    args = parser.parse_args(argv)
    if unknown := [name for name in args.names if name not in TARGETS]:
        parser.error(f"NAME is {unknown[0]!r}: one of {', '.join(TARGETS)} is needed")
    logging.disable(logging.ERROR)
    number = random.SystemRandom().randrange(2**31) if args.seed is None else args.seed
    until, findings, kept = time.monotonic() + args.seconds, 0, Path(tempfile.mkdtemp(prefix="findings-"))
    with tempfile.TemporaryDirectory() as root:
        while time.monotonic() < until:
            print(f"seed {number}", flush=True)
            for name in args.names or TARGETS:
                try:
                    if time.monotonic() < until:
                        fuzz(name, Path(root), 200, number)
                except (Exception, TooSlow) as error:
                    findings += 1
                    folder = shutil.move(Path(root) / f"trial-{name}", kept / f"{name}-{number}")
                    print(f"FOUND by seed {number} in {name}, kept in {folder}: {type(error).__name__}: {error}")
                    traceback.print_exc(limit=-6)
            number += 1
    print(f"{findings} findings", flush=True)
    return min(findings, 1)


if __name__ == "__main__":
    sys.exit(main())
