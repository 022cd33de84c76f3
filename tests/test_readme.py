"""The README's Python, executed as it stands there."""

from __future__ import annotations

import re
import shlex
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import paper_figures.__main__ as figures
import rws_decode.__main__ as decoding
import rws_theory.__main__ as theory
from paper_figures.contents import NAMES
from rws_decode.experiments import EXPERIMENTS

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


def commands(package: str) -> list[str]:
    """Return the README's command lines of a package, what stands in square brackets outside quotes left out."""
    text = README.read_text(encoding="utf-8").replace("\\\n", " ")
    found = re.findall(rf"^    python -m {package} (.*?)(?:  +#.*)?$", text, flags=re.MULTILINE)
    return [re.sub(r"(?<!\")\[.*?\]", "", line).replace(" NAME ", " controls ") for line in found]


@pytest.mark.parametrize(
    ("package", "expected"),
    [
        (decoding, {"generate", "experiment", "summarize", "scale-path", "bench", "replay", "diff"}),
        (theory, {"claims", "crossings", "path", "bench"}),
    ],
    ids=["decoding", "theory"],
)
def test_every_command_line_has_options_that_there_are(
    package: Any, expected: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    for name, command in package.COMMANDS.items():
        monkeypatch.setattr(import_module(command.module), "run", lambda args, name=name: ran.append(name) or 0)
    lines = commands(package.__package__)
    for line in lines:
        assert package.main(shlex.split(line)) == 0, line
    assert ran == [line.split()[0] for line in lines]
    assert expected <= set(ran)


def test_every_figure_that_is_to_be_drawn_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[list[str], int]] = []

    def make(names: list[str], runs: Path, out: Path, workers: int = 0, full: bool = False) -> list[Path]:
        asked.append((list(names), workers))
        return []

    monkeypatch.setattr(figures, "make", make)
    assert [figures.main(shlex.split(line)) for line in commands("paper_figures")] == [0, 0]
    assert asked[0] == (list(NAMES), 2) and asked[1][1] == 0
    assert asked[1][0] and set(asked[1][0]) < set(NAMES)


def test_every_experiment_is_in_the_table() -> None:
    section = README.read_text(encoding="utf-8").split("## Experiments")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`([\w-]+)`", row)} == set(EXPERIMENTS)
