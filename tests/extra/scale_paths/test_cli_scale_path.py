"""`rws scale-path` on tiny checkpoints: its JSON, its table, and its one-line refusals."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from grouped import grouped

from rws_decode import final_reward, load_predictor, load_reward, scale_path
from rws_decode.__main__ import main
from rws_decode.extra.testing import tiny_checkpoint

KEYS = "over scale_min scale_max threshold pieces unexplored breakpoints certified outputs states forwards".split()
KEYS += "batches grid_forwards reward_calls near_tokens".split()
SHAPE = {"length": 8, "steps": 4, "block": 8}
SIZE = [word for name, value in SHAPE.items() for word in (f"--{name}", value)]
RANGE = ["--scale-min", 0.05, "--scale-max", 20]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    tiny_checkpoint("bert", folder / "tiny", files={"examples.json": [{"prompt": "the cat"}, {"prompt": "a dog ran"}]})
    tiny_checkpoint("bert", folder / "bare", tokenizer=False)
    tiny_checkpoint("classifier", folder / "reward")
    return folder


def printed(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[str, str]:
    capsys.readouterr()
    assert main(["scale-path", *map(str, words)]) == 0
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_json_is_the_path_and_progress_goes_to_standard_error(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = printed(capsys, "--model", models / "tiny", "--example", 1, *RANGE, *SIZE, "--json")
    result = json.loads(out)
    assert list(result) == KEYS and out.count("\n") == 1
    path = scale_path(load_predictor(str(models / "tiny")), "a dog ran", 0.05, 20.0, **grouped(**SHAPE))
    assert result["certified"] is path.certified is True and result["unexplored"] == []
    assert len(result["pieces"]) == len(path.pieces) > 1
    for printed_piece, piece in zip(result["pieces"], path.pieces, strict=True):
        unknown = {"final_reward": None, "log_prob": None}
        told = {name: getattr(piece, name) for name in ("lower", "upper", "text")} | unknown
        assert printed_piece == told | {"tokens": list(piece.tokens), "commit_step": list(piece.commit_step)}
    assert (result["pieces"][0]["lower"], result["pieces"][-1]["upper"]) == (0.05, 20.0)
    for (left, right), gap in zip(pairwise(result["pieces"]), result["breakpoints"], strict=True):
        assert gap["lower"] <= left["upper"] == right["lower"] <= gap["upper"]
        assert gap["proved"] and gap["step"] in range(4)
    assert (result["forwards"], result["grid_forwards"]) == (path.forwards, 4 * len(path.pieces))
    first, begun, *_, last = [line for line in err.splitlines() if line.startswith("scale-path: ")]
    assert first.startswith("scale-path: loading ") and begun == "scale-path: 0 of 4 steps"
    assert re.match(r"scale-path: 4 of 4 steps, \d+ canvases, \d+ intervals, ", last)


def test_over_the_reward_scale_and_under_a_budget(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--model", models / "tiny", "--prompt", "the cat", *RANGE, *SIZE, "--batch", 3, "--json"]
    rewarded = [*words, "--over", "reward-scale", "--reward", models / "reward", "--end-of-text", "defer"]
    result = json.loads(printed(capsys, *rewarded)[0])
    predictor, reward = load_predictor(str(models / "tiny")), load_reward(str(models / "reward"))
    options = {"over": "reward-scale", "reward": reward, "batch": 3} | grouped(end_of_text="defer", **SHAPE)
    path = scale_path(predictor, "the cat", 0.05, 20.0, **options)
    assert [piece["tokens"] for piece in result["pieces"]] == [list(piece.tokens) for piece in path.pieces]
    assert result["over"] == "reward-scale" and result["reward_calls"] == path.reward_calls > 0
    piece = result["pieces"][0]
    assert piece["final_reward"] == pytest.approx(final_reward(predictor, reward, "the cat", piece["tokens"])._asdict())
    least = json.loads(printed(capsys, *words, "--budget", 4)[0])
    assert least["forwards"] == 4 < least["states"] and not least["certified"]
    parts = sorted([*least["pieces"], *least["unexplored"]], key=lambda part: part["lower"])
    assert least["unexplored"] and (parts[0]["lower"], parts[-1]["upper"]) == (0.05, 20.0)
    assert all(left["upper"] == right["lower"] for left, right in pairwise(parts))


def test_each_answer_is_printed_once_and_whole(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--model", models / "tiny", "--example", 0, *RANGE, *SIZE]
    result = json.loads(printed(capsys, *words, "--json")[0])
    out = printed(capsys, *words)[0]
    texts = list(dict.fromkeys(piece["text"] for piece in result["pieces"]))
    lines = [line.strip().replace("[", "").replace("]", "") for line in out.splitlines()]
    assert [line for line in lines if line in texts] == [" ".join(text.split()) for text in texts]
    assert sum(line.startswith("answer ") for line in lines) == result["outputs"] == len(texts)
    at_one = next(piece for piece in result["pieces"] if piece["lower"] <= 1 <= piece["upper"])
    (usual,) = [i for i, line in enumerate(lines) if line.endswith(" (scale 1 is here)")]
    assert lines[usual + 2] == at_one["text"] and "; certified" in out
    assert "not certified" in printed(capsys, *words, "--budget", 4)[0]
    words = ["--model", models / "bare", "--input-ids", "[2, 6]", *RANGE, *SIZE]  # ids need no tokenizer
    result = json.loads(printed(capsys, *words, "--json")[0])
    assert {piece["text"] for piece in result["pieces"]} == {None}
    assert json.dumps(result["pieces"][0]["tokens"])[:50] in printed(capsys, *words)[0]
