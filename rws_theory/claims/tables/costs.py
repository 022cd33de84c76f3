"""Costs: Tables 11 and 12, against each other and against the text."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from rws_theory.claims.claim import Claim, finding
from rws_theory.claims.tables import half_unit, mean_of, shown, verdict
from rws_theory.printed import printed_in
from rws_theory.show import number

MIB_PER_GIB = 1024


def overhead() -> Claim:
    """Compare ratios of printed times, known to about 5e-5, with a range printed in whole percent."""
    table = printed_in("table11_overhead", exact=True)
    base = table["default_seconds"]
    rises = [100 * (row["seconds"] / base - 1) for row in table["rows"]]
    text = table["text"]
    holds = min(rises) >= text["increase_low"] and max(rises) < text["increase_high"] + 1
    mean, said = mean_of(rises), printed_in("table12_frequency", exact=True)["rows"][0]["increase"]
    return finding(
        "Appendix N and Limitations, text on Table 11; Table 12",
        "RWS takes approximately 21 % to 33 % more time; 29.4 % on average.",
        verdict(holds and abs(mean - said) <= Fraction(1, 10)),
        f"Seconds over the default's {shown(base, 3)}, less 1, in %: {', '.join(shown(rise) for rise in rises)}; mean"
        f" {shown(mean)} (the lower end is truncated, not rounded).",
    )


def overhead_prompts() -> Claim:
    """Compare the sample with its source: without replacement it is no larger."""
    table = printed_in("table11_overhead", exact=True)
    drawn, available = table["prompts_measured"], table["prompts_in_dataset"]
    return finding(
        "Appendix N against Appendix M",
        "Times are means over 200 different prompts of the keyword-constrained dataset (the natural reading).",
        verdict(drawn <= available),
        f"Appendix M: the dataset has {available} prompts.",
        f"{drawn} prompts from {available}.",
        "Prompts were repeated, or another set was used.",
    )


def memory() -> Claim:
    """Convert MiB to GiB (1,024 to one) and compare with one printed decimal."""
    table = printed_in("table11_overhead", exact=True)
    sizes = [Fraction(row["memory_mib"], MIB_PER_GIB) for row in table["rows"]]
    text = table["text"]
    holds = all(
        abs(value - said) <= half_unit(1)
        for value, said in ((min(sizes), text["memory_low_gib"]), (max(sizes), text["memory_high_gib"]))
    )
    low, high = (Fraction(f(row["memory_mib"] for row in table["rows"])) for f in (min, max))
    return finding(
        "Appendix N, text on Table 11",
        "The additional GPU memory is approximately 6.5 GiB to 14.8 GiB.",
        verdict(holds),
        f"{low} / 1,024 = {shown(low / MIB_PER_GIB, 3)} and {high} / 1,024 = {shown(high / MIB_PER_GIB, 3)}; divided by"
        f" 1,000 they are {shown(low / 1000, 3)} and {shown(high / 1000, 3)}.",
        f"{low} MiB = {number(low / MIB_PER_GIB)} GiB and {high} MiB = {number(high / MIB_PER_GIB)} GiB",
        f"{shown(min(sizes))} GiB to {shown(max(sizes))} GiB: the text divided by 1,000.",
    )


def frequency() -> Claim:
    """Compare each printed increase with the printed times, and the mean with Table 11."""
    table, times = printed_in("table12_frequency", exact=True), printed_in("table11_overhead", exact=True)
    base = table["default"]["seconds"]
    rises = [(100 * (row["seconds"] / base - 1), row["increase"]) for row in table["rows"]]
    slack = half_unit(1) + 100 * 2 * 2 * half_unit(2) / base
    mean = mean_of([row["seconds"] for row in times["rows"]])
    holds = all(abs(got - said) <= slack for got, said in rises)
    holds &= abs(mean - table["rows"][0]["seconds"]) <= half_unit(2) + half_unit(3)
    listed = ", ".join(f"{shown(got)} % (printed {shown(said, 1)})" for got, said in rises)
    return finding(
        "Table 12 against Table 11",
        "The increases of the frequency ablation follow from its times, and its first row is the mean of Table 11.",
        verdict(holds),
        f"Increases {listed}; mean time of Table 11 {shown(mean, 3)} s.",
    )


def tradeoff() -> Claim:
    """Compare neighbouring rows: seldom guided, less GOD and less time."""
    table = printed_in("table12_frequency", exact=True)
    rows = [*table["rows"], table["default"]]
    holds = all(p["god"] > q["god"] and p["seconds"] > q["seconds"] for p, q in pairwise(rows))
    spent = [
        (row["god"] - rows[-1]["god"], row["seconds"] - rows[-1]["seconds"], row["every"]) for row in table["rows"]
    ]
    listed = "; ".join(f"every {every}: +{shown(god)} GOD for +{shown(time)} s" for god, time, every in spent)
    return finding(
        "Appendix O, text on Table 12",
        "Guiding less often trades GOD for time smoothly.",
        verdict(holds),
        f"Over the default, guided at steps {listed}. Both fall from row to row.",
    )
