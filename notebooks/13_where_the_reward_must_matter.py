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
# # Where the reward must matter
#
# Reward-weighted sampling (RWS) turns a reward into a factor of all logits. The factor decides which positions are
# unmasked, and nothing else. *Leverage* says at which steps some factor in reach unmasks other positions.
#
# **You will learn** to read from one run whether a reward could have changed it, and what a model looks like in which
# the reward must matter.
#
# **Prediction.** Write down your answers before you go on.
#
# 1. A run has 16 steps. At how many could its factors, from the least to the greatest, unmask other positions?
# 2. Is there a model in which RWS has more reward than every fixed factor, and than every twin that does not read the
#    reward of its own text?
# 3. Take 740 random models and rewards. In how many does RWS have more reward than all of its twins?

# %%
import pandas as pd
from IPython.display import Markdown

from paper_figures.extra.notebook_plots import must_matter
from rws_decode import Shape, leverage, plots, scale_path

# %% [markdown]
# ## 1. One run, step by step
#
# The 4-gram model writes 32 tokens in 16 steps. Above, the reward `era` is normalised as it ships. Below, it is
# normalised by mean -6.1 and SD 0.3, with s_R = 1.5: numbers that were chosen so that the factor varies.
#
# Look where the blue band meets a hatched stretch. At all other steps, no factor of the band changes anything.

# %%
runs = {name: must_matter.english_runs(2, Shape(32, 16, 32), name) for name in must_matter.NORMALISED}
plots.leverage(*(pairs[0][1] for pairs in runs.values()))

# %% [markdown]
# ## 2. What leverage bounds
#
# Until the first step with leverage, every reward and every fixed factor unmask the same positions and write the same
# tokens. So over prompts, the mean rewards of two of them differ by at most
#
# *share of prompts with leverage* times *range of the reward*.
#
# [The proof](../docs/theory.md#24-what-a-reward-can-change-leverage) is short. There are two ranges of factors:
# those of any reward, and those of the run. If a run has no leverage in its own range, its text is that of its fixed
# factor. The last two rows check this by decoding.

# %%
must_matter.bounds_of(runs)

# %% [markdown]
# A step with leverage need not change the text. And a text can be that of the fixed factor although nothing proves it.
#
# ## 3. An exact model in which the reward must matter
#
# Texts have three tokens, each 0, 1 or 2. The reward is 1 where the first token equals the last, and -1 elsewhere. It
# is normalised by mean 0 and SD 1/3, and s_R = 4. So the factor is 0.87 after a bad draft and 3.90 after a good one.
#
# The model gives each text a weight, in a row for each prompt. Prompts 2 and 3 are prompts 0 and 1 with other names: 1
# is added to each token, modulo 3.

# %%
pd.DataFrame({"prompt 0": must_matter.RISING, "prompt 1": must_matter.FALLING}).sort_index().T.fillna(0).astype(int)

# %% [markdown]
# Here are the texts of RWS and of its twins. Where a twin has several runs, their mean counts: the rewards of three
# other prompts, and five other orders of its own. The tuned factor is the best of 16 on these very prompts.

# %%
model = must_matter.model_of()
found = must_matter.twins(model)
(table := must_matter.table_of(found))

# %% [markdown]
# RWS has the greatest reward for every prompt, and every fixed factor has the least.
#
# **Proof.** The picture shows all factors of prompts 0 and 1. Steps 0 and 1 have two choices each; step 2 has one
# position left.
#
# - *Prompt 0.* The first draft is bad, so step 0 has the small factor. The next is good, so step 1 has the great one. A
#   fixed factor that does the same lies *below* the crossing of step 0 and *above* that of step 1. But the crossing
#   of step 1 is the greater one.
# - *Prompt 1* is the other way round: first good, then bad. A fixed factor would have to lie above the crossing of step
#   0 and below that of step 1. But the crossing of step 0 is the greater one.
# - Every other pair of choices ends in a bad text, as the table below the picture shows.
#
# So each twin fails that does not follow the drafts of its own prompt. A factor by step, say, cannot be small for
# prompt 0 and great for prompt 1.

