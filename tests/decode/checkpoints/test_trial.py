"""Templates and tokenizers that would not end, or fill the memory, are refused in one line."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from rws_decode.checkpoints import trial
from rws_decode.checkpoints.trial import tried
from rws_decode.predictors import load_predictor
from rws_decode.testing import tiny_checkpoint

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux alone")

TAKES = r"the tokenizer or its chat template takes more than 1 s or 1 GB for a text"
SAID = "{{ messages[0].content }}"
LOOPS = "{% for a in range(99999) %}{% for b in range(999) %}{% endfor %}{% endfor %}"  # ends, after a minute
LARGE = "{{ 'a' * 2 * 10**9 }}"


@pytest.mark.parametrize(
    "template", [LOOPS, LARGE, "{% if false %}" + LARGE + "{% endif %}", "{{ 'a' | center(2 * 10**9) }}"]
)
def test_a_chat_template_without_end_is_refused_at_loading(
    tmp_path: Path, template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "_SECONDS", 1)
    folder = tiny_checkpoint("bert", tmp_path / "model")
    (folder / "chat_template.jinja").write_text(template + SAID)
    with pytest.raises(ValueError, match=rf"^model model cannot be loaded: its tokenizer is refused \({TAKES}\)$"):
        load_predictor(str(folder))


def test_a_chat_template_without_end_for_some_messages_is_refused_with_them(tmp_path: Path) -> None:
    folder, large = tiny_checkpoint("bert", tmp_path / "model"), "{{ messages[0].content * 10**9 }}"
    (folder / "chat_template.jinja").write_text("{% if 'cat' in messages[0].content %}" + large + "{% endif %}" + SAID)
    predictor = load_predictor(str(folder))
    assert predictor.encode_prompt("a dog")
    with pytest.raises(ValueError, match=r"takes more than 10 s or 1 GB for a text$"):
        predictor.encode_prompt("the cat")


def test_a_normalizer_without_end_is_refused_at_loading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "_SECONDS", 1)
    folder = tiny_checkpoint("bert", tmp_path / "model")
    file = folder / "tokenizer.json"
    longer = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
    normalizer = {"type": "Sequence", "normalizers": [longer] * 24}
    file.write_text(json.dumps(json.loads(file.read_text()) | {"normalizer": normalizer}))
    with pytest.raises(ValueError, match=TAKES):
        load_predictor(str(folder))


def test_what_is_tried_is_not_done_here(capfd: pytest.CaptureFixture[str]) -> None:
    done: list[int] = []

    def work() -> None:
        done.append(os.getpid())
        os.write(2, b"not seen")
        raise KeyError

    tried(work)
    assert not done and tuple(capfd.readouterr()) == ("", "")
