"""How far the same decodes part in other settings: what is compared, and the command that measures it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from paper_figures.bench.devices import CPUS, USUAL, Recording, Setting, Work, compare, record, setting_named
from rws_decode.__main__ import main
from rws_decode.predictors import load_predictor
from rws_decode.testing import tiny_checkpoint

PROMPTS = ["the cat sat on a mat .", "a dog ran", "it was red and blue"]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Work:
    root = tmp_path_factory.mktemp("settings")
    tiny_checkpoint("bert", root / "model", files={"examples.json": [{"prompt": prompt} for prompt in PROMPTS]})
    tiny_checkpoint("classifier", root / "reward", files={"reward.json": {"mean": 0.0, "std": 0.3}})
    return Work(str(root / "model"), PROMPTS, str(root / "reward"), length=16, steps=8, block=8)


@pytest.fixture(scope="module")
def first(work: Work) -> Recording:
    return record(work, Setting())


def test_the_same_setting_gives_the_same_bits(work: Work, first: Recording) -> None:
    rows = compare("again", first, record(work, Setting(), first))
    assert [row.strategy for row in rows] == ["default", "rws"]
    for row in rows:
        assert (row.answers, row.identical, row.equal, row.explained, row.unexplained) == (3, 3, 3, 0, 0)
        assert row.logits == 0.0 and row.first_step is None
    assert (rows[0].reward, rows[1].reward) == (None, 0.0)


@pytest.mark.parametrize("setting", [Setting(), Setting(dtype="float64"), Setting(batch=1)], ids=["", "float64", "one"])
def test_logits_are_those_of_the_first_ones_canvases(setting: Setting, work: Work, first: Recording) -> None:
    predictor, rows = load_predictor(work.model, dtype=setting.dtype), []
    for prompt, step, positions in first.places:
        trace = first.traces["default"][prompt]
        canvas = torch.tensor([[*trace.prompt.tolist(), *trace.canvas[step].tolist()]])
        with torch.inference_mode():
            logits = predictor.logits(canvas, None)[0, [len(trace.prompt) + position for position in positions]]
        rows.append(logits.double().numpy())
    recorded = record(work, setting, first).logits
    known = np.isfinite(recorded)
    assert recorded.shape == np.concatenate(rows).shape and known.mean() > 0.8
    tolerance = 1e-10 if setting.dtype == "float64" else 1e-5
    np.testing.assert_allclose(recorded[known], np.concatenate(rows)[known], rtol=0, atol=tolerance)


def test_every_answer_and_several_steps_are_looked_at(first: Recording) -> None:
    assert {prompt for prompt, _, _ in first.places} == {0, 1, 2}
    assert {step for _, step, _ in first.places} == {0, 2, 4, 7}
    assert all(0 < len(positions) <= 8 for _, _, positions in first.places)


def test_other_dtypes_differ_as_their_rounding_does(work: Work, first: Recording) -> None:
    sizes = {}
    for dtype in ("float64", "bfloat16"):
        (row, _) = compare(dtype, first, record(work, Setting(dtype=dtype), first))
        sizes[dtype], equal = row.logits, row.equal
        assert row.identical == 0 and equal == row.answers - row.explained - row.unexplained
    assert 0 < sizes["float64"] < 1e-4 < sizes["bfloat16"]


def test_where_answers_part_is_told_with_its_near_ties(first: Recording) -> None:
    trace = first.traces["default"][1]
    where = int(np.flatnonzero(trace.commit_step == 3)[0])
    tokens = np.array(trace.tokens)
    tokens[where] = (tokens[where] - 6 + 1) % 20 + 6
    candidate = np.where(trace.commit_step == 3, tokens, trace.candidate)
    candidate = np.where((trace.candidate == trace.tokens) & (np.arange(len(tokens)) == where), tokens, candidate)
    changed = replace(trace, tokens=tokens, candidate=candidate)
    other = replace(first, traces={"default": [*first.traces["default"][:1], changed, *first.traces["default"][2:]]})
    kept = replace(first, traces={"default": first.traces["default"]})
    (row,) = compare("changed", kept, other)
    assert (row.answers, row.identical, row.equal, row.explained, row.unexplained) == (3, 2, 2, 0, 1)
    assert row.first_step == 3
    near = replace(trace, near_ties=np.where(np.arange(trace.steps_run) == 3, 1, trace.near_ties))
    ours = [*first.traces["default"][:1], near, *first.traces["default"][2:]]
    (row,) = compare("changed", replace(first, traces={"default": ours}), other)
    assert (row.explained, row.unexplained, row.first_step) == (1, 0, 3) and row.near_steps > 0


def test_settings_are_read_from_their_names() -> None:
    assert setting_named("") == Setting() and setting_named("batch=2,cpu=avx2") == Setting(batch=2, cpu="avx2")
    assert setting_named("dtype=float64", Setting(threads=3)) == Setting(dtype="float64", threads=3)
    assert {setting_named(name) for name in USUAL} > {Setting(), *(Setting(cpu=name) for name in CPUS)}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["dtype=float64"], "SETTING is dtype=float64 alone"),
        (["", "speed=3"], "setting is 'speed=3': name=value is needed, of device, dtype"),
        (["", "batch=x"], "setting is 'batch=x': batch is a whole number"),
        (["", "batch=0"], "batch is 0: at least 1 is needed"),
        (["", "threads=0"], "threads is 0"),
        (["", "cpu=z80"], "cpu is 'z80': default or avx2 is needed"),
        (["", "attention=flash"], "attention is 'flash': math is needed"),
        (["--prompts", "0"], "--prompts is 0"),
        (["--prompts", "100000"], "--prompts is 100000: mini ships"),
        (["--steps", "5"], "steps is 5"),
    ],
)
def test_bad_settings_are_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", *words]) == 2
    said = capsys.readouterr()
    assert message in said.err and said.out == "" and said.err.count("\n") == 1


def test_the_command_compares_processes(work: Work, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["devices", "", "batch=1,cpu=default", "--model", work.model, "--reward", str(work.reward)]
    words += ["--prompts", "2", "--length", "16", "--steps", "8", "--block", "8"]
    assert main([*words, "--json"]) == 0
    comparison: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert comparison["first"]["threads"] == 1 and [row["strategy"] for row in comparison["rows"]] == ["default", "rws"]
    for row in comparison["rows"]:
        assert row["setting"] == "batch=1,cpu=default" and row["answers"] == 2 and row["logits"] < 1e-3
