"""Profile the complete scale path of a prompt: every answer on the axis, and what it is worth.

Each prompt gets its two complete scale paths (`rws_decode.scale_path`), over the fixed factor c and over s_R of
Reward-Weighted Sampling. Both go over the one range that is given, and every distinct answer is scored once. Prompts
are the first of the source.

The files below OUT/scale-path, besides the units' parts, are `summary.csv|md`, `reach.csv|md`, and `results.json` with
both, the grid, and every prompt's outputs and paths (pieces and unexplored parts).

The summary has these columns, per prompt and axis, and added up ("all"):

- `pieces`: maximal intervals of one answer and one commit order; `outputs`: distinct answers by tokens;
- `grid_outputs`: the answers that a point of the paper's grid within the range gives; `missed`: those that none gives;
- `unexplored`: ln of upper / lower; `certified`: paths that are whole and proved; `forwards`.

`reach` counts, per prompt and added up, the distinct answers that some c gives (`temperature`), some s_R
(`reward_scale`), both (`shared`), or one alone, which the other axis is proved not to give (`only_temperature`,
`only_reward_scale`); `open`: not known, as a budget left parts unexplored.

An output, in the order of the scales, those of c first, has its widths on both axes; `coherent` and `violations`,
by the language's own checker, None for other prompts; `reward` and `judge`, normalised scores; and `perplexity`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from paper_figures.data.story_sets import judge
from paper_figures.runner.units import Unit
from paper_figures.runner.worker import Rows
from paper_figures.studies.options import GRID, Drawn, ExactStageOptions
from paper_figures.studies.prompts import begin
from paper_figures.studies.study import base_unit, finish, open_stages
from paper_figures.table import Table, records
from rws_decode.cli.options import option
from rws_decode.common.later import pd
from rws_theory.orders.deviation import generation_order_deviation

if TYPE_CHECKING:
    from rws_decode import Reach, ScalePath

NAME = "scale-path"


@dataclass(frozen=True)
class ScalePathOptions(ExactStageOptions):
    """The options of `experiment scale-path`."""

    prompts: int = Drawn(4)
    reward: str = option("mini", "reward model that guides: name, directory, hub id", metavar="NAME")
    judge: str = option("mini-judge", "reward model that only judges", metavar="NAME")
    causal: str = option("mini-causal", "causal model for perplexity, or none", metavar="NAME")
    scale_min: float = option(GRID[0], "least c and s_R", metavar="X")
    scale_max: float = option(GRID[-1], "greatest c and s_R", metavar="Y")
    budget: int | None = option(None, "canvases that each path may evaluate (default: no limit)")
    batch: int = 1


_SETTINGS = ("predictor", "reward", "causal", "length", "steps", "block", "device", "strategy_json")
_CAPTION = (
    "Answers on the axes of the constant factor c and of the reward scale s_R, complete in the range followed. Missed: "
    "answers that no point of the paper's grid gives."
)
_REACH = (
    "Distinct answers, by tokens, that any fixed factor c and any reward scale s_R of the range gives. Only: the "
    "other axis is proved not to give it. Open: not known, as a budget left parts unexplored."
)


def run(options: ScalePathOptions) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    low, high, budget = options.scale_min, options.scale_max, options.budget
    if not 0 < low < high < math.inf:
        raise ValueError(f"--scale-min and --scale-max are {low} and {high}: 0 < min < max < inf is needed")
    if budget is not None and budget < options.steps:
        raise ValueError(f"--budget is {budget}: at least --steps, {options.steps}, is needed")
    causal = None if options.causal == "none" else options.causal
    readers = {"--reward": (options.reward,), "--judge": (options.judge,), "--causal": (causal,)}
    options, prompts = begin(options, NAME, readers, judged=True)

    strategy = {"name": "path-profile", "low": low, "high": high} | ({} if budget is None else {"budget": budget})
    models = {"reward": options.reward, "judges": (options.judge,), "causal": causal}
    base = replace(base_unit(options, NAME), strategy=strategy, **models)
    units = [replace(base, prompt=prompt.text, example=prompt.name) for prompt in prompts.test]
    with open_stages(options, units, work) as stages:
        frame = stages.run(NAME, units)
    study_tables = tables(frame)
    results: dict[str, Any] = {table.name: list(table.rows) for table in study_tables}
    if study_tables:
        results["grid"] = [point for point in GRID if low <= point <= high]
        profiles = frame[["example", "prompt", "outputs", "paths"]].rename(columns={"example": "index"})
        results["profiles"] = profiles.to_dict("records")
    return finish(NAME, options, stages.outcome(), study_tables, results)


def work(units: Sequence[Unit]) -> list[Rows]:
    """Follow both complete scale paths of each unit's prompt, and score their answers."""
    from rws_decode import compare_reach

    rows: list[Rows] = []
    for unit in units:
        started = time.perf_counter()
        paths = [path_of(unit, over) for over in ("temperature", "reward-scale")]
        reach = compare_reach(*paths)
        number = {output.tokens: index for index, output in enumerate(reach.outputs)}
        row = {"outputs": _outputs(unit, reach), "paths": [_profile(path, number) for path in paths]}
        rows.append([row | {"seconds": time.perf_counter() - started}])
    return rows


