"""Build the package, look into it, install it into an empty environment and use it there: `make package`.

    python tests/support/try_package.py [--python python3.13 ...]

Wheels of this tree and of the source distribution must hold the same bytes. Each --python (default: this one) gets an
environment of its own: the base runs the theory, the extra `decode` decodes, with `figures` every module is imported.
Exit status 1 with one line where something is wrong.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("rws_theory", "rws_decode", "paper_figures")
_IMPORTS = """
import importlib, pkgutil, sys
packages = [importlib.import_module(name) for name in sys.argv[1:]]
names = [found.name for one in packages for found in pkgutil.walk_packages(one.__path__, one.__name__ + ".")]
refused = []
for name in names:
    if name.endswith("__main__"):
        continue
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if "run pip install" not in str(error) or "\\n" in str(error):
            raise
        refused.append(name)
print(len(names), "modules;", "without their extra:", *refused or ["none"])
"""
_GENERATE = (
    "-m rws_decode generate --model mini --reward mini --strategy rws --reward-scale 8 --example 0 --length 32 "
    "--steps 16 --block 32 --json"
)


def build(folder: Path) -> tuple[Path, Path]:
    """Build into `folder` and return (source distribution, wheel made of it); RuntimeError where a build fails."""
    _run([sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)])
    (source,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    direct = folder / "direct"
    _run([sys.executable, "-m", "build", "--wheel", "--outdir", str(direct), str(ROOT)])
    if _members(wheel) != _members(next(direct.glob("*.whl"))):
        raise RuntimeError(f"{wheel.name} of the source distribution is not the one of the tree")
    return source, wheel


def _tracked(*names: str) -> list[str]:
    return _run(["git", "-C", str(ROOT), "ls-files", *names]).splitlines()


def look(source: Path, wheel: Path) -> str:
    """Return a line on what the two files hold; RuntimeError for what is missing or does not belong there."""
    inside = set(_members(wheel))
    missing = [name for name in _tracked(*PACKAGES) if name not in inside]
    strange = [name for name in inside if name.split("/")[0] not in PACKAGES and ".dist-info/" not in name]
    if missing or strange:
        raise RuntimeError(f"{wheel.name}: missing {missing[:5]}, not to be there {strange[:5]}")
    with tarfile.open(source) as archive:
        listed = {name.partition("/")[2] for name in archive.getnames()}
    wanted = _tracked("tests", "notebooks", "*.md", "Makefile")
    if missing := [name for name in wanted if name not in listed]:
        raise RuntimeError(f"{source.name}: missing {missing[:5]}")
    return f"{wheel.name}: {len(inside)} files, {wheel.stat().st_size:,} bytes; {source.name}: {len(listed)} files"


def use(wheel: Path, python: str, folder: Path) -> str:
    """Install the wheel into an empty environment in `folder` and use it; RuntimeError where that fails."""
    _run([python, "-m", "venv", str(folder)])
    interpreter = str(folder / "bin" / "python")

    def install(extra: str = "") -> None:
        _run([interpreter, "-m", "pip", "install", "-q", f"{wheel}{extra}"])
        _run([interpreter, "-m", "pip", "check"])

    def theory(*words: str) -> Any:
        return json.loads(_run([interpreter, "-I", "-m", "rws_theory", *words, "--json"], folder))

    install()
    claims, pair = theory("claims"), ("[1.1,0.6,0.3]", "[1.0,0.4,0.4]")
    crossings = theory("crossings", *pair)["count"]
    _run([interpreter, "-I", "-c", f"import numpy; numpy.save('logits.npy', [{', '.join(pair)}])"], folder)
    pieces = len(theory("path", "logits.npy", *"--k 1 --scale-min 0.01 --scale-max 32".split())["pieces"])
    torch = _run([interpreter, "-I", "-c", "import importlib.util; print(importlib.util.find_spec('torch'))"]).strip()
    if not claims or (crossings, pieces, torch) != (1, 2, "None"):
        raise RuntimeError(f"{python}: {len(claims)} claims, {crossings} crossings, {pieces} pieces, torch: {torch}")
    install("[decode]")
    answer = json.loads(_run([interpreter, "-I", *_GENERATE.split()], folder))
    if len(answer["tokens"]) != 32:
        raise RuntimeError(f"{python}: {len(answer['tokens'])} tokens")
    install("[figures]")
    modules = _run([interpreter, "-I", "-c", _IMPORTS, *PACKAGES], folder).strip()
    _run([interpreter, "-I", "-m", "paper_figures", "--help"], folder)
    version = _run([interpreter, "-V"]).strip()
    return f"{version}: {len(claims)} claims without torch; {answer['reward_calls']} reward calls; {modules}"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Build the package, look into it, and use it in empty environments.")
    parser.add_argument("--python", action="append", metavar="PROGRAM", help="whose environments to try (this one's)")
    args = parser.parse_args(argv)
    try:
        with TemporaryDirectory() as temporary:
            source, wheel = build(Path(temporary))
            print(look(source, wheel), flush=True)
            for number, python in enumerate(args.python or [sys.executable]):
                with TemporaryDirectory(prefix=f"env-{number}-") as folder:
                    print(use(wheel, python, Path(folder)), flush=True)
    except RuntimeError as error:
        print(f"try_package: {error}", file=sys.stderr)
        return 1
    return 0


def _members(wheel: Path) -> dict[str, str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


def _run(command: Sequence[str], folder: Path | None = None) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        last = [*(done.stderr or done.stdout).strip().splitlines(), ""]
        raise RuntimeError(f"{' '.join(command[:6])} ended with {done.returncode}: {last[-2] if last[1:] else ''}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
