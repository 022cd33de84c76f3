"""Temperature and commit order on tiny checkpoints: what they write, that they resume, that controls are controls."""

import json
import math
from pathlib import Path
from random import Random

import pandas as pd
import pytest
from command_lines import figures as main
from grouped import grouped
from study_runs import EXAMPLES, SHAPE, answer_row, save_models, score_row
from tiny_models import bert_predictor

from paper_figures.extra.story_tasks import sample_task
from paper_figures.runner import read_unit_rows
from paper_figures.studies.temperature import tables
from rws_decode import Temperature, decode, load_trace
from rws_decode.extra.stories.answers import judge


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("models")
    save_models(root)
    return root


SIZE = [word for name, value in SHAPE.items() for word in (f"--{name}", str(value))]


def test_temperature_ranks_exactly_and_its_twin_as_public_decoders_do(models: Path, tmp_path: Path) -> None:
    words = ["experiment", "temperature", "--out", str(tmp_path), *SIZE, "--prompts", "3", "--scales", "1", "8"]
    for name, saved in (("model", "model"), ("reward", "guide"), ("judge", "other"), ("causal", "causal")):
        words += [f"--{name}", str(models / saved)]
    assert main(words) == 0
    frame = read_unit_rows(tmp_path).sort_values("example")
    for name, twin in (("temperature", False), ("temperature-bf16", True)):
        method_rows = frame[frame["method"] == name]
        wanted = ("probability", "bfloat16") if twin else ("log-odds", "float64")
        assert set(zip(method_rows["ranking"], method_rows["precision"], strict=True)) == {wanted}
        assert (method_rows[method_rows["scale"] == 8.0]["saturated"].sum() > 0) == twin
    one, default = frame.query("method == 'temperature' and scale == 1"), frame.query("method == 'default'")
    assert one["example"].tolist() == default["example"].tolist() == ["0", "1", "2"]
    assert one["text"].tolist() == default["text"].tolist()


def test_a_true_story_is_measured_by_its_true_probability() -> None:
    task = sample_task(Random(0), "keywords", "short")
    verdict = judge(task.prompt, task.answer)
    assert verdict.log_probability is not None
    rows, place = [], {"experiment": "temperature", "prompt": task.prompt}
    for method, text, log in (("default", task.answer, verdict.log_probability), ("rws", "no", None)):
        columns = {"log_probability": log, "coherent": log is not None, "violations": 0 if log is not None else 3}
        columns |= {"scale": None, "mean_factor": 1.0, "ended": True, "ties": 0, "saturated": 0, "eligible": 40}
        columns |= {"reward_calls": 8, "reward_calls_saved": 0, "keywords_included": 4}
        rows.append(answer_row(method, text, guide="g", **place, **columns))
    for text, tokens in ((task.answer, 30), ("no", 2)):
        known = {"strategy": "perplexity", "prompt": task.prompt, "history": [], "answer": text, "judges": []}
        rows.append(known | {"nll": 9.0, "causal_tokens": tokens, "perplexity": math.exp(9.0 / tokens)})
        rows.append(score_row("g", text, float(tokens), prompt=task.prompt))
    summary, controls, _ = (table.rows for table in tables(pd.DataFrame(rows)))
    good, bad = ({row["method"]: row for row in summary}[method] for method in ("default", "rws"))
    assert (good["coherent"], good["exact"], good["true_perplexity_n"]) == (1.0, 0.0, 1)
    assert good["true_perplexity"] == pytest.approx(math.exp(-verdict.log_probability / 30))
    assert (bad["coherent"], bad["exact"], bad["true_perplexity"], bad["judge"]) == (0.0, -3.0, None, None)
    differences = {row["metric"]: row["difference"] for row in controls}
    assert (differences["coherent"], differences["exact"], differences["reward"]) == (-1.0, -3.0, -28.0)


def test_commit_order_goes_left_to_right_in_pairs_by_confidence_and_by_reward(models: Path, tmp_path: Path) -> None:
    words = ["--model", str(models / "model"), "--reward", str(models / "guide"), "--examples", "3", "1", *SIZE]
    assert main(["experiment", "commit-order", "--out", str(tmp_path), *words]) == 0
    folder = tmp_path / "commit-order"
    results = json.loads((folder / "results.json").read_text())
    traces = {path.stem: load_trace(path) for path in folder.glob("*.parquet")}
    assert set(traces) == {f"{rule}-{example}" for rule in ("left-to-right", "default", "rws") for example in (3, 1)}
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