def path_of(unit: Unit, over: Literal["temperature", "reward-scale"]) -> ScalePath:
    """Return a unit's complete scale path over one axis, from `low` to `high` of its strategy."""
    from paper_figures.studies.work import predictor_for, prompt_of, reward_for
    from rws_decode import Options, Shape, scale_path

    return scale_path(
        predictor_for(unit),
        prompt_of(unit),
        unit.strategy["low"],
        unit.strategy["high"],
        Shape(unit.length, unit.steps, unit.block),
        over=over,
        reward=reward_for(unit, unit.reward or "") if over == "reward-scale" else None,
        budget=unit.strategy.get("budget"),
        options=Options(cfg=unit.settings.get("cfg") or 0.0, end_of_text=unit.settings.get("end_of_text") or "none"),
    )


def _outputs(unit: Unit, reach: Reach) -> list[dict[str, Any]]:
    """Return the distinct answers of both paths, in the order of their scales, with all measures of their texts."""
    from paper_figures.statistics.causal_scores import answer_scores
    from paper_figures.studies.work import causal_of, normalised, prompt_of, reward_for

    texts = [output.text or "" for output in reach.outputs]
    prompts = [prompt_of(unit)] * len(texts)
    scored: dict[str, Sequence[float | None]] = {}
    for column, name in (("reward", unit.reward or ""), ("judge", unit.judges[0])):
        scored[column] = [score for _, score in normalised(reward_for(unit, name), prompts, texts)]
    scored["perplexity"] = [None] * len(texts)
    if unit.causal is not None:
        reader = causal_of(unit.causal, unit.device, unit.settings.get("reward_dtype") or "float32")
        scored["perplexity"] = [answer_score.perplexity for answer_score in answer_scores(reader, prompts, texts)]
    outputs = []
    for index, (output, text) in enumerate(zip(reach.outputs, texts, strict=True)):
        story = judge(unit.prompt, text)
        known = {"coherent": story.coherent, "violations": len(story.violations)}
        story_columns = known if story.kind != "free" else dict.fromkeys(known)
        outputs.append(asdict(output) | story_columns | {name: values[index] for name, values in scored.items()})
    return outputs


def _profile(path: ScalePath, number: dict[tuple[int, ...], int]) -> dict[str, Any]:
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


def tables(frame: pd.DataFrame, *, seed: int = 0) -> list[Table]:
    """Return the study's tables from its rows; `seed` is not used.

    Runs that share a folder have separate totals if their models, shapes or ranges differ.
    """
    if not len(frame):
        return []
    varied = [name for name in _SETTINGS if frame[name].nunique(dropna=False) > 1]
    summary: list[dict[str, Any]] = []
    reach: list[dict[str, Any]] = []
    for _, group in frame.groupby(list(_SETTINGS), dropna=False):
        chosen = {name: group[name].iloc[0] for name in varied}
        rows = sorted(records(group), key=lambda row: (len(row["example"]), row["example"]))
        lines = [{"prompt": row["example"]} | summary_row(path) for row in rows for path in row["paths"]]
        by_axis = ([line for line in lines if line["over"] == over] for over in dict.fromkeys(x["over"] for x in lines))
        summary += [chosen | line for line in [*lines, *map(_added, by_axis)]]
        reached = [reach_row(row) for row in rows]
        reach += [chosen | line for line in [*reached, _added(reached)]]
    return [Table("summary", summary, summary, _CAPTION), Table("reach", reach, reach, _REACH)]


def _added(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the numbers of rows added up; what names them is the first's."""
    same = {name: value for name, value in rows[0].items() if isinstance(value, str)} | {"prompt": "all"}
    return same | {name: sum(row[name] for row in rows) for name in rows[0] if name not in same}


def reach_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return how many answers of a prompt's row each axis reaches, both, and one alone, as the module describes."""
    by = [(output["by_temperature"], output["by_reward_scale"]) for output in row["outputs"]]
    return {
        "prompt": row["example"],
        "temperature": sum(first is True for first, _ in by),
        "reward_scale": sum(second is True for _, second in by),
        "shared": by.count((True, True)),
        "only_temperature": by.count((True, False)),
        "only_reward_scale": by.count((False, True)),
        "open": sum(None in pair for pair in by),
    }


def summary_row(path: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts of one path of a prompt, as the module describes them.

    The grid is the part of the paper's grid within the path.
    """
    pieces = path["pieces"]
    hit = [piece for piece in pieces if any(piece["lower"] <= point <= piece["upper"] for point in GRID)]
    reached, on_grid = ({piece["output"] for piece in part} for part in (pieces, hit))
    return {
        "over": path["over"],
        "pieces": len(pieces),
        "outputs": len(reached),
        "grid_outputs": len(on_grid),
        "missed": len(reached - on_grid),
        "unexplored": math.fsum(math.log(part["upper"] / part["lower"]) for part in path["unexplored"]),
        "certified": int(path["certified"]),
        "forwards": path["forwards"],
    }
