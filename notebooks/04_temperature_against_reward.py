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
from math import log

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import Markdown, display

from rws_decode import Shape, compare, compare_reach, final_reward, load_predictor, load_reward, plots, scale_path
from rws_decode.common.palette import LOOKS
from rws_theory import footrule_mean, generation_order_deviation, inverse_reward
from rws_theory.printed import printed_in

LOW, HIGH = 0.01, 32.0
SHAPE = Shape(length=32, steps=16, block=32)
GRID = [row["scale"] for row in printed_in("table8_temperature")["rows"]]
predictor, guide, other = load_predictor("mini"), load_reward("mini"), load_reward("mini-judge")

# %% [markdown]
# ## Two prompts
#
# Number 0 is the first of the prompts that ship with the model. Number 18 was **chosen** because its two axes differ
# most among the first 40: it shows what can happen, not how often. How often is counted over many prompts by
# `python -m paper_figures experiment reach --out out/runs`.

# %%
CHOSEN = 18
prompts = {number: predictor.examples[number]["prompt"] for number in (0, CHOSEN)}
paths = {
    number: [
        scale_path(predictor, prompt, LOW, HIGH, SHAPE, over=over, reward=guide)
        for over in ("temperature", "reward-scale")
    ]
    for number, prompt in prompts.items()
}
reach = {number: compare_reach(*both) for number, both in paths.items()}
for number, both in paths.items():
    print(f"prompt {number}: {prompts[number]}", *both, sep="\n  ")

# %% [markdown]
# A *piece* is an interval of scales with one answer and one commit order; different orders often write the same text,
# so that there are fewer answers than pieces. "Certified" means that every breakpoint is enclosed to a relative width
# of $10^{-12}$, and that between them nothing changes.
#
# ## The axis, cut into answers
#
# One lane per answer; where a bar stands, those scales give that answer. Dots and squares are the eight values of the
# paper's grid: an answer whose bar has no such mark is one that the grid misses.

# %%
for both in paths.values():
    display(plots.scale_path(both, GRID))

# %% [markdown]
# ## The answers themselves
#
# Rewards are normalised, in deviations of the reward model: by the guide, which RWS follows, and by another reward
# model that guided nothing. *Share of axis* is the part of $\ln 0.01 \ldots \ln 32$ that leads to the answer. *Rules
# broken* are those of the story language, checked exactly; that a story is cut off after 32 tokens breaks some too.

# %%
judged = {}
for number, both in paths.items():
    pieces = {piece.tokens: piece for path in both for piece in path.pieces}
    judged |= {answer: final_reward(predictor, other, prompts[number], answer).normalised for answer in pieces}
    rows = [
        {
            "share, temperature": output.temperature_width / log(HIGH / LOW),
            "share, RWS": output.reward_width / log(HIGH / LOW),
            "reward, guide": pieces[output.tokens].final_reward.normalised,
            "reward, other": judged[output.tokens],
            "rules broken": len(pieces[output.tokens].rules_broken),
            "text": output.text,
        }
        for output in reach[number].outputs
    ]
    table = pd.DataFrame(rows, index=range(1, len(rows) + 1)).rename_axis("answer")
    shares = dict.fromkeys(["share, temperature", "share, RWS"], "{:.1%}".format)
    display(
        Markdown(f"**Prompt {number}**: {prompts[number]}\n\n{table.to_html(formatters=shares, float_format='%.2f')}")
    )

# %% [markdown]
# ## How fine must a grid be?
#
# The answers that grids of 2 to 200 scales, even in the logarithm, find. The dotted lines are all that there are.
# A finer grid can find fewer, as its points lie elsewhere: that a grid finds nothing more is no proof that it found
# everything.


# %%
def answers_on(path, grid):
    """How many different answers of a path a grid of scales finds."""
    return len({path.at(float(scale)).tokens for scale in np.clip(grid, LOW, HIGH)})


sizes = np.unique(np.geomspace(2, 200, 90).astype(int))
figure, panels = plt.subplots(1, len(paths), figsize=(9, 3.3), layout="constrained")
needed = {}
for axes, (number, both) in zip(panels, paths.items(), strict=True):
    for path, look in zip(both, LOOKS, strict=False):
        hits = np.array([answers_on(path, np.geomspace(LOW, HIGH, size)) for size in sizes])
        every = len(path.answers)
        needed[number, path.over] = int(sizes[hits == every][0]) if (hits == every).any() else None
        axes.plot(sizes, hits, color=look.color, linestyle=look.dash, label=path.over)
        axes.axhline(every, color=look.color, linestyle=":")
        axes.plot(len(GRID), answers_on(path, GRID), look.marker, color="white", markeredgecolor=look.color, zorder=3)
    axes.set(xscale="log", xlabel="scales in the grid")
    axes.set_title(f"prompt {number}; hollow: the paper's grid", loc="left", fontsize=10)
    axes.set_xticks([2, 8, 32, 128], ["2", "8", "32", "128"])
    axes.set_yticks(range(1 + max(len(path.answers) for path in both)))
panels[0].set_ylabel("different answers found")
panels[0].legend(loc="lower right")
plt.show()

# %% [markdown]
# ## Reward and order along the axis
#
# What a larger scale buys: the reward of the answer, by the guide and by the other reward model, and how far the order
# of its commits is from left to right (generation order deviation, GOD, in steps; 0 is left to right). Dotted: scale 1,
# where a temperature is confidence decoding.

