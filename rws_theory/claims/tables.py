"""The arithmetic of the printed tables, against each other and against the text, in exact decimals.

A printed number stands for every number that rounds to it. Two printed numbers agree if some numbers in their intervals
do (docs/theory.md, section 12).
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

from rws_theory.claims.claim import Check, Claim, Verdict
from rws_theory.printed import printed_in

__all__ = ["CHECKS"]

MIB_PER_GIB = 1024
HUMANEVAL_PROBLEMS = 164  # rows of the public benchmark
MT_BENCH_PROMPTS = 80


def _half(decimals: int) -> Fraction:
    return Fraction(1, 2 * 10**decimals)


def _mean(values: list[Any]) -> Fraction:
    return Fraction(sum(values)) / len(values)


def _verdict(holds: bool) -> Verdict:
    return "true" if holds else "false"


def _show(value: Any, decimals: int = 2) -> str:
    return f"{float(value):.{decimals}f}"


def _worst_of_rws() -> Any:
    values = printed_in("keyword_task", exact=True)["values"]
    return next(v["value"] for v in values if v["quantity"] == "worst perplexity of RWS")


def winrate_mean() -> Claim:
    """Compare the means of six numbers, each known to 0.05, with the printed means."""
    table = printed_in("table1_win_rate", exact=True)
    wins, losses = (_mean([row[key] for row in table["rows"]]) for key in ("win", "default_win"))
    text = table["text"]
    holds = abs(wins - text["win_mean"]) <= Fraction(1, 2) + _half(1) and abs(losses - text["default_mean"]) <= 2 * (
        _half(1)
    )
    return Claim(
        "TAB-winrate-mean",
        "Section 5.2, text on Table 1",
        "The average win rate is approximately 59 %, against 37.1 % for the default.",
        _verdict(holds),
        f"Means of the six rows: {_show(wins)} and {_show(losses)}, each known to 0.05.",
    )


def winrate_range() -> Claim:
    """Compare the extremes of a column, exactly."""
    table = printed_in("table1_win_rate", exact=True)
    wins = [row["win"] for row in table["rows"]]
    holds = (min(wins), max(wins)) == (table["text"]["win_low"], table["text"]["win_high"])
    return Claim(
        "TAB-winrate-range",
        "Section 5.2, text on Table 1",
        "Win rates range from 55.8 % to 60.9 %, above the default's for every reward model.",
        _verdict(holds and all(row["win"] > row["default_win"] for row in table["rows"])),
        f"Column extremes {_show(min(wins), 1)} and {_show(max(wins), 1)}; every win rate exceeds the default's.",
    )


def rows_sum() -> Claim:
    """Add up the three printed shares of each row; rounding allows 0.15."""
    table = printed_in("table1_win_rate", exact=True)
    sums = {row["model"]: row["win"] + row["draw"] + row["default_win"] for row in table["rows"]}
    off = {model: total for model, total in sums.items() if total != 100}
    rounding = all(abs(total - 100) <= 3 * _half(1) for total in sums.values())
    shown = ", ".join(f"{model} {_show(total, 1)}" for model, total in off.items())
    return Claim(
        "TAB-rows-sum",
        "Ours, on Table 1",
        "Win, draw and loss of each row, as printed, sum to 100.0 %.",
        _verdict(not off),
        f"{len(sums) - len(off)} of {len(sums)} rows sum to exactly 100.0; rounding "
        f"{'explains' if rounding else 'does not explain'} the others.",
        f"Printed rows: {shown}." if off else None,
        "They sum to 100 within the rounding of three numbers to one decimal (0.15)." if off and rounding else None,
    )


def identical_rows() -> Claim:
    """Compare the rows field by field."""
    table = printed_in("table1_win_rate", exact=True)
    rows = {row["model"]: (row["win"], row["draw"], row["default_win"]) for row in table["rows"]}
    twins = [(m, n) for m in rows for n in rows if m < n and rows[m] == rows[n]]
    quintiles = printed_in("table5_god_quintiles", exact=True)["rows"]
    differ = [(m, n) for m, n in twins if any(row[m] != row[n] for row in quintiles)]
    return Claim(
        "TAB-rows-distinct",
        "Ours, on Table 1",
        "No two reward models have the same win, draw and loss (the paper reports six separate experiments).",
        _verdict(not differ),
        f"Of 15 pairs of rows, {len(twins)} are equal in win, draw and loss, {len(differ)} of them with"
        " different quintiles in Table 5.",
        "; ".join(f"{m} and {n} have the same win, draw and loss" for m, n in differ) or None,
        "Equal to one decimal in all three numbers, by chance or because a row was copied." if differ else None,
    )


def quintile_mean() -> Claim:
    """Compare the mean of the five quintiles with the whole column; fifths allow 1.10 (docs/theory.md, eq. (T56))."""
    rows = printed_in("table5_god_quintiles", exact=True)["rows"]
    whole = printed_in("table1_win_rate", exact=True)["rows"]
    gaps = {row["model"]: row["win"] - _mean([quintile[row["model"]] for quintile in rows]) for row in whole}
    allowed = 1 + 2 * _half(1)
    off = {model: gap for model, gap in gaps.items() if abs(gap) > allowed}
    shown = ", ".join(f"{model} {_show(gap)}" for model, gap in gaps.items())
    return Claim(
        "TAB-quintile-mean",
        "Table 5 against Table 1",
        "Table 5 splits the win rates of Table 1 by quintile of GOD, so that its columns average to them.",
        _verdict(not off),
        f"Table 1 minus the mean of the five quintiles, in percentage points: {shown}. Even fifths of at least"
        " 250 prompts and rounding allow 1.10.",
        f"Columns further off than that: {', '.join(off)}." if off else None,
        "For these models the tables do not describe the same comparisons, or the fifths are far from even."
        if off
        else None,
    )


def quintile_monotone() -> Claim:
    """Compare neighbouring quintiles, column by column."""
    table = printed_in("table5_god_quintiles", exact=True)
    models = [key for key in table["rows"][0] if key != "quintile"]
    rising = [m for m in models if all(low[m] < high[m] for low, high in pairwise(table["rows"]))]
    return Claim(
        "TAB-quintile-monotone",
        "Section 6.1, text on Table 5",
        "Five of the six reward models have a win rate that rises with the GOD quintile.",
        _verdict(len(rising) == table["text"]["monotone"]),
        f"Rising throughout: {', '.join(rising)}. Not: {', '.join(m for m in models if m not in rising)}.",
    )


def overhead() -> Claim:
    """Compare ratios of printed times, known to about 5e-5, with a range printed in whole percent."""
    table = printed_in("table11_overhead", exact=True)
    base = table["default_seconds"]
    rises = [100 * (row["seconds"] / base - 1) for row in table["rows"]]
    text = table["text"]
    holds = min(rises) >= text["increase_low"] and max(rises) < text["increase_high"] + 1
    mean, said = _mean(rises), printed_in("table12_frequency", exact=True)["rows"][0]["increase"]
    return Claim(
        "TAB-overhead",
        "Appendix N and Limitations, text on Table 11; Table 12",
        "RWS takes approximately 21 % to 33 % more time; 29.4 % on average.",
        _verdict(holds and abs(mean - said) <= Fraction(1, 10)),
        f"Increases from {_show(min(rises))} % to {_show(max(rises))} %, mean {_show(mean)} %"
        " (the lower end is truncated, not rounded).",
    )


def memory() -> Claim:
    """Convert MiB to GiB (1,024 to one) and compare with one printed decimal."""
    table = printed_in("table11_overhead", exact=True)
    sizes = [Fraction(row["memory_mib"], MIB_PER_GIB) for row in table["rows"]]
    text = table["text"]
    holds = all(
        abs(value - said) <= _half(1)
        for value, said in ((min(sizes), text["memory_low_gib"]), (max(sizes), text["memory_high_gib"]))
    )
    low, high = (Fraction(f(row["memory_mib"] for row in table["rows"])) for f in (min, max))
    return Claim(
        "TAB-memory",
        "Appendix N, text on Table 11",
        "The additional GPU memory is approximately 6.5 GiB to 14.8 GiB.",
        _verdict(holds),
        "The table's MiB divided by 1,024, in exact arithmetic.",
        None if holds else f"{low} MiB = {low / MIB_PER_GIB} GiB and {high} MiB = {high / MIB_PER_GIB} GiB",
        None if holds else f"{_show(min(sizes))} GiB to {_show(max(sizes))} GiB: the text divided by 1,000.",
    )


def overhead_prompts() -> Claim:
    """Compare the sample with its source: without replacement it is no larger."""
    table = printed_in("table11_overhead", exact=True)
    drawn, available = table["prompts_measured"], table["prompts_in_dataset"]
    return Claim(
        "TAB-overhead-prompts",
        "Appendix N against Appendix M",
        "Times are means over 200 different prompts of the keyword-constrained dataset (the natural reading).",
        _verdict(drawn <= available),
        f"Appendix M: the dataset has {available} prompts.",
        f"{drawn} prompts from {available}." if drawn > available else None,
        "Prompts were repeated, or another set was used." if drawn > available else None,
    )


def frequency() -> Claim:
    """Compare each printed increase with the printed times, and the mean with Table 11."""
    table, times = printed_in("table12_frequency", exact=True), printed_in("table11_overhead", exact=True)
    base = table["default"]["seconds"]
    rises = [(100 * (row["seconds"] / base - 1), row["increase"]) for row in table["rows"]]
    slack = _half(1) + 100 * 2 * 2 * _half(2) / base
    mean = _mean([row["seconds"] for row in times["rows"]])
    holds = all(abs(got - said) <= slack for got, said in rises)
    holds &= abs(mean - table["rows"][0]["seconds"]) <= _half(2) + _half(3)
    shown = ", ".join(f"{_show(got)} % (printed {_show(said, 1)})" for got, said in rises)
    return Claim(
        "TAB-frequency",
        "Table 12 against Table 11",
        "The increases of the frequency ablation follow from its times, and its first row is the mean of Table 11.",
        _verdict(holds),
        f"Increases {shown}; mean time of Table 11 {_show(mean, 3)} s.",
    )


def temperature_text() -> Claim:
    """Compare the extremes of a column, exactly."""
    table = printed_in("table8_temperature", exact=True)["rows"]
    ranges = printed_in("keyword_task", exact=True)["ranges"]
    said = next(row for row in ranges if row["quantity"] == "GOD of temperature scaling")
    gods = [row["god"] for row in table]
    holds = (min(gods), max(gods)) == (said["low"], said["high"])
    return Claim(
        "TAB-temperature-text",
        "Appendix F, text, against Table 8",
        f"GOD of temperature scaling ranges from {_show(said['low'])} to {_show(said['high'])}.",
        _verdict(holds),
        "Column extremes of Table 8, exactly as printed.",
        None if holds else f"The smallest GOD of Table 8 is {_show(min(gods))}, the largest {_show(max(gods))}.",
        None if holds else f"{_show(min(gods))} to {_show(max(gods))}.",
    )


def temperature_one() -> Claim:
    """Compare the row for scale 1 with the default, which it is: a factor of 1 changes no logit (docs/theory.md,
    section 12).
    """
    row = next(r for r in printed_in("table8_temperature", exact=True)["rows"] if r["scale"] == 1)
    task = printed_in("keyword_task", exact=True)
    worst = _worst_of_rws()
    gain = next(r for r in task["ranges"] if r["quantity"] == "perplexity of RWS below that of the default")
    low, high = (worst / (1 - Fraction(gain[end]) / 100) for end in ("low", "high"))
    god = printed_in("table12_frequency", exact=True)["default"]["god"]
    holds = row["god"] == god and low - 1 <= row["perplexity"] <= high + 1
    return Claim(
        "TAB-temperature-one",
        "Table 8 against Table 12, Section 5.4 and Appendix F",
        "The row for scale 1 agrees with the default, as a factor of 1 is the default.",
        _verdict(holds),
        f"GOD of the default is {_show(god)} (Table 12); its perplexity lies between {_show(low)} and {_show(high)}"
        " (Section 5.4 with the worst perplexity of RWS).",
        None if holds else f"Scale 1 in Table 8: GOD {_show(row['god'])}, perplexity {_show(row['perplexity'])}.",
        None if holds else "The row for scale 1 and the default come from different runs, or one of them is wrong.",
    )


def temperature_caption() -> Claim:
    """Count concordant pairs of rows: (scale, GOD) and (GOD, perplexity)."""
    rows = printed_in("table8_temperature", exact=True)["rows"]
    pairs = [(p, q) for i, p in enumerate(rows) for q in rows[i + 1 :]]
    falls = [(p, q) for p, q in pairs if q["god"] < p["god"]]
    worse = sum((q["god"] - p["god"]) * (q["perplexity"] - p["perplexity"]) > 0 for p, q in pairs)
    better = sum((q["god"] - p["god"]) * (q["perplexity"] - p["perplexity"]) < 0 for p, q in pairs)
    worst = _worst_of_rws()
    lowest = min(row["perplexity"] for row in rows)
    counterexample = None
    if falls:
        p, q = falls[-1]
        counterexample = (
            f"From scale {_show(p['scale'], 0)} to {_show(q['scale'], 0)} GOD falls from {_show(p['god'])} to"
            f" {_show(q['god'])}."
        )
    return Claim(
        "TAB-temperature-caption",
        "Table 8, caption, and Appendix F",
        "Larger scales raise GOD, and at every scale perplexity is higher than that of RWS.",
        _verdict(not falls and lowest > worst),
        f"Of {len(pairs)} pairs of rows, GOD falls with the scale in {len(falls)}; where GOD is higher, perplexity is"
        f" lower in {better} pairs and higher in {worse}. Perplexity at every scale is above the worst of RWS,"
        f" {_show(worst)}: {lowest > worst}.",
        counterexample,
        "GOD rises and falls with the scale, and within the table more deviation goes with lower perplexity; only"
        " against RWS is perplexity higher."
        if falls
        else None,
    )


def judge_mean() -> Claim:
    """Average both orders and round to one decimal; check that every rate is a whole number of prompts."""
    mean = printed_in("table2_llm_judge", exact=True)
    orders = printed_in("table10_llm_judge_orders", exact=True)["rows"]
    got = {row["model"]: (row["first"] + row["second"]) / 2 for row in orders}
    holds = all(abs(got[row["model"]] - row["win"]) <= _half(1) for row in mean["rows"])
    wins, text = [row["win"] for row in mean["rows"]], mean["text"]
    holds &= (min(wins), max(wins)) == (text["win_low"], text["win_high"])
    whole = all((row[key] * MT_BENCH_PROMPTS / 100) % 1 == 0 for row in orders for key in ("first", "second"))
    return Claim(
        "TAB-judge-mean",
        "Table 2 against Table 10",
        "The judge's win rates are the means of both orders, 60.0 % to 65.0 %.",
        _verdict(holds and whole),
        f"Six means agree to one decimal; {'every' if whole else 'not every'} rate is a whole number of "
        f"{MT_BENCH_PROMPTS} prompts.",
    )


def humaneval() -> Claim:
    """Check that every score is a whole number of 164 problems, and the difference of two of them."""
    table = printed_in("table4_humaneval", exact=True)
    scores = [table["default"], *(row["pass_at_1"] for row in table["rows"])]
    counts = {score: round(score * HUMANEVAL_PROBLEMS / 100) for score in scores}
    whole = all(abs(Fraction(100 * n, HUMANEVAL_PROBLEMS) - score) <= _half(2) for score, n in counts.items())
    default, best = counts[table["default"]], max(counts.values())
    gain = Fraction(100 * (best - default), HUMANEVAL_PROBLEMS)
    return Claim(
        "TAB-humaneval-gain",
        "Section 5.5, text on Table 4",
        "The best configuration improves pass@1 by 6.71 percentage points.",
        _verdict(whole and abs(gain - table["text"]["gain"]) <= _half(2)),
        f"Problems solved of {HUMANEVAL_PROBLEMS}: default {default}, best {best}; gain {_show(gain)}.",
    )


def diversity() -> Claim:
    """Compare every row with the default's."""
    table = printed_in("table6_diversity", exact=True)
    holds = all(row[key] > table["default"][key] for row in table["rows"] for key in ("distinct_1", "distinct_2"))
    return Claim(
        "TAB-diversity",
        "Section 6.2, text on Table 6",
        "RWS has higher distinct-1 and distinct-2 than the default in every configuration.",
        _verdict(holds),
        "Six rows, two columns, compared with the default as printed.",
    )


