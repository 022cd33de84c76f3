"""`rws grid`: the paper's grid of scales decoded in a world whose log-probabilities are exact."""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import dataclass
from typing import Any

from paper_figures.data.examples import examples_of, refuse_few, refuse_no_world
from rws_decode.commands.options import SHAPE
from rws_decode.settings import Shape
from rws_theory.commands.options import add_options, group, json_option, option, read_options
from rws_theory.commands.progress import each, loading

_SCALES = (0.01, 0.1, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)  # those of the paper's Table 8
_ROWS = 16  # of a batch


@dataclass(frozen=True)
class GridOptions:
    """The world, its reward, the openings, and the scales."""

    model: str = option("english", "world: shipped name or directory", metavar="NAME")
    reward: str = option("era", "reward model", metavar="NAME")
    examples: int = option(50, "the first N openings of the world", least=2)
    scales: tuple[float, ...] = option(_SCALES, "factors c and reward scales s_R", metavar="C")
    shape: Shape = group(Shape, "the answer", help=SHAPE, default=Shape(32, 16, 32))
    json: bool = json_option()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `grid` to a parser."""
    add_options(parser, GridOptions)


def run(args: argparse.Namespace) -> int:
    """Decode the openings at every scale and print a row per method and scale; ValueError for unusable input.

    god_steps, god_tokens, log_prob (nats, of the whole answer after its opening) and reward (in its deviations) are
    means over the openings; `error` is the standard error of each mean; paper_god and paper_perplexity are those of
    Table 8 at c. `slopes`: by how much the mean reward of the world's own texts first changes, exactly, per unit of
    beta where they are tilted by the reward, and per unit of c where log p is scaled; scaling_rises is the share of
    openings after which scaling raises it.
    """
    options = read_options(GridOptions, args)
    if not all(math.isfinite(scale) and scale > 0 for scale in options.scales):
        raise ValueError(f"--scales is {list(options.scales)}: positive finite numbers are needed")

    refuse_no_world(options.model)
    prompts = [example["prompt"] for example in examples_of(options.model) if example.get("kind") == "opening"]
    refuse_few("--examples", options.examples, prompts, options.model, "openings")
    prompts = prompts[: options.examples]
    loading("grid", options.model, options.reward)

    from rws_decode.predictors import load_predictor
    from rws_decode.rewards import load_reward
    from rws_decode.strategies.factors import RWS, Confidence, Temperature
    from rws_theory.printed import printed_in

    predictor, reward = load_predictor(options.model, progress=False), load_reward(options.reward)
    paper = {row["scale"]: row for row in printed_in("table8_temperature")["rows"]}
    work: list[tuple[str, float | None, Any]] = [("default", None, Confidence())]
    work += [("temperature", scale, Temperature(scale)) for scale in options.scales]
    work += [("rws", scale, RWS(scale)) for scale in options.scales]
    rows = []
    for method, scale, strategy in each(work, "grid", len(work), "strategy"):
        printed = paper.get(scale, {}) if method == "temperature" and scale is not None else {}
        rows.append({"method": method, "scale": scale} | _measured(predictor, prompts, strategy, reward, options.shape))
        rows[-1] |= {"paper_god": printed.get("god"), "paper_perplexity": printed.get("perplexity")}
    slopes = _slopes(predictor, prompts, reward, options.shape.length)
    result = {"rows": rows, "slopes": slopes}
    print(json.dumps(result, allow_nan=False) if options.json else _table(rows, slopes, options.shape.length))
    return 0


def _slopes(predictor: Any, prompts: list[str], reward: Any, length: int) -> dict[str, float] | None:
    """Return, over the openings, what tilting and scaling first do to the mean reward; None for a learned reward."""
    from rws_decode.rewards.world import WorldReward
    from rws_theory.worlds import reward_slopes

    if not isinstance(reward, WorldReward) or len(reward.words) != predictor.world.vocabulary:
        return None
    slopes = [
        reward_slopes(predictor.world, reward.world_reward, length, predictor.encode_prompt(prompt))
        for prompt in prompts
    ]
    return {
        "tilting": sum(slope.tilting for slope in slopes) / len(slopes),
        "scaling": sum(slope.scaling for slope in slopes) / len(slopes),
        "scaling_rises": sum(slope.scaling > 0 for slope in slopes) / len(slopes),
    }


def _measured(predictor: Any, prompts: list[str], strategy: Any, reward: Any, shape: Shape) -> dict[str, Any]:
    import pandas as pd

    from rws_decode.decode import decode

    parts = (prompts[begin : begin + _ROWS] for begin in range(0, len(prompts), _ROWS))
    rows = pd.concat(decode(predictor, part, strategy, shape, reward=reward).to_frame() for part in parts)
    rows = rows.assign(reward=(rows["reward"] - reward.mean) / reward.std)
    values = rows[["god_steps", "god_tokens", "log_prob", "reward"]].astype(float)
    errors = values.std() / math.sqrt(len(values))
    return {**values.mean().to_dict(), "error": errors.to_dict()}


def _table(rows: list[dict[str, Any]], slopes: dict[str, float] | None, length: int) -> str:
    lines = [
        "| method | scale | GOD, steps | GOD, tokens | log p, nats | perplexity | reward, deviations | paper's GOD | "
        "paper's perplexity |",
        "|" + " --- |" * 9,
    ]
    for row in rows:
        error = row["error"]
        cells = [row["method"], "" if row["scale"] is None else f"{row['scale']:g}"]
        cells += [f"{row[name]:.2f} ± {error[name]:.2f}" for name in ("god_steps", "god_tokens", "log_prob")]
        cells += [f"{math.exp(-row['log_prob'] / length):.2f}", f"{row['reward']:+.2f} ± {error['reward']:.2f}"]
        cells += ["" if row[name] is None else f"{row[name]:.2f}" for name in ("paper_god", "paper_perplexity")]
        lines.append(f"| {' | '.join(cells)} |")
    if slopes is not None:
        lines += [
            "",
            "Over the world's own texts, exactly: tilting by the reward first changes its mean by "
            f"{slopes['tilting']:+.2f} per unit",
            f"of beta, and scaling of log p by {slopes['scaling']:+.2f} per unit of c; scaling raises it after "
            f"{'none' if not slopes['scaling_rises'] else format(slopes['scaling_rises'], '.0%')} of the openings.",
        ]
    return "\n".join(lines)
