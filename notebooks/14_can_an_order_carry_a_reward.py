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
# # Can an order alone raise the reward?
#
# A decoder chooses which position is unmasked next. Reward-weighted sampling (RWS) uses a reward to choose. The tokens
# are the model's own. So all that it can gain, it gains by the order.
#
# **Question.** Can the order of unmasking carry a reward into the text?
#
# **You will learn** when an order changes the distribution of the text, and for which rewards a larger factor helps for
# certain. The proofs are in `docs/theory.md`, sections 15 to 20.
#
# **Prediction.** Write down your answers before you go on.
#
# 1. A model is exact, and one token a step is sampled. How much can the best possible order add to the mean reward?
# 2. Now the best token is taken, or four tokens are unmasked in a step. Does the order matter?
# 3. A network is not exact. Is there a joint distribution behind its conditionals?
# 4. For which rewards does a larger factor raise the mean reward at every step, for certain?

# %%
from itertools import combinations, pairwise

import numpy as np
from IPython.display import Markdown, display

import rws_theory as theory
from rws_decode import Options, Shape, decode, exchange_distance, load_predictor, load_reward, plots
from rws_decode.common.palette import LOOKS
from rws_decode.view.plots.sheet import panels_of
from rws_theory.orders import by_confidence, table_conditionals, table_law
from rws_theory.tilting import scaled_reward_mean

rng, SCALES = np.random.default_rng(0), np.geomspace(0.05, 8, 200)

# %% [markdown]
# ## 1. A decode: three orders, and the reward of what they write
#
# The exact 4-gram model of speeches writes eight tokens after each of 48 prompts, in three orders. Tokens are sampled,
# one a step or four. Shown is the mean reward, which prefers modern words.

