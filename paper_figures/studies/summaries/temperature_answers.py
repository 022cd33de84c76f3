"""The answers of the temperature experiment, with the numbers that its tables average."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas

__all__ = ["answers_table"]


def answers_table(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return every method's answers at every guide and scale with the numbers that the tables average.

    frame: rows of the experiment's units. Temperatures are repeated for every guide, at the reward scale of their
    factor; all columns of `temperature.METRICS` are there, nan where an answer has no such value. Empty without
    answers.
    """
    import pandas as pd

    from paper_figures.studies.summaries.answers import answers_of

    if "method" not in frame:
        return frame.iloc[:0]
    plain = frame["method"].isin(("temperature", "temperature-bf16"))
    guides = sorted(frame["guide"].dropna().unique()) if "guide" in frame else []
    at = [frame[plain].assign(guide=guide, reward_scale=frame[plain]["scale"]) for guide in guides]
    answers = answers_of(pd.concat([frame[~plain], *at], ignore_index=True))
    if not len(answers):
        return answers

    def numbers(column: str) -> Any:
        # Columns of which no answer has a value are not in the table.
        found = answers[column] if column in answers else pd.Series(np.nan, answers.index)
        return pd.to_numeric(found.astype(object), errors="coerce").astype(float)

    logs, tokens = numbers("log_probability"), numbers("causal_tokens")
    # What the language cannot produce has no true perplexity.
    true = np.exp(-logs.where(np.isfinite(logs)) / tokens)
    named = {name: numbers(name) for name in ("perplexity", "nll", "coherent", "keywords_included")}
    return answers.assign(
        **named,
        causal_tokens=tokens,
        true_perplexity=true,
        exact=-numbers("violations"),
        reward=numbers("own_score"),
        judge=_judged(answers, guides),
    ).sort_values("example", kind="stable")


def _judged(answers: pandas.DataFrame, guides: Sequence[str]) -> list[float]:
    scorers = [str(name).removeprefix("score of ") for name in answers if str(name).startswith("score of ")]
    alone = sorted(name for name in scorers if name not in guides)
    if len(alone) == 1:
        return answers[f"score of {alone[0]}"].to_list()
    rows = answers.to_dict("records")
    found = [[row[f"normalised score of {name}"] for name in alone or scorers if name != row["guide"]] for row in rows]
    return [float(np.mean(one)) if one else float("nan") for one in found]
