# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The paper's tables and ours
#
# The paper says that reward-weighted sampling (RWS) wins 55.8 % to 60.9 % of prompts against confidence decoding, its
# *default*, in the judgement of the reward model that guided it. Two things can be done with such tables: hold them
# against each other, and hold a measurement of one's own beside them.
#
# **Question.** Which printed numbers contradict each other, and what can a study of *N* prompts conclude?
#
# **Prediction.** Before you go on:
#
# 1. The paper does not say how many prompts Table 1 is made of. Can the printed percentages tell?
# 2. Table 5 splits the prompts of Table 1 into fifths. Do its columns average to Table 1?
# 3. A temperature of 1 changes nothing. Does its row in Table 8 equal the default?
# 4. How many prompts does it take to see a win rate of the printed size: 10, 100, 1,000?

# %%
import contextlib
import io
import os
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from IPython.display import Markdown, display
from ipywidgets import interact

from paper_figures.exhibits.runs import read_run
from paper_figures.exhibits.style import GREY, LINES, styled
from paper_figures.plan import make_missing
from paper_figures.statistics.sample_size import possible_sizes, prompts_needed, sign_test_power
from paper_figures.statistics.win_rates import rate_of_counts
from paper_figures.table import to_markdown
from paper_figures.tables import table1_win_rate
from rws_theory.claims import CHECKS, claims
from rws_theory.printed import printed_in

torch.set_num_threads(1)
RWS, TEMPERATURE, DEFAULT = LINES["rws"], LINES["temperature"], LINES["default"]

# %% [markdown]
# ## The printed numbers, as data
#
# Every number that the paper prints in a table is kept once, with its place, in `rws_theory/printed`.

# %%
table1, table5, table8 = (
    printed_in(name) for name in ("table1_win_rate", "table5_god_quintiles", "table8_temperature")
)
heads = {"model": "reward model", "god": "GOD", "win": "RWS wins, %", "draw": "draws, %"}
heads |= {"default_win": "default wins, %"}
rows = [{head: f"{row[name]}" for name, head in heads.items()} for row in table1["rows"]]
display(Markdown(f"{table1['where']}: {table1['task']}.\n\n{to_markdown(rows)}"))
shares = [(row["win"], row["draw"], row["default_win"]) for row in table1["rows"]]
sizes = possible_sizes(shares, 1200)
Markdown(
    "Win, draw and loss are counts of prompts, divided by one number and rounded. Numbers of prompts up to 1,200 from "
    f"which all {len(shares)} rows can come: **{', '.join(map(str, sizes)) or 'none'}**."
)

# %% [markdown]
# ## What contradicts what
#
# The ledger of claims (`python -m rws_theory claims`) checks the printed tables against each other and against the
# text, in exact decimals. A printed number stands for all numbers that round to it.

# %%
checked = list(claims([name for name in CHECKS if name.startswith("TAB-")]))
lines = [
    {
        "claim": claim.id,
        "where": claim.where,
        "the paper says": claim.statement,
        "verdict": claim.verdict if claim.verdict == "true" else f"**{claim.verdict}**",
        "evidence": claim.counterexample or claim.evidence,
    }
    for claim in checked
]
Markdown(to_markdown(lines))

# %% [markdown]
# Two of them as pictures. Left: the win rate of Table 1 beside the mean of the five fifths of Table 5 (the thin line is
# their range); the ledger allows a distance of 1.1 points. Right: Table 8, with the default's own generation order
# deviation (GOD, 0 is left to right) on the same task (Table 12), which the row for scale 1 should have.

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=(5, 4), layout="constrained")
models = [row["model"] for row in table1["rows"]]
place = np.arange(len(models))
fifths = {model: [row[model] for row in table5["rows"]] for model in models}
means = [float(np.mean(fifths[model])) for model in models]
ends = np.array([(min(fifths[model]), max(fifths[model])) for model in models])
left.hlines(place + 0.12, *ends.T, color=GREY, linewidth=1, label="Table 5, range")
left.plot(means, place + 0.12, "D", color=TEMPERATURE.color, label="Table 5, mean of fifths")
left.plot([row["win"] for row in table1["rows"]], place - 0.12, "s", color=RWS.color, label="Table 1")
left.set_yticks(place, models)
left.set_ylim(len(models) - 0.5, -0.5)
left.set_xlabel("win rate of RWS, as printed [% of prompts]")
left.legend(loc="upper center", bbox_to_anchor=(0.5, 1.16), ncols=3, fontsize=9, frameon=False)
scales, gods = ([row[name] for row in table8["rows"]] for name in ("scale", "god"))
default = printed_in("table12_frequency")["default"]["god"]
right.plot(scales, gods, marker="o", color=TEMPERATURE.color, label="temperature (Table 8)")
right.axhline(default, color="black", linestyle=":", label="the default (Table 12)")
at_one = scales.index(1.0)
right.plot(1.0, gods[at_one], "o", color="white", markeredgecolor=TEMPERATURE.color, markersize=10, zorder=3)
note = {"textcoords": "offset points", "ha": "right", "fontsize": 9}
right.annotate("scale 1 is the default", (1.0, gods[at_one]), (-8, 22), **note)
right.set_xscale("log")
right.set_xticks(scales, [f"{scale:g}" for scale in scales])
right.set_xticks([], minor=True)
right.set_ylim(0)
right.set_xlabel("scale $c$")
right.set_ylabel("GOD, as printed [unit not said]")
right.legend(loc="lower right", fontsize=9)
plt.show()

