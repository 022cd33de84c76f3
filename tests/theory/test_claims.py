"""The ledger: its verdicts, and that they are computed: they follow the numbers and the mathematics they are about."""

import ast
import json
import re
import sys
from dataclasses import replace
from fractions import Fraction
from functools import cache, lru_cache, partial
from itertools import combinations, combinations_with_replacement, pairwise, product
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb
from scipy.special import expit

from rws_theory import end_reversals, majorises, output_law, stability_radius, threshold_path
from rws_theory.claims import CHECKS, Claim, claims, method, own_results, reversal, reward
from rws_theory.claims import pair_search as search
from rws_theory.claims.pair_search import Pair
from rws_theory.printed import printed_in
from rws_theory.worlds import corollary_study, rws_less_reward_example

RECORDS = json.loads(Path(__file__).with_name("ledger.json").read_text(encoding="utf-8"))
LEDGER = {record["id"]: Claim(**record) for record in RECORDS}


# Long searches and studies; what they compute is also held below, by brute force or in the small.
LONGEST = ("T1a-unique", "T1b-mended", "C1-rws", "N-order-invariance", "N-freezing")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name in LONGEST)) for name in CHECKS])
def test_nothing_in_the_ledger_changes_unread(name: str) -> None:
    # After a change that is meant: rws claims --json > tests/theory/ledger.json; read the difference.
    assert list(LEDGER) == list(CHECKS)
    assert [*claims([name])] == [LEDGER[name]]


def test_what_is_refuted_has_a_counterexample_and_a_correction() -> None:
    for claim in LEDGER.values():
        assert claim.statement and claim.where and claim.evidence and claim.verdict != "not confirmed"
        if claim.verdict in ("false", "inconsistent unless"):
            assert claim.counterexample and claim.correction, claim.id
        if claim.verdict == "true":
            assert claim.counterexample is None and claim.correction is None, claim.id


def _gaps(text: str) -> tuple[list[mpmath.mpf], list[mpmath.mpf]]:
    match = re.search(r"gaps a = (\([^)]*\))(?: / \d+)?, b = (\([^)]*\))(?: / (\d+))?", text)
    assert match, text
    unit = int(match.group(3) or 1)
    out = []
    for part in match.group(1), match.group(2):
        value = ast.literal_eval(part)
        out.append([mpmath.mpf(u) / unit for u in (value if isinstance(value, tuple) else (value,))])
    return out[0], out[1]


def _order(a: list[Any], b: list[Any], r: Any) -> int:
    """Sign of P^a(r) - P^b(r) with 150 digits."""
    with mpmath.workdps(150):
        return int(mpmath.sign(sum(_decay(r, v) for v in b) - sum(_decay(r, u) for u in a)))


@lru_cache(maxsize=2**16)
def _decay(r: Any, gap: Any) -> Any:
    """exp(-r gap), once for all the pairs that have the gap; asked for with 150 digits."""
    return mpmath.exp(-mpmath.mpf(r) * gap)


def _changes(a: list[mpmath.mpf], b: list[mpmath.mpf], low: float, high: float, points: int = 300) -> int:
    """Sign changes of P^a - P^b on a fine geometric grid, by brute force."""
    signs = [_order(a, b, r) for r in (low * (high / low) ** (i / points) for i in range(points + 1))]
    return sum(s != t for s, t in pairwise(signs))


def test_counterexamples_of_theorem_1_hold_under_brute_force() -> None:
    for name in ("T1-exclusive", "T1a-unique", "T1b-printed", "T1b-mended", "T1c-otherwise", "T1-step4", "S52-low"):
        text = LEDGER[name].counterexample
        assert text is not None
        a, b = _gaps(text)
        assert f"d = {len(a) + 1}" in text
        assert _order(a, b, 1) > 0, name
        low, high = _changes(a, b, 1e-3, 1.0), _changes(a, b, 1.0, 1e3)
        assert {
            "T1-exclusive": sum(a) < sum(b) and min(a) > min(b),
            "T1a-unique": sum(a) < sum(b) and low == 3,
            "T1b-printed": min(a) > min(b) and high == 0,
            "T1b-mended": min(a) < min(b) and high == 3,
            "T1c-otherwise": sum(a) >= sum(b) and min(a) <= min(b) and low + high > 0,
            "T1-step4": low + high == 2,
            "S52-low": sum(a) > sum(b) and low == 0,
        }[name]


