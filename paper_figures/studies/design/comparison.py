"""A whole comparison of arms, from its options to its files: prompts, reward scales, units, tables, results.json."""

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
    from paper_figures.runner.stages import Stages
    from paper_figures.runner.units import Unit
    from paper_figures.studies.design.arms import Arms
    from paper_figures.studies.design.prompts import Prompts
    from paper_figures.table import Table

__all__ = ["arms_from", "prompts_from", "run_comparison", "scales_from"]


def run_comparison(
    args: argparse.Namespace,
    name: str,
    tables: Callable[..., Sequence[Table]],
    run_stages: Callable[[argparse.Namespace, Unit, Prompts, Stages], None] | None = None,
) -> dict[str, Any]:
    """Run a study of arms, write its files, and return what `--json` prints.

    name: of the study; tables: (frame, seed=...) -> its tables; run_stages: what runs in place of the usual stages,
    which choose reward scales (`scales_from`) and run all arms (`arms.run_arms`).
    """
    from dataclasses import replace

    from paper_figures.runner.manifest import write_manifest
    from paper_figures.runner.results_json import write_comparison_results
    from paper_figures.runner.stages import open_stages
    from paper_figures.studies.summaries.printed import measured_tables
    from paper_figures.table import tables_text, write_tables

    # Prompts -> arms -> units.
    check_arguments(args)
    prompts, base = prompts_from(args), base_unit(args, name)
    judged = replace(base, judges=(*args.rewards, *args.judges), causal=args.causal)
    models = [*(replace(base, reward=reward) for reward in args.rewards), judged]
    with kept_open(backend_of(args)) as backend:
        stages = open_stages(Path(args.out), models, backend=backend, batch=args.batch, retry_failed=args.retry_failed)
        _check_different([*args.rewards, *args.judges], stages)
        _note_language(args)
        (run_stages or _run_arms)(args, base, prompts, stages)

    # Units' rows -> tables -> files.
    done = stages.outcome()
    made = tables(done.frame, seed=args.seed)
    write_manifest(done.folder, args.seed, (unit for report in stages.reports.values() for unit in report.asked))
    write_tables(Path(args.out) / name, measured_tables(made))
    write_comparison_results(args, prompts, done, made)
    message = tables_text(made) if made else "no table: the results that one needs are not there\n"
    if done.counts["failed"]:
        failed = f"{done.counts['failed']} of {done.counts['asked']} units failed"
        message += f"\n{failed}: --retry-failed runs them again\n"
    return {
        "experiment": name,
        "folder": str(done.folder),
        "units": dict(done.counts),
        "data": {"source": prompts.source, "test": len(prompts.test), "validation": len(prompts.validation)},
        "tables": {table.name: list(table.rows) for table in made},
        "message": f"{message}\nresults: {done.folder}",
    }


def _run_arms(args: argparse.Namespace, base: Unit, prompts: Prompts, stages: Stages) -> None:
    from paper_figures.studies.design.arms import run_arms

    run_arms(arms_from(args, base, prompts, scales_from(args, base, prompts, stages)), stages)


def prompts_from(args: argparse.Namespace) -> Prompts:
    """Return the prompts that the options name; ValueError if validation prompts are among the test prompts."""
    from dataclasses import replace

    from paper_figures.studies.design.prompts import prompts_of

    count = args.prompts or None
    options = {"seed": args.seed, "model": args.model}
    validation = 0 if args.reward_scale else args.validation
    if args.validation_data is None:
        return prompts_of(args.data, count, validation, **options)
    test = prompts_of(args.data, count, **options)
    if not validation:
        return test
    texts = {prompt.text for prompt in test.test}  # scales are chosen on first turns
    other = prompts_of(args.validation_data, 1, validation, **options)
    if any(prompt.text in texts for prompt in other.validation):
        raise ValueError(f"--validation-data is {args.validation_data}: a prompt of it is a test prompt too")
    return replace(test, source=f"{args.data}; validation: {args.validation_data}", validation=other.validation)


def scales_from(args: argparse.Namespace, base: Unit, prompts: Prompts, stages: Stages) -> dict[str, tuple[float, ...]]:
    """Return guide -> its reward scales: those given, or the one chosen on the validation prompts and recorded.

    The record is OUT/STUDY/selection.json, with a row per guide and scale in selection.csv.
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
    selection = select_scales(base, prompts, args.rewards, stages, grid=tuple(args.grid or GRID), **options)
    shape = ("predictor", "length", "steps", "block", "ranking", "precision", "device", "settings")
    record = {name: getattr(base, name) for name in shape} | selection.record()
    text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False)
    write_changed(folder / "selection.json", text + "\n")
    rows = [
        {"guide": guide_selection.guide} | dict(row) | {"chosen": guide_selection.chosen}
        for guide_selection in selection.guides
        for row in guide_selection.grid
    ]
    write_changed(folder / "selection.csv", to_csv(rows))
    return selection.scales


def arms_from(args: argparse.Namespace, base: Unit, prompts: Prompts, scales: dict[str, tuple[float, ...]]) -> Arms:
    """Return the arms that the options describe."""
    from paper_figures.studies.design.arms import Arms

    return Arms(
        base=base,
        prompts=prompts.test,
        scales=scales,
        judges=tuple(args.judges),
        causal=args.causal,
        methods=tuple(args.methods),
        sampling_temperature=args.sampling_temperature,
    )


def _check_different(names: Sequence[str], stages: Stages) -> None:
    """Raise ValueError if two names are of one model, which would be its own independent judge."""
    from paper_figures.runner.digests import digest
    from paper_figures.runner.units import Model

    name_of: dict[str, str] = {}
    for name in dict.fromkeys(names):
        files = digest(None if stages.origin is None else stages.origin.models.get(Model("judge", name), name))
        if files in name_of:
            raise ValueError(f"--rewards and --judges name {name_of[files]} and {name}: these are one model")
        name_of[files] = name


def _note_language(args: argparse.Namespace) -> None:
    """Say on standard error if models of the story language would judge another model's text."""
    from rws_decode.checkpoints.files import shipped

    ours = {*shipped("ForMaskedLM"), *shipped("ForCausalLM"), *shipped("ForSequenceClassification"), "mini", "exact"}
    judging = [name for name in dict.fromkeys([*args.rewards, *args.judges, args.causal]) if name in ours]
    if judging and args.model not in ours:
        options = f"--rewards, --judges and --causal name {', '.join(judging)}"
        print(f"note: {options}, which read the language of the shipped models, not of {args.model}", file=sys.stderr)
