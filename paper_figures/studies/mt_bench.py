"""Compare methods on dialogues of two turns, each answered after the method's own first answer (Tables 2 and 10).

Reward models judge every answer, the second after the dialogue that it belongs to. So two equal second answers may
differ in score where the first ones do. An LLM judges whole dialogues if `--llm-judge` names one.
These files go below OUT/mt-bench, besides the units' parts and `selection.json|csv`:

- `win_rates`: each method against confidence in the judgement of its own reward, means over the turns; `others_net`,
  the mean over all other reward models;
- with an LLM judge `llm_win_rates` (Table 2), `llm_orders` (Table 10), `llm_sign_tests`, from `verdicts.csv`; its
  replies are kept in `verdicts/`, and are not asked for again.

The mini models' dialogues ask about a story and have one right answer each, of a few words (`coherent`: it is given).
Their mask predictor was trained to give them within 16 tokens and gives nearly all of them. Here answers have 64 tokens
if no length is given. In the surplus it errs, and only there the methods differ at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from paper_figures.runner.units import Unit
from paper_figures.statistics.intervals import exact_share
from paper_figures.statistics.means import BRACKETS, against_rws, summary_table
from paper_figures.statistics.significance import holm_within
from paper_figures.studies.answers import PREFIX, answers_of, judged_by_guide, mean_over_turns, printed_tables
from paper_figures.studies.comparison import run_comparison, run_usual
from paper_figures.studies.options import COMPARED, ComparisonOptions, Drawn, Usual
from paper_figures.studies.prompts import Prompts
from paper_figures.studies.study import Stages
from paper_figures.table import Table
from rws_decode.cli.options import option
from rws_decode.common.later import pd, stats
from rws_decode.common.plugins import hook
from rws_theory.printed import printed_in

NAME = "mt-bench"
VERDICTS, ORDERS = "verdicts.csv", ("first", "second")
_SETTINGS = "temperature, max_tokens, timeout, max_retries, concurrency, seed, repeats, extra, trust_env"
_OTHERS = tuple(name for name in COMPARED if name != "default")


@dataclass(frozen=True)
class MTBenchOptions(ComparisonOptions):
    """The options of `experiment mt-bench`."""

    data: str = Usual("dialogues")
    prompts: int = Drawn(16)
    validation: int = 8
    llm_judge: str | None = option(None, "a language model that judges, as its endpoint knows it", metavar="MODEL")
    base_url: str | None = option(
        None, "of the endpoint, to /v1 (default: OPENAI_BASE_URL, else OpenAI's)", metavar="URL"
    )
    judge_prompt: Literal["paper", "with-question"] = option(
        "paper", "the paper's, which does not show the user's turns, or our own, which does"
    )
    llm_methods: tuple[str, ...] = option(
        ("rws", "constant"),
        f"what is judged against confidence decoding: of {' '.join(_OTHERS)}",
        metavar="NAME",
        choices=_OTHERS,
    )
    llm_options: str = option("{}", f"further settings of the judge: {_SETTINGS}", metavar="JSON")
    yes: bool = option(False, "ask the judge without being asked first")


def run(options: MTBenchOptions) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    folder, judging = Path(options.out) / NAME, None
    if options.llm_judge is not None:
        judging = hook("llm-judge", f"--llm-judge is {options.llm_judge}")
    elif options.base_url is not None or options.yes:
        option = "--yes" if options.base_url is None else "--base-url"
        raise ValueError(f"{option} is given without --llm-judge: name the model that is to judge")
    judge = judging and judging.judge_from(options)

    def run_stages(options: MTBenchOptions, base: Unit, prompts: Prompts, stages: Stages) -> None:
        run_usual(options, base, prompts, stages)
        if judging is not None and not options.dry_run:
            judging.ask_judge(options, judge, stages.outcome().frame, folder)

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
        )
    ]
    if folder is not None and (folder / VERDICTS).is_file():
        study_tables += hook("llm-judge", str(folder / VERDICTS)).llm_tables(answers, folder / VERDICTS, seed=seed)
    printed = printed_tables("table2_llm_judge", "table10_llm_judge_orders")
    return [table for table in study_tables if table is not None] + printed + printed_intervals()


# All printed shares are whole numbers of 80ths, and MT-Bench has 80 dialogues.
_PRINTED_PROMPTS = 80


def printed_intervals() -> list[Table]:
    """Return intervals and tests for the shares that the paper's Table 10 prints, by order.

    All shares are whole numbers of 80ths, so they are taken as shares of 80 dialogues. Table 2 prints the mean of both
    orders. It cannot be tested, because the paper does not print which dialogues were won in both orders.

    >>> [table.rows[0]["won"] for table in printed_intervals()]
    [52]
    """
    rows: list[dict[str, Any]] = []
    for order in ORDERS:
        tests = []
        for printed in printed_in("table10_llm_judge_orders")["rows"]:
            won = printed[order] / 100 * _PRINTED_PROMPTS
            if abs(won - round(won)) > 1e-9:
                return []
            share = exact_share(round(won), _PRINTED_PROMPTS)
            p = float(stats.binomtest(round(won), _PRINTED_PROMPTS).pvalue)
            tests.append({"model": printed["model"], "order": order, "won": round(won), "of": _PRINTED_PROMPTS})
            tests[-1] |= {"share": share.mean, "low": share.low, "high": share.high, "p": p, "p_holm": None}
        holm_within(tests, ())
        rows += tests
    caption = (
        "The paper's Table 10 by what it printed: every share is a whole number of 80ths; with 80 dialogues, 95 % "
        "intervals (Clopper and Pearson) and the exact two-sided sign test against 0.5, corrected over the six models "
        "by Holm's method within an order. All six are against the same 80 default answers, by one judge that saw no "
        "question."
    )
    return [Table(f"{PREFIX}table10_llm_judge_orders, tested", rows, rows, caption)]
