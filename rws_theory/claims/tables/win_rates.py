"""Win rates: Tables 1, 2, 5 and 10, against each other and against the text."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise

from rws_theory.claims.claim import Finding
from rws_theory.claims.tables import half_unit, mean_of, shown, verdict
from rws_theory.printed import printed_in

MT_BENCH_PROMPTS = 80


def winrate_mean() -> Finding:
    """Compare the means of six numbers, each known to 0.05, with the printed means."""
    table = printed_in("table1_win_rate", exact=True)
    wins, losses = (mean_of([row[key] for row in table["rows"]]) for key in ("win", "default_win"))
    text = table["text"]
    holds = abs(wins - text["win_mean"]) <= Fraction(1, 2) + half_unit(1)
    holds &= abs(losses - text["default_mean"]) <= 2 * half_unit(1)
    return Finding(
        verdict(holds),
        f"({' + '.join(shown(row['win'], 1) for row in table['rows'])}) / {len(table['rows'])} = {shown(wins)}, of the"
        f" default {shown(losses)}; each is known to 0.05.",
    )


def winrate_range() -> Finding:
    """Compare the extremes of a column, exactly."""
    table = printed_in("table1_win_rate", exact=True)
    wins = [row["win"] for row in table["rows"]]
    holds = (min(wins), max(wins)) == (table["text"]["win_low"], table["text"]["win_high"])
    return Finding(
        verdict(holds and all(row["win"] > row["default_win"] for row in table["rows"])),
        f"Of {', '.join(shown(win, 1) for win in wins)} the least is {shown(min(wins), 1)}, the largest"
        f" {shown(max(wins), 1)}; the default's are"
        f" {', '.join(shown(row['default_win'], 1) for row in table['rows'])}.",
    )


def rows_sum() -> Finding:
    """Add up the three printed shares of each row; rounding allows 0.15."""
    table = printed_in("table1_win_rate", exact=True)
    sums = {row["model"]: row["win"] + row["draw"] + row["default_win"] for row in table["rows"]}
    off = {model: total for model, total in sums.items() if total != 100}
    rounding = all(abs(total - 100) <= 3 * half_unit(1) for total in sums.values())
    listed = ", ".join(f"{model} {shown(total, 1)}" for model, total in off.items())
    return Finding(
        verdict(not off),
        f"{len(sums) - len(off)} of {len(sums)} rows sum to exactly 100.0; rounding "
        f"{'explains' if rounding else 'does not explain'} the others.",
        f"Printed rows: {listed}.",
        "They sum to 100 within the rounding of three numbers to one decimal (0.15)." if rounding else None,
    )


def _row(shares: tuple[Fraction, ...]) -> str:
    return " / ".join(shown(share, 1) for share in shares)


def identical_rows() -> Finding:
    """Compare the rows field by field."""
    table = printed_in("table1_win_rate", exact=True)
    rows = {row["model"]: (row["win"], row["draw"], row["default_win"]) for row in table["rows"]}
    twins = [(m, n) for m in rows for n in rows if m < n and rows[m] == rows[n]]
    quintiles = printed_in("table5_god_quintiles", exact=True)["rows"]
    differ = [(m, n) for m, n in twins if any(row[m] != row[n] for row in quintiles)]
    return Finding(
        verdict(not differ),
        f"Of 15 pairs of rows, {len(twins)} are equal in win, draw and loss, {len(differ)} of them with"
        " different quintiles in Table 5.",
        "; ".join(f"{m} and {n} have the same win, draw and loss, {_row(rows[m])}" for m, n in differ),
    )


def quintile_mean() -> Finding:
    """Compare the mean of the five quintiles with the whole column; fifths allow 1.10 (docs/theory.md, eq. (T56))."""
    rows = printed_in("table5_god_quintiles", exact=True)["rows"]
    column = printed_in("table1_win_rate", exact=True)["rows"]
    gaps = {row["model"]: row["win"] - mean_of([quintile[row["model"]] for quintile in rows]) for row in column}
    allowed = 1 + 2 * half_unit(1)
    off = {model: gap for model, gap in gaps.items() if abs(gap) > allowed}
    listed = ", ".join(f"{model} {shown(gap)}" for model, gap in gaps.items())
    least = list[str]()  # by how much some fifth is off, with rounding on the tables' side
    for model, gap in off.items():
        a, b, _, d, e = sorted(quintile[model] for quintile in rows)
        points = 1000 * (abs(gap) - 2 * half_unit(1)) / (d + e - a - b + 4 * half_unit(1))
        least.append(f"{model} {shown(Fraction(int(points), 10), 1)}")
    return Finding(
        "inconsistent unless" if off else "true",
        f"Table 1 minus the mean of the five quintiles, in percentage points: {listed}. Even fifths of at least"
        " 250 prompts and rounding allow 1.10; Table 1 fits no fewer than 450 (TAB-quintile-counts).",
        f"Columns further off than that: {', '.join(off)}.",
        "For these models the tables agree only if they describe different comparisons or the fifths are uneven. Then"
        f" some fifth is off 20 % of the prompts by at least so many percentage points: {', '.join(least)}.",
    )


def quintile_monotone() -> Finding:
    """Compare neighbouring quintiles, column by column."""
    table = printed_in("table5_god_quintiles", exact=True)
    models = [key for key in table["rows"][0] if key != "quintile"]
    rising = [m for m in models if all(low[m] < high[m] for low, high in pairwise(table["rows"]))]
    fallen = [f"{m} ({', '.join(shown(row[m], 1) for row in table['rows'])})" for m in models if m not in rising]
    return Finding(
        verdict(len(rising) == table["text"]["monotone"]),
        f"Rising throughout: {', '.join(rising)}. Not: {'; '.join(fallen)}.",
    )


def judge_mean() -> Finding:
    """Average both orders and round to one decimal; check that every rate is a whole number of prompts."""
    mean = printed_in("table2_llm_judge", exact=True)
    orders = printed_in("table10_llm_judge_orders", exact=True)["rows"]
    got = {row["model"]: (row["first"] + row["second"]) / 2 for row in orders}
    holds = all(abs(got[row["model"]] - row["win"]) <= half_unit(1) for row in mean["rows"])
    wins, text = [row["win"] for row in mean["rows"]], mean["text"]
    holds &= (min(wins), max(wins)) == (text["win_low"], text["win_high"])
    half = next((row for row in orders if row["first"] != row["second"]), orders[0])
    integral = all((row[key] * MT_BENCH_PROMPTS / 100) % 1 == 0 for row in orders for key in ("first", "second"))
    return Finding(
        verdict(holds and integral),
        f"Six means agree to one decimal, such as ({shown(half['first'])} + {shown(half['second'])}) / 2 ="
        f" {shown(got[half['model']], 3)}; {'every' if integral else 'not every'} rate is a whole number of"
        f" {MT_BENCH_PROMPTS} prompts.",
    )


def god_attribution() -> Finding:
    """Compare the order of the six models by GOD with that by win rate; both exceed confidence decoding's for each."""
    table = printed_in("table1_win_rate", exact=True)
    rows = table["rows"]
    ahead = all(row["god"] > table["default_god"] and row["win"] > row["default_win"] for row in rows)
    signs = [(p["god"] - q["god"]) * (p["win"] - q["win"]) for p, q in combinations(rows, 2)]
    agree, differ = sum(sign > 0 for sign in signs), sum(sign < 0 for sign in signs)
    listed = ", ".join(
        f"{row['model']} {shown(row['god'], 3)} ({shown(row['win'], 1)} %)"
        for row in sorted(rows, key=lambda row: row["god"])
    )
    low = min(rows, key=lambda row: row["god"])
    higher = sum(row["win"] > low["win"] for row in rows)
    return Finding(
        "false" if not ahead else "true with correction" if differ >= agree else "true",
        "Against the default both rise: GOD and win rate are higher for all six models. Among the six they do not rise"
        f" together. By rising GOD (win rate): {listed}. Of {len(signs)} pairs of models the one of higher GOD wins"
        f" more in {agree} and less in {differ}.",
        f"{low['model']} has the lowest GOD; of the other {len(rows) - 1} models {higher or 'none'} wins more.",
    )


def lowest_fifth() -> Finding:
    """Compare every fifth of every model with one half; Table 5 prints no draws."""
    rows = printed_in("table5_god_quintiles", exact=True)["rows"]
    models = [key for key in rows[0] if key != "quintile"]
    below = {row["quintile"]: [f"{m} {shown(row[m], 1)}" for m in models if row[m] < 50] for row in rows}
    listed = {quintile: names for quintile, names in below.items() if names}
    draws = [row["draw"] for row in printed_in("table1_win_rate", exact=True)["rows"]]
    first = f"{len(below[rows[0]['quintile']])} of {len(models)}"
    return Finding(
        verdict(not listed),
        f"Win rates below 50 % in the lowest fifth of GOD: {first} models. Table 5 prints no draws; by Table 1 they are"
        f" {shown(min(draws), 1)} to {shown(max(draws), 1)} % of all prompts.",
        "; ".join(f"{quintile}: {', '.join(names)}" for quintile, names in listed.items()) or None,
    )
