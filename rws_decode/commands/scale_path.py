"""`python -m rws_decode scale-path`: every output of any constant factor, or any reward scale, for one prompt."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from rws_decode import settings
from rws_decode.commands.options import (
    END_OF_TEXT,
    GUIDANCE,
    PredictorOptions,
    PromptOptions,
    RewardOptions,
    ShapeOptions,
    shape_help,
    threads_option,
)
from rws_theory.commands.options import add_options, group, json_option, option, read_options

if TYPE_CHECKING:
    from rws_decode.scales.path import Level, ScalePath

__all__ = ["ScalePathOptions", "add_arguments", "result", "run"]

_TEXT = 76  # characters of a text in the table


@dataclass(frozen=True)
class ScalePathOptions:
    """The prompt, the axis and its range, and how far the path is followed."""

    prompt: PromptOptions = group(PromptOptions, "the prompt: one of", one_of=True)
    scale_min: float = option(help="least scale", metavar="X")
    scale_max: float = option(help="greatest scale", metavar="Y")
    over: Literal["temperature", "reward-scale"] = option(
        "temperature", "what the scale is: the constant factor c, or s_R of reward-weighted sampling"
    )
    budget: int | None = option(None, "evaluate at most N canvases, at least --steps")
    batch: int = option(16, "canvases per forward")
    predictor: PredictorOptions = group(PredictorOptions, "the mask predictor")
    reward: RewardOptions = group(RewardOptions, "the reward model")
    shape: ShapeOptions = group(ShapeOptions, "the answer", help=shape_help(settings.Shape()))
    decoding: settings.Options = group(
        settings.Options, "the decoder", help={"cfg": GUIDANCE, "end_of_text": END_OF_TEXT}
    )
    threads: int | None = threads_option()
    json: bool = json_option()

    def __post_init__(self) -> None:
        if self.over == "reward-scale" and self.reward.reward is None:
            raise ValueError("--reward is missing: --over reward-scale needs it")
        if self.prompt.text is not None:
            self.shape.make(self.prompt.text)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `scale-path` to a parser."""
    add_options(parser, ScalePathOptions)


def run(args: argparse.Namespace) -> int:
    """Follow the path and print it; ValueError for input that cannot be used."""
    options = read_options(ScalePathOptions, args)
    if options.reward.reward is not None and options.over != "reward-scale":
        print(f"note: --over {options.over} does not use --reward", file=sys.stderr)
    path = _path(options)
    print(json.dumps(result(path), allow_nan=False) if options.json else _table(path))
    return 0


def _path(options: ScalePathOptions) -> ScalePath:
    from rws_decode.common.threads import torch_threads
    from rws_decode.scales.path import scale_path

    def progress(level: Level) -> None:
        line = f"step {level.step + 1} of {shape.steps}: {level.states} canvases, {level.intervals} intervals"
        print(line, file=sys.stderr, flush=True)

    predictor = options.predictor.load()
    prompt = options.prompt.read(predictor)
    shape = options.shape.make(prompt, predictor.mask_id)
    device = options.predictor.loading.device
    with torch_threads(options.threads):
        return scale_path(
            predictor,
            prompt,
            options.scale_min,
            options.scale_max,
            shape,
            over=options.over,
            reward=options.reward.load(device) if options.over == "reward-scale" else None,
            budget=options.budget,
            batch=options.batch,
            progress=progress,
            options=options.decoding,
        )


def result(path: ScalePath) -> dict[str, Any]:
    """Return what `--json` prints.

    `pieces` and `unexplored` together cover the range in rising order, and each begins where the one before ends. That
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
