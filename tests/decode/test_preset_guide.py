"""The guide to presets: its Python runs, and what it prints and says is so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from rws_decode import presets
from rws_decode.__main__ import main

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "presets.md").read_text(encoding="utf-8")


def test_its_python_runs() -> None:
    names: dict[str, Any] = {}
    for snippet in re.findall(r"```python\n(.*?)```", GUIDE, flags=re.DOTALL):
        exec(compile(snippet, "presets.md", "exec"), names)
    assert names["trace"].end_of_text == "defer-published" and names["trace"].length == 32


def test_its_notes_are_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    (notes,) = re.findall(r"```text\n(note: .*?)```", GUIDE, flags=re.DOTALL)
    (command,) = re.findall(r"python -m rws_decode (generate --preset llada-gsm8k .*)", GUIDE)
    assert main(command.split()) == 0
    assert capsys.readouterr().err == notes


def test_what_it_says_of_presets_is_so() -> None:
    for preset in presets.PRESETS.values():
        flagged = any("confidence_eos_eot_inf = True" in setting.published for setting in preset.settings)
        assert (preset.values.get("end_of_text") == "defer-published") == flagged
    asked = [setting for setting in presets.load("rws-paper").settings if setting.otherwise == "to be given"]
    assert [setting.published.split(" 0")[0] for setting in asked] == ["reward scale"]
