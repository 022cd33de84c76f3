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
# **For a reader of language.** An antibody is a protein of the immune system. Its *heavy chain* is a string of some 120
# letters. A letter is a *residue*, one of 20 amino acids. So a chain is a sentence of 120 tokens over a vocabulary of
# 20. Most of it is nearly the same in every antibody, like the fixed phrases of a form letter. Three stretches differ
# from chain to chain, like the names and dates in it: there the antibody grips its target. Chains of mice and of humans
# are two dialects of one language. A medicine from a mouse's antibody must be rewritten into the human dialect.
#
# AntiBERTy is a published masked language model of such chains, with 26 million weights. One head of it reads the
# species. The log-odds that it reads a human are the reward `human`.
#
# **Question.** Half of a mouse's chain is masked, and a human one is asked for. Does the reward change what is written?
#
# **You will learn** to read decodes of a real network from their files, and to tell what a reward could have changed.
#
# **Prediction.** Write down your answers before you go on.
#
# 1. How many of the 64 masked residues does confidence decoding write as the mouse had them?
# 2. Reward-weighted sampling (RWS) reads the reward at every step. Does it write another chain than a fixed factor?
# 3. Sixteen answers are sampled, and the one of most reward is kept. How much nearer to a human is it?
# 4. How many different answers do all fixed factors from 0.1 to 10 give?
#
# The answers ship with the package, so the network is not needed here. `make real` installs it, and
# `antibody.record(Path("out"))` decodes them again.

# %%
import pandas as pd
from IPython.display import Markdown, display

from paper_figures.data.prompt_sources import fill_gaps
from paper_figures.extra.notebook_plots import antibody
from rws_decode import plots

runs = antibody.runs()
factors, scales = antibody.path("temperature"), antibody.path("reward-scale")
text, mouse = antibody.asked()

# %% [markdown]
# ## Move through the decodes
#
# Confidence decoding beside RWS at s_R = 8. Four residues are committed a step. In the prompt `_` is a masked residue.

# %%
runs["default"].view(runs["rws:8"])

# %% [markdown]
# The order of both. A residue's place in the picture is its place among the 64:

# %%
plots.order(runs["default"], runs["rws:8"])

# %% [markdown]
# ## What was written
#
# The mouse's chain, the masked one, and what each method wrote. A dot is the mouse's residue.

# %%
asked = fill_gaps(text, "_" * 64)
print(f"{'mouse':14}{fill_gaps(text, mouse)}\n{'masked':14}{asked}")
written = {name: trace.words(trace.tokens) for name, trace in runs.items()}
for name, residues in written.items():
    new = iter("." if residue == old else residue for residue, old in zip(residues, mouse, strict=True))
    print(f"{name:14}{''.join(next(new) if letter == '_' else ' ' for letter in asked)}")

# %% [markdown]
# ## What judges say
#
# `humanness` judges without a network: the share of the chain's stretches of nine residues that a tenth of human
# subjects have. Its median over the 472 mouse chains that ship is 0.52. Three antibodies of humans have 0.78 to 0.81.

# %%
table = pd.read_json(antibody.FOLDER / "judges.json", orient="index")
same = {name: sum(map(str.__eq__, residues, mouse)) for name, residues in written.items()}
table["as in the mouse"] = [same.get(name, 64) for name in table.index]
table.round(2)

# %% [markdown]
# ## Every fixed factor
#
# A greedy decode with a fixed factor has finitely many outcomes. They were followed over the whole range, with proof of
# where they change. Drag the factor, then the reward scale of RWS:

# %%
display(factors.view(), scales.view())

# %% [markdown]
# So what a fixed factor writes is known without a decode. Does RWS write what its mean factor writes?

# %%
alike = {}
for name in ("rws:4", "rws:8"):
    factor, piece = runs[name].factor, factors.at(float(runs[name].factor.mean()))
    alike[name] = piece.tokens == tuple(runs[name].tokens.tolist())
    print(f"{name}: factors {factor.min():.2f} to {factor.max():.2f}; as their mean: {alike[name]}")

# %% [markdown]
# ## Exercise
#
# A fixed factor of 4 is a temperature of 1/4. Which of the chains above does it share with RWS, and why?
#
# <details><summary>Solution</summary>
#
# <pre>print([name for name in runs if written[name] == written["temperature:4"]])
# print(factors.at(4.0).lower, factors.at(4.0).upper)</pre>
#
# If all factors of RWS lie within one piece of the path, RWS writes the chain of that piece.
#
# </details>

# %% [markdown]
# ## Findings
#
# Computed from the cells above:

# %%
human = table["log-odds of human"]
moved = {name: human[name] - human["default"] for name in runs}
reads = runs["rws:8"].reward_raw
answers = [len(each.answers) for each in (factors, scales)]
highest = max(piece.final_reward.raw for each in (factors, scales) for piece in each.pieces)

# %%
first = f"""
1. Confidence decoding writes **{same["default"]} of 64** residues as the mouse had them: the other half tells nearly
   all.
2. RWS at s_R = 8 moves the log-odds of human by **{moved["rws:8"]:+.2f}**, and s_R = 4 by {moved["rws:4"]:+.2f}. At
   **{sum(alike.values())} of {len(alike)}** reward scales RWS writes what its mean factor writes, which reads no
   reward. Its factors hardly move: all completions that it read have log-odds between {reads.min():.1f} and
   {reads.max():.1f}.
"""

# %%
Markdown(f"""{first}
3. The best of 16 samples moves them by **{moved["best-of:16"]:+.2f}**, to {human["best-of:16"]:.2f}. The mouse's own
   chain has {human["mouse"]:.2f}; at 0 human is as likely as all other species together. **{(human > 0).sum()}** of
   these chains are read as human.
4. All fixed factors from 0.1 to 10 give **{answers[0]}** answers, and all reward scales **{answers[1]}**. The most
   human of them has {highest:.2f}. A factor chooses *where* a greedy step writes, not what.

This is one chain, fixed before it was decoded: the first prompt of the studies of antibodies. The reward is no judge:
it comes from the network that writes.
""")
