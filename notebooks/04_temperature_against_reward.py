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
# # Temperature against reward scaling, from saved traces
#
# A temperature multiplies all logits by one fixed factor $c$. Reward-weighted sampling (RWS) multiplies them by
# $s_R \sqrt{\sigma(r) + \epsilon}$, which follows the reward $r$ of the text from step to step. A trace is the record
# of one decode, in a file. This notebook asks two traces of one prompt:
#
# **Question.** Is it the reward, or only the temperature?
#
# **You will learn** to compare two traces: commit order, factors, reward, and the crossing that made them diverge; to
# decode again with the mean of a trace's factors; and to tell what one prompt shows from what 400 prompts show.
#
# **Prediction.** Write down your guesses before you go on.
#
# 1. Two decodes of one prompt have different factors at every step. At which step do their texts diverge?
# 2. Decode again with the mean factor of RWS at every step, without a reward. Is the text the same?
# 3. Does any fixed factor from 0.1 to 4 give the text of RWS?
# 4. Whose text has more reward: that of RWS, or that of the temperature?

# %%
from pathlib import Path
from tempfile import TemporaryDirectory

from IPython.display import Markdown, display

from paper_figures.recorded import recorded
from paper_figures.recorded.ablations import recorded_ablation
from paper_figures.recorded.completed import with_one_score
from rws_decode import (
    Shape,
    compare,
    diff,
    final_reward,
    load_predictor,
    load_reward,
    load_trace,
    plots,
    replay_with,
    scale_path,
    step_logits,
)

# %% [markdown]
# ## Make two traces, and load them
#
# The model is an exact 4-gram model of speeches, the reward prefers modern words. `temperature:0.5` multiplies all
# logits by 0.5, which is a temperature of 2. With files of your own, change paths, model, reward, prompt and `SHAPE`.

# %%
model, reward, SHAPE = load_predictor("english"), load_reward("era"), Shape(length=32, steps=16, block=32)
prompt, folder = model.examples[2]["prompt"], TemporaryDirectory()
for name, (trace,) in compare(model, prompt, ["temperature:0.5", "rws:2"], SHAPE, reward=reward).items():
    trace.save(Path(folder.name) / f"{name.split(':')[0]}.parquet")

# %%
fixed, rws = (load_trace(Path(folder.name) / f"{name}.parquet") for name in ("temperature", "rws"))
fixed.view(rws, model)

# %% [markdown]
# Move the slider, or press an arrow key. (Jupyter shows the page once you have run its cell or trusted the notebook.)
#
# ## Commit order
#
# A mark is a token at the step that committed it. Generation order deviation (GOD) is the mean
# distance between a token's place in this order and from left to right, counted in tokens or in steps.

# %%
plots.order(fixed, rws)

# %% [markdown]
# ## Reward and factor
#
# `temperature:0.5` has factor 0.5 at every step and reads no reward. The factor of RWS follows the normalised reward
# $r$ of the completed text. Bands mark the steps at which it unmasked other positions than factor 1 would. (Leverage,
# in `rws ablate`, compares with the mean factor instead.)

# %%
plots.steps(rws)

# %% [markdown]
# ## The crossing that made them diverge
#
# A positive factor never changes the best token of a position. It changes which position is ahead. Two positions change
# places where their confidence curves cross. So the first difference needs a crossing between the two factors.

# %%
difference = diff(fixed, rws, model)
print(difference)

# %%
pair, at = difference.parting.reversals[0], difference.parting.step
plots.confidence_curves(step_logits(rws, model, at), [pair.earlier, pair.later])

# %% [markdown]
# ## Replay: the factors without the reward
#
# First the recorded factor of each step, then their mean at every step. No reward is read. (`temperature:0.5` is the
# other trace.)

# %%
mean = float(rws.factor.mean())
print(f"mean factor of RWS: {mean:.3f}")
same = replay_with(rws, model)
((steady,),) = compare(model, prompt, [f"temperature:{mean}"], SHAPE).values()
scores = {}
for name, trace in {"RWS": rws, "its factors": same, "their mean": steady, "temperature": fixed}.items():
    scores[name] = final_reward(model, reward, prompt, trace.tokens).raw
    equal = (trace.tokens == rws.tokens).sum()
    print(f"{name:12} {equal:2} of {rws.length} tokens as RWS, raw reward {scores[name]:.2f}\n    {trace.text}")

