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
# **Prediction.** A positive factor keeps every position's best token, so at the first step where RWS and confidence
# decoding part, their candidate texts are the same and only the committed positions differ. And since the reward acts
# through the factor alone, replaying the recorded factors without any reward gives exactly the same answer. Do you
# agree? And which of the two answers will be the better one?

# %%
import textwrap

import numpy as np
from IPython.display import Markdown, display

from rws_decode import Shape, compare, diff, load_predictor, load_reward, plots, replay, replay_with, step_logits
from rws_theory import factor_range, footrule_mean, selection_path

predictor, reward = load_predictor("mini"), load_reward("mini")
prompt = predictor.examples[3]["prompt"]
print(prompt)

# %% [markdown]
# ## Two decodes of one prompt
#
# 64 tokens in 32 steps, two tokens a step, blocks of 32: once by confidence (factor 1), once by RWS with $s_R = 8$.

# %%
runs = compare(predictor, prompt, ["default", "rws:8"], Shape(length=64, steps=32, block=32), reward=reward)
(default,), (rws,) = runs["default"], runs["rws:8"]
parted = np.flatnonzero((rws.chosen != default.chosen).any(axis=1))
step = int(parted[0]) if parted.size else 0
Markdown(
    f"The chosen positions differ at {parted.size} of {rws.steps} steps"
    + (f", first at step {step} (from 0): this is the step to look at." if parted.size else f": look at step {step}.")
)

# %% [markdown]
# Scrub both in lock-step: move the slider, or press an arrow key, and see what each run has written, what it would
# write next, and why the runs part. (The page works by itself, also in this notebook saved as HTML. Jupyter shows it
# once you have run its cell or trusted the notebook; GitHub leaves it out.)

# %%
default.view(rws, predictor)

# %% [markdown]
# ## The step from inside
#
# The canvas before the step, the greedy completion that the reward model reads, and what comes of its reward
# (raw, then normalised with the reward model's mean $\mu_R$ and deviation $\sigma_R$, then the factor
# $s_R \sqrt{\sigma(r) + \epsilon}$).

# %%
candidates = rws.words(rws.candidate[step])
canvas = " ".join(np.where(rws.masked[step], "____", candidates))
print(textwrap.fill(f"canvas: {canvas}", 110), textwrap.fill(f"completion: {' '.join(candidates)}", 110), sep="\n\n")
low, high = factor_range(8.0)
Markdown(
    f"raw reward {rws.reward_raw[step]:.3f}, normalised {rws.reward_normalised[step]:.3f} "
    f"(mean {reward.mean:.3f}, deviation {reward.std:.3f}), factor **{rws.factor[step]:.3f}** "
    f"of a possible {low:.3f} to {high:.3f}; ties at the cut: {rws.ties[step]}."
)

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
# Both runs saw the same canvas at that step. Its logits are computed again; where the confidence curves of two
# positions cross between the two factors, that is proved, and it is why they changed places.

# %%
difference = diff(default, rws, predictor)
print(difference)
steps = [step_logits(rws, predictor, at) for at in range(rws.steps)]
pair = difference.parting.reversals[0]
plots.confidence_curves(steps[step], [pair.earlier, pair.later])

# %% [markdown]
# ## What any other factor would commit
#
# On the canvas that RWS had at that step: the positions that are committed at every factor that its reward can lead to.
# The words do not change, their places do.

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

# %%
never = [at for at, path in enumerate(paths) if len(path.pieces) == 1]
most = max(range(rws.steps), key=lambda at: len(paths[at].pieces))
Markdown(
    f"At {rws.steps - len(never)} of {rws.steps}: there factors between {low:.3f} and {high:.3f} commit several sets "
    f"of positions, up to {len(paths[most].pieces)} at step {most}. At the others every factor commits the same: steps "
    f"{', '.join(map(str, never)) or 'none'}."
)

# %% [markdown]
# ## All steps at once
#
# Each row is a step, each column a position; colour is the log-odds of masked positions of the current block, scaled to
# each step's own range so that steps of different factors can be compared. Marks are what is committed. Generation
# order deviation (GOD) says how far the order is from left to right, which has 0: the mean distance, over the
# positions, from a position to its rank in the order (in tokens), or from its step to the step that would commit it
# from left to right (in steps).

# %%
plots.order(default, rws, values=True)

# %% [markdown]
# ## The two answers, and the replay

# %%
again, selected = replay_with(rws, predictor), replay(rws)
display(runs)
display(again)

# %% [markdown]
# ## Conclusion
#
# Computed from the traces above:

# %%
same_candidates = np.array_equal(rws.candidate[step], default.candidate[step])
same_tokens = np.array_equal(again.tokens, rws.tokens)
same_order = np.array_equal(again.commit_step, rws.commit_step)
proved = all(path.certified for path in paths)
if parted.size:
    first_half = (
        f"At step {step} the committed positions are different and the candidate texts are "
        f"**{'the same' if same_candidates else 'different'}**: the first half of the prediction "
        f"{'holds' if same_candidates else 'fails'} here."
    )
else:
    first_half = "The two runs never part: the first half of the prediction is not tested here."
where = "**where**, not what" if same_candidates else "more than where"
Markdown(
    f"- {first_half} What the factor changes in one step is {where}; what is written differs later, as the other "
    "positions see other words.\n"
    f"- Replaying the recorded factors without a reward gives **{'the same' if same_tokens else 'other'}** tokens in "
    f"{'the same' if same_order else 'another'} order; selecting again from the recorded values "
    f"{'agrees at every step' if selected.parted_at is None else f'parts at step {selected.parted_at}'}.\n"
    f"- The factor stayed between {rws.factor.min():.2f} and {rws.factor.max():.2f}. The answers differ at "
    f"{int((rws.tokens != default.tokens).sum())} of {rws.length} positions; GOD is {rws.god_tokens:.2f} tokens "
    f"({rws.god_steps:.2f} steps) against {default.god_tokens:.2f} ({default.god_steps:.2f}), and "
    f"{footrule_mean(rws.length, rws.block):.2f} tokens for a random order within blocks.\n"
    f"- At {len(never)} of {rws.steps} steps of RWS, every factor between {low:.3f} and {high:.3f} commits the same "
    f"positions ({'proved' if proved else 'not proved'}; the last step of a block takes what is left): there the "
    f"reward could change nothing. At {int(rws.changed.sum())} steps its factor did.\n"
    f"- Rules broken: {len(default.rules_broken)} by confidence decoding, {len(rws.rules_broken)} by RWS. This is one "
    "prompt: which is better as a rule it cannot say."
)
