"""Collect answers with their measures, and group them into lines of tables, paired by prompt.

A comparison has two sorts of units: answers, and measures of texts. Here each answer gets the measures of its text. A
method without a reward is repeated for every reward and reward scale that it is compared with. The best of N samples
replaces the samples. `statistics.means` makes tables of means; the lines here serve ratios and sets of texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from paper_figures.statistics.intervals import Interval, ratio_interval
from paper_figures.statistics.means import place_of, plain
from paper_figures.statistics.resampling import text_pairs
from paper_figures.statistics.significance import paired_test
from paper_figures.statistics.win_rates import paired_outcomes
from paper_figures.table import Table
from rws_decode.common.later import np, pd
from rws_theory.printed import printed_in

MEASURING = ("score", "perplexity", "execute")
# Units that differ in one of these settings belong to different runs and are never compared.
SETTINGS = ("predictor", "length", "steps", "block", "ranking", "precision", "device", "reward_cost", "study_seed")
_TEXT = ["prompt", "history_text", "text"]
_FREE = ("default", "margin")


def answers_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the answers to test prompts, each with the measures of its text.

    `frame` holds the rows of a study's units (`Outcome.frame`, `results.read_unit_rows`). The result is empty if there
    are no answers. Each method has rows at every reward and reward scale of rws. The rows of "default" and "margin" are
    repeated there. "best-of-n" is the sample of each prompt that the reward scores best, over all turns of a dialogue.
    Its cost is that of all N samples.

    These columns are added:

    - `score of JUDGE` and `normalised score of JUDGE`, for each reward model;
    - `perplexity`, `nll` (in nats) and `causal_tokens`;
    - `passed`, if programs were run;
    - `own_score`, the score by the row's `guide`;
    - `samples`, of which the answer is the best: N of best-of-n, and 1 of the others;
    - `cost`, in forwards: forwards + reward_cost x reward calls.
    """
    if "history" not in frame:
        return frame.iloc[:0]  # every unit failed
    frame = frame.assign(history_text=[json.dumps(list(history)) for history in frame["history"]])
    measured = frame["strategy"].isin(MEASURING)
    # `reward`, the model that a unit loads, follows from `guide`; confidence loads none. So the column is dropped.
    rows = frame[~measured].dropna(axis="columns", how="all").drop(columns=["reward"], errors="ignore")
    if "split" not in rows or not len(rows):
        return rows
    rows = rows[rows["split"] == "test"]
    for column in ("guide", "reward_scale", "sample", "reward_cost"):
        if column not in rows:
            rows = rows.assign(**{column: None})
    rows = rows.assign(cost=rows["forwards"] + rows["reward_cost"].fillna(1.0) * rows["reward_calls"], samples=1)
    rows = _with_measures(rows, frame[measured])
    parts = [part for _, run in rows.groupby(_of(rows, SETTINGS), dropna=False) for part in _expanded(run)]
    if not parts:
        return rows.iloc[:0]
    answers = pd.concat(parts, ignore_index=True)
    answers["own_score"] = [row.get(f"score of {row['guide']}") for row in answers.to_dict("records")]
    return answers


MOST_SAMPLES = 16


def best_of(rows: pd.DataFrame) -> int:
    """Return N such that N samples cost about as much as these rows of rws cost on average, from 2 to 16.

    A sample costs its forwards and one reward call, that of its answer. The best of one sample is no choice, so N is 2
    where one would cost as much; the tables print N and the cost.
    """
    weight = float(rows["reward_cost"].iloc[0])
    cost = float((rows["forwards"] + weight * rows["reward_calls"]).mean())
    return min(MOST_SAMPLES, max(2, round(cost / (float(rows["steps"].iloc[0]) + weight))))


