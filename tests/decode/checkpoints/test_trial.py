"""Templates and tokenizers that would not end, or fill the memory, are refused in one line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from rws_decode.checkpoints import trial
from rws_decode.predictors import load_predictor
from rws_decode.testing import tiny_checkpoint

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux alone")

TAKES = "the tokenizer or its chat template takes more than 1 s or 1 GB for a text"
# They end, after a minute or with some memory.
LOOPS = "{% for a in range(99999) %}{% for b in range(999) %}{% endfor %}{% endfor %}"
LARGE, SAID = "{{ 'a' * 2 * 10**9 }}", "{{ messages[0].content }}"
LONGER = [{"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}] * 24


@pytest.mark.parametrize("template", [LOOPS, LARGE, "{% if false %}" + LARGE + "{% endif %}", "", None])
def test_what_has_no_end_is_refused(tmp_path: Path, template: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "_SECONDS", 1)
    folder = tiny_checkpoint("bert", tmp_path / "model")
    file, other = (
        folder / "tokenizer.json",
        "{% if 'cat' in messages[0].content %}" + SAID[:-2] + "* 3 * 10**8 }}{% endif %}",
    )
    (folder / "chat_template.jinja").write_text((template or other) + SAID)
    if template == "":
        normalizer = {"type": "Sequence", "normalizers": LONGER}
        file.write_text(json.dumps(json.loads(file.read_text()) | {"normalizer": normalizer}))
    with pytest.raises(ValueError, match=TAKES) as refused:
        assert load_predictor(str(folder)).encode_prompt("a dog")
        load_predictor(str(folder)).encode_prompt("the cat")
    assert template is None or str(refused.value).startswith("model model cannot be loaded: its tokenizer is refused (")
