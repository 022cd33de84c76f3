"""`python -m rws_decode scale-path`: every output of any constant factor, or any reward scale, for one prompt."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from rws_decode.canvas.schedule import block_plan
from rws_decode.commands._options import (
    add_answer,
    add_loading,
    add_policies,
    add_prompt,
    add_reward_loading,
    add_threads,
    predictor_of,
    prompt_of,
    reward_of,
    threads_of,
    token_ids,
)

if TYPE_CHECKING:
    from rws_decode.scales.path import Level, ScalePath

__all__ = ["add_arguments", "result", "run"]

_TEXT = 76  # characters of a text in the table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `scale-path` to a parser."""
    add_prompt(parser)
    parser.add_argument("--scale-min", type=float, required=True, metavar="X", help="least scale")
    parser.add_argument("--scale-max", type=float, required=True, metavar="Y", help="greatest scale")
    parser.add_argument(
        "--over",
        choices=["temperature", "reward-scale"],
        default="temperature",
        help="what the scale is: the constant factor c, or s_R of reward-weighted sampling (temperature)",
    )
    add_reward_loading(parser)
    parser.add_argument("--budget", type=int, metavar="N", help="evaluate at most N canvases, at least --steps")
    parser.add_argument("--batch", type=int, default=16, metavar="N", help="canvases per forward (16)")
    add_policies(parser)
    add_answer(parser)
    add_loading(parser)
    add_threads(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON on standard output")


def run(args: argparse.Namespace) -> int:
    """Follow the path and print it; ValueError for input that cannot be used."""
    rewarded = args.over == "reward-scale"
    if rewarded and args.reward is None:
        raise ValueError("--reward is missing: --over reward-scale needs it")
    if args.reward is not None and not rewarded:
        print(f"note: --over {args.over} does not use --reward", file=sys.stderr)
    threads = threads_of(args)
    block_plan(args.length, args.steps, args.block)
    if args.input_ids is not None:
        token_ids(args.input_ids)

    from rws_decode.common.threads import torch_threads
    from rws_decode.scales.path import scale_path

    def progress(level: Level) -> None:
        line = f"step {level.step + 1} of {args.steps}: {level.states} canvases, {level.intervals} intervals"
        print(line, file=sys.stderr, flush=True)

    predictor = predictor_of(args)
    with torch_threads(threads):
        path = scale_path(
            predictor,
            prompt_of(args, predictor),
            args.scale_min,
            args.scale_max,
            over=args.over,
            reward=reward_of(args) if rewarded else None,
            length=args.length,
            steps=args.steps,
            block=args.block,
            budget=args.budget,
            batch=args.batch,
            cfg=args.cfg,
            end_of_text=args.end_of_text,
            progress=progress,
        )
    print(json.dumps(result(path), allow_nan=False) if args.json else _table(path))
    return 0


def result(path: ScalePath) -> dict[str, Any]:
    """Return what `--json` prints.

    `pieces` and `unexplored` together cover the range, in rising order, each beginning where the one before ends; that
    end lies in one of `breakpoints`, outside which the pieces are proved. The rest is as in `path.ScalePath`.
    """
    return {
        "over": path.over,
        "scale_min": path.c_min,
        "scale_max": path.c_max,
        "pieces": [
            {
                "lower": piece.lower,
                "upper": piece.upper,
                "tokens": list(piece.tokens),
                "text": piece.text,
                "commit_step": list(piece.commit_step),
            }
            for piece in path.pieces
        ],
        "unexplored": [{"lower": gap.lower, "upper": gap.upper} for gap in path.unexplored],
        "breakpoints": [
            {"lower": gap.lower, "upper": gap.upper, "proved": gap.proved, "step": gap.step} for gap in path.breakpoints
        ],
        "certified": path.certified,
        "outputs": len({piece.tokens for piece in path.pieces}),
        "states": path.states,
        "forwards": path.forwards,
        "batches": path.batches,
        "grid_forwards": path.grid_forwards,
        "reward_calls": path.reward_calls,
        "near_tokens": path.near_tokens,
    }


def _table(path: ScalePath) -> str:
    from rws_decode.scales.path import Unexplored
    from rws_theory.orders.deviation import generation_order_deviation

    lines = [f"{'from':>12}  {'to':>12}  {'GOD':>6}  {'output':>6}  text"]
    number: dict[tuple[int, ...], int] = {}
    for part in sorted([*path.pieces, *path.unexplored], key=lambda part: part.lower):
        line = f"{part.lower:12.6g}  {part.upper:12.6g}  "
        if isinstance(part, Unexplored):
            lines.append(f"{line}{'-':>6}  {'-':>6}  unexplored")
            continue
        text = json.dumps(list(part.tokens)) if part.text is None else " ".join(part.text.split())
        god = float(generation_order_deviation(part.commit_step, "tokens"))
        shown = text if len(text) <= _TEXT else text[: _TEXT - 3] + "..."
        lines.append(f"{line}{god:6.3f}  {number.setdefault(part.tokens, len(number) + 1):6d}  {shown}")
    lines.append(
        f"\n{len(path.pieces)} pieces, {len(number)} different outputs; "
        f"{'certified' if path.certified else 'not certified'}\n"
        f"forwards: {path.forwards}, {path.grid_forwards} for a grid of as many points; "
        f"reward calls: {path.reward_calls}; near-tied tokens: {path.near_tokens}"
    )
    return "\n".join(lines)
