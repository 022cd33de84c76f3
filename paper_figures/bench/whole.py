"""Measure whole decodes on one device, in every way, against the device's limits: `bench --shape NAME`.

`--out` and `--json` write one object, which the figures read:

- `schema`: 2; `complete`: whether the run came to its end (a file is written after each part that is done);
- `provenance` (`device_run.provenance`): command, commit, changed, version, date, device, machine, driver, cuda, ...;
- `settings`: shape, device, dtype, prompt (its tokens), length, steps, block, batches, repeats, reward_scale, every,
  ways, seed, memory, budget; `notes`: what a reader must know;
- `parameters`: predictor and reward, numbers of weights, and predictor_bytes and reward_bytes;
- `checks` (`check.Check`: name, passed, detail); `ceilings` (`roofline.Ceilings`: bandwidth, rate, dtype); `kernels`
  (`kernels.kernel_table`), null if not asked for;
- `roofline`, the least time: by batch and method (default, rws): seconds, ms_per_step, and `parts`
  (`roofline.roofline_table`);
- `ways`: by batch and way: status ("measured" or why not), runs, seconds (of each run), median_seconds,
  ms_per_step, tokens_per_second (answer tokens alone), peak_bytes (what PyTorch had allocated at the peak, and what
  recorded forwards compute in) and memory_bytes (the peak above all weights), both null on a CPU, forwards,
  reward_calls, reward_calls_saved, repeatable (whether all runs gave the same tokens, null for one run), compared (the
  way whose tokens it ought to give) and agreement (`agreement.Agreement`), null where none is;
- `ratios`: name, batch, value, goal ("at most 1.25") and met, both null but for llada-8b on a GPU;
- `overhead` (Table 11): by batch and of (ours; every step, ours that leaves no reward call out; naive, the loops in
  use): default_seconds, rws_seconds, increase in %, added_bytes (the reward's weights and what is further held at the
  peak, null on a CPU);
- `frequency` (Table 12), at the first batch: every (null for the default), seconds, over_every_step (a ratio), increase
  in % over the default, reward_calls.

What was not measured is null or absent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch

from paper_figures.bench.agreement import agreement
from paper_figures.bench.clock import TimedCall
from paper_figures.bench.random_models import make_models, parameter_count, random_prompts
from paper_figures.bench.roofline import Ceilings, decode_parts, least_seconds, roofline_table
from paper_figures.bench.shapes import shapes_named
from paper_figures.bench.tables import frequency, overhead, ratios
from paper_figures.bench.ways import FAMILIES, Answering, Way, all_ways, naive, plain, time_ways
from paper_figures.studies.work.timing import weight_bytes
from rws_decode.canvas.schedule import block_plan
from rws_decode.plain_loop import PlainRun
from rws_theory.checks import one_of

# The goals are set for models of this shape on a GPU.
_AIMED_AT = "llada-8b"
NOTES = (
    "Weights and prompts are random: times, memory and operations are those of real models of this shape, but not how "
    "often a reward need not be asked (certain, reuse), nor when a text ends (settled).",
    "The text passes between the models through word-level tokenizers; those of real models take longer.",
    "The plain loops are as published, but for closing the tokens that are never committed; their ties are not counted "
    "while they are timed.",
    "seconds are of one batch of answers, from an idle device to an idle device; ways alternate within a repeat, after "
    "each was run in few steps on the same canvas, which does not count. A forward of another shape than these had, of "
    "fewer texts to score say, is recorded in the run that meets it, which takes as long as about four such forwards.",
)


@dataclass(frozen=True)
class BenchSettings:
    """What to measure: see `commands.bench` for each option. budget: seconds after which no further run starts."""

    shape: str
    dtype: str
    prompt: int = 64
    length: int = 256
    steps: int = 128
    block: int = 32
    batches: tuple[int, ...] = (1, 4, 16)
    repeats: int = 2
    reward_scale: float = 8.0
    every: tuple[int, ...] = (2, 4, 8)
    ways: tuple[str, ...] = FAMILIES
    seed: int = 0
    memory: int = 2**31
    budget: float | None = None

    def __post_init__(self) -> None:
        shapes_named(self.shape)
        block_plan(self.length, self.steps, self.block)
        one_of("dtype", self.dtype, ("bfloat16", "float16", "float32"))
        for name in ("prompt", "repeats", "memory", *("batches", "every")):
            values = getattr(self, name)
            values = values if isinstance(values, tuple) else (values,)
            if any(value < 1 for value in values) or len(set(values)) < len(values):
                raise ValueError(f"{name} is {getattr(self, name)}: at least 1 is needed, none of them twice")
        if not self.batches:
            raise ValueError("batches is empty: at least one number of prompts is needed")
        if not self.ways or not set(self.ways) <= set(FAMILIES):
            raise ValueError(f"ways is {list(self.ways)}: some of {', '.join(FAMILIES)} are needed")


def measure(
    settings: BenchSettings,
    device: torch.device,
    ceilings: Ceilings,
    *,
    began: float | None = None,
    tell: Callable[[str], None] = lambda line: None,
    save: Callable[[dict[str, Any]], None] = lambda part: None,
) -> dict[str, Any]:
    """Make the models, decode in every way, and return the object's parts from `parameters` on, without the checks.

    began: the `time.perf_counter()` from which the budget counts; save: given what is known after each batch.
    """
    began = time.perf_counter() if began is None else began
    shapes, dtype = shapes_named(settings.shape), getattr(torch, settings.dtype)
    tell(f"making {shapes.predictor.name} and {shapes.reward.name} in {settings.dtype}")
    models: tuple[Any, Any] = make_models(shapes, device=device, dtype=dtype, seed=settings.seed)
    predictor, reward = models
    weights = {"predictor_bytes": weight_bytes(predictor), "reward_bytes": weight_bytes(reward)}
    counts = {
        "predictor": parameter_count(shapes.predictor),
        "reward": parameter_count(shapes.reward, reward=True),
    }
    prompts = random_prompts(shapes, max(settings.batches), settings.prompt, settings.seed)
    answer = predictor.decode_answer(predictor.encode_prompt(" ".join(["w0"] * settings.length)))
    text_tokens = len(reward.ids(prompts[0], answer or ""))
    result: dict[str, Any] = {"parameters": counts | weights, "roofline": [], "ways": []}
    for rows in settings.batches:
        for method in ("default", "rws"):
            steps = decode_parts(
                shapes,
                block_plan(settings.length, settings.steps, settings.block),
                rows=rows,
                prompt=settings.prompt,
                itemsize=dtype.itemsize,
                rewarded=method == "rws",
                text_tokens=text_tokens,
            )
            seconds = least_seconds(steps, ceilings)
            row = {"batch": rows, "method": method, "seconds": seconds, "ms_per_step": 1e3 * seconds / settings.steps}
            result["roofline"].append(row | {"parts": roofline_table(steps, ceilings)})
    references: dict[tuple[int, str], PlainRun] = {}
    asked = [way for way in all_ways(settings.every) if way.family in settings.ways]
    for rows in settings.batches:
        # The first batch has all ways, the larger ones the loops and ours alone, and fewer runs of them.
        first = rows == settings.batches[0]
        ways = asked if first else [way for way in asked if way.family != "every"]
        repeats = settings.repeats if first else max(1, settings.repeats // 2)
        answer_shape = settings.length, settings.steps, settings.block
        job = Answering(predictor, reward, tuple(prompts[:rows]), *answer_shape, settings.reward_scale, settings.memory)
        timed = time_ways(job, ways, repeats, device, began=began, budget=settings.budget, tell=tell)
        for way in ways:
            runs, status = timed[way.name]
            row = {"batch": rows, "way": way.name, "status": status}
            result["ways"].append(row | _row(job, way, runs, sum(weights.values()), references))
        goals = device.type == "cuda" and settings.shape == _AIMED_AT
        result |= {
            "ratios": ratios(result["ways"], result["roofline"], goals=goals),
            "overhead": overhead(result["ways"], weights["reward_bytes"]),
            "frequency": frequency(result["ways"], settings.batches[0]),
        }
        save(result)
    return result


def _row(
    job: Answering, way: Way, runs: Sequence[TimedCall], weights: int, references: dict[tuple[int, str], PlainRun]
) -> dict[str, Any]:
    """Return what is known of a way; a plain loop's outcome becomes a reference for those after it."""
    row: dict[str, Any] = {"runs": len(runs), "seconds": [run.seconds for run in runs]}
    names = ("median_seconds", "ms_per_step", "tokens_per_second", "peak_bytes", "memory_bytes", "forwards")
    names += ("reward_calls", "reward_calls_saved", "repeatable", "compared", "agreement")
    row |= dict.fromkeys(names)
    if not runs:
        return row
    rows, seconds, outcome = len(job.prompts), median(row["seconds"]), runs[-1].outcome
    peaks = [run.peak_bytes for run in runs if run.peak_bytes is not None]
    row |= {
        "median_seconds": seconds,
        "ms_per_step": 1e3 * seconds / job.steps,
        "tokens_per_second": rows * job.length / seconds,
        "peak_bytes": max(peaks) if peaks else None,
        "memory_bytes": max(peaks) - weights if peaks else None,
        "reward_calls": outcome.reward_calls,
    }
    if len(runs) > 1:
        given = [torch.as_tensor(run.outcome.tokens) for run in runs]
        row["repeatable"] = all(torch.equal(tokens, given[0]) for tokens in given)
    if isinstance(outcome, PlainRun):
        references[rows, way.name] = outcome
        return row | {"forwards": job.steps, "reward_calls_saved": 0}
    row |= {"forwards": outcome.forwards, "reward_calls_saved": outcome.reward_calls_saved}
    reference = references.get((rows, way.compared or ""))
    if reference is not None:
        again = plain if way.compared == "plain" else naive
        compared = agreement(outcome.traces, reference, lambda: again(job, count_ties=True))
        row |= {"compared": way.compared, "agreement": compared.as_data()}
    return row
