"""`python -m rws_decode bench`: seconds and reward calls beside the loops that users run today."""

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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench` to a parser."""
    parser.add_argument("--model", default="mini", help="mask predictor: shipped name, directory or hub id (mini)")
    add_reward_loading(parser)
    parser.add_argument("--reward-scale", type=float, default=8.0, metavar="S", help="reward scale s_R (8)")
    parser.add_argument("--prompts", type=int, default=16, help="held-out prompts, spread over the model's (16)")
    add_answer(parser)
    parser.set_defaults(length=128, steps=64, reward="mini")
    parser.add_argument("--repeats", type=int, default=2, help="runs of each decode; the fastest counts (2)")
    parser.add_argument("--threads", type=int, help="PyTorch threads (as PyTorch is set up)")
    add_loading(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON on standard output")


def run(args: argparse.Namespace) -> int:
    """Measure and print; ValueError for input that cannot be used."""
    import torch

    from rws_decode.bench import bench
    from rws_decode.schedule import block_plan

    block_plan(args.length, args.steps, args.block)
    if args.threads is not None:
        if args.threads < 1:
            raise ValueError(f"--threads is {args.threads}: it must be at least 1")
        torch.set_num_threads(args.threads)
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
    for name, ratio in result["ratios"].items():
        goal = f" (aimed at: {_GOALS[name]})" if name in _GOALS else ""
        lines.append(f"{name}: {ratio:.2f}{goal}")
    return "\n".join(lines)
