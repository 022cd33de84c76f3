"""Run studies that are one stage of units: the options that they share, their run, and their files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from paper_figures.runner.units import Unit
from paper_figures.studies.design import results_json
from paper_figures.studies.design.asked import announce, asked_prompts, given_as, one_turn, recorded
from paper_figures.studies.design.options import StageOptions, settings_from
from paper_figures.studies.design.prompts import Prompts
from paper_figures.studies.design.results_json import schema_of, seconds_of, sources_of
from paper_figures.studies.design.stages import Outcome, check_options
from paper_figures.table import Table

Chosen = TypeVar("Chosen", bound="StageOptions")


def check_range(scale_min: float, scale_max: float, budget: int | None, steps: int) -> None:
    """Raise ValueError for bad ends of a range of scales, or a budget below the forwards of one answer."""
    if not 0 < scale_min < scale_max < math.inf:
        raise ValueError(f"--scale-min and --scale-max are {scale_min} and {scale_max}: 0 < min < max < inf is needed")
    if budget is not None and budget < steps:
        raise ValueError(f"--budget is {budget}: at least --steps, {steps}, is needed")


def begin(
    options: Chosen, experiment: str, models: Mapping[str, Iterable[str | None]], *, judged: bool = False
) -> tuple[Chosen, Prompts]:
    """Check the options and read the prompts before PyTorch is imported, and say what is loaded and left out.

    `models` are the reward and causal models by the option that names them. `judged` says whether answers are judged by
    the rules of the story language. Return the options as they are recorded, and the prompts. ValueError as
    `check_options` and `asked.asked_prompts` raise it, and for prompts of several turns.
    """
    check_options(options)
    prompts = asked_prompts(options)
    one_turn(options, prompts)
    announce(experiment, options.model, prompts, models, judged=judged)
    return recorded(options, prompts), prompts


def prompt_settings(options: StageOptions) -> dict[str, Any]:
    """Return which prompts were asked, and how many, for results.json."""
    how = given_as(options)
    return {how: getattr(options, how), "prompts": options.prompts}


def finish(
    options: StageOptions,
    base: Unit,
    outcome: Outcome,
    tables: Sequence[Table],
    *,
    settings: Mapping[str, Any],
    results: Mapping[str, Any],
) -> dict[str, Any]:
    """Write a study's files as `results_json.finish` does, and return what `--json` prints.

    `settings` are the study's own options, and `results` is what else results.json holds. Without tables there is no
    results.json.
    """
    shape = {name: getattr(base, name) for name in ("length", "steps", "block", "device")}
    given = {"model": options.model} | settings | shape | settings_from(options)
    body = {
        "settings": {name: value for name, value in given.items() if value is not None},
        "sources": sources_of(outcome.origin),
        "seconds": seconds_of(outcome.frame),
        **results,
    }
    schema = schema_of(base.experiment)
    return results_json.finish(base.experiment, outcome, tables, body if tables else None, schema, seed=options.seed)
