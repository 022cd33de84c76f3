"""Plant faults in a copy of the project, one at a time, and show which test catches each: `make mutants`.

A fault is written in faults.txt, with test files named without folders, as

    name: package, test files
    - what stands in the source, once in its package
    + what stands there with the fault

Its tests and the doctests of its file run until one fails; those that failed run once more without a fault. The exit
status is 0 if every fault was caught, 1 if one survived, and 2 if one could not be planted or fails without it.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
SECONDS = 300  # for the tests of one fault: what takes longer hangs, and so is caught

FAULTS = ROOT / "tests" / "support" / "faults.txt"


class Fault(NamedTuple):
    name: str
    package: str
    tests: list[str]
    before: str
    after: str


def faults() -> list[Fault]:
    text = FAULTS.read_text(encoding="utf-8")
    blocks = re.findall(r"^(\S+): (\w+), (.*)\n- (.*)\n\+ (.*)$", text, flags=re.MULTILINE)
    return [Fault(name, package, tests.split(), *texts) for name, package, tests, *texts in blocks]


def copied(root: Path, to: Path) -> Path:
    """Copy the files that git knows or would add below `root`, as they are now."""
    command = ["git", "ls-files", "-zco", "--exclude-standard"]
    for name in subprocess.run(command, cwd=root, capture_output=True, check=True, text=True).stdout.split("\0"):
        if (root / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            (to / name).write_bytes((root / name).read_bytes())
    return to


def sources(root: Path, package: str) -> dict[Path, str]:
    paths = (path for end in ("py", "json", "jinja") for path in sorted((root / package).rglob(f"*.{end}")))
    return {path: path.read_text(encoding="utf-8") for path in paths}


def place_of(fault: Fault, texts: dict[Path, str]) -> tuple[Path, str, str]:
    """Return the file of a fault, its text, and its text with the fault; ValueError unless it occurs, and once."""
    count = sum(text.count(fault.before) for text in texts.values())
    if count != 1:
        raise ValueError(f"{fault.name}: its text occurs {count} times in {fault.package}, not once")
    path = next(path for path, text in texts.items() if fault.before in text)
    return path, texts[path], texts[path].replace(fault.before, fault.after)


def tests_of(fault: Fault, root: Path) -> list[str]:
    """Return the paths of a fault's tests; ValueError where no file has such a name."""
    found = [str(path.relative_to(root)) for name in fault.tests for path in (root / "tests").rglob(f"{name}.py")]
    if not found:
        raise ValueError(f"{fault.name}: no file of tests is named {' or '.join(fault.tests)}")
    return found


def pytest_collection() -> None:
    """Let Hypothesis end at the first example that fails, without a search for a smaller one; pytest calls it."""
    from hypothesis import Phase, settings  # late: pytest rewrites it before

    settings.register_profile("mutants", settings.get_profile("ci"), phases=[Phase.explicit, Phase.generate])
    settings.load_profile("mutants")


def failing(root: Path, words: Sequence[str]) -> list[str]:
    """Return the tests that fail, without their parameters; what does not end in time is one of that name."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "mutants", "--tb=no", "-rfE", *words]
    env = os.environ | {"PYTHONPATH": f"{root}{os.pathsep}{Path(__file__).parent}"}
    try:
        run = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return [f"no end in {SECONDS} s"]
    lines = [line.split(" ", 1)[1] for line in run.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    if run.returncode not in (0, 1) and not lines:
        raise ValueError(f"pytest {' '.join(words)}: {(run.stdout + run.stderr).strip().splitlines()[-1]}")
    return list(dict.fromkeys(line.split(" - ")[0].split("[")[0] for line in lines))


def outcomes(chosen: Sequence[Fault], root: Path) -> Iterator[dict[str, Any]]:
    """Plant each fault, run its tests, and take it out again; yield what became of it."""
    for number, fault in enumerate(chosen, 1):
        began, result = time.monotonic(), {"name": fault.name, "file": None, "outcome": "error", "by": ""}
        try:
            path, before, after = place_of(fault, sources(root, fault.package))
            result["file"] = str(path.relative_to(root))
            doctests = [result["file"]] * (path.suffix == ".py")
            try:
                path.write_text(after, encoding="utf-8")
                os.utime(path, (number, 2 * number))  # bytecode of another state is known by its time
                failed = failing(root, ["-x", *tests_of(fault, root), *doctests])
            finally:
                path.write_text(before, encoding="utf-8")
                os.utime(path, (number, 2 * number + 1))
            result |= {"outcome": "caught", "by": failed[0]} if failed else {"outcome": "survived"}
        except ValueError as error:
            result["by"] = str(error)
        yield result | {"seconds": round(time.monotonic() - began, 1)}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="plant faults, one at a time, and show which test catches each")
    names = [fault.name for fault in faults()]
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help="some faults (all)")
    options = parser.parse_args(argv)
    chosen = [fault for fault in faults() if fault.name in options.only]
    with tempfile.TemporaryDirectory() as folder:
        root, results = copied(ROOT, Path(folder)), []
        for result in outcomes(chosen, root):
            results.append(result)
            print("{outcome:8}  {name:24}  {by}  ({seconds:.0f} s)".format(**result), flush=True)
        caught = [result for result in results if result["outcome"] == "caught"]
        named = sorted({result["by"] for result in caught if "::" in result["by"]})
        always = failing(root, named) if named else []
    for result in (result for result in caught if result["by"] in always):
        result["outcome"] = "error"
        print(f"error     {result['name']:24}  {result['by']} fails without it, too")
    ends = [result["outcome"] for result in results]
    print(*(f"{ends.count(kind)} {kind}" for kind in ("caught", "survived", "error")), sep=", ")
    return 2 if "error" in ends else int("survived" in ends)


if __name__ == "__main__":
    sys.exit(main())
