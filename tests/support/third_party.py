"""THIRD_PARTY.md: the tables of what ships here and of what it needs, written from cards and installed metadata.

    python tests/support/third_party.py

Dependencies are all of constraints.txt and of every extra; those that are not installed keep the rows that they have.
"""

import re
import tomllib
from collections.abc import Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "THIRD_PARTY.md"


def shipped() -> list[tuple[str, str]]:
    """Return (what, licence) for weights and texts in the package, from their cards; ValueError for one without."""
    cards = sorted(ROOT.glob("rws_decode/mini/models/*/README.md")) + sorted(ROOT.glob("paper_figures/data/*.md"))
    stated = {}
    for card in cards:
        match = re.search(r"^licen[sc]e: *(\S+)$|Licence: (\S+),", card.read_text(encoding="utf-8"), re.MULTILINE)
        if match is None:
            raise ValueError(f"{card.relative_to(ROOT)} states no licence")
        # A card of weights speaks for its folder; one of texts for the files whose names begin as it does.
        paths = [card.parent] if card.name == "README.md" else sorted(card.parent.glob(f"{card.stem.lower()}*.json"))
        stated |= {path: match[1] or match[2] for path in paths}
    kinds = ("safetensors", "jsonl*", "npz")
    for path in sorted(path for kind in kinds for path in ROOT.glob(f"rws_decode/**/*.{kind}")):
        if path.parent not in stated:
            raise ValueError(f"{path.relative_to(ROOT)} has no card that states its licence")
    # Cards on the hub write SPDX identifiers in lower case.
    return [(str(path.relative_to(ROOT)), name.replace("apache", "Apache")) for path, name in sorted(stated.items())]


def needed() -> dict[str, tuple[str, str]]:
    """Return canonical name -> (version of constraints.txt or "", who needs it) for every dependency and extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {"core": project["dependencies"], **project["optional-dependencies"]}
    by: dict[str, list[str]] = {}
    for group, requirements in groups.items():
        for name in map(canonical, requirements):
            if name != project["name"]:
                by.setdefault(name, []).append(group)
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = (line.partition("==") for line in lines if "==" in line and not line.startswith("#"))
    pinned = {canonical(name): version.strip() for name, _, version in pins}
    return {
        name: (pinned.get(name, ""), ", ".join(by.get(name, []))) for name in sorted({*pinned, *by}, key=str.casefold)
    }


def licence(package: Distribution) -> str:
    """Return the licence that a distribution's metadata states, else the title of its text, else "not stated"."""
    about = package.metadata
    if about.get("License-Expression"):
        return str(about["License-Expression"])
    named = [line.split(" :: ")[-1] for line in about.get_all("Classifier") or () if line.startswith("License ::")]
    named = [name for name in named if name != "OSI Approved"]
    if named:
        return ", ".join(named)
    texts = [about.get("License") or ""]
    texts += [file.read_text() for file in package.files or () if file.name.upper().startswith("LICEN")]
    lines = [line.strip() for text in texts for line in text.splitlines() if line.strip()]
    return lines[0][:60] if lines else "not stated"


def rows_of(text: str) -> dict[str, tuple[str, str, str]]:
    """Return name -> (version, licence, needed by) of the second table of a THIRD_PARTY.md."""
    lines = [line for line in text.partition("## What it needs")[2].splitlines() if line.startswith("| ")][2:]
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    return {row[0]: (row[1], row[2], row[3] if len(row) > 3 else "") for row in cells}


def render(kept: str) -> str:
    """Return THIRD_PARTY.md anew from what it is, which has the words; ValueError for what is in neither place."""
    before = rows_of(kept)
    rows = []
    for name, (version, by) in needed().items():
        try:
            package = distribution(name)
        except PackageNotFoundError:
            if name not in before:
                raise ValueError(f"{name} is not installed, and {FILE.name} does not name its licence") from None
            stated = before[name][1]
        else:
            # Another version may state another licence; only the pinned one is described.
            other = version and package.version.partition("+")[0] != version and name in before
            stated = before[name][1] if other else licence(package)
        rows.append((name, version, stated, by))
    made = iter(
        (
            _table(("what", "licence"), [(f"`{path}`", stated) for path, stated in shipped()]),
            _table(("package", "version", "licence", "needed by"), rows),
        )
    )
    return re.sub(r"(?:^\|.*\n)+", lambda _: next(made), kept, flags=re.MULTILINE)


def canonical(requirement: str) -> str:
    return canonicalize_name(Requirement(requirement).name)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    FILE.write_text(render(FILE.read_text(encoding="utf-8")), encoding="utf-8")
