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
# # What can be proved
#
# A decoder ranks masked positions by confidence, and a factor on all logits changes the ranking. Much of what then
# happens needs no experiment. It follows from the mathematics, and this lesson draws one picture for each result. The
# proofs are in `docs/theory.md`, sections 15 to 20.
#
# **Question.** Which of the things that a decoder's order and a factor can do are certain, before any model is run?
#
# **Prediction.** Write down your answers before you go on.
#
# 1. A model is exact, and one token a step is drawn. How much can the best possible order add to the mean reward?
# 2. Two positions have random logits of no meaning. How often does a factor reverse their order: never, in a quarter
#    of all pairs, or in half?
# 3. A decoder commits every position above a threshold, and its factor grows. Can fewer positions be committed?
# 4. For which rewards does a larger factor raise the mean reward at every step, for certain?

# %%
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Markdown

from rws_decode import Shape, decode, exchange_distance, load_predictor, plots, step_logits
from rws_decode.common.palette import BLACK, BLUE, GREY, LOOKS, PALE, VERMILION
from rws_theory import (
    classify_pairs,
    end_reversals,
    freezing_scale,
    majorises,
    max_probability,
    output_law,
    parallel_distances,
    reversal_limit,
    scale_reversals,
    scaling_raises_reward,
    selection_path,
    stability_radius,
    threshold_path,
)
from rws_theory.majorisation import dominance_order
from rws_theory.orders import by_confidence, table_conditionals, table_law
from rws_theory.tilting import scaled_reward_mean

rng = np.random.default_rng(0)

# %% [markdown]
# ## 1. An order changes nothing, with three exceptions
#
# Draw one token a step from exact conditionals. Then every order writes the same law, and no order can carry a reward.
# The exceptions: the likeliest token is taken instead of a drawn one, several tokens are committed in a step, or the
# conditionals belong to no joint law. (Ranking by the token that was drawn is another, in section 16 of the theory.)
# The first two are computed here in fractions, for four positions and three words.

# %%
ORDERS = {"left to right": lambda canvas, rows: sorted(rows), "right to left": lambda canvas, rows: sorted(rows)[::-1]}
ORDERS |= {"by confidence": by_confidence(), "by confidence, scale 8": by_confidence(8.0)}
table, copies = rng.integers(1, 30, (3, 3, 3, 3)), np.zeros((3, 3, 3, 3))
copies[(np.arange(3),) * 4] = 1
law, model = table_law(table), table_conditionals(table)
argmax = [next(iter(output_law(model, 4, order, commit="argmax"))) for order in ORDERS.values()]
parallel = {name: parallel_distances(table, order) for name, order in ORDERS.items()}
parallel["four copies of a token"] = parallel_distances(copies, by_confidence())
parallel["independent tokens"] = parallel_distances(np.ones((3, 3, 3, 3)), by_confidence())

# %% [markdown]
# For the third we ask the shipped network `mini`, and the exact world `english`, both on canvases of 12 tokens. Draw
# one position before another, then after it. The total variation between the two laws is the *exchange distance*. It is
# 0 on every canvas if there is a joint law, and one that is not 0 proves that there is none.


# %%
def exchange_distances(name, revealed, left_out):
    """Bounds of the exchange distances of open positions, two at a time, where a decode has revealed so many tokens."""
    predictor = load_predictor(name)
    prompt = predictor.encode_prompt(predictor.prompts[3])
    (trace,) = decode(predictor, predictor.prompts[3], "default", Shape(12, 12, 12))
    canvas = [*prompt, *np.where(trace.commit_step < revealed, trace.tokens, predictor.mask_id).tolist()]
    at = (len(prompt) + np.flatnonzero(trace.commit_step >= revealed)).tolist()
    return [exchange_distance(predictor, canvas, *pair, left_out) for pair in zip(at[::2], at[1::2], strict=False)]


exchange = {"mini": [bounds for revealed in (0, 4, 8) for bounds in exchange_distances("mini", revealed, 0.05)]}
exchange["english"] = exchange_distances("english", 8, 0.0)

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.4), layout="constrained")
for look, (name, distances) in zip(LOOKS, parallel.items(), strict=False):
    left.plot(range(1, 5), [float(tv) for tv in distances], marker=look.marker, color=look.color, label=name)
