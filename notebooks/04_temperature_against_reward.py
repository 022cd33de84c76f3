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
# # Temperature against reward scaling, on the whole scale axis
#
# A temperature multiplies all logits by one constant $c$. Reward-weighted sampling (RWS) multiplies them by
# $s_R \sqrt{\sigma(r) + \epsilon}$, which follows the reward $r$ from step to step. The paper compares both at eight
# values of $c$ and $s_R$. But with greedy tokens, a decode can only change where two positions change places, and these
# places can be found: `scale_path` returns *every* output that *any* scale of an interval gives, with the exact
# intervals.
#
# **Question.** What does RWS reach that no temperature reaches, and is it better?
#
# **Prediction.** Write down your guesses before you go on, for one prompt, 32 tokens in 16 steps and every scale from
# 0.01 to 32:
#
# 1. How many different answers do all these temperatures give? A handful, dozens, hundreds?
# 2. How many of them does the paper's grid of eight values find?
# 3. Are there answers that only RWS reaches? Only temperature?
# 4. Which axis has the answer of the highest reward?

# %%
from IPython.display import Markdown, display

from paper_figures.extra.lessons import scale_axis
from rws_decode import Shape, compare, compare_reach, load_predictor, load_reward, plots, scale_path
from rws_theory import footrule_mean
from rws_theory.printed import printed_in

SHAPE = Shape(length=32, steps=16, block=32)
GRID = [row["scale"] for row in printed_in("table8_temperature")["rows"]]
predictor, guide, other = load_predictor("mini"), load_reward("mini"), load_reward("mini-judge")

# %% [markdown]
# ## The axis of two prompts, cut into answers
#
# Number 0 is the first of the prompts that ship with the model. Number 18 was **chosen** because no other of the first
# 40 has axes that differ more. It shows what can happen, not how often. How often is counted over many prompts by
# `rws experiment scale-path --out out/runs`.
#
# One lane per answer; where a bar stands, those scales give that answer. Dots and squares are the eight values of the
# paper's grid. An answer whose bar has no such mark is one that the grid misses.

# %%
CHOSEN, OVERS = 18, ("temperature", "reward-scale")
prompts = {number: predictor.examples[number]["prompt"] for number in (0, CHOSEN)}
paths = {
    number: [scale_path(predictor, prompt, 0.01, 32.0, SHAPE, over=over, reward=guide) for over in OVERS]
    for number, prompt in prompts.items()
}
for number, both in paths.items():
    display(Markdown(f"**Prompt {number}**: {prompts[number]}"), plots.scale_path(both, GRID))

# %% [markdown]
# A *piece* is an interval of scales with one answer and one commit order. Different orders often write the same text,
# so that there are fewer answers than pieces. "Proved" means that every breakpoint is enclosed to a relative width of
# $10^{-12}$, and that between them nothing changes.
#
# ## Drag the scale
#
# The whole axis of the chosen prompt. Drag the scale, and the answer changes where it is proved to change: first as a
# temperature, then as the reward scale of RWS. On each page a colour is an answer, numbered anew; those that the
# paper's grid misses are hatched. (A page works by itself, also in this notebook saved as HTML. Jupyter shows it once
# you have run its cell or trusted the notebook; GitHub leaves it out.)

# %%
display(*(path.view(GRID) for path in paths[CHOSEN]))

# %% [markdown]
# What the path says of a scale is what a decode at that scale gives. At the scales of the grid, with two decodes in
# their order:

# %%
names = {"temperature": "temperature", "reward-scale": "rws"}
said = {f"{names[path.over]}:{scale:g}": path.at(scale).tokens for path in paths[CHOSEN] for scale in GRID}
runs = compare(predictor, prompts[CHOSEN], list(said), SHAPE, reward=guide)
agree = sum(tuple(runs[name][0].tokens.tolist()) == tokens for name, tokens in said.items())
print(f"{agree} of {len(said)} decodes give the answer that the path says.")
plots.order(runs["temperature:2"][0], runs["rws:2"][0])

# %% [markdown]
# ## The answers themselves
#
# Rewards are normalised, in deviations of the reward model: by the guide, which RWS follows, and by another reward
# model that guided nothing. The shares under *temperature* and *RWS* are those of the axis from $\ln 0.01$ to
# $\ln 32$ that lead to the answer. *Rules broken* are those of the story language, checked exactly. That a story is
# cut off after 32 tokens breaks some too.

# %%
judged = scale_axis.answer_rewards(paths, prompts, predictor, other)
for number, both in paths.items():
    display(Markdown(f"**Prompt {number}**: {prompts[number]}\n\n{scale_axis.answers_table(both, judged)}"))

# %% [markdown]
# ## How fine must a grid be?
#
# The answers that grids of 2 to 200 scales, even in the logarithm, find. A finer grid can find fewer, as its points lie
# elsewhere. That a grid finds nothing more is no proof that it found everything.

# %%
search = scale_axis.grid_search(paths)
scale_axis.grid_picture(paths, search, GRID)

# %% [markdown]
# ## Reward and order along the axis
#
# What a larger scale buys: the reward of the answer, by the guide and by the other reward model, and how far the order
# of its commits is from left to right (generation order deviation, GOD, in steps; 0 is left to right).

# %%
by_other = {"reward, other\n[deviations]": lambda piece: judged[piece.tokens]}
for number, both in paths.items():
    display(Markdown(f"**Prompt {number}**"), plots.reward_against_scale(both, by_other, god=True, grid=GRID))

# %% [markdown]
# ## Conclusion
#
# Computed from the paths above:

# %%
lines = []
for number, both in paths.items():
    found, missed = compare_reach(*both), [len(path.answers) - scale_axis.answers_on(path, GRID) for path in both]
    lines.append(f"""
- **Prompt {number}**: {len(found.temperature)} answers over all temperatures, {len(found.reward_scale)} over all reward
  scales, {len(found.shared)} of them shared; **{len(found.only_temperature)}** that only temperature reaches and
  **{len(found.only_reward_scale)}** that only RWS reaches,
  {"**proved**" if all(path.certified for path in both) else "not all proved"}. The paper's grid misses {missed[0]} of
  the first and {missed[1]} of the second.""")
gods = [piece.god_steps for both in paths.values() for path in both for piece in path.pieces]
random = footrule_mean(32, 32, per_step=2, reading="steps")

# %%
Markdown(f"""{"".join(lines)}
- GOD over all scales is {min(gods):.2f} to {max(gods):.2f} steps; a random order within the block has {random:.2f} on
  average.
- These are two prompts of a small model, one of them chosen for its difference. What they show can happen. How often
  it does, or on a large model, they do not show.
""")
