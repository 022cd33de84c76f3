"""Win rates, cross-judging and attribution counted from the rows, and scales chosen on validation prompts alone."""

import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_lines import figures as main
from grouped import grouped
from study_runs import SHAPE, answer_row, save_models, score_row

from paper_figures.runner import read_unit_rows
from paper_figures.statistics import holm
from paper_figures.studies import reward_bench
from paper_figures.table import Table
from rws_decode import RWS, Confidence, decode, load_predictor, load_reward

GUIDES = {"skywork-v0.2": 8.0, "grm": 2.0, "own": 4.0}
METHODS = ("default", "rws", "constant")
PROMPTS = 25


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Return answers of three guides to 20 prompts, and a score of each different text by each guide."""
    rng, rows = np.random.default_rng(7), []
    for index, method in itertools.product(range(PROMPTS), METHODS):
        for guide, scale in [("", None)] if method == "default" else GUIDES.items():
            # A quarter of the prompts give the same text by every method: a draw.
            text = f"same {index}" if index % 4 == 0 else f"{method} {guide} {index}"
            god = float(rng.integers(20)) / 4
            rows.append(answer_row(method, text, index, guide, reward_scale=scale, god_tokens=god))
    texts = sorted({(row["prompt"], row["text"]) for row in rows})
    for (prompt, text), judge in itertools.product(texts, GUIDES):
        score = float(rng.normal(1.0 if text.startswith("rws") else 0.0))
        rows.append(score_row(judge, text, score, prompt=prompt, normalised_score=score / 2))
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def named_tables(frame: pd.DataFrame) -> dict[str, Table]:
    return {table.name: table for table in reward_bench.tables(frame)}


def scores(frame: pd.DataFrame, judge: str, method: str, guide: str) -> list[float]:
    """Return a judge's scores of a method's answers, prompt by prompt, the slow way."""
    judged = frame[[judges == [judge] for judges in frame["judges"]]]
    scores_by_text = judged.set_index(["prompt", "answer"])["score"].to_dict()
    selected = frame[
        (frame["method"] == method) & (frame["guide"].isna() if method == "default" else frame["guide"] == guide)
    ]
    selected = selected.sort_values("prompt")
    return [scores_by_text[pair] for pair in zip(selected["prompt"], selected["text"], strict=True)]


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
    trends = named_tables["god_trends"].rows
    assert [row["guide"] for row in trends] == sorted(GUIDES)
    assert [row["p_holm"] for row in trends] == pytest.approx(holm([row["p"] for row in trends]))


GRID = (0.5, 2.0, 16.0)
LINES = ["the cat sat on a mat .", "red blue", "a dog ran", "it was red and blue", "a cat ran", "the dog was red"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Path]:
    root = tmp_path_factory.mktemp("selection")
    (root / "prompts.txt").write_text("\n".join(LINES))
    words = ["experiment", "reward-bench", *save_models(root), "--data", f"text:{root / 'prompts.txt'}"]
    words += [*"--causal none --validation 3 --methods rws constant --reward-scale --grid".split(), *map(str, GRID)]
    assert main([*words, "--out", str(root / "out")]) == 0
    return words, root / "out"


def test_grid_counts_what_plain_decodes_win(run: tuple[list[str], Path]) -> None:
    words, out = run
    record = json.loads((out / "reward-bench/selection.json").read_text())
    predictor = load_predictor(words[words.index("--model") + 1])
    assert [choice["guide"] for choice in record["guides"]] == words[words.index("--rewards") + 1 :][:2]
    for choice in record["guides"]:
        guide = load_reward(choice["guide"])
        validation = LINES[3:]
        base = guide.score(
            validation,
            [t.text or "" for p in validation for t in decode(predictor, [p], Confidence(), **grouped(**SHAPE))],
        )
        assert [row["scale"] for row in choice["grid"]] == list(GRID)
        for row in choice["grid"]:
            runs = [
                decode(predictor, [p], RWS(row["scale"]), reward=guide, **grouped(**SHAPE))[0].text or ""
                for p in validation
            ]
            scores = guide.score(validation, runs)
            assert row["score"] == pytest.approx(np.mean(scores), abs=1e-4) and row["n"] == 3
            assert row["net"] == pytest.approx(np.mean(np.sign(np.subtract(scores, base).round(5))))
            assert row["win"] - row["loss"] == pytest.approx(row["net"])
        top = max(choice["grid"], key=lambda row: (row["net"], row["score"], -row["scale"]))
        assert choice["chosen"] == top["scale"]


def test_test_prompts_take_no_part(run: tuple[list[str], Path]) -> None:
    frame = read_unit_rows(run[1])
    chosen, decoded = frame[frame["split"] == "validation"], frame[frame["split"] == "test"]
    assert set(chosen["prompt"]) == set(LINES[3:]) and set(decoded["prompt"]) == set(LINES[:3])
    guided = decoded[decoded["method"] == "rws"]
    record = json.loads((run[1] / "reward-bench/selection.json").read_text())
    assert dict(zip(guided["guide"], guided["reward_scale"], strict=True)) == {
        choice["guide"]: choice["chosen"] for choice in record["guides"]
    }
