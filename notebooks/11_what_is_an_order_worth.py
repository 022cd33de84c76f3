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
# # What is an order worth?
#
# A sampler chooses positions and samples their words. So each text has a probability under it, q. It can be
# computed: reveal the text along the sampler's own path, and sum the log-probabilities of its words at their commit.
# In an exact model its joint distribution p is known too, and KL(p || q) says how far the sampler is from it.
#
# **Question.** How much does the sampling distribution q depend on the order?
#
# **You will learn** to measure how far a sampler is from its model, and which commits make the distance.
#
# **Prediction.** Write down your answers before you go on.
#
# 1. The model is exact, and one word a step is sampled. How far from p is confidence order, and how far is left to
#    right?
# 2. Two words a step: is confidence order nearer to p than a random order, or further?
# 3. Let the words of a step be at least three positions apart (spacing 3). How much of the divergence is left: nearly
#    all, half, a fifth?
# 4. Reward-weighted sampling (RWS) reads a reward at every step. Is its q nearer to p than that of a fixed factor?

# %%
import numpy as np
import pandas as pd
from IPython.display import Markdown

from paper_figures.extra.notebook_plots import order_worth
from paper_figures.statistics.sampler_divergence import sampler_divergence
from rws_decode import Shape, load_predictor

ORDERS = ("default", "left-to-right", "default+spacing:3")

# %% [markdown]
# ## Eight words, and every text
#
# The chain repeats its last word with probability 0.8. Else it samples a new one, a with probability 0.7 or b with 0.3.
# It has 256 texts, so `strategy_log_prob` can be asked for all of them. Drag the number of words a step. Then drag the
# distance, and see what it takes away.

# %%
order_worth.drag()

# %% [markdown]
# Words of one step are sampled without looking at each other. Where they depend on each other, that is an error. The
# surest positions stand beside known words, so confidence order commits neighbours, here nearly from left to right.
# A chain forgets with distance, and so do two words at a distance.
#
# The same for all texts by `strategy_log_prob`: the sum of q, and KL(p || q) in nats.

# %%
found = {words: order_worth.laws(0.8, words, ORDERS) for words in (1, 2)}
rows = {(f"{words} a step", name): law for words, laws in found.items() for name, law in laws.items()}
pd.DataFrame.from_dict(rows, orient="index", columns=["sum of q", "KL(p || q)"]).round(3).abs()

# %% [markdown]
# ## Real sentences
#
# `english` is an exact model of real sentences, with too many texts to list. `sampler_divergence` draws some from p,
# and some from q. Here are twelve words after five openings.

# %%
english, drawn = load_predictor("english"), {}
for words in (1, 2):
    for name in ORDERS[::2]:
        ask = english.prompts[:5], name, Shape(12, 12 // words, 12)
        drawn[words, name] = sampler_divergence(english, *ask, draws=2, rng=np.random.default_rng(0))
print(*(f"{words} a step, {name}: {each}" for (words, name), each in drawn.items()), sep="\n")

# %% [markdown]
# ## The recorded study
#
# Ten texts show the direction and no more. The package ships a study of 400 beginnings of speeches in `english`, with
# texts of 16 words. It has KL(q || p), whose texts are samples of it. Bars are 95 % intervals over speeches. With one
# word a step all of these are 0, by a theorem (`docs/theory.md`, section 21).

# %%
recorded = order_worth.recorded_kl()
order_worth.draw_recorded(recorded)

# %% [markdown]
# `temperature:5.6` multiplies all logits by 5.6, about the mean factor of `rws:8`, and reads no reward.

# %% [markdown]
# ## Exercise
#
# Two words a step, in the chain of eight words: is a spacing of 2 further from p than a spacing of 3, or nearer?
#
# <details><summary>Solution</summary>
#
# ```python
# order_worth.laws(0.8, 2, ("default+spacing:2", "default+spacing:3"))
# ```
#
# Nearer: 0.13 nats against 0.16. With eight positions a spacing of 3 soon finds no free place and must give way.
#
# </details>

# %% [markdown]
# ## Findings
#
# Computed from the cells above:

# %%
most = max(abs(kl) for _, kl in found[1].values())
by_two = {name: each[2].mean for name, each in recorded.items()}
ratio = by_two["default"] / by_two["random-order"]
left = {words: recorded["default+spacing:3"][words].mean / recorded["default"][words].mean for words in (2, 4)}
rws = {words: order_worth.difference("rws:8", "temperature:5.6", words) for words in (2, 4)}
said = [f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]" for (mean, low, high), _ in rws.values()]

# %%
findings = f"""
1. One word a step: **{"0" if most < 1e-9 else "not 0"}** in every order, over all 256 texts. No order can gain there.
2. Two words a step: confidence order is **{ratio:.1f} times** as far from p as random order in `english`
   ({by_two["default"]:.2f} against {by_two["random-order"]:.2f} nats).
3. Three or more apart, **{left[2]:.0%}** of its divergence is left with two words a step, and {left[4]:.0%} with four.
   It is then {"nearer" if by_two["default+spacing:3"] < by_two["random-order"] else "no nearer"} than random order.
   Random order apart is nearest, {by_two["random-order+spacing:3"]:.2f} nats.
"""

# %%
Markdown(f"""{findings}
4. RWS minus its fixed factor: {said[0]} nats with two words a step, {said[1]} with four. The intervals
   **{"hold" if all(each.low < 0 < each.high for each, _ in rws.values()) else "leave out"}** 0. True differences of
   {rws[2][1]:.1f} and {rws[4][1]:.1f} nats would have been found with probability 0.8.

So an order is worth nothing with one sampled word a step, and much with several: what counts is which words are sampled
together. Greedy decoders write one text, as in notebooks 3 and 10. Both models are
n-gram models, where dependence decays with distance. In a learned model distance may matter less.
""")
