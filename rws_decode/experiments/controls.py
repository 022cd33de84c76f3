"""RWS beside its controls on the same prompts: what is due to the reward, and what to its factor or its cost.

Methods, at every reward scale: `rws`; `constant`, each prompt's mean factor of its rws run; `shuffled`, its rewards
permuted over the steps; `flipped`, RWS of the reward with its sign turned; `random`, RWS of standard normal noise; and,
the same at every scale: `default`, plain confidence; `margin`, the margin order; `best-of-n`, of N answers sampled by
Gumbel-max the one that the guiding reward scores highest, the first among equals.

Cost is counted, per answer, as forwards + reward-cost x reward calls (texts scored). N is the whole number, at least 1,
that brings best-of-n closest to the mean cost of rws at that scale; `cost` in the table is what each method spent.

Columns of the results, one row per answer: `guide_score`, raw score of the guiding reward model; `judge_score`, that of
the other; `coherent`, no rule of the story language broken (none for other prompts), and how many were, `violations`;
`god_tokens`, `god_steps`; `mean_factor`; `forwards`, `reward_calls`; `seconds`, of its share in the batch.

The table compares every method with rws at the same scale, prompt by prompt: the mean difference (method minus rws),
its paired bootstrap interval, and the p-value of the sign-flip permutation test (`comparisons.paired_test`), corrected
over the scales by Holm's method. Files below OUT/controls: the units' parts, and `summary.csv|md`.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rws_decode.experiments.executors import Backend, add_run_arguments, backend_of, kept_open

if TYPE_CHECKING:
    import pandas

    from rws_decode.experiments.summaries import Summary
    from rws_decode.experiments.units import Unit

__all__ = ["add_arguments", "best_of", "run", "run_controls", "summary", "with_best_of_n"]

SCALES = (2.0, 8.0, 32.0)
METHODS = ("rws", "constant", "shuffled", "flipped", "random", "default", "margin", "best-of-n")
MEASURES = ("judge_score", "guide_score", "coherent", "god_steps", "cost")
_CAPTION = (
    "Mean over prompts; in brackets the mean difference to rws at the same scale on the same prompts, its paired 95 % "
    "bootstrap interval, and p of the sign-flip permutation test, corrected over the scales by Holm's method. Cost: "
    "forwards + {reward_cost:g} x reward calls per answer.\n\n"
)


def summary() -> Summary:
    """Return what the experiment's table shows: every method against rws at the same scale."""
    from rws_decode.experiments.summaries import Summary

    return Summary(
        measures=MEASURES,
        by=("method", "reward_scale"),
        baseline={"method": "rws"},
        pair=("example", "prompt"),
        over=("reward_scale",),
        derive=with_best_of_n,
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the experiment's options to a parser."""
    parser.add_argument("--out", required=True, metavar="DIR", help="results go to DIR/controls")
    parser.add_argument("--prompts", type=int, default=24, metavar="N", help="the first N prompts (24)")
    parser.add_argument(
        "--kind", default="keywords", help="of the model's held-out prompts: keywords, ..., all (keywords)"
    )
    parser.add_argument("--prompt-file", metavar="FILE", help="prompts, one per line, in place of the model's examples")
    parser.add_argument("--model", default="mini", help="mask predictor: shipped name, directory or hub id (mini)")
    parser.add_argument("--reward", default="mini", help="reward model that guides, and picks of N (mini)")
    parser.add_argument("--judge", default="mini-judge", help="reward model that judges (mini-judge)")
    parser.add_argument("--scales", type=float, nargs="+", default=list(SCALES), metavar="S", help="s_R (2 8 32)")
    parser.add_argument(
        "--sampling-temperature", type=float, default=1.0, metavar="T", help="of the samples of best-of-n (1)"
    )
    parser.add_argument("--reward-cost", type=float, default=1.0, metavar="F", help="a reward call in forwards (1)")
    parser.add_argument("--length", type=int, default=64, help="answer tokens (64)")
    parser.add_argument("--steps", type=int, default=32, help="forwards per answer (32)")
    parser.add_argument("--block", type=int, default=32, help="tokens per block (32)")
    parser.add_argument("--seed", type=int, default=0, help="of shuffles, noise, samples and bootstrap (0)")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, ... (cpu)")
    add_run_arguments(parser, batch=24)


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Run the experiment from parsed options; return what `--json` prints."""
    if args.prompts < 1:
        raise ValueError(f"--prompts is {args.prompts}: at least 1 is needed")
    if not 0 <= args.seed < 2**31:
        raise ValueError(f"--seed is {args.seed}: at least 0 and below 2**31 is needed")
    positive = all(math.isfinite(scale) and scale > 0 for scale in args.scales)
    if not positive or len(set(args.scales)) < len(args.scales):
        raise ValueError(f"--scales is {args.scales}: different positive finite numbers are needed")
    if Path(args.out).exists() and not Path(args.out).is_dir():
        raise ValueError(f"--out is {args.out}: a file; a directory is needed")
    for name in ("sampling_temperature", "reward_cost"):
        value = getattr(args, name)
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"--{name.replace('_', '-')} is {value}: a positive finite number is needed")

    from rws_decode.experiments.units import Unit
    from rws_decode.schedule import block_plan

    block_plan(args.length, args.steps, args.block)
    shape = {name: getattr(args, name) for name in ("length", "steps", "block", "device", "reward")}
    units = [
        Unit(
            experiment="controls",
            prompt=prompt,
            example=str(place),
            strategy={"name": "default"},
            predictor=args.model,
            judges=(args.judge,),
            seed=args.seed,
            settings={"reward_cost": args.reward_cost},
            **shape,
        )
        for place, prompt in _prompts(args)
    ]
    options = {"batch": args.batch, "retry_failed": args.retry_failed}
    with kept_open(backend_of(args)) as backend:
        return run_controls(Path(args.out), units, args.scales, args.sampling_temperature, backend=backend, **options)


def _prompts(args: argparse.Namespace) -> list[tuple[int, str]]:
    from rws_decode.experiments.sources import examples_of

    if args.prompt_file is not None:
        lines = Path(args.prompt_file).read_text(encoding="utf-8").splitlines()
        found = [(place, line) for place, line in enumerate(lines) if line.strip()]
    else:
        stored = enumerate(examples_of(args.model))
        found = [(place, one["prompt"]) for place, one in stored if args.kind in ("all", one.get("kind"))]
    if len(found) < args.prompts:
        where = args.prompt_file or f"the examples of {args.model} of kind {args.kind}"
        raise ValueError(f"--prompts is {args.prompts}: {where} are {len(found)}")
    return found[: args.prompts]


def run_controls(
    out: Path,
    units: Sequence[Unit],
    scales: Sequence[float],
    sampling_temperature: float = 1.0,
    *,
    backend: Backend | None = None,
    batch: int = 24,
    retry_failed: bool = False,
    progress: bool = True,
) -> dict[str, Any]:
    """Run, resume or reuse the experiment and return its summary; units: one per prompt, of strategy default.

    Two rounds: `constant`, `shuffled` and N follow from the rows of rws, and their units name the numbers that they
    were given, so that each unit stands for itself. A backend that is `executors.kept_open` keeps its models for both.
    """
    from rws_decode.experiments.controls_cell import measure
    from rws_decode.experiments.runner import run_units
    from rws_decode.experiments.sources import write_changed
    from rws_decode.experiments.summaries import markdown_rows, summarise
    from rws_decode.experiments.tables import to_csv, to_markdown
    from rws_decode.experiments.units import origin_of

    origin = origin_of(units)
    options: dict[str, Any] = {"origin": origin, "backend": backend, "batch": batch}
    options |= {"retry_failed": retry_failed, "progress": progress}

    def given(unit: Unit, method: str, at: float | None, name: str, **numbers: Any) -> Unit:
        labels = {"method": method, "reward_scale": at}
        return replace(unit, strategy={"name": name} | numbers, labels=labels)

    guided = [given(unit, "rws", scale, "rws", reward_scale=scale) for scale in scales for unit in units]
    rws = run_units(guided, measure, out, **options).read()
    runs = {(row["example"], row["reward_scale"]): row for row in rws.to_dict("records")}
    samples = max((best_of(rows) for _, rows in rws.groupby("reward_scale")), default=1) if runs else 1
    wanted = list(guided)
    for scale in scales:
        for unit in units:
            noise = _seed(unit, "noise")
            wanted.append(given(unit, "flipped", scale, "rws-flipped", reward_scale=scale))
            wanted.append(given(unit, "random", scale, "rws-random", reward_scale=scale, seed=noise))
            if (unit.example, scale) in runs:
                row = runs[unit.example, scale]
                rewards = _permuted(list(row["rewards"]), _seed(unit, f"shuffle {scale!r}"))
                wanted.append(given(unit, "constant", scale, "temperature", scale=row["mean_factor"]))
                wanted.append(given(unit, "shuffled", scale, "reward-replay", reward_scale=scale, rewards=rewards))
    wanted += [given(unit, "default", None, "default") for unit in units]
    wanted += [given(unit, "margin", None, "margin") for unit in units]
    for number in range(samples):
        for unit in units:
            drawn = given(unit, "sample", None, "default")
            labels = {**drawn.labels, "sample": number}
            seed = _seed(unit, f"sample {number}")
            wanted.append(replace(drawn, sampling_temperature=sampling_temperature, seed=seed, labels=labels))
    report = run_units(wanted, measure, out, **options)
    frame = report.read()
    folder = out / "controls"
    table = summarise(frame, summary(), seed=units[0].seed) if len(frame) else []
    if table:
        write_changed(folder / "summary.csv", to_csv(table))
        shown = to_markdown(markdown_rows(table))
        write_changed(folder / "summary.md", _CAPTION.format(reward_cost=units[0].settings["reward_cost"]) + shown)
    message = (folder / "summary.md").read_text(encoding="utf-8") if table else "no unit has a result\n"
    if report.failed:
        message += f"\n{len(report.failed)} of {len(report.asked)} units failed: --retry-failed runs them again\n"
    counts = {name: len(getattr(report, name)) for name in ("asked", "found", "computed", "failed")}
    return {
        "experiment": "controls",
        "folder": str(report.folder),
        "units": counts,
        "summary": table,
        "message": f"{message}\nresults: {report.folder}",
    }


def best_of(rows: pandas.DataFrame) -> int:
    """Return N, whose samples cost nearest to what these rows of rws cost on average; at least 1."""
    weight = float(rows["reward_cost"].iloc[0])
    cost = float((rows["forwards"] + weight * rows["reward_calls"]).mean())
    return max(1, round(cost / (float(rows["steps"].iloc[0]) + weight)))


def with_best_of_n(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return the rows with `cost`, the scale-free methods at every scale, and best-of-n in place of its samples.

    Each setting of the units that differs in the frame (model, length, ...) is treated on its own.
    """
    import pandas as pd

    frame = frame.assign(cost=frame["forwards"] + frame["reward_cost"] * frame["reward_calls"])
    parts = [frame[frame["reward_scale"].notna()]]
    settings = ["predictor", "reward", "length", "steps", "block", "device", "reward_cost"]
    for _, rows in frame.groupby(settings, dropna=False):
        free = rows[rows["reward_scale"].isna() & (rows["method"] != "sample")]
        samples = rows[rows["method"] == "sample"].sort_values("sample", kind="stable")
        for scale, guided in rows[rows["method"] == "rws"].groupby("reward_scale"):
            drawn = samples[samples["sample"] < best_of(guided)]
            picked = drawn.loc[drawn.groupby("example", sort=False)["guide_score"].idxmax()] if len(drawn) else drawn
            spent = drawn.groupby("example")[["cost", "forwards", "reward_calls"]].sum()
            total = spent.loc[picked["example"]].reset_index(drop=True)
            picked = picked.reset_index(drop=True).assign(method="best-of-n", **{name: total[name] for name in total})
            # The picked answer stands for its method: its own temperature is not a setting that the others lack.
            picked = picked.assign(sampling_temperature=0.0)
            parts += [each.assign(reward_scale=scale) for each in (free, picked) if len(each)]
    return pd.concat(parts, ignore_index=True)


def _seed(unit: Unit, what: str) -> int:
    """Return a seed of the unit's own for each purpose, so that none depends on what else is run."""
    import numpy as np

    return int(np.random.default_rng([unit.seed, *f"{unit.example} {what}".encode()]).integers(2**31))


def _permuted(values: list[float], seed: int) -> list[float]:
    import numpy as np

    return np.random.default_rng(seed).permutation(values).tolist()
