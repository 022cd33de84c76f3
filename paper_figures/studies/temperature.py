"""Compare temperature with reward on keyword prompts: the paper's scaling table and its keyword figure.

The table is that of the Appendix "Full Results of Softmax Temperature Scaling". Here controls tell a reward's effect
from that of its factor. The methods are:

- those of `studies.comparison` at every reward scale s_R of the grid;
- `temperature`, the fixed factor c, at every c of the same grid;
- `temperature-bf16`, the same ranked by softmax in bfloat16 as public decoders do.

The last two differ by rounding alone. Temperature at c stands beside RWS at s_R = c.

These files go below OUT/temperature, besides the units' parts, which keep the traces of default, temperature and rws:
`summary.csv|md`, a row per method and scale, and `controls.csv|md`, rws minus each other method on the same prompts.

The summary has these columns, and the ends of their 95 % intervals, `_low` and `_high`:

- `method`; `guide`, the reward model that it is about or compared under;
- `scale`, s_R or c (1 for confidence, None for margin); `n`, the number of answers;
- `perplexity`, exp(nll / tokens) under the causal model, with the end of text counted; `perplexity_pooled`, over all
  tokens;
- `true_perplexity`, by the exact log P(answer | prompt) of the language. An incoherent answer has probability zero, so
  it is over the `true_perplexity_n` coherent answers only: read it with the share `coherent`;
- `god_tokens`, `god_steps`; `exact`, minus the number of rules broken;
- `judge`, the raw score of the judge. With several judges it is the mean of their normalised scores, of those that
  guide nothing, or if there are none, of the other rewards;
- `reward`, the raw score of the reward model; `keywords_included`; `mean_factor`; `cost`.

The controls have `control`, `guide`, `scale`, `metric`, `n`; `difference`, rws minus the other on the same prompts,
with its interval from `low` to `high`; `p` of the sign-flip permutation test; and `p_holm`, corrected over rewards and
scales.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from paper_figures.runner.units import Unit
from paper_figures.statistics.means import Summary, readable, repeated_texts, summarise
from paper_figures.statistics.significance import LEAST_PAIRS, spread_text
from paper_figures.studies.answers import answers_of, printed_tables
from paper_figures.studies.comparison import Arms, answer_unit, measures_of, run_arms, run_comparison
from paper_figures.studies.options import COMPARED, GRID, ComparisonOptions, Usual, methods_option
from paper_figures.studies.prompts import Prompts, one_turn
from paper_figures.studies.study import Stages
from paper_figures.table import Row, Rows, Table, wide
from rws_decode.cli.options import fixed, option
from rws_decode.common.later import np, pd

NAME = "temperature"
TEMPERATURES = ("temperature", "temperature-bf16")


@dataclass(frozen=True)
class TemperatureOptions(ComparisonOptions):
    """The options of `experiment temperature`."""

    data: str = Usual("examples:keywords")
    rewards: tuple[str, ...] = ("mini",)
    judges: tuple[str, ...] = ("mini-judge",)
    causal: str | None = "mini-causal"
    methods: tuple[str, ...] = methods_option((*TEMPERATURES, *COMPARED))
    batch: int = 32
    reward_scale: tuple[float, ...] | None = option(
        GRID, "factors c and reward scales s_R", metavar="C", flags=("--scales",)
    )
    # Scales are given, so nothing is chosen on validation prompts: those of the grid serve as factors too, as in the
    # paper. Each method has its own ranking.
    validation: int = fixed(0)
    validation_data: str | None = fixed(None)
    grid: tuple[float, ...] | None = fixed(None)
    ranking: Literal["log-odds", "probability", "topk"] = fixed("log-odds")
    precision: Literal["model", "bfloat16", "float32", "float64"] = fixed("float64")


TRACED = ("default", "temperature", "rws")
CONTROLS = ("constant", "shuffled", "temperature", "default", "flipped", "random", "margin", "best-of-n")
METRICS = ("perplexity", "coherent", "exact", "reward", "judge", "god_tokens", "god_steps", "keywords_included")
_ORDER = (
    *("default", "margin", "temperature", "temperature-bf16", "rws"),
    *("constant", "shuffled", "flipped", "random", "best-of-n"),
)
_ONCE = {"default": 1.0, "margin": None}  # methods that no scale changes, and the scale that they are shown at
_SUMMARY = (
    "Perplexity: mean over texts under the causal model, given the prompt, with a 95 % interval; pooled: "
    "over all tokens. True perplexity: that of the language itself, over the n coherent answers only, as an incoherent "
    "one has probability zero. Coherent: share, Wilson 95 % interval. Keywords: mean number used. Exact: minus the "
    "rules broken."
)
_CONTROLS = (
    "Mean difference over the same prompts, rws minus the other method at the same scale (default and margin: their "
    "one run), with its paired 95 % interval, and p of the sign-flip permutation test, corrected over guides "
    f"and scales by Holm's method; of at least {LEAST_PAIRS} prompts, since fewer cannot come below p = 0.05."
)


def run(options: TemperatureOptions) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    return run_comparison(options, NAME, tables, _run_stages, one_turn)


def _run_stages(options: TemperatureOptions, base: Unit, prompts: Prompts, stages: Stages) -> None:
    scales = tuple(options.reward_scale or ())
    arms = Arms(options, base, prompts.test, dict.fromkeys(options.rewards, scales), traced=TRACED)
    methods = [method for method in TEMPERATURES if method in options.methods]
    frames = [stages.run(method, temperature_units(arms, method, scales)) for method in methods]
    run_arms(arms, stages)
    answers = pd.concat(frames) if frames else pd.DataFrame()
    measures = measures_of(base, answers, arms.scorers, options.causal) if len(answers) else []
    stages.run("temperature measures", measures)


def temperature_units(arms: Arms, method: str, scales: Sequence[float]) -> list[Unit]:
    """Return the units of `temperature`, or of `temperature-bf16`, at every scale."""
    base = arms.base_of(method)
    if method == "temperature-bf16":
        base = replace(base, ranking="probability", precision="bfloat16")
    labels = {"method": method}
    return [
        answer_unit(base, prompt, "temperature", labels=labels, numbers={"scale": scale})
        for scale in scales
        for prompt in arms.prompts
    ]


def tables(frame: pd.DataFrame, *, seed: int = 0) -> list[Table]:
    """Return the study's tables from its rows."""
    answers = answers_table(frame)
    if not len(answers):
        return []
    summary, controls = _compared(answers, seed)
    study_tables = [Table("summary", summary, readable(summary), _SUMMARY)]
    caption = _CONTROLS + repeated_texts((row["distinct"], row["n"]) for row in controls if row["distinct"] is not None)
    study_tables += [Table("controls", controls, _shown_controls(controls), caption)] if controls else []
    return study_tables + printed_tables("table8_temperature")


