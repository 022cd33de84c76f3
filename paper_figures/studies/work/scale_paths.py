"""Follow both complete scale paths of a prompt, and score their answers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, get_args

from paper_figures.runner.units import Unit
from paper_figures.runner.worker import Rows
from paper_figures.statistics.causal_scores import answer_scores
from paper_figures.studies.work.decoding import causal_of, predictor_for, prompt_of, reward_for
from rws_decode.extra.stories.answers import judge
from rws_decode.rewards.base import score_checked
from rws_decode.scales.path import Over, ScalePath, scale_path
from rws_decode.scales.reach import Reach, compare_reach
from rws_decode.settings import Options, Shape
from rws_theory.orders.deviation import generation_order_deviation

Answer = tuple[int, ...]


def path_of(unit: Unit, over: Over) -> ScalePath:
    """Return a unit's complete scale path over one axis, from `low` to `high` of its strategy."""
    numbers = unit.strategy
    return scale_path(
        predictor_for(unit),
        prompt_of(unit),
        numbers["low"],
        numbers["high"],
        Shape(length=unit.length, steps=unit.steps, block=unit.block),
        over=over,
        reward=reward_for(unit, unit.reward or "") if over == "reward-scale" else None,
        budget=numbers.get("budget"),
        options=Options(cfg=unit.settings.get("cfg") or 0.0, end_of_text=unit.settings.get("end_of_text") or "none"),
    )


def profile_work(units: Sequence[Unit]) -> list[Rows]:
    """Follow both paths of each unit's prompt and return one row for each; `studies.scale_path` names the columns."""
    return [[_row(unit)] for unit in units]


def _row(unit: Unit) -> dict[str, Any]:
    started = time.perf_counter()
    paths: dict[Over, ScalePath] = {over: path_of(unit, over) for over in get_args(Over)}
    reach = compare_reach(paths["temperature"], paths["reward-scale"])
    number = {output.tokens: index for index, output in enumerate(reach.outputs)}
    return {
        "outputs": _outputs(unit, reach),
        "paths": [_profile(path, number) for path in paths.values()],
        "seconds": time.perf_counter() - started,
    }


def _outputs(unit: Unit, reach: Reach) -> list[dict[str, Any]]:
    """Return the distinct answers of both paths, in the order of their scales, with all measures of their texts."""
    texts = [output.text or "" for output in reach.outputs]
    prompts = [prompt_of(unit)] * len(texts)
    scored: dict[str, Sequence[float | None]] = {}
    for column, name in (("reward", unit.reward or ""), ("judge", unit.judges[0])):
        model = reward_for(unit, name)
        # This normalisation is the paper's Step 2. It makes scores of different models comparable.
        scored[column] = [(score - model.mean) / model.std for score in score_checked(model, prompts, texts)]
    scored["perplexity"] = [None] * len(texts)
    if unit.causal is not None:
        reader = causal_of(unit.causal, unit.device, unit.settings.get("reward_dtype") or "float32")
        scored["perplexity"] = [answer_score.perplexity for answer_score in answer_scores(reader, prompts, texts)]
    outputs = []
    for index, (output, text) in enumerate(zip(reach.outputs, texts, strict=True)):
        story = judge(unit.prompt, text)
        is_story = story.kind != "free"
        story_columns = {
            "coherent": story.coherent if is_story else None,
            "violations": len(story.violations) if is_story else None,
        }
        outputs.append(asdict(output) | story_columns | {name: values[index] for name, values in scored.items()})
    return outputs


def _profile(path: ScalePath, number: dict[Answer, int]) -> dict[str, Any]:
    """Return a path as data; a piece has its interval, its output number, its commit steps and both readings of GOD."""
    pieces = [
        {
            "lower": piece.lower,
            "upper": piece.upper,
            "output": number[piece.tokens],
            "commit_step": list(piece.commit_step),
            "god_tokens": float(generation_order_deviation(piece.commit_step, "tokens")),
            "god_steps": float(generation_order_deviation(piece.commit_step, "steps")),
        }
        for piece in path.pieces
    ]
    counts = ("over", "certified", "states", "forwards", "grid_forwards", "reward_calls", "near_tokens")
    unexplored = [asdict(part) for part in path.unexplored]
    return {name: getattr(path, name) for name in counts} | {"pieces": pieces, "unexplored": unexplored}