# %%
by_other = {"reward, other\n[deviations]": lambda piece: judged[piece.tokens]}
for number, both in paths.items():
    display(Markdown(f"Prompt {number}:"), plots.reward_against_scale(both, by_other, god=True, grid=GRID))

# %% [markdown]
# ## Drag the scale
#
# The whole axis of the chosen prompt: drag the scale, and the answer changes where it is proved to change, first as a
# temperature, then as the reward scale of RWS. On each page a colour is an answer; those that the paper's grid misses
# are hatched. (A page works by itself, also in this notebook saved as HTML. Jupyter shows it once you have run its cell
# or trusted the notebook; GitHub leaves it out.)

# %%
display(*(path.view(GRID) for path in paths[CHOSEN]))

# %% [markdown]
# What the path says of a scale is what a decode at that scale gives. At the scales of the grid:

# %%
strategies = {"temperature": "temperature", "reward-scale": "rws"}
said = {f"{strategies[path.over]}:{scale:g}": path.at(scale).tokens for path in paths[CHOSEN] for scale in GRID}
runs = compare(predictor, prompts[CHOSEN], list(said), SHAPE, reward=guide)
agreeing = sum(tuple(runs[name][0].tokens.tolist()) == tokens for name, tokens in said.items())
display(Markdown(f"{agreeing} of {len(said)} decodes give the answer that the path says. Two of them, in their order:"))
plots.order(runs["temperature:2"][0], runs["rws:2"][0])

# %% [markdown]
# ## Conclusion
#
# Computed from the paths above:


# %%
def mean_along(path, value):
    """Mean of a value over the axis, scales being even in the logarithm."""
    return np.average([value(piece) for piece in path.pieces], weights=[log(p.upper / p.lower) for p in path.pieces])


def by_guide(piece):
    """The reward of a piece's answer by the reward model that RWS follows."""
    return piece.final_reward.normalised


def first_change(both):
    """What the place of the first change says of the factor that RWS had there."""
    (first, *_), (same, *_) = (path.pieces for path in both)
    ends = [next((piece.lower for piece in path.pieces if piece.tokens != first.tokens), None) for path in both]
    if first.tokens != same.tokens or None in ends:
        return "The axes do not begin alike."
    c, s = ends
    start = f"Both axes begin with the same answer and leave it at $c$ = {c:.3g} and $s_R$ = {s:.3g}"
    if not 0 < c / s < 1:
        return f"{start}."
    return (
        f"{start}: RWS is there like a constant of {c / s:.2f} $s_R$, the factor that a reward of "
        f"{float(inverse_reward(c, s)):+.2f} deviations gives."
    )


def conclude(number):
    """Say what the two axes of a prompt gave."""
    both, reached = paths[number], reach[number]
    t_best, s_best = (max(path.pieces, key=by_guide) for path in both)
    if t_best.tokens == s_best.tokens:
        ahead = f"both axes reach it ({by_guide(t_best):.2f})"
    else:
        higher = "RWS" if by_guide(s_best) > by_guide(t_best) else "temperature"
        ahead = f"{higher} has it ({by_guide(t_best):.2f} for temperature, {by_guide(s_best):.2f} for RWS)"
    means = {"the guide": by_guide, "the other reward model": lambda piece: judged[piece.tokens]}
    along_axis = "; ".join(
        f"by {name} {round(mean_along(both[0], value), 2) + 0.0:+.2f} for temperature and "
        f"{round(mean_along(both[1], value), 2) + 0.0:+.2f} for RWS"
        for name, value in means.items()
    )
    fine = [
        f"{size} scales ({size * SHAPE.steps} forwards; the path took {path.forwards})" if size else "more than 200"
        for path in both
        for size in [needed[number, path.over]]
    ]
    missed = [len(path.answers) - answers_on(path, GRID) for path in both]
    proof = "**proved**" if all(path.certified for path in both) else "not all proved"
    return (
        f"- **Prompt {number}**: {len(reached.temperature)} answers over all temperatures, {len(reached.reward_scale)} "
        f"over all reward scales, {len(reached.shared)} of them shared; **{len(reached.only_temperature)}** that only "
        f"temperature reaches and **{len(reached.only_reward_scale)}** that only RWS reaches, {proof}.\n"
        f"  - The paper's grid misses {missed[0]} of the first and {missed[1]} of the second. The smallest even grid "
        f"tried that finds all has {fine[0]} for temperature and {fine[1]} for RWS.\n"
        f"  - The highest reward by the guide: {ahead}. Mean over the axis: {along_axis}.\n"
        f"  - {first_change(both)}"
    )


gods = [
    float(generation_order_deviation(piece.commit_step, "tokens"))
    for both in paths.values()
    for path in both
    for piece in path.pieces
]
Markdown(
    "\n".join(map(conclude, prompts))
    + f"\n- GOD over all scales is {min(gods):.2f} to {max(gods):.2f} tokens; a random order within the block has "
    f"{footrule_mean(SHAPE.length, SHAPE.block):.2f} on average.\n"
    "- These are two prompts of a small model, one of them chosen for its difference: what they show can happen; how "
    "often it does, or on a large model, they do not show."
)
