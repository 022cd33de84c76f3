"""Each folder of paper_figures/extra can be deleted with its entry points: the core imports none of them."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXTRAS = sorted(path.name for path in (ROOT / "paper_figures/extra").iterdir() if (path / "__init__.py").is_file())
USED = """
from paper_figures import exhibits, plugins, plan
from paper_figures.studies import STUDIES, study_module
for name in STUDIES:
    study_module(name)
for name in exhibits.NAMES:
    exhibits.load_exhibit(name)
from paper_figures.__main__ import main
assert main(["appendix_d", "table9_reward_models", "--workers", "0"]) == 0
try:
    print(plugins.sandbox().__name__)
except ValueError as error:
    print(str(error).partition(":")[0])
print(*exhibits.NAMES)
"""


@pytest.mark.long
@pytest.mark.parametrize("extra", EXTRAS)
def test_the_rest_runs_without_it(extra: str, tmp_path: Path) -> None:
    for name in ("rws_theory", "rws_decode"):
        (tmp_path / name).symlink_to(ROOT / name)
    for kept in ((ROOT / "paper_figures").iterdir(), (ROOT / "paper_figures/extra").iterdir()):
        for path in kept:
            if path.name not in ("extra", extra, "__pycache__"):
                copy = tmp_path / path.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.symlink_to(path)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = []
    for group, points in project["entry-points"].items():
        kept = [f"{name} = {value}" for name, value in points.items() if f".extra.{extra}" not in value]
        lines += [f"[{group}]", *kept]
    metadata = tmp_path / "rws_toolkit-0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: rws-toolkit\nVersion: 0\n")
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "-c", USED], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    sandbox, names = done.stdout.splitlines()[-2:]
    assert sandbox == ("no sandbox is installed" if extra == "sandbox" else "paper_figures.extra.sandbox")
    assert ("device_cost" in names.split()) == (extra != "bench")
