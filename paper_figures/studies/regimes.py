"""Count Theorem 1's regimes: how often each printed case holds, how many crossings occur, how often it is false.

Theorem 1 of the paper (Section 4.3) says of two positions, a ahead of b at scale 1: (a) if Sigma_a < Sigma_b there is
one crossing in (0, 1); (b) if delta_a > delta_b there is one in (1, inf); (c) otherwise none; and exactly one of these
holds. Pairs are compared with that, and with the same after (b) is mended (delta_a < delta_b, as the paper's own proof
has it). They are also compared with what is proved in its place (`rws_theory.theorem1`, exact comparisons and certified
crossings).

As printed the theorem is false of every pair with delta_a != delta_b. If delta_a > delta_b, a is ahead near infinity,
while (b) has it behind there. If delta_a < delta_b, a is behind near infinity, so there is a crossing above 1. Then (c)
denies it, and (a), which has one below 1, is to exclude it ("exactly one"; the proof's Step 4: at most one change of
sign). Only equal deltas leave it a chance. Read item by item, without "exactly one", (a) can still be true.

Random pairs are independent logit vectors of the distributions in `regimes.DISTRIBUTIONS`, by dimension. Real pairs are
positions of one block, masked at one step of an RWS decode of the mask predictor, with the logits of the whole
vocabulary. The same number is drawn by the seed from all pairs of each step. The prompts are those of the source.

The files below OUT/regimes, besides the units' parts, are `summary.csv|md`, `cases.csv|md`, `reach.csv|md` and
`results.json` with these and the real pairs. `studies.summaries.regimes` says what the columns are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from paper_figures.studies.design import single_stage
from rws_theory.commands.options import option

if TYPE_CHECKING:
    import pandas

    from paper_figures.runner.units import Unit
    from paper_figures.studies.design.prompts import Prompt
    from paper_figures.table import Table

__all__ = ["Options", "regime_units", "run", "tables"]

NAME = "regimes"
DIMENSIONS = (3, 4, 8, 16, 64)


@dataclass(frozen=True)
class Options(single_stage.ExactStageOptions):
    """The study's options."""

    reward: str = option("mini", "reward model that guides: name, directory, hub id", metavar="NAME")
    reward_scale: float = option(8.0, "s_R of the decodes", metavar="S")
    pairs_per_step: int = option(8, "real pairs of each step", least=1)
    random_pairs: int = option(2000, "of each distribution and dimension", least=1)
    dimensions: tuple[int, ...] = option(DIMENSIONS, "tokens", metavar="D")
    batch: int = 1


def run(options: Options) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    _check(options)
    options, prompts = single_stage.begin(options, NAME, {"--reward": (options.reward,)})

    from paper_figures.studies.summaries.regimes import drawn_of
    from paper_figures.studies.work.regimes import DISTRIBUTIONS, work

    base = replace(single_stage.base_unit(options, NAME), seed=options.seed)
    units = regime_units(base, prompts.test, options)
    stage = single_stage.run_stage(options, units, work)
    frame = stage[0].read()
    study_tables = tables(frame, seed=options.seed)
    results: dict[str, Any] = {table.name: list(table.rows) for table in study_tables}
    if study_tables:
        real = frame[[drawn_of(text) is None for text in frame["strategy_json"]]].to_dict("records")
        results["distributions"] = DISTRIBUTIONS
        results["pairs"] = [{"prompt": row["example"]} | pair for row in real for pair in row["pairs"]]
    names = ("reward", "reward_scale", "pairs_per_step", "random_pairs", "dimensions", "seed")
    settings = single_stage.prompt_settings(options) | {name: getattr(options, name) for name in names}
    return single_stage.finish(options, base, [stage], study_tables, frame, settings=settings, results=results)


def _check(options: Options) -> None:
    from rws_decode.common.arguments import check_positive

    check_positive("reward_scale", options.reward_scale)
    if min(options.dimensions) < 2 or len(set(options.dimensions)) < len(options.dimensions):
        raise ValueError(
            f"--dimensions is {list(options.dimensions)}: different numbers of tokens, at least 2, are needed"
        )


def regime_units(base: Unit, prompts: Sequence[Prompt], options: Options) -> list[Unit]:
    """Return a unit per prompt, and one per distribution and dimension; the latter use no model."""
    from paper_figures.studies.work.regimes import DISTRIBUTIONS

    rule = {"name": "rws", "reward_scale": options.reward_scale}
    settings = {**base.settings, "pairs_per_step": options.pairs_per_step}
    real = replace(base, strategy=rule, reward=options.reward, settings=settings)
    units = [replace(real, prompt=prompt.text, example=prompt.name) for prompt in prompts]
    for distribution in DISTRIBUTIONS:
        for dimension in options.dimensions:
            random_numbers = {"distribution": distribution, "dimension": dimension, "pairs": options.random_pairs}
            rule = {"name": "random-logits", **random_numbers}
            units.append(
                replace(base, predictor=None, strategy=rule, settings={}, example=f"{distribution}-{dimension}")
            )
    return units


def tables(frame: pandas.DataFrame, *, seed: int = 0) -> list[Table]:
    """Return the study's tables from its rows; `seed` seeds the bootstrap over prompts."""
    from paper_figures.studies.summaries.regimes import regime_tables

    return regime_tables(frame, seed) if len(frame) else []
