"""Compare methods on the same prompts: RWS and every control answer them, and every answer is judged.

RWS runs at given reward scales, or at the one that validation prompts choose for a reward. Units run in three stages:

1. rws.
2. The other methods (`options.METHODS`). `constant` takes the mean factor of the prompt's own rws run. `shuffled` takes
   the normalised rewards of that run, permuted over the steps. The others need no run of another.
3. The measures. Every judge scores each different text once, and so does the causal model if there is one.

A unit names the numbers that it was given, so it can be computed alone. An answer has the labels of its prompt, and
`method`; `split`, test or validation; `turn` of a dialogue, from 0; `guide`, the reward model that it is about, and
`reward_scale`, s_R, both None where they do not matter (default, margin, samples); `sample`, the number of a sample.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from paper_figures.data.loaders import Prompt
from paper_figures.runner.digests import digest
from paper_figures.runner.units import Model, Unit
from paper_figures.studies.answers import MOST_SAMPLES, best_of, measured_tables
from paper_figures.studies.options import GRID, METHODS, ComparisonOptions, strategy_of
from paper_figures.studies.prompts import Prompts, announce, asked_prompts, check_options, recorded, with_usual_data
from paper_figures.studies.study import Stages, base_unit, finish, open_stages
from paper_figures.table import Table, records, to_csv
from rws_decode.cli.progress import tell
from rws_decode.common.files import parse_json, write_changed
from rws_decode.common.later import np, pd
from rws_theory.checks import finite


def numbers_of(
    method: str, scale: float, base: Unit, name: str, run: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the numbers of a method's strategy for one prompt, besides the reward scale.

    `base` gives the seed, and `name` is the prompt's name. `run` is the prompt's row of rws at that scale, which the
    methods of `options.FROM_RWS` need.
    """
    if method == "temperature":
        return {"scale": scale}
    if method == "random":
        return {"seed": seed_of(base, name, "noise")}
    if run is not None and method == "constant":
        return {"scale": run["mean_factor"]}
    if run is not None and method == "shuffled":
        rng = np.random.default_rng(seed_of(base, name, f"shuffle {scale!r}"))
        return {"rewards": rng.permutation(list(run["rewards"])).tolist()}
    return {}


def seed_of(base: Unit, name: str, purpose: str) -> int:
    """Return a seed for one prompt and purpose, so that it does not depend on what else is run."""
    return int(np.random.default_rng([base.seed, *f"{name} {purpose}".encode()]).integers(2**31))


@dataclass(frozen=True)
class Arms:
    """What is decoded and how it is judged.

    - `options` name the methods ("rws" and "default" always run), the judges besides the rewards, the causal model for
      perplexity, and the temperature of samples.
    - `base` holds what all answers share (`study.base_unit`). Its setting `reward_cost` is a reward call in forwards.
    - `scales` maps a reward to its reward scales.
    - `every` asks for further runs of RWS, which ask the reward at every N-th step.
    - `traced` names methods whose traces are kept; the setting `traces` keeps all.
    """

    options: ComparisonOptions
    base: Unit
    prompts: tuple[Prompt, ...]
    scales: Mapping[str, tuple[float, ...]]
    every: tuple[int, ...] = ()
    traced: tuple[str, ...] = ()

    @property
    def pairs(self) -> tuple[tuple[str, float], ...]:
        """Return every reward with each of its reward scales."""
        return tuple((guide, scale) for guide, scales in self.scales.items() for scale in scales)

    @property
    def scorers(self) -> tuple[str, ...]:
        """Return every reward model that scores the answers, those of RWS first."""
        return tuple(dict.fromkeys([*self.scales, *self.options.judges]))

    def base_of(self, method: str) -> Unit:
        """Return the unit that holds what all answers of a method share."""
        traced = {"traces": True} if method in self.traced else {}
        return replace(self.base, settings={**self.base.settings, **traced})


def run_arms(arms: Arms, stages: Stages, prefix: str = "") -> None:
    """Run, resume or reuse all stages of the arms; a dialogue runs one turn after another.

    Every method goes on with its own answers. If a unit of a dialogue fails, the dialogue ends there for that method.
    `prefix` begins the names of the stages, so that one run can hold several sets of arms.
    """
    histories: dict[tuple[Any, ...], tuple[str, ...]] = {}  # the texts of each dialogue so far
    answers = []
    for turn in range(max(len(prompt.turns) for prompt in arms.prompts)):
        units = partial(_units, arms, turn, histories)
        rws = stages.run(f"{prefix}rws {turn}", [unit for pair in arms.pairs for unit in units("rws", *pair)])
        answers += [rws, stages.run(f"{prefix}others {turn}", _others(arms, units, rws, turn))]
        for row in records(pd.concat(answers[-2:])):
            histories[_key(row, row["example"])] = (*row["history"], row["prompt"], row["text"])
    stages.run(f"{prefix}measures", measures_of(arms.base, pd.concat(answers), arms.scorers, arms.options.causal))


