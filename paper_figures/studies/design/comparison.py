"""A whole run of an experiment from its options: prompts, reward scales, a study of them, its tables, its record."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paper_figures.runner.executors import backend_of, kept_open
from paper_figures.studies.design.options import base_unit, check_arguments

if TYPE_CHECKING:
    from paper_figures.runner.stages import Runner
    from paper_figures.runner.units import Unit
    from paper_figures.studies.design.arms import Study
    from paper_figures.studies.design.prompts import Prompts
    from paper_figures.table import Table

__all__ = ["prompts_from", "run_comparison", "scales_from", "study_from"]


def prompts_from(args: argparse.Namespace) -> Prompts:
    """Return the prompts that the options name; ValueError where validation prompts are among the test prompts."""
    from dataclasses import replace

    from paper_figures.studies.design.prompts import prompts_of

    count = args.prompts or None
    options = {"seed": args.seed, "model": args.model}
    wanted = 0 if args.reward_scale else args.validation
    if args.validation_data is None:
        return prompts_of(args.data, count, wanted, **options)
    test = prompts_of(args.data, count, **options)
    texts = {one.text for one in test.test}  # scales are chosen on first turns
    if not wanted:
        return test
    held = prompts_of(args.validation_data, 1, wanted, **options)
    if any(one.text in texts for one in held.validation):
        raise ValueError(f"--validation-data is {args.validation_data}: a prompt of it is a test prompt too")
    return replace(test, source=f"{args.data}; validation: {args.validation_data}", validation=held.validation)


def scales_from(args: argparse.Namespace, base: Unit, prompts: Prompts, run: Runner) -> dict[str, tuple[float, ...]]:
    """Return guide -> its reward scales: those given, or the one chosen on the validation prompts and recorded.

    The record is OUT/EXPERIMENT/selection.json, with a row per guide and scale in selection.csv.
    """
    from paper_figures.studies.design.scale_selection import GRID, select_scales
    from paper_figures.table import to_csv
    from rws_decode.common.files import write_changed

    folder = Path(args.out) / base.experiment
    if args.reward_scale:
        for name in ("selection.json", "selection.csv"):
            (folder / name).unlink(missing_ok=True)  # of another run: this one has chosen nothing
        return dict.fromkeys(args.rewards, tuple(args.reward_scale))
    options = {"paths": args.path_prompts, "budget": args.path_budget, "by": args.select}
    found = select_scales(base, prompts, args.rewards, run, grid=tuple(args.grid or GRID), **options)
    shape = ("predictor", "length", "steps", "block", "ranking", "precision", "device", "settings")
    record = {name: getattr(base, name) for name in shape} | found.record()
    text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False)
    write_changed(folder / "selection.json", text + "\n")
    rows = [{"guide": one.guide} | dict(row) | {"chosen": one.chosen} for one in found.guides for row in one.grid]
    write_changed(folder / "selection.csv", to_csv(rows))
    return found.scales


def study_from(args: argparse.Namespace, base: Unit, prompts: Prompts, scales: dict[str, tuple[float, ...]]) -> Study:
    """Return the study that the options describe."""
    from paper_figures.studies.design.arms import Study

    return Study(
        base=base,
        prompts=prompts.test,
        scales=scales,
        judges=tuple(args.judges),
        causal=args.causal,
        methods=tuple(args.methods),
        sampling_temperature=args.sampling_temperature,
    )


def _check_different(names: Sequence[str], run: Runner) -> None:
    """Raise ValueError where two names are of one model: it would be its own independent judge."""
    from paper_figures.runner.digests import digest
    from paper_figures.runner.units import Model

    seen: dict[str, str] = {}
    for name in dict.fromkeys(names):
        found = digest(None if run.origin is None else run.origin.models.get(Model("judge", name), name))
        if found in seen:
            raise ValueError(f"--rewards and --judges name {seen[found]} and {name}: these are one model")
        seen[found] = name


def _note_language(args: argparse.Namespace) -> None:
    """Say on standard error where models of the story language would judge another model's text."""
    from rws_decode.checkpoints.files import shipped

    own = {*shipped("ForMaskedLM"), *shipped("ForCausalLM"), *shipped("ForSequenceClassification"), "mini", "exact"}
    judging = [name for name in dict.fromkeys([*args.rewards, *args.judges, args.causal]) if name in own]
    if judging and args.model not in own:
        what = f"--rewards, --judges and --causal name {', '.join(judging)}"
        print(f"note: {what}, which read the language of the shipped models, not of {args.model}", file=sys.stderr)


def run_comparison(
    args: argparse.Namespace,
    experiment: str,
    tables: Callable[..., Sequence[Table]],
    steps: Callable[[argparse.Namespace, Unit, Prompts, Runner], None] | None = None,
) -> dict[str, Any]:
    """Run a study and what else an experiment has, write its tables, and return what `--json` prints.

    tables: (frame, seed=...) -> tables of the experiment; steps: what runs in place of `run_study` of `study_from`.
    """
    from dataclasses import replace

    from paper_figures.runner.manifest import write_manifest
    from paper_figures.runner.results_json import write_comparison_results
    from paper_figures.runner.stages import runner_on
    from paper_figures.studies.design.arms import run_study
    from paper_figures.studies.summaries.printed import measured_tables
    from paper_figures.table import tables_text, write_tables

    check_arguments(args)
    prompts, base = prompts_from(args), base_unit(args, experiment)
    every = replace(base, judges=(*args.rewards, *args.judges), causal=args.causal)
    models = [*(replace(base, reward=reward) for reward in args.rewards), every]
    with kept_open(backend_of(args)) as backend:
        run = runner_on(Path(args.out), models, backend=backend, batch=args.batch, retry_failed=args.retry_failed)
        _check_different([*args.rewards, *args.judges], run)
        _note_language(args)
        if steps is None:
            run_study(study_from(args, base, prompts, scales_from(args, base, prompts, run)), run)
        else:
            steps(args, base, prompts, run)
    done = run.outcome()
    write_manifest(done.folder, args.seed, (unit for report in run.reports.values() for unit in report.asked))
    found = tables(done.frame, seed=args.seed)
    nothing = "no table: the results that one needs are not there\n"
    message = tables_text(found) if found else nothing
    write_tables(Path(args.out) / experiment, measured_tables(found))
    write_comparison_results(args, prompts, done, found)
    if done.counts["failed"]:
        failed = f"{done.counts['failed']} of {done.counts['asked']} units failed"
        message += f"\n{failed}: --retry-failed runs them again\n"
    return {
        "experiment": experiment,
        "folder": str(done.folder),
        "units": dict(done.counts),
        "data": {"source": prompts.source, "test": len(prompts.test), "validation": len(prompts.validation)},
        "tables": {one.name: list(one.rows) for one in found},
        "message": f"{message}\nresults: {done.folder}",
    }
