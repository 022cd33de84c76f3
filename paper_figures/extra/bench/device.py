"""Measure whole decodes on one device, in every way, against the device's limits: `bench --shape NAME`.

`--out` and `--json` write one object:

- `complete`: whether the run came to its end (a file is written after each part that is done);
- `provenance`: command, commit, version, date, device, machine, threads, versions of libraries;
- `settings`: shape, device, dtype, prompt (its tokens), length, steps, block, batches, repeats, reward_scale, budget;
  `notes`: what a reader must know;
- `checks` (`check.Check`: name, passed, detail); `ceilings` (`roofline.Ceilings`: bandwidth, rate, dtype); `kernels`
  (`kernels.kernel_table`);
- `parameters`: predictor and reward, numbers of weights, and predictor_bytes and reward_bytes;
- `roofline`, the least time: by batch and method (default, rws): seconds, ms_per_step, and `parts`
  (`roofline.roofline_table`);
- `ways`: by batch and way: status ("measured" or why not), runs, seconds (of each run), median_seconds,
  ms_per_step, tokens_per_second (answer tokens alone), peak_bytes (what PyTorch had allocated at the peak, and what
  recorded forwards compute in) and memory_bytes (the peak above all weights), both null on a CPU, forwards,
  reward_calls, reward_calls_saved, repeatable (whether all runs gave the same tokens, null for one run), compared (the
  way whose tokens it ought to give) and agreement (`check.Agreement`), null where none is;
- `ratios`: name, batch, value and goal ("at most 1.25"), null where there is none;
- `overhead` (Table 11): by batch and of (ours; every step, ours that leaves no reward call out; naive, the loops in
  use): default_seconds, rws_seconds, increase in %, added_bytes (the reward's weights and what is further held at the
  peak, null on a CPU);
- `seconds` of it all.

What was not measured is null or absent.
"""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

import torch

from paper_figures.extra.bench.check import agreement, self_check
from paper_figures.extra.bench.kernels import kernel_table
from paper_figures.extra.bench.plain_loop import PlainRun
from paper_figures.extra.bench.random_models import make_models, random_prompts
from paper_figures.extra.bench.report import overhead, ratios
from paper_figures.extra.bench.roofline import (
    Ceilings,
    TimedCall,
    decode_parts,
    least_seconds,
    measure_ceilings,
    roofline_table,
)
from paper_figures.extra.bench.shapes import SHAPES, shapes_named
from paper_figures.extra.bench.ways import Answering, Way, all_ways, naive, plain, time_ways
from paper_figures.runner.versions import commit, machine_name
from paper_figures.studies.seconds import weight_bytes
from rws_decode.common.files import write_json
from rws_decode.settings import Shape
from rws_theory.checks import one_of

_PROMPT = 64  # tokens
_NOTES = (
    "Weights and prompts are random: times, memory and operations are those of real models of this shape, but not how "
    "often a reward need not be asked (certain, reuse), nor when a text ends (settled).",
    "The text passes between the models through word-level tokenizers; those of real models take longer.",
    "The plain loops are as published, but for closing the tokens that are never committed; their ties are not counted "
    "while they are timed.",
    "seconds are of one batch of answers, from an idle device to an idle device; ways alternate within a repeat, after "
    "each was run in few steps on the same canvas, which does not count. A forward of another shape than these had, of "
    "fewer texts to score say, is recorded in the run that meets it, which takes as long as about four such forwards.",
)
_OF_A_WAY = (
    *("median_seconds", "ms_per_step", "tokens_per_second", "peak_bytes", "memory_bytes", "forwards"),
    *("reward_calls", "reward_calls_saved", "repeatable", "compared", "agreement"),
)


@dataclass(frozen=True)
class BenchSettings:
    """What to measure. batches: prompts at once; budget: seconds after which no further run starts."""

    shape: str
    dtype: str
    answer: Shape
    batches: tuple[int, ...]
    repeats: int
    reward_scale: float
    budget: float

    def __post_init__(self) -> None:
        shapes_named(self.shape)
        one_of("dtype", self.dtype, ("bfloat16", "float16", "float32"))


