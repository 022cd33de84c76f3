"""Decode a world whose words stand at other positions: where the default is left to right, and what RWS does there.

A world of text (`rws_theory.worlds.NGram`) tells most about a word by its neighbours. Here its j-th word stands at the
j-th position of a drawn order (`rws_theory.worlds.scattered_order`): left to right at locality 1, uniformly random at
0. The seed and the prompt determine one family of orders, a member for each locality. The model predicts the scattered
canvas, after the prompt as its context. The answer is then put back into reading order. So its text, its
log-probability and its reward are those of the words in their order, while GOD is of the positions of the canvas.

The law is the same at every locality up to the names of positions, and so are all conditionals. A method that ranks by
confidence sees no names of positions within a block. In one block it commits the same words at the same steps at
every locality, except where confidences tie. At locality 0 its expected GOD is then that of a random order. Left to
right and a random order go by positions.

The methods are `default`, `temperature` and `rws` at `--reward-scale`, and two that follow from the prompt's rws run at
that locality: `constant`, its mean factor, and `shuffled`, its rewards in another order. `left-to-right` and
`random-order` go by the positions of the canvas.

The files below OUT/locality, besides the units' parts, are `summary.csv|md`, `same.csv|md` and `results.json` with
both. A unit has the columns `text`; `words`, ids in reading order; `word_steps`, the step that committed each;
`god_tokens`, `god_steps`; `log_probability` of all words after the prompt, in nats; `score`, and `normalised_score` in
the reward's deviations; `mean_factor`; `rewards`, those of rws step by step.

The summary has a row per method, locality and measure (see `summaries.means.summarise`), with the difference from the
default at the same locality on the same prompts. `same` has the shares of prompts with `default_words` and `rws_words`,
the words of these methods at that locality, `same_words`, those of the same method at the greatest locality, and
`same_commits`, with each word at the same step, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from paper_figures.studies.design import single_stage
from paper_figures.studies.design.asked import Drawn
from paper_figures.studies.design.methods import FROM_RWS
from paper_figures.table import records
from rws_theory.commands.options import option

if TYPE_CHECKING:
    import pandas

    from paper_figures.runner.units import Unit
    from paper_figures.studies.design.prompts import Prompt
    from paper_figures.table import Table

NAME = "locality"
METHODS = ("default", "temperature", "rws", "constant", "shuffled", "left-to-right", "random-order")
_BY_POSITION = METHODS[-2:]
_MEASURES = ("god_steps", "god_tokens", "log_probability", "normalised_score")
_SAME = ("default_words", "rws_words", "same_words", "same_commits")
_CAPTION = (
    "Mean over prompts of GOD in steps and in tokens, log-probability of the words in nats, and reward in its "
    "deviations. In brackets the mean difference from the default at the same locality on the same prompts, its 95 % "
    "interval, and p of the sign-flip permutation test, corrected over the localities by Holm's method."
)
_SAME_CAPTION = (
    "Share of prompts: default_words and rws_words, with the words of these methods at that locality; same_words, with "
    "those of the same method at the greatest locality; same_commits, with each word at the same step, too."
)


@dataclass(frozen=True)
class Options(single_stage.ExactStageOptions):
    """The study's options."""

    model: str = option("english", "world: shipped name or directory", metavar="NAME")
    data: str = "examples:opening"
    prompts: int = Drawn(24)
    localities: tuple[float, ...] = option((1.0, 0.9, 0.75, 0.5, 0.25, 0.0), "1: left to right, 0: random", metavar="L")
    reward: str = option("era", "reward model that guides rws", metavar="NAME")
    reward_scale: float = option(8.0, "s_R of rws, and the factor of temperature", metavar="S")
    length: int = 32
    steps: int = 16
    batch: int = 12


def run(options: Options) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    _check(options)
    options, prompts = single_stage.begin(options, NAME, {"--reward": (options.reward,)})

    import pandas as pd

    from paper_figures.studies.work.locality import work

    base = replace(single_stage.base_unit(options, NAME), reward=options.reward, seed=options.seed)
    settings = {"localities": options.localities, "scale": options.reward_scale}
    stages = [single_stage.run_stage(options, locality_units(base, prompts.test, **settings), work)]
    rws = stages[0][0].read()
    if units := locality_units(base, prompts.test, **settings, rws=rws):
        stages.append(single_stage.run_stage(options, units, work))
    frame = pd.concat([report.read() for report, _ in stages], ignore_index=True)
    study_tables = tables(frame, seed=options.seed)
    results = {table.name: list(table.rows) for table in study_tables}
    names = ("localities", "reward", "reward_scale", "seed")
    kept = single_stage.prompt_settings(options) | {name: getattr(options, name) for name in names}
    return single_stage.finish(options, base, stages, study_tables, frame, settings=kept, results=results)


