"""Run a whole comparison of arms, from its options to its files.

The steps are prompts, reward scales, units, tables, and results.json.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from paper_figures.runner.digests import digest
from paper_figures.runner.units import Model, Unit
from paper_figures.studies.design.arms import Arms, run_arms
from paper_figures.studies.design.asked import announce, asked_prompts, check_options, recorded, with_usual_data
from paper_figures.studies.design.options import ComparisonOptions
from paper_figures.studies.design.prompts import Prompts, prompts_of
from paper_figures.studies.design.scale_selection import GRID, select_scales
from paper_figures.studies.design.stages import Stages, base_unit, finish, open_stages
from paper_figures.studies.summaries.printed import measured_tables
from paper_figures.table import Table, to_csv
from rws_decode.cli.progress import tell
from rws_decode.common.files import parse_json, write_changed
from rws_theory.checks import finite

Chosen = TypeVar("Chosen", bound=ComparisonOptions)


def run_comparison(
    options: Chosen,
    name: str,
    tables: Callable[..., Sequence[Table]],
    run_stages: Callable[[Chosen, Unit, Prompts, Stages], None] | None = None,
    check: Callable[[Chosen, Prompts], None] | None = None,
) -> dict[str, Any]:
    """Run a study of arms, write its files, and return what `--json` prints.

    `name` is the name of the study, and `tables(frame, seed=...)` returns its tables. `run_stages` replaces the usual
    stages (`run_usual`). `check` raises ValueError for prompts that lack what the study needs.
    """
    # Prompts -> arms -> units.
    options = replace(options, causal=None if options.causal == "none" else options.causal)
    _check_options(options)
    options = with_usual_data(options)
    prompts = prompts_from(options)
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
    asked = {"source": prompts.source, "test": len(prompts.test), "validation": len(prompts.validation)}
    chosen = Path(options.out) / name / "selection.json"
    guides = parse_json(chosen.read_text(encoding="utf-8"))["guides"] if chosen.is_file() else None
    results = {
        "prompts": asked,
        "selection": None if guides is None else {item["guide"]: item["chosen"] for item in guides},
        "tables": {
            item.name: {"caption": item.caption, "rows": list(item.rows), "shown": list(item.shown)}
            for item in measured_tables(study_tables)
        },
    }
    return finish(name, options, outcome, study_tables, results) | {"data": asked}


def run_usual(options: ComparisonOptions, base: Unit, prompts: Prompts, stages: Stages) -> None:
    """Run the usual stages: reward scales are given or chosen, then all arms."""
    run_arms(arms_from(options, base, prompts, scales_from(options, base, prompts, stages)), stages)


def prompts_from(options: ComparisonOptions) -> Prompts:
    """Return the prompts that the options name.

    ValueError is raised if a validation prompt is also a test prompt.
    """
    validation = 0 if options.reward_scale else options.validation
    if options.validation_data is None:
        return asked_prompts(options, validation)
    test = asked_prompts(options)
    if not validation:
        return test
    texts = {prompt.text for prompt in test.test}  # scales are chosen on first turns
    other = prompts_of(options.validation_data, 1, validation, seed=options.seed, model=options.model)
    if any(prompt.text in texts for prompt in other.validation):
        raise ValueError(f"--validation-data is {options.validation_data}: a prompt of it is a test prompt too")
    return replace(test, source=f"{test.source}; validation: {options.validation_data}", validation=other.validation)


def scales_from(
    options: ComparisonOptions, base: Unit, prompts: Prompts, stages: Stages
) -> dict[str, tuple[float, ...]]:
    """Return the reward scales of each guide: those given, or the one chosen on the validation prompts.

    A choice is recorded in OUT/STUDY/selection.json, with a row per guide and scale in selection.csv.
    """
    folder = Path(options.out) / base.experiment
    if options.reward_scale:
        for name in ("selection.json", "selection.csv"):
            (folder / name).unlink(missing_ok=True)  # another run chose these scales; this one chooses none
        return dict.fromkeys(options.rewards, tuple(options.reward_scale))
    selection = select_scales(base, prompts, options.rewards, stages, grid=tuple(options.grid or GRID))
    shape = ("predictor", "length", "steps", "block", "ranking", "precision", "device", "settings")
    record = {name: getattr(base, name) for name in shape} | selection
    text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False)
    write_changed(folder / "selection.json", text + "\n")
    rows = [
        {"guide": item["guide"]} | row | {"chosen": item["chosen"]}
        for item in selection["guides"]
        for row in item["grid"]
    ]
    write_changed(folder / "selection.csv", to_csv(rows))
    return {item["guide"]: (item["chosen"],) for item in selection["guides"]}


def arms_from(options: ComparisonOptions, base: Unit, prompts: Prompts, scales: dict[str, tuple[float, ...]]) -> Arms:
    """Return the arms that the options describe."""
    return Arms(
        base=base,
        prompts=prompts.test,
        scales=scales,
        judges=tuple(options.judges),
        causal=options.causal,
        methods=tuple(options.methods),
        sampling_temperature=options.sampling_temperature,
    )


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
