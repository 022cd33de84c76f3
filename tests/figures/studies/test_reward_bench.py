"""Win rates, cross-judging and attribution: the tables are counted from the rows, the paper's numbers beside them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

from paper_figures.statistics.partial_effect import partial_effect
from paper_figures.statistics.significance import holm, paired_test
from paper_figures.studies.reward_bench import tables
from paper_figures.table import Table

GUIDES = {"skywork-v0.2": 8.0, "grm": 2.0, "own": 4.0}
METHODS = ("default", "rws", "constant")
PROMPTS = 40


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Return answers of three guides to 40 prompts, and a score of each different text by each guide."""
    rng = np.random.default_rng(7)
    rows: list[dict[str, Any]] = []
    shape = {"predictor": "mini", "length": 64, "steps": 32, "block": 32, "device": "cpu", "reward_cost": 1.0}
    for index, method in itertools.product(range(PROMPTS), METHODS):
        for guide, scale in [(None, None)] if method == "default" else GUIDES.items():
            # A quarter of the prompts give the same text by every method: a draw.
            text = "same" if index % 4 == 0 else f"{method} {guide}"
            row: dict[str, Any] = {"strategy": method, "prompt": f"p {index}", "history": [], "text": text}
            row |= {"example": str(index), "turn": 0, "split": "test", "method": method, "guide": guide}
            row |= {"reward_scale": scale, "forwards": 32, "reward_calls": 0 if guide is None else 32, "judges": []}
            rows.append(row | shape | {"god_tokens": float(rng.integers(20)) / 4, "god_steps": 1.0})
    texts = {(row["prompt"], row["text"]) for row in rows}
    for (prompt, text), judge in itertools.product(sorted(texts), GUIDES):
        score = float(rng.normal(1.0 if text.startswith("rws") else 0.0))
        row = {"strategy": "score", "prompt": prompt, "history": [], "judges": [judge], "answer": text}
        rows.append(row | {"score": score, "normalised_score": score / 2})
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def named_tables(frame: pd.DataFrame) -> dict[str, Table]:
    return {table.name: table for table in tables(frame)}


def scores(frame: pd.DataFrame, judge: str, method: str, guide: str) -> list[float]:
    """Return a judge's scores of a method's answers, prompt by prompt, the slow way."""
    scores_by_text = {
        (row["prompt"], row["answer"]): row["score"]
        for _, row in frame[frame["strategy"] == "score"].iterrows()
        if row["judges"] == [judge]
    }
    selected = frame[
        (frame["method"] == method) & (frame["guide"].isna() if method == "default" else frame["guide"] == guide)
    ]
    return [scores_by_text[row["prompt"], row["text"]] for _, row in selected.sort_values("prompt").iterrows()]


def test_win_rates_are_counted_prompt_by_prompt(frame: pd.DataFrame, named_tables: dict[str, Table]) -> None:
    rows = {(row["guide"], row["method"], row["measure"]): row for row in named_tables["win_rates"].rows}
    for guide, method in itertools.product(GUIDES, METHODS):
        signs = np.sign(np.subtract(scores(frame, guide, method, guide), scores(frame, guide, "default", guide)))
        for measure, sign in (("win", 1), ("draw", 0), ("loss", -1)):
            assert rows[guide, method, measure]["mean"] == pytest.approx(100 * np.mean(signs == sign))
        assert rows[guide, method, "net"]["mean"] == pytest.approx(100 * signs.mean())
        others = [
            np.sign(np.subtract(scores(frame, judge, method, guide), scores(frame, judge, "default", guide))).mean()
            for judge in GUIDES
            if judge != guide
        ]
        assert rows[guide, method, "others_net"]["mean"] == pytest.approx(100 * np.mean(others))
    assert rows["own", "default", "draw"]["mean"] == 100


def test_corrections_are_over_the_reward_models(frame: pd.DataFrame, named_tables: dict[str, Table]) -> None:
    rows = [
        row for row in named_tables["win_rates"].rows if (row["method"], row["measure"]) == ("constant", "own_score")
    ]
    assert [row["p_holm"] for row in rows] == pytest.approx(holm([row["p"] for row in rows]))
    for row in rows:
        pair = (scores(frame, row["guide"], method, row["guide"]) for method in ("constant", "rws"))
        assert row["p"] == pytest.approx(paired_test(*pair, np.random.default_rng(0)), abs=0.02)


def test_fifths_hold_every_prompt_and_their_wins_add_up(named_tables: dict[str, Table]) -> None:
    wins = {
        row["guide"]: row["mean"]
        for row in named_tables["win_rates"].rows
        if row["measure"] == "win" and row["method"] == "rws"
    }
    for guide in GUIDES:
        rows = [row for row in named_tables["god_quintiles"].rows if row["guide"] == guide]
        assert [row["fifth"] for row in rows] == [1, 2, 3, 4, 5] and sum(row["n"] for row in rows) == PROMPTS
        total = sum(row["n"] * row["win"] for row in rows if row["n"])
        assert total == pytest.approx(PROMPTS * wins[guide] / 100)
        edges = [(row["god_low"], row["god_high"]) for row in rows if row["n"]]
        assert all(fifth[1] < following[0] for fifth, following in itertools.pairwise(edges))
    assert [row["guide"] for row in named_tables["god_trends"].rows] == sorted(GUIDES)


def test_reward_at_equal_god_is_that_of_the_pairs(frame: pd.DataFrame, named_tables: dict[str, Table]) -> None:
    rows = {(row["guide"], row["control"], row["outcome"]): row for row in named_tables["reward_at_equal_god"].rows}
    assert set(rows) == {(g, c, o) for g in GUIDES for c in ("default", "constant") for o in ("net", "score")}
    own_scores = {
        method: frame[(frame["method"] == method) & (frame["guide"] == "grm")].sort_values("prompt")["god_tokens"]
        for method in ("rws", "constant")
    }
    direct = partial_effect(
        np.divide(scores(frame, "grm", "rws", "grm"), 2),
        np.divide(scores(frame, "grm", "constant", "grm"), 2),
        own_scores["rws"],
        own_scores["constant"],
        np.random.default_rng(0),
        resamples=99,
    )
    assert direct.alpha is not None and direct.beta is not None
    row = rows["grm", "constant", "score"]
    assert (row["alpha"], row["beta"]) == pytest.approx((direct.alpha.mean, direct.beta.mean))
    assert row["difference"] == pytest.approx(row["alpha"] + row["beta"] * row["god_difference"])


def test_tables_do_not_depend_on_the_order_of_rows(frame: pd.DataFrame) -> None:
    few = frame["prompt"].isin([f"p {index}" for index in range(10)]) & ~frame["guide"].isin(["grm", "own"])
    ordered = tables(frame[few])
    shuffled = tables(frame[few].sample(frac=1.0, random_state=3).reset_index(drop=True))
    assert [table.name for table in shuffled] == [table.name for table in ordered]
    for first, second in zip(ordered, shuffled, strict=True):
        assert sorted(map(repr, first.rows)) == sorted(map(repr, second.rows)), first.name
