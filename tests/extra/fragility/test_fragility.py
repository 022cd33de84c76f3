"""Fragility: what is not within rounding stays, what is can change, and the span of the score holds every case."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command_lines import decoding as main
from decode_again import main as decode_again
from documented_commands import ran, shown
from grouped import grouped
from misuse import refused

from paper_figures.extra.fragility.answers import moved_answers
from rws_decode import CallablePredictor, CallableReward, Fragility, Trace, decode, fragility, load_predictor
from rws_decode.extra.adapters.lm_eval import RWSLM

V, MASK = 8, 0


def predictor(gap: float) -> CallablePredictor:
    """A network whose positions 0 and 1 are equally sure but for `gap`, and whose words depend on those that stand."""
    table = 3.0 * torch.randn(6, V, generator=torch.Generator().manual_seed(3))
    table[0] = torch.tensor([0.0, 9.0, 1.0, 0.0, 2.0, 1.0, 0.0, 0.0])
    table[1] = table[0].roll(1) + torch.tensor([0.0, 0.0, -gap, 0.0, 0.0, 0.0, 0.0, 0.0])
    after = torch.randn(V, V, generator=torch.Generator().manual_seed(4))

    def logits(canvas: torch.Tensor) -> torch.Tensor:
        known = torch.nn.functional.one_hot(canvas, V).float()
        known[..., MASK] = 0
        return table[: canvas.shape[1]] + 3.0 * (known.sum(dim=1) @ after)[:, None]

    return CallablePredictor(logits, mask_id=MASK, decode=lambda ids: " ".join(map(str, ids)))


REWARD = CallableReward(lambda prompt, answer: float(len(set(answer.split()))), mean=3.0, std=1.0)
RUNS: dict[str, dict[str, Any]] = {
    "default": {},
    "rws:8": {"reward": REWARD},
    "temperature:0.5": {},
    "margin": {},
    "random-order": {"seed": 5},
    "threshold:0.9": {},
    "left-to-right": {"sampling_temperature": 1.0, "seed": 2, "drawing": "commit"},
    "entropy": {"sampling_temperature": 1.0, "seed": 1},
}


def runs(model: CallablePredictor, strategy: str, **options: Any) -> list[Trace]:
    shape = {"length": 6, "steps": 6, "block": 6}
    return list(decode(model, [[]], strategy, **grouped(**shape | options)))


@pytest.mark.parametrize("strategy", RUNS)
def test_an_answer_that_is_not_within_rounding_stays_when_logits_move(strategy: str) -> None:
    model, options = predictor(1.0), RUNS[strategy]
    (trace,) = runs(model, strategy, **options)
    assert not fragility([trace]).fragile.any()
    assert (moved_answers(trace, model, options.get("reward"), decodes=16) == trace.tokens).all()
    if "reward" in options:  # without the reward its recorded factors
        assert (moved_answers(trace, model, decodes=4) == trace.tokens).all()


def test_a_near_tie_falls_either_way() -> None:
    model = predictor(1e-7)
    (trace,) = runs(model, "default", steps=6)
    texts = {tuple(row) for row in moved_answers(trace, model, decodes=32).tolist()}
    # One position first, or the other, by a gap that no rounding changes.
    both = {tuple(one.tokens.tolist()) for gap in (1.0, -1.0) for one in runs(predictor(gap), "default")}
    assert len(both) == 2 and texts == both
    found = fragility([trace], predictor=model, decodes=32)
    assert found.fragile.all() and found.first_step.tolist() == [0] and found.changed is not None
    assert found.changed.all() and "1 of them changed in 32 decodes" in str(found)


def test_the_span_holds_the_score_of_every_outcome_and_no_more() -> None:
    fragile = np.array([True, False, True, False])
    scores = np.array([1.0, 1.0, 0.0, 0.25])
    found = Fragility(fragile, np.zeros(4, dtype=np.int64), scores)
    means = []
    for flipped in product([0.0, 0.5, 1.0], repeat=2):
        moved = scores.copy()
        moved[fragile] = flipped
        means.append(moved.mean())
    assert found.span(fragile) == pytest.approx((min(means), max(means)))
    assert found.span(~fragile | fragile) == (0.0, 1.0) and found.score == pytest.approx(scores.mean())


@pytest.mark.long
def test_the_guide_is_true(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran("docs/extra/fragility.md")
    assert main("fragility traces --scores scores.jsonl --flip 8 --model mini".split()) == 0
    output = capsys.readouterr().out.splitlines()
    lines = shown("docs/extra/fragility.md")[0].splitlines()
    # Which answers are near a tie, and which of them change, is a matter of last digits; the rest is not.
    assert output[1] == lines[1] and output[0].split("The score, ")[1][:6] == lines[0].split("The score, ")[1][:6]
    assert len(output) == 3 + int(output[0].split()[3])


def test_the_harness_writes_traces_that_the_command_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from types import SimpleNamespace

    folder, samples = tmp_path / "traces", tmp_path / "samples.jsonl"
    model = load_predictor("mini")
    harness = RWSLM(model, traces=str(folder), max_new_tokens=8, steps=4, block_length=8)
    requests = [SimpleNamespace(args=(prompt, {"until": ["\n"]})) for prompt in model.prompts[:2]]
    harness.generate_until(requests[:1])
    harness.generate_until(requests[1:])
    assert sorted(path.name for path in folder.iterdir()) == ["000000.parquet", "000001.parquet"]
    refused(lambda: RWSLM(model, traces=str(folder)), "holds traces already")
    samples.write_text("".join(json.dumps({"exact_match": score}) + "\n\n" for score in (1.0, 0.0)))
    words = f"fragility {folder} --scores {samples} --field exact_match --flip 2 --model mini --json"
    assert main(words.split()) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["answers"], report["score"], report["decodes"]) == (2, 0.5, 2)
    assert report["span"] == [0.5, 0.5] and report["fragile"] == [False, False] and report["first_step"] == [None, None]
    assert main([*words.split()[:-1]]) == 0
    assert "The score, 0.5000, then lies between 0.5000 and 0.5000." in capsys.readouterr().out


def test_the_script_of_the_tables_counts_what_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "usual.json"
    words = [
        *"mini stories --reward mini --prompts 3 --strategies default --steps 16 --block 8 --usual".split(),
        str(kept),
    ]
    decode_again([*words, "--ways", "alone"])
    fragile, alone = map(json.loads, capsys.readouterr().out.splitlines())
    assert (fragile["fragile"], alone["changed"], alone["tokens equal"]) == (0, 0, 1.0)
    kept.write_text(json.dumps({"default": [[1, *row[1:]] for row in json.loads(kept.read_text())["default"]]}))
    decode_again(words)
    _, usual = map(json.loads, capsys.readouterr().out.splitlines())
    assert (usual["changed"], usual["tokens equal"]) == (3, 15 / 16)
