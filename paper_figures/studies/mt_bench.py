"""Compare methods on dialogues of two turns, each answered after the method's own first answer (Tables 2 and 10).

Reward models judge every answer, the second after the dialogue that it belongs to. So two equal second answers may
differ in score where the first ones do. An LLM judges whole dialogues if `--llm-judge` names one (`llm_verdicts`).
These files go below OUT/mt-bench, besides the units' parts and `selection.json|csv`:

- `win_rates`: each method against the default in the judgement of its own guide, means over the turns; `others_net`,
  the mean over all other reward models;
- with an LLM judge `llm_win_rates` (Table 2), `llm_orders` (Table 10), `llm_sign_tests`, from `verdicts.csv`; its
  replies are kept in `verdicts/`, and are not asked for again.

The mini models' dialogues ask about a story and have one right answer each, of a few words (`coherent`: it is given).
Their mask predictor was trained to give them within 16 tokens and gives nearly all of them. Here the default length is
64 tokens. In the surplus it errs, and only there the methods differ at all.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from paper_figures.runner.units import Unit
from paper_figures.studies.design.comparison import run_comparison, run_usual
from paper_figures.studies.design.prompts import Prompts
from paper_figures.studies.design.stages import Stages
from paper_figures.studies.options import MTBenchOptions
from paper_figures.studies.summaries.answers import answers_of, judged_by_guide, mean_over_turns
from paper_figures.studies.summaries.llm_judge import llm_tables, printed_intervals
from paper_figures.studies.summaries.llm_verdicts import VERDICTS, ask_judge, judge_from
from paper_figures.studies.summaries.means import BRACKETS, against_rws, summary_table
from paper_figures.studies.summaries.printed import printed_tables
from paper_figures.table import Table

NAME = "mt-bench"


def run(options: MTBenchOptions) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    judge, folder = judge_from(options, options.methods), Path(options.out) / NAME

    def run_stages(options: MTBenchOptions, base: Unit, prompts: Prompts, stages: Stages) -> None:
        run_usual(options, base, prompts, stages)
        if judge is not None and not options.dry_run:
            ask_judge(options, judge, stages.outcome().frame, folder)

    result = run_comparison(options, NAME, partial(tables, folder=folder), run_stages)
    if not any(name.startswith("llm_") for name in result["tables"]):
        note = "no LLM judge has judged these dialogues: --llm-judge MODEL [--base-url URL] asks one"
        result["message"] = f"{note}\n\n{result['message']}"
    return result


def tables(frame: pd.DataFrame, *, seed: int = 0, folder: Path | None = None) -> list[Table]:
    """Return the tables of the study from its rows.

    `folder` is where the verdicts of an LLM judge are, if there are any.
    """
    answers = answers_of(frame)
    by_guide_rows = judged_by_guide(answers)
    if not len(by_guide_rows):
        return []
    keys = ("guide", "reward_scale", "method")
    measures = ("win", "draw", "loss", "net", "others_net", "coherent", "own_score", "god_tokens", "god_steps", "cost")
    by_dialogue = mean_over_turns(by_guide_rows, keys, measures)
    study_tables = [
        summary_table(
            "win_rates",
            "Each method against the default on the same dialogues, judged by its guide, means over the turns: shares "
            "of answers won, drawn, lost; net: won minus lost; others_net: the mean net of all other reward models; "
            f"scores are raw; cost: per answer, forwards and weighted reward calls. {BRACKETS.format('dialogues')}.",
            by_dialogue,
            against_rws(measures, "example"),
            seed,
        ),
    ]
    study_tables += llm_tables(answers, folder / VERDICTS, seed=seed) if folder is not None else []
    printed = printed_tables("table2_llm_judge", "table10_llm_judge_orders")
    return [table for table in study_tables if table is not None] + printed + printed_intervals()