def bench_device(
    device: torch.device,
    settings: BenchSettings | None,
    out: Path | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Check the device; if every check passes, measure its ceilings, the kernels and whole decodes.

    settings: None for the checks alone. out: a file, written after each part; its `complete` is false until the last.
    """
    began = time.perf_counter()
    checks = [asdict(check) for check in self_check(device, shapes=SHAPES["small"], tell=tell)]
    if settings is None or not passed(checks):
        return {"checks": checks}
    values = asdict(settings)
    result: dict[str, Any] = {
        "complete": False,
        "provenance": provenance(device),
        "settings": {"device": str(device), "prompt": _PROMPT} | values.pop("answer") | values,
        "notes": _NOTES,
        "checks": checks,
    }

    def save(part: dict[str, Any]) -> None:
        result.update(part)
        if out is not None:
            write_json(out, result)

    ceilings = measure_ceilings(device, getattr(torch, settings.dtype))
    save({"ceilings": asdict(ceilings)})
    tell(f"ceilings: {ceilings.bandwidth / 1e9:.4g} GB/s, {ceilings.rate / 1e12:.4g} TFLOP/s")
    vocabulary = shapes_named(settings.shape).predictor.vocabulary
    save({"kernels": kernel_table(device, vocabulary, ceilings.bandwidth, tell=tell)})
    measure(settings, device, ceilings, began, save, tell)
    save({"seconds": time.perf_counter() - began, "complete": True})
    return result


def passed(checks: Sequence[dict[str, Any]]) -> bool:
    """Return whether every check passed."""
    return all(check["passed"] for check in checks)


def provenance(device: torch.device) -> dict[str, Any]:
    """Return what a measurement is made with: command, code, device, libraries and date, as JSON has it."""
    words = sys.argv
    called = Path(words[0]).name in ("__main__.py", "rws") and words[1:2] == ["bench"]
    return {
        "command": shlex.join(["python", "-m", "rws_decode", *words[1:]]) if called else None,
        "commit": commit(Path(__file__).parents[2]),
        "version": _installed("rws-toolkit"),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "machine": machine_name(str(device)),
        "threads": torch.get_num_threads(),
        "cuda": torch.version.cuda if device.type == "cuda" else None,
        "torch": torch.__version__,
        "triton": _installed("triton"),
    }


def _installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def measure(
    settings: BenchSettings,
    device: torch.device,
    ceilings: Ceilings,
    began: float,
    save: Callable[[dict[str, Any]], object],
    tell: Callable[[str], None] = lambda line: None,
) -> None:
    """Make the models, decode in every way, and save the object's parts from `parameters` to `overhead`.

    began: the `time.perf_counter()` from which the budget counts; save: called with what is known after each batch.
    """
    shapes, dtype, answer = shapes_named(settings.shape), getattr(torch, settings.dtype), settings.answer
    tell(f"making {shapes.predictor.name} and {shapes.reward.name} in {settings.dtype}")
    predictor, reward = make_models(shapes, device=device, dtype=dtype)
    models: dict[str, Any] = {"predictor": predictor, "reward": reward}
    weights = {name: sum(part.numel() for part in each.model.parameters()) for name, each in models.items()}
    nbytes = {f"{name}_bytes": weight_bytes(each) for name, each in models.items()}
    prompts = random_prompts(shapes, max(settings.batches), _PROMPT)
    text = predictor.decode_answer(predictor.encode_prompt(" ".join(["w0"] * answer.length)))
    text_tokens = len(reward.ids(prompts[0], text or ""))
    result: dict[str, Any] = {"parameters": weights | nbytes, "roofline": [], "ways": []}
    for rows in settings.batches:
        for method in ("default", "rws"):
            steps = decode_parts(
                shapes,
                answer.plan,
                rows=rows,
                prompt=_PROMPT,
                itemsize=dtype.itemsize,
                rewarded=method == "rws",
                text_tokens=text_tokens,
            )
            seconds = least_seconds(steps, ceilings)
            row = {"batch": rows, "method": method, "seconds": seconds, "ms_per_step": 1e3 * seconds / len(answer.plan)}
            result["roofline"].append(row | {"parts": roofline_table(steps, ceilings)})
    for rows in settings.batches:
        # The first batch has all ways, the larger ones those that leave calls out, and fewer runs of them.
        first = rows == settings.batches[0]
        ways = [way for way in all_ways() if first or "every" not in way.name]
        repeats = settings.repeats if first else max(1, settings.repeats // 2)
        job = Answering(predictor, reward, tuple(prompts[:rows]), answer, settings.reward_scale)
        timed = time_ways(job, ways, repeats, device, began=began, budget=settings.budget, tell=tell)
        references = {name: runs[-1].outcome for name, (runs, _) in timed.items() if runs}
        for way in ways:
            runs, status = timed[way.name]
            row = {"batch": rows, "way": way.name, "status": status}
            result["ways"].append(row | _row(job, way, runs, sum(nbytes.values()), references))
        result |= {
            "ratios": ratios(result["ways"], result["roofline"]),
            "overhead": overhead(result["ways"], nbytes["reward_bytes"]),
        }
        save(result)


def _row(
    job: Answering, way: Way, runs: Sequence[TimedCall], weights: int, references: dict[str, Any]
) -> dict[str, Any]:
    """Return what is known of a way. weights: bytes of both models; references: the outcomes of all ways, by name."""
    row: dict[str, Any] = {"runs": len(runs), "seconds": [run.seconds for run in runs], **dict.fromkeys(_OF_A_WAY)}
    if not runs:
        return row
    seconds, outcome = median(row["seconds"]), runs[-1].outcome
    peaks = [run.peak_bytes for run in runs if run.peak_bytes is not None]
    row |= {
        "median_seconds": seconds,
        "ms_per_step": 1e3 * seconds / job.sizes[1],
        "tokens_per_second": len(job.prompts) * job.shape.length / seconds,
        "peak_bytes": max(peaks) if peaks else None,
        "memory_bytes": max(peaks) - weights if peaks else None,
        "reward_calls": outcome.reward_calls,
    }
    if len(runs) > 1:
        given = [torch.as_tensor(run.outcome.tokens) for run in runs]
        row["repeatable"] = all(torch.equal(tokens, given[0]) for tokens in given)
    if isinstance(outcome, PlainRun):
        return row | {"forwards": job.sizes[1], "reward_calls_saved": 0}
    row |= {"forwards": outcome.forwards, "reward_calls_saved": outcome.reward_calls_saved}
    if way.compared in references:
        again = plain if way.compared == "plain" else naive
        found = agreement(outcome.traces, references[way.compared], lambda: again(job, count_ties=True))
        row |= {"compared": way.compared, "agreement": asdict(found)}
    return row