# %% [markdown]
# ## Every fixed factor at once
#
# `scale_path` returns all texts that any factor of an interval gives, and proves at which factors they change. Each row
# is one text; a line inside a bar marks a factor at which the order changes, but not the text. Drag the factor below.

# %%
path = scale_path(model, prompt, 0.1, 4.0, SHAPE, over="temperature", reward=reward)
wanted = [piece for piece in path.pieces if piece.tokens == tuple(rws.tokens.tolist())]
print(f"segments of factors with the text of RWS: {len(wanted)} of {len(path.pieces)}")
display(plots.scale_path([path]), path.view())

# %% [markdown]
# ## From one prompt to 400
#
# One prompt shows what can happen. `ablate` asks how often: it decodes many prompts by RWS and by its twins, which are
# not steered towards more reward of the text. The record that ships has the same setting on 400 prompts, with five of
# the nine twins.

# %%
answers = with_one_score(recorded().answers)
results = {scale: recorded_ablation(answers, "english:era", scale) for scale in (1.0, 2.0)}
results[2.0].plot()

# %%
print(results[2.0])

# %% [markdown]
# ## Exercise
#
# Of the reward scales tried, $s_R = 1$ has most reward on validation prompts. Does the mean factor give the text of RWS
# there? And how many of the 400 prompts have the same text?
#
# <details><summary>Solution</summary>
#
# <pre>((one,),) = compare(model, prompt, ["rws:1"], SHAPE, reward=reward).values()
# ((steady,),) = compare(model, prompt, [f"temperature:{one.factor.mean()}"], SHAPE).values()
# print((one.tokens == steady.tokens).all())
# print(results[1.0])</pre>
#
# Both write the same text here. The column "same text" of the row "fixed factor" tells for how many prompts they do.
#
# </details>

# %% [markdown]
# ## Conclusion
#
# Computed from the cells above:

# %%
names = ("fixed factor", "tuned fixed factor")
table = [f"| RWS minus its | {' | '.join(names)} | verdict |", "| --- | --- | --- | --- |"]
for scale, result in results.items():
    twins = {each.twin: each for each in result.comparisons}
    cells = (f"{twins[name].difference:+.2f} [{twins[name].low:+.2f}, {twins[name].high:+.2f}]" for name in names)
    table.append(f"| s_R = {scale:g} | {' | '.join(cells)} | {result.verdict} |")


def more(gap: float) -> str:
    return f"{abs(gap):.2f} {'more' if gap > 0 else 'less'}"


best = max(path.pieces, key=lambda piece: piece.final_reward.raw)
table = "\n".join(table)

# %%
Markdown(f"""
1. The texts diverge at step {at} of {rws.steps}, counted from 0, though the factors differ at every step: before it,
   both factors commit the same positions.
2. The recorded factors give **{"the same" if (same.tokens == rws.tokens).all() else "another"}** text: a reward acts
   through its factors alone. Their mean gives **{"the same" if (steady.tokens == rws.tokens).all() else "another"}**.
3. Fixed factors from 0.1 to 4 give {len(path.answers)} texts, {"proved" if path.certified else "not proved"} to be all.
   That of RWS is **{"one of them" if wanted else "none of them"}**.
4. The text of RWS has {more(scores["RWS"] - scores["their mean"])} raw reward than that of its mean factor, and
   {more(scores["RWS"] - scores["temperature"])} than that of factor 0.5. Factors from {best.lower:.3f} to
   {best.upper:.3f}, found afterwards, are the best: {more(best.final_reward.raw - scores["RWS"])} than RWS.

**Is it the reward, or only the temperature?** On 400 prompts, in SD of the reward over confidence texts
({results[2.0].unit:.2f} raw):

{table}

The fixed factor is the mean of RWS's run on the same prompt. The tuned one needs no run of RWS; it is the best of eight
on validation prompts. *Only the temperature* says that one of the two has as much reward as RWS, or more. So even where
no fixed factor writes the *text* of RWS on a prompt, one may have its *reward* on average. This is one model and one
reward.
""")