def _of(frame: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    return [column for column in columns if column in frame]


def _with_measures(rows: pd.DataFrame, measures: pd.DataFrame) -> pd.DataFrame:
    if not len(measures):
        return rows
    measures = measures.drop(columns=["text", "problem"], errors="ignore").rename(columns={"answer": "text"})
    scores, read, run = (measures[measures["strategy"] == name] for name in MEASURING)
    for judge, scored in scores.groupby(scores["judges"].str[0]):
        names = {"score": f"score of {judge}", "normalised_score": f"normalised score of {judge}"}
        rows = _joined(rows, scored.rename(columns=names), _TEXT, [*names.values()])
    rows = _joined(rows, read, _TEXT, ["perplexity", "nll", "causal_tokens"])
    # A unit that runs a program names the problem itself, not the wording in which it was asked.
    run = run.rename(columns={"prompt": "problem"})
    return _joined(rows, run, ["problem", "text"], ["passed", "status", "how"]) if "problem" in rows else rows


def _joined(rows: pd.DataFrame, measured: pd.DataFrame, keys: list[str], columns: list[str]) -> pd.DataFrame:
    """Return rows with the columns of what was measured of the same keys, once for each; as they are without any."""
    if not len(measured):
        return rows
    return rows.merge(measured[[*keys, *columns]].drop_duplicates(keys), on=keys, how="left", validate="m:1")


def _expanded(run: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the rows of one run, completed to every (reward, reward scale) of rws.

    Methods without a reward are repeated there, and the best of the samples becomes best-of-n.
    """
    parts = [run[run["guide"].notna()]]
    free = run[run["guide"].isna() & run["method"].isin(_FREE)]
    samples = run[run["method"] == "sample"].sort_values("sample", kind="stable")
    for (guide, scale), guided in run[run["method"] == "rws"].groupby(["guide", "reward_scale"]):
        count = best_of(guided[guided["turn"] == guided["turn"].min()])  # as many as `arms` draws
        best = _best(samples[samples["sample"] < count], f"score of {guide}")
        labels: dict[str, Any] = {"guide": guide, "reward_scale": scale}
        parts += [part.assign(**labels) for part in (free, best) if len(part)]
    if len(parts) == 1 and not len(parts[0]):
        return [free] if len(free) else []
    return [part for part in parts if len(part)]


def _best(samples: pd.DataFrame, by: str) -> pd.DataFrame:
    if not len(samples) or by not in samples:
        return samples.iloc[:0]
    # Dialogues that broke off are dropped: their few turns would be compared with whole dialogues.
    total = samples.groupby(["example", "sample"], sort=False)[by].agg(["mean", "count"]).reset_index()
    complete = total[total["count"] == total.groupby("example")["count"].transform("max").clip(lower=1)]
    picked = complete.loc[complete.groupby("example", sort=False)["mean"].idxmax(), ["example", "sample"]]
    rows = samples.merge(picked, on=["example", "sample"])
    spent = samples.groupby(["example", "turn"])[["cost", "forwards", "reward_calls"]].sum().reset_index()
    # Best of N scores each sample's answer once.
    counts = samples.groupby(["example", "turn"]).size().rename("reward_calls").reset_index()
    spent["reward_calls"] = counts["reward_calls"]
    spent["cost"] = spent["forwards"] + samples["reward_cost"].fillna(1.0).iloc[0] * spent["reward_calls"]
    rows = rows.drop(columns=["cost", "forwards", "reward_calls"]).merge(spent, on=["example", "turn"])
    # The best sample represents its method, so its temperature is not a setting that separates it from other methods.
    return rows.assign(method="best-of-n", sampling_temperature=0.0, samples=samples["sample"].nunique())


def by_judge(answers: pd.DataFrame) -> pd.DataFrame:
    """Return one row per answer and judge, which compares the answer with that of confidence to the same prompt.

    These columns are added:

    - `judge`; `relation`, "own" if the judge is the row's `guide`, else "other";
    - `score`, the judge's raw score, and `normalised_score`;
    - `win`, `draw` and `loss`, one of which is 1.0 (equal scores, as of equal texts, are a draw);
    - `net`, which is win - loss; `default_text`, the answer of confidence.
    """
    parts: list[Any] = []
    keys = [*_of(answers, SETTINGS), "guide", "reward_scale", "example", "turn"]
    default = answers[answers["method"] == "default"]
    judges = [str(column).removeprefix("score of ") for column in answers if str(column).startswith("score of ")]
    for judge in judges:
        column = f"score of {judge}"
        base = default[[*keys, column, "text"]]
        base = base.rename(columns={column: f"{column} of default", "text": "default_text"})
        rows = answers.merge(base, on=keys, how="inner", validate="m:1")
        rows = rows[rows[column].notna() & rows[f"{column} of default"].notna()]
        if not len(rows):
            continue
        sign = paired_outcomes(rows[column], rows[f"{column} of default"]).astype(float)
        parts.append(
            rows.drop(columns=[f"{column} of default"]).assign(
                judge=judge,
                relation=np.where(rows["guide"] == judge, "own", "other"),
                score=rows[column],
                normalised_score=rows[f"normalised score of {judge}"],
                win=(sign > 0).astype(float),
                draw=(sign == 0).astype(float),
                loss=(sign < 0).astype(float),
                net=sign,
            )
        )
    return pd.concat(parts, ignore_index=True) if parts else answers.iloc[:0]


def judged_by_guide(answers: pd.DataFrame) -> pd.DataFrame:
    """Return one row per answer as its own reward judges it (`by_judge`), with `others_net`.

    `others_net` is the mean `net` over all other judges. It is missing if another reward model did not score the
    answer. Reward models that scored no answer at all do not count.
    """
    if not len(answers):
        return answers
    judged = by_judge(answers)
    if not len(judged):
        return judged.assign(net=float("nan"), others_net=float("nan"))
    by_guide = judged[judged["relation"] == "own"]
    keys = [*_of(answers, SETTINGS), "guide", "reward_scale", "method", "example", "turn"]
    others = judged[judged["relation"] == "other"].groupby(keys, dropna=False)["net"]
    others = others.agg(["mean", "count"]).reset_index()
    if not len(others):
        return by_guide.assign(others_net=float("nan"))
    # A mean over fewer judges than elsewhere is not comparable.
    complete = others["count"] == others.groupby("guide")["count"].transform("max")
    others = others[complete].drop(columns="count").rename(columns={"mean": "others_net"})
    return by_guide.merge(others, on=keys, how="left")


def mean_over_turns(rows: pd.DataFrame, by: Sequence[str], measures: Sequence[str]) -> pd.DataFrame:
    """Return one row per dialogue: the means of the measures over its turns.

    Rows are grouped by the settings, the columns `by`, and example. The turns of one dialogue are not independent
    samples: each dialogue counts once, by its mean. Measures that the rows lack are left out. So is a dialogue with a
    missing turn.
    """
    keys = [*_of(rows, SETTINGS), *by, "example"]
    present = [name for name in measures if name in rows]
    numbers = rows.assign(**{name: rows[name].astype(float) for name in present})
    grouped = numbers.groupby(keys, dropna=False, sort=False)
    means = grouped[present].mean().assign(turns=grouped["turn"].nunique()).reset_index()
    complete = means["turns"] == means["example"].map(rows.groupby("example")["turn"].nunique())
    return means[complete].drop(columns="turns").reset_index(drop=True)


LINE = ("guide", "reward_scale", "method")
PAIR = ("example", "turn")


def settings_of(frame: pd.DataFrame) -> list[str]:
    """Return the settings in which the rows of a frame differ: rows that differ in one are never compared."""
    return [name for name in SETTINGS if name in frame and frame[name].nunique(dropna=False) > 1]


def lines_of(
    frame: pd.DataFrame, by: Sequence[str] = LINE, reference: str = "default"
) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield (values, rows) for each combination of `by` and of the settings that differ.

    Lines are sorted by their values in turn, those of the method `reference` before those of other methods. The rows
    are sorted by `PAIR`, so their order in the frame does not matter. Missing values are None.
    """
    columns = list(dict.fromkeys([*by, *settings_of(frame)]))
    groups = {}
    for key, rows in frame.groupby(columns, dropna=False, sort=False):
        groups[tuple(plain(value) for value in key)] = rows.sort_values(list(PAIR), kind="stable", ignore_index=True)

    lines = [(dict(zip(columns, key, strict=True)), rows) for key, rows in groups.items()]
    yield from sorted(lines, key=lambda line: place_of(line[0], {"method": reference}))


def aligned(first: pd.DataFrame, second: pd.DataFrame, columns: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return `columns` of both frames on the prompts where both have a value in each, in the same order."""
    parts = (rows[[*PAIR, *columns]] for rows in (first, second))
    kept = [rows.set_index(list(PAIR)).dropna().sort_index() for rows in parts]
    both = kept[0].index.intersection(kept[1].index)
    return kept[0].loc[both], kept[1].loc[both]


class Compared(NamedTuple):
    """The ratio of a mean to that of confidence on the same prompts, None if that may be 0, and p of no difference.

    distinct: the number of distinct pairs of texts. Where it is below `pairs`, interval and p are over these.
    """

    ratio: Interval | None
    p: float
    pairs: int
    distinct: int


def comparisons(
    lines: Sequence[tuple[dict[str, Any], pd.DataFrame]], column: str, seed: int, name: str
) -> Iterator[Compared | None]:
    """Yield, for each line of `lines_of`, how the mean of a column compares with that of the line of confidence.

    The line of confidence has that method, and is otherwise the same. None where there is no such line, where it is the
    line itself, or where no prompt has a value in both. `name` is that of the number, for its generator.
    """
    bases = {str(line | {"method": None}): rows for line, rows in lines if line["method"] == "default"}
    for line, rows in lines:
        base = bases.get(str(line | {"method": None}))
        texts = ["text"] if "text" in rows else []
        pair = () if base is None or line["method"] == "default" else aligned(rows, base, [column, *texts])
        if pair and (n := len(pair[0])):
            groups = text_pairs(*(part["text"] for part in pair)) if texts else np.arange(n)
            # Prompts with the same two texts are one, with the sum of their values.
            first, second = (np.bincount(groups, weights=part[column].to_numpy(float)) for part in pair)
            rng = rng_for(seed, line, name)
            yield Compared(ratio_interval(first, second, rng), paired_test(first, second, rng), n, first.size)
        else:
            yield None


def over_guides(answers: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return the means of columns over the rewards, for each prompt and method; `guide` is "all".

    A prompt is left out if some reward has no answer to it. If rewards have many reward scales, each scale is averaged
    by itself. Otherwise `reward_scale` is None, because every reward has its own.
    """
    several = answers.groupby("guide")["reward_scale"].nunique().max() > 1
    keys = [*settings_of(answers), *(["reward_scale"] if several else []), "method", *PAIR]
    groups = answers.groupby(keys, dropna=False)
    means = groups[list(columns)].mean()
    complete = means[groups["guide"].nunique() == answers["guide"].nunique()].reset_index()
    return complete.assign(guide="all") if several else complete.assign(guide="all", reward_scale=None)


def rng_for(seed: int, line: Mapping[str, Any], *statistic: Any) -> np.random.Generator:
    """Return a generator for one statistic, so that it does not depend on what else is computed."""
    return np.random.default_rng(list(json.dumps([seed, *line.values(), *statistic]).encode()))


PREFIX = "printed: "  # begins the name of every table that the paper printed


def printed_tables(*files: str) -> list[Table]:
    """Return tables as the paper printed them, by their names in `rws_theory.printed`.

    They are for reading, and are never mixed with ours.

    >>> [len(table.rows) for table in printed_tables("table8_temperature")]
    [8]
    """
    tables = []
    for file in files:
        printed = printed_in(file)
        base = printed.get("default", {"god": printed.get("default_god"), "seconds": printed.get("default_seconds")})
        base = {"pass_at_1": base} if isinstance(base, float) else base
        default = {name: value for name, value in base.items() if value is not None}
        name = next(iter(printed["rows"][0]))
        rows = [{name: "Default"} | default] if default else []
        columns = list(dict.fromkeys(column for row in [*printed["rows"], *rows] for column in row))
        rows = [{column: row.get(column) for column in columns} for row in [*rows, *printed["rows"]]]
        tables.append(
            Table(f"{PREFIX}{file}", rows, rows, f"As printed: {printed['where']}, {printed.get('task', '')}.")
        )
    return tables


def measured_tables(tables: Sequence[Table]) -> list[Table]:
    """Return the tables of our own results.

    Tables that the paper printed are for reading and are not written.
    """
    return [table for table in tables if not table.name.startswith(PREFIX)]