# %% [markdown]
# ## Ours beside
#
# `RWS_RUNS` may name a folder that holds `reward-bench`, as it is written by
# `python -m paper_figures experiment reward-bench --out FOLDER`. Without it, a very small study is run here, for some
# seconds: the shipped model `mini`, eight prompts of the story language, one guide and one other judge, at a reward
# scale that was given and not chosen. Another model, another language, another judge: levels cannot be compared with
# the paper's, and eight prompts are few. That is the point.

# %%
SMALL = (
    "--prompts 8 --validation 0 --path-prompts 0 --reward-scale 8 --rewards mini --judges mini-judge "
    "--methods rws constant shuffled --length 32 --steps 16 --block 32"
)
folder = tempfile.TemporaryDirectory()
runs = Path(os.environ.get("RWS_RUNS", folder.name))
if "RWS_RUNS" not in os.environ:
    with contextlib.redirect_stderr(io.StringIO()):  # progress, and the folder's name
        make_missing(runs, ["reward-bench"], plan={"reward-bench": SMALL})
run = read_run(runs, "reward-bench")


def shown(value):
    """An option as words."""
    return " and ".join(value) if isinstance(value, list) else value


wanted = ("model", "rewards", "judges", "length", "steps", "block", "seed")
options = ", ".join(f"{name} {shown(run.settings[name])}" for name in wanted if name in run.settings)
Markdown(f"{run.prompts['test']} prompts from {run.prompts['source']}; {options}.")

# %% [markdown]
# The printed table and ours, as the report shows them: printed columns left, ours right, never mixed.

# %%
with styled():
    exhibit = table1_win_rate.exhibit(runs)
for table in exhibit.tables:
    display(Markdown(f"{table.caption}\n\n{to_markdown(table.shown)}"))

# %%
for picture in exhibit.pictures:
    display(picture.figure)
    display(Markdown(picture.caption))

# %% [markdown]
# What follows from it, in sentences that are made from the intervals and tests:

# %%
Markdown("\n".join(f"- {line}" for line in exhibit.conclusions))

# %% [markdown]
# ## What can N prompts conclude?
#
# Suppose that a study came out *exactly* at the printed shares. Left: the 95 % interval of its net win rate (won minus
# lost) by its number of prompts, for the smallest and the largest of the printed differences. Right: with these shares
# as the truth, how often an exact sign test would see the difference (p at most 0.05). Hollow: our own study, drawn at
# its number of prompts.


# %%
def net(row):
    """Won minus lost, in points."""
    return row["win"] - row["default_win"]


def interval(row, n):
    """Interval of the net win rate of n prompts that came out at a printed row's shares, in points."""
    won, lost = (round(n * row[name] / 100) for name in ("win", "default_win"))
    bounds = rate_of_counts(won, max(n - won - lost, 0), lost).net
    return 100 * bounds.low, 100 * bounds.high


smallest, largest = min(table1["rows"], key=net), max(table1["rows"], key=net)

# %%
numbers = np.unique(np.geomspace(8, 1000, 30).astype(int))
own = [row for row in run.rows["win_rates"] if row["method"] == "rws" and row["measure"] == "net"]
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for row, look in ((smallest, TEMPERATURE), (largest, RWS)):
    ends = np.array([interval(row, int(n)) for n in numbers])
    name = f"{row['model']}: {row['win']} % won, {row['default_win']} % lost"
    hatch = "" if row is smallest else "///"
    left.fill_between(numbers, *ends.T, color=look.color, alpha=0.25, hatch=hatch, edgecolor=look.color, label=name)
    power = [sign_test_power(row["win"] / 100, row["default_win"] / 100, int(n)) for n in numbers]
    right.plot(numbers, power, color=look.color, linestyle=look.dash, label=name)