def answer_unit(
    base: Unit,
    prompt: Prompt,
    method: str,
    guide: str | None = None,
    scale: float | None = None,
    *,
    turn: int = 0,
    history: tuple[str, ...] = (),
    labels: Mapping[str, Any] | None = None,
    numbers: Mapping[str, Any] | None = None,
) -> Unit:
    """Return the unit of one answer; `numbers` are those that its strategy needs besides the reward scale."""
    strategy, reward = strategy_of(method, guide, scale, numbers or {})
    known = {**prompt.labels, "method": method, "guide": guide, "reward_scale": scale, "split": "test", "turn": turn}
    question = {"prompt": prompt.turns[turn], "history": history, "example": prompt.name}
    return replace(base, **question, strategy=strategy, reward=reward, labels=known | dict(labels or {}))


def _key(labels: Mapping[str, Any], name: str) -> tuple[Any, ...]:
    """Return the key that tells the dialogues of a prompt apart; a column's missing value becomes None."""
    values = [labels.get(column) for column in ("method", "guide", "reward_scale", "sample")]
    return (*(None if value != value else value for value in values), name)


def _units(
    arms: Arms,
    turn: int,
    histories: Mapping[tuple[Any, ...], tuple[str, ...]],
    method: str,
    guide: str | None = None,
    scale: float | None = None,
    numbers: Mapping[str, Mapping[str, Any]] | None = None,
    **labels: Any,
) -> list[Unit]:
    """Return the units of a method in one turn; a prompt whose name is not among those of `numbers` has no unit."""
    key = {"method": method, "guide": guide, "reward_scale": scale, **labels}
    units = []
    for prompt in arms.prompts:
        history = () if turn == 0 else histories.get(_key(key, prompt.name))
        if turn < len(prompt.turns) and history is not None and (numbers is None or prompt.name in numbers):
            further: dict[str, Any] = {"turn": turn, "history": history, "labels": labels}
            further["numbers"] = (numbers or {}).get(prompt.name)
            units.append(answer_unit(arms.base_of(method), prompt, method, guide, scale, **further))
    return units


def _others(arms: Arms, units: Callable[..., list[Unit]], rws: pd.DataFrame, turn: int) -> list[Unit]:
    """Return the units of every other method, some of which need the rows of rws."""
    out: list[Unit] = []
    names = [prompt.name for prompt in arms.prompts]
    for guide, scale in arms.pairs:
        runs = {row["example"]: row for row in records(rws) if (row["guide"], row["reward_scale"]) == (guide, scale)}
        for method, line in METHODS.items():
            if line.scaled and method != "rws" and method in arms.options.methods:
                having = runs if line.from_rws else names  # a failed run of rws gives no numbers
                numbers = {name: numbers_of(method, scale, arms.base, name, runs.get(name)) for name in having}
                out += units(method, guide, scale, numbers)
        for every in arms.every:
            out += units(f"rws every {every}", guide, scale, {name: {"every": every} for name in names})
    out += units("default")
    if "margin" in arms.options.methods:
        out += units("margin")
    if "best-of-n" in arms.options.methods and len(rws):
        # As many samples as the most expensive rws run buys. Costs differ by turn: the first turn decides, and every
        # sample goes on through all turns.
        count = MOST_SAMPLES if turn else max(best_of(rows) for _, rows in rws.groupby(["guide", "reward_scale"]))
        for unit in (unit for number in range(count) for unit in units("sample", sample=number)):
            seed = seed_of(arms.base, unit.example, f"sample {unit.labels['sample']}")
            out.append(replace(unit, sampling_temperature=arms.options.sampling_temperature, seed=seed))
    return out


