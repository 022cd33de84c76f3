"""`python -m rws_decode bench`: seconds and reward calls beside the loops in use, and what a device can do at best."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from rws_decode.commands._options import add_answer, add_loading, add_reward_loading, predictor_of, reward_of

__all__ = ["add_arguments", "run"]

_GOALS = {
    "one prompt": "at least 1.5",
    "all at once": "at least 4",
    "rws overhead, one prompt": "at most 0.5",
    "rws overhead, all at once": "at most 0.5",
}


_OURS = {"model": "mini", "reward": "mini", "prompts": 16, "length": 128, "steps": 64, "block": 32}
_DEVICE = {"length": 256, "steps": 128, "block": 32}
# Options that say which models are loaded: those of a shape are made instead.
_LOADED = ("model", "reward", "prompts", "mask_id", "revision", "device_map", "chat")
_LOADED += ("reward_device", "reward_revision")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench` to a parser."""
    parser.add_argument("--model", help="mask predictor: shipped name, directory or hub id (mini)")
    add_reward_loading(parser)
    parser.add_argument("--reward-scale", type=float, default=8.0, metavar="S", help="reward scale s_R (8)")
    parser.add_argument("--prompts", type=int, help="held-out prompts, spread over the model's (16)")
    add_answer(parser)
    parser.set_defaults(length=None, steps=None, block=None)
    parser.add_argument("--repeats", type=int, default=2, help="runs of each decode; the fastest, or the median (2)")
    parser.add_argument("--threads", type=int, help="PyTorch threads (as PyTorch is set up)")
    add_loading(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON on standard output")
    device = parser.add_argument_group(
        "a device and its limits",
        "models of a shape with random weights in place of --model; 256 tokens in 128 steps if not told otherwise",
    )
    device.add_argument("--shape", metavar="NAME", help="llada-8b, small or tiny: decode in every way, with all tables")
    device.add_argument("--check", action="store_true", help="run the self-check alone, which is run first anyway")
    device.add_argument(
        "--kernels",
        action=argparse.BooleanOptionalAction,
        help="the table of ways to read logits: alone, or beside --shape, which has it unless told not to",
    )
    device.add_argument("--batches", type=int, nargs="+", default=[1, 4, 16], metavar="B", help="prompts at once")
    device.add_argument(
        "--ways",
        nargs="+",
        metavar="NAME",
        help="of plain, default, naive, rws, every, savings (all; batches after the first leave the last two out)",
    )
    device.add_argument(
        "--every", type=int, nargs="+", default=[2, 4, 8], metavar="K", help="steps between reward calls (2 4 8)"
    )
    device.add_argument("--prompt-tokens", type=int, default=64, metavar="N", help="tokens of each prompt (64)")
    device.add_argument(
        "--memory", type=float, default=2.0, metavar="GIB", help="that the logits of a batch of ours may take (2)"
    )
    device.add_argument("--seed", type=int, default=0, help="of weights, prompts and logits (0)")
    device.add_argument(
        "--budget", type=float, default=540.0, metavar="SECONDS", help="after which no further run starts (540)"
    )
    device.add_argument("--rows", type=int, default=256, help="rows of logits in the table (256)")
    device.add_argument("--vocabulary", type=int, help="their length (the shape's, or 126464)")
    device.add_argument(
        "--factors", type=int, nargs="+", default=[1, 4, 16], metavar="G", help="factors at once (1 4 16)"
    )
    device.add_argument("--sweep", action="store_true", help="also each block size of the Triton kernel")
    device.add_argument(
        "--compile", action=argparse.BooleanOptionalAction, help="also torch.compile of the plain form (on CUDA alone)"
    )
    device.add_argument("--anyway", action="store_true", help="measure even where the self-check fails; status 1 still")
    device.add_argument("--commit", metavar="HASH", help="of the code, where it is not in a git checkout")
    device.add_argument("--out", metavar="FILE", help="write the result as JSON, after each part that is done")


def run(args: argparse.Namespace) -> int:
    """Measure and print; 1 where the self-check fails; ValueError for input that cannot be used."""
    import torch

    from rws_decode.common.threads import torch_threads

    if args.threads is not None and args.threads < 1:
        raise ValueError(f"--threads is {args.threads}: it must be at least 1")
    if args.shape is None and not args.check and not args.kernels and args.out is not None:
        raise ValueError(f"--out is {args.out}: only --shape and --kernels write a file, use --json")
    # As many for the loops beside ours as for ours.
    with torch_threads(torch.get_num_threads() if args.threads is None else args.threads):
        if args.shape is not None or args.check or args.kernels:
            return _run_device(args)
        return _run_loops(_filled(args, _OURS))


def _filled(args: argparse.Namespace, defaults: dict[str, Any]) -> argparse.Namespace:
    given = {name: value for name, value in vars(args).items() if value is not None}
    return argparse.Namespace(**(vars(args) | defaults | given))


def _run_device(args: argparse.Namespace) -> int:
    from paper_figures.bench.device_run import device_run, passed
    from paper_figures.bench.report import as_text, checks_as_text
    from paper_figures.bench.shapes import shapes_named
    from paper_figures.bench.whole import Plan
    from rws_decode.checkpoints.files import device_named

    for name in _LOADED:
        if getattr(args, name) is not None:
            option = "--" + name.replace("_", "-")
            raise ValueError(f"{option} is {getattr(args, name)}: models are made by --shape, leave it out")
    if args.check and args.out is not None:
        raise ValueError(f"--out is {args.out}: --check measures nothing, leave it out")
    device = device_named(args.device)
    plan, vocabulary = None, args.vocabulary or 126_464
    if args.shape is not None:
        filled = _filled(args, _DEVICE)
        plan = Plan(
            args.shape,
            args.dtype or ("bfloat16" if device.type == "cuda" else "float32"),
            prompt=args.prompt_tokens,
            length=filled.length,
            steps=filled.steps,
            block=filled.block,
            batches=tuple(args.batches),
            repeats=args.repeats,
            reward_scale=args.reward_scale,
            every=tuple(args.every),
            seed=args.seed,
            memory=int(args.memory * 2**30),
            budget=args.budget,
            **({} if args.ways is None else {"ways": tuple(args.ways)}),
        )
        vocabulary = args.vocabulary or shapes_named(args.shape).predictor.vocabulary
    table = {"rows": args.rows, "vocabulary": vocabulary, "factors": tuple(args.factors), "seed": args.seed}
    if min(table["rows"], *table["factors"]) < 1 or vocabulary < 2:
        raise ValueError(f"--rows is {args.rows}, --factors {args.factors}: at least 1; --vocabulary {vocabulary}: 2")
    table |= {"compiled": args.compile, "sweep": args.sweep}
    result = device_run(
        device,
        plan=None if args.check else plan,
        kernels=None if args.check or args.kernels is False else table,
        out=args.out,
        commit=args.commit,
        anyway=args.anyway,
        tell=lambda line: print(f"bench: {line}", file=sys.stderr, flush=True),
    )
    alone = args.check or not (passed(result) or args.anyway)
    text = checks_as_text(result["checks"]) if alone else as_text(result)
    print(json.dumps(result, allow_nan=False) if args.json else text)
    if passed(result):
        return 0
    failed = [check["name"] for check in result["checks"] if not check["passed"]]
    told = "the numbers are not to be relied on" if args.anyway else "nothing was measured"
    print(f"bench: the self-check failed, {told}: {'; '.join(failed)}", file=sys.stderr)
    return 1


def _run_loops(args: argparse.Namespace) -> int:
    from paper_figures.bench import bench
    from rws_decode.canvas.schedule import block_plan

    block_plan(args.length, args.steps, args.block)
    predictor = predictor_of(args)
    examples = predictor.examples
    if not 1 <= args.prompts <= len(examples):
        raise ValueError(f"--prompts is {args.prompts}: {predictor.name} ships {len(examples)} examples, at least 1")
    spread = [examples[number * len(examples) // args.prompts]["prompt"] for number in range(args.prompts)]
    print(f"bench: 10 ways, {args.repeats} times, {args.prompts} prompts each", file=sys.stderr)
    result = bench(
        predictor,
        reward_of(args),
        spread,
        length=args.length,
        steps=args.steps,
        block=args.block,
        reward_scale=args.reward_scale,
        repeats=args.repeats,
    )
    print(json.dumps(result, allow_nan=False) if args.json else _as_text(result))
    return 0


def _as_text(result: dict[str, Any]) -> str:
    prompts = result["prompts"]
    lines = [
        f"{result['model']}, {prompts} prompts, {result['length']} tokens in {result['steps']} steps, blocks of "
        f"{result['block']}, s_R = {result['reward_scale']:g}; {result['device']}, {result['threads']} threads; least "
        f"seconds of {result['repeats']}",
        f"{'':16}{'seconds':>9}{'forwards':>10}{'reward calls':>14}{'saved':>7}{'tokens saved':>14}"
        f"{'same text':>11}{'same answer':>13}{'near-tied':>11}",
    ]
    for row in result["ways"]:
        forwards = "" if row["forwards"] is None else row["forwards"]
        lines.append(
            f"{row['way']:16}{row['seconds']:9.2f}{forwards:>10}{row['reward_calls']:>14}{row['reward_calls_saved']:>7}{row['reward_tokens_saved']:>14}"
            f"{row['same_text']:>6} / {prompts:<2}{row['same_answer']:>8} / {prompts:<2}{row['near']:>11}"
        )
    lines += [
        "plain: the published loop, naive: the same with a reward at every step; ours: one, a prompt at a time, all,",
        "at once, whole, with every position filled. Throughput over plain, and what RWS adds over what naive adds:",
    ]
    for name, ratio in result["ratios"].items():
        goal = f" (aimed at: {_GOALS[name]})" if name in _GOALS else ""
        lines.append(f"{name}: {ratio:.2f}{goal}")
    return "\n".join(lines)