def _check(options: Options) -> None:
    from paper_figures.data.examples import refuse_no_world
    from rws_theory.checks import finite

    finite("reward_scale", options.reward_scale, above=0)
    localities = list(options.localities)
    if not all(0 <= locality <= 1 for locality in localities) or len(set(localities)) < len(localities):
        raise ValueError(f"--localities is {localities}: different numbers from 0 to 1 are needed")
    single_stage.check_options(options)
    refuse_no_world(options.model)


def locality_units(
    base: Unit,
    prompts: Sequence[Prompt],
    localities: Sequence[float],
    scale: float,
    rws: pandas.DataFrame | None = None,
) -> list[Unit]:
    """Return a unit per method, prompt and locality: those that stand alone, or those that follow from rws.

    `rws` holds the rows of the units that stand alone; None asks for these units. A prompt's localities are beside each
    other, so that they share a batch.
    """
    from paper_figures.studies.design.methods import seed_of

    runs = {} if rws is None else {_cell_of(row): row for row in records(rws[rws["method"] == "rws"])}
    units = []
    for method in METHODS:
        if (method in FROM_RWS) != (rws is not None):
            continue
        for prompt in prompts:
            seed = seed_of(base, prompt.name, "positions")
            for locality in localities:
                run = runs.get((locality, prompt.name))
                if rws is not None and run is None:
                    continue
                labels = {"method": method, "reward_scale": scale if method in ("rws", *FROM_RWS) else None}
                labels |= {"locality": locality}
                rule = _strategy(base, prompt.name, method, scale, run)
                of_prompt = {"prompt": prompt.text, "example": prompt.name, "seed": seed, "labels": labels}
                units.append(replace(base, strategy=rule, **of_prompt))
    return units


def _strategy(base: Unit, prompt: str, method: str, scale: float, run: Mapping[str, Any] | None) -> dict[str, Any]:
    from paper_figures.studies.design.methods import numbers_of, seed_of, strategy_of

    if method in _BY_POSITION:
        return {"name": method} | ({"seed": seed_of(base, prompt, "order")} if method == "random-order" else {})
    return strategy_of(method, None, scale, numbers_of(method, scale, base, prompt, run))[0]


def _cell_of(row: Mapping[str, Any]) -> tuple[float, str]:
    return row["locality"], row["example"]


def tables(frame: pandas.DataFrame, *, seed: int = 0) -> list[Table]:
    """Return the study's tables from its rows; `seed` seeds the bootstrap over prompts."""
    from paper_figures.studies.summaries.means import Summary, summary_table

    if not len(frame):
        return []
    by = ("method", "locality")
    means = Summary(_MEASURES, by, {"method": "default"}, over=("locality",))
    shares = Summary(_SAME, by, {"method": None})
    summaries = (
        summary_table("summary", _CAPTION, frame, means, seed),
        summary_table("same", _SAME_CAPTION, _with_same(frame), shares, seed),
    )
    return [table for table in summaries if table is not None]


def _with_same(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return the rows with the columns of `_SAME`; None where there is nothing to compare with."""
    words = {_key(row): list(row["words"]) for row in records(frame)}
    commits = {key: (words[key], list(row["word_steps"])) for key, row in zip(words, records(frame), strict=True)}
    greatest = frame["locality"].max()

    # It returns bools and None; pandas takes None in a column, but its types do not say so: hence Any.
    def same(of: Mapping[Any, Any], **at: Any) -> list[Any]:
        others = [(at.get("method", key[0]), at.get("locality", key[1]), *key[2:]) for key in of]
        return [of[key] == of[other] if other in of else None for key, other in zip(of, others, strict=True)]

    of_methods = same(words, method="default"), same(words, method="rws")
    columns = *of_methods, same(words, locality=greatest), same(commits, locality=greatest)
    return frame.assign(**dict(zip(_SAME, columns, strict=True)))


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("method", "locality", "example", "seed"))
