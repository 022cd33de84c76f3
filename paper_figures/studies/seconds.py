"""Measure the seconds and the memory of decodes: the work of timing units (`timing.timing_unit`)."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import torch
from torch import nn

from paper_figures.runner.units import Unit
from paper_figures.runner.versions import machine_name
from paper_figures.runner.worker import forget
from paper_figures.studies.work import decode_units, predictor_for, prompt_of, reward_for
from rws_decode.common.threads import torch_threads
from rws_decode.rewards import RewardModel
from rws_decode.rewards.base import score_checked
from rws_decode.settings import Savings

_UNTIMED = ("default", "rws")
_MEMORY = ("reward_bytes", "peak_bytes_without", "peak_bytes")


def time_units(units: Sequence[Unit]) -> list[list[dict[str, Any]]]:
    """Time the ways of each unit; return a row each.

    Each repetition runs all ways in turn and starts with another way, so that a machine that slows down slows all ways
    alike. One run of confidence and one of rws come first and are not counted. A row has these columns:

    - `timed_seconds`, an entry per way: method, savings; `seconds` and `cpu_seconds` of every repetition, and their
      medians, where on CUDA `cpu_seconds` is empty; `forwards`, `reward_calls`, `reward_calls_saved`; `text`, of the
      last run;
    - `measured_on`; `torch_threads`;
    - `load`, the processes that wanted to run in the minute before, None if the system does not tell;
    - `reward_bytes`, of the reward model's parameters and buffers;
    - `peak_bytes_without` and `peak_bytes`, the most memory that PyTorch had allocated on CUDA: while it decoded
      `default` without the reward loaded, and while it decoded rws. They and `reward_bytes` are None if not asked for.
    """
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    memory = [_memory(unit) if unit.strategy["memory"] else dict.fromkeys(_MEMORY) for unit in units]
    runs: list[list[list[dict[str, Any]]]] = [[[] for _ in unit.strategy["ways"]] for unit in units]
    for way in units[0].strategy["ways"]:
        if way["method"] in _UNTIMED and way["savings"] == "usual":
            _timed(units[0], way)
    for repetition in range(units[0].strategy["repetitions"]):
        for unit, runs_of_unit in zip(units, runs, strict=True):
            ways = unit.strategy["ways"]
            for turn in range(len(ways)):
                index = (turn + repetition) % len(ways)
                runs_of_unit[index].append(_timed(unit, ways[index]))
    with torch_threads() as threads:  # the number of threads that decoding uses
        shared = {"torch_threads": threads, "load": load}
    rows = []
    for unit, runs_of_unit, memory_of_unit in zip(units, runs, memory, strict=True):
        entries = [_entry(*pair) for pair in zip(unit.strategy["ways"], runs_of_unit, strict=True)]
        rows.append([{"timed_seconds": entries, "measured_on": machine_name(unit.device)} | shared | memory_of_unit])
    return rows


def weight_bytes(model: RewardModel) -> int:
    """Return the bytes of a reward model's parameters and buffers; 0 if it has no network.

    A tensor that is shared counts once.

    >>> from rws_decode.rewards import CallableReward
    >>> weight_bytes(CallableReward(lambda prompt, answer: 0.0))
    0
    """
    networks = nn.ModuleList([part for part in vars(model).values() if isinstance(part, nn.Module)])
    return sum(tensor.numel() * tensor.element_size() for tensor in [*networks.parameters(), *networks.buffers()])


def _timed(unit: Unit, way: Mapping[str, Any]) -> dict[str, Any]:
    """Decode a way once, each of its answers alone; if there are several, the reward picks one."""
    savings = {"usual": Savings, "everything": Savings.everything, "nothing": Savings.nothing}[way["savings"]]()
    run_units = [replace(unit, **run) for run in way["runs"]]
    _synchronise()
    began, cpu = time.perf_counter(), time.process_time()
    traces = [decode_units([run_unit], savings=savings)[0] for run_unit in run_units]
    texts = [trace.text or "" for trace in traces]
    scores = [0.0]
    if len(texts) > 1:
        scores = score_checked(reward_for(unit, unit.reward or ""), [prompt_of(unit)] * len(texts), texts)
    _synchronise()
    run: dict[str, Any] = {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - cpu}
    return run | {"traces": traces, "text": texts[scores.index(max(scores))]}


def _entry(way: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    traces, scored = runs[-1]["traces"], len(way["runs"]) if len(way["runs"]) > 1 else 0
    cpu = [] if torch.cuda.is_initialized() else [run["cpu_seconds"] for run in runs]
    return {
        "method": way["method"],
        "savings": way["savings"],
        "seconds": [run["seconds"] for run in runs],
        "cpu_seconds": cpu,
        "median_seconds": median(run["seconds"] for run in runs),
        "median_cpu_seconds": median(cpu) if cpu else None,
        "forwards": sum(trace.forwards for trace in traces),
        "reward_calls": sum(trace.reward_calls for trace in traces) + scored,
        "reward_calls_saved": sum(trace.reward_calls_saved for trace in traces),
        "text": runs[-1]["text"],
    }


def _memory(unit: Unit) -> dict[str, int | None]:
    """Measure what the reward takes: its weights, and on CUDA the peak memory without it loaded and that of rws."""
    predictor_for(unit)
    name = unit.reward or ""
    if not (torch.cuda.is_initialized() or unit.device.startswith("cuda")):
        return dict.fromkeys(_MEMORY) | {"reward_bytes": weight_bytes(reward_for(unit, name))}
    ways = {way["method"]: way for way in unit.strategy["ways"] if way["savings"] == "usual"}
    forget("reward", "causal")
    gc.collect()
    torch.cuda.empty_cache()
    without = _peak(unit, ways["default"])
    weights = weight_bytes(reward_for(unit, name))
    return {"reward_bytes": weights, "peak_bytes_without": without, "peak_bytes": _peak(unit, ways["rws"])}


def _peak(unit: Unit, way: Mapping[str, Any]) -> int:
    """Return the most bytes that PyTorch had allocated during one run: the peaks of all GPUs, added up."""
    devices = range(torch.cuda.device_count())
    for device in devices:
        torch.cuda.reset_peak_memory_stats(device)
    _timed(unit, way)
    return sum(torch.cuda.max_memory_allocated(device) for device in devices)


def _synchronise() -> None:
    if torch.cuda.is_initialized():
        for device in range(torch.cuda.device_count()):
            if torch.cuda.memory_allocated(device):
                torch.cuda.synchronize(device)
