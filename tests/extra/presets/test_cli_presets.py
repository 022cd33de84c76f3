"""--preset of `generate` and `compare`, and `models`: what it lists can be given."""

import json
from pathlib import Path
from typing import Any

import pytest
from command_lines import decoding as main

from rws_decode import decode, load_predictor
from rws_decode.checkpoints import PACKAGED, locate_model
from rws_decode.extra import presets
from rws_decode.extra.sequences.chemistry import CHEMISTRY
from rws_decode.rewards import check_reward_name

EXAMPLE = ["--example", "3"]


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[Any, list[str]]:
    assert main([*words, "--json"]) == 0
    out, err = capsys.readouterr()
    return json.loads(out), err.splitlines()


@pytest.mark.parametrize("name", ["llada-gsm8k", "dream-gsm8k", "fast-dllm-gsm8k"])
def test_the_command_line_decodes_as_python_does(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    result, notes = printed(capsys, "generate", "--preset", name, "--length", "16", *EXAMPLE)
    predictor = load_predictor("mini")
    (trace,) = decode(predictor, predictor.prompts[3], **presets.load(name).arguments(predictor, length=16))
    assert (result["tokens"], result["commit_step"]) == (trace.tokens.tolist(), trace.commit_step.tolist())
    preset = presets.load(name)
    assert result["preset"]["name"] == name
    assert result["preset"]["overridden"] == {"length": {"given": 16, "preset": preset.values["length"]}}
    assert result["preset"]["left_out"] == [setting.published for setting in preset.left_out]
    assert notes[0] == f"note: --length 16 is given, --preset {name} has {preset.values['length']}"
    for setting in preset.left_out:
        assert f"note: --preset {name} leaves out {setting.published}: {setting.note}" in notes


def test_the_scale_of_the_paper_has_to_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["generate", "--preset", "rws-paper", "--length", "16", *EXAMPLE, "--reward", "mini"]
    assert main(words) == 2
    assert "--reward-scale is missing: --strategy rws needs it" in capsys.readouterr().err
    result, _ = printed(capsys, *words, "--reward-scale", "8")
    assert result["forwards"] == 8 and result["preset"]["followed"] == {"steps": 8, "block": 16}
    results, notes = printed(capsys, "compare", *words[1:])
    assert [result["strategy"] for result in results] == ["default", "rws:8"]
    assert notes[0] == "note: --preset rws-paper has no reward scale, so --strategies is default rws:8"


def test_models_as_json(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cached = tmp_path / "models--openbmb--Eurus-RM-7b" / "snapshots" / "0" / "config.json"
    cached.parent.mkdir(parents=True)
    cached.write_text("{}")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert main(["models", "--json"]) == 0
    known = json.loads(capsys.readouterr().out)
    assert all(set(entry) == {"name", "kind", "licence", "bytes", "installed", "install"} for entry in known)
    assert {entry["name"] for entry in known if entry["install"] is None} >= {"mini", "english", "era", "charge"}
    for entry in known:
        if not entry["installed"] and not entry["install"].startswith("hf "):
            assert entry["name"] in {*PACKAGED, *CHEMISTRY, "human", "humanness"}
        elif entry["kind"] == "model":
            locate_model(entry["name"])
        elif entry["kind"] == "reward":
            check_reward_name(entry["name"])
    hub = {entry["name"]: entry["installed"] for entry in known if (entry["install"] or "").startswith("hf ")}
    assert [name for name, here in hub.items() if here] == ["eurus"] and "qrm" in hub
