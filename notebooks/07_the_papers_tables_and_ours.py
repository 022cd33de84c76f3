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
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from IPython.display import Markdown, display

from paper_figures.exhibits import table1_win_rate
from paper_figures.exhibits.shared.exhibit import styled
from paper_figures.exhibits.shared.results import read_run
from paper_figures.extra.lessons import printed_tables as lesson
from paper_figures.statistics.sample_size import possible_sizes, prompts_needed
from paper_figures.table import to_markdown
from rws_theory.claims import CHECKS, PAPER, claims, source
from rws_theory.printed import printed_in

# %% [markdown]
# ## Two that do not agree
#
# Left: the win rate of Table 1 beside the mean of the five fifths of Table 5 (the thin line is their range); the claim
# check allows a distance of 1.1 points. Right: Table 8, with the default's own generation order deviation (GOD, 0 is
# left to right) on the same task (Table 12), which the row for scale 1 should have.

# %%
lesson.draw_contradictions()

# %% [markdown]
# ## The printed numbers, as data
#
# Every number that the paper prints in a table is kept once, with its place, in `rws_theory/printed`.

# %%
pd.DataFrame(printed_in("table1_win_rate")["rows"]).set_index("model")

# %% [markdown]
# Win, draw and loss are counts of prompts, divided by one number and rounded. So not every number of prompts can give
# them.

# %%
table1 = printed_in("table1_win_rate")["rows"]
sizes = possible_sizes([(row["win"], row["draw"], row["default_win"]) for row in table1], 1200)
Markdown(
    f"Numbers of prompts up to 1,200 from which all {len(table1)} rows can come: "
    f"**{', '.join(map(str, sizes)) or 'none'}**."
)

# %% [markdown]
# ## What contradicts what
#
# The claim check (`rws claims`) compares the printed tables with each other and with the
# text, in exact decimals. A printed number stands for all numbers that round to it.

# %%
checked = list(claims([name for name in CHECKS if name.startswith("TAB-")]))
found = pd.DataFrame([vars(claim) | {"evidence": claim.counterexample or claim.evidence} for claim in checked])
Markdown(to_markdown(found[["id", "where", "statement", "verdict", "evidence"]].to_dict("records")))

# %% [markdown]
# ## What can N prompts conclude?
#
# Suppose that the printed shares are the truth. Move the slider: with N prompts, how often would an exact sign test see
# each difference (p at most 0.05), and how wide is the interval of the net win rate (won minus lost)?

# %%
ranked = sorted(table1, key=lambda row: row["win"] - row["default_win"])
lesson.power_page(ranked)

# %% [markdown]
# Shares of your own, in percent, and a number of prompts of your own:

# %%
win, loss, n = 60.0, 30.0, 100
low, high = lesson.net_interval(win, loss, n)
Markdown(
    f"{n} prompts, {win:g} % won, {loss:g} % lost: net {win - loss:+.1f} points [{low:+.1f}, {high:+.1f}]. For a "
    f"probability of 80 % it takes {prompts_needed(win / 100, loss / 100) or 'more than 100,000'} prompts."
)

# %% [markdown]
# ## Ours beside
#
# `RWS_RUNS` may name a folder that holds `reward-bench`, as it is written by
# `rws experiment reward-bench --out FOLDER`. Without it, a very small study is run here, for some
# seconds: the shipped model `mini`, eight prompts of the story language, one guide and one other judge, at a reward
# scale that was given and not chosen. Another model, another language, another judge: levels cannot be compared with
# the paper's, and eight prompts are few. That is the point.

# %%
folder = TemporaryDirectory()
runs = lesson.runs_of(folder.name)
run = read_run(runs, "reward-bench")
with styled():
    exhibit = table1_win_rate.exhibit(runs)
for picture in exhibit.pictures:
    display(picture.figure, Markdown(picture.caption))

# %% [markdown]
# The printed table and ours, as the report shows them: printed columns left, ours right, never mixed.

# %%
for table in exhibit.tables:
    display(Markdown(f"{table.caption}\n\n{to_markdown(table.shown)}"))

# %% [markdown]
# What follows from it, in sentences that are made from the intervals and tests:

# %%
Markdown("\n".join(f"- {line}" for line in exhibit.conclusions))

# %% [markdown]
# Our study beside the smallest and the largest of the printed differences, by the number of prompts. Left: the interval
# of a study that came out *exactly* at the printed shares. Right: how often the sign test sees them. Hollow: ours.

# %%
own = [row for row in run.rows["win_rates"] if row["method"] == "rws" and row["measure"] == "net"]
lesson.draw_precision((ranked[0], ranked[-1]), own)

# %% [markdown]
# ## Conclusion
#
# Computed from the tables above:

# %%
verdict = {claim.id: claim.verdict for claim in checked}
printed = [claim for claim in checked if source(claim.where) == PAPER]
wrong = [claim for claim in printed if claim.verdict != "true"]
below = [n for n in sizes if n < 2 * sizes[0]] if sizes else []
whole = f"**{below[0]}**, the only one below {2 * below[0]}" if len(below) == 1 else f"{len(sizes)} up to 1,200"
parts = lesson.fifths()
distance, model = max((abs(row["win"] - np.mean(parts[row["model"]])), row["model"]) for row in table1)
god = {row["scale"]: row["god"] for row in printed_in("table8_temperature")["rows"]}[1.0]
default = printed_in("table12_frequency")["default"]["god"]

# %%
first = f"""
1. Numbers of prompts that all rows of Table 1 can come from: {whole}. (That shares of such counts round to what is
   printed also explains the rows that do not add up to 100.)
2. The columns of Table 5 and Table 1 are **{verdict["TAB-quintile-mean"]}** the fifths are uneven. The largest distance
   is {distance:.1f} points ({model}); even fifths of at least 250 prompts, and rounding, allow 1.1.
3. The row for scale 1 is the default's: **{verdict["TAB-temperature-one"]}**. It has GOD {god:.2f}, the default on the
   same task {default:.2f}.
"""

# %%
needed = [prompts_needed(row["win"] / 100, row["default_win"] / 100) for row in (ranked[0], ranked[-1])]
n, clear = run.prompts["test"], [row for row in own if row["low"] > 0 or row["high"] < 0]
Markdown(f"""{first}
4. To find the smallest printed difference ({ranked[0]["model"]}) with a probability of 80 %, the sign test
   needs {needed[0]} prompts, for the largest ({ranked[-1]["model"]}) {needed[1]}. With the {n} prompts of our study it
   would be found with a probability of {lesson.power_of(ranked[0], n):.2f} or {lesson.power_of(ranked[-1], n):.2f}.

Of {len(printed)} statements of the paper about its tables, **{len(wrong)}** are not true as they stand;
{len(checked) - len(printed)} remarks of our own are counted apart. In our study the interval of the
net win rate leaves zero outside for {len(clear)} of {len(own)} guides, in the guide's own judgement.
""")
