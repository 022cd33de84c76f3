"""`models`: every name that it lists can be given, and what it says of a package is so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rws_decode.__main__ import main
from rws_decode.checkpoints.files import locate_model
from rws_decode.checkpoints.packages import PACKAGED, PEPTIDES, REQUIREMENTS
from rws_decode.rewards.chemistry import CHEMISTRY
from rws_decode.rewards.registry import check_reward_name


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


def test_models_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models"]) == 0
    table = capsys.readouterr().out
    for name, entry in PACKAGED.items():
        assert re.search(
            rf"^  {name} +{entry.kind} +{entry.size / 1e6:.3g} MB  {entry.licence} +(here|-) ", table, re.MULTILINE
        )
    assert f"--require-hashes -r {REQUIREMENTS}\n" in table


def test_pip_is_given_the_versions_that_are_read_and_a_hash_of_each() -> None:
    lines = [line for line in REQUIREMENTS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"\S+==\S+ --hash=sha256:[0-9a-f]{64}", line) for line in lines)
    asked = {line.split()[0] for line in lines}
    assert asked - {"gguf==0.19.0"} == {f"{entry.package}=={entry.version}" for entry in (*PACKAGED.values(), PEPTIDES)}
