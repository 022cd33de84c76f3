"""Frequency and overhead on tiny checkpoints: what is timed is what was decoded, ratios are those of its seconds."""

from statistics import median
from typing import Any

import pandas as pd
import pytest
from command_lines import figures as main
from study_runs import SHAPE, save_models

from paper_figures.runner import read_unit_rows
from paper_figures.studies import frequency, overhead, timing
from paper_figures.studies.answers import answers_of

KEPT = ("rws", "constant", "default")
RUNS = {
    "frequency": ["--every", "1", "3", "--timing-prompts", "1", "--repetitions", "2", "--methods", *KEPT],
    "overhead": ["--prompts", "1", "--repetitions", "2", "--methods", *KEPT, "best-of-n"],
}


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    out, options = tmp_path_factory.mktemp("finished"), save_models(tmp_path_factory.mktemp("models"))
    for name, extra in RUNS.items():
        assert main(["experiment", name, *options, *extra, "--out", str(out)]) == 0
    return {name: read_unit_rows(out / name) for name in RUNS}


def test_what_is_timed_is_what_was_decoded(frames: dict[str, pd.DataFrame]) -> None:
    for frame in frames.values():
        answers, timed = answers_of(timing.untimed(frame)), timing.measured(frame)
        keys = ["guide", "method", "example"]
        texts = answers.set_index(keys)["text"]
        assert len(timed) and texts.index.is_unique
        for _, row in timed[timed["savings"] == "usual"].iterrows():
            assert row["text"] == texts[tuple(row[keys])]
        assert (timed["seconds"].map(len) == 2).all() and timed["seconds"].map(min).gt(0).all()
        assert [median(runs) for runs in timed["seconds"]] == timed["median_seconds"].tolist()


def test_savings_leave_out_calls_and_change_no_text(frames: dict[str, pd.DataFrame]) -> None:
    timed = timing.measured(frames["overhead"])
    for _, rows in timed[timed["method"] == "rws"].groupby(["guide", "example"]):
        by_savings = rows.set_index("savings")
        assert by_savings.loc["nothing", ["reward_calls", "reward_calls_saved"]].tolist() == [SHAPE["steps"], 0]
        assert by_savings.loc["everything", "reward_calls"] <= by_savings.loc["usual", "reward_calls"] <= SHAPE["steps"]
        assert by_savings["text"].nunique() == 1
    best = timed[timed["method"] == "best-of-n"]
    assert (best["forwards"] == SHAPE["steps"] * best["reward_calls"]).all(), "a score of each sample's answer"


def timed_by_hand(seconds: dict[tuple[str, str], list[list[float]]], **columns: Any) -> pd.DataFrame:
    """Return timing rows of made-up seconds: (guide, method) -> runs, prompt by prompt."""
    rows = []
    for (guide, method), prompts in seconds.items():
        for example, runs in enumerate(prompts):
            row = {"guide": guide, "reward_scale": 8.0, "method": method, "savings": "usual", "example": str(example)}
            row |= {"turn": 0, "split": "timing", "measured_on": "here", "torch_threads": 1, "workers": "1"}
            row |= {"repetitions": len(runs), "seconds": runs, "median_seconds": median(runs), "load": 0.5}
            row |= {"cpu_seconds": [value / 2 for value in runs], "median_cpu_seconds": median(runs) / 2}
            rows.append(row | {"forwards": 4, "reward_calls": 0, "reward_calls_saved": 0, "text": method} | columns)
    return pd.DataFrame(rows)


def test_increase_is_that_of_the_mean_seconds() -> None:
    table11 = timed_by_hand({("a", "default"): [[20.197]] * 3, ("a", "rws"): [[26.288]] * 3})
    rows, how = timing.timed_rows(table11, 0, ("guide", "method"))
    rws = next(row for row in rows if row["method"] == "rws")
    assert rws["increase"] == pytest.approx(100 * (26.288 / 20.197 - 1)) == pytest.approx(30.16, abs=0.005)
    assert rws["increase_low"] == pytest.approx(rws["increase_high"]) and rws["p"] == 0.25
    assert "here, PyTorch threads: 1, workers at once: 1" in how

    seconds = {("a", "default"): [[1.0, 9.0, 2.0], [4.0, 4.0, 4.0]], ("a", "rws"): [[3.0, 3.0, 3.0], [5.0, 6.0, 7.0]]}
    rows, _ = timing.timed_rows(timed_by_hand(seconds), 0, ("guide", "method"))
    default, rws = rows
    assert (default["seconds"], rws["seconds"], rws["runs"]) == (3.0, 4.5, 6) and rws["increase"] == pytest.approx(50)
    assert rws["cpu_increase"] == pytest.approx(50) and default["increase"] is None
    assert (rws["quartile_1"], rws["quartile_3"]) == (3.0, 5.75)


def test_trade_off_is_the_mean_over_the_guides(frames: dict[str, pd.DataFrame]) -> None:
    assert all(table.rows for table in overhead.tables(frames["overhead"]))
    (made,) = (table for table in frequency.tables(frames["frequency"]) if table.name == "trade_off")
    answers, rows = answers_of(timing.untimed(frames["frequency"])), pd.DataFrame(made.rows).set_index("method")
    assert rows.index[0] == "default"
    for method in ("default", "rws", "rws every 3", "constant"):
        selected = answers[answers["method"] == method]
        assert rows.loc[method, "god_tokens"] == pytest.approx(selected["god_tokens"].mean())
        assert rows.loc[method, "reward_calls"] == pytest.approx(selected["reward_calls"].mean())
    base = answers[answers["method"] == "default"]["god_tokens"].mean()
    assert rows.loc["rws", "god_tokens_ratio"] == pytest.approx(rows.loc["rws", "god_tokens"] / base)
    means = timing.measured(frames["frequency"]).groupby("method")["median_seconds"].mean()
    assert rows.loc["rws", "increase"] == pytest.approx(100 * (means["rws"] / means["default"] - 1))
