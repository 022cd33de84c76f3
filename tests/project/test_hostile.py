"""Bad input to every public function and command: the documented error in one line, no traceback, nothing written."""

import importlib
import json
import math
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from documented_commands import listed
from grouped import grouped
from misuse import refused
from tiny_models import bert_predictor

import rws_decode as rws
from paper_figures.statistics import CausalScorer, answer_scores, load_causal
from paper_figures.studies.prompts import prompts_of
from rws_decode import CallablePredictor, CallableReward, Shape, decode, load_predictor, load_reward, load_trace
from rws_decode.extra.testing import tiny_checkpoint

INF, HUGE = math.inf, 10**400
SURROGATE = "caf\udce9"


@cache
def tiny() -> Any:
    return bert_predictor()


@cache
def causal() -> CausalScorer:
    return load_causal("mini-causal")


@cache
def mini_reward() -> Any:
    return load_reward("mini")


def scored(value: Any) -> CallableReward:
    return CallableReward(lambda prompt, answer: value, name="odd")


def decoded(prompts: Any = ("the cat",), strategy: Any = None, **options: Any) -> Any:
    shape = {"length": 4, "steps": 2, "block": 4}
    return decode(tiny(), prompts, rws.Confidence() if strategy is None else strategy, **grouped(**shape | options))


def guided(reward: Any = None, **options: Any) -> Any:
    return decoded(strategy=rws.RWS(2.0), reward=scored(1.0) if reward is None else reward, **options)


def predicting(logits: Any, shape: Shape = Shape(2, 1, 2), returned: Any = lambda z: z) -> Any:  # noqa: B008 - frozen
    """Decode with a predictor of these logits, returned in some way."""
    row = torch.as_tensor(logits)
    predictor = CallablePredictor(lambda canvas: returned(row.expand(*canvas.shape, -1)), mask_id=0, name="odd")
    return decode(predictor, [[1]], rws.Confidence(), shape)


# What is called, and what the error says of it.
FUNCTIONS: dict[str, tuple[Callable[[], object], str]] = {
    # Decoding: shapes.
    "a length without end": (lambda: Shape(10**9), "^length is 1000000000:"),
    "a length beyond memory": (lambda: predicting([0.0, 1.0], Shape(2**20)), "^length is 1048576, .* GB are missing$"),
    "copies beyond memory": (
        lambda: rws.steer(tiny(), "a", "svdd", Shape(4), reward=scored(1.0), n=10**400),
        "^length is 4, steps is 2, copies is 10{59}: a decode needs .* GB are missing$",
    ),
    "hypotheses beyond memory": (lambda: decoded(strategy="lookum:1" + "0" * 12), "hypotheses is 10{12}: a decode"),
    # Decoding: prompts.
    "ids beyond the vocabulary": (lambda: decoded([[10**9]]), r"^prompts\[0\] holds the id 1000000000"),
    "ids that are masks": (
        lambda: decoded([[tiny().mask_id]]),
        r"^length is \d+: the gaps of prompts\[0\] have length",
    ),
    "bytes that are no text": (lambda: decoded([SURROGATE]), r"^turns\[0\] is 'caf\\udce9': no text"),
    "a dialogue of bytes": (lambda: rws.Dialogue((b"a",)), r"^turns\[0\] is b'a'"),  # type: ignore[arg-type]
    # Decoding: strategy, guidance, what is returned to it.
    "no reward": (lambda: decoded(strategy=rws.RWS(2.0)), "^reward is None"),
    "logits of the mask alone": (lambda: predicting([1.0, -INF, -INF]), "^predictor odd "),
    "logits in a tuple": (lambda: predicting([0.0], returned=lambda z: (z,)), "^predictor odd returned a tuple: "),
    "a mask beyond the tokens": (lambda: CallablePredictor(len, mask_id=5, vocab_size=5), "^mask_id is 5"),  # type: ignore[arg-type]
    "steering in no memory": (lambda: rws.steer(tiny(), "a", "best-of:2", reward=len, memory=-1), "^memory is -1:"),
    "a number in a text": (lambda: guided(scored("3")), "^reward model odd scored '3'"),
    "reward too large": (lambda: guided(scored(HUGE)), "^reward model odd scored 1000"),
    "reward of bytes": (lambda: mini_reward().score(["a"], [SURROGATE]), "^answer is 'caf"),
    "reward of too much": (lambda: mini_reward().score(["a"], ["w " * 9999]), "^prompt and answer make"),
    # Configs, metrics, data.
    "model of a path with null": (lambda: load_predictor("a\0b"), "^model is 'a"),
    "fewer than no prompts": (lambda: prompts_of("stories", -1), "^prompts is -1: at least 1 is needed$"),
}


