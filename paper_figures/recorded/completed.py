"""Complete the answers of a record or a run: one score for each text, the better of two scales, and regrets."""

from __future__ import annotations

from paper_figures.table import records
from rws_decode.common.later import np, pd


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
    """Return the answers with `regret`: nats below the Pareto front of their prompt, NaN where there is none.

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
    """Return the answers and a method "better-scale": of confidence and temperature 2, the one of the greater reward.

    It costs both decodes and a reward call for each. Of equal rewards the answer of confidence stays.
    """
    greedy = answers[~answers["drawn"] & (answers["split"] == "test")]
    usual = greedy.groupby("world")["steps"].transform("min")
    greedy = greedy[greedy["steps"] == usual]
    first = greedy[greedy["method"] == "default"]
    second = greedy[(greedy["method"] == "temperature") & (greedy["number"] == 2.0)]
    both = first.merge(second, on=["world", "prompt"], suffixes=("", "_2"))
    better = both["reward_2"] > both["reward"]
    picked = {name: both[f"{name}_2"].where(better, both[name]) for name in answers if f"{name}_2" in both}
    picked |= {"world": both["world"], "prompt": both["prompt"]}
    costs = {"forwards": both["forwards"] + both["forwards_2"], "reward_calls": 2}
    rows = pd.DataFrame(picked).assign(method="better-scale", number=2.0, drawn=False, split="test", **costs)
    return pd.concat([answers, rows.reindex(columns=list(answers))], ignore_index=True)