left.plot([1] * 4, [float(1 - law[text]) for text in argmax], "*", color=BLACK, markersize=10, label="argmax")
for look, (name, bounds) in zip(LOOKS, exchange.items(), strict=False):
    right.semilogy(np.sort(np.mean(bounds, axis=1)), look.marker, color=look.color, label=name)
left.set(title="four positions, three words", xlabel="tokens a step", xticks=range(1, 5), ylabel="total variation")
right.set(title="exchange distances", xlabel="pair of positions, sorted", ylim=(1e-17, 10))
_ = left.legend(loc="center right"), right.legend(loc="center right")

# %% [markdown]
# On the left, one drawn token a step is at 0 in every order, and argmax, which writes one text, is far off. On the
# right, `mini` is far from any joint law, and the exact world is at 0 up to rounding.

# %% [markdown]
# ## 2. The quarter law
#
# Two positions have independent random logits of one law. A pair is reversed if its order near scale 0 is not that at
# large scales. For many tokens its probability depends, in the laws drawn here, on the upper tail alone. It is 1/4 for
# tails such as the normal one, less for heavy tails, and more, up to 1/2, for bounded logits.

# %%
LAWS = {
    "normal": (rng.standard_normal, reversal_limit("gumbel")),
    "exponential": (rng.standard_exponential, reversal_limit("gumbel")),
    "Pareto, alpha 3": (lambda shape: rng.pareto(3, shape), reversal_limit("frechet", 3.0)),
    "Pareto, alpha 1": (lambda shape: rng.pareto(1, shape), reversal_limit("frechet", 1.0)),
    "bounded, alpha 3": (lambda shape: rng.beta(1, 3, shape), reversal_limit("weibull", 3.0)),
    "uniform (alpha 1)": (rng.random, reversal_limit("weibull", 1.0)),
}
shares = {name: {d: end_reversals(*draw((2, 2000, d))) for d in (8, 32, 128, 512)} for name, (draw, _) in LAWS.items()}
counts = {d: np.bincount(classify_pairs(*rng.standard_normal((2, 2000, d))).count) / 2000 for d in (8, 64)}

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained", width_ratios=(3, 2))
plots.reversal_shares(shares, {name: limit for name, (_, limit) in LAWS.items()}, axes=left)
left.legend(loc="upper left", ncols=2)
left.set_ylim(0, 0.75)
for place, (look, (d, share)) in enumerate(zip(LOOKS, counts.items(), strict=False)):
    at, name = np.arange(len(share)) + 0.4 * place, f"{d} tokens"
    bars = right.bar(at, share, 0.4, facecolor=look.color, hatch=look.hatch, edgecolor="white", label=name)
    right.bar_label(bars, [f"{100 * part:.1f} %" for part in share], fontsize=8)
right.set(title="normal logits", xlabel="crossings of a pair, certified", ylabel="share of pairs", xticks=range(4))
_ = right.legend()

# %% [markdown]
# Dashed lines are the limits, bars the 95 % intervals. Normal logits come to their limit slowly.

# %% [markdown]
# ## 3. Freezing
#
# Let the logits be normal with deviation $\sigma$. Below any fixed share of the freezing scale $\sqrt{2 \log d} /
# \sigma$ the probability of a reversal goes to 0, and above any fixed multiple it does not: both are proved. What
# happens within a vanishing factor of that scale is open.

# %%
RHO, frozen = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0), {}
for d in (16, 256, 4096):
    counted = scale_reversals(*rng.standard_normal((2, 1000, d)), np.array(RHO) * freezing_scale(d))
    frozen[f"d = {d:,}"] = dict(zip(RHO, counted, strict=True))
plots.reversal_shares(frozen, across="scale, over the freezing scale", border=1.0)

# %% [markdown]
# Left of the line the share falls as the vocabulary grows, but slowly: at real sizes it is not 0.

