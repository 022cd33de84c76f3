"""Make the answers of the evidence study tidy: a row for each, its regret, and the better of two scales."""

from __future__ import annotations

import numpy as np
import pandas as pd

from paper_figures.studies.design.evidence_arms import METHODS, Arm
from paper_figures.table import records

# What tells an answer apart. `number` is that of the arm; `drawn`, whether tokens are drawn, at temperature 1.
KEY = ("world", "split", "prompt", "method", "number", "drawn", "steps")
ANSWER_COLUMNS = (
    *KEY,
    *("text", "tokens", "reward", "log_prob", "rules_broken", "judge_scores", "nll", "causal_tokens"),
    *("god_tokens", "god_steps", "mean_factor", "rewards", "forwards", "reward_calls"),
    *("near_ties", "near_tokens", "seconds"),
)


def answers_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the answers among a study's rows, with the columns `ANSWER_COLUMNS`.

    reward: raw, of the guide; log_prob: nats, None where the world is not exact; rules_broken: None where it has no
    rules; judge_scores: those of the world's judges in their order, in their own deviations.
    """
    answers = renamed(rows[rows["method"] != "frontier"])
    answers = answers.assign(drawn=answers["sampling_temperature"] > 0)
    return answers.reindex(columns=list(ANSWER_COLUMNS)).reset_index(drop=True)


def frontiers_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the frontiers among a study's rows: world, prompt, points (log p, reward), lines (beta, value).

    No text has log p + beta reward above the value of a line.
    """
    frontiers = renamed(rows[rows["method"] == "frontier"])
    return frontiers.reindex(columns=["world", "prompt", "points", "lines"]).reset_index(drop=True)


def completed(answers: pd.DataFrame, frontiers: pd.DataFrame) -> pd.DataFrame:
    """Return the answers with one score for each text, the better of two scales, and regrets."""
    return _with_regret(_with_better_scale(with_one_score(answers)), frontiers)


def with_one_score(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the answers with one score for each text: equal texts after a prompt take the scores of their first row.

    Models score in batches. The scores of one text in two batches differ in last digits, which must not decide who
    wins.
    """
    scores = ["reward", "judge_scores", "nll"]
    first = answers.groupby(["world", "split", "prompt", "text"], sort=False)[scores].transform("first")
    return answers.assign(**{name: first[name] for name in scores})


def _with_regret(answers: pd.DataFrame, frontiers: pd.DataFrame) -> pd.DataFrame:
    """Return the answers with `regret`: nats below the frontier of their prompt, NaN where there is none.

    The bound is min over the lines of value - beta reward, as `rws_theory.worlds.Frontier.bound` has it.
    """
    lines = {(row["world"], row["prompt"]): np.asarray(list(map(list, row["lines"]))) for row in records(frontiers)}
    regret = np.full(len(answers), np.nan)
    columns = ("world", "prompt", "reward", "log_prob")
    for index, (world, prompt, reward, log_prob) in enumerate(zip(*(answers[name] for name in columns), strict=True)):
        if (world, prompt) in lines and log_prob is not None and reward is not None:
            beta, value = lines[world, prompt].T
            regret[index] = (value - beta * reward).min() - log_prob
    return answers.assign(regret=regret)


def _with_better_scale(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the answers and, as method "better-scale", the better of the default's and temperature 2's by the guide.

    It costs both decodes and a reward call for each. Of equal rewards the default's answer stays.
    """
    greedy = answers[~answers["drawn"] & (answers["split"] == "test")]
    usual = greedy.groupby("world")["steps"].transform("min")
    greedy = greedy[greedy["steps"] == usual]
    first = greedy[greedy["method"] == "default"]
    second = greedy[(greedy["method"] == "temperature") & (greedy["number"] == 2.0)]
    both = first.merge(second, on=["world", "prompt"], suffixes=("", "_2"))
    better = both["reward_2"] > both["reward"]
    picked = {name: both[f"{name}_2"].where(better, both[name]) for name in ANSWER_COLUMNS if f"{name}_2" in both}
    picked |= {"world": both["world"], "prompt": both["prompt"]}
    costs = {"forwards": both["forwards"] + both["forwards_2"], "reward_calls": 2}
    rows = pd.DataFrame(picked).assign(method="better-scale", number=2.0, drawn=False, split="test", **costs)
    return pd.concat([answers, rows.reindex(columns=list(ANSWER_COLUMNS))], ignore_index=True)


def title_of(arm: Arm) -> str:
    """Return an arm's name in tables and figures.

    >>> title_of(Arm("rws", 8.0)), title_of(Arm("default", None, 1.0)), title_of(Arm("default", one_by_one=True))
    ('RWS 8', 'confidence (default), drawn', 'confidence (default), one token a step')
    """
    method, number, drawn, one_by_one = arm
    title = METHODS[method].title
    if number is not None:
        title = title.replace(" of N", f" of {number:g}") if " of N" in title else f"{title} {number:g}"
        title = title.replace("N particles", "").strip() + " particles" if title.startswith("N particles") else title
    if drawn and METHODS[method].kind in ("rws", "factor", "order"):
        title += ", drawn"
    return title + (", one token a step" if one_by_one and method != "tilt-sample" else "")


def renamed(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows in which `prompt` is the prompt's name and `reward` that of the text; the world tells the guide."""
    return rows.drop(columns=["prompt", "reward"]).rename(columns={"example": "prompt", "final_reward": "reward"})