@pytest.mark.parametrize("call", FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_a_function_names_what_is_wrong_in_one_line(call: tuple[Callable[[], object], str]) -> None:
    with pytest.raises(ValueError, match=call[1]) as caught:
        call[0]()
    assert "\n" not in str(caught.value)


# What is odd and still meant: it decodes, to finite numbers.
ODD_TEXTS = {
    "empty": "",
    "null": "a\0b",
    "right to left": "\u202e\u05e9\u05dc\u05d5\u05dd the cat\u202c",
    "astral": "🐈\U0010ffff the cat",
    "mask": "[MASK] the [MASK]",
    "llada's mask": "<|mdm_mask|>",
    "a chat": "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nyes",
    "format": "%s {0} {name} ${HOME} `ls`",
}


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS.keys())
def test_any_text_is_a_prompt_and_is_kept_as_it_is(text: str, tmp_path: Path) -> None:
    (trace,) = guided(prompts=[text])
    assert trace.prompt_text == text and math.isfinite(trace.reward_raw[0])
    assert tiny().mask_id not in trace.prompt.tolist() + trace.tokens.tolist()
    assert load_trace(trace.save(tmp_path / "trace.parquet")) == trace
    assert math.isfinite(mini_reward().score([text], [text])[0])
    assert answer_scores(causal(), [text], [text])[0].perplexity > 1


# Ties, subnormal and huge values have answers, not errors.
NUMBERS: dict[str, tuple[Callable[[], Any], Callable[[Any], bool]]] = {
    "subnormal logits": (lambda: predicting([0.0, 1e-45, 0.0])[0], lambda trace: trace.tokens.tolist() == [1, 1]),
    "huge logits": (lambda: predicting([0.0, 3e38, -3e38])[0], lambda trace: trace.tokens.tolist() == [1, 1]),
    "subnormal scale": (lambda: decoded(strategy=rws.Temperature(5e-324))[0], lambda trace: 0 in trace.commit_step),
    "huge scale": (lambda: decoded(strategy=rws.Temperature(1e308))[0], lambda trace: 0 in trace.commit_step),
    "huge rewards": (lambda: guided(scored(1e308))[0], lambda trace: bool(np.isfinite(trace.factor).all())),
}


