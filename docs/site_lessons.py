"""The lessons as pages of the site: each notebook with the outputs that it was kept with, its formulas as MathML.

MkDocs calls the functions `on_...` when it builds the site (`make docs`). Nothing is executed, and no page needs a
network: a formula is drawn by the browser itself.
"""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
# Code, in which a dollar is a dollar, or a formula.
_FORMULA = re.compile(r"^ {4}.*$|`[^`]*`|\$\$(.+?)\$\$|\$([^$]+)\$", re.MULTILINE | re.DOTALL)
_KEPT = re.compile(r"<p>@kept (\d+)@</p>|@kept (\d+)@")
# HTML that Markdown is not to touch; the page has its number.
_kept: list[str] = []


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add every lesson to the site, where links of the repository lead to it, with its pictures beside it."""
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        page, texts = f"repository/notebooks/{path.name}", []
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"])
            texts.append(_formulas(source) if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
            for output in cell.get("outputs", ()):
                data = {kind: "".join(text) for kind, text in output.get("data", {}).items()}
                if "image/png" in data:
                    name = f"{path.stem}-{len(texts)}.png"
                    content = base64.b64decode(data["image/png"])
                    files.append(File.generated(config, f"repository/notebooks/{name}", content=content))
                    texts.append(f"![What the cell above draws]({name})")
                else:
                    texts.append(_shown(data or {"text/plain": "".join(output["text"])}))
        files.append(File.generated(config, f"{page}.md", content="\n\n".join(texts)))
    return files


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put what was kept from Markdown into its place."""
    return _KEPT.sub(lambda found: _kept[int(found[1] or found[2])], html)


def _shown(data: dict[str, str]) -> str:
    """Return an output as Markdown: its richest kind."""
    if "text/html" in data:
        return _keep(f'<div class="shown">{data["text/html"]}</div>')
    return (
        _formulas(data["text/markdown"]) if "text/markdown" in data else f"```text\n{data['text/plain'].rstrip()}\n```"
    )


def _formulas(text: str) -> str:
    def drawn(found: re.Match[str]) -> str:
        block, inline = found.groups()
        return _keep(convert(block or inline, display="block" if block else "inline")) if block or inline else found[0]

    return _FORMULA.sub(drawn, text)


def _keep(html: str) -> str:
    _kept.append(html)
    return f"@kept {len(_kept) - 1}@"
