"""Ask what the reward does in RWS: hundreds of prompts a model, every control, and methods that truly use the reward.

Each `World` (`evidence_arms.WORLDS`) is a mask predictor, a reward and a shape. The stages are:

1. RWS and temperature at the paper's scales on validation prompts. The scale of the greatest mean reward is chosen for
   each of them in the same way.
2. All arms that need no run of another, on the test prompts: RWS at `--reward-scale` and at the chosen scale,
   temperatures, orders, more steps, best of N, particles, reward lookahead, and exact samples of p exp(beta R) / Z.
3. The controls that are made from the rws runs: the fixed factor of equal mean, the mean schedule by step, another
   prompt's rewards, and the own rewards shuffled.
4. The Pareto front of log p and reward after each test prompt, where the setting has `tilts`.

The results of the full study ship with the package (`paper_figures.recorded`), and `verify` computes a sample of them
again. The files below OUT/evidence are the units' parts, and `evidence.csv|md`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paper_figures.data.loaders import Prompt
from paper_figures.recorded.arm_tables import arm_tables
from paper_figures.recorded.completed import completed
from paper_figures.runner.executors import RunOptions
from paper_figures.runner.parts import read_manifest, write_manifest
from paper_figures.runner.results import read_unit_rows
from paper_figures.runner.runner import run_units
from paper_figures.runner.units import Unit
from paper_figures.runner.worker import Rows, kept
from paper_figures.studies.evidence_arms import (
    WORLDS,
    Arm,
    World,
    base_unit,
    chosen_scales,
    from_run,
    frontier_units,
    independent,
    numbers_of_runs,
    unit_of,
    validation_arms,
)
from paper_figures.studies.prompts import Prompts, prompts_of
from paper_figures.studies.study import Stages, about_run, finish, on_device, open_stages
from paper_figures.table import Table
from rws_decode.cli.options import check_writable, option
from rws_decode.cli.progress import loading, tell
from rws_decode.common.later import np, pd
from rws_decode.strategies.table import strategy_from
from rws_decode.text.dialogue import masks_in

if TYPE_CHECKING:
    from rws_decode import Dialogue, MaskPredictor, Trace

NAME = "evidence"
EVIDENCE_WORLDS = ("english:era", "mini:mini")  # the others are of networks that `make real` installs


@dataclass(frozen=True)
class EvidenceOptions(RunOptions):
    """The options of `experiment evidence`."""

    models: tuple[str, ...] = option(
        EVIDENCE_WORLDS, f"of {' '.join(WORLDS)}", metavar="MODEL:REWARD", choices=tuple(WORLDS)
    )
    device: str = option("cpu", "cpu, cuda, ...")
    prompts: int = option(400, "test prompts of each model", least=2)
    validation: int = option(64, "further prompts that scales are chosen on", least=1)
    reward_scale: tuple[float, ...] = option((2.0, 8.0), "s_R of RWS, besides the one that is chosen", metavar="S")
    drawn_scale: float = option(8.0, "s_R where tokens are sampled, and of the rarer controls", metavar="S")
    weights: int = option(32, "weights of the reward at which the Pareto front is searched", least=2)
    seed: int = option(0, "of prompts, draws, orders and shuffles", least=0)


def run(options: EvidenceOptions) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    check_writable("--out", Path(options.out), "directory")
    worlds = [WORLDS[name] for name in options.models]
    loading(NAME, *(name for world in worlds for name in (world.model, world.reward)))

    with open_stages(options, [base_unit(world, options.seed) for world in worlds], work) as stages:
        for world in worlds:
            _run_world(world, prompts_of_world(world, options), options, stages)
        if options.dry_run:
            stages.run("frontiers", _frontier_units(worlds, options))
    searched = _frontiers(worlds, options)
    outcome = stages.outcome()
    tell(f"{NAME}: making the tables ...")
    study_tables = tables(pd.concat([outcome.frame, searched], ignore_index=True), seed=options.seed)
    return finish(NAME, options, outcome, study_tables, about=_about(options, outcome.frame))


def _about(options: EvidenceOptions, frame: pd.DataFrame) -> dict[str, Any]:
    """Return what the record of a run says of it: command, date, versions, processor, seconds, choices."""
    numbers = ("models", "prompts", "validation", "reward_scale", "drawn_scale", "weights", "seed")
    answers = answers_of(frame)
    return {
        **about_run(NAME, options, numbers),
        "seconds": round(float(frame["seconds"].sum())),
        "models": {name: asdict(WORLDS[name]) for name in options.models},
        "chosen": {name: chosen_scales(answers, name) for name in options.models},
    }


def prompts_of_world(world: World, options: EvidenceOptions) -> Prompts:
    """Return the test and validation prompts of a model and reward; ValueError for more than their source has."""
    return prompts_of(world.data, options.prompts, options.validation, seed=options.seed, model=world.model)


def _frontier_units(worlds: Iterable[World], options: EvidenceOptions) -> list[Unit]:
    tests = ((world, prompts_of_world(world, options).test) for world in worlds if world.tilts)
    return [unit for world, test in tests for unit in frontier_units(world, test, options.weights, options.seed)]


def _frontiers(worlds: Iterable[World], options: EvidenceOptions) -> pd.DataFrame:
    """Search the Pareto fronts of the settings with `tilts`, below OUT/evidence-frontier; return their rows."""
    units = _frontier_units(worlds, options)
    if not units:
        return pd.DataFrame()
    # A weight is searched once for a whole batch: all prompts of a model are one.
    report = run_units(units, work, Path(options.out), backend=options.backend(), batch=options.prompts)
    write_manifest(report.folder, options.seed, report.asked)
    return report.read()


def read_rows(runs: Path, study: str = NAME) -> pd.DataFrame:
    """Return the rows of a study's last whole run below a folder; ValueError where there is none."""
    parts = []
    for folder in (runs / study, runs / f"{study}-frontier"):
        if read_manifest(folder) is not None:
            parts.append(read_unit_rows(folder))
        elif folder.name == study:
            raise ValueError(f"runs is {runs}: no whole run of `experiment {study} --out {runs}` is there")
    return pd.concat(parts, ignore_index=True)


