"""The README and the guides of docs/ as tests read them: their texts, their sections, their Python."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
# The pages that show commands and Python to be pasted; those of theory.md are formulas, and those of trace-format.md,
# diagnostics.md and clusters.md have tests of their own.
GUIDES = (
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs" / "guides").glob("*.md")),
    *("docs/index.md", "docs/evidence.md", "docs/evidence-statistics.md", "docs/cite.md"),
)


def page(name: str) -> str:
    """Return the text of a page, by its path in the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


def section(name: str, title: str) -> str:
    """Return what stands below a heading of the second level."""
    return page(name).split(f"## {title}\n")[1].split("\n## ")[0]


def snippets(name: str) -> list[str]:
    """Return the Python of a page."""
    return re.findall(r"```python\n(.*?)```", page(name), flags=re.DOTALL)


def shown(name: str) -> list[str]:
    """Return what a page says that its commands and snippets print."""
    return re.findall(r"```text\n(.*?)```", page(name), flags=re.DOTALL)


def ran(name: str, number: int = 0) -> dict[str, Any]:
    """Execute a snippet of a page, the first unless told otherwise, and return its names."""
    names: dict[str, Any] = {"__name__": "guide"}
    exec(compile(snippets(name)[number], name, "exec"), names)
    return names