def god_double() -> Claim:
    """Bound the ratio of two printed means, each known to 0.005."""
    table = printed_in("table12_frequency", exact=True)
    ratio = (table["rows"][0]["god"] - _half(2)) / (table["default"]["god"] + _half(2))
    return Claim(
        "TAB-god-double",
        "Section 5.4, text on Figure 6, against Table 12",
        "RWS has on average more than double the GOD of the default on keyword prompts.",
        _verdict(ratio > 2),
        f"Table 12: the ratio is at least {_show(Fraction(int(100 * ratio), 100))}.",
    )


CHECKS: dict[str, Check] = {
    "TAB-winrate-mean": winrate_mean,
    "TAB-winrate-range": winrate_range,
    "TAB-rows-sum": rows_sum,
    "TAB-rows-distinct": identical_rows,
    "TAB-quintile-mean": quintile_mean,
    "TAB-quintile-monotone": quintile_monotone,
    "TAB-judge-mean": judge_mean,
    "TAB-humaneval-gain": humaneval,
    "TAB-diversity": diversity,
    "TAB-god-double": god_double,
    "TAB-temperature-text": temperature_text,
    "TAB-temperature-one": temperature_one,
    "TAB-temperature-caption": temperature_caption,
    "TAB-overhead": overhead,
    "TAB-overhead-prompts": overhead_prompts,
    "TAB-memory": memory,
    "TAB-frequency": frequency,
}
