"""Check the proofs of docs/proofs in Coq: compile them elsewhere, and compare what they assume with what is allowed.

    python tests/support/check_proofs.py [--folder FOLDER]

The exit status is 0 if every theorem is proved from the axioms of Coq's real numbers, 1 if not, 2 without Coq.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from graphlib import TopologicalSorter
from pathlib import Path

PROOFS = Path(__file__).parents[2] / "docs" / "proofs"
PACKAGES = "coq libcoq-coquelicot libcoq-interval"
# What Coq's own library of real numbers assumes: two decisions about the reals, functions that agree everywhere are
# equal, and the excluded middle, by which the library proves that continuous functions attain their maxima.
AXIOMS = frozenset(
    {
        "ClassicalDedekindReals.sig_forall_dec",
        "ClassicalDedekindReals.sig_not_dec",
        "FunctionalExtensionality.functional_extensionality_dep",
        "Classical_Prop.classic",
    }
)


def theorems(text: str) -> list[str]:
    """Return the names of the theorems of a proof file, in its order; lemmas are steps on the way."""
    return re.findall(r"^Theorem (\w+)", text, flags=re.MULTILINE)


def compiled(folder: Path, name: str) -> str:
    """Compile one file of the folder and return what it prints; ValueError with Coq's message if it is refused."""
    words = ["coqc", "-q", "-Q", ".", "RWS", f"{name}.v"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise ValueError(f"Coq refuses {name}.v: {' '.join(done.stderr.split())}")
    return done.stdout


def check(folder: Path, proofs: Path = PROOFS) -> tuple[list[str], set[str]]:
    """Compile copies of all proof files in a folder; return every `File.theorem`, and the axioms of all together."""
    files = {path.stem: path.read_text(encoding="utf-8") for path in sorted(proofs.glob("*.v"))}
    line = re.compile(r"^From RWS Require Import ([^.]*)\.", re.MULTILINE)
    graph = {name: re.findall(r"\w+", " ".join(line.findall(text))) for name, text in files.items()}
    for name in TopologicalSorter(graph).static_order():
        (folder / f"{name}.v").write_text(files[name], encoding="utf-8")
        compiled(folder, name)
    stated = [f"{name}.{theorem}" for name, text in files.items() for theorem in theorems(text)]
    together = f"Definition all_theorems := ({', '.join(f'@{theorem}' for theorem in stated)}).\n"
    question = f"From RWS Require {' '.join(files)}.\n{together}Print Assumptions all_theorems.\n"
    (folder / "Assumptions.v").write_text(question, encoding="utf-8")
    answer = compiled(folder, "Assumptions").replace("Axioms:", "")
    return stated, set(re.findall(r"^([\w.]+)(?= :|$)", answer, flags=re.MULTILINE))


def missing() -> bool:
    """Say whether Coq or one of the two libraries is absent."""
    if shutil.which("coqc") is None:
        return True
    where = subprocess.run(["coqc", "-where"], capture_output=True, text=True, check=True).stdout.strip()
    return not all((Path(where) / "user-contrib" / library).is_dir() for library in ("Coquelicot", "Interval"))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Check the proofs of docs/proofs in Coq.")
    parser.add_argument("--folder", type=Path, help="where to compile (default: a temporary folder)")
    options = parser.parse_args(arguments)
    if missing():
        print(f"the proofs need Coq 8.16 with two libraries: apt-get install {PACKAGES}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            stated, assumed = check(folder)
        except ValueError as refused:
            print(refused, file=sys.stderr)
            return 1
    print("\n".join(stated))
    beyond = sorted(assumed - AXIOMS)
    if beyond:
        print(f"they assume more than the real numbers: {', '.join(beyond)}", file=sys.stderr)
        return 1
    print(f"{len(stated)} theorems are proved from the axioms of the real numbers: {', '.join(sorted(assumed))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
