"""Experiments on tiny checkpoints: what they write, that they resume, and that their controls are controls."""

from __future__ import annotations

import csv
import json
import math
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from tiny_models import EOS, bert_predictor, classifier, llama, save_predictor, save_reward, tokenizer

from rws_decode.__main__ import main
from rws_decode.decode import decode
from rws_decode.experiments import EXPERIMENTS, temperature_cell
from rws_decode.experiments.commit_order import run_commit_order
from rws_decode.experiments.sources import Example, examples_of
from rws_decode.experiments.temperature import run_temperature
from rws_decode.experiments.temperature_cell import Settings, answer_rows
from rws_decode.experiments.temperature_summary import COMPARED, METRICS
from rws_decode.files import write_json
from rws_decode.guidance import Confidence, Temperature
from rws_decode.metrics import AnswerScore, CausalScorer, pooled_perplexity
from rws_decode.rewards import CallableReward
from rws_decode.stories.answers import judge
from rws_decode.stories.tasks import sample_task
from rws_decode.trace import load

SCALES = (1.0, 8.0)
PROMPTS = 3
METHODS = ("default", "temperature", "temperature-bf16", "rws", "constant", "shuffled")
CELLS = {"default-1"} | {f"{method}-{scale}" for method in METHODS[1:] for scale in (1, 8)}
EXAMPLES: list[dict[str, Any]] = [
    {"kind": "keywords", "prompt": "the cat sat on a mat .", "keywords": ["cat", "mat", "bird", "hill"]},
    {"kind": "puzzle", "prompt": "red blue"},
    {"kind": "keywords", "prompt": "a dog ran", "keywords": ["dog", "ran", "tree", "small"]},
    {"kind": "keywords", "prompt": "it was red and blue", "keywords": ["red", "blue", "flew", "."]},
    {"kind": "keywords", "prompt": "under the hill", "keywords": ["the", "a", "on", "it"]},
]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Save four tiny checkpoints, and say how to decode with them."""
    root = tmp_path_factory.mktemp("models")
    save_predictor(root / "model", examples=EXAMPLES)
    save_reward(root / "reward", {"mean": 0.1, "std": 0.5})
    save_reward(root / "judge", {"mean": 0.0, "std": 1.0})
    classifier(1).save_pretrained(root / "judge")
    llama().save_pretrained(root / "causal")
    tokenizer().save_pretrained(root / "causal")
    places = {name: str(root / name) for name in ("model", "reward", "judge", "causal")}
    return Settings(**places, prompts=PROMPTS, length=16, steps=8, block=8)


@pytest.fixture(scope="module")
def finished(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the experiment once, for tests that only read it."""
    out = tmp_path_factory.mktemp("finished")
    run_temperature(out, settings, SCALES)
    return out


def options(settings: Settings) -> list[str]:
    words = ["--scales", "1", "8"]
    for name, value in asdict(settings).items():
        words += [f"--{name}", str(value)]
    return words


def cell(out: Path, name: str) -> dict[str, Any]:
    return json.loads((out / "temperature" / f"{name}.json").read_text())


def times(out: Path) -> dict[str, int]:
    return {str(path.relative_to(out)): path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}


def contents(out: Path) -> dict[str, Any]:
    """Return every file's bytes, of JSON files the value but for the seconds, which alone may differ."""
    found: dict[str, Any] = {}
    for path in sorted(path for path in out.rglob("*") if path.is_file()):
        data: Any = path.read_bytes()
        if path.suffix == ".json":
            data = json.loads(data)
            assert data.pop("seconds") > 0
        found[str(path.relative_to(out))] = data
    return found


def count_cells(monkeypatch: pytest.MonkeyPatch, fail_after: int | None = None) -> list[str]:
    """Record the name of every cell that runs from here on; interrupt where one too many would."""
    ran: list[str] = []
    original = temperature_cell.run_cell

    def counted(folder: Path, one: temperature_cell.Cell, **rest: Any) -> None:
        if fail_after is not None and len(ran) == fail_after:
            raise KeyboardInterrupt
        ran.append(one.name)
        original(folder, one, **rest)

    monkeypatch.setattr(temperature_cell, "run_cell", counted)
    return ran