def test_pair_counts_equal_brute_force() -> None:
    for pair in search.all_pairs(3, 4):
        low, high = pair.counts
        a, b = [mpmath.mpf(u) for u in pair.a], [mpmath.mpf(v) for v in pair.b]
        assert (low, high) == (_changes(a, b, 1e-3, 1.0, 40), _changes(a, b, 1.0, 32.0, 40)), str(pair)


Place = tuple[str | int, ...]
Changes = dict[str, dict[Place, str]]
SLIGHTLY = Fraction(1, 10**9)


def print_otherwise(patch: pytest.MonkeyPatch, module: Any, changes: Changes) -> None:
    """Let the printed tables that a module reads have other numbers at some places."""
    altered: dict[str, Any] = {}
    for table, numbers in changes.items():
        altered[table] = printed_in(table, exact=True)
        for path, number in numbers.items():
            node = altered[table]
            for key in path[:-1]:
                node = node[key]
            assert node[path[-1]] is not None
            node[path[-1]] = Fraction(number)

    def read(name: str, *, exact: bool) -> dict[str, Any]:
        assert exact
        return altered.get(name) or printed_in(name, exact=True)

    patch.setattr(module, "printed_in", read)


# A claim that is true, a place in a table, and the least and the largest number there at which it still is.
LIMITS: list[tuple[str, str, Place, str | None, str | None]] = [
    ("TAB-winrate-mean", "table1_win_rate", ("text", "win_mean"), "878/15", "1789/30"),  # 709 / 12 +- 0.55
    ("TAB-overhead", "table11_overhead", ("text", "increase_low"), None, "440000/20197"),  # that of GRM
    ("TAB-frequency", "table12_frequency", ("rows", 1, "increase"), "34299/2020", "34901/2020"),  # +- 0.05 + 2 / 20.2
    ("TAB-judge-mean", "table2_llm_judge", ("rows", 2, "win"), "60.575", "60.675"),  # 60.625 +- 0.05
    ("TAB-humaneval-gain", "table4_humaneval", ("rows", 1, "pass_at_1"), "199959/8200", "200041/8200"),  # 40 of 164
    ("TAB-quintile-monotone", "table5_god_quintiles", ("text", "monotone"), "5", "5"),
    ("TAB-overhead-prompts", "table11_overhead", ("prompts_measured",), None, "100"),
    ("TAB-memory", "table11_overhead", ("text", "memory_low_gib"), "16227/2560", "16483/2560"),  # 6542 / 1024 +- 0.05
    ("TAB-temperature-text", "keyword_task", ("ranges", 3, "low"), "0.8", "0.8"),
    ("TAB-temperature-one", "table8_temperature", ("rows", 2, "god"), "0.95", "0.95"),
    ("TAB-quintile-mean", "table1_win_rate", ("rows", 0, "win"), "57.78", "59.98"),  # 58.88 +- 1.1
]

# What makes the claims true that are false of the printed tables.
MADE_TRUE: dict[str, Changes] = {
    "TAB-rows-sum": {
        "table1_win_rate": {("rows", 2, "draw"): "3.5", ("rows", 3, "draw"): "3.5", ("rows", 5, "draw"): "3.4"}
    },
    "TAB-rows-distinct": {"table1_win_rate": {("rows", 3, "draw"): "3.7"}},
    "TAB-quintile-mean": {
        "table1_win_rate": {
            ("rows", row, "win"): win for row, win in enumerate(("58.88", "59.56", "54.28", "53.58", "56.04", "58.9"))
        }
    },
    "TAB-overhead-prompts": {"table11_overhead": {("prompts_measured",): "99"}},
    "TAB-memory": {"table11_overhead": {("text", "memory_low_gib"): "6.4", ("text", "memory_high_gib"): "14.5"}},
    "TAB-temperature-text": {"keyword_task": {("ranges", 3, "low"): "0.80"}},
    "TAB-temperature-one": {"table8_temperature": {("rows", 2, "perplexity"): "13", ("rows", 2, "god"): "0.95"}},
}