def _run_world(world: World, prompts: Prompts, options: EvidenceOptions, stages: Stages) -> None:
    validation = stages.run(f"{world.name} validation", validation_units(world, prompts, options))
    scales = chosen_scales(answers_of(validation), world.name)
    first = stages.run(f"{world.name} arms", units_before(world, prompts, options, scales))
    stages.run(f"{world.name} controls", units_after(world, prompts, options, first))


def validation_units(world: World, prompts: Prompts, options: EvidenceOptions) -> list[Unit]:
    """Return the units of the first stage."""
    pairs = ((arm, prompt) for arm in validation_arms() for prompt in prompts.validation)
    return [_unit(world, arm, prompt, "validation", options) for arm, prompt in pairs]


def units_before(world: World, prompts: Prompts, options: EvidenceOptions, scales: dict[str, float]) -> list[Unit]:
    """Return the units of the second stage; `scales` are those chosen."""
    rws = sorted({*options.reward_scale, scales["rws"], options.drawn_scale})
    arms = independent(world, rws, scales["temperature"], options.drawn_scale)
    return [_unit(world, arm, prompt, "test", options) for arm in arms for prompt in prompts.test]


def units_after(world: World, prompts: Prompts, options: EvidenceOptions, rows: pd.DataFrame) -> list[Unit]:
    """Return the units of the third stage, made from the rows of the rws runs among `rows`."""
    runs = rows[(rows["method"] == "rws") & (rows["split"] == "test") & (rows["world"] == world.name)]
    scales = sorted(runs[runs["sampling_temperature"] == 0]["number"].unique())
    units = []
    for arm in from_run(scales, options.drawn_scale):
        same = runs[(runs["number"] == arm.number) & (runs["sampling_temperature"] == arm.sampling_temperature)]
        rewards = {row["example"]: list(row["rewards"]) for row in same.to_dict("records")}
        numbers = numbers_of_runs(arm.method, float(arm.number or 0), rewards, options.seed)
        answered = (prompt for prompt in prompts.test if prompt.name in numbers)
        units += [_unit(world, arm, prompt, "test", options, numbers[prompt.name]) for prompt in answered]
    return units