def test_every_file_is_there_and_no_other(finished: Path) -> None:
    traced = [
        name for name in CELLS if name.split("-")[0] in ("default", "rws") or name in ("temperature-1", "temperature-8")
    ]
    wanted = {f"{name}.json" for name in CELLS} | {"results.json"}
    wanted |= {f"{table}.{kind}" for table in ("summary", "controls") for kind in ("csv", "md")}
    wanted |= {f"traces/{name}/{index}.parquet" for name in traced for index in range(PROMPTS)}
    assert set(times(finished / "temperature")) == wanted


def test_results_hold_every_answer_and_agree_with_the_traces(finished: Path) -> None:
    results = json.loads((finished / "temperature/results.json").read_text())
    rows = results["rows"]
    assert len(rows) == len(CELLS) * PROMPTS
    assert results["settings"]["scales"] == list(SCALES)
    for row in rows:
        name = f"{row['method']}-{row['scale']:g}"
        assert row in cell(finished, name)["rows"]
        assert row["prompt"] == EXAMPLES[row["example"]]["prompt"]
        assert row["keywords"] == EXAMPLES[row["example"]]["keywords"]
        assert row["keywords_included"] == sum(word in row["text"].split() for word in row["keywords"])
        assert row["perplexity"] == pytest.approx(math.exp(row["nll"] / (row["answer_tokens"] + 1)))
        assert row["exact"] == -len(row["violations"])
        assert row["coherent"] == (not row["violations"])
        assert (row["true_perplexity"] is None) == (row["log_probability"] is None)
        assert row["eligible"] == 2 * (8 + 6 + 4 + 2)
        assert row["mean_factor"] == pytest.approx(np.mean(row["factors"]))
        if row["method"] in ("default", "temperature", "rws"):
            trace = load(finished / "temperature" / row["trace"])
            assert (trace.prompt_text, trace.text, trace.forwards) == (row["prompt"], row["text"], row["forwards"])
            assert (trace.god_tokens, trace.god_steps) == (row["god_tokens"], row["god_steps"])
            assert trace.factor.tolist() == row["factors"]
            assert (EOS in trace.tokens) == row["ended"]
            asked = row["reward_calls"] + row["reward_calls_saved"]
            assert asked == (8 if row["method"] == "rws" else 0)
        else:
            assert row["trace"] is None
    assert [row["example"] for row in rows[:PROMPTS]] == [0, 2, 3]


def test_cells_say_how_they_ranked(finished: Path) -> None:
    for name in CELLS:
        found = cell(finished, name)["settings"]
        rounded = name.startswith("temperature-bf16")
        wanted = ("probability", "bfloat16") if rounded else ("log-odds", "float64")
        assert (found["ranking"], found["precision"]) == wanted
    saturated = {name: sum(row["saturated"] for row in cell(finished, name)["rows"]) for name in CELLS}
    assert saturated["temperature-bf16-8"] > saturated["temperature-8"] == 0


def test_temperature_one_is_the_default(finished: Path) -> None:
    for index in range(PROMPTS):
        default, one = (
            load(finished / f"temperature/traces/{name}-1/{index}.parquet") for name in ("default", "temperature")
        )
        assert default.tokens.tolist() == one.tokens.tolist()
        assert default.commit_step.tolist() == one.commit_step.tolist()
    one, eight = (cell(finished, f"temperature-{scale}")["rows"] for scale in (1, 8))
    assert [row["god_tokens"] for row in one] != [row["god_tokens"] for row in eight]


def test_controls_take_their_factors_from_the_rws_run_of_their_prompt(finished: Path) -> None:
    for scale in (1, 8):
        for guided, constant, permuted in zip(
            *(cell(finished, f"{method}-{scale}")["rows"] for method in ("rws", "constant", "shuffled")), strict=True
        ):
            assert constant["factors"] == [pytest.approx(guided["mean_factor"])] * 8
            np.testing.assert_allclose(sorted(permuted["factors"]), sorted(guided["factors"]), rtol=1e-14)
            assert len(set(guided["factors"])) > 2
            assert permuted["factors"] != guided["factors"]


