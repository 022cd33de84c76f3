"""Temperature and commit order on tiny checkpoints: what they write, that they resume, that controls are controls."""

import json
import math
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pytest
from command_lines import figures as main
from grouped import grouped
from study_runs import EXAMPLES, SHAPE, answer_row, save_models, score_row
from tiny_models import bert_predictor

from paper_figures.extra.story_tasks import sample_task
from paper_figures.runner.results import read_unit_rows
from paper_figures.studies.temperature import tables
from rws_decode import Temperature, decode
from rws_decode.extra.stories.answers import judge
from rws_decode.trace.trace import load

GRID = (1.0, 8.0)
PROMPTS = 3
CHOSEN = ("0", "1", "2")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("models")
    save_models(root)
    return root


@pytest.fixture(scope="module")
def options(models: Path) -> list[str]:
    words = ["--prompts", str(PROMPTS), "--scales", *map(str, GRID)]
    for name, saved in (("model", "model"), ("reward", "guide"), ("judge", "other"), ("causal", "causal")):
        words += [f"--{name}", str(models / saved)]
    return words + [word for name, value in SHAPE.items() for word in (f"--{name}", str(value))]


def temperature(out: Path, options: list[str], *extra: str) -> int:
    return main(["experiment", "temperature", "--out", str(out), *options, *extra])


@pytest.fixture(scope="module")
def finished(options: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the experiment once, for tests that only read it."""
    out = tmp_path_factory.mktemp("finished")
    assert temperature(out, options) == 0
    return out


@pytest.fixture(scope="module")
def frame(finished: Path) -> pd.DataFrame:
    return read_unit_rows(finished)


def rows_of(frame: pd.DataFrame, method: str, scale: float | None) -> list[dict[str, Any]]:
    method_rows = frame[frame["method"] == method]
    if scale is not None:
        method_rows = method_rows[
            method_rows["reward_scale"].where(method_rows["reward_scale"].notna(), method_rows["scale"]) == scale
        ]
    records = method_rows.sort_values("example").to_dict("records")
    assert [row["example"] for row in records] == list(CHOSEN)
    return records


def test_temperature_ranks_exactly_and_its_twin_as_public_decoders_do(frame: pd.DataFrame) -> None:
    for name, twin in (("temperature", False), ("temperature-bf16", True)):
        method_rows = frame[frame["method"] == name]
        wanted = ("probability", "bfloat16") if twin else ("log-odds", "float64")
        assert set(zip(method_rows["ranking"], method_rows["precision"], strict=True)) == {wanted}
        assert (method_rows[method_rows["scale"] == 8.0]["saturated"].sum() > 0) == twin
    same = [[row["text"] for row in rows_of(frame, *at)] for at in (("temperature", 1.0), ("default", None))]
    assert same[0] == same[1]


def test_a_true_story_is_measured_by_its_true_probability() -> None:
    task = sample_task(Random(0), "keywords", "short")
    said = judge(task.prompt, task.answer)
    assert said.log_probability is not None
    rows, place = [], {"experiment": "temperature", "prompt": task.prompt}
    for method, text, log in (("default", task.answer, said.log_probability), ("rws", "no", None)):
        told = {"log_probability": log, "coherent": log is not None, "violations": 0 if log is not None else 3}
        told |= {"scale": None, "mean_factor": 1.0, "ended": True, "ties": 0, "saturated": 0, "eligible": 40}
        told |= {"reward_calls": 8, "reward_calls_saved": 0, "keywords_included": 4}
        rows.append(answer_row(method, text, guide="g", **place, **told))
    for text, tokens in ((task.answer, 30), ("no", 2)):
        known = {"strategy": "perplexity", "prompt": task.prompt, "history": [], "answer": text, "judges": []}
        rows.append(known | {"nll": 9.0, "causal_tokens": tokens, "perplexity": math.exp(9.0 / tokens)})
        rows.append(score_row("g", text, float(tokens), prompt=task.prompt))
    summary, controls, _ = (table.rows for table in tables(pd.DataFrame(rows)))
    good, bad = ({row["method"]: row for row in summary}[method] for method in ("default", "rws"))
    assert (good["coherent"], good["exact"], good["true_perplexity_n"]) == (1.0, 0.0, 1)
    assert good["true_perplexity"] == pytest.approx(math.exp(-said.log_probability / 30))
    assert (bad["coherent"], bad["exact"], bad["true_perplexity"], bad["judge"]) == (0.0, -3.0, None, None)
    differences = {row["metric"]: row["difference"] for row in controls}
    assert (differences["coherent"], differences["exact"], differences["reward"]) == (-1.0, -3.0, -28.0)


def commit_order(out: Path, models: Path, *extra: str) -> dict[str, Any]:
    words = ["--model", str(models / "model"), "--reward", str(models / "guide"), "--examples", "3", "1"]
    words += [word for name, value in SHAPE.items() for word in (f"--{name}", str(value))]
    assert main(["experiment", "commit-order", "--out", str(out), *words, *extra]) == 0
    return json.loads((out / "commit-order/results.json").read_text())


def test_commit_order_goes_left_to_right_in_pairs_by_confidence_and_by_reward(models: Path, tmp_path: Path) -> None:
    results = commit_order(tmp_path, models)
    folder = tmp_path / "commit-order"
    traces = {path.stem: load(path) for path in folder.glob("*.parquet")}
    assert set(traces) == {
        f"{method}-{example}" for method in ("left-to-right", "default", "rws") for example in (3, 1)
    }
    for example in (3, 1):
        pairs = traces[f"left-to-right-{example}"]
        assert pairs.commit_step.tolist() == [step for step in range(4) for _ in range(2)]
        assert pairs.god_tokens == pairs.god_steps == 0
        default, guided = traces[f"default-{example}"], traces[f"rws-{example}"]
        assert default.block == guided.block == 4
        assert (set(default.factor), guided.strategy["reward_scale"]) == ({1.0}, 8.0)
        assert {trace.prompt_text for trace in (pairs, default, guided)} == {EXAMPLES[example]["prompt"]}
        (alone,) = decode(bert_predictor(), [EXAMPLES[example]["prompt"]], Temperature(1.0), **grouped(**SHAPE))
        assert alone.tokens.tolist() == default.tokens.tolist()
    assert [(row["method"], row["example"]) for row in results["rows"]] == [
        (method, example) for example in (3, 1) for method in ("left-to-right", "default", "rws")
    ]
    for row in results["rows"]:
        trace = traces[f"{row['method']}-{row['example']}"]
        assert row["trace"] == f"{row['method']}-{row['example']}.parquet"
        assert (row["text"], row["god_steps"]) == (trace.text, trace.god_steps)
