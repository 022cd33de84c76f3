"""Read names, shapes and sizes of a checkpoint's tensors from the safetensors headers, before any weight."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from rws_decode.checkpoints.files import Checkpoint

_INDEX = "model.safetensors.index.json"
_SINGLE = "model.safetensors"
_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
_FLOATS = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


@dataclass(frozen=True)
class Stored:
    """A tensor in a file: the file's name, safetensors' name of the dtype, and the shape."""

    file: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def torch_dtype(self) -> torch.dtype | None:
        """Return PyTorch's dtype, None for one that is no floating-point dtype of a checkpoint."""
        return _FLOATS.get(self.dtype)


def some(names: Iterable[str], limit: int = 4) -> str:
    """Return the first names in order, for a message."""
    ordered = sorted(names)
    rest = len(ordered) - limit
    return ", ".join(ordered[:limit]) + (f" and {rest} more" if rest > 0 else "")


def weight_files(checkpoint: Checkpoint) -> dict[str, str]:
    """Return the index's map from tensor to file, empty where the weights are one file.

    ValueError for pickled weights alone, which are never opened, for no weights, and for an index that is none.
    """
    folder = checkpoint.directory
    if folder is None:
        raise ValueError(f"{checkpoint.named} is not on this machine")
    if (folder / _INDEX).is_file():
        index = checkpoint.read_json(_INDEX)
        table = index.get("weight_map") if isinstance(index, dict) else None
        if not isinstance(table, dict) or not table:
            raise checkpoint.refused(f"{_INDEX} holds no weight_map")
        for file in table.values():
            # A name with a path could point at any file of the machine; no file system has longer ones.
            named = isinstance(file, str) and Path(file).name == file and file.endswith(".safetensors")
            if not named or len(file.encode(errors="replace")) > 255:
                raise checkpoint.refused(f"{_INDEX} names {str(file)[:60]!r}, not a safetensors file beside it")
        return table
    if (folder / _SINGLE).is_file():
        return {}
    pickled = sorted(path.name for pattern in _PICKLED for path in folder.glob(pattern))
    content = f"only pickled weights ({some(pickled)}), which are never opened" if pickled else "no weights"
    raise checkpoint.refused(f"it holds {content}; {_SINGLE} is needed")


def read_headers(checkpoint: Checkpoint) -> dict[str, Stored]:
    """Return each stored tensor by name, from the headers alone.

    ValueError for a file that is missing, truncated or no safetensors, and for an index that disagrees with the files.
    """
    listed, folder = weight_files(checkpoint), Path(checkpoint.source)
    stored: dict[str, Stored] = {}
    for file in sorted(set(listed.values())) or [_SINGLE]:
        if not (folder / file).is_file():
            raise checkpoint.refused(f"{file} is missing")
        try:
            with safe_open(folder / file, framework="pt") as opened:
                for name in opened.keys():  # noqa: SIM118 - not a mapping
                    if name in stored:
                        raise checkpoint.refused(f"{name} is in {stored[name].file} and in {file}")
                    part = opened.get_slice(name)
                    stored[name] = Stored(file, part.get_dtype(), tuple(part.get_shape()))
        except (SafetensorError, OSError) as error:
            raise checkpoint.refused(f"{file} is truncated or no safetensors file ({error})") from error
    if listed:
        absent = [name for name, file in listed.items() if name not in stored or stored[name].file != file]
        if absent:
            raise ValueError(f"{checkpoint.named} lacks weights that {_INDEX} lists: {some(absent)}")
        unlisted = stored.keys() - listed.keys()
        if unlisted:
            raise ValueError(f"{checkpoint.named} has weights that {_INDEX} does not list: {some(unlisted)}")
    return stored


def refuse_other_layout(
    checkpoint: Checkpoint, stored: Mapping[str, Stored], expected: Mapping[str, tuple[int, ...]]
) -> None:
    """Raise ValueError unless exactly the expected tensors are stored, as floating-point numbers of these shapes."""
    absent = expected.keys() - stored.keys()
    if absent:
        raise ValueError(f"{checkpoint.named} lacks weights: {some(absent)}")
    refuse_unasked(checkpoint, stored.keys() - expected.keys())
    for name, tensor in stored.items():
        if tensor.shape != expected[name]:
            shapes = f"{name} has shape {list(tensor.shape)}, not {list(expected[name])}"
            raise ValueError(f"{checkpoint.named} does not fit its config: {shapes}")
        if tensor.dtype not in _FLOATS:
            raise checkpoint.refused(f"{name} is stored as {tensor.dtype}, not as floating point")


def refuse_incomplete(checkpoint: Checkpoint, report: Mapping[str, Any]) -> None:
    """Raise ValueError for missing or misshapen weights in transformers' report of a loading.

    transformers initialises them at random, with no more than a warning.
    """
    absent = {str(key) for kind in ("missing_keys", "mismatched_keys") for key in report.get(kind, ())}
    if absent:
        raise ValueError(f"{checkpoint.named} lacks weights: {some(absent)}")


def refuse_unasked(checkpoint: Checkpoint, names: Iterable[str]) -> None:
    """Raise ValueError unless there are no weights but those that the config asks for."""
    extra = list(names)
    if extra:
        raise ValueError(f"{checkpoint.named} has weights that its config does not ask for: {some(extra)}")


def shapes_of(model: Callable[[Any], Any], config: Any) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a model's tensors by name, without the memory for them."""
    with torch.device("meta"):
        return {name: tuple(tensor.shape) for name, tensor in model(config).state_dict().items()}


def stored_tensors(checkpoint: Checkpoint, stored: Mapping[str, Stored]) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield each stored tensor by its name in the files, one in memory at a time."""
    for file in sorted({tensor.file for tensor in stored.values()}):
        with safe_open(Path(checkpoint.source) / file, framework="pt") as opened:
            for name in opened.keys():  # noqa: SIM118 - not a mapping
                yield name, opened.get_tensor(name)


def loaded_bytes(stored: Mapping[str, Stored], dtype: torch.dtype) -> int:
    """Return what the weights take once loaded in `dtype`, in bytes."""
    return sum(math.prod(tensor.shape) for tensor in stored.values()) * dtype.itemsize


def refuse_nonfinite(checkpoint: Checkpoint, tensors: Iterable[tuple[str, Any]]) -> None:
    """Raise ValueError for the first named tensor of floating-point numbers that holds NaN or an infinity.

    Tensors of other classes than PyTorch's own, as quantisation makes them, are passed over: see `stored_tensors`.
    """
    for name, tensor in tensors:
        own = type(tensor.data) is torch.Tensor and not tensor.is_meta
        if not own or not tensor.is_floating_point() or tensor.numel() == 0:
            continue
        # The extremes carry NaN along, and take no second tensor as isfinite() would.
        if not bool(torch.stack(torch.aminmax(tensor.detach())).isfinite().all()):
            raise ValueError(f"{checkpoint.named} cannot be used: weight {name} holds NaN or infinite numbers")
