"""Measure how much of the generation order is due to rounding: decode at each scale, ranked exactly and rounded.

The rankings are `exact`, log-odds in float64, and `float32` and `bfloat16`, softmax in that dtype with ties leftmost,
as public decoders rank except for ties. These strategies decode:

- `temperature`, confidence decoding at a fixed factor c, where the logits are the same and only their order differs;
- at s_R `rws` and its controls `constant`, `shuffled`, `flipped` and `random`, as in `studies.comparison`, each of the
  rws run of its own ranking.

Margin order and best of N are left out: the first rounds no probability, the second has no order of its own. The files
below OUT/precision, besides the units' parts, are `summary.csv|md`, and `results.json` with the settings and sources.

The summary has these columns, per strategy, scale and ranking:

- `n`, prompts; `god_tokens` and `god_steps`, means over them;
- `god_tokens_due` and `god_steps_due`, the mean GOD minus that of the exact ranking on the same prompts. This is what
  rounding adds or takes away. Each has a 95 % interval (`_low`, `_high`), the p of the sign-flip permutation
  test (`_p`), and the same corrected over the scales by Holm's method (`_p_holm`);
- `inexact`, the share of steps whose chosen set is not the one that log-odds in float64 choose from the same logits;
- `saturated`, the share of candidate positions whose probability is exactly 1.0 in the ranking's precision;
- `tied`, the share of steps with a tie at the cut;
- `near_tied`, the share of steps in which another batch or device could change the set (`rounding.near_ties`);
- `same_tokens`, the share of answers equal to the exact ranking's.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from paper_figures.data.loaders import Prompt
from paper_figures.runner.units import Unit
from paper_figures.runner.worker import Rows
from paper_figures.statistics.intervals import paired_bootstrap_interval
from paper_figures.statistics.means import readable
from paper_figures.statistics.significance import holm_within, paired_test
from paper_figures.studies.comparison import numbers_of
from paper_figures.studies.options import FROM_RWS, GRID, METHODS, Drawn, ExactStageOptions, strategy_of
from paper_figures.studies.prompts import begin
from paper_figures.studies.study import base_unit, finish, open_stages
from paper_figures.table import Table, records
from rws_decode.cli.options import option
from rws_decode.common.later import np, pd

NAME = "precision"
SCALED = ("temperature", *(name for name, method in METHODS.items() if method.scaled))


@dataclass(frozen=True)
class PrecisionOptions(ExactStageOptions):
    """The options of `experiment precision`."""

    prompts: int = Drawn(12)
    scales: tuple[float, ...] = option(GRID, "the paper's grid", metavar="C")
    strategies: tuple[str, ...] = option(SCALED, "what decodes", metavar="NAME", choices=SCALED)
    reward: str = option("mini", "reward model that guides rws", metavar="NAME")


# The rankings by their names in the results: ranking and precision, as decode takes them.
RANKINGS = {
    "exact": ("log-odds", "float64"),
    "float32": ("probability", "float32"),
    "bfloat16": ("probability", "bfloat16"),
}
_CAPTION = (
    "Decoding at a constant factor (rws and its controls: at a reward scale), ranked by log-odds in float64 (exact) or "
    "by softmax in the precision named. Due: GOD minus that of the exact ranking on the same prompts, mean, 95 % "
    "interval, and p of the sign-flip permutation test, corrected over the scales by Holm's method. Inexact: "
    "steps whose chosen set is not the exact one. Saturated: candidate positions of probability exactly 1.0 in that "
    "precision. Tied: steps with a tie at the cut; near-tied: with a cut that rounding could move. Same: answers "
    "equal to the exact ranking's."
)


def run(options: PrecisionOptions) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    positive = all(math.isfinite(scale) and scale > 0 for scale in options.scales)
    if not positive or len(set(options.scales)) < len(options.scales):
        raise ValueError(f"--scales is {list(options.scales)}: different positive finite numbers are needed")
    strategies = tuple(name for name in SCALED if name in options.strategies)
    guides = (options.reward,) if strategies != SCALED[:1] else ()
    options, prompts = begin(options, NAME, {"--reward": guides})

    base = base_unit(options, NAME)
    first = precision_units(base, prompts.test, options.scales, strategies, options.reward)
    with open_stages(options, first, work) as stages:
        rws_rows = stages.run(NAME, first)
        second = precision_units(base, prompts.test, options.scales, strategies, options.reward, rws=rws_rows)
        frame = pd.concat([rws_rows, stages.run("controls", second)], ignore_index=True)
    return finish(NAME, options, stages.outcome(), tables(frame, seed=options.seed))


def precision_units(
    base: Unit,
    prompts: Sequence[Prompt],
    scales: Sequence[float],
    strategies: Sequence[str],
    reward: str = "mini",
    rws: pd.DataFrame | None = None,
) -> list[Unit]:
    """Return a unit per strategy, scale, ranking and prompt: those that stand alone, or those that follow from rws.

    `rws` holds the rows of the units that stand alone; None asks for these units. The units of rws are among them if a
    control needs them.
    """
    names = [name for name in SCALED if name in strategies and (name in FROM_RWS) == (rws is not None)]
    if rws is None and set(strategies).intersection(FROM_RWS) and "rws" not in names:
        names.append("rws")
    rows = [] if rws is None else records(rws[rws["method"] == "rws"])
    runs = {(row["at"], row["rounding"], row["example"]): row for row in rows}
    units = []
    for strategy in names:
        for scale in scales:
            for name, (ranking, precision) in RANKINGS.items():
                labels = {"rounding": name, "method": strategy, "at": scale}
                labelled = replace(base, ranking=ranking, precision=precision, labels=labels)
                for prompt in prompts:
                    prompt_unit = replace(labelled, prompt=prompt.text, example=prompt.name)
                    run = runs.get((scale, name, prompt.name))
                    if strategy not in FROM_RWS or run is not None:
                        numbers = numbers_of(strategy, scale, base, prompt.name, run)
                        rule, guide = strategy_of(strategy, reward, scale, numbers)
                        units.append(replace(prompt_unit, strategy=rule, reward=guide))
    return units


def work(units: Sequence[Unit]) -> list[Rows]:
    """Decode the units of one batch and count what rounding did to each order; `_rounded` has the columns."""
    from paper_figures.studies.work import decode_units

    started = time.perf_counter()
    decoding = decode_units(units)
    seconds = (time.perf_counter() - started) / len(units)
    return [[_rounded(trace) | {"seconds": seconds}] for trace in decoding]


def _rounded(trace: Any) -> dict[str, Any]:
    return {
        "text": trace.text,
        "tokens": trace.tokens.tolist(),
        "commit_step": trace.commit_step.tolist(),
        "mean_factor": float(trace.factor.mean()),
        "rewards": trace.reward_normalised.tolist() if trace.strategy["name"] == "rws" else None,
        "god_tokens": trace.god_tokens,
        "god_steps": trace.god_steps,
        "steps_run": trace.steps_run,
        "inexact": int(trace.inexact.sum()),
        "tied": int((trace.ties > 0).sum()),
        "near_tied": int((trace.near_ties > 0).sum()),
        "saturated": int(trace.saturated.sum()),
        "eligible": int(trace.eligible.sum()),
    }


def tables(frame: pd.DataFrame, *, seed: int = 0) -> list[Table]:
    """Return the study's table from its rows."""
    # A control's own strategy and scale differ by prompt, so its rows have its method and its reward scale instead.
    relabelled = frame.assign(strategy=frame["method"], scale=frame["at"]) if len(frame) else frame
    summary = _summary(relabelled, seed) if len(frame) else []
    return [Table("summary", summary, readable(summary), _CAPTION)] if summary else []


