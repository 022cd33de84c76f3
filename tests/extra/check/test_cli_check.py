"""`rws check`: the digest that it writes, what it says beside another one, and its exit status."""

import json
import re
from pathlib import Path

import pytest
import torch
from command_lines import decoding as main
from command_lines import outcome
from documented_commands import page, ran, shown

from rws_decode import compare_digests, load_digest
from rws_decode.extra.testing import tiny_checkpoint

SMALL = ["--length", "8", "--steps", "4", "--block", "8"]
EXAMPLES = {"examples.json": [{"prompt": "the cat sat on a mat ."}, {"prompt": "a dog ran"}]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("check")
    tiny_checkpoint("bert", root / "model", files=EXAMPLES)
    tiny_checkpoint("bert", root / "other", seed=1, files=EXAMPLES)
    tiny_checkpoint("classifier", root / "reward", files={"reward.json": {"mean": 0.0, "std": 0.3}})
    tiny_checkpoint("bert", root / "silent", tokenizer=False)
    status = main(["check", str(root / "model"), "--reward", str(root / "reward"), "-o", str(root / "d.json"), *SMALL])
    assert status == 0
    return root


def said(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    status, out, err = outcome(main, ["check", *words], capsys)
    assert "Traceback" not in err
    return status, out


def test_one_machine_finds_nothing_and_another_model_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    models = [folder / "model", "--reward", folder / "reward"]
    same = "Nothing differs: the same model, the same tokens in all 6 decodes, the same bits.\n"
    assert said(capsys, *models, "--against", folder / "d.json") == (0, same)
    status, out = said(capsys, *models, "--against", folder / "d.json", "--json")
    assert status == 0 and json.loads(out)["same"] is True and json.loads(out)["differences"] == []
    status, out = said(capsys, folder / "other", "--against", folder / "d.json")
    assert status == 1 and out.startswith("Not the same: checkpoint") and "All weights differ" not in out.split("\n")[0]
    status, out = said(capsys, folder / "other", "--against", folder / "d.json", "--json")
    data = json.loads(out)
    assert status == 1 and data["same"] is False and data["differences"][0]["kind"] == "checkpoint"


def test_the_digest_is_what_the_file_holds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out = said(capsys, folder / "model", "--reward", folder / "reward", "--json", *SMALL)
    assert status == 0 and json.loads(out) == json.loads((folder / "d.json").read_text())
    assert len(load_digest(folder / "d.json").prompts) == 2
    status, out = said(capsys, folder / "model", *SMALL)
    assert status == 0 and out.startswith("model: 4 decodes of 2 prompts, no reward model\n")
    assert out.endswith("write the digest to a file with -o.\n")


@pytest.mark.long
def test_another_setting_runs_in_a_process_of_its_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    setting = "cpu=default,batch=1,dtype=float64"
    words = [folder / "model", "--reward", folder / "reward", "--against", folder / "d.json"]
    status, out = said(capsys, *words, "--settings", setting, "--json")
    data = json.loads(out)
    (each,) = data["settings"]
    assert each["setting"] == setting and each["decodes"] == 6
    assert not [d for d in each["differences"] if d["kind"] != "tokens"]
    assert data["same"] == each["same"] and status == (not data["same"])
    context = {change["name"]: change for change in each["context"]}
    plain = torch.backends.cpu.get_cpu_capability() == "DEFAULT"  # then the setting changes nothing
    assert plain or context["CPU instructions"]["here"] == "DEFAULT"
    assert context["batch"]["here"] == 1
    assert context["dtype"] == {"name": "dtype", "there": "float32", "here": "float64"}
    assert each["last_digits"]["logits"] < 1e-4


GUIDE = "docs/extra/check.md"


def shapes(text: str) -> set[str]:
    """Return the lines of a text without what depends on the machine: numbers, and words in quotes."""
    return {
        re.sub(r"'[^']*'|\d[\d.]*(e-\d+)?%?", "_", line) for line in text.replace("differs.", "differ.").splitlines()
    }


@pytest.mark.long
def test_the_guide_is_so(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    same, dtype = shown(GUIDE)
    assert said(capsys, "mini", "--reward", "mini", "-o", "mini.json")[0] == 0
    assert f"{round(Path('mini.json').stat().st_size / 1000)} KB for `mini`" in page(GUIDE)
    digest = load_digest(Path("mini.json"))
    assert f"{compare_digests(digest, digest)}".strip() == same.strip()
    status, out = said(capsys, "mini", "--reward", "mini", "--dtype", "bfloat16", "--against", "mini.json")
    assert status == 1 and shapes(dtype) <= shapes(out)
    ran(GUIDE)
    assert "in all 8 decodes" in capsys.readouterr().out
