"""The metadata of a distribution, written beside its modules: a folder on sys.path is then an installed package."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path


def write_metadata(folder: Path, name: str, groups: Mapping[str, Mapping[str, str]], version: str = "0") -> Path:
    """Write NAME-VERSION.dist-info with its entry points, group -> name -> object, into a folder, and return it."""
    place = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    place.mkdir(parents=True, exist_ok=True)
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    parts = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in groups.items()
    ]
    (place / "entry_points.txt").write_text("\n".join(parts), encoding="utf-8")
    return place


def write_own(root: Path) -> Path:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = project["entry-points"] | {"console_scripts": project["scripts"]}
    return write_metadata(root, project["name"], groups, "0+here")


if __name__ == "__main__":
    print(write_own(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()))
