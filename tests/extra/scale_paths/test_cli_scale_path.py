"""`rws scale-path` on tiny checkpoints: its JSON and its progress."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from command_lines import decoding as main
from grouped import grouped

from rws_decode import load_predictor, scale_path
from rws_decode.extra.testing import tiny_checkpoint

KEYS = "over scale_min scale_max threshold pieces unexplored breakpoints certified outputs states forwards".split()
KEYS += "batches grid_forwards reward_calls near_tokens".split()
SHAPE = {"length": 8, "steps": 4, "block": 8}
SIZE = [word for name, value in SHAPE.items() for word in (f"--{name}", value)]
RANGE = ["--scale-min", 0.05, "--scale-max", 20]


def test_json_is_the_path_and_progress_is_on_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    examples = {"examples.json": [{"prompt": "the cat"}, {"prompt": "a dog ran"}]}
    model = str(tiny_checkpoint("bert", tmp_path / "tiny", files=examples))
    assert main(["scale-path", "--model", model, "--example", "1", *map(str, [*RANGE, *SIZE]), "--json"]) == 0
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert list(result) == KEYS and out.count("\n") == 1
    path = scale_path(load_predictor(model), "a dog ran", 0.05, 20.0, **grouped(**SHAPE))
    assert result["certified"] is path.certified is True and result["unexplored"] == []
    assert len(result["pieces"]) == len(path.pieces) > 1
    for printed_piece, piece in zip(result["pieces"], path.pieces, strict=True):
        unknown = {"final_reward": None, "log_prob": None}
        expected = {name: getattr(piece, name) for name in ("lower", "upper", "text")} | unknown
        assert printed_piece == expected | {"tokens": list(piece.tokens), "commit_step": list(piece.commit_step)}
    assert (result["pieces"][0]["lower"], result["pieces"][-1]["upper"]) == (0.05, 20.0)
    for (left, right), gap in zip(pairwise(result["pieces"]), result["breakpoints"], strict=True):
        assert gap["lower"] <= left["upper"] == right["lower"] <= gap["upper"]
        assert gap["proved"] and gap["step"] in range(4)
    assert (result["forwards"], result["grid_forwards"]) == (path.forwards, 4 * len(path.pieces))
    first, begun, *_, last = [line for line in err.splitlines() if line.startswith("scale-path: ")]
    assert first.startswith("scale-path: loading ") and begun == "scale-path: 0 of 4 steps"
    assert re.match(r"scale-path: 4 of 4 steps, \d+ canvases, \d+ intervals, ", last)
