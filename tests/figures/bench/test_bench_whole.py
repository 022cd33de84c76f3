"""The bench of a whole device: its ways, checks, tables and file, on a tiny model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from grouped import grouped
from tiny_models import bert_predictor

from paper_figures.bench import check, kernels, roofline, ways, whole
from paper_figures.bench.agreement import agreement
from paper_figures.bench.clock import TimedCall
from paper_figures.bench.device_run import device_run, passed
from paper_figures.bench.kernels import KernelRow, kernel_table, reference
from paper_figures.bench.random_models import make_models, random_prompts
from paper_figures.bench.roofline import Ceilings
from paper_figures.bench.shapes import SHAPES
from paper_figures.bench.tables import frequency, overhead, ratios
from paper_figures.bench.ways import Answering, all_ways
from paper_figures.bench.whole import BenchSettings, measure
from rws_decode.__main__ import main
from rws_decode.decode import decode
from rws_decode.gpu import decode_compact
from rws_decode.networks.graphs import Replays
from rws_decode.plain_loop import PlainRun, plain_loop, plain_rws
from rws_decode.rewards import CallableReward
from rws_decode.strategies.factors import RWS, Confidence

CPU, TINY = torch.device("cpu"), SHAPES["tiny"]
PLAN = BenchSettings("tiny", "float32", prompt=6, length=8, steps=4, block=4, batches=(1, 2), repeats=1, every=(2,))
KERNELS = {"rows": 3, "vocabulary": 70, "factors": (1, 3), "repeats": 1}
OPTIONS = "--shape tiny --prompt-tokens 6 --length 8 --steps 4 --block 4 --batches 1 --repeats 1 --rows 2".split()


@pytest.fixture(scope="module", autouse=True)
def _small() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(roofline._SIDE, "cpu", 128)
        patch.setitem(roofline._COPY_BYTES, "cpu", 2**20)
        # The self-check, too, is of small things: less than a block, one, and several with a tail.
        patch.setattr(check, "_SIZES", (2, 127, 1000, 4097))
        patch.setitem(SHAPES, "small", TINY)
        yield


@pytest.fixture(scope="module")
def run(_small: None) -> dict[str, Any]:
    return device_run(CPU, settings=PLAN, kernels=KERNELS, check_shape="tiny")


def rows_of(result: dict[str, Any], batch: int) -> dict[str, dict[str, Any]]:
    return {row["way"]: row for row in result["ways"] if row["batch"] == batch}


def test_the_naive_loop_decodes_a_batch_as_its_rows_alone() -> None:
    predictor, reward = bert_predictor(), CallableReward(lambda prompt, answer: len(set(answer.split())), 4.0, 1.5)
    prompts, answer = ["the cat sat", "a dog ran", "it was red"], {"length": 12, "steps": 6, "block": 6}
    with torch.inference_mode():
        together = plain_rws(predictor, reward, prompts, 8.0, **answer)
        alone = [plain_rws(predictor, reward, prompt, 8.0, **answer) for prompt in prompts]
        unasked = plain_rws(predictor, reward, prompts, 8.0, count_ties=False, **answer)
        with pytest.raises(ValueError, match=r"prompt has texts of \[5, 3\] tokens"):
            plain_rws(predictor, reward, [prompts[0], "cat"], 8.0, **answer)
    traces = decode(predictor, prompts, RWS(8.0), reward=reward, **grouped(**answer))
    assert together.reward_calls == 18 and sum(run.reward_calls for run in alone) == 18
    for row, (run, trace) in enumerate(zip(alone, traces, strict=True)):
        assert together.tokens[row].tolist() == run.tokens[0].tolist() == trace.tokens.tolist()
        assert together.commit_step[row].tolist() == run.commit_step[0].tolist() == trace.commit_step.tolist()
    assert together.tied is not None and together.tied.shape == (3, 6) and together.ties == int(together.tied.sum())
    assert unasked.tied is None and torch.equal(unasked.tokens, together.tokens)


def test_agreement_finds_where_answers_part_and_whether_a_tie_explains_it() -> None:
    predictor, _ = make_models(TINY)
    prompts, answer = random_prompts(TINY, 3, 6), {"length": 8, "steps": 4, "block": 4}
    ours = decode_compact(predictor, prompts, Confidence(), **grouped(**answer))
    ids = torch.tensor([predictor.encode_prompt(prompt) for prompt in prompts])
    with torch.inference_mode():
        plain = plain_loop(predictor, ids, **answer)
    assert plain.tied is not None and not plain.tied.any()
    same = agreement(ours.traces, plain)
    assert (same.equal, same.explained, same.unexplained) == (3, 0, 0)

    steps, tokens = plain.commit_step.clone(), plain.tokens.clone()
    late = int((steps[1] == 2).nonzero()[0])
    tokens[1, late] = (tokens[1, late] + 1) % 90
    other = PlainRun(tokens, 0, 0, steps, None)
    (difference,) = agreement(ours.traces, other).differences
    assert (difference.row, difference.step, difference.why) == (1, 2, None)
    tied = torch.zeros(3, 4, dtype=torch.bool)
    tied[1, 2] = True
    asked = []
    counted = agreement(ours.traces, other, lambda: asked.append(1) or other._replace(tied=tied))
    assert asked == [1] and counted.differences[0].why == "tie" and counted.unexplained == 0
    near = np.array([0, 0, 1, 0])
    traces = [replace(trace, near_ties=near) if row == 1 else trace for row, trace in enumerate(ours)]
    explained = agreement(traces, other, lambda: pytest.fail("the near-tie explains it"))
    assert explained.differences[0].why == "near-tie" and explained.near_steps == pytest.approx(1 / 12)


def test_every_way_decodes_what_the_loop_in_use_does() -> None:
    predictor, reward = make_models(TINY)
    it = Answering(predictor, reward, tuple(random_prompts(TINY, 2, 6)), 8, 4, 4, 8.0, 2**30)
    by_name = {way.name: way for way in all_ways((1, 2))}
    outcomes = {name: way.run(it) for name, way in by_name.items()}
    for name, way in by_name.items():
        if way.compared is not None:
            compared = agreement(outcomes[name].traces, outcomes[way.compared])
            assert compared.equal + compared.explained == 2, name
    assert outcomes["naive rws"].reward_calls == outcomes["rws every 1"].reward_calls == 8
    assert outcomes["rws every 2"].reward_calls == 4
    assert it.shortened().steps == 2


def test_a_run_measures_all_ways_and_holds_what_figures_read(run: dict[str, Any]) -> None:
    assert run["schema"] == 2 and run["complete"] and passed(run) and len(run["checks"]) == 6
    assert set(run["provenance"]) >= {"command", "commit", "version", "date", "device", "machine", "torch", "driver"}
    assert run["provenance"]["device"] == "cpu" and run["settings"]["length"] == 8
    assert json.loads(json.dumps(run, allow_nan=False)).keys() == run.keys()
    assert run["parameters"]["predictor"] == 23_712 and run["ceilings"]["bandwidth"] > 0
    rows = rows_of(run, 1)
    assert list(rows) == ["plain", "default", "naive rws", "rws", "rws every 1", "rws every 2"]
    assert list(rows_of(run, 2)) == ["plain", "default", "naive rws", "rws"]
    for row in run["ways"]:
        assert row["status"] == "measured" and row["runs"] == 1 and row["peak_bytes"] is row["memory_bytes"] is None
        assert row["tokens_per_second"] == pytest.approx(row["batch"] * 8 / row["median_seconds"])
        assert row["ms_per_step"] == pytest.approx(1e3 * row["median_seconds"] / 4)
        if row["compared"] is not None:
            assert row["agreement"]["unexplained"] == 0 and row["agreement"]["answers"] == row["batch"]
    assert rows["default"]["compared"] == "plain" and rows["rws"]["compared"] == "naive rws"
    assert rows["naive rws"]["reward_calls"] == 4 and rows["default"]["reward_calls"] == 0
    assert [(row["batch"], row["method"]) for row in run["roofline"]] == [
        (batch, method) for batch in (1, 2) for method in ("default", "rws")
    ]
    for row in run["roofline"]:
        assert sum(part["ms"] for part in row["parts"]) == pytest.approx(row["ms_per_step"])


def test_what_recordings_compute_in_counts_for_the_ways_that_replay_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ways, "measured", lambda call, device: TimedCall(call(), 1.0, 5 * 10**6))
    monkeypatch.setattr(Replays, "idle_bytes", property(lambda replays: 100 * replays.recorded))
    settings = BenchSettings("tiny", "float32", 6, 8, 4, 4, (1,), 1, every=())
    result = measure(settings, CPU, Ceilings(1e9, 1e9, "float32"))
    weights = result["parameters"]["predictor_bytes"] + result["parameters"]["reward_bytes"]
    recorded = {row["way"]: row["peak_bytes"] - 5 * 10**6 for row in result["ways"]}
    assert all(row["memory_bytes"] == row["peak_bytes"] - weights for row in result["ways"])
    assert recorded["plain"] == recorded["naive rws"] == 0 < recorded["default"] < recorded["rws"]


def test_the_tables_follow_from_the_times(run: dict[str, Any]) -> None:
    seconds = {name: row["median_seconds"] for name, row in rows_of(run, 1).items()}
    assert all(row["goal"] is row["met"] is None for row in run["ratios"])  # those of another shape, on a GPU
    aimed = ratios(run["ways"], run["roofline"])
    assert [(row["name"], row["value"]) for row in aimed] == [(row["name"], row["value"]) for row in run["ratios"]]
    by_name = {(row["name"], row["batch"]): row for row in aimed}
    least = next(row["seconds"] for row in run["roofline"] if (row["batch"], row["method"]) == (1, "default"))
    assert by_name["default over the least time", 1]["value"] == pytest.approx(seconds["default"] / least)
    at_best = by_name["default over the least time", 1]
    assert at_best["goal"] == "at most 1.25" and not at_best["met"]
    faster = by_name["naive rws over rws", 1]
    assert faster["value"] == pytest.approx(seconds["naive rws"] / seconds["rws"])
    assert faster["goal"] == "at least 2" and faster["met"] == (faster["value"] >= 2)
    assert not any("GiB" in row["name"] for row in run["ratios"])
    increases = {(row["batch"], row["of"]): row for row in run["overhead"]}
    assert set(increases) == {(1, "ours"), (1, "every step"), (1, "naive"), (2, "ours"), (2, "naive")}
    assert increases[1, "ours"]["increase"] == pytest.approx(100 * (seconds["rws"] / seconds["default"] - 1))
    assert increases[1, "ours"]["added_bytes"] is None
    assert [row["every"] for row in run["frequency"]] == [None, 1, 2]
    assert run["frequency"][2]["over_every_step"] == pytest.approx(seconds["rws every 2"] / seconds["rws every 1"])


def test_memory_is_what_is_held_above_the_weights() -> None:
    rows = [
        {"batch": 1, "way": way, "median_seconds": seconds, "memory_bytes": memory, "reward_calls": 0}
        for way, seconds, memory in (("default", 1.0, 2**30), ("rws", 1.5, 3 * 2**30), ("rws every 1", 3.0, 2**31))
    ]
    by_name = {row["name"]: row for row in ratios(rows, [])}
    assert by_name["default: GiB above the weights"]["met"] and not by_name["rws: GiB above the weights"]["met"]
    ours = overhead(rows, 100)[0]
    assert ours["added_bytes"] == 100 + 2**31 and ours["increase"] == pytest.approx(50)
    assert frequency(rows, 1)[0] | {"reward_calls": 0} == {
        "every": None,
        "seconds": 1.0,
        "over_every_step": pytest.approx(1 / 3),
        "increase": 0.0,
        "reward_calls": 0,
    }
    assert frequency(rows[:2], 1) == []


def test_runs_that_differ_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    count = iter(range(100))

    def drifting(every: Any) -> list[Any]:
        def run(it: Answering) -> PlainRun:
            tokens = torch.full((1, it.length), next(count))
            return PlainRun(tokens, 0, 0, torch.zeros_like(tokens), None)

        return [replace(way, run=run) if way.name == "naive rws" else way for way in all_ways(every)]

    monkeypatch.setattr(whole, "all_ways", drifting)
    plan = replace(PLAN, batches=(1,), repeats=2, ways=("plain", "naive"))
    rows = rows_of(measure(plan, CPU, Ceilings(1e9, 1e9, "float32")), 1)
    assert rows["plain"]["repeatable"] is True and rows["naive rws"]["repeatable"] is False
    assert rows["plain"]["runs"] == 2 and len(rows["plain"]["seconds"]) == 2


def test_what_cannot_be_measured_says_why_and_stands_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Ceilings(1e9, 1e9, "float32")
    saved: list[int] = []
    spent = measure(replace(PLAN, budget=0.0), CPU, limits, save=lambda part: saved.append(len(part["ways"])))
    assert {row["status"] for row in spent["ways"]} == {"not run: the budget of 0 seconds was spent"}
    assert spent["ratios"] == spent["overhead"] == spent["frequency"] == [] and len(saved) == 2
    assert all(row["median_seconds"] is None and row["runs"] == 0 for row in spent["ways"])

    def fails(every: Any) -> list[Any]:
        def run(it: Answering) -> Any:
            raise torch.OutOfMemoryError("no memory\nleft")

        return [way if way.name != "naive rws" else replace(way, run=run) for way in all_ways(every)]

    monkeypatch.setattr(whole, "all_ways", fails)
    result = measure(replace(PLAN, batches=(1,), ways=("naive", "rws")), CPU, limits)
    rows = rows_of(result, 1)
    assert rows["naive rws"]["status"] == "failed: OutOfMemoryError: no memory left"
    assert rows["rws"]["status"] == "measured" and rows["rws"]["compared"] is None
    assert [row["name"] for row in result["ratios"]] == ["rws over the least time"]


def test_the_kernel_table_agrees_with_what_is_defined() -> None:
    table = kernel_table(CPU, bandwidth=1e9, **KERNELS)
    rows = {(row["way"], row["dtype"], row["factors"]): row for row in table["ways"]}
    for dtype, error in (("bfloat16", 1e-5), ("float32", 1e-5)):
        assert rows["ours, triton", dtype, 1]["status"].startswith("not run: ")
        assert rows["ours, triton", dtype, 1] == vars(
            KernelRow("ours, triton", dtype, 1, rows["ours, triton", dtype, 1]["status"], goal=0.8)
        )
        for number in (1, 3):
            row = rows["ours, torch", dtype, number]
            assert row["status"] == "measured" and row["tokens"] and row["leads"] and row["error"] < error
            nbytes = 3 * 70 * (2 if dtype == "bfloat16" else 4)
            assert row["share"] == pytest.approx(nbytes / (row["ms"] / 1e3) / 1e9)
        assert rows["published, float64", dtype, 1]["error"] < 1e-12 and ("published", dtype, 3) not in rows
    assert rows["published", "bfloat16", 1]["error"] > 1e-4 and rows["published", "bfloat16", 1]["leads"] is None
    with pytest.raises(ValueError, match="rows is 0"):
        kernel_table(CPU, rows=0, bandwidth=1e9)


def test_a_way_that_fails_is_a_status(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: Any, **options: Any) -> Any:
        raise RuntimeError("no compiler\nfound")

    monkeypatch.setattr(kernels, "row_statistics", broken)
    table = kernel_table(CPU, bandwidth=1e9, rows=2, vocabulary=5, factors=(1,), repeats=1)
    (first, second) = [row for row in table["ways"] if row["way"] == "ours, torch"]
    assert first["status"] == second["status"] == "failed: RuntimeError: no compiler found" and first["ms"] is None


def test_the_reference_is_the_definition() -> None:
    logits = torch.tensor([[0.0, 2.0, -1.0], [5.0, float("-inf"), float("-inf")]])
    truth = reference(logits, torch.tensor([1.0, 3.0]))
    assert truth.token.tolist() == [1, 0] and truth.lead.tolist() == [2.0, float("inf")]
    expected = [np.log(np.exp(-2 * c) + np.exp(-3 * c)) for c in (1.0, 3.0)]
    assert truth.log_f[0].tolist() == pytest.approx(expected) and truth.log_f[1].tolist() == [-np.inf, -np.inf]


def test_a_wrong_kernel_and_a_wrong_decoder_fail_the_check(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    right = check.row_statistics

    def wrong(logits: Any, factors: Any, **options: Any) -> Any:
        statistics = right(logits, factors, **options)
        return statistics._replace(log_f=statistics.log_f + 1e-3)

    monkeypatch.setattr(check, "row_statistics", wrong)
    checked = check.kernel_check(CPU, torch.float32)
    assert not checked.passed and "wrong: " in checked.detail
    out = tmp_path / "result.json"
    assert main(["bench", *OPTIONS, "--out", str(out)]) == 1
    assert "the self-check failed, nothing was measured: row statistics" in capsys.readouterr().err
    assert not out.exists()
    assert main(["bench", *OPTIONS, "--ways", "plain", "--no-kernels", "--anyway", "--out", str(out)]) == 1
    assert "do not rely on the numbers" in capsys.readouterr().err
    assert not passed(json.loads(out.read_text())) and json.loads(out.read_text())["complete"]

    def refuses(*given: Any, **options: Any) -> Any:
        raise RuntimeError("no device")

    monkeypatch.setattr(check, "row_statistics", refuses)
    failed = check.self_check(CPU, shapes=TINY)
    assert [result.passed for result in failed][:2] == [False, False] and "no device" in failed[0].detail


def test_a_decode_that_parts_without_a_near_tie_fails_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    def other(*given: Any, **options: Any) -> PlainRun:
        plain = plain_loop(*given, **options)
        return plain._replace(tokens=plain.tokens.roll(1, dims=0))

    monkeypatch.setattr(check, "plain_loop", other)
    checks = {result.name: result for result in check.model_checks(CPU, torch.float32, TINY)}
    assert not checks["default: tokens of the plain loop, float32"].passed
    assert checks["rws: tokens of the plain loop, float32"].passed


def test_the_command_writes_its_file_and_prints_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "measured" / "tiny.json"
    words = ["bench", *OPTIONS, "--ways", "plain", "default", "--out", str(out), "--commit", "abc123", "--json"]
    monkeypatch.setattr("sys.argv", ["/somewhere/rws_decode/__main__.py", *words])
    assert main(words) == 0
    captured = capsys.readouterr()
    written, printed = json.loads(out.read_text()), json.loads(captured.out)
    assert written == printed and written["complete"]
    assert written["provenance"]["command"].startswith("python -m rws_decode bench --shape tiny")
    assert written["provenance"]["commit"] == "abc123" and written["kernels"]["vocabulary"] == 96
    assert [row["way"] for row in written["ways"]] == ["plain", "default"]
    assert "batch 1, plain" in captured.err


def test_the_command_checks_and_tables_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--check"]) == 0
    assert capsys.readouterr().out.startswith("self-check: 6 of 6 passed")
    assert main(["bench", "--kernels", "--rows", "2", "--vocabulary", "9", "--factors", "1"]) == 0
    text = capsys.readouterr().out
    assert "2 x 9 logits" in text and "published, float64" in text and "not run: triton" in text
    assert main(["bench", *OPTIONS, "--no-kernels", "--ways", "plain", "default", "naive", "rws", "every"]) == 0
    text = capsys.readouterr().out
    for part in ("23,712 + 21,952 weights", "over the least time", "naive rws over rws", "every 8", "batch 1, naive:"):
        assert part in text
    assert "published, float64" not in text


@pytest.mark.parametrize(
    "wrong, named",
    [
        (["--shape", "huge"], "shape is 'huge'"),
        (["--shape", "tiny", "--model", "mini"], "--model is mini"),
        (["--shape", "tiny", "--block", "7"], "block is 7"),
        (["--shape", "tiny", "--dtype", "int"], "dtype is 'int'"),
        (["--shape", "tiny", "--ways", "best"], "ways is ['best']"),
        (["--shape", "tiny", "--batches", "2", "2"], "batches is (2, 2)"),
        (["--kernels", "--factors", "0"], "--factors is 0"),
        (["--check", "--out", "x.json"], "--out is x.json"),
        (["--out", "x.json"], "--out is x.json"),
        (["--shape", "tiny", "--device", "cuda:99"], "device is 'cuda:99'"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_misuse_is_told_in_one_line(wrong: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *wrong]) == 2
    captured = capsys.readouterr()
    assert named in captured.err and captured.err.count("\n") == 1 and not captured.out
