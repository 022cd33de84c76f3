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
# # A real network: antibodies
#
# AntiBERTy is a published masked language model of antibodies: 26 million weights, trained on 558 million natural
# sequences. A heavy chain is a text of some 120 residues, each one of 20 letters. One head of the network reads the
# species of a sequence. The log-odds that it reads a human are the reward `human`.
#
# **Question.** Half of a mouse's chain is masked, and a human one is asked for. Does the reward change what is written?
#
# **Prediction.** Write down your answers before you go on.
#
# 1. How many of the 64 masked residues does the default write as the mouse had them?
# 2. Reward-weighted sampling (RWS) reads the reward at every step. Does it write another chain than the default?
#    Than a constant factor of its size?
# 3. Sixteen answers are drawn, in random orders, and the one of most reward is kept. How much nearer to a human is it?
# 4. How many different answers do all constant factors from 0.1 to 10 give?
#
# The answers ship with the package, so the network is not needed here. `make real` installs it, and
# `lesson.record(Path("out"))` decodes them again.

# %%
from IPython.display import Markdown, display

from paper_figures.extra.lessons import antibody as lesson
from rws_decode import plots

runs = lesson.runs()
constants, scales = lesson.path("temperature"), lesson.path("reward-scale")

# %% [markdown]
# ## Scrub the decodes
#
# The default beside RWS at s_R = 8. Four residues are committed a step.

# %%
runs["default"].view(runs["rws:8"])

# %% [markdown]
# A temperature, all logits times 4, beside the best of 16 draws:

# %%
runs["temperature:4"].view(runs["best-of:16"])

# %% [markdown]
# The order of both. A residue's place in the picture is its place among the 64:

# %%
plots.order(runs["default"], runs["rws:8"])

# %% [markdown]
# ## What was written
#
# A dot is the mouse's residue.

# %%
print(lesson.aligned(runs))

# %% [markdown]
# `humanness` judges without a network: the share of the chain's peptides of nine residues that a tenth of human
# subjects have. Its median over the 472 mouse chains that ship is 0.52. Three antibodies of humans have 0.78 to 0.81.

# %%
table = lesson.judged(runs)
table.round(2)

# %% [markdown]
# ## What is exact
#
# A decode with a constant factor has finitely many outcomes. They were followed over the whole range, with proof of
# where they change. Drag the factor, then the reward scale of RWS:

# %%
display(constants.view(), scales.view())

# %% [markdown]
# So what a constant writes is known without a decode. Does RWS write what the constant of its mean factor writes?

# %%
alike = {}
for name in ("rws:4", "rws:8"):
    factor, piece = runs[name].factor, constants.at(float(runs[name].factor.mean()))
    alike[name] = piece.tokens == tuple(runs[name].tokens.tolist())
    print(f"{name}: factors {factor.min():.2f} to {factor.max():.2f}; as their mean: {alike[name]}")

# %% [markdown]
# ## Findings
#
# Computed from the cells above:

# %%
human, as_mouse = table["log-odds of human"], table["as in the mouse"]
moved = {name: human[name] - human["default"] for name in runs}
reads = runs["rws:8"].reward_raw
answers = [len(each.answers) for each in (constants, scales)]
highest = max(piece.final_reward.raw for each in (constants, scales) for piece in each.pieces)

# %%
first = f"""
1. The default writes **{as_mouse["default"]} of 64** residues as the mouse had them: the other half tells nearly all.
2. RWS at s_R = 8 moves the log-odds of human by **{moved["rws:8"]:+.2f}**, and s_R = 4 by {moved["rws:4"]:+.2f}. At
   **{sum(alike.values())} of {len(alike)}** scales RWS writes what the constant of its mean factor writes, which reads
   no reward. Its factors hardly move: all completions that it read have log-odds between {reads.min():.1f} and
   {reads.max():.1f}.
"""

# %%
Markdown(f"""{first}
3. The best of 16 draws moves them by **{moved["best-of:16"]:+.2f}**, to {human["best-of:16"]:.2f}. The mouse's own
   chain has {human["mouse"]:.2f}; at 0 human is as likely as all other species together. **{(human > 0).sum()}** of
   these chains are read as human.
4. All constant factors from 0.1 to 10 give **{answers[0]}** answers, and all reward scales **{answers[1]}**. The most
   human of them has {highest:.2f}. A factor chooses *where* a greedy step writes, not what.

This is one chain, fixed before it was decoded: the first prompt of the studies of antibodies. The reward is no judge:
it comes from the network that writes.
""")
