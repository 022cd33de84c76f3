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
# # The paper's tables: two contradictions, and the power to see a difference
#
# The paper says that reward-weighted sampling (RWS) wins 55.8 % to 60.9 % of prompts against confidence decoding, its
# *default*, in the judgement of the reward model that guided it.
#
# **Question.** Which printed numbers contradict each other, and what can a study of *N* prompts conclude?
#
# **You will learn** to hold printed tables against each other, and to ask how many prompts a claim needs.
#
# **Prediction.** Before you go on:
#
# 1. Table 5 splits the prompts of Table 1 into fifths. Do its columns average to Table 1?
# 2. A temperature of 1 changes nothing. Does its row in Table 8 equal confidence decoding?
# 3. The paper does not say how many prompts Table 1 is made of. Can the printed percentages tell?
# 4. How many prompts does it take to see a win rate of the printed size: 10, 100, 1,000?

# %%
import numpy as np
import pandas as pd
from IPython.display import Markdown, display

from paper_figures.extra.notebook_plots import printed_tables
from paper_figures.statistics.sample_size import possible_sizes, prompts_needed
from paper_figures.table import to_markdown
from rws_decode.common.palette import BLUE, GREY, VERMILION
from rws_decode.view.plots.sheet import panels_of
from rws_theory.claims import CHECKS, PAPER, claims, source
from rws_theory.printed import printed_in

table1, table5, table8 = (
    printed_in(name)["rows"] for name in ("table1_win_rate", "table5_god_quintiles", "table8_temperature")
)
fifths = {row["model"]: [part[row["model"]] for part in table5] for row in table1}
default = printed_in("table12_frequency")["default"]["god"]

# %% [markdown]
# ## Two contradictions
#
# Left: the win rate of Table 1 beside the mean of the five fifths of Table 5 (the line is their range). Right: the
# generation order deviation (GOD, 0 is left to right) of Table 8. The row for factor 1 should have the GOD of
# confidence decoding on the same task, which Table 12 prints.

# %%
figure, (left, right) = panels_of(None, 1, 2, (10.0, 3.8))
for place, row in enumerate(table1):
    parts = fifths[row["model"]]
    left.plot([min(parts), max(parts)], [place, place], color=GREY)
    left.plot(np.mean(parts), place, "D", color=BLUE, label="Table 5, mean of fifths" if place == 0 else None)
    left.plot(row["win"], place, "s", color=VERMILION, label="Table 1" if place == 0 else None)

# %%
left.set(yticks=range(len(table1)), yticklabels=list(fifths), xlabel="win rate of RWS [% of prompts]")
right.semilogx([row["scale"] for row in table8], [row["god"] for row in table8], "o-", label="fixed factor, Table 8")
right.axhline(default, color="black", linestyle=":", label="default, Table 12")
right.set(xlabel="factor $c$; factor 1 is the default", ylabel="GOD, as printed", ylim=0)
left.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
right.legend()
right.xaxis.set_major_formatter("{x:g}")
display(figure)

# %% [markdown]
# ## The printed numbers, as data
#
# Every number that the paper prints in a table is kept once, with its place, in `rws_theory/printed`.

# %%
pd.DataFrame(table1).set_index("model")

# %% [markdown]
# Win, draw and loss are counts of prompts, divided by one number and rounded. So not every number of prompts can give
# them.

# %%
sizes = possible_sizes([(row["win"], row["draw"], row["default_win"]) for row in table1], 1200)
print(f"Numbers of prompts up to 1,200 from which all {len(table1)} rows can come:", *sizes)

# %% [markdown]
# ## What contradicts what
#
# The claim check (`rws claims`) compares the printed tables with each other and with the text, in exact decimals. A
# printed number stands for all numbers that round to it.

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
printed_tables.power_page(ranked)

# %% [markdown]
# The page of `rws figures` has a study of ours beside each printed table. `rws experiment reward-bench --out FOLDER`
# measures another.
#
# ## Exercise
#
# A method of yours wins 60 % of 100 prompts and loses 30 %. What is the interval of its net win rate, and how many
# prompts would find such a difference with a probability of 80 %?
#
# <details><summary>Solution</summary>
#
# <pre>print(printed_tables.net_interval(60.0, 30.0, 100))
# print(prompts_needed(0.60, 0.30))</pre>
#
# </details>
#
# ## Conclusion
#
# Computed from the tables above:

# %%
verdict = {claim.id: claim.verdict for claim in checked}
printed = [claim for claim in checked if source(claim.where) == PAPER]
wrong = [claim for claim in printed if claim.verdict != "true"]
below = [n for n in sizes if n < 2 * sizes[0]] if sizes else []
whole = f"**{below[0]}**, the only one below {2 * below[0]}" if len(below) == 1 else f"{len(sizes)} up to 1,200"
distance, model = max((abs(row["win"] - np.mean(fifths[row["model"]])), row["model"]) for row in table1)
god = {row["scale"]: row["god"] for row in table8}[1.0]
needed = [prompts_needed(row["win"] / 100, row["default_win"] / 100) for row in (ranked[0], ranked[-1])]

# %%
Markdown(f"""
1. The columns of Table 5 and Table 1 are **{verdict["TAB-quintile-mean"]}** the fifths are uneven. The largest distance
   is {distance:.1f} points ({model}); even fifths of at least 250 prompts, and rounding, allow 1.1.
2. The row for factor 1 is the default's: **{verdict["TAB-temperature-one"]}**. It has GOD {god:.2f}, the default on the
   same task {default:.2f}.
3. Numbers of prompts that all rows of Table 1 can come from: {whole}. (That shares of such counts round to what is
   printed also explains the rows that do not add up to 100.)
4. To find the smallest printed difference ({ranked[0]["model"]}) with a probability of 80 %, the sign test
   needs {needed[0]} prompts, for the largest ({ranked[-1]["model"]}) {needed[1]}.

Of {len(printed)} statements of the paper about its tables, **{len(wrong)}** are not true as they stand;
{len(checked) - len(printed)} remarks of our own are counted apart.
""")