@pytest.mark.parametrize(("claim", "table", "place", "least", "most"), LIMITS)
def test_claims_on_tables_end_where_rounding_does(
    monkeypatch: pytest.MonkeyPatch, claim: str, table: str, place: Place, least: str | None, most: str | None
) -> None:
    ends = [(Fraction(number), sign) for number, sign in ((least, -1), (most, 1)) if number is not None]
    refuted = "inconsistent unless" if claim == "TAB-quintile-mean" else "false"
    for number, verdict in [
        *((end, "true") for end, _ in ends),
        *((end + sign * SLIGHTLY, refuted) for end, sign in ends),
    ]:
        changes = {name: dict(numbers) for name, numbers in MADE_TRUE.get(claim, {}).items()}
        changes.setdefault(table, {})[place] = str(number)
        print_otherwise(monkeypatch, sys.modules[CHECKS[claim].__module__], changes)
        checked_claim = CHECKS[claim]()
        assert checked_claim.verdict == verdict, number
        assert verdict == refuted or (checked_claim.counterexample, checked_claim.correction) == (None, None)


# A claim, what is printed otherwise, and what is then said of it.
OTHERWISE: list[tuple[str, Changes, dict[str, str | None]]] = [
    ("TAB-rows-distinct", MADE_TRUE["TAB-rows-distinct"], {"verdict": "true", "counterexample": None}),
    ("TAB-temperature-caption", {"table8_temperature": {
        ("rows", row, "god"): str(row) for row in range(8)} | {("rows", 6, "perplexity"): "10.84"}}, {
        "verdict": "false", "counterexample": "At scale 16 perplexity is 10.84."}),
    ("TAB-judge-chance", {"table10_llm_judge_orders": {
        ("rows", row, order): "70" for row in range(6) for order in ("first", "second")}}, {"verdict": "true"}),
    *((name, {table: dict(numbers)}, {"verdict": verdict}) for name, table, verdict, *numbers in (
        ("TAB-quintile-monotone", "table5_god_quintiles", "false", (("rows", 1, "Skywork"), "46.7")),
        ("F-temperature-quality", "table8_temperature", "false", (("rows", 3, "perplexity"), "12.31")),
        ("F-temperature-quality", "table8_temperature", "not confirmed", (("rows", 3, "perplexity"), "12.32")),
        ("TAB-frequency-tradeoff", "table12_frequency", "false", (("rows", 2, "god"), "0.95")),
        ("S5-god-attribution", "table1_win_rate", "false", (("rows", 5, "god"), "1.426")),
        ("TAB-quintile-counts", "table1_win_rate", "not confirmed", (("rows", 0, "win"), "10")),
        ("TAB-winrate-chance", "table1_win_rate", "not confirmed",
         (("rows", 4, "win"), "49.1"), (("rows", 4, "default_win"), "46.9")),
        ("TAB-judge-chance", "table10_llm_judge_orders", "false", (("rows", 5, "second"), "50")),
        ("TAB-humaneval-chance", "table4_humaneval", "false", (("rows", 4, "pass_at_1"), "17.68")),
        ("L-coherent", "dialogues", "true", (("rows", 1, "doubled"), "2")),
        ("TAB-diversity", "table6_diversity", "false", (("rows", 1, "distinct_1"), "0.1885")),
        ("TAB-god-double", "table12_frequency", "false", (("rows", 0, "god"), "1.915")),
    )),
]  # fmt: skip

PRINTED_AT_TWO = {("probability", 1, "a"): "0.637", ("probability", 1, "b"): "0.624"}
FLIPPED = {("a", 0): "1", ("a", 1): "0.4", ("a", 2): "0.4", ("b", 0): "1.1", ("b", 1): "0.6", ("b", 2): "0.3"}
GOLDEN = "4.8121182505960344749775891342436842313518433438566"  # 10 log((1 + sqrt 5) / 2)

