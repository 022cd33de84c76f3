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
# # What rounding does
#
# A decoder commits the positions whose best token has the largest softmax probability. Public decoders compute that
# probability in the model's own number format, often bfloat16, and close to 1 there are few such numbers: whatever is
# nearer to 1 than half the last gap *is* 1.0, and from then on positions cannot be told apart. Multiplying the logits
# by a factor $c$, as temperature and RWS do, pushes more of them there.
#
# **Question.** How much of the order in which text is written comes from the model, and how much from rounding?
#
# **You will learn** to tell an effect of a model from an effect of a number format.
#
# **Prediction.** The same model decodes the same prompts at the factors 1, 2, ..., 32, ranked once exactly and once by
# softmax in bfloat16, ties going to the leftmost position. Generation order deviation (GOD) says how far an order is
# from left to right: 0 is strictly left to right. Write down before you go on:
#
# 1. from which $c$ times *margin* (best logit less second best) is the probability exactly 1.0 in bfloat16? In float32?
# 2. at factor 32, in which share of the steps does bfloat16 still commit the positions that the exact order would?
# 3. does rounding make the text *more* or *less* left to right?

# %%
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown, display

from paper_figures.extra.notebook_plots import rounding
from paper_figures.statistics.intervals import mean_interval
from rws_decode import Shape, Temperature, decode, load_predictor, plots, step_logits
from rws_decode.common.palette import PALE, VERMILION
from rws_decode.step.select import rank_values
from rws_decode.view.plots.sheet import panels_of
from rws_theory import selection_path

SHAPE = Shape(length=32, steps=16, block=32)
predictor = load_predictor("mini")

# %% [markdown]
# ## One position
#
# Two tokens, the best one ahead by a margin. The exact log-odds of its probability are the margin itself. What log-odds
# does the *rounded* probability stand for?

# %%
margins, ones = torch.arange(0, 45, 0.01, dtype=torch.float64), {}
figure, panels = panels_of(None, 1, 3, (10.0, 3.4))
for panel, name in zip(panels, ("bfloat16", "float32", "float64"), strict=True):
    two = torch.stack([margins, 0 * margins], dim=1)
    probability = rank_values(two, two.argmax(dim=1), 1.0, "probability", name).double()
    ones[name] = float(margins[probability == 1][0])
    near = (margins > ones[name] - 4) & (margins < ones[name])
    panel.plot(margins[near], margins[near], "k--", label="exact")
    panel.plot(margins[near], torch.logit(probability[near]), color=VERMILION, label="rounded")
    panel.set(title=f"{name}: 1.0 from {ones[name]:.1f}", xlabel="exact log-odds [nats]")
panels[0].legend()
display(figure)

# %% [markdown]
# The last nats of each format. The curve ends where the probability is 1.0: all that lies to the right is one tie, and
# every flat stretch before it is another. Log-odds, computed from the logits without passing through the probability,
# have no such end. That is how this decoder ranks unless asked otherwise.
#
# ## One real step
#
# The first step of one prompt, at factor 8: ranked by exact log-odds, and by softmax in bfloat16. Both see the same
# canvas. Where bars are level, the *leftmost* are committed.

# %%
prompt = predictor.examples[3]["prompt"]
for ranking in ("exact", "bfloat16"):
    (trace,) = decode(predictor, prompt, Temperature(8.0), SHAPE, options=rounding.RANKINGS[ranking])
    display(plots.step(trace, 0))

# %% [markdown]
# Drag the factor: the order of the exact bars changes little, that of the rounded ones dissolves into a tie. (The page
# works by itself, also in this notebook saved as HTML. Jupyter shows it once you have run its cell or trusted the
# notebook; GitHub leaves it out.)

# %%
first = rounding.first_steps(predictor, prompt, SHAPE)
rounding.drag(first)

# %% [markdown]
# ## The same step at every factor
#
# Rows are positions, the horizontal axis is the factor. First the exact order: the proved pieces of its selection path.

# %%
(trace,) = decode(predictor, prompt, "default", SHAPE)
seen = step_logits(trace, predictor, 0)
path = selection_path(seen.logits, int(seen.chosen.sum()), 0.25, 32.0)
plots.selection(path, seen.words, seen.positions)

# %% [markdown]
# For rounded probabilities factors are tried one by one. Grey is where the probability is exactly 1.0, in colour what
# is committed.

# %%
exact = first.chosen["exact"]
as_exact = {name: f"{100 * (chosen == exact).all(axis=1).mean():.1f} %" for name, chosen in first.chosen.items()}
print("as the exact order commits, of all factors:", as_exact)
figure, panels = panels_of(None, 1, 3, (10.0, 4.2), sharey=True)
for panel, name in zip(panels, list(rounding.RANKINGS)[1:], strict=True):
    for marked, color, label in (
        (first.value[name] == 1, PALE, "probability 1.0"),
        (first.chosen[name], VERMILION, "committed"),
    ):
        at, place = np.nonzero(marked)
        panel.semilogx(first.scales[at], place, "s", color=color, markersize=3.5, label=label)
    panel.set(title=name, xlabel="factor $c$")
