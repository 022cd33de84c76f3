"""The bench of a device on a tiny model, the least time of a step, and models of a named shape."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command_lines import decoding as main
from grouped import grouped
from misuse import refused
from tiny_models import bert_predictor
from torch.utils.flop_counter import FlopCounterMode

from paper_figures.extra.bench import check, device, kernels, roofline
from paper_figures.extra.bench.check import Difference, agreement
from paper_figures.extra.bench.device import BenchSettings, measure
from paper_figures.extra.bench.plain_loop import PlainRun, plain_loop, plain_rws
from paper_figures.extra.bench.random_models import bare_network, make_models, random_prompts
from paper_figures.extra.bench.roofline import Ceilings, decode_parts, forward_parts, least_seconds, roofline_table
from paper_figures.extra.bench.shapes import SHAPES, shapes_named
from rws_decode import RWS, CallableReward, Confidence, Shape, decode, decode_compact
from rws_decode.canvas.schedule import block_plan
from rws_decode.predictors import attend_both_ways

CPU, TINY = torch.device("cpu"), SHAPES["tiny"]
PLAN = BenchSettings("tiny", "float32", Shape(8, 4, 4), (1,), repeats=1, reward_scale=8.0, budget=600.0)
OPTIONS = "bench --shape tiny --length 8 --steps 4 --block 4 --batches 1 2 --repeats 1".split()


@pytest.fixture(scope="module", autouse=True)
def _small() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(roofline._SIDE, "cpu", 128)
        patch.setitem(roofline._COPY_BYTES, "cpu", 2**20)
        patch.setattr(kernels, "_ROWS", 3)
        # The self-check, too, is of small things: less than a block, one, and several with a tail.
        patch.setattr(check, "_SIZES", (2, 127, 1000, 4097))
        patch.setitem(SHAPES, "small", TINY)
        yield


@pytest.fixture(scope="module")
def run(_small: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("bench") / "measured" / "tiny.json"
    with pytest.MonkeyPatch.context() as patch:
        words = [*OPTIONS, "--out", str(out), "--json"]
        patch.setattr("sys.argv", ["/somewhere/rws_decode/__main__.py", *words])
        assert main(words) == 0
    return json.loads(out.read_text())


def measured(settings: BenchSettings = PLAN) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    saved: list[dict[str, Any]] = []
    measure(settings, CPU, Ceilings(1e9, 1e9, "float32"), time.perf_counter(), saved.append)
    return saved[-1], {row["way"]: row for row in saved[-1]["ways"]}


def test_the_naive_loop_decodes_a_batch_as_its_rows_alone() -> None:
    predictor, reward = bert_predictor(), CallableReward(lambda prompt, answer: len(set(answer.split())), 4.0, 1.5)
    prompts, answer = ["the cat sat", "a dog ran", "it was red"], {"length": 12, "steps": 6, "block": 6}
    with torch.inference_mode():
        together = plain_rws(predictor, reward, prompts, 8.0, **answer)
        alone = [plain_rws(predictor, reward, prompt, 8.0, **answer) for prompt in prompts]
        unasked = plain_rws(predictor, reward, prompts, 8.0, count_ties=False, **answer)
        refused(lambda: plain_rws(predictor, reward, [prompts[0], "cat"], 8.0, **answer), "prompt has texts of [5, 3]")
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
    assert agreement(ours.traces, other).differences == (Difference(1, 2, None),)
    tied = torch.zeros(3, 4, dtype=torch.bool)
    tied[1, 2] = True
    calls = []
    counted = agreement(ours.traces, other, lambda: calls.append(1) or other._replace(tied=tied))
    assert calls == [1] and counted.differences[0].why == "tie" and counted.unexplained == 0
    near = np.array([0, 0, 1, 0])
    traces = [replace(trace, near_ties=near) if row == 1 else trace for row, trace in enumerate(ours)]
    explained = agreement(traces, other, lambda: pytest.fail("the near-tie explains it"))
    assert explained.differences[0].why == "near-tie" and explained.near_steps == pytest.approx(1 / 12)


def test_a_run_measures_all_ways_and_says_what_with(run: dict[str, Any]) -> None:
    assert run["complete"] and run["seconds"] > 0 and len(run["checks"]) == 6
    assert run["provenance"]["command"].startswith("python -m rws_decode bench --shape tiny")
    assert run["provenance"]["device"] == "cpu" and run["provenance"]["torch"] == torch.__version__
    assert run["settings"]["length"] == 8 and run["settings"]["batches"] == [1, 2]
    assert run["parameters"]["predictor"] == 23_712 and run["ceilings"]["bandwidth"] > 0
    assert run["kernels"]["vocabulary"] == 96
    by_batch = [[row["way"] for row in run["ways"] if row["batch"] == batch] for batch in (1, 2)]
    smaller = ["plain", "default", "naive rws", "rws"]
    assert by_batch == [[*smaller, "rws every 1"], smaller]
    for row in run["ways"]:
        assert row["status"] == "measured" and row["runs"] == 1 and row["peak_bytes"] is row["memory_bytes"] is None
        assert row["tokens_per_second"] == pytest.approx(row["batch"] * 8 / row["median_seconds"])
        assert row["ms_per_step"] == pytest.approx(1e3 * row["median_seconds"] / 4)
        if row["compared"] is not None:
            assert row["agreement"]["unexplained"] == 0 and row["agreement"]["answers"] == row["batch"]
    assert [row["compared"] for row in run["ways"][:4]] == [None, "plain", None, "naive rws"]
    calls = {row["way"]: row["reward_calls"] for row in run["ways"][:5]}
    assert calls["naive rws"] == calls["rws every 1"] == 4 >= calls["rws"]  # at each step
    for row in run["roofline"]:
        assert sum(part["ms"] for part in row["parts"]) == pytest.approx(row["ms_per_step"])


def test_a_wrong_kernel_fails_the_check(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    right = check.row_statistics

    def wrong(logits: Any, factors: Any, **options: Any) -> Any:
        statistics = right(logits, factors, **options)
        return statistics._replace(log_f=statistics.log_f + 1e-3)

    monkeypatch.setattr(check, "row_statistics", wrong)
    out = tmp_path / "result.json"
    assert main([*OPTIONS, "--out", str(out)]) == 1
    captured = capsys.readouterr()
    assert "the self-check failed, nothing was measured: row statistics" in captured.err
    assert "wrong: " in captured.out and not out.exists()


def test_the_command_prints_what_it_writes(
    run: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "--check"]) == 0
    assert capsys.readouterr().out.startswith("self-check: 6 of 6 passed")
    monkeypatch.setattr(device, "bench_device", lambda *given: run)
    assert main([*OPTIONS, "--json"]) == 0 and json.loads(capsys.readouterr().out) == run
    assert main(OPTIONS) == 0
    text = capsys.readouterr().out
    parts = ["self-check: 6 of 6", "predictor 23712, reward 21952", "3 x 96 logits", "not run: triton", "rws every 1"]
    parts += ["published, float64", "over the least time", "naive rws over rws", "every step", "1 of 1 as plain"]
    assert [part for part in parts if part not in text] == []


def test_the_shapes_have_the_published_numbers_of_weights() -> None:
    shapes = shapes_named("llada-8b")
    networks = [bare_network(shapes[reward], bool(reward), torch.bfloat16) for reward in (0, 1)]
    weights = [sum(weight.numel() for weight in network.parameters()) for network in networks]
    assert weights == [8_015_581_184, 7_504_928_768]
    refused(lambda: shapes_named("llada-9b"), "shape is 'llada-9b': one of llada-8b, small, tiny")


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", ["tiny", "llada-8b"])
def test_operations_are_those_that_pytorch_counts(name: str, causal: bool) -> None:
    shape = SHAPES[name].reward if causal else SHAPES[name].predictor
    rows, length, item = 2, 24, 4
    positions = rows if causal else rows * length
    model = bare_network(shape, causal, torch.float32)
    # Of causal attention transformers looks at the mask, which has no values here; the operations are the same.
    model.set_attn_implementation(attend_both_ways())
    ids = torch.zeros(rows, length, dtype=torch.int64, device="meta")
    counter = FlopCounterMode(display=False)
    with counter, torch.inference_mode():
        hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state
        _ = model.score(hidden[:, -1]) if causal else model.lm_head(hidden)
    parts = {part.name: part.operations for part in forward_parts(shape, rows, length, positions, item, causal=causal)}
    if causal:  # PyTorch counts all pairs where half of them are masked.
        parts["attention"] *= 2 * length / (length + 1)
    # Some versions of transformers count the angles of the positions, a product of them and half a head, as well.
    assert counter.get_total_flops() - sum(parts.values()) in (0, length * shape.head_size)


def test_a_decode_needs_the_head_where_it_is_masked_and_no_more() -> None:
    plan = block_plan(8, 4, 4)
    plain = decode_parts(TINY, plan, rows=2, prompt=3, itemsize=4, rewarded=False)
    rws = decode_parts(TINY, plan, rows=2, prompt=3, itemsize=4, rewarded=True, text_tokens=14)
    head = 2 * TINY.predictor.hidden * TINY.predictor.vocabulary
    logits = [{part.name: part for part in step} for step in plain]
    assert [step["head"].operations / head for step in logits] == [2 * 4, 2 * 2, 2 * 4, 2 * 2]
    assert [{part.name: part for part in step}["head"].operations / head for step in rws] == [16, 12, 8, 4]
    assert logits[0]["logits"].nbytes == 2 * 8 * TINY.predictor.vocabulary * 4
    ceilings = Ceilings(1e9, 1e10, "float32")
    table = roofline_table(rws, ceilings)
    assert [row["part"] for row in table[-3:]] == ["reward body", "reward attention", "reward head"]
    assert sum(row["ms"] for row in table) == pytest.approx(1e3 * least_seconds(rws, ceilings) / 4)
    assert least_seconds(plain, ceilings) < least_seconds(rws, ceilings)
    assert {row["bound"] for row in table} == {"operations", "bytes"}