# %%
model, reward, N = load_predictor("english"), load_reward("era"), 48
prompts, means = model.prompts[:N], {}
for order in ("left-to-right", "random-order", "rws:8"):
    for steps in (8, 2):
        seeds = tuple(rng.integers(2**31, size=N).tolist())  # one for each text
        options = Options(sampling_temperature=1.0, drawing="commit", seed=seeds, record="tokens")
        traces = decode(model, prompts, order, Shape(8, steps, 8), reward=reward, options=options)
        scores = np.array(reward.score(prompts, [trace.text for trace in traces]))
        end = 1.96 * scores.std(ddof=1) / np.sqrt(N)
        means.setdefault(order, {})[8 // steps] = (scores.mean(), scores.mean() - end, scores.mean() + end)
plots.intervals(means, "tokens unmasked per step", "mean reward", logarithmic=True)

# %% [markdown]
# With one token a step the three orders must have one mean, and the bars show how far 48 texts can tell. Why?

# %% [markdown]
# ## 2. The proof, and its three exceptions
#
# Sampling one token per step from exact conditionals gives the model's joint distribution, if the order does not depend
# on the sampled tokens. The exceptions: the best token is taken instead of a sampled one, several tokens are committed
# in a step, or the conditionals belong to no joint distribution. The first two are computed here in fractions, for four
# positions and a vocabulary of three.

# %%
ORDERS = {
    "left to right": lambda canvas, rows: sorted(rows),
    "right to left": lambda canvas, rows: sorted(rows)[::-1],
    "by confidence": by_confidence(),
    "by confidence, factor 8": by_confidence(8.0),
}
table = np.random.default_rng(0).integers(1, 30, (3, 3, 3, 3))
p, conditionals = table_law(table), table_conditionals(table)
texts = [next(iter(theory.output_law(conditionals, 4, order, commit="argmax"))) for order in ORDERS.values()]
argmax = [(text, 1 - p[text]) for text in texts]

# %%
copies = np.zeros_like(table)
copies[(np.arange(3),) * 4] = 1
parallel = {name: list(theory.parallel_distances(table, order)) for name, order in ORDERS.items()}
parallel["four copies of a token"] = list(theory.parallel_distances(copies, by_confidence()))
parallel["independent tokens"] = list(theory.parallel_distances(np.ones_like(table), by_confidence()))

# %% [markdown]
# For the third we ask the toy story model, a network, and the exact 4-gram model, both on canvases of 12 tokens. Sample
# one position before its neighbour, then after it. The total variation between the two distributions is the *exchange
# distance*. It is 0 on every canvas if there is a joint distribution; one that is not 0 proves that there is none.


# %%
exchange = {"mini": [], "english": []}
for name, revealed, left_out in (("mini", 4, 0.05), ("english", 8, 0.0)):
    each = load_predictor(name)
    start = each.encode_prompt(each.prompts[3])
    (trace,) = decode(each, each.prompts[3], "default", Shape(12, 12, 12))
    canvas = [*start, *np.where(trace.commit_step < revealed, trace.tokens, each.mask_id).tolist()]
    masked = (len(start) + np.flatnonzero(trace.commit_step >= revealed)).tolist()
    neighbours = [(i, j) for i, j in pairwise(masked) if j == i + 1]
    exchange[name] += [exchange_distance(each, canvas, i, j, left_out) for i, j in neighbours]

# %%
figure, (left, right) = panels_of(None, 1, 2, (10.0, 4.0))
for look, (name, each) in zip(LOOKS, parallel.items(), strict=False):
    left.plot(range(1, 1 + len(each)), each, look.marker + "-", color=look.color, label=name)
left.plot([1] * len(argmax), [distance for _, distance in argmax], "k*", markersize=10, label="best token taken")
for look, (name, bounds) in zip(LOOKS, exchange.items(), strict=False):
    right.semilogy(np.maximum(np.sort(np.mean(bounds, axis=1)), 1e-16), look.marker, color=look.color, label=name)
left.set(xlabel="tokens a step", xticks=range(1, 5), ylabel="total variation from the model")
right.set(xlabel="pair of neighbours, sorted", ylim=(1e-17, 10), ylabel="exchange distance")
left.legend(fontsize=8)
right.legend()
display(figure)

# %% [markdown]
# Left: one sampled token a step is at 0 in every order. Taking the best token writes one text, and is far off. Two more
# models stand beside ours: four copies of one token, and independent tokens. Right: the exact model is at 0, but for
# rounding (0 is plotted at 1e-16). The network is not: no joint distribution stands behind it.

# %% [markdown]
# ## 3. When a factor raises the reward
#
# At every step, and whatever is committed, a larger factor raises the mean reward in one case only: the reward ranks
# outcomes as the model does. Lines are the mean rewards given every set of two or three tokens of 8/13, 4/13 and 1/13.

# %%
P, REWARDS = np.array([8, 4, 1]), {"ranks as the model does": [2, 1, 0], "does not": [2, 0, 1]}
raises = {name: theory.scaling_raises_reward(P, reward) for name, reward in REWARDS.items()}
sets = [list(some) for size in (2, 3) for some in combinations(range(3), size)]
figure, panels = panels_of(None, 1, 2, (10.0, 3.8), sharey=True)
for panel, (name, reward) in zip(panels, REWARDS.items(), strict=True):
    for some in sets:
        mean = scaled_reward_mean(np.log(P[some]), np.array(reward)[some], SCALES)
        panel.semilogx(SCALES, mean, linewidth=4 if mean[-1] < mean[0] else 1.5, label=" or ".join(map(str, P[some])))
    panel.set(title=f"the reward {name}: {reward}", xlabel="factor $c$", ylabel="mean reward")
panels[0].legend(title="given the tokens of weight")
display(figure)

# %% [markdown]
# The thick line falls: of the two less likely tokens, the likelier one has the smaller reward.

# %% [markdown]
# ## Exercise
#
# Take the best token in place of a sampled one in section 1. Does the order change the reward now?
#
# <details><summary>Solution</summary>
#
# <pre>for order in means:
#     (trace,) = decode(model, prompts[:1], order, Shape(8, 8, 8), reward=reward)
#     print(order, reward.score(prompts[:1], [trace.text]), trace.text)</pre>
#
# Taking the best token is the first exception: another order can write another text.
#
# </details>
#
# ## Findings
#
# Computed from the cells above:

# %%
lows, highs = zip(*((each[1][1], each[1][2]) for each in means.values()), strict=True)
width = max(high - low for low, high in zip(lows, highs, strict=True)) / 2
apart = min(low for low, _ in exchange["mini"]), max(low for low, _ in exchange["mini"])
fall = raises["does not"].fall

# %%
Markdown(f"""
1. With one sampled token a step, the distance from the model's distribution is
   **{max(each[0] for each in parallel.values())}** in every order, so an order adds nothing. The three intervals of the
   decodes **{"overlap" if max(lows) <= min(highs) else "do not overlap"}**; half an interval is at most {width:.2f}.
2. Taking the best token writes **{len({text for text, _ in argmax})}** texts in four orders. With four tokens a step
   the distance is {float(parallel["by confidence"][-1]):.2f} in this model, and
   {float(parallel["four copies of a token"][-1]):.2f} in that of four copies.
3. The exchange distances of the network reach {apart[1]:.2f}: its conditionals are of
   **{"no" if apart[1] > 1e-3 else "one"}** joint distribution.
4. A reward that ranks as the model does **{"never falls" if raises["ranks as the model does"] else "can fall"}**; the
   other falls from {float(fall.before):.3f} ({fall.before}) to {float(fall.after):.3f} ({fall.after}) once the logits
   are doubled.
""")