panels[0].set_ylabel("position in the answer")
panels[0].legend()
display(figure)

# %% [markdown]
# ## Whole decodes
#
# Four prompts at each factor, by four rankings: in the exact order; by softmax in float32 and in bfloat16 with ties
# leftmost; and as public decoders do it, softmax in bfloat16 and `torch.topk`, whose ties fall as its algorithm happens
# to leave them.

# %%
texts = [example["prompt"] for example in predictor.examples[:4]]
SCALES, rows = (1.0, 2.0, 4.0, 8.0, 32.0), []
each = [(scale, text) for scale in SCALES for text in texts]
for name, options in rounding.RANKINGS.items():
    strategy = Temperature(tuple(scale for scale, _ in each))
    for (scale, text), run in zip(
        each, decode(predictor, [t for _, t in each], strategy, SHAPE, options=options), strict=True
    ):
        rows.append((name, scale, text, run.god_tokens, 100 * run.inexact.mean(), run.text))
frame = pd.DataFrame(rows, columns=["ranking", "factor", "prompt", "GOD", "inexact, %", "text"])

# %%
means = {name: {} for name in rounding.RANKINGS}
for (name, scale), group in frame.groupby(["ranking", "factor"]):
    mean, low, high = mean_interval(group["GOD"])
    means[name][scale] = (mean, *((low, high) if np.isfinite([low, high]).all() else (mean, mean)))
plots.intervals(means, "factor c", "GOD [tokens]", logarithmic=True)

# %%
god = frame.pivot(index=["factor", "prompt"], columns="ranking", values="GOD")
table = frame.groupby(["ranking", "factor"])[["GOD", "inexact, %"]].mean()
table[["due to rounding", "low", "high"]] = np.nan
for name in ("float32", "bfloat16"):
    for scale in SCALES:
        due = mean_interval((god[name] - god["exact"])[scale].to_numpy())
        table.loc[(name, scale), ["due to rounding", "low", "high"]] = np.array(due)
table.round(2)

# %% [markdown]
# Means over the prompts. Due to rounding: GOD minus that of the exact ranking on the same prompts, with its 95 %
# interval. Inexact: steps whose positions are not those of the exact order.
#
# ## Exercise
#
# Does the text change, too? Count the prompts on which bfloat16 writes what the exact order writes, by factor.
#
# <details><summary>Solution</summary>
#
# <pre>text = frame.pivot(index=["factor", "prompt"], columns="ranking", values="text")
# print((text["bfloat16"] == text["exact"]).groupby("factor").sum())</pre>
#
# </details>
#
# ## Conclusion
#
# Log-odds themselves go on where the probability is 1. The paper prints GOD at these factors too (Table 8), for another
# model and other prompts, and does not say how ties fall. How much of its rise is rounding only a run with the exact
# ranking can tell; levels here and there cannot be compared. Computed from the cells above:

# %%
god, due = frame.groupby(["ranking", "factor"])["GOD"].mean(), table.loc[("bfloat16", 32.0)]
near = int(np.abs(first.scales - 8.0).argmin())
exact, rounded = (np.flatnonzero(first.chosen[name][near]).tolist() for name in ("exact", "bfloat16"))
low, high = due["low"], due["high"]
holds = "leaves out" if low > 0 or high < 0 else "holds"

# %%
Markdown(f"""
- The probability is exactly 1.0 from log-odds of **{ones["bfloat16"]:.1f}** in bfloat16, {ones["float32"]:.1f} in
  float32, {ones["float64"]:.1f} in float64.
- At the step looked at, at factor 8, the exact order commits {exact}, bfloat16 {rounded}:
  **{len({*exact} & {*rounded})} of {len(exact)}** in common. In whole decodes bfloat16 commits other positions in
  **{due["inexact, %"]:.1f} %** of the steps at factor 32.
- There rounding makes the text **{"more" if due["due to rounding"] < 0 else "less"}** left to right (change of GOD
  {due["due to rounding"]:+.2f} [{low:+.2f}, {high:+.2f}]; the interval {holds} 0).
- From factor 1 to 32 GOD goes from {god["exact", 1]:.2f} to {god["exact", 32]:.2f} in the exact order, and from
  {god["bfloat16", 1]:.2f} to {god["bfloat16", 32]:.2f} in bfloat16 with ties leftmost; `torch.topk`, whose ties alone
  differ, has {god["bfloat16, torch.topk", 32]:.2f}.
""")