def _unit(
    world: World, arm: Arm, prompt: Prompt, split: str, options: EvidenceOptions, run: dict[str, Any] | None = None
) -> Unit:
    return on_device(unit_of(world, arm, prompt, split, options.seed, run), options.device)


def work(units: Sequence[Unit]) -> list[Rows]:
    """Return the row of each unit of one batch.

    An answer has the columns of `work.answer_row`, and

    - `judge_scores`, those of the judges in their order, in their own SD; `nll`, nats, and `causal_tokens`, of the
      causal model; `seconds`.

    A Pareto front has `points`, pairs of log p and reward, and `lines`, pairs of beta and the largest log p + beta R of
    all texts.
    """
    from paper_figures.studies.work import answer_row

    if units[0].strategy["name"] == "frontier":
        return _searched(units)
    if units[0].strategy["name"] == "tilt-sample":
        return [[_drawn(unit)] for unit in units]
    started = time.perf_counter()
    traces = _decoded(units)
    seconds = (time.perf_counter() - started) / len(units)
    measures = _measures(units, [_asked(unit, trace) for unit, trace in zip(units, traces, strict=True)])
    return [
        [answer_row(unit, trace) | more | {"seconds": seconds}]
        for unit, trace, more in zip(units, traces, measures, strict=True)
    ]


def _searched(units: Sequence[Unit]) -> list[Rows]:
    """Search the best texts of all prompts at once; the first unit's model and weights are those of all."""
    from paper_figures.studies.work import exact_world
    from rws_theory.worlds import frontiers

    predictor, guide = exact_world(units[0])
    contexts = [predictor.encode_prompt(unit.prompt) for unit in units]
    curves = frontiers(predictor.world, guide.world_reward, units[0].length, contexts, units[0].strategy["betas"])
    return [
        [{"points": [[p.log_prob, p.reward] for p in curve.points], "lines": [list(line) for line in curve.lines]}]
        for curve in curves
    ]


def _decoded(units: Sequence[Unit]) -> list[Trace]:
    from paper_figures.studies.work import prompt_of, reward_for, strategy_of
    from rws_decode import Options, Shape, decode, steer

    first = units[0]
    predictor, reward = _predictor(first), reward_for(first, first.reward or "")
    shape, prompts = Shape(first.length, first.steps, first.block), [prompt_of(unit) for unit in units]
    options = Options(sampling_temperature=first.sampling_temperature, seed=tuple(unit.seed for unit in units))
    if method := first.settings.get("steer"):
        strategy = None if method.startswith("reward-lookahead") else strategy_from(first.strategy)
        return list(steer(predictor, prompts, method, shape, reward=reward, strategy=strategy, options=options))
    return list(decode(predictor, prompts, strategy_of(units), shape, reward=reward, options=options))


def _asked(unit: Unit, trace: Trace) -> tuple[str | Dialogue, str]:
    """Return prompt and answer as judges read them; where a prompt has gaps, its whole text is the answer."""
    from paper_figures.studies.work import predictor_for, prompt_of

    if masks_in(unit.prompt):
        return "", predictor_for(unit).decode_answer(trace.completed.tolist()) or ""
    return prompt_of(unit), trace.text or ""


def _predictor(unit: Unit) -> MaskPredictor:
    """Return a unit's predictor, reward-tilted where the unit names a weight."""
    from paper_figures.studies.work import exact_world, predictor_for
    from rws_decode import WorldPredictor

    if (beta := unit.settings.get("tilt")) is None:
        return predictor_for(unit)
    predictor, guide = exact_world(unit)

    def tilted() -> WorldPredictor:
        return WorldPredictor(predictor.world.tilt(guide.world_reward, beta), predictor.words, name=predictor.name)

    return kept("tilted", (unit.predictor, unit.reward, beta), tilted)


