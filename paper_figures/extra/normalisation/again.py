"""Compute texts of the record again, for `rws verify --study normalisation`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from paper_figures.extra.normalisation import search as tries
from paper_figures.extra.normalisation.cells import CELLS, TEST_PROMPTS, Cell, cell_prompts
from paper_figures.extra.normalisation.study import read_record
from paper_figures.extra.verify.again import Difference, Verified
from paper_figures.table import records
from rws_decode import Shape, decode, load_predictor, load_reward
from rws_decode.checkpoints import PACKAGED, is_installed
from rws_decode.trace.trace import Trace
from rws_theory.show import Note

ALONE = ("strategy", "confidence", "fixed factor", "tuned fixed factor")  # test texts that need no other prompt's run
_TOLERANCE = 1e-3  # of a reward, and of log p in nats a token: the order of sums differs between processors


def again(sample: int, seed: int) -> tuple[int, str, Iterator[Verified]]:
    """Return how many texts are computed again, the record's date, and the counts so far after each text.

    They are sampled without replacement from the tries on validation prompts and from the test texts of RWS, confidence
    decoding and both fixed factors. The record holds scores, not tokens: a text is equal if its reward and log p are.
    Cells of a network that is not installed are left out, with a note.
    """
    frame, about = read_record()
    absent = [name for name in frame["cell"].unique() if not _installed(CELLS[name])]
    if absent:
        warnings.warn(Note(f"left out: {', '.join(absent)}; for their networks run make real"), stacklevel=2)
    eligible = frame[((frame["stage"] == "validation") | frame["arm"].isin(ALONE)) & ~frame["cell"].isin(absent)]
    size = min(sample, len(eligible))
    drawn = eligible.iloc[np.sort(np.random.default_rng(seed).choice(len(eligible), size, replace=False))]
    return size, about["date"], _computed(drawn, about["seed"])


def _installed(cell: Cell) -> bool:
    return all(is_installed(PACKAGED[name]) for name in (cell.model, cell.reward) if name in PACKAGED)


def _computed(drawn: pd.DataFrame, seed: int) -> Iterator[Verified]:
    checked = equal = near = 0
    differ: list[Difference] = []
    for name, rows in drawn.groupby("cell", sort=False):
        cell = CELLS[str(name)]
        predictor: Any = load_predictor(cell.model)
        reward = load_reward(cell.reward)
        found = cell_prompts(cell, TEST_PROMPTS, seed)
        texts = {prompt.name: prompt.text for prompt in (*found.validation, *found.test)}
        for row in records(rows):
            trace = _decoded(row, cell, texts[row["prompt"]], predictor, reward)
            scores = [trace.final_reward["raw"] if trace.final_reward else np.nan]
            if hasattr(predictor, "log_prob"):
                scores.append(predictor.log_prob(trace.prompt.tolist(), trace.tokens.tolist()) / cell.length)
            same = _close(scores, (row["reward"], row["log_prob"]))
            checked, equal = checked + 1, equal + same
            if not same and trace.near_ties.any():
                near += 1
            elif not same:
                how = f"{row['stage']}, {row['arm']}"
                there = f"reward {row['reward']:.4f}, log p {row['log_prob']:.4f}"
                differ.append(
                    Difference(cell.name, row["prompt"], how, there, trace.text or "", row["reward"], scores[0])
                )
            yield Verified(checked, equal, near, tuple(differ))


def _decoded(row: dict[str, Any], cell: Cell, prompt: str, predictor: Any, reward: Any) -> Trace:
    shape, strategy = Shape(cell.length, cell.steps, cell.length), row["strategy"]
    if row["arm"] in ("confidence", "tuned fixed factor"):
        strategy = "default" if row["arm"] == "confidence" else f"temperature:{row['tuned']!r}"
    centred = reward if np.isnan(row["mean"]) else tries.renormalised(reward, row["mean"], row["sd"])
    (trace,) = decode(predictor, [prompt], strategy, shape, reward=centred)
    if row["arm"] == "fixed factor":
        (trace,) = decode(predictor, [prompt], f"temperature:{float(trace.factor.mean())!r}", shape, reward=reward)
    return trace


def _close(scores: Sequence[float], recorded: Sequence[float]) -> bool:
    return all(abs(score - known) <= _TOLERANCE for score, known in zip(scores, recorded, strict=False))
