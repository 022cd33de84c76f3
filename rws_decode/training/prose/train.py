"""Curriculum training: plain masked cross-entropy first, then the diffusion bound; seeded, resumable, killable."""

from __future__ import annotations

import json
import math
import os
import platform
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional
from transformers import BertForMaskedLM

from rws_decode.files import write_json
from rws_decode.training.prose.windows import MASK, Streams, mask_answer, mask_anywhere, sample_windows

__all__ = ["Recipe", "latest", "make_optimizer", "masked_loss", "rate_factor", "save_checkpoint", "train"]


@dataclass(frozen=True)
class Recipe:
    """What one run does: `plain` is the share of steps with plain cross-entropy at mask rates from `low` to `high`."""

    steps: int
    batch: int = 32
    rate: float = 1e-3
    warmup: int = 100
    plain: float = 0.5
    low: float = 0.05
    high: float = 0.55
    decay: float = 0.01
    seed: int = 0
    save_every: int = 500
    report_every: int = 100


def masked_loss(model: BertForMaskedLM, windows: Tensor, masked: Tensor, weights: Tensor) -> Tensor:
    """Weighted sum of cross-entropies (nats) over masked positions; the head runs on those positions only."""
    hidden = model.bert(windows.masked_fill(masked, MASK)).last_hidden_state[masked]
    loss = functional.cross_entropy(model.cls(hidden), windows[masked], reduction="none")
    return (loss * weights[masked]).sum()


def make_optimizer(model: BertForMaskedLM, recipe: Recipe) -> torch.optim.AdamW:
    """AdamW; norms and biases are not decayed."""
    matrices = [p for p in model.parameters() if p.dim() == 2]
    vectors = [p for p in model.parameters() if p.dim() != 2]
    groups = [{"params": matrices, "weight_decay": recipe.decay}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=recipe.rate, betas=(0.9, 0.98))


def rate_factor(step: int, recipe: Recipe) -> float:
    """Learning-rate factor: linear warm-up, then linear to 5 %.

    >>> recipe = Recipe(steps=300, warmup=100)
    >>> rate_factor(49, recipe), rate_factor(99, recipe), round(rate_factor(299, recipe), 3)
    (0.5, 1.0, 0.055)
    """
    if step < recipe.warmup:
        return (step + 1) / recipe.warmup
    left = (recipe.steps - step) / max(1, recipe.steps - recipe.warmup)
    return 0.05 + 0.95 * min(1.0, left)


def _flat(opt: torch.optim.Optimizer) -> dict[str, Tensor]:
    states = opt.state_dict()["state"].items()
    return {
        f"{index}.{key}": torch.as_tensor(value).clone().contiguous()
        for index, state in states
        for key, value in state.items()
    }


def _unflatten(opt: torch.optim.Optimizer, flat: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in flat.items():
        index, key = name.split(".", 1)
        state.setdefault(int(index), {})[key] = value
    opt.load_state_dict({"state": state, "param_groups": opt.state_dict()["param_groups"]})


def save_checkpoint(out: Path, model: BertForMaskedLM, opt: torch.optim.Optimizer, progress: dict[str, Any]) -> None:
    """Write a checkpoint beside the last one, then point `latest.json` at it: a kill leaves one that is whole."""
    name = f"checkpoint-{progress['step']}"
    temporary = out / f".{name}.tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    model.save_pretrained(temporary)
    save_file(_flat(opt), temporary / "optimizer.safetensors")
    (temporary / "progress.json").write_text(json.dumps(progress))
    shutil.rmtree(out / name, ignore_errors=True)
    os.replace(temporary, out / name)
    write_json(out / "latest.json", {"checkpoint": name})
    for old in out.glob("checkpoint-*"):
        if old.name != name:
            shutil.rmtree(old)


def latest(out: Path) -> Path | None:
    """The checkpoint that `latest.json` names, or None before the first."""
    pointer = out / "latest.json"
    return out / json.loads(pointer.read_text())["checkpoint"] if pointer.is_file() else None


def train(
    model: BertForMaskedLM,
    data: Streams,
    recipe: Recipe,
    out: Path,
    *,
    resume: bool = True,
    evaluate: Callable[[BertForMaskedLM], dict[str, float]] | None = None,
    evaluate_every: int = 1000,
    stop: Callable[[], bool] | None = None,
) -> dict[str, Any]:
    """Train `model` in place to `recipe.steps`, `stop()` or SIGTERM; checkpoints in `out`; return the progress.

    Every step draws from a generator seeded by (seed, step): a resumed run sees the batches of an uninterrupted one.
    """
    out.mkdir(parents=True, exist_ok=True)
    opt = make_optimizer(model, recipe)
    device = f"{torch.get_num_threads()} CPU thread(s), {platform.machine()}"
    progress: dict[str, Any] = {
        "device": device,
        "step": 0,
        "seconds": 0.0,
        "tokens": 0,
        "recipe": asdict(recipe),
        "curve": [],
    }
    checkpoint = latest(out) if resume else None
    if checkpoint is not None:
        progress = json.loads((checkpoint / "progress.json").read_text())
        if progress["recipe"] != asdict(recipe):
            raise ValueError(f"--out {out}: holds a run with another recipe; name another folder or repeat its options")
        model.load_state_dict(BertForMaskedLM.from_pretrained(checkpoint).state_dict())
        _unflatten(opt, load_file(checkpoint / "optimizer.safetensors"))
    asked: list[int] = []
    previous = signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    began, before, running = time.monotonic(), progress["seconds"], math.nan
    model.train()
    try:
        while progress["step"] < recipe.steps and not asked and not (stop is not None and stop()):
            step = progress["step"]
            generator = torch.Generator().manual_seed(recipe.seed * 1_000_003 + step)
            torch.manual_seed(recipe.seed * 1_000_003 + step)
            windows, prompt = sample_windows(data, recipe.batch, generator)
            if step < recipe.plain * recipe.steps:
                masked, weights = mask_anywhere(windows, recipe.low, recipe.high, generator)
            else:
                masked, weights = mask_answer(windows, prompt, generator)
            for group in opt.param_groups:
                group["lr"] = recipe.rate * rate_factor(step, recipe)
            opt.zero_grad(set_to_none=True)
            loss = masked_loss(model, windows, masked, weights)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            value = float(loss.detach())
            if not math.isfinite(value):
                raise ValueError(f"step {step}: the loss is {value}; lower --rate, the last checkpoint is kept")
            running = value if math.isnan(running) else 0.98 * running + 0.02 * value
            progress["step"] = step + 1
            progress["tokens"] += windows.numel()
            progress["seconds"] = before + time.monotonic() - began
            if (step + 1) % recipe.report_every == 0:
                print(
                    f"step {step + 1}/{recipe.steps}  loss {running:.3f}  {progress['seconds']:.0f} s",
                    file=sys.stderr,
                    flush=True,
                )
            if evaluate is not None and (step + 1) % evaluate_every == 0:
                row = {"step": step + 1, "seconds": round(progress["seconds"], 1), **evaluate(model)}
                progress["curve"].append(row)
                print(json.dumps(row), file=sys.stderr, flush=True)
                model.train()
            if (step + 1) % recipe.save_every == 0:
                save_checkpoint(out, model, opt, progress)
        save_checkpoint(out, model, opt, progress)
    finally:
        signal.signal(signal.SIGTERM, previous)
    if progress["step"] < recipe.steps:
        print(f"stopped at step {progress['step']}; the same command resumes", file=sys.stderr)
    return progress
