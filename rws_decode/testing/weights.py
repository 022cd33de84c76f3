"""Random weights under published names, and the files that hold them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path

import torch
from torch import Tensor

from rws_decode.common.files import write_json


def tensor_shapes(lines: str, sizes: Mapping[str, int], layers: int) -> dict[str, tuple[int, ...]]:
    """Return names and shapes of tensors from lines "name size size"; those with {} stand for every layer.

    >>> tensor_shapes("a.weight rows wide\\nb.{}.weight wide\\nb.{}.bias wide", {"rows": 3, "wide": 2}, 1)
    {'a.weight': (3, 2), 'b.0.weight': (2,), 'b.0.bias': (2,)}
    """
    shapes: dict[str, tuple[int, ...]] = {}
    rows = [line.split() for line in lines.strip().splitlines()]
    for repeated, part in groupby(rows, lambda row: "{}" in row[0]):
        block = list(part)
        for layer in range(layers) if repeated else (0,):
            shapes |= {name.format(layer): tuple(sizes[size] for size in names) for name, *names in block}
    return shapes


def random_weights(
    shapes: Mapping[str, tuple[int, ...]], seed: int = 0, dtype: torch.dtype = torch.bfloat16, spread: float = 0.25
) -> dict[str, Tensor]:
    """Draw weights, spread enough that predictions depend on the context; gains and biases are not trivial either."""
    generator = torch.Generator().manual_seed(seed)
    drawn = {}
    for name, shape in shapes.items():
        gain = 1.0 if len(shape) == 1 and not name.endswith("bias") else 0.0
        width = spread if len(shape) > 1 else 0.25
        drawn[name] = (gain + width * torch.randn(shape, generator=generator)).to(dtype)
    return drawn


def write_weights(directory: Path, weights: Mapping[str, Tensor], shards: int = 3) -> None:
    """Write weights as so many safetensors files with their index, or as one file without."""
    from safetensors.torch import save_file

    directory.mkdir(parents=True, exist_ok=True)
    if shards == 1:
        save_file(dict(weights), directory / "model.safetensors", metadata={"format": "pt"})
        return
    names, table = list(weights), {}
    for shard in range(shards):
        file = f"model-{shard + 1:05d}-of-{shards:05d}.safetensors"
        part = {name: weights[name].contiguous() for name in names[shard::shards]}
        save_file(part, directory / file, metadata={"format": "pt"})
        table |= dict.fromkeys(part, file)
    total = sum(tensor.nbytes for tensor in weights.values())
    index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(table.items()))}
    write_json(directory / "model.safetensors.index.json", index)
