"""Scores of texts and of orders, costs (Tables 4, 6, 8, 11 and 12), the judge's prompt, and the example dialogue."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise
from typing import Any

from rws_theory.claims.claim import Finding
from rws_theory.claims.tables import half_unit, mean_of, shown, verdict
from rws_theory.printed import printed_in
from rws_theory.show import number

HUMANEVAL_PROBLEMS = 164  # rows of the public benchmark
MIB_PER_GIB = 1024


def humaneval() -> Finding:
    """Check that every score is a whole number of 164 problems, and the difference of two of them."""
    table = printed_in("table4_humaneval", exact=True)
    scores = [table["default"], *(row["pass_at_1"] for row in table["rows"])]
    counts = {score: round(score * HUMANEVAL_PROBLEMS / 100) for score in scores}
    integral = all(abs(Fraction(100 * n, HUMANEVAL_PROBLEMS) - score) <= half_unit(2) for score, n in counts.items())
    default, best = counts[table["default"]], max(counts.values())
    gain = Fraction(100 * (best - default), HUMANEVAL_PROBLEMS)
    return Finding(
        verdict(integral and abs(gain - table["text"]["gain"]) <= half_unit(2)),
        f"Problems solved of {HUMANEVAL_PROBLEMS}: default {default}, best {best};"
        f" ({best} - {default}) / {HUMANEVAL_PROBLEMS} = {shown(gain)} %.",
    )


def diversity() -> Finding:
    """Compare every row with that of confidence decoding."""
    table = printed_in("table6_diversity", exact=True)
    holds = all(row[key] > table["default"][key] for row in table["rows"] for key in ("distinct_1", "distinct_2"))
    return Finding(
        verdict(holds),
        "Lowest of RWS against the default: "
        + ", ".join(
            f"{name} {float(min(row[key] for row in table['rows'])):g} against {float(table['default'][key]):g}"
            for name, key in (("distinct-1", "distinct_1"), ("distinct-2", "distinct_2"))
        )
        + ".",
    )


def god_double() -> Finding:
    """Bound the ratio of two printed means, each known to 0.005."""
    table = printed_in("table12_frequency", exact=True)
    ratio = (table["rows"][0]["god"] - half_unit(2)) / (table["default"]["god"] + half_unit(2))
    return Finding(
        verdict(ratio > 2),
        f"Table 12: {shown(table['rows'][0]['god'])} against {shown(table['default']['god'])}; with rounding the"
        f" ratio is at least {shown(Fraction(int(100 * ratio), 100))}.",
    )


def _worst_of_rws() -> Any:
    """Return the worst perplexity of RWS, as printed in the text."""
    values = printed_in("keyword_task", exact=True)["values"]
    return next(v["value"] for v in values if v["quantity"] == "worst perplexity of RWS")


def temperature_text() -> Finding:
    """Compare the extremes of a column, exactly."""
    table = printed_in("table8_temperature", exact=True)["rows"]
    ranges = printed_in("keyword_task", exact=True)["ranges"]
    printed = next(row for row in ranges if row["quantity"] == "GOD of temperature scaling")
    gods = [row["god"] for row in table]
    holds = (min(gods), max(gods)) == (printed["low"], printed["high"])
    return Finding(
        verdict(holds),
        f"GOD of Table 8, by rising scale: {', '.join(shown(god) for god in gods)}.",
        f"The smallest GOD of Table 8 is {shown(min(gods))}, the largest {shown(max(gods))}.",
        f"{shown(min(gods))} to {shown(max(gods))}.",
    )


def _default_perplexity() -> tuple[Fraction, Fraction]:
    """Return the least and largest perplexity of confidence decoding, by the text (docs/theory.md, section 12)."""
    ranges = printed_in("keyword_task", exact=True)["ranges"]
    gain = next(r for r in ranges if r["quantity"] == "perplexity of RWS below that of the default")
    low, high = (_worst_of_rws() / (1 - Fraction(gain[end]) / 100) for end in ("low", "high"))
    return low, high


def temperature_one() -> Finding:
    """Compare the row for scale 1 with confidence decoding: factor 1 changes no logit (docs/theory.md, section 12)."""
    row = next(r for r in printed_in("table8_temperature", exact=True)["rows"] if r["scale"] == 1)
    low, high = _default_perplexity()
    god = printed_in("table12_frequency", exact=True)["default"]["god"]
    holds = row["god"] == god and low - 1 <= row["perplexity"] <= high + 1
    return Finding(
        verdict(holds),
        f"GOD of the default is {shown(god)} (Table 12). Its perplexity lies between {shown(_worst_of_rws())} / 0.88 ="
        f" {shown(low)} and {shown(_worst_of_rws())} / 0.84 = {shown(high)}: the worst of RWS is 12 to 16 % better"
        " (Section 5.4).",
        f"Scale 1 in Table 8: GOD {shown(row['god'])}, perplexity {shown(row['perplexity'])}.",
    )


def temperature_caption() -> Finding:
    """Count concordant pairs of rows: (scale, GOD) and (GOD, perplexity)."""
    rows = printed_in("table8_temperature", exact=True)["rows"]
    pairs = [(p, q) for i, p in enumerate(rows) for q in rows[i + 1 :]]
    falls = [(p, q) for p, q in pairs if q["god"] < p["god"]]
    worse = sum((q["god"] - p["god"]) * (q["perplexity"] - p["perplexity"]) > 0 for p, q in pairs)
    better = sum((q["god"] - p["god"]) * (q["perplexity"] - p["perplexity"]) < 0 for p, q in pairs)
    worst = _worst_of_rws()
    lowest = min(rows, key=lambda row: row["perplexity"])
    above = lowest["perplexity"] > worst
    counterexample = None
    if not above:
        counterexample = f"At scale {float(lowest['scale']):g} perplexity is {shown(lowest['perplexity'])}."
    elif falls:
        p, q = falls[-1]
        counterexample = (
            f"From scale {shown(p['scale'], 0)} to {shown(q['scale'], 0)} GOD falls from {shown(p['god'])} to"
            f" {shown(q['god'])}."
        )
    return Finding(
        "false" if not above else "true with correction" if falls else "true",
        f"The lowest perplexity of the table is {shown(lowest['perplexity'])}, the worst of RWS {shown(worst)}: at"
        f" every scale {'higher' if above else 'not higher'} than that of RWS. Of {len(pairs)} pairs of rows, GOD"
        f" falls with the scale in {len(falls)}; where GOD is higher, perplexity is lower in {better} pairs and higher"
        f" in {worse}.",
        counterexample,
    )


def temperature_quality() -> Finding:
    """Compare the perplexity of the rows of Table 8 with more GOD than confidence decoding with the latter's."""
    rows = printed_in("table8_temperature", exact=True)["rows"]
    one = next(row for row in rows if row["scale"] == 1)
    default = printed_in("table12_frequency", exact=True)["default"]
    (low, high), worst = _default_perplexity(), _worst_of_rws()
    raised = [row for row in rows if row["god"] > default["god"]]
    better = [row for row in raised if row["perplexity"] < min(low, one["perplexity"])]
    refuted = bool(raised) and better == raised
    values = [row["perplexity"] for row in raised]
    counterexample = None
    if refuted:
        best = min(raised, key=lambda row: row["perplexity"])
        listed = ", ".join(f"{float(r['scale']):g}: {shown(r['perplexity'])} ({shown(r['god'])})" for r in raised)
        counterexample = (
            f"Table 8, scale: perplexity (GOD): {listed}. The best, {shown(best['perplexity'])}, is"
            f" {shown(100 * (best['perplexity'] / worst - 1), 1)} % above the worst of RWS, {shown(worst)}."
        )
    return Finding(
        "false" if refuted else "not confirmed",
        f"The default has GOD {shown(default['god'])} and, from the text, a perplexity between {shown(low)} and"
        f" {shown(high)} (TAB-temperature-one); scale 1 in Table 8 has {shown(one['perplexity'])}. All {len(raised)}"
        f" scales that raise GOD above the default's have {shown(min(values))} to {shown(max(values))}, which is lower."
        if refuted
        else f"{len(better)} of the {len(raised)} scales that raise GOD have a lower perplexity than the default.",
        counterexample,
        "Where temperature scaling raises GOD, perplexity is better than the default's, and"
        f" {shown(100 * (min(values) / worst - 1), 1)} to {shown(100 * (max(values) / worst - 1), 1)} % worse than"
        " the worst of RWS."
        if refuted
        else None,
    )


