"""The ledger: its verdicts, and that they are computed: they follow the numbers and the mathematics they are about."""

from __future__ import annotations

import ast
import json
import re
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import mpmath
import pytest

from rws_theory.__main__ import main
from rws_theory.claims import CHECKS, Claim, claims, reversal, search, tables
from rws_theory.claims.record import printed
from rws_theory.claims.search import Pair

REQUIRED = """
T1-exclusive T1a-existence T1a-unique T1b-printed T1b-mended T1c-otherwise T1-step2 T1-step3 T1-step4 T1-dimension
S52-low S52-high D-gaps D-r1 D-r2 D-crossing T2-inequality T2-strict T2-identity C1-tilted C1-rws S3-argmax
S3-more-reversals S3-adaptive GOD-footrule TAB-winrate-mean TAB-rows-sum TAB-overhead TAB-memory TAB-temperature-text
TAB-temperature-one TAB-quintile-monotone
""".split()
TRUE = """
S3-argmax S3-factor-range GOD-footrule T1a-existence T1-dimension S52-high D-gaps D-r1 T2-inequality T2-strict C1-tilted
TAB-winrate-mean TAB-winrate-range TAB-quintile-monotone TAB-judge-mean TAB-humaneval-gain TAB-diversity TAB-god-double
TAB-overhead TAB-frequency
""".split()
MENDED = "S3-gaps T1b-mended T1-step2 T1-step3 T1-increasing".split()


RECORDED = Path(__file__).with_name("ledger.json")


@cache
def checked(name: str) -> Claim:
    (claim,) = claims([name])
    return claim


@pytest.fixture(scope="module")
def ledger() -> dict[str, Claim]:
    return {name: checked(name) for name in CHECKS}


@pytest.mark.parametrize("name", CHECKS)
def test_nothing_in_the_ledger_changes_unread(name: str) -> None:
    # After a change that is meant: python -m rws_theory claims --json > tests/ledger.json, and read the difference.
    recorded = {record["id"]: record for record in json.loads(RECORDED.read_text(encoding="utf-8"))}
    assert list(recorded) == list(CHECKS)
    assert checked(name).as_dict() == recorded[name]


def test_every_claim_is_there_under_its_own_id(ledger: dict[str, Claim]) -> None:
    assert set(REQUIRED) <= set(ledger)
    assert all(claim.id == name for name, claim in ledger.items())
    assert next(claims()).id == next(iter(CHECKS))


def test_verdicts(ledger: dict[str, Claim]) -> None:
    assert {name for name, claim in ledger.items() if claim.verdict == "true"} == set(TRUE)
    assert {name for name, claim in ledger.items() if claim.verdict == "true with correction"} == set(MENDED)
    assert {name for name, claim in ledger.items() if claim.verdict == "not about RWS"} == {"C1-printed"}
    assert {name for name, claim in ledger.items() if claim.verdict == "false"} == set(ledger) - set(TRUE) - set(
        MENDED
    ) - {"C1-printed"}


def test_what_is_refuted_has_a_counterexample_and_a_correction(ledger: dict[str, Claim]) -> None:
    for claim in ledger.values():
        assert claim.statement and claim.where and claim.evidence
        if claim.verdict == "false":
            assert claim.counterexample and claim.correction, claim.id
        if claim.verdict == "true":
            assert claim.counterexample is None and claim.correction is None, claim.id


def _gaps(text: str) -> tuple[list[mpmath.mpf], list[mpmath.mpf]]:
    found = re.search(r"gaps a = (\([^)]*\))(?: / \d+)?, b = (\([^)]*\))(?: / (\d+))?", text)
    assert found, text
    unit = int(found.group(3) or 1)
    out = []
    for part in found.group(1), found.group(2):
        value = ast.literal_eval(part)
        out.append([mpmath.mpf(u) / unit for u in (value if isinstance(value, tuple) else (value,))])
    return out[0], out[1]


def _order(a: list[mpmath.mpf], b: list[mpmath.mpf], r: Any) -> int:
    """Sign of P^a(r) - P^b(r) with 150 digits."""
    with mpmath.workdps(150):
        difference = sum(mpmath.exp(-r * v) for v in b) - sum(mpmath.exp(-r * u) for u in a)
        return int(mpmath.sign(difference))


def _changes(a: list[mpmath.mpf], b: list[mpmath.mpf], low: float, high: float, points: int = 3000) -> int:
    """Sign changes of P^a - P^b on a fine geometric grid, by brute force."""
    grid = [low * (high / low) ** (i / points) for i in range(points + 1)]
    signs = [_order(a, b, r) for r in grid]
    return sum(s != t for s, t in pairwise(signs))


def test_counterexamples_of_theorem_1_hold_under_brute_force(ledger: dict[str, Claim]) -> None:
    for name in ("T1-exclusive", "T1a-unique", "T1b-printed", "T1b-mended", "T1c-otherwise", "T1-step4", "S52-low"):
        text = ledger[name].counterexample
        assert text is not None
        a, b = _gaps(text)
        assert f"d = {len(a) + 1}" in text
        assert _order(a, b, 1) > 0, name
        low, high = _changes(a, b, 1e-3, 1.0, 1500), _changes(a, b, 1.0, 1e3, 1500)
        if name == "T1-exclusive":
            assert sum(a) < sum(b) and min(a) > min(b)
        if name == "T1a-unique":
            assert sum(a) < sum(b) and low == 3
        if name == "T1b-printed":
            assert min(a) > min(b) and high == 0
        if name == "T1b-mended":
            assert min(a) < min(b) and high == 3
        if name == "T1c-otherwise":
            assert sum(a) >= sum(b) and min(a) <= min(b) and low + high > 0
        if name == "T1-step4":
            assert low + high == 2
        if name == "S52-low":
            assert sum(a) > sum(b) and low == 0