def test_the_summary_is_that_of_the_rows(finished: Path) -> None:
    results = json.loads((finished / "temperature/results.json").read_text())
    with open(finished / "temperature/summary.csv", newline="") as stream:
        table = list(csv.DictReader(stream))
    assert [(row["method"], float(row["scale"])) for row in table] == [
        (row["method"], row["scale"]) for row in results["summary"]
    ]
    for line, read in zip(results["summary"], table, strict=True):
        assert {key: None if text == "" else text for key, text in read.items()} == {
            key: None if value is None else str(value) for key, value in line.items()
        }
        rows = [row for row in results["rows"] if (row["method"], row["scale"]) == (line["method"], line["scale"])]
        for field in ("perplexity", "god_tokens", "god_steps", "coherent", "exact", "judge"):
            values = [row[field] for row in rows]
            assert line[field] == pytest.approx(np.mean(values))
            assert line[f"{field}_low"] <= line[field] <= line[f"{field}_high"]
        for field in ("reward", "keywords_included", "mean_factor", "ended", "ties", "reward_calls"):
            assert line[field] == pytest.approx(np.mean([row[field] for row in rows]))
        scores = [AnswerScore(row["nll"], row["answer_tokens"] + 1) for row in rows]
        assert line["perplexity_pooled"] == pytest.approx(pooled_perplexity(scores))
        assert line["n"] == PROMPTS
    same = {(line["method"], line["scale"]): line["same_as_default"] for line in results["summary"]}
    assert same["default", 1.0] == same["temperature", 1.0] == 1.0
    markdown = (finished / "temperature/summary.md").read_text()
    assert markdown.count("\n| ") == 1 + len(CELLS)


def test_controls_are_compared_prompt_by_prompt(finished: Path) -> None:
    results = json.loads((finished / "temperature/results.json").read_text())
    controls = results["controls"]
    assert {(row["control"], row["scale"], row["metric"]) for row in controls} == {
        (control, scale, metric) for control in COMPARED for scale in SCALES for metric in METRICS
    }
    for line in controls:
        guided = cell(finished, f"rws-{line['scale']:g}")["rows"]
        name = "default-1" if line["control"] == "default" else f"{line['control']}-{line['scale']:g}"
        others = cell(finished, name)["rows"]
        differences = [
            float(one[line["metric"]]) - float(other[line["metric"]]) for one, other in zip(guided, others, strict=True)
        ]
        assert line["difference"] == pytest.approx(np.mean(differences))
        assert min(differences) <= line["low"] <= line["high"] <= max(differences)
    markdown = (finished / "temperature/controls.md").read_text()
    assert markdown.count("\n| ") == 1 + len(COMPARED) * len(SCALES)