def judge_prompt() -> Finding:
    """List the slots of the printed template: whether one is for the user's prompt."""
    template = printed_in("table10_llm_judge_orders", exact=True)["template"]["user"]
    slots = re.findall(r"\[([^\]]*)\]", template)
    for_prompt = [slot for slot in slots if re.search("prompt|question|instruction|dialogue", slot, re.IGNORECASE)]
    return Finding(
        "true" if for_prompt else "true with correction",
        f'The user message of the template is: "{template}". It has {len(slots)} slots, {len(for_prompt)} of them for'
        " what the user asked.",
        "The judge never sees the question or the first turn: only two answers.",
    )


def coherent() -> Finding:
    """Count the words that repeat the word before them, in the complete responses as printed."""
    printed = printed_in("dialogues", exact=True)
    rows, quote = printed["rows"], printed["quote"]
    counts = {
        method: tuple(sum(row[key] for row in rows if row["method"] == method) for key in ("doubled", "words"))
        for method in ("rws", "default")
    }
    share = {method: Fraction(100 * doubled, words) for method, (doubled, words) in counts.items()}
    worse = share["rws"] >= share["default"]
    (doubled, words), (base, base_words) = counts["rws"], counts["default"]
    return Finding(
        "true with correction" if worse else "true",
        f"Words that repeat the word before them, in the complete printed responses: RWS {doubled} of {words}"
        f" ({shown(share['rws'], 1)} %), the default {base} of {base_words} ({shown(share['default'], 1)} %).",
        f'{quote["where"]}: "{quote["text"]}".',
    )


