"""What the site has beyond the pages below docs/: documents of the repository, and links to equations and names.

MkDocs calls the functions `on_...` when it builds the site (`make docs`). Links in a document are those of the
repository, so that they work wherever the files are read; here they become links of the site.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from markdown.extensions.toc import slugify
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
# Documents that stand elsewhere in the repository; the site has them below repository/.
DOCUMENTS = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "THIRD_PARTY.md", "CITATION.cff")
CARDS = tuple(
    path.relative_to(ROOT).as_posix()
    for pattern in ("rws_decode/mini/models/*/README.md", "paper_figures/data/*.md")
    for path in sorted(ROOT.glob(pattern))
)
_BESIDE = "repository/"
_LINK = re.compile(r"\[([^\[\]]*)\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")
_NAMED = re.compile(r"<code>((?:rws_theory|rws_decode|paper_figures)\.[\w.]+)</code>")
_CITED = re.compile(r"\(T(\d+)\)")
_SECTION = re.compile(r"docs/theory\.md,\s+section\s+(\d+)")
_PARAGRAPH = re.compile(r"<(p|li)>.*?</\1>", re.DOTALL)
_EQUATION = re.compile(r" +\(T(\d+)\)$", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents of the repository to the site."""
    for name in (*DOCUMENTS, *CARDS):
        text = (ROOT / name).read_text(encoding="utf-8")
        if name.endswith(".cff"):
            text = f"# {name}\n\n```yaml\n{text}```\n"
        page = name if name.endswith(".md") else f"{name}.md"
        files.append(File.generated(config, f"{_BESIDE}{page}", content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn the repository's links into the site's; of what the site does not have the words stay."""
    own = page.file.src_uri
    below = own.removeprefix(_BESIDE) if own.startswith(_BESIDE) else f"docs/{own}"
    folder = posixpath.dirname(below)

    def link(found: re.Match[str]) -> str:
        words, target, anchor = found.groups()
        path = posixpath.normpath(posixpath.join(folder, target))
        inside = path.removeprefix("docs/") if path.startswith("docs/") else f"{_BESIDE}{path}"
        inside = inside if inside.endswith(".md") or path.startswith("docs/") else f"{inside}.md"
        if files.get_file_from_path(inside):
            return f"[{words}]({posixpath.relpath(inside, posixpath.dirname(own) or '.')}{anchor or ''})"
        return words if (ROOT / path).exists() else found[0]

    return _LINK.sub(link, markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Give every equation of theory.md an anchor, and link what cites it; link the names that the reference has."""
    if page.file.src_uri.startswith(("theory.md", "guides/")):  # not elsewhere: ARCHITECTURE has a picture
        html = html.replace('class="language-text highlight"', 'class="language-text highlight wrapped"')
    if page.file.src_uri == "theory.md":
        html = _EQUATION.sub(r' <span class="equation-number" id="T\1">(T\1)</span>', html)
        return _PARAGRAPH.sub(lambda text: _CITED.sub(r'(<a href="#T\1">T\1</a>)', text[0]), html)
    if page.file.src_uri.startswith(("api/", "extra/")):
        html = _CITED.sub(r'(<a href="../theory.html#T\1">T\1</a>)', html)
        html = _SECTION.sub(_section, html)
        html = _NAMED.sub(_reference, html)
    return html


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Make the empty corner of a table a cell: it is no heading."""
    return re.sub(r"<th([^>]*)></th>", r"<td\1></td>", output)


def on_post_build(config: MkDocsConfig) -> None:
    """Leave out what no reader needs: maps of the theme's sources, and the search in other languages."""
    scripts = Path(config.site_dir) / "assets"
    for path in [*scripts.rglob("*.map"), *(scripts / "javascripts" / "lunr").rglob("*.js")]:
        path.unlink()


def _section(found: re.Match[str]) -> str:
    titles = re.findall(r"^## (.*)", (ROOT / "docs" / "theory.md").read_text(encoding="utf-8"), re.MULTILINE)
    anchor = slugify(titles[int(found[1]) - 1], "-")
    return f'<a href="../theory.html#{anchor}">{found[0]}</a>'


def _reference(found: re.Match[str]) -> str:
    return f'<autoref identifier="{found[1]}" optional>{found[0]}</autoref>'
