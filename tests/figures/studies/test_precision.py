"""The precision experiment on a tiny checkpoint: its numbers are those of decodes, and it resumes."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from grouped import grouped
from single_stage_runs import PROMPTS, options_of, results_of, run, save_models

from paper_figures.runner import read_unit_rows
from paper_figures.statistics import holm
from paper_figures.studies.precision import RANKINGS
from rws_decode import RWS, Temperature, decode, load_predictor, load_reward

SCALES = (0.5, 8.0)
STRATEGIES = ("temperature", "rws", "constant", "shuffled")
SHAPE: dict[str, Any] = {"length": 8, "steps": 4, "block": 4}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_models(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def finished(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("finished")
    assert run("precision", out, options_of(models, **SHAPE, scales=SCALES, strategies=STRATEGIES)) == 0
    return out


def cell(frame: pd.DataFrame, strategy: str, scale: float, ranking: str) -> pd.DataFrame:
    rows = frame[(frame["method"] == strategy) & (frame["at"] == scale) & (frame["rounding"] == ranking)]
    assert len(rows) == len(PROMPTS)
    return rows.sort_values("example", ignore_index=True)


def test_rows_are_what_the_decoder_did(finished: Path, models: Path) -> None:
    predictor, reward = load_predictor(str(models / "tiny")), load_reward(str(models / "reward"))
    frame = read_unit_rows(finished)
    assert len(frame) == 4 * 2 * 3 * 3
    for scale in SCALES:
        for strategy in (Temperature(scale), RWS(scale)):
            for name, (ranking, precision) in RANKINGS.items():
                how: dict[str, Any] = SHAPE | {"ranking": ranking, "precision": precision}
                batch = decode(
                    predictor, PROMPTS, strategy, reward=reward if strategy.needs_reward else None, **grouped(**how)
                )
                rows = cell(frame, strategy.name, scale, name)
                assert rows["prompt"].tolist() == PROMPTS
                assert [list(tokens) for tokens in rows["tokens"]] == batch.tokens.tolist()
                for row, trace in zip(rows.to_dict("records"), batch, strict=True):
                    assert (row["god_tokens"], row["god_steps"]) == (trace.god_tokens, trace.god_steps)
                    assert (row["inexact"], row["tied"]) == (trace.inexact.sum(), (trace.ties > 0).sum())
                    assert (row["saturated"], row["eligible"]) == (trace.saturated.sum(), trace.eligible.sum())


def test_the_summary_is_the_mean_and_the_difference_to_the_exact_ranking(finished: Path) -> None:
    summary, frame = results_of(finished, "precision")["summary"], read_unit_rows(finished)
    with open(finished / "precision/summary.csv", newline="") as stream:
        table = list(csv.DictReader(stream))
    assert [(line["strategy"], line["scale"], line["ranking"]) for line in table] == [
        (strategy, str(scale), name) for strategy in STRATEGIES for scale in SCALES for name in RANKINGS
    ]
    for line in summary:
        ranked, exact = (cell(frame, line["strategy"], line["scale"], name) for name in (line["ranking"], "exact"))
        for field in ("god_tokens", "god_steps"):
            assert line[field] == pytest.approx(ranked[field].mean())
            assert line[f"{field}_due"] == pytest.approx(ranked[field].mean() - exact[field].mean())
            assert line[f"{field}_due_low"] <= line[f"{field}_due"] <= line[f"{field}_due_high"]
            family = [row for row in summary if all(row[name] == line[name] for name in ("strategy", "ranking"))]
            assert [row[f"{field}_due_p_holm"] for row in family] == holm([row[f"{field}_due_p"] for row in family])
        assert line["inexact"] == ranked["inexact"].sum() / (3 * 4)
        assert line["saturated"] == ranked["saturated"].sum() / (3 * 2 * (4 + 2))
        same = [list(a) == list(b) for a, b in zip(ranked["tokens"], exact["tokens"], strict=True)]
        assert line["same_tokens"] == np.mean(same)
        if line["ranking"] == "exact":
            assert (line["god_tokens_due"], line["inexact"], line["same_tokens"]) == (0, 0, 1)
    by_name = {(line["ranking"], line["scale"]): line for line in summary if line["strategy"] == "temperature"}
    assert by_name["bfloat16", 8.0]["inexact"] > by_name["float32", 8.0]["inexact"] >= 0
    assert by_name["bfloat16", 8.0]["saturated"] > by_name["float32", 8.0]["saturated"]