def _drawn(unit: Unit) -> dict[str, Any]:
    """Return the row of an exact sample of p exp(beta R) / Z, which takes no forward."""
    from paper_figures.studies.work import context_and_canvas, digest_of, exact_world

    started = time.perf_counter()
    predictor, guide = exact_world(unit)
    context, canvas = context_and_canvas(predictor, unit.prompt, unit.length)
    tilt = predictor.world.tilt(guide.world_reward, unit.settings["tilt"])
    tokens = np.asarray(tilt.sample(canvas, np.random.default_rng(unit.seed), context), dtype=np.int64)
    return {
        "text": predictor.decode_answer(tokens.tolist()),
        "tokens": digest_of(tokens),
        "final_reward": guide.world_reward.score(tokens),
        "log_prob": predictor.world.log_prob(tokens, context),
        "forwards": 0,
        "reward_calls": 0,
        "near_ties": 0,
        "near_tokens": 0,
        "judge_scores": [],
        "seconds": time.perf_counter() - started,
    }


def _measures(units: Sequence[Unit], pairs: Sequence[tuple[str | Dialogue, str]]) -> list[dict[str, Any]]:
    """Return what judges and the causal model say of prompts and answers; equal pairs are scored once."""
    from paper_figures.statistics.causal_scores import answer_scores
    from paper_figures.studies.work import causal_of, normalised, reward_for

    first = units[0]
    distinct = list(dict.fromkeys(pairs))
    prompts, answers = [prompt for prompt, _ in distinct], [text for _, text in distinct]
    scores: dict[Any, dict[str, Any]] = {pair: {"judge_scores": []} for pair in distinct}
    for name in first.judges:
        for pair, (_, score) in zip(distinct, normalised(reward_for(first, name), prompts, answers), strict=True):
            scores[pair]["judge_scores"].append(score)
    if first.causal is not None:
        causal = causal_of(first.causal, first.device)
        for pair, score in zip(distinct, answer_scores(causal, [str(p) for p in prompts], answers), strict=True):
            scores[pair] |= {"nll": score.nll, "causal_tokens": score.tokens}
    return [scores[pair] for pair in pairs]


# What tells an answer apart. `number` is that of the arm; `drawn`, whether tokens are sampled, at temperature 1.
KEY = ("world", "split", "prompt", "method", "number", "drawn", "steps")
ANSWER_COLUMNS = (
    *KEY,
    *("text", "tokens", "reward", "log_prob", "rules_broken", "judge_scores", "nll", "causal_tokens"),
    *("god_tokens", "god_steps", "mean_factor", "rewards", "forwards", "reward_calls"),
    *("near_ties", "near_tokens", "seconds"),
)


def answers_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the answers among a study's rows, with the columns `ANSWER_COLUMNS`.

    reward: raw; log_prob: nats, None where the model is not exact; rules_broken: None where it has no
    rules; judge_scores: those of the model's judges in their order, in their own SD.
    """
    answers = renamed(rows[rows["method"] != "frontier"])
    answers = answers.assign(drawn=answers["sampling_temperature"] > 0)
    return answers.reindex(columns=list(ANSWER_COLUMNS)).reset_index(drop=True)


def frontiers_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a study's Pareto fronts from its rows: `world`, `prompt`, `points` (log p, reward), `lines` (beta, value).

    No text has log p + beta reward above the value of a line.
    """
    frontiers = renamed(rows[rows["method"] == "frontier"])
    return frontiers.reindex(columns=["world", "prompt", "points", "lines"]).reset_index(drop=True)


def renamed(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows in which `prompt` is the prompt's name and `reward` that of the text; `world` names its model."""
    return rows.drop(columns=["prompt", "reward"]).rename(columns={"example": "prompt", "final_reward": "reward"})


def tables(frame: pd.DataFrame, *, seed: int = 0) -> Sequence[Table]:
    """Return the study's tables from its rows: the arms of each model and reward. No number depends on `seed`."""
    return arm_tables(completed(answers_of(frame), frontiers_of(frame)))
