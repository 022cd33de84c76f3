"""`rws scale-path`: every output of any fixed factor, or any reward scale, for one prompt."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rws_decode import settings
from rws_decode.cli.options import group, json_option, option
from rws_decode.cli.progress import loading, progress, tell
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
from rws_decode.commands.shown import legend, marked, marker

if TYPE_CHECKING:
    from rws_decode.extra.scale_paths.path import Level, ScalePath


GROUP = "Decode"


@dataclass(frozen=True)
class ScalePathOptions:
    """The prompt, the axis and its range, and how far the path is followed."""

    prompt: PromptOptions = group(PromptOptions, "the prompt: one of", one_of=True)
    scale_min: float = option(help="least scale", metavar="X")
    scale_max: float = option(help="greatest scale", metavar="Y")
    over: Literal["temperature", "reward-scale"] = option(
        "temperature", "what the scale is: the fixed factor c, or s_R of reward-weighted sampling"
    )
    threshold: float | None = option(
        None, "commit all positions of this probability or more, in place of as many as the schedule says", metavar="P"
    )
    budget: int | None = option(None, "evaluate at most N canvases, at least --steps")
    batch: int = option(16, "canvases per forward")
    predictor: PredictorOptions = group(PredictorOptions, "the mask predictor")
    reward: RewardOptions = group(RewardOptions, "the reward model")
    shape: ShapeOptions = group(ShapeOptions, "the answer", help=shape_help(settings.Shape()))
    decoding: settings.Options = group(
        settings.Options, "the decoder", help={"cfg": GUIDANCE, "end_of_text": END_OF_TEXT}
    )
    view: Path | None = option(
        None, "write an interactive page of the path to this file", metavar="FILE.html", writes="file"
    )
    grid: tuple[float, ...] = option((), "scales that --view marks (default: those that the paper tried)", metavar="X")
    threads: int | None = threads_option()
    json: bool = json_option()

    def __post_init__(self) -> None:
        if self.over == "reward-scale":
            object.__setattr__(self, "reward", self.reward.needed(self.predictor.model, "--over reward-scale"))
        if self.grid and self.view is None:
            raise ValueError("--grid is of the page: --view FILE.html is missing")
        if bad := [scale for scale in self.grid if not 0 < scale < math.inf]:
            raise ValueError(f"--grid holds {bad[0]}: positive scales are needed")
        if self.prompt.text is not None:
            self.shape.make(self.prompt.text)


def scale_path(options: ScalePathOptions) -> None:
    """List every output of any fixed factor, or any reward scale, for one prompt."""
    path = _path(options)
    if options.view is not None:
        tell(f"page: {path.view(options.grid or None).save(options.view)}")
    print(json.dumps(result(path), allow_nan=False) if options.json else _text(path))


def _path(options: ScalePathOptions) -> ScalePath:
    loading("scale-path", options.predictor.model, options.reward.reward)

    from rws_decode.common.threads import torch_threads
    from rws_decode.extra.scale_paths.path import scale_path

    predictor = options.predictor.load()
    prompt = options.prompt.read(predictor)
    shape = options.shape.make(prompt, predictor.mask_id)
    device = options.predictor.loading.device
    steps = (shape if options.threshold is None else shape.one_by_one()).resolved().steps
    with torch_threads(options.threads), progress("scale-path", steps, "step") as shown:

        def follow(level: Level) -> None:
            shown.remark(f"{level.states} canvases, {level.intervals} intervals")
            shown.advance()

        return scale_path(
            predictor,
            prompt,
            options.scale_min,
            options.scale_max,
            shape,
            over=options.over,
            threshold=options.threshold,
            reward=None if options.reward.reward is None else options.reward.load(device),
            budget=options.budget,
            batch=options.batch,
            progress=follow,
            options=options.decoding,
        )


_SHOWN = "over scale_min scale_max threshold pieces unexplored breakpoints certified outputs states forwards".split()
_SHOWN += ["batches", "grid_forwards", "reward_calls", "near_tokens"]


def result(path: ScalePath) -> dict[str, Any]:
    """Return what `--json` prints.

    `pieces` and `unexplored` together cover the range in rising order, and each begins where the one before ends. That
    end lies in one of `breakpoints`, outside which the pieces are proved. The rest is as in `path.ScalePath`.
    """
    pieces = [asdict(piece) for piece in path.pieces]
    for piece in pieces:
        del piece["rules_broken"]
        piece["final_reward"] = piece["final_reward"] and piece["final_reward"]._asdict()
    ends = ("lower", "upper", "proved", "step")
    lists = {
        "pieces": pieces,
        "unexplored": [asdict(gap) for gap in path.unexplored],
        "breakpoints": [{name: getattr(gap, name) for name in ends} for gap in path.breakpoints],
        "outputs": len(path.answers),
    }
    return {name: lists[name] if name in lists else getattr(path, name) for name in _SHOWN}


_AXES = {"temperature": "the fixed factor c of all logits", "reward-scale": "the reward scale s_R"}


def _text(path: ScalePath) -> str:
    """Return the different answers, each once and whole, with what differs from the answer at scale 1 marked."""
    from rws_decode.extra.scale_paths.marks import stretches
    from rws_decode.trace.labels import CUT_OFF, cut_off

    usual = path.at(1.0) if path.scale_min <= 1 <= path.scale_max else None
    usual = path.pieces[0] if usual is None and path.pieces else usual
    mark, lines, cut = marker(), [], []
    plain: list[str] = []
    shown: list[str] = []
    if path.prompt_text is not None:
        lines.append(f"prompt: {' '.join(path.prompt_text.split())}")
    lines += [f"scale: {_AXES[path.over]}, from {path.scale_min:g} to {path.scale_max:g}", ""]
    for number, (tokens, pieces) in enumerate(path.answers.items(), start=1):
        first = pieces[0]
        spans = stretches((piece.lower, piece.upper) for piece in pieces)
        scales = ", ".join(f"{lower:.6g} to {upper:.6g}" for lower, upper in spans)
        orders = sorted(piece.god_steps for piece in pieces)
        worth = [] if len(pieces) == 1 else [f"{len({piece.commit_step for piece in pieces})} commit orders"]
        worth += [f"GOD {' to '.join(dict.fromkeys(f'{order:.2f}' for order in (orders[0], orders[-1])))} steps"]
        if (reward := first.final_reward) is not None:
            worth.append(f"reward {reward.raw:.3f} ({reward.normalised:+.2f} SD)")
        worth += [] if first.log_prob is None else [f"log-probability {first.log_prob:.2f} nats"]
        worth += [] if first.rules_broken is None else [f"rules broken: {len(first.rules_broken)}"]
        cut += [str(number)] if cut_off(first.rules_broken, first.text, len(tokens)) else []
        text = json.dumps(list(tokens)) if first.text is None else " ".join(first.text.split())
        plain.append(text)
        if usual is not None and usual.text is not None and tokens != usual.tokens:
            text = marked(text, usual.text, mark)
        shown.append(text)
        note = " (scale 1 is here)" if usual is not None and tokens == usual.tokens and usual.lower <= 1 else ""
        lines += [f"answer {number}, at {scales}{note}", f"  {'; '.join(worth)}", f"  {text}", ""]
    reference = "the answer at scale 1" if usual is not None and usual.lower <= 1 <= usual.upper else "answer 1"
    lines += legend(mark, f"words that {reference} does not have there", plain, shown)
    if cut:
        lines.append(f"{'answer' if len(cut) == 1 else 'answers'} {', '.join(cut)}: {CUT_OFF}")
    lines += [f"unexplored, as --budget is spent: {gap.lower:.6g} to {gap.upper:.6g}" for gap in path.unexplored]
    rule = "" if path.threshold is None else f" at threshold {path.threshold:g}"
    lines.append(
        f"{len(path.pieces)} pieces of the axis, {len(path.answers)} different answers{rule}; "
        f"{'certified: nothing is left out, every breakpoint is proved' if path.certified else 'not certified'}\n"
        f"forwards: {path.forwards}; a grid of as many points would take {path.grid_forwards}; "
        f"reward calls on the way: {path.reward_calls}; near-tied tokens: {path.near_tokens}"
    )
    return "\n".join(lines)
