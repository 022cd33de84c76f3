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
# # One decode, step by step
#
# **Question.** Reward-weighted sampling (RWS) multiplies all logits of a step by one factor that depends on the reward
# of the greedily completed answer. What does that factor change in one step: *what* is written, or *where*?
#
# **You will learn** to follow one decode step by step, and to say which positions changed places, and why.
#
# **Prediction.** A positive factor keeps every position's best token. So at the first step where RWS and confidence
# decoding diverge, their candidate texts are the same and only the committed positions differ. And since the reward
# acts through the factor alone, replaying the recorded factors without any reward gives exactly the same answer. Do you
# agree? And which of the two answers will be the better one?

# %%
import textwrap

import numpy as np
from IPython.display import Markdown, display

from rws_decode import Shape, compare, diff, load_predictor, load_reward, plots, replay, replay_with, step_logits
from rws_theory import factor_range, selection_path

predictor, reward = load_predictor("mini"), load_reward("mini")

# %% [markdown]
# ## Two decodes of one prompt
#
# 64 tokens in 32 steps, two tokens a step, blocks of 32: once by confidence (factor 1), once by RWS with $s_R = 8$.
#
# Scrub both in lock-step. Move the slider, or press an arrow key. See what each run has written, what it would write
# next, and why the runs diverge. (The page works by itself, also in this notebook saved as HTML. Jupyter shows it once
# you have run its cell or trusted the notebook; GitHub leaves it out.)

# %%
prompt = predictor.examples[3]["prompt"]
runs = compare(predictor, prompt, ["default", "rws:8"], Shape(length=64, steps=32, block=32), reward=reward)
(default,), (rws,) = runs["default"], runs["rws:8"]
default.view(rws, predictor)

# %% [markdown]
# ## The step from inside
#
# Where do the two first choose different positions?

# %%
apart = np.flatnonzero((rws.chosen != default.chosen).any(axis=1))
step = int(apart[0])
print(f"The chosen positions differ at {len(apart)} of {rws.steps} steps (from 0):", *apart)

# %% [markdown]
# The canvas before that step, and the greedy completion that the reward model reads. Its reward is normalised with the
# reward model's mean $\mu_R$ and standard deviation (SD) $\sigma_R$, to $r$. Then the factor is $s_R \sqrt{\sigma(r) +
# \epsilon}$.

# %%
low, high = factor_range(8.0)
completion = rws.words(rws.candidate[step])
canvas = np.where(rws.masked[step], "____", completion)
print(textwrap.fill(f"canvas: {' '.join(canvas)}", 90), "\n")
print(textwrap.fill(f"completion: {' '.join(completion)}", 90))
Markdown(f"""
raw reward {rws.reward_raw[step]:.3f}, normalised {rws.reward_normalised[step]:.3f} (mean {reward.mean:.3f}, deviation
{reward.std:.3f}), factor **{rws.factor[step]:.3f}** of a possible {low:.3f} to {high:.3f}; ties at the cut:
{rws.ties[step]}.
""")

# %% [markdown]
# ## What the positions are ranked by
#
# The log-odds of each masked position's best token: at factor 1 (confidence decoding saw the same canvas), and at the
# factor of RWS. The two highest are committed.

# %%
display(plots.step(default, step), plots.step(rws, step))

# %% [markdown]
# ## Which pair changed places, and at which factor
#
# Both runs saw the same canvas at that step, so its logits are computed again. It is proved where the confidence curves
# of two positions cross between the two factors. That is why they changed places.

# %%
difference = diff(default, rws, predictor)
steps = [step_logits(rws, predictor, at) for at in range(rws.steps)]
pair = difference.parting.reversals[0]
plots.confidence_curves(steps[step], [pair.earlier, pair.later])

# %%
print(difference)

# %% [markdown]
# ## What any other factor would commit
#
# The same canvas, at every factor that its reward can lead to. The words do not change, their places do.

# %%
paths = [selection_path(each.logits, int(each.chosen.sum()), low, high) for each in steps]
plots.selection(paths[step], steps[step].words, steps[step].positions)

# %% [markdown]
# Drag the factor through that range: the curves of all positions, the ranking that they make, and the proved set that
# is committed. The lines are the breakpoints of the picture above.

# %%
steps[step].view(scale_min=low, scale_max=high)

# %% [markdown]
# At how many steps can the factor change anything? (`steps[5].view(scale_min=low, scale_max=high)` shows another one.)
# So many sets of positions are committed at some factor of the range, at each step:

# %%
print(*(len(path.pieces) for path in paths))

# %% [markdown]
# ## All steps at once
#
# Each row is a step, each column a position. Colour is the log-odds of masked positions of the current block, scaled to
# each step's own range, so that steps of different factors can be compared. Marks are what is committed.
#
# Generation order deviation (GOD) says how far the order is from left to right, which has 0. In tokens, it is the mean
# distance, over the positions, from a position to its rank in the order. In steps, it is the mean distance from a
# position's step to the step that would commit it from left to right.

# %%
plots.order(default, rws, values=True)

# %% [markdown]
# ## The two answers, and the replay

# %%
again, selected = replay_with(rws, predictor), replay(rws)
display(runs, again)

# %% [markdown]
# ## Exercise
#
# At which step can the factor commit the most different sets of positions?
#
# <details><summary>Solution</summary>
#
# <pre>sets = [len(path.pieces) for path in paths]
# print(max(sets), "sets at step", sets.index(max(sets)))</pre>
#
# </details>

# %% [markdown]
# ## Conclusion
#
# What is written differs after the runs diverge, as the other positions see other tokens. Where every factor
# commits the same positions, as at the last step of a block, which takes what is left, the reward could change nothing.
# This is one prompt: which of the two is better as a rule it cannot say. Computed from the traces above:

# %%
kept = np.array_equal(rws.candidate[step], default.candidate[step])
same = np.array_equal(again.tokens, rws.tokens) and np.array_equal(again.commit_step, rws.commit_step)
agrees = "agrees at every step" if selected.diverged_at is None else f"diverges at step {selected.diverged_at}"
fixed = sum(len(path.pieces) == 1 for path in paths)
proof = "proved" if all(path.certified for path in paths) else "not proved"
differ = (rws.tokens != default.tokens).sum()

# %%
Markdown(f"""
- At step {step} the committed positions are different and the candidate texts are
  **{"the same" if kept else "different"}**. What the factor changes in one step is
  {"**where**, not what" if kept else "more than where"}.
- Replaying the recorded factors without a reward gives **{"the same" if same else "other"}** tokens and order;
  selecting again from the recorded values {agrees}.
- The factor stayed between {rws.factor.min():.2f} and {rws.factor.max():.2f}. At {fixed} of {rws.steps} steps every
  factor of its range commits the same positions ({proof}); at {rws.changed.sum()} its factor changed them. The answers
  differ at {differ} of {rws.length} positions.
- GOD is {rws.god_tokens:.2f} tokens against {default.god_tokens:.2f}; rules broken: {len(rws.rules_broken or ())}
  against {len(default.rules_broken or ())}.
""")
