"""`rws bench`: seconds and reward calls beside the loops in use, and what a device can do at best."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from paper_figures.data.examples import refuse_few, shipped_examples
from rws_decode.cli.options import group, json_option, option
from rws_decode.cli.progress import loading, progress, tell
from rws_decode.commands.options import SHAPE, LoadingOptions, RewardOptions
from rws_decode.commands.shown import table
from rws_decode.common.threads import MOST_THREADS
from rws_decode.settings import Shape

GROUP = "Maintain"
_GOALS = {
    "one prompt": "at least 1.5",
    "all at once": "at least 4",
    "rws overhead, one prompt": "at most 0.5",
    "rws overhead, all at once": "at most 0.5",
}
_LOOPS = Shape(length=128, steps=64, block=32)
_DEVICE = Shape(length=256, steps=128, block=32)


@dataclass(frozen=True)
class DeviceOptions:
    """What is measured with models of random weights, and what is written."""

    shape: str | None = option(None, "llada-8b, small or tiny: decode in every way, with all tables", metavar="NAME")
    check: bool = option(False, "run only the self-check, which is run first anyway")
    batches: tuple[int, ...] = option((1, 4, 16), "prompts at once", metavar="B", least=1)
    budget: float = option(540.0, "no run starts after so many seconds", metavar="SECONDS")
    out: Path | None = option(
        None, "write the result as JSON, after each part that is done", metavar="FILE", writes="file"
    )


@dataclass(frozen=True)
class BenchOptions:
    """The models and prompts that are decoded, or the shape and device that are measured."""

    model: str | None = option(
        None, "mask predictor: shipped name, directory or hub id (default: mini)", metavar="NAME"
    )
    mask_id: int | None = option(None, "mask token, for a model that does not name its own")
    loading: LoadingOptions = group(LoadingOptions)
    reward: RewardOptions = group(RewardOptions)
    reward_scale: float = option(8.0, "reward scale s_R", metavar="S")
    prompts: int | None = option(None, "held-out prompts, spread over the model's (default: 16)")
    length: int | None = option(None, f"{SHAPE['length']} (default: {_LOOPS.length}; {_DEVICE.length} with --shape)")
    steps: int | None = option(None, f"{SHAPE['steps']} (default: {_LOOPS.steps}; {_DEVICE.steps} with --shape)")
    block: int | None = option(None, f"{SHAPE['block']} (default: {_LOOPS.block})")
    repeats: int = option(2, "runs of each decode; the fastest counts, or the median with --shape", least=1)
    threads: int | None = option(None, "PyTorch threads (default: as PyTorch is set up)", least=1, most=MOST_THREADS)
    json: bool = json_option()
    device: DeviceOptions = group(DeviceOptions, "a device and its limits: models of a shape in place of --model")

    def answer(self, default: Shape) -> Shape:
        """Return the shape of the answer: what is given, and otherwise that of `default`."""
        given = {name: getattr(self, name) for name in SHAPE if getattr(self, name) is not None}
        return replace(default, **given)

    @property
    def of_a_device(self) -> bool:
        """Return whether a device is measured, with models of random weights."""
        return self.device.shape is not None or self.device.check


def bench(options: BenchOptions) -> int:
    """Compare seconds and reward calls with the loops in use."""
    if not options.of_a_device and options.device.out is not None:
        raise ValueError(f"--out is {options.device.out}: only --shape writes a file, use --json")
    return _run_device(options) if options.of_a_device else _run_loops(options)


def _threads(options: BenchOptions) -> Any:
    import torch

    from rws_decode.common.threads import torch_threads

    # The loops in use get as many threads as ours.
    return torch_threads(torch.get_num_threads() if options.threads is None else options.threads)


def _run_device(options: BenchOptions) -> int:
    from paper_figures.extra.bench.device import BenchSettings, bench_device, passed
    from paper_figures.extra.bench.report import as_text
    from rws_decode.checkpoints.files import device_named

    device = options.device
    given = vars(options) | vars(options.loading) | vars(options.reward)
    for name in (
        *("model", "reward", "prompts", "mask_id", "revision", "device_map", "chat"),
        *("reward_device", "reward_revision"),
    ):
        if given[name] is not None:
            raise ValueError(f"--{name.replace('_', '-')} is {given[name]}: models are made by --shape, leave it out")
    if device.check and device.out is not None:
        raise ValueError(f"--out is {device.out}: --check measures nothing, leave it out")
    torch_device, settings = device_named(options.loading.device), None
    if device.shape is not None and not device.check:
        settings = BenchSettings(
            device.shape,
            options.loading.dtype or ("bfloat16" if torch_device.type == "cuda" else "float32"),
            options.answer(_DEVICE),
            device.batches,
            options.repeats,
            options.reward_scale,
            device.budget,
        )
    with _threads(options):
        result = bench_device(torch_device, settings, device.out, lambda line: tell(f"bench: {line}"))
    print(json.dumps(result, allow_nan=False) if options.json else as_text(result))
    if passed(result["checks"]):
        return 0
    failed = [check["name"] for check in result["checks"] if not check["passed"]]
    tell(f"bench: the self-check failed, nothing was measured: {'; '.join(failed)}")
    return 1


def _run_loops(options: BenchOptions) -> int:
    from paper_figures.extra.bench.loops import bench

    model = options.model or "mini"
    named = options.reward if options.reward.reward is not None else replace(options.reward, reward="mini")
    count = 16 if options.prompts is None else options.prompts
    # Gaps have lengths of their own.
    examples = [example for example in shipped_examples(model) if example.get("kind") != "gap"]
    refuse_few("--prompts", count, examples, model, "examples without gaps")
    loading("bench", model, named.reward)
    prompts = [examples[number * len(examples) // count]["prompt"] for number in range(count)]
    predictor, reward = options.loading.load(model, options.mask_id), named.load(options.loading.device)
    with _threads(options), progress("bench, 10 ways", options.repeats * len(prompts), "prompt") as shown:
        result = bench(
            predictor,
            reward,
            prompts,
            shape=options.answer(_LOOPS),
            reward_scale=options.reward_scale,
            repeats=options.repeats,
            advance=shown.advance,
        )
    print(json.dumps(result, allow_nan=False) if options.json else _as_text(result))
    return 0


def _as_text(result: dict[str, Any]) -> str:
    prompts = result["prompts"]
    counted = ("forwards", "reward_calls", "reward_calls_saved", "reward_tokens_saved")
    rows = []
    for row in result["ways"]:
        rows.append([row["way"], f"{row['seconds']:.2f}"])
        rows[-1] += ["" if row[name] is None else str(row[name]) for name in counted]
        rows[-1] += [*(f"{row[name]} / {prompts}" for name in ("same_text", "same_answer")), str(row["near"])]
    head = ["", "seconds", "forwards", "reward calls", "saved", "tokens saved", "same text", "same answer", "near-tied"]
    lines = [
        f"{result['model']}, {prompts} prompts, {result['length']} tokens in {result['steps']} steps, blocks of "
        f"{result['block']}, s_R = {result['reward_scale']:g}; {result['device']}, {result['threads']} threads; least "
        f"seconds of {result['repeats']}",
        table(head, rows),
        "plain: the published loop, naive: the same with a reward at every step; ours: one, a prompt at a time, all,",
        "at once, whole, with every position filled. Throughput over plain, what RWS adds over what naive adds, and",
        "what a prompt at a time, which is batch-invariant, costs over all at once:",
    ]
    for name, ratio in result["ratios"].items():
        goal = f" (goal: {_GOALS[name]})" if name in _GOALS else ""
        lines.append(f"{name}: {ratio:.2f}{goal}")
    return "\n".join(lines)
