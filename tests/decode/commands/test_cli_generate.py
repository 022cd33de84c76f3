"""`rws generate` on tiny checkpoints: its JSON, its options and its trace."""

import json
from pathlib import Path
from typing import Any

import pytest
from command_lines import decoding as main
from command_lines import printed, refusal
from tiny_models import MASK, bert

from rws_decode import Confidence, Options, Shape, decode, load_predictor, load_trace, replay
from rws_decode.extra.testing import tiny_checkpoint

KEYS = "tokens text completed final_reward log_prob rules_broken commit_step god_tokens god_steps forwards".split()
KEYS += "reward_calls reward_calls_saved scales rewards ties".split()
SIZE = ["--length", "8", "--steps", "4", "--block", "4"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    tiny_checkpoint("bert", folder / "tiny", files={"examples.json": [{"prompt": "the cat"}, {"prompt": "a dog ran"}]})
    tiny_checkpoint("classifier", folder / "reward", files={"reward.json": {"mean": 0.5, "std": 2.0}})
    return folder


def generate(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    return printed(capsys, "generate", *words)


def rws(models: Path) -> list[object]:
    return ["--model", models / "tiny", "--reward", models / "reward", "--strategy", "rws", "--reward-scale", 8]


def test_json_has_the_documented_keys_and_people_get_text(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = json.loads(generate(capsys, *rws(models), "--prompt", "the cat", *SIZE, "--json"))
    assert list(result) == KEYS
    assert len(result["tokens"]) == len(result["commit_step"]) == 8 and MASK not in result["tokens"]
    assert len(result["scales"]) == len(result["rewards"]) == len(result["ties"]) == result["forwards"] == 4
    assert result["reward_calls"] + result["reward_calls_saved"] == 4
    assert result["rewards"][-1] == pytest.approx(result["final_reward"]["raw"])
    printed = generate(capsys, *rws(models), "--prompt", "the cat", *SIZE)
    assert printed.startswith(f"prompt: the cat\nanswer: {result['text']}\n")
    assert f"{result['god_tokens']:.3f} tokens, {result['god_steps']:.3f} steps" in printed
    assert f"reward calls: {result['reward_calls']}, saved: {result['reward_calls_saved']}" in printed


def test_the_trace_is_written_and_replays(models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*rws(models), "--prompt", "the cat", *SIZE, "--trace", tmp_path / "runs" / "one", "--json"]
    result = json.loads(generate(capsys, *words))
    trace = load_trace(tmp_path / "runs" / "one" / "trace.parquet")
    assert trace.tokens.tolist() == result["tokens"] and trace.factor.tolist() == result["scales"]
    assert replay(trace).diverged_at is None
    assert (trace.predictor, trace.reward_model, trace.prompt_text) == ("tiny", "reward", "the cat")


@pytest.mark.parametrize(
    "options",
    [
        {"ranking": "probability", "precision": "bfloat16", "seed": 5, "sampling_temperature": 0.9},
        {"cfg": 0.5, "end_of_text": "defer", "ranking": "topk", "precision": "model"},
    ],
    ids=["sampled", "guided"],
)
def test_options(options: dict[str, Any], models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)]
    base = ["--model", models / "tiny", "--prompt", "the cat", *SIZE, "--json", "--trace", tmp_path]
    generate(capsys, *base, *words)
    trace = load_trace(tmp_path / "trace.parquet")
    predictor = load_predictor(str(models / "tiny"))
    (direct,) = decode(predictor, ["the cat"], Confidence(), Shape(8, 4, 4), options=Options(**options))
    assert trace == direct and {name: getattr(trace, name) for name in options} == options


def test_mask_id_and_dtype_reach_the_loader(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = bert()
    model.config.mask_token_id = None
    model.save_pretrained(tmp_path / "nameless")
    words = ["--model", tmp_path / "nameless", "--input-ids", "[6, 7]", *SIZE]
    assert "mask_id" in refusal(capsys, "generate", *words)
    assert MASK not in json.loads(generate(capsys, *words, "--mask-id", MASK, "--json"))["tokens"]
    model = str(tiny_checkpoint("bert", tmp_path / "model"))
    shape = ["--input-ids", "[7, 8]", "--length", "6", "--steps", "3", "--block", "6"]
    assert main(["generate", "--model", model, *shape, "--dtype", "bfloat16", "--trace", str(tmp_path)]) == 0
    assert load_trace(tmp_path / "trace.parquet").logits_dtype == "bfloat16"
