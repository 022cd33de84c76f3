"""Any extra can be deleted: its folder, tests, pages and entry points. The rest imports, runs, and links to none."""

import ast
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from metadata import write_own

ROOT = Path(__file__).parents[2]
PACKAGES = ("rws_theory", "rws_decode", "paper_figures")
EXTRAS = sorted(
    path.parent.relative_to(ROOT).as_posix()
    for package in PACKAGES
    for path in (ROOT / package / "extra").glob("*/__init__.py")
)
EXTRA = r"(?:rws_decode|paper_figures)\.extra\."


@cache
def declared(extra: str, what: str) -> tuple[str, ...]:
    """Return the extras that the line "Needs: ..." of an extra's docstring names."""
    text = ast.get_docstring(ast.parse((ROOT / extra / "__init__.py").read_text(encoding="utf-8"))) or ""
    found = re.search(rf"^{what}: (.+(?:\n +.+)*)$", text, re.MULTILINE)
    return tuple(found[1].split()) if found else ()


def pages(extra: str) -> list[Path]:
    """Return an extra's pages: docs/extra/NAME.md, and those whose names go on with a hyphen."""
    name = Path(extra).name
    return sorted(path for path in (ROOT / "docs" / "extra").glob(f"{name}*.md") if path.stem.split("-")[0] == name)


def parts(extra: str) -> list[Path]:
    tests = ROOT / "tests" / "extra" / Path(extra).name
    return [ROOT / extra, tests, *pages(extra)]


@cache
def imports(path: Path) -> tuple[tuple[str, bool], ...]:
    """Return the modules that a file imports, each with whether it does so as it is imported itself."""
    tree, found = ast.parse(path.read_text(encoding="utf-8")), []
    later = {
        id(each)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
        for each in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, id(node) not in later) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found += [(f"{node.module}.{alias.name}", id(node) not in later) for alias in node.names]
    return tuple(found)


def test_the_core_imports_no_extra() -> None:
    with_extras = [part for extra in EXTRAS for part in parts(extra)]
    assert EXTRAS
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    for path in (path for path in files if not {path, *path.parents} & {*with_extras}):
        named = [(name, now) for name, now in imports(path) if re.match(EXTRA, name)]
        # A study may need an extra of the decoder when it runs, never when it is imported.
        wrong = [name for name, now in named if now or path.is_relative_to(ROOT / "rws_decode")]
        assert wrong == [], path


def test_the_list_of_extras_is_the_one_that_is_generated() -> None:
    hook = runpy.run_path(str(ROOT / "docs" / "site_extras.py"))
    assert hook["LIST"].read_text(encoding="utf-8") == hook["listed"](), "run python docs/site_extras.py"


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_imports_no_other_but_those_that_it_declares(extra: str) -> None:
    needed = {*declared(extra, "Needs"), Path(extra).name}
    for part in parts(extra)[:1]:
        for path in part.rglob("*.py"):
            for name, _ in imports(path):
                other = re.match(r"(?:rws_decode|paper_figures)\.extra\.(\w+)", name)
                assert other is None or other[1] in needed, (path, name)


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_has_a_page_and_no_page_of_the_core_links_to_it(extra: str) -> None:
    assert pages(extra), f"write docs/extra/{Path(extra).name}.md"
    core = [path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "extra" and path.name != "extras.md"]
    for path in (*core, ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md", ROOT / "mkdocs.yml"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"extra/\w[\w-]*\.md", text), path
        assert f"::: {extra.replace('/', '.')}" not in text, path


def removed(extra: str, folder: Path) -> Path:
    """Return a copy of the packages without an extra and those that need it, with its metadata beside them."""
    names = {Path(extra).name}
    gone = [extra, *(other for other in EXTRAS if names & set(declared(other, "Needs")))]
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    for other in gone:
        for part in parts(other):
            copied = folder / part.relative_to(ROOT)
            shutil.rmtree(copied) if copied.is_dir() else copied.unlink(missing_ok=True)
    modules = tuple(
        part.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".") for other in gone for part in parts(other)
    )
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not re.search(rf'= "({"|".join(map(re.escape, modules))})[.:"]', line)]
    (folder / "pyproject.toml").write_text("\n".join(kept), encoding="utf-8")
    write_own(folder)
    return folder


# In one process, since each would import PyTorch.
USED = """
import sys, warnings
from importlib import import_module
from pathlib import Path
warnings.simplefilter("ignore")
root = Path(sys.argv[1])
for package in ("rws_decode", "paper_figures"):
    for path in sorted((root / package).rglob("*.py")):
        if path.name != "__main__.py" and path.stem not in ("triton_rows", "strategies"):
            import_module(".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"))
import rws_decode
from paper_figures.__main__ import main as study
from rws_decode.__main__ import main
assert Path(rws_decode.__file__).is_relative_to(root)
size = "--model english --length 4 --steps 2 --block 4".split()
assert main(["generate", "--prompt", "peace", *size]) == 0
assert main(["compare", "--prompt", "peace", "--strategies", "default", "temperature:4", *size]) == 0
assert main(["strategies"]) == 0
assert study(["experiment", "commit-order", *size, "--prompts", "1", "--examples", "1", "--out", "out"]) == 0
"""


@pytest.mark.long
@pytest.mark.parametrize("extra", EXTRAS)
def test_the_rest_imports_and_runs_without_an_extra(extra: str, tmp_path: Path) -> None:
    root = removed(extra, tmp_path)
    environment = os.environ | {"PYTHONPATH": str(root), "HF_HUB_OFFLINE": "1"}
    words = [sys.executable, "-c", USED, str(root)]
    done = subprocess.run(words, cwd=root, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, (extra, done.stderr[-2000:])


def test_every_entry_point_is_of_an_extra_or_a_command() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    named = [value for group, points in groups.items() if group != "rws.commands" for value in points.values()]
    assert named and all(re.match(EXTRA, value) for value in named)
