"""Answers and their measures put together: one table of answers, and one of answers and judges, for every study.

The units of a comparison are of two sorts: answers, and measures of texts. Here each answer gets the measures of its
text. A method without a guide is repeated for every guide and reward scale that it is compared with. The best of N
samples takes the place of the samples.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from paper_figures.studies.design.arms import best_of

if TYPE_CHECKING:
    import pandas

__all__ = ["MEASURING", "SETTINGS", "answers_of", "by_judge", "judged_by_guide", "with_default"]

MEASURING = ("score", "perplexity", "scale-path", "execute")
# Units that differ in one of these are of different runs, and compared with their own kind alone.
SETTINGS = ("predictor", "length", "steps", "block", "ranking", "precision", "device", "reward_cost", "study_seed")
_TEXT = ["prompt", "history_text", "text"]
_FREE = ("default", "margin")


def answers_of(frame: pandas.DataFrame, split: str = "test") -> pandas.DataFrame:
    """Return the answers of one split, each with the measures of its text.

    frame: rows of a study's units (`Outcome.frame`, `results.read_results`). Further columns: `score of JUDGE`,
    `normalised score of JUDGE`, one per reward model; `perplexity`, `nll`, `causal_tokens`; `passed` where programs
    ran; `own_score`, that of the row's guide; `cost`, forwards + reward_cost x reward calls. Rows: every method at
    every (guide, reward scale) of rws, "default" and "margin" repeated, and "best-of-n", of each prompt's samples the
    one that the guide scores best (over all turns of a dialogue), which has the cost of all N. Empty without answers.
    """
    import pandas as pd

    if "history" not in frame:
        return frame.iloc[:0]  # every unit failed
    frame = frame.assign(history_text=[json.dumps(list(history)) for history in frame["history"]])
    measured = frame["strategy"].isin(MEASURING)
    # Which reward model a unit loads is its guide's matter: the default of a guide loads none.
    rows = frame[~measured].dropna(axis="columns", how="all").drop(columns=["reward"], errors="ignore")
    if "split" not in rows or not len(rows):
        return rows
    rows = rows[rows["split"] == split]
    for column in ("guide", "reward_scale", "sample", "reward_cost"):
        if column not in rows:
            rows = rows.assign(**{column: None})
    rows = rows.assign(cost=rows["forwards"] + rows["reward_cost"].fillna(1.0) * rows["reward_calls"])
    rows = _with_measures(rows, frame[measured])
    parts = [part for _, run in rows.groupby([*_of(rows, SETTINGS)], dropna=False) for part in _expanded(run)]
    if not parts:
        return rows.iloc[:0]
    whole = pd.concat(parts, ignore_index=True)
    whole["own_score"] = [row.get(f"score of {row['guide']}") for row in whole.to_dict("records")]
    return whole


def _of(frame: pandas.DataFrame, columns: Sequence[str]) -> list[str]:
    return [column for column in columns if column in frame]


def _first(judges: Any) -> str:
    return judges[0] if len(judges) else ""


def _with_measures(rows: pandas.DataFrame, measures: pandas.DataFrame) -> pandas.DataFrame:
    if not len(measures):
        return rows
    measures = measures.drop(columns=["text", "problem"], errors="ignore").rename(columns={"answer": "text"})
    for judges, measured in measures[measures["strategy"] == "score"].groupby(measures["judges"].map(_first)):
        names = {"score": f"score of {judges}", "normalised_score": f"normalised score of {judges}"}
        rows = rows.merge(
            measured[[*_TEXT, *names]].rename(columns=names).drop_duplicates(_TEXT),
            on=_TEXT,
            how="left",
            validate="m:1",
        )
    measured = measures[measures["strategy"] == "perplexity"]
    if len(measured):
        kept = measured[[*_TEXT, "perplexity", "nll", "causal_tokens"]].drop_duplicates(_TEXT)
        rows = rows.merge(kept, on=_TEXT, how="left", validate="m:1")
    measured = measures[measures["strategy"] == "execute"]
    if len(measured) and "problem" in rows:
        # A program's unit names its problem, whatever words the problem was put in.
        keys = ["problem", "text"]
        kept = measured.rename(columns={"prompt": "problem"})[[*keys, "passed", "status", "how"]]
        rows = rows.merge(kept.drop_duplicates(keys), on=keys, how="left", validate="m:1")
    return rows


def _expanded(run: pandas.DataFrame) -> list[pandas.DataFrame]:
    """Return the rows of one run with its guide-free methods at every (guide, scale), and best-of-n for samples."""
    parts = [run[run["guide"].notna()]]
    free = run[run["guide"].isna() & run["method"].isin(_FREE)]
    samples = run[run["method"] == "sample"].sort_values("sample", kind="stable")
    for (guide, scale), guided in run[run["method"] == "rws"].groupby(["guide", "reward_scale"]):
        count = best_of(guided[guided["turn"] == guided["turn"].min()])  # as many as `arms` draws
        best = _best(samples[samples["sample"] < count], f"score of {guide}")
        named: dict[str, Any] = {"guide": guide, "reward_scale": scale}
        parts += [part.assign(**named) for part in (free, best) if len(part)]
    if len(parts) == 1 and not len(parts[0]):
        return [free] if len(free) else []
    return [part for part in parts if len(part)]


def _best(samples: pandas.DataFrame, by: str) -> pandas.DataFrame:
    if not len(samples) or by not in samples:
        return samples.iloc[:0]
    # Of a dialogue that broke off, the turns that are there would be compared with whole dialogues.
    total = samples.groupby(["example", "sample"], sort=False)[by].agg(["mean", "count"]).reset_index()
    whole = total[total["count"] == total.groupby("example")["count"].transform("max").clip(lower=1)]
    picked = whole.loc[whole.groupby("example", sort=False)["mean"].idxmax(), ["example", "sample"]]
    rows = samples.merge(picked, on=["example", "sample"])
    spent = samples.groupby(["example", "turn"])[["cost", "forwards", "reward_calls"]].sum().reset_index()
    # What best of N asks: one score of each sample's answer.
    counts = samples.groupby(["example", "turn"]).size().rename("reward_calls").reset_index()
    spent["reward_calls"] = counts["reward_calls"]
    spent["cost"] = spent["forwards"] + samples["reward_cost"].fillna(1.0).iloc[0] * spent["reward_calls"]
    rows = rows.drop(columns=["cost", "forwards", "reward_calls"]).merge(spent, on=["example", "turn"])
    # The picked answer stands for its method: temperature and seed are not settings that the others lack.
    return rows.assign(method="best-of-n", sampling_temperature=0.0)


def with_default(answers: pandas.DataFrame, columns: Sequence[str]) -> pandas.DataFrame:
    """Return the answers with the values that the default's answer to the same prompt has: `COLUMN of default`.

    Rows without such an answer are left out.
    """
    keys = [*_of(answers, SETTINGS), "guide", "reward_scale", "example", "turn"]
    base = answers[answers["method"] == "default"]
    names = {column: f"{column} of default" for column in columns}
    return answers.merge(base[[*keys, *columns]].rename(columns=names), on=keys, how="inner", validate="m:1")


def by_judge(answers: pandas.DataFrame) -> pandas.DataFrame:
    """Return a row per answer and judge, as the judge sees it against the default's answer to the same prompt.

    Columns besides the answer's: `judge`; `relation`, "own" where it is the row's guide, else "other"; `score`, raw,
    `normalised_score`; `win`, `draw`, `loss`, of which one is 1.0, and `net`, win - loss. A draw is an equal score, as
    equal texts have.
    """
    import pandas as pd

    from paper_figures.statistics.win_rates import paired_outcomes

    parts: list[Any] = []
    judges = [str(column).removeprefix("score of ") for column in answers if str(column).startswith("score of ")]
    for judge in judges:
        column = f"score of {judge}"
        rows = with_default(answers, [column])
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


def judged_by_guide(answers: pandas.DataFrame) -> pandas.DataFrame:
    """Return a row per answer as its own guide judges it (`by_judge`), with `others_net`, the mean net of all others.

    `others_net` is missing where one of the other reward models, of those that scored any answer, scored it not.
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
    # A mean over fewer judges than elsewhere is of another kind.
    complete = others["count"] == others.groupby("guide")["count"].transform("max")
    others = others[complete].drop(columns="count").rename(columns={"mean": "others_net"})
    return by_guide.merge(others, on=keys, how="left")
