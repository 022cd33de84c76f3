"""Temperature against reward on keyword prompts: the paper's scaling table (Appendix "Full Results of Softmax
Temperature Scaling") and its keyword figure, with the controls that tell a reward's effect from that of its factor.

Methods: those of a study (`paper_figures.studies.design.arms`) at every reward scale s_R of the grid; `temperature`, the
constant factor c, at every c of the same grid; and `temperature-bf16`, the same ranked by softmax in bfloat16 as public
decoders do, so that the two differ by rounding alone. Temperature at c stands beside RWS at s_R = c.

Files below OUT/temperature, besides the units' parts, which keep the traces of default, temperature and rws:
`summary.csv|md`, a row per method and scale; `controls.csv|md`, rws minus each other method on the same prompts.
`temperature_summary` says what the columns mean.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from paper_figures.runner.executors import add_run_arguments
from paper_figures.studies.design.comparison import run_comparison, study_from
from paper_figures.studies.design.options import GRID, add_decoding_arguments
from paper_figures.studies.design.prompts import SOURCES

if TYPE_CHECKING:
    import pandas

    from paper_figures.runner.stages import Runner
    from paper_figures.runner.units import Unit
    from paper_figures.studies.design.arms import Study
    from paper_figures.studies.design.prompts import Prompt, Prompts
    from paper_figures.table import Table

__all__ = ["METHODS", "SCALES", "add_arguments", "run", "tables", "temperature_units"]

NAME = "temperature"
SCALES = GRID  # what reward scales are chosen from stands for the factors too, as in the paper
TEMPERATURES = ("temperature", "temperature-bf16")
METHODS = (*TEMPERATURES, *("rws", "constant", "shuffled", "flipped", "random", "default", "margin", "best-of-n"))
TRACED = ("default", "temperature", "rws")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the experiment's options to a parser."""
    parser.add_argument("--out", required=True, metavar="DIR", help="results go to DIR/temperature")
    known = "; ".join(SOURCES.values())
    parser.add_argument(
        "--data", default="examples:keywords", metavar="SOURCE", help=f"prompts (examples:keywords): {known}"
    )
    parser.add_argument("--prompts", type=int, default=32, metavar="N", help="how many (32); 0: all")
    parser.add_argument("--model", default="mini", help="mask predictor: shipped name, directory, hub id (mini)")
    parser.add_argument(
        "--rewards", "--reward", nargs="+", default=["mini"], metavar="NAME", help="reward models that guide (mini)"
    )
    parser.add_argument(
        "--judges",
        "--judge",
        nargs="*",
        default=["mini-judge"],
        metavar="NAME",
        help="reward models that only judge (mini-judge); without one, guides judge each other",
    )
    parser.add_argument("--causal", default="mini-causal", metavar="NAME", help="for perplexity (mini-causal)")
    parser.add_argument(
        "--scales",
        dest="reward_scale",
        type=float,
        nargs="+",
        default=list(SCALES),
        metavar="C",
        help="factors c and reward scales s_R (the paper's grid, 0.01 ... 32)",
    )
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=METHODS,
        default=list(METHODS),
        metavar="NAME",
        help=f"of {' '.join(METHODS)} (all); rws and default always run",
    )
    parser.add_argument(
        "--sampling-temperature", type=float, default=1.0, metavar="T", help="of the samples of best-of-n (1)"
    )
    parser.add_argument("--reward-cost", type=float, default=1.0, metavar="F", help="a reward call in forwards (1)")
    add_decoding_arguments(parser, ranked=False)
    parser.add_argument("--seed", type=int, default=0, help="of prompts, shuffles, noise, samples and bootstrap (0)")
    parser.add_argument("--traces", action="store_true", help=f"keep all traces, not those of {' '.join(TRACED)} alone")
    add_run_arguments(parser, batch=32)
    parser.set_defaults(ranking="log-odds", precision="float64")
    # Scales are given, so that nothing is chosen on validation prompts.
    parser.set_defaults(validation=0, validation_data=None, path_prompts=0, path_budget=None, grid=None, select="grid")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Run the experiment from parsed options; return what `--json` prints."""
    return run_comparison(args, NAME, tables, _run_rounds)


def _run_rounds(args: argparse.Namespace, base: Unit, prompts: Prompts, run: Runner) -> None:
    from dataclasses import replace

    import pandas as pd

    from paper_figures.studies.design.arms import measures_of, run_study

    if any(len(prompt.turns) > 1 for prompt in prompts.test):
        raise ValueError(f"--data is {args.data}: prompts of one turn are needed")
    scales = tuple(args.reward_scale)
    whole = study_from(args, base, prompts, dict.fromkeys(args.rewards, scales))
    study = replace(whole, traced=TRACED)
    found = [run(method, temperature_units(study, method, scales)) for method in TEMPERATURES if method in args.methods]
    run_study(study, run)
    texts = pd.concat(found) if found else pd.DataFrame()
    run("temperature measures", measures_of(base, texts, study.scorers, study.causal) if len(texts) else [])


def temperature_units(study: Study, method: str, scales: Sequence[float]) -> list[Unit]:
    """Return the units of temperature, or of its ranking in bfloat16, at every scale."""
    from dataclasses import replace

    from paper_figures.studies.design.arms import answer_unit

    base = study.base_of(method)
    if method == "temperature-bf16":
        base = replace(base, ranking="probability", precision="bfloat16")

    def unit(prompt: Prompt, scale: float) -> Unit:
        return answer_unit(base, prompt, "temperature", labels={"method": method}, numbers={"scale": scale})

    return [unit(prompt, scale) for scale in scales for prompt in study.prompts]


def tables(frame: pandas.DataFrame, *, seed: int = 0) -> list[Table]:
    """Return the tables of the experiment from its rows."""
    from paper_figures.studies.summaries import temperature as summaries
    from paper_figures.studies.summaries.answers import SETTINGS
    from paper_figures.studies.summaries.temperature_answers import answers_table
    from paper_figures.table import Table

    answers = answers_table(frame)
    if not len(answers):
        return []
    # Rankings differ among the methods of one run; other settings part runs that share a folder.
    by = [name for name in SETTINGS if name in answers and name not in ("ranking", "precision")]
    varied = [name for name in by if answers[name].nunique(dropna=False) > 1]
    summary: list[dict[str, Any]] = []
    controls: list[dict[str, Any]] = []
    for _, rows in answers.groupby(by, dropna=False):
        at = {name: rows[name].tolist()[0] for name in varied}
        summary += [at | line for line in summaries.summarise(rows, seed)]
        controls += [at | line for line in summaries.compare(rows, seed)]
    found = [Table("summary", summary, summaries.summary_markdown_rows(summary), summaries.CAPTION)]
    if controls:
        rows = summaries.controls_markdown_rows(controls)
        found.append(Table("controls", controls, rows, summaries.CONTROLS_CAPTION))
    return found
