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
# by a scale $c$, as temperature and RWS do, pushes more of them there.
#
# **Question.** How much of the order in which text is written comes from the model, and how much from rounding?
#
# **Prediction.** The same model decodes the same prompts at the scales 1, 2, ..., 32, ranked once exactly and once by
# softmax in bfloat16, ties going to the leftmost position. Generation order deviation (GOD) says how far an order is
# from left to right: 0 is strictly left to right. Write down before you go on:
#
# 1. from which $c$ times *margin* (best logit less second best) is the probability exactly 1.0 in bfloat16? In float32?
# 2. at scale 32, in which share of the steps does bfloat16 still commit the positions that the exact order would?
# 3. does rounding make the text *more* or *less* left to right?

# %%
from IPython.display import Markdown, display

from paper_figures.extra.lessons import rounded_decodes, rounding
from rws_decode import Shape, Temperature, decode, load_predictor, plots, step_logits
from rws_theory import selection_path

SHAPE = Shape(length=32, steps=16, block=32)
predictor = load_predictor("mini")

# %% [markdown]
# ## One position
#
# Two tokens, the best one ahead by a margin. The exact log-odds of its probability are the margin itself. What log-odds
# does the *rounded* probability stand for?

# %%
ones = rounding.first_ones()
rounding.ones_picture(ones)

# %% [markdown]
# The last nats of each format. The curve ends where the probability is 1.0: all that lies to the right is one tie, and
# every flat stretch before it is another. Log-odds, computed from the logits without passing through the probability,
# have no such end. That is how this decoder ranks unless asked otherwise.
#
# ## One real step
#
# The first step of one prompt, at scale 8: ranked by exact log-odds, and by softmax in bfloat16. Both see the same
# canvas. Where bars are level, the *leftmost* are committed.

# %%
prompt = predictor.examples[3]["prompt"]
for ranking in ("exact", "bfloat16"):
    (trace,) = decode(predictor, prompt, Temperature(8.0), SHAPE, options=rounding.RANKINGS[ranking])
    display(plots.step(trace, 0))

# %% [markdown]
# Drag the scale: the order of the exact bars changes little, that of the rounded ones dissolves into a tie. (The page
# works by itself, also in this notebook saved as HTML. Jupyter shows it once you have run its cell or trusted the
# notebook; GitHub leaves it out.)

# %%
first = rounding.first_steps(predictor, prompt, SHAPE)
rounding.drag(first)

# %% [markdown]
# ## The same step at every scale
#
# Rows are positions, the horizontal axis is the scale. First the exact order: the proved pieces of its selection path.

# %%
(trace,) = decode(predictor, prompt, "default", SHAPE)
seen = step_logits(trace, predictor, 0)
path = selection_path(seen.logits, int(seen.chosen.sum()), 0.25, 32.0)
plots.selection(path, seen.words, seen.positions)

# %% [markdown]
# For rounded probabilities scales are tried one by one. Grey is where the probability is exactly 1.0, in colour what is
# committed.

# %%
exact = first.chosen["exact"]
as_exact = {name: f"{100 * (chosen == exact).all(axis=1).mean():.1f} %" for name, chosen in first.chosen.items()}
print("as the exact order commits, of all scales:", as_exact)
rounding.commits_picture(first)

# %% [markdown]
# ## Whole decodes
#
# Six prompts at each scale, by four rankings: in the exact order; by softmax in float32 and in bfloat16 with ties
# leftmost; and as public decoders do it, softmax in bfloat16 and `torch.topk`, whose ties fall as its algorithm happens
# to leave them.

# %%
texts = [example["prompt"] for example in predictor.examples[:6]]
frame = rounded_decodes.decode_all(predictor, texts, SHAPE)
rounded_decodes.decodes_picture(frame, SHAPE)

# %%
table = rounded_decodes.due_to_rounding(frame)
table.round(3)

# %% [markdown]
# Means over the prompts. Due to rounding: GOD less that of the exact ranking, with 95 % interval and the p of a paired
# test, corrected over the scales. Inexact: steps whose positions are not those of the exact order. Same text: as by the
# exact ranking. At high scales float64 does not save the probability either: that is the exact ranking's line in the
# picture on the right.
#
# ## Conclusion
#
# Log-odds themselves go on where the probability is 1. The paper prints GOD at these scales too (Table 8), for another
# model and other prompts, and does not say how ties fall. How much of its rise is rounding only a run with the exact
# ranking can tell; levels here and there cannot be compared. Computed from the cells above:

# %%
god, due = frame.groupby(["ranking", "scale"])["GOD"].mean(), table.loc[("bfloat16", 32.0)]
exact, rounded = (first.committed(name, 8.0) for name in ("exact", "bfloat16"))
low, high = due["low"], due["high"]
holds = "leaves out" if low > 0 or high < 0 else "holds"

# %%
Markdown(f"""
- The probability is exactly 1.0 from log-odds of **{ones["bfloat16"]:.1f}** in bfloat16, {ones["float32"]:.1f} in
  float32, {ones["float64"]:.1f} in float64.
- At the step looked at, at scale 8, the exact order commits {exact}, bfloat16 {rounded}:
  **{len({*exact} & {*rounded})} of {len(exact)}** in common. In whole decodes bfloat16 commits other positions in
  **{due["inexact, %"]:.1f} %** of the steps at scale 32.
- There rounding makes the text **{"more" if due["due to rounding"] < 0 else "less"}** left to right (change of GOD
  {due["due to rounding"]:+.2f} [{low:+.2f}, {high:+.2f}]; the interval {holds} 0).
- From scale 1 to 32 GOD goes from {god["exact", 1]:.2f} to {god["exact", 32]:.2f} in the exact order, and from
  {god["bfloat16", 1]:.2f} to {god["bfloat16", 32]:.2f} in bfloat16 with ties leftmost; `torch.topk`, whose ties alone
  differ, has {god["bfloat16, torch.topk", 32]:.2f}.
""")