def measures_of(base: Unit, answers: pd.DataFrame, scorers: Sequence[str], causal: str | None) -> list[Unit]:
    """Return the units that score each different answer: once by every scorer, and once by the causal model."""
    settings = {name: value for name, value in base.settings.items() if name in ("reward_device", "reward_dtype")}
    plain = replace(base, predictor=None, reward=None, seed=0, settings=settings, labels={})
    texts = {(row["prompt"], tuple(row["history"]), row["text"]): None for row in answers.to_dict("records")}
    units = []
    for prompt, history, text in texts:
        unit = replace(plain, prompt=prompt, history=history, example="", labels={"answer": text})
        units += [replace(unit, strategy={"name": "score"}, judges=(scorer,)) for scorer in scorers]
        if causal is not None:
            units.append(replace(unit, strategy={"name": "perplexity"}, causal=causal))
    return units


def _selected(guide: str, answers: pd.DataFrame, scores: pd.DataFrame, grid: Sequence[float]) -> dict[str, Any]:
    """Return a reward's `chosen` scale and its `grid`: a row per scale (win, draw and loss share; net; mean raw score).

    Scales are compared on the same prompts. A scale at which more units failed than at others has no row.
    """
    rows: list[dict[str, Any]] = []
    if len(scores):
        own = scores.loc[[judges[0] == guide for judges in scores["judges"]], ["prompt", "answer", "score"]]
        scored = answers.merge(own.rename(columns={"answer": "text"}).drop_duplicates(), on=["prompt", "text"])
        default = scored[scored["method"] == "default"].groupby("prompt")["score"].last()
        rws = scored[(scored["guide"] == guide) & scored["prompt"].isin(default.index)]
        table = rws.pivot_table("score", "prompt", "reward_scale", aggfunc="last")
        counts = table.notna().sum()
        table = table[[scale for scale in grid if counts.get(scale, 0) == counts.max()]].dropna()
        for scale in table if len(table) else ():
            nets = np.sign(table[scale] - default[table.index]).astype(int).tolist()
            shares = {name: nets.count(sign) / len(nets) for name, sign in (("win", 1), ("draw", 0), ("loss", -1))}
            mean = math.fsum(table[scale]) / len(nets)
            rows.append({"scale": scale, "n": len(nets)} | shares | {"net": sum(nets) / len(nets), "score": mean})
    if not rows:
        raise ValueError(f"guide {guide} has no result on the validation prompts: see the units that failed")
    chosen = max(rows, key=lambda row: (row["net"], row["score"], -row["scale"]))["scale"]
    return {"guide": guide, "grid": rows, "chosen": chosen}


def run_comparison(
    options: ComparisonOptions,
    name: str,
    tables: Callable[..., Sequence[Table]],
    run_stages: Callable[[Any, Unit, Prompts, Stages], None] | None = None,
    check: Callable[[Any, Prompts], None] | None = None,
) -> dict[str, Any]:
    """Run a study of arms, write its files, and return what `--json` prints.

    `name` is the name of the study, and `tables(frame, seed=...)` returns its tables. `run_stages` replaces the usual
    stages (`run_usual`). `check` raises ValueError for prompts that lack what the study needs.
    """
    # Prompts -> arms -> units.
    options = replace(options, causal=None if options.causal == "none" else options.causal)
    _check_options(options)
    options = with_usual_data(options)
    prompts = asked_prompts(options)
    if check is not None:
        check(options, prompts)
    if not options.reward_scale and not prompts.validation:
        raise ValueError("validation is 0: prompts to choose the reward scale on are needed, or a --reward-scale")
    options, base = recorded(options, prompts), base_unit(options, name)
    settings = dict(base.settings) | ({"traces": True} if options.traces else {})
    settings |= {"reward_cost": options.reward_cost, "study_seed": options.seed}
    base = replace(base, seed=options.seed, settings=settings)
    readers = {"--rewards": options.rewards, "--judges": options.judges, "--causal": (options.causal,)}
    announce(name, options.model, prompts, readers)

    judged = replace(base, judges=(*options.rewards, *options.judges), causal=options.causal)
    models = [*(replace(base, reward=reward) for reward in options.rewards), judged]
    with open_stages(options, models) as stages:
        _check_different([*options.rewards, *options.judges], stages)
        (run_stages or run_usual)(options, base, prompts, stages)

    # Units' rows -> tables -> files.
    tell(f"{name}: making the tables ...")
    outcome = stages.outcome()
    study_tables = tables(outcome.frame, seed=options.seed)
    counts = {"source": prompts.source, "test": len(prompts.test), "validation": len(prompts.validation)}
    chosen = Path(options.out) / name / "selection.json"
    guides = parse_json(chosen.read_text(encoding="utf-8"))["guides"] if chosen.is_file() else None
    results = {
        "prompts": counts,
        "selection": None if guides is None else {item["guide"]: item["chosen"] for item in guides},
        "tables": {
            item.name: {"caption": item.caption, "rows": list(item.rows), "shown": list(item.shown)}
            for item in measured_tables(study_tables)
        },
    }
    return finish(name, options, outcome, study_tables, results) | {"data": counts}


