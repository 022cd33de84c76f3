"""Assemble whole dialogues from rows of single answers, each beside the default's dialogue."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from paper_figures.runner.digests import digest
from paper_figures.studies.summaries.answers import SETTINGS


def dialogues_of(answers: pd.DataFrame) -> pd.DataFrame:
    """Return one row per whole dialogue, with the default's dialogue on the same prompt beside it.

    `answers` is the frame of `answers.answers_of`. The columns are the settings that are present; guide, reward_scale,
    method, example; `asked`, the user's turns; `replied` and `default_replied`, the answers turn by turn, as tuples of
    texts; `answers`, a digest of these three. A dialogue is left out if one of its turns is missing, in its own or the
    default's answers.
    """
    keys = [*_settings(answers), "guide", "reward_scale", "example"]
    spoken = answers.sort_values("turn", kind="stable").groupby([*keys, "method"], dropna=False, sort=False)
    dialogues = spoken.agg(asked=("prompt", tuple), replied=("text", tuple)).reset_index()
    turns = answers.groupby("example")["turn"].nunique()
    dialogues = dialogues[dialogues["asked"].map(len) == dialogues["example"].map(turns)]
    default = dialogues[dialogues["method"] == "default"][[*keys, "replied"]].rename(
        columns={"replied": "default_replied"}
    )
    dialogues = dialogues.merge(default, on=keys, how="inner", validate="m:1")
    turn_texts = zip(dialogues["asked"], dialogues["replied"], dialogues["default_replied"], strict=True)
    return dialogues.assign(answers=[digest([list(part) for part in parts])[:16] for parts in turn_texts])


def mean_over_turns(rows: pd.DataFrame, by: Sequence[str], measures: Sequence[str]) -> pd.DataFrame:
    """Return one row per dialogue: the means of the measures over its turns.

    Rows are grouped by the settings, the columns `by`, and example. The turns of one dialogue are not independent
    draws, so each dialogue counts once, by its mean. Measures that the rows lack are left out. So is a dialogue with a
    missing turn.
    """
    keys = [*_settings(rows), *by, "example"]
    present = [name for name in measures if name in rows]
    numbers = rows.assign(**{name: rows[name].astype(float) for name in present})
    grouped = numbers.groupby(keys, dropna=False, sort=False)
    means = grouped[present].mean().assign(turns=grouped["turn"].nunique()).reset_index()
    complete = means["turns"] == means["example"].map(rows.groupby("example")["turn"].nunique())
    return means[complete].drop(columns="turns").reset_index(drop=True)


def _settings(rows: pd.DataFrame) -> list[str]:
    return [name for name in SETTINGS if name in rows]
