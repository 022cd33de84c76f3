"""The README's Python, executed as it stands there, and what README and guides name, compared with what there is."""

from __future__ import annotations

import argparse
import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest
from documented_commands import GUIDES, PROGRAM, block_lines, options_shown, page, ran, section, shown

import paper_figures.__main__ as figures
import rws_decode.__main__ as decoding
import rws_theory.__main__ as theory
from paper_figures.commands import BENCH, TRAIN
from paper_figures.contents import NAMES
from paper_figures.studies import STUDIES, options_class
from rws_decode.strategies.table import OFFERED
from rws_theory.commands.options import add_options

ROOT = Path(__file__).parents[2]
# Options of pytest's, pip's, accelerate's and the harness's own.
OTHERS = {"--multi_gpu", "--num_processes", "--model_args", "--tasks", "--python", "--constraints"}


def test_the_readme_is_one_screen_and_its_python_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(page("README.md").split()) <= 900
    of_python, of_command = shown("README.md")
    ran("README.md")
    assert capsys.readouterr().out == of_python
    (command,) = (line for line in block_lines(page("README.md")) if line.startswith("python -m rws_decode"))
    assert decoding.main(shlex.split(command)[3:]) == 0
    assert capsys.readouterr().out == of_command


def test_the_readme_links_to_every_guide() -> None:
    text = page("README.md")
    guides = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs" / "guides").glob("*.md")}
    assert [guide for guide in sorted(guides) if f"]({guide})" not in text] == []


def test_every_experiment_and_figure_is_in_its_table() -> None:
    lines = section("docs/guides/studies.md", "The experiments").splitlines()
    rows = [line.split("|")[1] for line in lines if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`([\w-]+)`", row)} == set(STUDIES)
    named = set(re.findall(r"`([a-z]\w+)`", page("docs/guides/figures.md").split("| NAME |")[1]))
    # Two rows give the first and the last of a series.
    assert set(NAMES) - named == {name for name in NAMES if re.match(r"fig[2-5]_|table([2-9]|1[01])_(?!pattern)", name)}


def test_every_strategy_that_is_named_is_there() -> None:
    named = section("docs/guides/strategies.md", "All names").split("shipped ones: ")[1].split("\n\n")[0]
    assert {"default", "temperature", "rws"} <= set(re.findall(r"`([a-z-]+)`", named)) <= set(OFFERED)


def parsers() -> list[argparse.ArgumentParser]:
    """Return the parser of every command and of every experiment."""
    collected = []
    commands = [command for package in (decoding, theory, figures) for command in package.COMMANDS.values()]
    for module in [command.module for command in (*commands, BENCH, TRAIN)]:
        collected.append(argparse.ArgumentParser())
        import_module(module).add_arguments(collected[-1])
    for experiment in STUDIES:
        collected.append(argparse.ArgumentParser())
        add_options(collected[-1], options_class(experiment))
    return collected


def test_every_option_is_one_of_some_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        figures.main(["--help"])
    known = OTHERS | set(re.findall(r"--[a-z]+", capsys.readouterr().out))
    known |= {option for parser in parsers() for option in parser._option_string_actions}
    shown = {name: options_shown(page(name)) - known for name in ("README.md", *GUIDES)}
    assert {name: options for name, options in shown.items() if options} == {}


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", *GUIDES])
def test_commands_can_be_pasted_into_any_shell(name: str) -> None:
    # zsh takes what follows # in a line typed for words, brackets for patterns; nobody has a file called FILE.
    for line in block_lines(page(name)):
        assert re.match(PROGRAM, line), line  # else nothing executes it
        plain = re.sub(r'"[^"]*"', "", line)
        assert not re.search(r"#|\.\.\.|[\[\]<>*]|(?<![\w/-])[A-Z]{2,}(?![\w/-])", plain), line
