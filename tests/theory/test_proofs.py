"""The proofs of docs/proofs hold where Coq is there; what cites them, and docs/theory.md, cites what is there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from check_proofs import PACKAGES, PROOFS, check, missing, theorems

import rws_decode
import rws_theory
from rws_theory.claims import CHECKS
from rws_theory.claims.claim import STATEMENTS

ROOT = PROOFS.parents[1]
STATED = {path.name: theorems(path.read_text(encoding="utf-8")) for path in sorted(PROOFS.glob("*.v"))}

with_coq = pytest.mark.skipif(missing(), reason=f"Coq with two libraries: install Debian's packages {PACKAGES}")


@with_coq
def test_the_proofs_hold() -> None:
    words = ["make", "--no-print-directory", "prove", f"PYTHON={sys.executable}"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr
    names = [f"{Path(file).stem}.{theorem}" for file, stated in STATED.items() for theorem in stated]
    *lines, last = done.stdout.splitlines()
    assert lines[-len(names) :] == names
    assert last.startswith(f"{len(names)} theorems are proved from the axioms of the real numbers: ")


@with_coq
@pytest.mark.parametrize(
    ("proof", "assumed"),
    [
        ("Axiom handy : 1 = 2.\nTheorem wrong : 1 = 2. Proof. exact handy. Qed.", {"Wrong.handy"}),
        ("Theorem wrong : 1 = 2. Proof. Admitted.", {"Wrong.wrong"}),
        ("Theorem wrong : 1 = 1. Proof. reflexivity. Qed.", set()),
    ],
)
def test_what_a_theorem_assumes_is_seen(tmp_path: Path, proof: str, assumed: set[str]) -> None:
    (tmp_path / "Wrong.v").write_text(proof, encoding="utf-8")
    (tmp_path / "built").mkdir()
    assert check(tmp_path / "built", tmp_path) == (["Wrong.wrong"], assumed)


def test_proofs_are_whole_and_listed_and_records_name_them() -> None:
    listed: dict[str, list[str]] = {}
    for file, theorem in re.findall(
        r"^\| (?:`(\w+\.v)`)? ?\| `(\w+)` \|", (PROOFS / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    ):
        listed.setdefault(file or list(listed)[-1], []).append(theorem)
    assert {file: sorted(names) for file, names in listed.items()} == {f: sorted(names) for f, names in STATED.items()}
    for path in PROOFS.glob("*.v"):
        assert not re.search(r"\b(Admitted|admit|Axiom|Parameter|Conjecture)\b", path.read_text(encoding="utf-8")), path
    names = {f"{Path(file).stem}.{theorem}" for file, stated in STATED.items() for theorem in stated}
    assert list(STATEMENTS) == list(CHECKS)
    assert {theorem for statement in STATEMENTS.values() for theorem in statement.get("theorems", ())} <= names


PAGE = (ROOT / "docs/theory.md").read_text(encoding="utf-8")
# An equation is a line, indented as a formula, that ends with its number.
EQUATIONS = [int(number) for number in re.findall(r"^ {4}.*\(T(\d+)\)$", PAGE, re.MULTILINE)]
CODE = sorted(path for package in (rws_theory, rws_decode) for path in Path(str(package.__file__)).parent.rglob("*.py"))


def cited(text: str) -> set[int]:
    return {int(number) for number in re.findall(r"\(T(\d+)\)", text)}


def test_citations_are_of_what_is_on_the_page() -> None:
    expected = list(range(1, len(EQUATIONS) + 1))
    assert expected == EQUATIONS and len(expected) > 50
    assert [str(path) for path in CODE if not cited(path.read_text(encoding="utf-8")) <= set(EQUATIONS)] == []
    sections = {int(number) for number in re.findall(r"^## (\d+)\. ", PAGE, re.MULTILINE)}
    text = " ".join(" ".join(path.read_text(encoding="utf-8").split()) for path in CODE)
    named = {int(number) for number in re.findall(r"docs/theory\.md, (?:end of )?sections? (\d+)", text)}
    assert named and named <= sections
    assert cited(PAGE) <= set(EQUATIONS)
    ids = set(re.findall(r"`((?:AB|S\d|S52|T\d[abc]?|GOD|A|D|C1|TAB|F|J|L|N)-[a-z0-9-]+)`", PAGE))
    assert ids and ids <= set(CHECKS)