def answers_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return every method's answers at every reward and scale, with the numbers that the tables average.

    `frame` holds the rows of the experiment's units. Temperatures are repeated for every reward, at the reward scale
    that equals their factor. All columns of `METRICS` are present; a value that an answer lacks is nan. The result is
    empty if there are no answers.
    """
    if "method" not in frame:
        return frame.iloc[:0]
    plain = frame["method"].isin(("temperature", "temperature-bf16"))
    guides = sorted(frame["guide"].dropna().unique()) if "guide" in frame else []
    copies = [frame[plain].assign(guide=guide, reward_scale=frame[plain]["scale"]) for guide in guides]
    answers = answers_of(pd.concat([frame[~plain], *copies], ignore_index=True))
    if not len(answers):
        return answers

    def numbers(column: str) -> Any:
        # The table lacks a column if no answer has a value for it.
        values = answers[column] if column in answers else pd.Series(np.nan, answers.index)
        return pd.to_numeric(values.astype(object), errors="coerce").astype(float)

    logs, tokens = numbers("log_probability"), numbers("causal_tokens")
    # An answer that the language cannot produce has no true perplexity.
    true = np.exp(-logs.where(np.isfinite(logs)) / tokens)
    columns = {name: numbers(name) for name in ("perplexity", "nll", "coherent", "keywords_included")}
    return answers.assign(
        **columns,
        causal_tokens=tokens,
        true_perplexity=true,
        exact=-numbers("violations"),
        reward=numbers("own_score"),
        judge=_judged(answers, guides),
    ).sort_values("example", kind="stable")


def _judged(answers: pd.DataFrame, guides: Sequence[str]) -> list[float]:
    scorers = [str(name).removeprefix("score of ") for name in answers if str(name).startswith("score of ")]
    alone = sorted(name for name in scorers if name not in guides)
    if len(alone) == 1:
        return answers[f"score of {alone[0]}"].to_list()
    rows = answers.to_dict("records")
    scores = [[row[f"normalised score of {name}"] for name in alone or scorers if name != row["guide"]] for row in rows]
    return [float(np.mean(row_scores)) if row_scores else float("nan") for row_scores in scores]


def _compared(answers: pd.DataFrame, seed: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows of the summary and those of the controls."""
    from paper_figures.statistics.causal_scores import exp_or_inf

    # The ranking is the method's, and not another run's; `reward` is a setting elsewhere, the reward of a run.
    answers = answers.drop(columns=["ranking", "precision"], errors="ignore").rename(columns={"reward": "own score"})
    names = {("own score" if name == "reward" else name): name for name in (*METRICS, "mean_factor", "cost")}
    by, over = ("method", "guide", "reward_scale"), ("guide", "reward_scale")
    measures = Summary((*names, "true_perplexity"), by, {"method": "rws"}, ("example",), over)
    cells: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}
    for row in summarise(answers, measures, seed=seed):
        labels = {name: value for name, value in list(row.items())[: list(row).index("measure")]}
        cells.setdefault(tuple(labels.items()), {})[names.get(row["measure"], str(row["measure"]))] = row
    summary: dict[tuple[Any, ...], dict[str, Any]] = {}
    controls = []
    for key in sorted(cells, key=lambda key: _ORDER.index(key[0][1])):
        labels, numbers = dict(key), cells[key]
        method, scale = labels.pop("method"), labels.pop("reward_scale")
        line: dict[str, Any] = labels | {"method": method, "scale": _ONCE.get(method, scale)}
        line["n"] = numbers["mean_factor"]["n"]
        for name, row in numbers.items():
            line |= {name: row["mean"], f"{name}_low": row["low"], f"{name}_high": row["high"]}
        group = answers[(answers[[name for name, _ in key]] == [value for _, value in key]).all(axis=1)]
        scored = group[group["nll"].notna()]
        total = scored["causal_tokens"].sum()
        line["perplexity_pooled"] = exp_or_inf(math.fsum(scored["nll"]) / total) if len(scored) else None
        line["true_perplexity_n"] = numbers["true_perplexity"]["n"]
        summary.setdefault((method, line["scale"], *labels.values()), line)
        for metric in METRICS if method in CONTROLS else ():
            row = numbers[metric]
            if row["difference"] is not None:
                ends = (0.0 - row[f"difference{end}"] for end in ("", "_high", "_low"))  # of rws minus the method
                controls.append(
                    labels | {"control": method, "scale": scale, "metric": metric, "n": row["pairs"]}
                    | {"distinct": row["distinct"]}
                    | dict(zip(("difference", "low", "high"), ends, strict=True))
                    | {"p": row["p"], "p_holm": row["p_holm"]}
                )  # fmt: skip
    controls.sort(key=lambda row: CONTROLS.index(row["control"]))
    return list(summary.values()), controls


def _shown_controls(controls: Rows) -> Rows:
    """Format the comparisons for reading: one row per control, reward and scale, a column per metric."""

    def text(row: Row) -> str:
        return f"{row['difference']:+.2f} {spread_text(row['n'], row['low'], row['high'], row['p_holm'], '+.2f')}"

    def line(row: Row) -> Row:
        return dict(list(row.items())[: list(row).index("metric")])

    return wide(controls, line, lambda row: {row["metric"]: text(row)})