def overhead() -> Finding:
    """Compare ratios of printed times, known to about 5e-5, with a range printed in whole percent."""
    table = printed_in("table11_overhead", exact=True)
    base = table["default_seconds"]
    rises = [100 * (row["seconds"] / base - 1) for row in table["rows"]]
    text = table["text"]
    holds = min(rises) >= text["increase_low"] and max(rises) < text["increase_high"] + 1
    mean, printed = mean_of(rises), printed_in("table12_frequency", exact=True)["rows"][0]["increase"]
    return Finding(
        verdict(holds and abs(mean - printed) <= Fraction(1, 10)),
        f"Seconds over the default's {shown(base, 3)}, less 1, in %: {', '.join(shown(rise) for rise in rises)}; mean"
        f" {shown(mean)} (the lower end is truncated, not rounded).",
    )


def overhead_prompts() -> Finding:
    """Compare the sample with its source: without replacement it is no larger."""
    table = printed_in("table11_overhead", exact=True)
    measured, available = table["prompts_measured"], table["prompts_in_dataset"]
    return Finding(
        verdict(measured <= available),
        f"Appendix M: the dataset has {available} prompts.",
        f"{measured} prompts from {available}.",
    )


def memory() -> Finding:
    """Convert MiB to GiB (1,024 to one) and compare with one printed decimal."""
    table = printed_in("table11_overhead", exact=True)
    sizes = [Fraction(row["memory_mib"], MIB_PER_GIB) for row in table["rows"]]
    text = table["text"]
    holds = all(
        abs(value - printed) <= half_unit(1)
        for value, printed in ((min(sizes), text["memory_low_gib"]), (max(sizes), text["memory_high_gib"]))
    )
    low, high = (Fraction(f(row["memory_mib"] for row in table["rows"])) for f in (min, max))
    return Finding(
        verdict(holds),
        f"{low} / 1,024 = {shown(low / MIB_PER_GIB, 3)} and {high} / 1,024 = {shown(high / MIB_PER_GIB, 3)}; divided by"
        f" 1,000 they are {shown(low / 1000, 3)} and {shown(high / 1000, 3)}.",
        f"{low} MiB = {number(low / MIB_PER_GIB)} GiB and {high} MiB = {number(high / MIB_PER_GIB)} GiB",
        f"{shown(min(sizes))} GiB to {shown(max(sizes))} GiB: the text divided by 1,000.",
    )


def frequency() -> Finding:
    """Compare each printed increase with the printed times, and the mean with Table 11."""
    table, times = printed_in("table12_frequency", exact=True), printed_in("table11_overhead", exact=True)
    base = table["default"]["seconds"]
    rises = [(100 * (row["seconds"] / base - 1), row["increase"]) for row in table["rows"]]
    slack = half_unit(1) + 100 * 2 * 2 * half_unit(2) / base
    mean = mean_of([row["seconds"] for row in times["rows"]])
    holds = all(abs(computed - printed) <= slack for computed, printed in rises)
    holds &= abs(mean - table["rows"][0]["seconds"]) <= half_unit(2) + half_unit(3)
    listed = ", ".join(f"{shown(computed)} % (printed {shown(printed, 1)})" for computed, printed in rises)
    return Finding(verdict(holds), f"Increases {listed}; mean time of Table 11 {shown(mean, 3)} s.")


def tradeoff() -> Finding:
    """Compare neighbouring rows: seldom guided, less GOD and less time."""
    table = printed_in("table12_frequency", exact=True)
    rows = [*table["rows"], table["default"]]
    holds = all(p["god"] > q["god"] and p["seconds"] > q["seconds"] for p, q in pairwise(rows))
    spent = [
        (row["god"] - rows[-1]["god"], row["seconds"] - rows[-1]["seconds"], row["every"]) for row in table["rows"]
    ]
    listed = "; ".join(f"every {every}: +{shown(god)} GOD for +{shown(time)} s" for god, time, every in spent)
    return Finding(verdict(holds), f"Over the default, guided at steps {listed}. Both fall from row to row.")