# %% [markdown]
# ## 4. Ahead at every scale
#
# If the $m$ smallest gaps of $a$ sum to at least those of $b$, for every $m$, then $a$ is ahead at every scale. With
# four tokens the converse fails. The gaps 2, 2, 5 are ahead of 1, 4, 4 at every scale, although 2 + 2 < 1 + 4.

# %%
a, b = np.array([0, -2, -2, -5]), np.array([0, -1, -4, -4])
verdict, rung = majorises(a, b), dominance_order(a.tolist(), b.tolist())
at, scales = np.linspace(0, 7, 400)[:, None], np.geomspace(0.05, 8, 200)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
left.semilogx(scales, max_probability(a, scales) - max_probability(b, scales), color=BLUE)
left.set(title="ahead at every scale", xlabel="scale", ylabel="confidence of a less that of b", ylim=(0, None))
for look, k in zip(LOOKS, (2, 3), strict=False):
    of_a, of_b = (np.maximum(at + x[1:], 0) ** (k - 1) for x in (a, b))
    right.plot(at, (of_a - of_b).sum(axis=1), color=look.color, linestyle=look.dash, label=f"rung {k}")
right.set(title="it suffices that one rung is never above 0", xlabel="t [nats]", ylabel="$D_k(t)$")
_ = right.legend()

# %% [markdown]
# Majorisation is the second rung of a ladder. Where a is ahead at every scale, some rung of it proves so.

# %% [markdown]
# ## 5. How far the scale may move
#
# One evaluation at scale 1 proves an interval of scales that choose the same position. The exact interval costs more,
# and is proved too. Both are drawn here for every step of a decode by `mini`.

# %%
mini = load_predictor("mini")
(trace,) = decode(mini, mini.prompts[3], "default", Shape(32, 32, 32))
rows = [step_logits(trace, mini, step).logits for step in range(31)]
radii = [stability_radius(logits, 1) for logits in rows]
plots.stability(radii)

# %% [markdown]
# ## 6. A threshold commits more tokens at a larger scale
#
# Confidence does not fall as the scale grows. So each position passes a threshold at most once, upwards, and the number
# of positions is a step function that never falls. These are the 24 open positions of step 8 of the same decode.

# %%
paths = [threshold_path(rows[8], tau, 0.1, 10.0) for tau in (0.5, 0.7, 0.9, 0.97)]
plots.threshold_counts(*paths)

# %% [markdown]
# ## 7. When scaling raises reward
#
# At every step, and whatever is committed, a larger factor raises the mean reward in one case only: the reward ranks
# outcomes as the model does. Lines are the mean rewards given every set of two or three words of 8/13, 4/13 and 1/13.

# %%
P, REWARDS = np.array([8, 4, 1]), {"ranks as the model does": [2, 1, 0], "does not": [2, 0, 1]}
raises = {name: scaling_raises_reward(P, reward) for name, reward in REWARDS.items()}
sets = [list(some) for size in (2, 3) for some in combinations(range(3), size)]
figure, panels = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", sharey=True)
for panel, (name, reward) in zip(panels, REWARDS.items(), strict=True):
    for look, some in zip(LOOKS, sets, strict=False):
        mean = scaled_reward_mean(np.log(P[some]), np.array(reward)[some], scales)
        width, words = 4 if mean[-1] < mean[0] else 1.5, " or ".join(map(str, P[some]))
        panel.semilogx(scales, mean, color=look.color, linestyle=look.dash, linewidth=width, label=words)
    panel.set(title=f"the reward {name}: {reward}", xlabel="scale $c$", ylabel="mean reward")
_ = panels[0].legend(title="given the words of weight")

# %% [markdown]
# The thick line falls: of the two less likely words, the likelier one has the smaller reward.

# %% [markdown]
# ## 8. Confidence is an entropy, and the best position changes seldom
#
# A position of confidence $P(c)$ at scale $c$ has $-\log P(c) = c H_\infty + (1 - c) H_c$, its Renyi entropies at
# scale 1. Where no two curves cross twice, as with three tokens, the best of $n$ positions changes at most $n - 1$
# times.