def _summary(frame: pd.DataFrame, seed: int) -> list[dict[str, Any]]:
    """Return one row per strategy, scale and ranking; the module says what each column means."""
    # Settings in which runs that share a folder differ come before the other columns.
    varied = [
        name
        for name in ("predictor", "reward", "length", "steps", "block", "device")
        if name in frame and frame.groupby("strategy")[name].nunique(dropna=False).max() > 1
    ]
    by = [*varied, "strategy", "scale"]
    out: list[dict[str, Any]] = []
    cells = [(dict(zip(by, key, strict=True)), rows) for key, rows in frame.groupby(by, dropna=False)]
    for labels, rows in sorted(cells, key=lambda cell: SCALED.index(cell[0]["strategy"])):
        exact = rows[rows["rounding"] == "exact"]
        for name in RANKINGS:
            paired = rows[rows["rounding"] == name].merge(exact, on=["example", "prompt"], suffixes=("", "_exact"))
            if len(paired):
                paired = paired.sort_values("example", kind="stable")
                out.append(labels | {"ranking": name} | _line(paired, [*labels.values(), name], seed))
    for field in ("god_tokens_due", "god_steps_due"):
        holm_within(out, (*varied, "strategy", "ranking"), f"{field}_p")
    return out


def _line(paired: pd.DataFrame, names: Sequence[Any], seed: int) -> dict[str, Any]:
    line: dict[str, Any] = {"n": len(paired)}
    for field in ("god_tokens", "god_steps"):
        values, exact = paired[field].to_numpy(float), paired[f"{field}_exact"].to_numpy(float)

        def rng(statistic: str, field: str = field) -> np.random.Generator:
            # Each statistic has its own generator, so that none depends on what else is computed.
            return np.random.default_rng([seed, *"-".join(map(str, [*names, field, statistic])).encode()])

        due = paired_bootstrap_interval(values, exact, rng("due"))
        line |= {field: float(values.mean()), f"{field}_due": due.mean}
        line |= {f"{field}_due_low": due.low, f"{field}_due_high": due.high}
        line |= {f"{field}_due_p": paired_test(values, exact, rng("test")), f"{field}_due_p_holm": None}
    for share in ("inexact", "tied", "near_tied"):
        line[share] = float(paired[share].sum() / paired["steps_run"].sum())
    line["saturated"] = float(paired["saturated"].sum() / paired["eligible"].sum())
    pairs = zip(paired["tokens"], paired["tokens_exact"], strict=True)
    line["same_tokens"] = float(np.mean([list(tokens) == list(other) for tokens, other in pairs]))
    return line