EXAMPLE: list[tuple[str, dict[Place, str], dict[str, str | None]]] = [
    *(("D-gaps", {(name,): "1"}, {"verdict": "false"}) for name in ("sigma_a", "sigma_b", "delta_a", "delta_b")),
    # P^a(1) = 0.4864145336 and P^b(1) = 0.4767300274
    *(("D-r1", {("probability", 0, name): value}, {"verdict": verdict}) for name, value, verdict in (
        ("a", "0.4859146", "true"), ("a", "0.4859145", "false"),
        ("b", "0.4772300", "true"), ("b", "0.4772301", "false"),
    )),
    ("D-r2", PRINTED_AT_TWO, {
        "verdict": "false", "counterexample": "a = (1.1, 0.6, 0.3), b = (1, 0.4, 0.4) at r = 2",
        "correction": "P^a(2) = 0.6370, P^b(2) = 0.6241: no flip yet."}),
    ("D-r2", {**FLIPPED, ("probability", 1, "a"): "0.624", ("probability", 1, "b"): "0.637"}, {"verdict": "true"}),
    ("D-r2", FLIPPED, {"verdict": "false", "correction": "P^a(2) = 0.6241, P^b(2) = 0.6370."}),
    *(("D-crossing", {("crossing",): str(Fraction(GOLDEN) + Fraction(1, 200) * sign + SLIGHTLY * more)}, {
        "verdict": "true" if sign * more < 0 else "false"}) for sign in (-1, 1) for more in (-1, 1)),
    # The third gap of b: 0.7 instead of 0.6, x^3 - x^2 - x + 1 = (x - 1)^2 (x + 1), no crossing.
    ("D-crossing", {("b", 2): "0.3"}, {"verdict": "not confirmed", "counterexample": None, "correction": None}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("claim", "changes", "facts"), [*OTHERWISE, *((claim, {"appendix_d": row}, facts) for claim, row, facts in EXAMPLE)]
)
def test_claims_follow_the_printed_numbers(
    monkeypatch: pytest.MonkeyPatch, claim: str, changes: Changes, facts: dict[str, str | None]
) -> None:
    print_otherwise(monkeypatch, sys.modules[CHECKS[claim].__module__], changes)
    record = CHECKS[claim]().as_dict()
    assert {field: record[field] for field in facts} == facts


SEARCHED = "T1-exclusive T1a-unique T1b-printed T1b-mended T1c-otherwise T1-step2 T1-step3 T1-step4 T1-dimension"
SEARCHED += " S52-low S3-more-reversals S3-adaptive"  # two rest on two searches


@pytest.mark.parametrize(
    ("name", "missing"), [*((name, 0) for name in SEARCHED.split()), ("T1-exclusive", 1), ("T1c-otherwise", 1)]
)
def test_nothing_found_is_not_called_false(monkeypatch: pytest.MonkeyPatch, name: str, missing: int) -> None:
    calls, module = iter(range(9)), method if name.startswith("S3") else reversal
    example_pair = Pair((2, 7, 7), (3, 3, 13), 4)
    monkeypatch.setattr(module, "smallest", lambda *args, **kwargs: None if next(calls) == missing else example_pair)
    monkeypatch.setattr(reversal, "GRID", ((3, 2),))
    monkeypatch.setattr(method, "POPULATION", ((3, 4),))
    claim = CHECKS[name]()
    assert claim.verdict == "not confirmed" and "None" not in claim.evidence
    if missing == 0:
        assert claim.counterexample is None
    if (name, missing) in (("T1-exclusive", 1), ("T1c-otherwise", 1), ("S3-more-reversals", 0)):
        assert ": none found" in claim.evidence


def test_a_search_tries_every_pair_in_order_and_no_larger_one(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs: list[Pair] = []
    monkeypatch.setattr(search, "_TRIED", {0: (3, 3)})
    assert search.smallest(lambda pair: bool(pairs.append(pair)), units=(1, 2)) is None
    assert pairs == [
        pair
        for n in (1, 2)
        for top in (1, 2, 3)
        for a, b in product(combinations_with_replacement(range(1, top + 1), n), repeat=2)
        for pair in (Pair(a, b), Pair(a, b, 2))
        if max(*a, *b) == top and _order(list(a), list(b), mpmath.mpf(1) / pair.unit) > 0
    ]


def test_reversals_are_counted_as_brute_force_counts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [
        Pair(a, b) if _order(list(a), list(b), 1 / mpmath.mpf(method.UNIT)) > 0 else Pair(b, a)
        for d, largest in method.POPULATION
        for a, b in combinations(combinations_with_replacement(range(1, largest + 1), d - 1), 2)
    ]
    text = LEDGER["S3-more-reversals"].evidence
    assert f"All {len(pairs):,} pairs" in text
    for count, factor in re.findall(r"(\d+) at ([\d.]+)(?=,|\.$)", text)[::3]:
        scale = mpmath.mpf(factor) / method.UNIT
        assert sum(_order(list(p.a), list(p.b), scale) < 0 for p in pairs) == int(count)
    # A population that nothing below 1 reverses refutes nothing; one that falls above 1 confirms nothing.
    monkeypatch.setattr(method, "POPULATION", ((2, 3),))
    assert CHECKS["S3-more-reversals"]().verdict == "not confirmed"
    monkeypatch.setattr(method, "_reversed", lambda factors: (9, [2, 1, 0, 4, 3, 3, 3, 3]))
    assert CHECKS["S3-more-reversals"]().verdict == "false"


PROVED, SMALL_GAPS = rws_less_reward_example(), {"_MOST_GAP": {3: 5}}
FEW_TABLES = {"_tables": partial(own_results._tables, 16)}
# What the checks compute with, and what they say where that is otherwise.
COMPUTED: list[tuple[str, dict[str, Any], str]] = [
    ("S3-argmax", {"FACTORS": (Fraction(-1),)}, "false"),
    ("S3-gaps", {"arb": lambda x: arb(x) / 10}, "not confirmed"),
    ("AB-selective", {"RISING": ((1,), (-1,))}, "not confirmed"),
    ("S3-adaptive", {"reward_factor": lambda r, scale: 0.999 if r < 0 else 0.01}, "not confirmed"),  # crossing below 1
    ("S3-factor-range", {"reward_factor": lambda r, scale: max(expit(r), 10**-2.5)}, "false"),
    ("GOD-footrule", {"generation_order_deviation": lambda steps: np.zeros(len(steps))}, "not confirmed"),
    ("T2-inequality", {"BASES": (Fraction(1, 2),)}, "not confirmed"),
    ("T2-strict", {"_mean": lambda w, rewards, y: y}, "not confirmed"),
    ("C1-tilted", {"BASES": (Fraction(1, 2),)}, "not confirmed"),
    ("C1-printed", {"TWO_WORDS": (Fraction(1, 2), Fraction(1, 2))}, "not confirmed"),
    ("C1-rws", {"rws_less_reward_example": lambda: replace(PROVED, rws_expected=Fraction(2))}, "not confirmed"),
    ("TAB-quintile-counts", {"sums_of_fifths": lambda shares, n, uneven: dict.fromkeys(range(n))}, "true"),
    # Several tokens a step.
    ("N-order-invariance", {**FEW_TABLES, "output_law": partial(output_law, per_step=2)}, "not confirmed"),
    ("N-sampler-law", {"output_law": partial(output_law, commit="argmax")}, "not confirmed"),
    ("N-quarter-law", {"end_reversals": lambda a, b: end_reversals(a**-1, b**-1)}, "not confirmed"),  # heavy tails
    ("N-majorisation", {**SMALL_GAPS, "majorises": lambda a, b: majorises(a, a)}, "not confirmed"),  # all are ordered
    (
        "N-stability-radius",
        {"stability_radius": lambda *case: replace(r := stability_radius(*case), cheap=(r.cheap[0], 2 * r.upper))},
        "not confirmed",
    ),  # the cheap bound claims more than is true
    ("N-threshold-monotone", {"threshold_path": lambda z, tau, *c: threshold_path(z, tau + 0.01, *c)}, "not confirmed"),
]


@pytest.mark.parametrize(
    ("name", "changes", "verdict"), COMPUTED, ids=[f"{row[0]}-{i}" for i, row in enumerate(COMPUTED)]
)
def test_claims_follow_what_is_computed(
    monkeypatch: pytest.MonkeyPatch, name: str, changes: dict[str, Any], verdict: str
) -> None:
    if name == "C1-rws":
        monkeypatch.setattr(reward, "corollary_study", cache(lambda: corollary_study(models=1)))
    for attribute, value in changes.items():
        monkeypatch.setattr(sys.modules[CHECKS[name].__module__], attribute, value)
    claim = CHECKS[name]()
    assert claim.verdict == verdict and (verdict == "false" or claim.counterexample is None)