# %%
def bent(n):
    """Logits of n positions of three tokens, made so that each is the best one at some scale."""
    q = np.linspace(0, 0.4, n)
    sums, halves = 1 + 0.1 * q - 0.1 * q**2, np.sqrt(2 * q)
    return -np.stack([0 * q, sums - halves, sums + halves], axis=1)


NUMBERS = (2, 4, 8, 16, 32)
random = [len(selection_path(rng.normal(size=(n, 3)), 1, 1e-3, 100.0).pieces) for n in NUMBERS for _ in range(20)]
built = [len(selection_path(bent(n), 1, 1e-3, 100.0).pieces) for n in NUMBERS]

# %%
p, c = np.array([0.5, 0.3, 0.2]), np.linspace(0.1, 3, 30)
parts = {"$c H_\\infty$": -c * np.log(p.max()), "$(1 - c) H_c$": np.log((p[:, None] ** c).sum(axis=0))}
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
left.plot(c, -np.log(max_probability(np.log(p), c)), linewidth=6, color=PALE, label="$-\\log P(c)$")
for look, (name, part) in zip(LOOKS, {**parts, "their sum": sum(parts.values())}.items(), strict=False):
    left.plot(c, part, color=look.color, linestyle=look.dash, label=name)
left.set(title="probabilities 0.5, 0.3, 0.2", xlabel="scale $c$", ylabel="nats")
right.plot(np.repeat(NUMBERS, 20) + rng.uniform(-0.5, 0.5, 100), random, ".", color=BLUE, label="random positions")
right.plot(NUMBERS, built, "s", color=VERMILION, label="made to change often")
right.plot(NUMBERS, NUMBERS, color=GREY, label="at most n")
right.set(title="three tokens each", xlabel="positions n", ylabel="turns of the best position")
_ = left.legend(), right.legend()

# %% [markdown]
# ## Findings
#
# Computed from the cells above:

# %%
ends = {name: shares[name][512].interval() for name in LAWS}
tight = np.median([min(radius.cheap[1] - 1, 1 - radius.cheap[0]) / radius.radius for radius in radii])
apart = min(low for low, _ in exchange["mini"]), max(low for low, _ in exchange["mini"])
gap = np.abs(sum(parts.values()) + np.log(max_probability(np.log(p), c))).max()
fall = raises["does not"].fall

# %%
held = [low <= LAWS[name][1].upper and LAWS[name][1].lower <= high for name, (low, high) in ends.items()]
first, last = (frozen[name][0.5].share for name in ("d = 16", "d = 4,096"))
findings = f"""
1. With one drawn token a step, the distance from the law is **{max(each[0] for each in parallel.values())}** in every
   order. Argmax writes **{len(set(argmax))}** texts. The exchange distances of `mini` reach {apart[1]:.2f}, and the
   least is {apart[0]:.1g}: its conditionals are of **{"no" if apart[1] > 1e-3 else "one"}** joint law.
2. With 512 tokens **{sum(held)} of {len(held)}** intervals hold their limit. Of normal pairs with 64 tokens,
   {100 * counts[64][2:].sum():.1f} % cross more than once.
3. At half the freezing scale, {100 * first:.1f} % of pairs of 16 tokens are reversed, and {100 * last:.1f} % of 4,096.
"""

# %%
rises = all(np.diff([len(piece.positions) for piece in path.pieces]).min() > 0 for path in paths)
Markdown(f"""{findings}
4. Majorisation fails at m = {verdict.fails_at[0]}, and yet a is **{"never" if verdict.never_behind else "at times"}**
   behind: rung {rung} of the ladder proves it.
5. **{sum(radius.certified for radius in radii)} of {len(radii)}** exact intervals are certified, and one evaluation
   proves {100 * tight:.0f} % of the radius (median).
6. The number above a threshold **{"never falls" if rises else "falls"}**.
7. The first reward **{"never falls" if raises["ranks as the model does"] else "can fall"}**, the second from
   {float(fall.before):.3f} ({fall.before}) to {float(fall.after):.3f} ({fall.after}) once the logits are doubled.
8. Both entropies give the confidence {"up to rounding" if gap < 1e-12 else "wrongly"}. The best of 32 positions takes
   **{built[-1]}** turns where it was made to, and at most {max(random)} at random.
""")
