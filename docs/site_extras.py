"""The list of extras, docs/extras.md, which this script writes; on the site, their pages, and those that they build."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "docs" / "extras.md"
HEAD = """# Extras

What most users never need stands in folders that can be deleted: `rws_decode/extra` and `paper_figures/extra`.
The core finds an extra by [entry points](guides/plug-ins.md), when its name is asked for.

To delete one, delete its folder, its folder in `tests/extra`, its pages in `docs/extra`, the files that its docstring
names, and its entry points in `pyproject.toml`. Then `python docs/site_extras.py` writes this list again.

| extra | what it is for | pages |
| --- | --- | --- |
"""


def extras() -> dict[str, str]:
    """Return the extras by name, each with the first line of its docstring."""
    found = {}
    for package in ("rws_decode", "paper_figures"):
        for path in sorted((ROOT / package / "extra").glob("*/__init__.py")):
            text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            found[path.parent.name] = " ".join(text.split("\n\n")[0].split())
    return found


def pages() -> dict[str, tuple[str, str]]:
    """Return the pages in docs/extra by their names, with the extra that each is of and its title."""
    titles = {
        path.name: path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        for path in sorted((ROOT / "docs" / "extra").glob("*.md"))
    }
    return {name: (name.removesuffix(".md").split("-")[0], title) for name, title in titles.items()}


def listed() -> str:
    """Return the page that lists the extras."""
    rows = []
    for name, about in extras().items():
        links = [f"[{title}](extra/{page})" for page, (own, title) in pages().items() if own == name]
        rows.append(f'| <a id="{name}"></a>`{name}` | {about} | {", ".join(links)} |\n')
    return HEAD + "".join(rows)


def on_config(config: Any) -> Any:
    """Put the pages of the extras into the navigation, below "Extras" of "Reference"."""
    (parts,) = (top["Reference"] for top in config["nav"] if "Reference" in top)
    (section,) = (part["Extras"] for part in parts if "Extras" in part)
    section += [{title: f"extra/{name}"} for name, (_, title) in pages().items()]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the whole pages that an extra builds for the site, such as playground.html."""
    from mkdocs.structure.files import File

    from rws_decode.common.plugins import hook

    for name, html in (hook("site-pages") or dict)().items():
        files.append(File.generated(config, name, content=html))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Let links to an extra in the list lead to the page that the extra built, where it did."""

    def link(found: re.Match[str]) -> str:
        built = f"{found[2]}.html"
        return f"({found[1]}{built})" if files.get_file_from_path(built) else found[0]

    return re.sub(r"\(((?:\.\./)?)extras\.md#([\w-]+)\)", link, markdown)


if __name__ == "__main__":
    LIST.write_text(listed(), encoding="utf-8")