@pytest.mark.parametrize("case", NUMBERS.values(), ids=NUMBERS.keys())
def test_extreme_numbers_have_answers(case: tuple[Callable[[], Any], Callable[[Any], bool]]) -> None:
    assert case[1](case[0]())


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("place")
    decoded(strategy=rws.RWS(2.0), reward=scored(1.0)).traces[0].save(folder / "good.parquet")
    data = (folder / "good.parquet").read_bytes()
    for name, content in {
        "empty": b"",
        "text": b"hello",
        "half": data[: len(data) // 2],
        "hole": data[:100] + bytes(200) + data[300:],
    }.items():
        (folder / f"{name}.parquet").write_bytes(content)
    np.save(folder / "good.npy", np.random.default_rng(0).normal(size=(3, 4)))
    array = (folder / "good.npy").read_bytes()
    for name, content in {
        "empty": b"",
        "half": array[:-9],
        "header": array[:8] + b"\xff\xff" + array[10:],
        "many": array.replace(b"(3, 4), ", b"(9000000000000000, 4), "),
        "pickle": b"cos\nsystem\n(S'touch ran'\ntR.",
    }.items():
        (folder / f"{name}.npy").write_bytes(content)
    np.save(folder / "objects.npy", np.array([[1, None]], dtype=object))
    (folder / "folder").mkdir()
    (folder / "bytes.txt").write_bytes(b"\xff\xfe caf\xe9\n")
    (folder / "half.jsonl").write_text('{"prompt": "a"}\n{"prom')
    (folder / "surrogate-turn.jsonl").write_text(json.dumps({"question_id": 1, "category": "c", "turns": ["\ud800"]}))
    os.symlink(folder / "loop.parquet", folder / "loop.parquet")
    os.symlink(folder / "gone", folder / "dangling.parquet")
    os.symlink(folder / "folder", folder / "linked.npy")
    tiny_checkpoint("bert", folder / "predictor")
    tiny_checkpoint("classifier", folder / "reward")
    # As a pipe would be, but that ends where it is read.
    os.symlink("/dev/null", folder / "null.npy")
    os.symlink("/dev/null", tiny_checkpoint("bert", folder / "piped") / "vocab.txt")
    before = Path.cwd()
    os.chdir(folder)
    yield folder
    os.chdir(before)


GENERATE = "rws_decode generate --model mini --prompt cat --length 8 --steps 4 --block 8"
STUDY = "paper_figures experiment reward-bench --out out --prompts 1 --validation 1 --length 4 --steps 2 --block 4"
DIALOGUES = "paper_figures experiment mt-bench --out out --prompts 1"
TOPK = "rws_theory path good.npy --scale-max 2"

# Words of a command, `_` for an argument that is empty, and a part of the line it ends with.
PARTS = {"GENERATE": GENERATE, "STUDY": STUDY, "DIALOGUES": DIALOGUES, "TOPK": TOPK, "SURROGATE": SURROGATE}
COMMANDS = listed("refused_commands.txt", **PARTS)["commands"] | {
    f"rws_decode generate --length 8 --steps 4 --block 8 --input-ids {ids}": message
    for ids, message in {"[" * 100_000: "nested too deep", f"[1{'0' * 5000}]": "--input-ids"}.items()
}


def files_below(folder: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_size for path in folder.rglob("*") if not path.is_dir()}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: ascii(words)[1:90])
def test_a_command_ends_with_status_2_and_one_line_and_writes_nothing(
    words: str, tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    program, *argv = ["" if word == "_" else word for word in words.split(" ")]
    before = files_below(tree)
    status = importlib.import_module(f"{program}.__main__").main(argv)
    output = capsys.readouterr()
    # Without what shows progress, which a terminal overwrites.
    lines = [line for line in output.err.replace("\r", "\n").splitlines() if line.startswith(f"python -m {program}")]
    assert (status, output.out, len(lines)) == (2, "", 1), output.err
    assert any(part in f"{lines[0]}\n" for part in COMMANDS[words].split("|")), lines[0]
    assert "Traceback" not in output.err and files_below(tree) == before


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links: another system than Windows")
def test_files_behind_links_are_read_and_swapped_ones_refused(tree: Path, tmp_path: Path) -> None:
    for path in (tree / "reward").iterdir():
        os.symlink(path, tmp_path / path.name)
    reward_model = load_reward(str(tmp_path))
    assert reward_model.score(["the cat"], ["sat"]) == load_reward(str(tree / "reward")).score(["the cat"], ["sat"])
    (tmp_path / "model.safetensors").unlink()
    os.symlink(tree / "predictor" / "model.safetensors", tmp_path / "model.safetensors")
    refused(lambda: load_reward(str(tmp_path)), f"reward {tmp_path.name} cannot be loaded: ")
    (tmp_path / "model.safetensors").unlink()
    os.symlink(tmp_path / "model.safetensors", tmp_path / "model.safetensors")
    refused(lambda: load_reward(str(tmp_path)), "no weights")
