"""The pages of README and docs, and every command line that documents, notebooks, docstrings and make show."""

import ast
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from functools import cache
from inspect import cleandoc
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PACKAGES = ("rws_theory", "rws_decode", "paper_figures")
# What a command starts with.
PROGRAM = r"(?:rws|python3?|make|pip|accelerate|torchrun|jupyter|dask|npm|git|export|\.) (?=\S)"
COMMENT = r"  +(?:#|\().*$"
# Where a command begins in a source: a span, a line of a docstring or of a cell, or what goes on. Few sources have any.
BEGINS = re.compile(rf"(?:`\s*|&& |^[\s#]*){PROGRAM}", re.MULTILINE)


def documents() -> list[Path]:
    """Return what is written for readers: at the top, in docs and in the packages; not the history of changes."""
    below = (path for name in (*PACKAGES, "docs") for path in (ROOT / name).rglob("*.md"))
    top = [path for path in ROOT.glob("*.md") if path.name != "CHANGELOG.md"]
    return sorted([*top, ROOT / "CITATION.cff", *below])


def sources() -> list[Path]:
    """Return every file of Python; those of the notebooks hold their Markdown as comments."""
    return sorted(path for name in (*PACKAGES, "notebooks", "tests") for path in (ROOT / name).rglob("*.py"))


def block_lines(text: str) -> Iterator[str]:
    """Yield the lines of indented blocks and of fenced ones that are no Python, data or text; what goes on is one."""
    indented = fenced = other = False
    before = kept = ""
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced, other = not fenced, not fenced and line.strip() in ("```python", "```text", "```json", "```toml")
            indented, before = False, line
            continue
        goes_on = bool(kept)
        indented = line.startswith("    ") and bool(line.strip()) and (indented or goes_on or not before.strip())
        before = line
        if not other and (fenced or indented):
            kept += line.strip()
            if kept.endswith("\\"):
                kept = f"{kept[:-1].rstrip()} "
                continue
            yield kept
        kept = ""


def spans(text: str) -> Iterator[str]:
    """Yield what stands between backticks within a paragraph; the end of a line is a space."""
    for paragraph in re.split(r"\n\s*\n", re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)):
        for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", paragraph):
            yield " ".join(span.split())


def texts(path: Path) -> Iterator[tuple[str, bool]]:
    """Yield the texts of a file, and whether each has blocks: documents, docstrings, cells; not other strings."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield text, True
        return
    nodes = list(ast.walk(ast.parse(text))) if BEGINS.search(text) else []
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    bodies = [node.body for node in nodes if isinstance(node, kinds) and node.body]
    docstrings = {id(body[0].value) for body in bodies if isinstance(body[0], ast.Expr)}
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield cleandoc(node.value), id(node) in docstrings
    if path.parent.name == "notebooks":
        for cell in re.findall(r"^# %% \[markdown\]\n((?:#.*\n)+)", text, flags=re.MULTILINE):
            yield re.sub(r"^# ?", "", cell, flags=re.MULTILINE), True


@cache
def documented() -> dict[str, tuple[str, ...]]:
    commands: dict[str, list[str]] = {}
    for path in [*documents(), *sources()]:
        if path.name in ("documented_commands.py", "test_documented.py"):
            continue
        for text, with_blocks in texts(path):
            for line in [*(block_lines(text) if with_blocks else ()), *spans(text)]:
                for command in re.sub(COMMENT, "", line).split(" && "):
                    if re.match(PROGRAM, command) and str(path) not in commands.setdefault(command, []):
                        commands[command].append(str(path))
    # `make machines` runs other targets, which are here themselves.
    for target in sorted({command.split()[1] for command in commands if command.startswith("make ")} - {"machines"}):
        for command in targets(target):
            commands.setdefault(command, []).append(f"make {target}")
    return {command: tuple(places) for command, places in sorted(commands.items())}


@cache
def targets(target: str) -> tuple[str, ...]:
    """Return the commands that a target of the Makefile would run in an environment that is there."""
    words = ["make", "--no-print-directory", "-n", "-o", ".venv/.ready", target]
    # The tests may themselves run below make, whose options are not meant here.
    apart = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES", "OUT", "SAMPLE", "TESTS"}
    plainly = {name: value for name, value in os.environ.items() if name not in apart}
    output = subprocess.run(words, cwd=ROOT, env=plainly, capture_output=True, text=True, check=True).stdout
    lines = re.sub(r" *\\\n\s*", " ", output).splitlines()
    plain = (re.sub(r"^(?:\w+=\S+ +)*", "", line).replace(".venv/bin/", "") for line in lines)
    return tuple(line for line in plain if not line.startswith(("make:", "rm ")))


def options_shown(text: str) -> set[str]:
    """Return the long options that stand between backticks or in blocks."""
    shown = [*block_lines(text), *spans(text)]
    return {word.rstrip(",.:;)") for line in shown for word in re.findall(r"(?<![\w-])--[a-z][\w-]*", line)}


def listed(name: str, **parts: str) -> dict[str, dict[str, str]]:
    """Return the lists of a text beside this file, heading -> pattern -> value; parts: what stands for {NAME}."""
    text, lists = (ROOT / "tests" / "support" / name).read_text(encoding="utf-8"), dict[str, dict[str, str]]()
    for word, part in parts.items():
        text = text.replace(f"{{{word}}}", part)
    for line in text.splitlines():
        if re.fullmatch(r"\[[a-z ]+\]", line):
            lists[line[1:-1]] = {}
        elif line and line[0] != "#":
            pattern, _, value = line.partition(" =>")
            lists[[*lists][-1]][pattern] = value.removeprefix(" ")
    return lists


def words_of(command: str) -> list[str]:
    return shlex.split(command)


# The pages that show commands and Python to be pasted; those of theory.md are formulas, and those of trace-format.md,
# likelihood.md, headroom.md and clusters.md have tests of their own.
GUIDES = (
    *sorted(
        path.relative_to(ROOT).as_posix()
        for folder in ("guides", "extra")
        for path in (ROOT / "docs" / folder).glob("*.md")
    ),
    *(
        "docs/evidence.md",
        "docs/evidence-statistics.md",
        "docs/evidence-limits.md",
        "docs/evidence-antibodies.md",
        "docs/evidence-smollm2.md",
        "docs/cite.md",
    ),
)


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def section(name: str, title: str) -> str:
    """Return what stands below a heading of the second level."""
    return page(name).split(f"## {title}\n")[1].split("\n## ")[0]


def snippets(name: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page(name), flags=re.DOTALL)


def shown(name: str) -> list[str]:
    """Return what a page says that its commands and snippets print."""
    return re.findall(r"```text\n(.*?)```", page(name), flags=re.DOTALL)


def ran(name: str, number: int = 0) -> dict[str, Any]:
    """Execute a snippet of a page, the first unless told otherwise, and return its names."""
    names: dict[str, Any] = {"__name__": "guide"}
    exec(compile(snippets(name)[number], name, "exec"), names)
    return names