def test_mended_theorem_fails_in_the_ways_the_evidence_says(ledger: dict[str, Claim]) -> None:
    a, b = _gaps(ledger["T1-exclusive"].evidence)
    assert len(a) == 3 and _changes(a, b, 1e-3, 1.0, 1500) == 1 and _changes(a, b, 1.0, 1e3, 1500) == 1
    a, b = _gaps(ledger["T1c-otherwise"].evidence)
    assert sum(a) > sum(b) and min(a) > min(b) and _order(a, b, 1) > 0
    assert _changes(a, b, 1e-3, 1e3) == 2
    a, b = _gaps(ledger["S3-more-reversals"].evidence)
    assert _changes(a, b, 1.0, 1e3) == 2


def test_the_golden_ratio(ledger: dict[str, Claim]) -> None:
    assert "= 4.8121182506" in (ledger["D-crossing"].correction or "")


def test_smallest_means_that_nothing_smaller_fits() -> None:
    # All unordered gaps up to the found size, by brute force, in another order of search.
    found = search.smallest(lambda p: sum(p.counts) >= 1, range(2, 4), 6)
    assert found is not None and found.dimension == 3
    top = max(*found.a, *found.b)
    for a in range(1, top):
        for b in range(a, top):
            for c in range(1, top):
                for d in range(c, top):
                    u, v = ([mpmath.mpf(x) for x in gaps] for gaps in ((a, b), (c, d)))
                    if sorted((a, b)) != sorted((c, d)):
                        assert _changes(u, v, 1e-2, 1e2, 60) == 0


def test_pair_counts_equal_brute_force() -> None:
    for pair in search.all_pairs(3, 5):
        low, high = pair.counts
        a, b = [mpmath.mpf(u) for u in pair.a], [mpmath.mpf(v) for v in pair.b]
        assert (low, high) == (_changes(a, b, 1e-3, 1.0, 60), _changes(a, b, 1.0, 32.0, 60)), str(pair)


# Claim, table, what is changed in it: a path and the new number; the verdict before. It must turn to the other one.
CHANGES: list[tuple[str, str, dict[tuple[str | int, ...], str], str]] = [
    (
        "TAB-memory",
        "table11_overhead",
        {("text", "memory_low_gib"): "6.4", ("text", "memory_high_gib"): "14.5"},
        "false",
    ),
    ("TAB-temperature-text", "keyword_task", {("ranges", 3, "low"): "0.80"}, "false"),
    ("TAB-quintile-monotone", "table5_god_quintiles", {("rows", 4, "GRM"): "61.2"}, "true"),
    ("TAB-overhead", "table11_overhead", {("rows", 0, "seconds"): "30"}, "true"),
    ("TAB-overhead-prompts", "table11_overhead", {("prompts_measured",): "100"}, "false"),
    ("TAB-winrate-mean", "table1_win_rate", {("rows", 0, "win"): "72.2"}, "true"),
    ("TAB-winrate-range", "table1_win_rate", {("rows", 1, "win"): "61.0"}, "true"),
    ("TAB-humaneval-gain", "table4_humaneval", {("rows", 1, "pass_at_1"): "24.40"}, "true"),
    ("TAB-diversity", "table6_diversity", {("rows", 1, "distinct_1"): "0.1"}, "true"),
    ("TAB-judge-mean", "table10_llm_judge_orders", {("rows", 3, "first"): "66.25"}, "true"),
    ("TAB-frequency", "table12_frequency", {("rows", 1, "seconds"): "24.66"}, "true"),
    ("TAB-god-double", "table12_frequency", {("default", "god"): "1.2"}, "true"),
]


@pytest.mark.parametrize(("claim", "table", "changes", "before"), CHANGES)
def test_verdicts_on_tables_follow_the_printed_numbers(
    monkeypatch: pytest.MonkeyPatch, claim: str, table: str, changes: dict[tuple[str | int, ...], str], before: str
) -> None:
    assert tables.CHECKS[claim]().verdict == before
    altered: Any = printed(table)
    for path, number in changes.items():
        place = altered
        for key in path[:-1]:
            place = place[key]
        assert path[-1] in place
        place[path[-1]] = Fraction(number)
    monkeypatch.setattr(tables, "printed", lambda wanted: altered if wanted == table else printed(wanted))
    assert tables.CHECKS[claim]().verdict == ("false" if before == "true" else "true")


def test_a_statement_that_fails_on_the_grid_is_not_called_true(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pair, "order_near_zero", property(lambda pair: -1))
    assert reversal.CHECKS["T1-step2"]().verdict == "not confirmed"


def test_nothing_found_is_not_called_false(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reversal, "smallest", lambda *args, **kwargs: None)
    for name in (
        "T1-exclusive",
        "T1a-unique",
        "T1b-printed",
        "T1b-mended",
        "T1c-otherwise",
        "T1-step4",
        "T1-dimension",
    ):
        assert reversal.CHECKS[name]().verdict == "not confirmed"


def test_unknown_ids_are_named() -> None:
    with pytest.raises(ValueError, match="T9-nothing"):
        claims(["D-gaps", "T9-nothing"])


def test_the_command_prints_records_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "--json", "TAB-memory", "D-gaps"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert [record["id"] for record in records] == ["D-gaps", "TAB-memory"]
    assert set(records[0]) == {"id", "where", "statement", "verdict", "evidence", "counterexample", "correction"}
    assert main(["claims", "TAB-memory"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("TAB-memory: FALSE") and "3271/512" in text


def test_the_command_refuses_an_unknown_id(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["claims", "T9"])
    assert stop.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
