"""Mutation testing of the theory and of the decoder's core: `make mutants`.

    python tests/mutants.py [--work DIR] [--workers N] [--parts theory decoder] [--again] [--report]

mutmut changes one thing at a time in a copy of the code below DIR and runs the tests that reach it. Results are kept
there as they come: an interrupted run goes on where it was, and only functions that changed are done again. `--again`
gives those that survived without a reason, or ended by the clock, to the tests once more, after tests were added or
changed: which test reaches which function is found out afresh. The last line is the score. A mutant that survives must
be in `tests/surviving_mutants.json` with a reason. Exit code 1 where one is not, or where fewer than nine in ten are
killed.

mutmut leaves out what is under a decorator (properties, caches), defaults that are not plain, and what is not in a
function; the report counts the functions.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
REASONS = ROOT / "tests" / "surviving_mutants.json"
GOAL = 0.9

# What is changed, and the test files that are run against it.
THEORY_TESTS = """
arness claims cli_path confidence crossings ensembles exact exact_ranking gain numerics order order_null pairs
reward_bounds selection_path theorem1 theory_commands tilting
""".split()
DECODER_TESTS = """
decode ranking schedule guidance trace certainty exact_ranking recording replay public_loop savings batches orders
rounding streaming
""".split()
DECODER = "decode guidance loop ranker ranking schedule trace trace_file".split()
PARTS: dict[str, tuple[str, list[str], list[str]]] = {
    "theory": ("rws_theory", ["rws_theory/*"], THEORY_TESTS),
    "decoder": ("rws_decode", [f"rws_decode/{name}.py" for name in DECODER], DECODER_TESTS),
}

# Exit codes of pytest and of signals, as mutmut keeps them: a test failed, pytest broke off; time or memory ran out.
FAILED = frozenset({1, 3})
ENDED = frozenset({24, -24, 36, 152, 255, -9, -11, -6, -1})
KILLED = FAILED | ENDED


@dataclass(frozen=True, order=True)
class Mutant:
    """One change: `module.function` (with its class), the lines before and after, joined by newlines."""

    function: str
    before: str
    after: str


def prepare(part: str, work: Path) -> Path:
    """Copy the tracked files to WORK/part, those that differ alone, and write mutmut's settings there."""
    target = work / part
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, tracked.split("\0")):
        source, copy = ROOT / name, target / name
        if source.is_file() and not (copy.is_file() and copy.read_bytes() == source.read_bytes()):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)
    package, changed, tests = PARTS[part]
    others = [name for name in ("rws_theory", "rws_decode") if name != package]
    settings: dict[str, Any] = {
        "source_paths": [package],
        "only_mutate": changed,
        "also_copy": [*others, "paper_figures", "notebooks", "README.md", "LICENSE"],
        # Each mutant runs in a process that has imported the tests and run none: no cache of an unchanged function.
        "process_isolation": "forkserver",
        "timeout_multiplier": 4.0,
        "timeout_constant": 10.0,
        # Doctests stay out: each mutant of a function would carry a copy of them.
        "pytest_add_cli_args": [
            *("-o", "addopts=", "-p", "no:cacheprovider", "-p", "no:unraisableexception"),
            *("-p", "no:threadexception", "-p", "no:faulthandler", "-p", "mutant_plugin"),
        ],
        "pytest_add_cli_args_test_selection": [f"tests/test_{name}.py" for name in tests],
    }
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    (target / "pyproject.toml").write_text("\n".join([project, "[tool.mutmut]", *lines, ""]), encoding="utf-8")
    return target


def forget_tests(folder: Path) -> None:
    """Have mutmut find out afresh what each test reaches and how long it takes; else it asks of new names alone."""
    path = folder / "mutants" / "mutmut-stats.json"
    if path.is_file():
        known = json.loads(path.read_text(encoding="utf-8"))
        known |= {"tests_by_mangled_function_name": {}, "duration_by_test": {}}
        path.write_text(json.dumps(known), encoding="utf-8")


def mutmut(folder: Path, workers: int, names: list[str]) -> int:
    """Run mutmut in a folder; names: do these again. Its progress goes to stderr."""
    command = [sys.executable, "-c", "from mutmut.__main__ import cli; cli()", "run", "--max-children", str(workers)]
    quick_start = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "OMP_NUM_THREADS": "1"}
    environment = {**os.environ, **quick_start, "PYTHONPATH": "tests"}
    return subprocess.run([*command, *names], cwd=folder, env=environment, stdout=sys.stderr).returncode


def results(folder: Path) -> dict[str, dict[str, int | None]]:
    """Return the exit code of every mutant, None where it has not run, by source file."""
    found = {}
    for path in sorted((folder / "mutants").rglob("*.py.meta")):
        codes = json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"]
        if codes:
            found[str(path.relative_to(folder / "mutants").with_suffix(""))] = codes
    return found


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for node in tree.body:
        for inner in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(inner, ast.FunctionDef):
                yield inner


