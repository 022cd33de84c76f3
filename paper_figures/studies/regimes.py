"""Theorem 1's regimes: how often each printed case holds, how many crossings really occur, how often it is false.

Theorem 1 of the paper (Section 4.3) says of two positions, a ahead of b at scale 1: (a) if Sigma_a < Sigma_b there is
one crossing in (0, 1); (b) if delta_a > delta_b there is one in (1, inf); (c) otherwise none; and exactly one of these
holds. Pairs are held against that, against the same with (b) mended (delta_a < delta_b, as the paper's own proof has
it), and against what is proved in its place (`rws_theory.theorem1`, exact comparisons and certified crossings).

As printed the theorem is false of every pair with delta_a != delta_b. If delta_a > delta_b, a is ahead near infinity,
while (b) has it behind there. If delta_a < delta_b, a is behind near infinity, so that there is a crossing above 1: (c)
denies it, and (a), which has one below 1, is to exclude it ("exactly one"; the proof's Step 4: at most one change of
sign). Only equal deltas leave it a chance. Read item by item, without "exactly one", (a) can still be true.

Random pairs: independent logit vectors of the distributions in `regimes.DISTRIBUTIONS`, by dimension. Real pairs:
positions of one block, masked at one step of an RWS decode of the mask predictor, with the logits of the whole
vocabulary; so many of each step, drawn by the seed from all pairs. The prompts are those of the source.

Files below OUT/regimes, besides the units' parts: `summary.csv|md`, `cases.csv|md`, `reach.csv|md` and `results.json`
with these and the real pairs. `studies.summaries.regimes` says what the columns are.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from paper_figures.studies.design import single_stage
from paper_figures.studies.design.prompts import SOURCES

if TYPE_CHECKING:
    import pandas

    from paper_figures.runner.units import Unit
    from paper_figures.studies.design.prompts import Prompt
    from paper_figures.table import Table

__all__ = ["add_arguments", "regime_units", "run", "tables"]

NAME = "regimes"
DIMENSIONS = (3, 4, 8, 16, 64)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the study's options to a parser."""
    parser.add_argument("--out", required=True, metavar="DIR", help="results go to DIR/regimes")
    sources = "; ".join(SOURCES.values())
    parser.add_argument("--data", default="examples", metavar="SOURCE", help=f"prompts (examples): {sources}")
    parser.add_argument("--prompts", type=int, default=16, metavar="N", help="how many (16)")
    parser.add_argument("--reward", default="mini", help="reward model that guides: name, directory, hub id (mini)")
    parser.add_argument("--reward-scale", type=float, default=8.0, metavar="S", help="s_R of the decodes (8)")
    parser.add_argument("--pairs-per-step", type=int, default=8, metavar="N", help="real pairs of each step (8)")
    parser.add_argument(
        "--random-pairs", type=int, default=2000, metavar="N", help="of each distribution and dimension (2000)"
    )
    parser.add_argument(
        "--dimensions", type=int, nargs="+", default=list(DIMENSIONS), metavar="D", help="tokens (3 4 8 16 64)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of logits, pairs, drawn prompts and bootstrap (0)")
    single_stage.add_arguments(parser, batch=1)


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    from paper_figures.studies.design.prompts import prompts_of
    from paper_figures.studies.summaries.regimes import drawn_of
    from paper_figures.studies.work.regimes import DISTRIBUTIONS, work

    _check(args)
    prompts = prompts_of(args.data, args.prompts, seed=args.seed, model=args.model).test
    base = replace(single_stage.base_unit(args, NAME), seed=args.seed)
    units = regime_units(base, prompts, args)
    stage = single_stage.run_stage(args, units, work)
    frame = stage[0].read()
    made = tables(frame, seed=args.seed)
    results: dict[str, Any] = {table.name: list(table.rows) for table in made}
    if made:
        real = frame[[drawn_of(text) is None for text in frame["strategy_json"]]].to_dict("records")
        results["distributions"] = DISTRIBUTIONS
        results["pairs"] = [{"prompt": row["example"]} | pair for row in real for pair in row["pairs"]]
    names = ("data", "prompts", "reward", "reward_scale", "pairs_per_step", "random_pairs", "dimensions", "seed")
    settings = {name: getattr(args, name) for name in names}
    return single_stage.finish(args, base, [stage], made, frame, settings=settings, results=results)


def _check(args: argparse.Namespace) -> None:
    from rws_decode.strategies.factors import RWS

    RWS(args.reward_scale)  # refuses a scale that is none
    for name, value in (("pairs-per-step", args.pairs_per_step), ("random-pairs", args.random_pairs)):
        if value < 1:
            raise ValueError(f"--{name} is {value}: at least 1 is needed")
    if min(args.dimensions) < 2 or len(set(args.dimensions)) < len(args.dimensions):
        raise ValueError(f"--dimensions is {args.dimensions}: different numbers of tokens, at least 2, are needed")
    single_stage.check_arguments(args)


def regime_units(base: Unit, prompts: Sequence[Prompt], args: argparse.Namespace) -> list[Unit]:
    """Return a unit per prompt, and one per distribution and dimension, which uses no model."""
    from paper_figures.studies.work.regimes import DISTRIBUTIONS

    rule = {"name": "rws", "reward_scale": args.reward_scale}
    settings = {**base.settings, "pairs_per_step": args.pairs_per_step}
    real = replace(base, strategy=rule, reward=args.reward, settings=settings)
    units = [replace(real, prompt=each.text, example=each.name) for each in prompts]
    for distribution in DISTRIBUTIONS:
        for dimension in args.dimensions:
            drawn = {"distribution": distribution, "dimension": dimension, "pairs": args.random_pairs}
            rule = {"name": "random-logits", **drawn}
            units.append(
                replace(base, predictor=None, strategy=rule, settings={}, example=f"{distribution}-{dimension}")
            )
    return units


def tables(frame: pandas.DataFrame, *, seed: int = 0) -> list[Table]:
    """Return the study's tables from its rows; seed: of the bootstrap over prompts."""
    from paper_figures.studies.summaries.regimes import regime_tables

    return regime_tables(frame, seed) if len(frame) else []