def test_a_second_run_decodes_nothing_and_touches_no_file(
    finished: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, stored = times(finished), json.loads((finished / "temperature/results.json").read_text())
    ran = count_cells(monkeypatch)
    assert run_temperature(finished, settings, SCALES) == stored
    assert ran == []
    assert times(finished) == before


def test_the_same_seed_writes_the_same_and_another_seed_shuffles_otherwise(
    finished: Path, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_temperature(tmp_path, settings, SCALES)
    assert contents(tmp_path) == contents(finished)
    ran = count_cells(monkeypatch)
    run_temperature(tmp_path, replace(settings, seed=1), SCALES)
    assert ran == ["shuffled-1", "shuffled-8"]
    assert cell(tmp_path, "shuffled-8")["rows"] != cell(finished, "shuffled-8")["rows"]


def test_processes_write_the_same_cells(finished: Path, settings: Settings, tmp_path: Path) -> None:
    arguments = ["experiment", "temperature", "--out", str(tmp_path), "--workers", "2", *options(settings)]
    assert main([*arguments, "--scales", "8"]) == 0
    found, wanted = contents(tmp_path), contents(finished)
    cells = [name for name in found if "-8" in name]
    assert len(cells) == 5 + 2 * PROMPTS
    assert {name: found[name] for name in cells} == {name: wanted[name] for name in cells}


def test_an_interrupted_run_goes_on_where_it_stopped(
    finished: Path, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as context:
        first = count_cells(context, fail_after=7)
        with pytest.raises(KeyboardInterrupt):
            run_temperature(tmp_path, settings, SCALES)
    assert not (tmp_path / "temperature/results.json").exists()
    second = count_cells(monkeypatch)
    run_temperature(tmp_path, settings, SCALES)
    assert len(first) == 7
    assert {*first, *second} == CELLS
    assert not {*first} & {*second}
    assert contents(tmp_path) == contents(finished)


@pytest.mark.parametrize(
    ("lost", "again"),
    [
        ("constant-8.json", ["constant-8"]),
        ("traces/temperature-1/0.parquet", ["temperature-1"]),
        ("traces/rws-8/2.parquet", ["rws-8", "constant-8", "shuffled-8"]),
        ("summary.md", []),
    ],
)
def test_what_is_lost_is_made_again(
    lost: str, again: list[str], finished: Path, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    (tmp_path / "temperature" / lost).unlink()
    ran = count_cells(monkeypatch)
    run_temperature(tmp_path, settings, SCALES)
    assert ran == again
    assert contents(tmp_path) == contents(finished)


def test_a_larger_grid_keeps_the_cells_it_shares(
    finished: Path, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    ran = count_cells(monkeypatch)
    results = run_temperature(tmp_path, settings, (1.0, 2.0, 8.0))
    assert sorted(ran) == sorted(f"{method}-2" for method in METHODS[1:])
    assert len(results["summary"]) == 16


def test_changed_weights_make_every_cell_again(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(settings.model, tmp_path / "model")
    changed = replace(settings, model=str(tmp_path / "model"))
    before = run_temperature(tmp_path / "out", changed, (8.0,))
    bert_predictor(5).model.save_pretrained(tmp_path / "model")
    ran = count_cells(monkeypatch)
    after = run_temperature(tmp_path / "out", changed, (8.0,))
    assert len(ran) == 6
    assert [row["text"] for row in before["rows"]] != [row["text"] for row in after["rows"]]


def test_a_true_story_is_measured_by_its_true_probability() -> None:
    task = sample_task(Random(0), "keywords", "short")
    predictor = bert_predictor()
    good = decode(predictor, ["a dog"], Confidence(), length=4, steps=2, block=4)[0]
    broken = task.answer.replace(task.keywords[0], "zebra")
    traces = [replace(good, text=text) for text in (task.answer, broken, "")]
    examples = [Example(0, task.prompt, task.keywords)] * 3
    counted = CallableReward(lambda prompt, answer: len(answer.split()))
    model = llama()
    model.config.max_position_embeddings = 256
    rows = answer_rows(traces, examples, EOS, counted, counted, CausalScorer(model, tokenizer()))
    log_probability = judge(task.prompt, task.answer).log_probability
    assert log_probability is not None
    tokens = len(tokenizer()(task.answer, add_special_tokens=False)["input_ids"])
    assert (rows[0]["coherent"], rows[0]["violations"], rows[0]["exact"]) == (True, [], 0.0)
    assert rows[0]["log_probability"] == log_probability
    assert rows[0]["true_perplexity"] == pytest.approx(math.exp(-log_probability / (tokens + 1)))
    assert (rows[0]["answer_tokens"], rows[2]["answer_tokens"]) == (tokens, 0)
    assert rows[0]["keywords_included"] == 4
    for row in rows[1:]:
        assert (row["coherent"], row["log_probability"], row["true_perplexity"]) == (False, None, None)
        assert row["exact"] == -len(row["violations"]) < 0
        assert math.isfinite(row["perplexity"])


def test_the_command_prints_json_and_nothing_else(
    finished: Path, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["experiment", "temperature", "--out", str(finished), "--json", *options(settings)]) == 0
    printed = json.loads(capsys.readouterr().out)
    stored = json.loads((finished / "temperature/results.json").read_text())
    assert (printed["summary"], printed["controls"]) == (stored["summary"], stored["controls"])
    assert printed["folder"] == str(finished / "temperature")
    assert main(["experiment", "temperature", "--out", str(finished), *options(settings)]) == 0
    assert (finished / "temperature/summary.md").read_text() in capsys.readouterr().out


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--prompts", "0"], "--prompts is 0"),
        (["--prompts", "5"], "prompts is 5: "),
        (["--workers", "0"], "--workers is 0"),
        (["--seed", "-1"], "--seed is -1"),
        (["--scales", "0"], "--scales is [0.0]"),
        (["--scales", "2", "2"], "--scales is [2.0, 2.0]"),
        (["--scales", "nan"], "--scales is [nan]"),
        (["--scales", "two"], "invalid float value: 'two'"),
        (["--block", "7"], "block is 7"),
        (["--model", "nowhere"], "model is 'nowhere'"),
        (["--reward", "nowhere"], "reward is 'nowhere'"),
        (["--judge", "nowhere"], "judge is 'nowhere'"),
        (["--causal", "nowhere"], "causal is 'nowhere'"),
    ],
    ids=" ".join,
)
def test_bad_input_is_one_line_and_exit_two(
    extra: list[str], message: str, settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["experiment", "temperature", "--out", str(tmp_path / "out"), *options(settings), *extra]
    try:
        status: Any = main(arguments)
    except SystemExit as stop:
        status = stop.code
    captured = capsys.readouterr()
    assert status == 2
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert not (tmp_path / "out").exists()


def test_a_file_is_no_folder_for_results(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").write_text("")
    for name in EXPERIMENTS:
        assert main(["experiment", name, "--out", str(tmp_path / "out"), "--model", settings.model]) == 2
        assert "--out is" in capsys.readouterr().err


def test_a_model_without_prompts_is_refused(tmp_path: Path) -> None:
    save_predictor(tmp_path / "bare")
    for content in (None, [], [{"kind": "keywords"}], {"prompt": "a"}):
        if content is not None:
            write_json(tmp_path / "bare/examples.json", content)
        with pytest.raises(ValueError, match="ships no held-out prompts"):
            examples_of(str(tmp_path / "bare"))


def commit_order(out: Path, settings: Settings, **changes: Any) -> dict[str, Any]:
    shared = {"model": settings.model, "reward": settings.reward, "length": 16, "steps": 8, "block": 8}
    return run_commit_order(out, **({"examples": (3, 1)} | shared | changes))


def test_commit_order_goes_left_to_right_in_pairs_by_confidence_and_by_reward(
    settings: Settings, tmp_path: Path
) -> None:
    results = commit_order(tmp_path, settings)
    folder = tmp_path / "commit-order"
    traces = {path.stem: load(path) for path in folder.glob("*.parquet")}
    assert set(traces) == {
        f"{method}-{example}" for method in ("left-to-right", "default", "rws") for example in (3, 1)
    }
    for example in (3, 1):
        pairs = traces[f"left-to-right-{example}"]
        assert pairs.commit_step.tolist() == [step for step in range(8) for _ in range(2)]
        assert pairs.god_tokens == pairs.god_steps == 0
        default, guided = traces[f"default-{example}"], traces[f"rws-{example}"]
        assert default.block == guided.block == 8
        assert (set(default.factor), guided.strategy["reward_scale"]) == ({1.0}, 8.0)
        assert {trace.prompt_text for trace in (pairs, default, guided)} == {EXAMPLES[example]["prompt"]}
        (alone,) = decode(
            bert_predictor(), [EXAMPLES[example]["prompt"]], Temperature(1.0), length=16, steps=8, block=8
        )
        assert alone.tokens.tolist() == default.tokens.tolist()
    for row in results["rows"]:
        trace = traces[f"{row['method']}-{row['example']}"]
        assert row["trace"] == f"{row['method']}-{row['example']}.parquet"
        assert (row["text"], row["god_steps"]) == (trace.text, trace.god_steps)
        assert (row["commit_step"], row["factors"]) == (trace.commit_step.tolist(), trace.factor.tolist())
    assert json.loads((folder / "results.json").read_text()) == results


def test_commit_order_reuses_what_is_there(settings: Settings, tmp_path: Path) -> None:
    first = commit_order(tmp_path, settings)
    before = times(tmp_path)
    assert commit_order(tmp_path, settings) == first
    assert times(tmp_path) == before
    (tmp_path / "commit-order/rws-3.parquet").unlink()
    assert commit_order(tmp_path, settings) == first
    assert (tmp_path / "commit-order/rws-3.parquet").is_file()
    assert commit_order(tmp_path, settings, reward_scale=2.0)["fingerprint"] != first["fingerprint"]


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--examples", "5"], "examples holds 5"),
        (["--steps", "6", "--block", "16"], "steps is 6: it must divide length, 16"),
        (["--reward-scale", "-1"], "reward_scale is -1.0"),
    ],
    ids=" ".join,
)
def test_commit_order_refuses_bad_input(
    extra: list[str], message: str, settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["experiment", "commit-order", "--out", str(tmp_path), "--model", settings.model]
    arguments += ["--reward", settings.reward, "--length", "16", "--steps", "8", "--block", "8"]
    assert main([*arguments, *extra]) == 2
    assert message in capsys.readouterr().err
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["method"] == "left-to-right"