def describe(folder: Path, file: str, keys: list[str]) -> dict[str, Mutant]:
    """Return what the mutants of a file change."""
    text = (folder / "mutants" / file).read_text(encoding="utf-8")
    lines = text.splitlines()
    bodies = {
        node.name: [line.strip() for line in lines[node.body[0].lineno - 1 : node.end_lineno]]
        for node in _functions(ast.parse(text))
    }
    heads = {node.name: lines[node.lineno - 1 : node.body[0].lineno - 1] for node in _functions(ast.parse(text))}
    found = {}
    for key in keys:
        module, _, name = key.rpartition(".")
        original, _, _ = name.rpartition("__mutmut_")
        plain = original.removeprefix("x_").removeprefix("xǁ").replace("ǁ", ".")
        pair = []
        for whole in (f"{original}__mutmut_orig", name):
            head = [line.strip().replace(whole, plain.rpartition(".")[2]) for line in heads[whole]]
            pair.append([*head, *bodies[whole]])
        changes = list(difflib.ndiff(*pair))
        before, after = ("\n".join(c[2:] for c in changes if c[0] == mark) for mark in "-+")
        found[key] = Mutant(f"{module}.{plain}", before, after)
    return found


def not_mutated(package: str, changed: list[str]) -> list[str]:
    """Return the functions that mutmut leaves out because they are decorated."""
    found = []
    for pattern in changed:
        for path in sorted(ROOT.glob(pattern.replace("/*", "/**/*.py"))):
            for node in _functions(ast.parse(path.read_text(encoding="utf-8"))):
                names = [ast.unparse(decorator) for decorator in node.decorator_list]
                if names and names not in (["staticmethod"], ["classmethod"]):
                    found.append(f"{path.relative_to(ROOT).with_suffix('')}:{node.name}".replace("/", "."))
    return found


def explained() -> set[Mutant]:
    """Return the mutants that have a reason to survive."""
    rows = json.loads(REASONS.read_text(encoding="utf-8"))
    return {Mutant(row["function"], row["before"], row["after"]) for row in rows}


def once_more(folder: Path) -> list[str]:
    """Return the mutants that survived without a reason, and those that no test failed but the clock ended."""
    known, names = explained(), []
    for file, codes in results(folder).items():
        ended = [key for key, code in codes.items() if code is not None and code not in FAILED]
        found = describe(folder, file, ended)
        names += [key for key in ended if codes[key] in ENDED or found[key] not in known]
    return names


def report(work: Path, parts: list[str]) -> int:
    """Print the scores by file and the survivors that have no reason; return the exit code."""
    reasons = explained()
    total: Counter[str] = Counter()
    unexplained: list[Mutant] = []
    used: set[Mutant] = set()
    waiting = 0
    print(f"{'file':<36} {'mutants':>8} {'killed':>8} {'in time':>8} {'survived':>9} {'share':>7}")
    for part in parts:
        for file, codes in results(work / part).items():
            done = {key: code for key, code in codes.items() if code is not None}
            waiting += len(codes) - len(done)
            left = [key for key, code in done.items() if code not in KILLED]
            total.update(mutants=len(done), killed=len(done) - len(left))
            share = f"{1 - len(left) / len(done):7.1%}" if done else "      -"
            failed = sum(code in FAILED for code in done.values())
            print(f"{file:<36} {len(done):>8} {len(done) - len(left):>8} {failed:>8} {len(left):>9} {share}")
            found = describe(work / part, file, left).values()
            unexplained += [mutant for mutant in found if mutant not in reasons]
            used.update(mutant for mutant in found if mutant in reasons)
        out = not_mutated(*PARTS[part][:2])
        print(f"not mutated in {part}, being decorated: {len(out)} functions")
    (work / "unexplained.json").write_text(
        json.dumps([{**asdict(mutant), "reason": ""} for mutant in unexplained], indent=1, ensure_ascii=False) + "\n",
        encoding="utf-8",
    )
    share = total["killed"] / total["mutants"] if total["mutants"] else 0.0
    print(f"reasons for mutants that do not survive, or did not run: {len(reasons) - len(used)} of {len(reasons)}")
    print(f"survivors without a reason: {len(unexplained)}, in {work / 'unexplained.json'}; not run: {waiting}")
    print(f"killed: {total['killed']} of {total['mutants']}, {share:.1%}")
    return int(share < GOAL or bool(unexplained) or waiting > 0)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="mutants.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--work", type=Path, default=ROOT / "out-mutants", metavar="DIR", help="copies and results")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="mutants at a time (default: 2)")
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS), help="default: both")
    parser.add_argument("--again", action="store_true", help="once more what has no reason, or ended")
    parser.add_argument("--report", action="store_true", help="run nothing, report what there is")
    args = parser.parse_args(argv)
    work = args.work.resolve()
    for part in [] if args.report else args.parts:
        folder = prepare(part, work)
        if args.again:
            forget_tests(folder)
        if (code := mutmut(folder, args.workers, once_more(folder) if args.again else [])) != 0:
            return code
    return report(work, args.parts)


if __name__ == "__main__":
    sys.exit(main())