for place, row in enumerate(own):
    bars = [[row["mean"] - row["low"]], [row["high"] - row["mean"]]]
    x = row["n"] * 1.06**place
    left.errorbar(x, row["mean"], yerr=bars, fmt="o", color="black", markerfacecolor="white", capsize=3)
left.axhline(0, color="black", linewidth=0.8)
right.axhline(0.8, color=GREY, linestyle=":")
right.annotate("80 %", (8, 0.8), (0, 3), textcoords="offset points", fontsize=9)
for axes in (left, right):
    axes.set_xscale("log")
    axes.set_xticks([10, 100, 1000], ["10", "100", "1,000"])
    axes.set_xlabel("prompts")
left.legend(loc="lower right", fontsize=8.5)
left.set_ylabel("net win rate, 95 % interval [points]")
right.set_ylabel("probability of p at most 0.05")
right.set_ylim(0, 1.02)
right.legend(loc="lower right", fontsize=8.5)
plt.show()

# %% [markdown]
# ## Drag the number of prompts
#
# Shares of prompts won and lost, and a number of prompts: the interval, and how often such a study would see it.
# (Sliders need a running notebook; without one, call `show(win=60, loss=30, n=100)`.)


# %%
def show(win=smallest["win"], loss=smallest["default_win"], n=100):
    """Say what n prompts of these shares, in percent, would conclude."""
    loss = min(loss, 100 - win)
    low, high = interval({"win": win, "default_win": loss}, n)
    power = sign_test_power(win / 100, loss / 100, n)
    needed = prompts_needed(win / 100, loss / 100)
    print(f"{n} prompts, {win:g} % won, {loss:g} % lost: net {win - loss:+.1f} points [{low:+.1f}, {high:+.1f}]")
    print(f"the sign test sees it with probability {power:.2f}; 0.80 takes {needed or 'more than 100,000'} prompts")


show(n=8)
show(n=450)

# %%
controls = interact(show, win=(0.1, 100.0), loss=(0.0, 100.0), n=(1, 2000))

# %% [markdown]
# ## Conclusion
#
# Computed from the tables above:

# %%
verdict = {claim.id: claim for claim in checked}
wrong = [claim for claim in checked if claim.verdict != "true"]
needed = {row["model"]: prompts_needed(row["win"] / 100, row["default_win"] / 100) for row in (smallest, largest)}
below = [n for n in sizes if n < 2 * sizes[0]] if sizes else []
whole = f"**{below[0]}**, the only one below {2 * below[0]}" if len(below) == 1 else f"{len(sizes)} up to 1,200"
n = run.prompts["test"]
power = [sign_test_power(row["win"] / 100, row["default_win"] / 100, n) for row in (smallest, largest)]
clear = [row for row in own if row["low"] > 0 or row["high"] < 0]
furthest = max((abs(row["win"] - mean), row["model"]) for row, mean in zip(table1["rows"], means, strict=True))
Markdown(
    f"1. Numbers of prompts that all rows of Table 1 can come from: {whole}. (That shares of such counts round to what "
    "is printed also explains the rows that do not add up to 100.)\n"
    f"2. The columns of Table 5 average to Table 1: **{verdict['TAB-quintile-mean'].verdict}**. The largest distance "
    f"is {furthest[0]:.1f} points ({furthest[1]}); even fifths of at least 250 prompts, and rounding, allow 1.1.\n"
    f"3. The row for scale 1 is the default's: **{verdict['TAB-temperature-one'].verdict}**. It has GOD "
    f"{gods[at_one]:.2f}, the default on the same task {default:.2f}.\n"
    f"4. To find the smallest printed difference ({smallest['model']}) with a probability of 80 %, the sign test "
    f"needs {needed[smallest['model']]} prompts, for the largest ({largest['model']}) {needed[largest['model']]}. With "
    f"the {n} prompts of the study above it would be found with a probability of {power[0]:.2f} or {power[1]:.2f}.\n\n"
    f"Of {len(checked)} claims about the tables, **{len(wrong)}** are not true as they stand. In our study the "
    f"interval of the net win rate leaves zero outside for {len(clear)} of {len(own)} guides: "
    + ("there it says which is better, in the guide's judgement." if clear else "it does not say which is better.")
)
