"""Write the JSON files of a test: as a user's editor would, without the package's own checks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write_json(path: Path, value: Any) -> Path:
    """Write a value as JSON, its folders too; return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path
