"""What readers meet is in the field's words: `tests/support/words.txt` lists those that stay out."""

import ast
import re
from html import unescape
from pathlib import Path

import pytest
from command_lines import rws
from documented_commands import ROOT

from paper_figures.studies import STUDIES
from rws_decode.cli.app import entry_points

WORDS, _, EXCEPT = (ROOT / "tests/support/words.txt").read_text(encoding="utf-8").partition("[except]\n")
INSTEAD = dict(re.split(r" *=> ", line) for line in WORDS.splitlines() if "=>" in line)
EXCEPTED = "|".join(re.split(r" *=> ", line)[0] for line in EXCEPT.splitlines())


def files(folder: str, pattern: str) -> list[str]:
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob(pattern))


PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", *files("docs", "*.md")]
# What Markdown and help have beside prose: code, what follows a link, HTML's tags, names of files; frames and options.
MARKS = r"`(?:[^`\n]|\n(?!\n))*`|(?<=\])\([^)]*\)|</?[a-z][^>]*>|^:::.*$|\S+\.(?:py|md)\b"
FRAMES = r"[│╭╰╮╯─]|\[(?:default|choices):[^]]*\]|`[^`]*`|--[\w-]+( [A-Z][\w:|,]*)?|^Usage:.*$"
COMMANDS = [*((name,) for name in entry_points()), *(("experiment", name) for name in STUDIES)]


def misused(text: str) -> list[str]:
    """Return the words of a text that have another one in the field, each with what stands around it."""
    plain = re.sub(EXCEPTED, lambda found: " " * len(found[0]), " ".join(text.split()), flags=re.IGNORECASE)
    whole = {rf"(?<![\w-])(?:{word})(?![\w-])": instead for word, instead in INSTEAD.items()}
    found = [(each, instead) for word, instead in whole.items() for each in re.finditer(word, plain, re.IGNORECASE)]
    return [f"{plain[max(0, match.start() - 40) : match.end() + 40]!r}: {instead}" for match, instead in found]


def prose(text: str) -> str:
    """Return Markdown without blocks of code, and without MARKS."""
    text = re.sub(r"^ *```.*?^ *```|^ {4,}[^\n]*$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(MARKS, "", text, flags=re.MULTILINE)


def strings(path: str) -> str:
    """Return what a module of exhibits shows: its strings of several words but docstrings."""
    nodes = list(ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))))
    documented = [node.value for node in nodes if isinstance(node, ast.Expr)]
    shown = [node for node in nodes if isinstance(node, ast.Constant) and node not in documented]
    return " | ".join(node.value for node in shown if isinstance(node.value, str) and " " in node.value)


def docstrings(path: Path) -> str:
    """Return what a module documents, without doctests, code, names of parameters, extras and files."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    documented = (node for node in nodes if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef))
    text = "\n\n".join(ast.get_docstring(node) or "" for node in documented)
    text = re.sub(r"^ *>>> .*?(?=\n *\n|\Z)", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"^Needs:.*$|`[^`]*`|\b\w+ ?:(?=\s)|\S+/\S+", " ", text, flags=re.MULTILINE)


@pytest.mark.parametrize("package", ["rws_theory", "rws_decode", "paper_figures"])
def test_docstrings_are_in_the_words_of_the_field(package: str) -> None:
    found = {path: misused(docstrings(path)) for path in (ROOT / package).rglob("*.py")}
    assert {path.relative_to(ROOT).as_posix(): wrong for path, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize("path", PAGES)
def test_pages_are_in_the_words_of_the_field(path: str) -> None:
    assert misused(prose((ROOT / path).read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("path", files("notebooks", "[01]*.py"))
def test_notebooks_are_in_the_words_of_the_field(path: str) -> None:
    cells = re.findall(r"^# %% \[markdown\]\n((?:#.*\n)+)", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
    assert [misused(prose(re.sub(r"^# ?", "", cell, flags=re.MULTILINE))) for cell in cells] == [[]] * len(cells)


# Captions name the strategy `default`, as their pictures and tables do.
@pytest.mark.parametrize("path", files("paper_figures/exhibits", "*.py"))
def test_figures_and_tables_are_in_the_words_of_the_field(path: str) -> None:
    assert [each for each in misused(strings(path)) if "confidence decoding" not in each.rpartition(":")[2]] == []


@pytest.mark.parametrize("path", [*files("rws_decode/extra", "*.html"), *files("paper_figures/report", "*.html")])
def test_html_pages_are_in_the_words_of_the_field(path: str) -> None:
    text = re.sub(r"<(script|style).*?</\1>|<!--.*?-->", "", (ROOT / path).read_text(encoding="utf-8"), flags=re.DOTALL)
    assert misused(unescape(re.sub(r"<[^>]*>|\$\w+|{[{%].*?[%}]}", " ", text))) == []


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_is_in_the_words_of_the_field(command: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert rws([*command, "--help"]) == 0
    shown = re.sub(rf"^[│ ]+(?:{'|'.join(STUDIES)}) |{FRAMES}", " ", capsys.readouterr().out, flags=re.MULTILINE)
    assert misused(shown) == []
