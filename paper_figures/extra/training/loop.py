"""One training loop for every recipe: Muon and AdamW, checkpoints in safetensors, resumable, logged as JSON lines."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from rws_decode.cli.progress import progress


@dataclass(frozen=True)
class Run:
    """Where a run keeps its checkpoint and log, how often it writes them, and at which steps it keeps a copy."""

    directory: Path
    every: int = 200
    keep: tuple[int, ...] = ()


Schedule = Sequence[tuple[int, float]]  # (step, factor on the peak rate), linear between these points


def seeded(seed: int, build: Callable[[], Any]) -> Any:
    """Return build(), whose random numbers PyTorch draws from the seed; its own generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.random.set_rng_state(torch.Generator().manual_seed(seed).get_state())
        return build()


def warm_flat_decay(steps: int) -> Schedule:
    """Return the usual schedule: linear warmup over 100 steps, a plateau, linear decay over the last 40 % of the run.

    >>> warm_flat_decay(1000)
    ((0, 0.0), (100, 1.0), (600, 1.0), (1000, 0.0))
    """
    flat = max(round(steps * 0.6), 1)
    return ((0, 0.0), (min(100, flat), 1.0), (flat, 1.0), (steps, 0.0))


def _optimizers(model: nn.Module, lr: float) -> list[torch.optim.Optimizer]:
    hidden, rest = [], []
    for name, parameter in model.named_parameters():
        matrix = parameter.ndim == 2 and "embed" not in name and "decoder" not in name and "classifier" not in name
        (hidden if matrix and "lm_head" not in name and "score" not in name else rest).append(parameter)
    return [Muon(hidden, lr=lr), torch.optim.AdamW(rest, lr=lr, betas=(0.9, 0.98), weight_decay=0.0)]


def _save(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    temporary = path.with_suffix(".tmp")
    save_file({k: v.detach().clone().contiguous() for k, v in tensors.items()}, temporary, metadata)
    os.replace(temporary, path)


def _pack(model: nn.Module, optimizers: list[torch.optim.Optimizer]) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {f"model.{name}": value for name, value in model.named_parameters()}
    for i, optimizer in enumerate(optimizers):
        for j, state in optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{i}.{j}.{key}": torch.as_tensor(value) for key, value in state.items()}
    return tensors


def _unpack(tensors: dict[str, Tensor], model: nn.Module, optimizers: list[torch.optim.Optimizer]) -> None:
    with torch.no_grad():
        for name, value in model.named_parameters():
            value.copy_(tensors[f"model.{name}"])
    for i, optimizer in enumerate(optimizers):
        packed = optimizer.state_dict()
        for name, value in tensors.items():
            if name.startswith(f"optimizer.{i}."):
                j, key = name.split(".")[2:]
                packed["state"].setdefault(int(j), {})[key] = value
        optimizer.load_state_dict(packed)


def fit(
    run: Run,
    model: nn.Module,
    loss: Callable[[int], tuple[Tensor, dict[str, float]]],
    *,
    schedule: Schedule,
    lr: float,
    recipe: dict[str, Any],
    evaluate: Callable[[], dict[str, float]] | None = None,
) -> None:
    """Minimise `loss(step)` to the end of the schedule, resuming from `run.directory` if it holds a checkpoint.

    ValueError where the directory holds a checkpoint of another recipe.
    """
    points, factors = zip(*schedule, strict=True)
    steps = points[-1]
    run.directory.mkdir(parents=True, exist_ok=True)
    checkpoint, log = run.directory / "checkpoint.safetensors", run.directory / "log.jsonl"
    optimizers = _optimizers(model, lr)
    first, spent = 0, 0.0
    if checkpoint.exists():
        with safe_open(checkpoint, "pt") as handle:
            metadata = handle.metadata()
        if json.loads(metadata["recipe"]) != json.loads(json.dumps(recipe)):
            raise ValueError(f"directory is {run.directory}; it holds a run of another recipe: {metadata['recipe']}")
        _unpack(load_file(checkpoint), model, optimizers)
        first, spent = int(metadata["step"]), float(metadata["seconds"])
    start = time.monotonic() - spent
    sums: dict[str, float] = {}
    summed = 0
    model.train()
    with progress(run.directory.name, steps, "step", done=first) as bar:
        for step in range(first, steps):
            factor = float(np.interp(step + 1, points, factors))
            for optimizer in optimizers:
                for group in optimizer.param_groups:
                    group["lr"] = lr * factor
            value, numbers = loss(step)
            value.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
            for key, number in {"loss": value.item(), **numbers}.items():
                sums[key] = sums.get(key, 0.0) + number
            summed += 1
            done = step + 1

            def save(path: Path, done: int = done) -> None:
                seconds = f"{time.monotonic() - start:.1f}"
                _save(
                    path,
                    _pack(model, optimizers),
                    {"step": str(done), "seconds": seconds, "recipe": json.dumps(recipe)},
                )

            if done in run.keep:
                save(run.directory / f"step-{done}.safetensors")
            if done % run.every == 0 or done == steps:
                row = {"step": done, "seconds": time.monotonic() - start, **{k: v / summed for k, v in sums.items()}}
                if evaluate is not None:
                    model.eval()
                    row |= evaluate()
                    model.train()
                sums, summed = {}, 0
                with log.open("a") as handle:
                    handle.write(json.dumps({k: round(v, 5) for k, v in row.items()}) + "\n")
                bar.remark(f"loss {row['loss']:.3f}")
                save(checkpoint)
            bar.advance()
    model.eval()


def orthogonalise(matrix: Tensor, steps: int = 5) -> Tensor:
    """Return an approximately orthogonal matrix with the singular vectors of `matrix`, by quintic Newton-Schulz steps.

    Singular values end in about [0.7, 1.2] (Jordan 2024); the iteration is on the smaller side's Gram matrix.

    >>> q = orthogonalise(torch.diag(torch.tensor([3.0, 1.0])))
    >>> bool(((q.diagonal() > 0.6) & (q.diagonal() < 1.3)).all())
    True
    """
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if tall else x


class Muon(torch.optim.Optimizer):
    """Momentum, orthogonalised per matrix; the step's root mean square matches AdamW's (Liu et al. 2025)."""

    def __init__(self, params: Iterable[nn.Parameter], lr: float, momentum: float = 0.95, weight_decay: float = 0.02):
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                if "buffer" not in state:
                    state["buffer"] = torch.zeros_like(parameter)
                buffer = state["buffer"].lerp_(parameter.grad, 1 - group["momentum"])
                update = orthogonalise(parameter.grad.lerp(buffer, group["momentum"]))
                scale = 0.2 * max(parameter.shape) ** 0.5
                parameter.mul_(1 - group["lr"] * group["weight_decay"]).add_(update, alpha=-group["lr"] * scale)
