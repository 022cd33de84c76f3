"""`rws frontier`: the Pareto front of log-probability and reward, and methods below it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from paper_figures.data.examples import checkpoint_of
from rws_decode.cli.options import group, json_option, option
from rws_decode.cli.progress import each, loading, tell
from rws_decode.commands.options import PromptOptions, ShapeOptions, shape_help
from rws_decode.settings import Shape

GROUP = "Study"
_USUAL = Shape(32, 16, 32)
_METHODS = "default temperature:0.5 temperature:2 temperature:8 rws:2 rws:8 constant:8"
_METHODS += " best-of:8 tilt-sample:0.5 tilt-decode:0.5"


@dataclass(frozen=True)
class FrontierOptions:
    """The exact model, its reward, the prompt, the methods, and how far the Pareto front is searched."""

    prompt: PromptOptions = group(PromptOptions, "the prompt: one of", one_of=True)
    model: str = option("english", "exact model: shipped name or directory", metavar="NAME")
    reward: str = option("era", "its reward: era, keywords or keywords:WORD,...", metavar="NAME")
    strategies: tuple[str, ...] = option(
        tuple(_METHODS.split()),
        "strategies and steering methods with their number, the rws controls with the reward scale of their run; "
        "sample, best-of:N (of the model), tilt-sample:BETA (samples), tilt-decode:BETA (confidence decoding of it)",
        metavar="NAME",
    )
    shape: ShapeOptions = group(ShapeOptions, "the answer", help=shape_help(_USUAL))
    beta: float = option(4.0, "largest weight of the reward on the Pareto front")
    searches: int = option(64, "searches of the Pareto front at most", least=2)
    seed: int = option(0, "of the samples", least=0)
    json: bool = json_option()


def frontier(options: FrontierOptions) -> None:
    """Find the Pareto front of log-probability and reward, and place methods below it.

    `--json`: `frontier`, the texts that are best at some weight `beta` of the reward, by rising beta; `points`, the
    methods' texts; `complete`, whether the Pareto front has all such texts. log_prob is in nats, `reward` the model's
    exact reward, and `regret` how many nats a text lies below the front. `slopes`: what tilting and what
    scaling first do to the mean reward of the model's texts (`rws_theory.worlds.RewardSlopes`); null for gaps.

    Of a prompt with gaps, a text is all from the first gap on: `tokens` hold the fixed words there, and the
    reward counts them; log_prob is that given them.
    """
    _refuse_no_world(options.model)
    loading("frontier", options.model, options.reward)

    from paper_figures.extra.frontier.points import check_method, texts_of
    from paper_figures.studies.work import context_and_canvas
    from rws_decode.predictors import WorldPredictor, load_predictor
    from rws_decode.rewards import load_reward
    from rws_decode.rewards.world import WorldReward
    from rws_theory.worlds import frontier, reward_slopes

    for name in options.strategies:
        check_method(name)
    predictor, reward = load_predictor(options.model), load_reward(options.reward)
    assert isinstance(predictor, WorldPredictor)  # its directory holds an exact model
    if not isinstance(reward, WorldReward):
        raise ValueError(f"--reward is {options.reward}: a reward of the world is needed, such as era")
    if len(reward.words) != predictor.world.vocabulary:
        raise ValueError(f"--reward is {options.reward}: it reads other words than --model {options.model}")
    prompt = options.prompt.read(predictor)
    shape = options.shape.make(prompt, predictor.mask_id, _USUAL)
    context, canvas = context_and_canvas(predictor, prompt, shape.length)
    tell("frontier: searching ...")
    curve = frontier(
        predictor.world, reward.world_reward, canvas, context, beta=options.beta, searches=options.searches
    )
    texts = texts_of(predictor, prompt, reward, shape, curve, options.strategies, options.seed)
    points = list(each(texts, "frontier", len(options.strategies), "text"))
    best = [
        {"beta": point.beta, "log_prob": point.log_prob, "reward": point.reward, "tokens": point.tokens.tolist()}
        for point in curve.points
    ]
    slopes = None
    if not any(word >= 0 for word in canvas):
        slopes = asdict(reward_slopes(predictor.world, reward.world_reward, shape.length, context))
    result = {"frontier": best, "points": [asdict(point) for point in points], "complete": curve.complete}
    result["slopes"] = slopes
    print(json.dumps(result, allow_nan=False) if options.json else _tables(result, predictor.words.text))


def _tables(result: dict[str, Any], text: Any) -> str:
    lines = ["the Pareto front: texts that are best at some weight beta of the reward", ""]
    lines.append(f"{'beta':<20} {'log p':>8} {'reward':>8}  text")
    for row in result["frontier"]:
        lines.append(f"{row['beta']:<20.3f} {row['log_prob']:8.2f} {row['reward']:8.2f}  {text(row['tokens'])}")
    if not result["complete"]:
        lines.append("more texts are on it: --searches allows more of them")
    lines += ["", f"{'strategy':<20} {'log p':>8} {'reward':>8} {'regret':>8}  text"]
    for row in result["points"]:
        numbers = f"{row['log_prob']:8.2f} {row['reward']:8.2f} {row['regret']:8.2f}"
        lines.append(f"{row['strategy']:<20} {numbers}  {text(row['tokens'])}")
    lines += [
        "",
        "log p and regret in nats, log p given the prompt and fixed words; regret is how far a text lies below the",
    ]
    lines += ["frontier: 0 at its texts, and an upper bound between them"]
    slopes = result["slopes"]
    if slopes is None:
        return "\n".join(lines)
    lines += [
        "",
        f"over all texts of the world the mean reward is {slopes['mean_reward']:.2f}; it changes by",
        f"{slopes['tilting']:+.2f} per unit of beta where the law is tilted by the reward (Theorem 2), at beta = 0",
        f"{slopes['scaling']:+.2f} per unit of c where log p is scaled (what a factor of all logits does), at c = 1",
    ]
    return "\n".join(lines)


def _refuse_no_world(model: str) -> None:
    """Raise ValueError for a model that is not exact: an exact model is a directory, and none is on the hub."""
    folder = checkpoint_of(model).directory
    if folder is None or not (folder / "world.npz").is_file():
        raise ValueError(f"--model is {model}: a world is needed, such as english")
