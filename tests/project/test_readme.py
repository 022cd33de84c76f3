"""The README's Python, executed as it stands there, and what it says that there is."""

from __future__ import annotations

import argparse
import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from documented_commands import PROGRAM, block_lines, options_shown

import paper_figures.__main__ as figures
import rws_decode.__main__ as decoding
import rws_theory.__main__ as theory
from paper_figures.commands import BENCH, TRAIN
from paper_figures.contents import NAMES
from paper_figures.studies import STUDIES
from rws_decode.predictors.families import class_of
from rws_decode.predictors.native import FAMILIES
from rws_decode.strategies.table import OFFERED
from rws_theory.commands.options import add_options

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
# Options of pytest's, pip's, accelerate's and the harness's own.
OTHERS = {"--multi_gpu", "--num_processes", "--model_args", "--tasks", "--python", "--constraints"}


def section(title: str) -> str:
    return README.read_text(encoding="utf-8").split(f"## {title}\n")[1].split("\n## ")[0]


def snippets(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


def ran(title: str) -> tuple[str, dict[str, Any]]:
    """Execute the one snippet of a section and return it with its names."""
    (snippet,) = snippets(section(title))
    names: dict[str, Any] = {"__name__": "readme"}
    exec(compile(snippet, str(README), "exec"), names)
    return snippet, names


def test_every_snippet_is_executed_below() -> None:
    titles = ("Decode something", "Configs, streams and harnesses", "Your own strategy", "What the theory says")
    titles += ("Exact worlds",)
    assert sorted(each for title in titles for each in snippets(section(title))) == sorted(
        snippets(README.read_text(encoding="utf-8"))
    )


def test_the_first_example_is_as_the_text_says(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, names = ran("Decode something")
    assert len(names["guided"].rules_broken) == 3 and names["usual"].rules_broken == []
    assert "RWS breaks three rules, where the default breaks none" in section("Decode something").replace("\n", " ")
    assert "'the' at 0 overtakes 'worked' at 4 at factor 1.794" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curves.png", "decodes.html", "order.png"]
    assert 40_000 < (tmp_path / "decodes.html").stat().st_size < 80_000  # "some 60 KB"


def test_a_strategy_of_ones_own_runs() -> None:
    snippet, names = ran("Your own strategy")
    definition = snippet[snippet.index("@dataclass") : snippet.index("(trace,)")].strip()
    assert len(definition.splitlines()) <= 10
    trace = names["trace"]
    assert trace.ranking == "order" and trace.tokens.shape == (64,)
    # Every step commits the positions whose two best tokens hold the most probability, as the section says.
    for step in range(trace.steps):
        chosen, left = trace.chosen[step], trace.eligible[step] & ~trace.chosen[step]
        assert not left.any() or trace.value[step, chosen].min() >= trace.value[step, left].max()
    assert (np.abs(trace.value[trace.eligible] - 0.5) <= 0.5).all()


def test_configs_streams_and_perplexity_run(capsys: pytest.CaptureFixture[str]) -> None:
    _, names = ran("Configs, streams and harnesses")
    assert names["stopped"].traces[0].steps_run == 8
    assert 1.0 < names["found"].pooled < 100.0
    assert "█" in capsys.readouterr().out


def test_an_exact_world_answers(capsys: pytest.CaptureFixture[str]) -> None:
    _, names = ran("Exact worlds")
    plain, tilted, best, rewards, slopes, *own = capsys.readouterr().out.splitlines()
    means = [float(line.rsplit(" ", 1)[1]) for line in (plain, tilted)]
    assert means[0] < means[1]  # Theorem 2
    assert float(best.rsplit(" ", 1)[1]) > 0  # how far the tilt has moved
    frontier = json.loads(rewards)
    assert frontier == sorted(frontier) and len(frontier) > 2
    assert slopes.startswith("RewardSlopes(") and names["own"].vocabulary == 3
    assert own == ["[[1.    0.    0.   ]", " [0.104 0.697 0.199]", " [1.    0.    0.   ]]"]


def test_the_theory_answers(capsys: pytest.CaptureFixture[str]) -> None:
    ran("What the theory says")
    crossing, path, verdicts, *cell = capsys.readouterr().out.splitlines()
    assert crossing.startswith("(4.81211825") and crossing.endswith("[1]")
    assert path.startswith("[((0,), 4.81211825") and path.endswith("((1,), 32.0)]")
    assert verdicts == "False ['false']"
    assert [re.findall(r"'([a-z]+)'", line)[0] for line in cell] == ["confidence", "constant", "shuffled", "flipped"]


def test_every_experiment_and_figure_is_in_its_table() -> None:
    rows = [line.split("|")[1] for line in section("Experiments").splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`([\w-]+)`", row)} == set(STUDIES)
    named = set(re.findall(r"`([a-z]\w+)`", section("Figures, tables, report").split("| NAME |")[1]))
    # Two rows give the first and the last of a series.
    assert set(NAMES) - named == {name for name in NAMES if re.match(r"fig[2-5]_|table([2-9]|1[01])_(?!pattern)", name)}


def test_every_strategy_that_is_named_is_there() -> None:
    named = section("Your own strategy").split("shipped ones: ")[1].split("(")[0]
    assert {"default", "temperature", "rws"} <= set(re.findall(r"`([a-z-]+)`", named)) <= set(OFFERED)


def parsers() -> list[argparse.ArgumentParser]:
    """Return the parser of every command and of every experiment."""
    collected = []
    commands = [command for package in (decoding, theory, figures) for command in package.COMMANDS.values()]
    for module in [command.module for command in (*commands, BENCH, TRAIN)]:
        collected.append(argparse.ArgumentParser())
        import_module(module).add_arguments(collected[-1])
    for experiment in STUDIES.values():
        collected.append(argparse.ArgumentParser())
        add_options(collected[-1], import_module(experiment.module).Options)
    return collected


def test_every_option_is_one_of_some_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        figures.main(["--help"])
    known = OTHERS | set(re.findall(r"--[a-z]+", capsys.readouterr().out))
    known |= {option for parser in parsers() for option in parser._option_string_actions}
    assert options_shown(README.read_text(encoding="utf-8")) - known == set()


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_commands_can_be_pasted_into_any_shell(name: str) -> None:
    # zsh takes what follows # in a line typed for words, brackets for patterns; nobody has a file called FILE.
    for line in block_lines((ROOT / name).read_text(encoding="utf-8")):
        assert re.match(PROGRAM, line), line  # else nothing executes it
        plain = re.sub(r'"[^"]*"', "", line)
        assert not re.search(r"#|\.\.\.|[\[\]<>*]|(?<![\w/-])[A-Z]{2,}(?![\w/-])", plain), line


def test_the_laptops_memory_is_counted_from_the_published_sizes() -> None:
    sizes = {"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28, "max_position_embeddings": 40960}
    heads = {"num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128}
    described = {"model_type": "a2d-qwen3", "vocab_size": 151936, "tie_word_embeddings": True, **sizes, **heads}
    layout = FAMILIES["a2d-qwen3"].layout(described, "Qwen3-0.6B-diffusion-mdlm-v0.1")
    with torch.device("meta"):
        weights = sum(weight.numel() for weight in class_of(layout)(layout.config).parameters())
    gigabytes, logits = f"{4 * weights / 10**9:.1f} GB", f"{64 * layout.vocabulary * 4 / 10**6:.0f} MB"
    text = section("Real models")
    assert f"{weights:,} weights take {gigabytes} in float32, twice" in text
    assert f"the logits of 64 masks over {layout.vocabulary:,} tokens {logits}" in text