# %%
proofs = [leverage(run, model) for run in found["RWS"][0][:2]]
plots.leverage(*proofs)

# %%
crossings = [[pieces[0].upper for pieces in each.pieces[:2]] for each in proofs]
choices_at = {f"crossing at step {step}": [row[step] for row in crossings] for step in (0, 1)}
must_matter.choices(model).assign(**choices_at).round(4)

# %% [markdown]
# The same for all fixed factors from 0.01 to 100 at once, with proof:

# %%
scales = {"shape": Shape(3, 3, 3), "scale_min": 0.01, "scale_max": 100}
paths = [scale_path(model, prompt, **scales) for prompt in must_matter.PROMPTS]
rows = [(", ".join(sorted({str(piece.text) for piece in path.pieces})), path.certified) for path in paths]
pd.DataFrame(rows, [f"prompt {prompt}" for prompt in must_matter.PROMPTS], ["texts of all fixed factors", "certified"])

# %% [markdown]
# ## 4. How fragile is it?
#
# Every weight is multiplied by exp(noise), with normal noise. *Least lead* is what RWS has more than the best of its
# twins, in SD of the reward over the model's texts. The last two columns have the same model, with the reward
# normalised by SD 1 instead of 1/3: now the factor only goes from 2.07 to 3.42.

# %%
(jitter := must_matter.with_jitter((0.0, 0.01, 0.03, 0.1, 0.3), 100))

# %% [markdown]
# The normalisation decides. With SD 1, RWS does not lead, although model and reward are the same.
#
# ## 5. How rare is it?
#
# 740 random settings have four prompts each, random weights of all 27 texts, random scores of these, and s_R = 1, 2, 4
# or 8. The reward is normalised by its mean and SD over the model's texts.

# %%
random = must_matter.random_settings(740)
must_matter.draw_settings(random, table.loc["fixed factor", "RWS minus it [SD]"])

# %% [markdown]
# ## Exercise
#
# Change the reward, and not the model, so that RWS writes the bad text 2 2 1 after prompt 0. What is the least change?
#
# <details><summary>Solution</summary>
#
# RWS writes the good text because its first draft, 0 2 1, is bad. Let the reward of this one text be 1. Then step 0 has
# the great factor, which is above the first crossing, and the other position is unmasked:
#
# ```python
# from rws_decode import decode
# from rws_decode.rewards import CallableReward
#
# def changed(_, text):
#     return 1.0 if text == "0 2 1" else must_matter.ends_alike("", text)
#
# changed = CallableReward(changed, mean=0.0, std=1 / 3)
# decode(model, ["0"], "rws:4", Shape(3, 3, 3), reward=changed)[0].text
# ```
#
# </details>
#
# ## Findings
#
# Computed from what the cells above show:

# %%
leads = table["RWS minus it [SD]"].drop("RWS")
fixed, least, untuned = random.differences["fixed factor"], random.least(), random.least("tuned fixed factor")
error = 1.96 * fixed.std() / len(fixed) ** 0.5
lead, above = (jitter.loc["10%", f"SD 1/3: {name}"] for name in ("least lead [SD]", "above 1 SD"))

# %%
Markdown(f"""
1. Of the 16 steps above, the factors of the run could matter at **{runs["published"][0][1].varied.sum()}** as the
   reward ships, and at **{runs["chosen"][0][1].varied.sum()}** with the chosen numbers.
2. In the exact model RWS has **{leads.min():.2f} to {leads.max():.2f} SD** more reward than each twin. With 10 % noise
   its least lead is {lead:.2f} SD on average, and above 1 SD in {above:.0%} of the copies.
3. In **{(least > 0).sum()} of {len(least)}** random settings RWS has more reward than all of its twins, and in
   {(untuned > 0).sum()} without the tuned factor, which was chosen on the same prompts. RWS minus its fixed factor is
   {fixed.mean():.4f} SD (± {error:.4f}) on average, and not 0 in {(fixed != 0).mean():.1%} of settings.

So the reward can matter, and a model where it must is small. It needs crossings within the range of the factor, drafts
whose rewards change, and prompts that need other factors at the same step.
""")