def run_usual(options: ComparisonOptions, base: Unit, prompts: Prompts, stages: Stages) -> None:
    """Run the usual stages: reward scales are given or chosen, then all arms."""
    run_arms(Arms(options, base, prompts.test, scales_from(options, base, prompts, stages)), stages)


def scales_from(
    options: ComparisonOptions, base: Unit, prompts: Prompts, stages: Stages
) -> dict[str, tuple[float, ...]]:
    """Return the scales s_R of each reward: those given, or the one chosen on the validation prompts.

    The paper selects the "optimal" s_R of each reward model from the grid on a validation set, and does not say by
    which criterion. Here it is the net win rate over confidence by the reward itself, which Table 1 reports.
    Ties go to the higher mean score, then to the smaller scale. Of a dialogue, the first turn counts.

    A choice is recorded in OUT/STUDY/selection.json, with a row per reward and scale in selection.csv. ValueError is
    raised if every unit of a reward failed.
    """
    folder = Path(options.out) / base.experiment
    if options.reward_scale:
        for name in ("selection.json", "selection.csv"):
            (folder / name).unlink(missing_ok=True)  # another run chose these scales; this one chooses none
        return dict.fromkeys(options.rewards, tuple(options.reward_scale))
    guides, grid, labels = options.rewards, tuple(options.grid or GRID), {"split": "validation"}
    arms = [("default", None, None), *(("rws", guide, scale) for guide in guides for scale in grid)]
    units = [answer_unit(base, prompt, *arm, labels=labels) for arm in arms for prompt in prompts.validation]
    answers = stages.run("selection", units)
    measures: list[Unit] = []
    for guide in guides if len(answers) else ():
        compared = answers["guide"].isna() | (answers["guide"] == guide)
        measures += measures_of(base, answers[compared & answers["text"].notna()], [guide], None)
    scores = stages.run("selection measures", measures)
    selections = [_selected(guide, answers, scores, grid) for guide in guides]
    shape = ("predictor", "length", "steps", "block", "ranking", "precision", "device", "settings")
    record = {name: getattr(base, name) for name in shape} | {"source": prompts.source, "digest": prompts.digest}
    record |= {"validation": len(prompts.validation), "guides": selections}
    text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False)
    write_changed(folder / "selection.json", text + "\n")
    rows = [{"guide": one["guide"]} | row | {"chosen": one["chosen"]} for one in selections for row in one["grid"]]
    write_changed(folder / "selection.csv", to_csv(rows))
    return {one["guide"]: (one["chosen"],) for one in selections}


def _check_different(names: Sequence[str], stages: Stages) -> None:
    """Raise ValueError if two names are of one model, which would then be its own independent judge."""
    name_of: dict[str, str] = {}
    for name in dict.fromkeys(names):
        files = digest(None if stages.origin is None else stages.origin.models.get(Model("judge", name), name))
        if files in name_of:
            raise ValueError(f"--rewards and --judges name {name_of[files]} and {name}: these are one model")
        name_of[files] = name


def _check_options(options: ComparisonOptions) -> None:
    """Raise ValueError for numbers that no experiment can use, before anything is loaded."""
    if options.validation < 0:
        raise ValueError(f"--validation is {options.validation}: at least 0 is needed")
    check_options(options)
    for name in ("grid", "reward_scale", "rewards", "judges", "methods"):
        value = list(getattr(options, name) or ())
        if len(set(value)) < len(value):
            raise ValueError(f"--{name.replace('_', '-')} is {value}: different ones are needed")
        if not all(math.isfinite(number) and number > 0 for number in value if isinstance(number, float)):
            raise ValueError(f"--{name.replace('_', '-')} is {value}: positive finite numbers are needed")
    if options.reward_scale and options.grid:
        raise ValueError(
            f"--reward-scale is {list(options.reward_scale)}: with it nothing is chosen by --grid; "
            "name it without numbers to choose"
        )
    for name in ("sampling_temperature", "reward_cost"):
        finite(f"--{name.replace('_', '-')}", getattr(options, name), above=0)
