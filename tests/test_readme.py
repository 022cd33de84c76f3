"""The README's Python, executed as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

README = Path(__file__).parents[1] / "README.md"


def test_a_strategy_of_ones_own_runs_as_the_readme_shows_it() -> None:
    section = README.read_text(encoding="utf-8").split("## Your own strategy")[1].split("\n## ")[0]
    (snippet,) = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)
    definition = snippet[snippet.index("@dataclass") : snippet.index("(trace,)")].strip()
    assert len(definition.splitlines()) <= 10
    names: dict[str, Any] = {"__name__": "readme"}
    exec(compile(snippet, str(README), "exec"), names)
    trace = names["trace"]
    assert trace.ranking == "order" and trace.tokens.shape == (64,)
    # Every step commits the positions whose two best tokens hold the most probability, as the section says.
    for step in range(trace.steps):
        chosen, left = trace.chosen[step], trace.eligible[step] & ~trace.chosen[step]
        assert not left.any() or trace.value[step, chosen].min() >= trace.value[step, left].max()
    assert (np.abs(trace.value[trace.eligible] - 0.5) <= 0.5).all()


def test_configs_streams_and_perplexity_run_as_the_readme_shows_them(capsys: pytest.CaptureFixture[str]) -> None:
    section = README.read_text(encoding="utf-8").split("## Configs, streams and harnesses")[1].split("\n## ")[0]
    (snippet,) = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)
    names: dict[str, Any] = {"__name__": "readme"}
    exec(compile(snippet, str(README), "exec"), names)
    assert names["stopped"].traces[0].steps_run == 8
    assert 1.0 < names["found"].pooled < 100.0
    assert "█" in capsys.readouterr().out
