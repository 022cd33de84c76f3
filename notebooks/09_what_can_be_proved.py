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

import numpy as np
from IPython.display import Markdown, display

import rws_theory as theory
from paper_figures.extra.lessons import proved as lesson
from rws_decode import Shape, decode, load_predictor, plots, step_logits
from rws_decode.view.plots.sheet import panels_of
from rws_theory.majorisation import dominance_order
from rws_theory.tilting import scaled_reward_mean

rng, SCALES = np.random.default_rng(0), np.geomspace(0.05, 8, 200)

# %% [markdown]
# ## 1. An order changes nothing, with three exceptions
#
# Draw one token a step from exact conditionals. Then every order writes the same law, and no order can carry a reward.
# The exceptions: the likeliest token is taken instead of a drawn one, several tokens are committed in a step, or the
# conditionals belong to no joint law. (Ranking by the token that was drawn is another, in section 16 of the theory.)
# The first two are computed here in fractions, for four positions and three words.

# %%
table = rng.integers(1, 30, (3, 3, 3, 3))
argmax, parallel = lesson.argmax_texts(table), lesson.distances_of_orders(table)

# %% [markdown]
# For the third we ask the shipped network `mini`, and the exact world `english`, both on canvases of 12 tokens. Draw
# one position before its neighbour, then after it. The total variation between the two laws is the *exchange distance*.
# It is 0 on every canvas if there is a joint law, and one that is not 0 proves that there is none.


# %%
exchange = {"mini": [bounds for revealed in (4, 8) for bounds in lesson.exchange_distances("mini", revealed, 0.05)]}
exchange["english"] = lesson.exchange_distances("english", 8, 0.0)
lesson.draw_orders(parallel, argmax, exchange)

# %% [markdown]
# Two more laws stand beside ours on the left: four copies of one token, and independent tokens. One drawn token a
# step is at 0 in every order, and argmax, which writes one text, is far off. On the right, the exact world is at 0 but
# for rounding. `mini` is not: no joint law stands behind it.

# %% [markdown]
# ## 2. The quarter law
#
# Two positions have independent random logits of one law. A pair is reversed if its order near scale 0 is not that at
# large scales. For many tokens its probability depends, in the laws drawn here, on the upper tail alone. It is 1/4 for
# tails such as the normal one, less for heavy tails, and more, up to 1/2, for bounded logits.

# %%
sizes, pairs = (8, 32, 128, 512), {}
for name, (draw, _) in lesson.laws().items():
    pairs[name] = {d: theory.end_reversals(*draw(rng, (2, 2000, d))) for d in sizes}
counts = {d: np.bincount(theory.classify_pairs(*rng.standard_normal((2, 2000, d))).count) / 2000 for d in (8, 64)}
lesson.draw_reversals(pairs, counts)

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
    counted = theory.scale_reversals(*rng.standard_normal((2, 1000, d)), np.array(RHO) * theory.freezing_scale(d))
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
verdict, rung = theory.majorises(a, b), dominance_order(a.tolist(), b.tolist())
figure, (left, right) = panels_of(None, 1, 2, (10.0, 3.8))
left.semilogx(SCALES, theory.max_probability(a, SCALES) - theory.max_probability(b, SCALES))
left.set(title="ahead at every scale", xlabel="scale", ylabel="confidence of a less that of b", ylim=(0, None))
t = np.linspace(0, 7, 400)[:, None]
for k in (2, 3):
    of_a, of_b = (np.maximum(t + x[1:], 0) ** (k - 1) for x in (a, b))
    right.plot(t, (of_a - of_b).sum(axis=1), {2: "-", 3: "--"}[k], label=f"rung {k}")
right.set(title="it suffices that one rung is never above 0", xlabel="t [nats]", ylabel="$D_k(t)$")
right.legend()
display(figure)

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
radii = [theory.stability_radius(logits, 1) for logits in rows]
plots.stability(radii)

# %% [markdown]
# ## 6. A threshold commits more tokens at a larger scale
#
# Confidence does not fall as the scale grows. So each position passes a threshold at most once, upwards, and the number
# of positions is a step function that never falls. These are the 24 open positions of step 8 of the same decode.

# %%
paths = [theory.threshold_path(rows[8], tau, 0.1, 10.0) for tau in (0.5, 0.7, 0.9, 0.97)]
plots.threshold_counts(*paths)

# %% [markdown]
# ## 7. When scaling raises reward
#
# At every step, and whatever is committed, a larger factor raises the mean reward in one case only: the reward ranks
# outcomes as the model does. Lines are the mean rewards given every set of two or three words of 8/13, 4/13 and 1/13.

# %%
P, REWARDS = np.array([8, 4, 1]), {"ranks as the model does": [2, 1, 0], "does not": [2, 0, 1]}
raises = {name: theory.scaling_raises_reward(P, reward) for name, reward in REWARDS.items()}
sets = [list(some) for size in (2, 3) for some in combinations(range(3), size)]
figure, panels = panels_of(None, 1, 2, (10.0, 3.8), sharey=True)
for panel, (name, reward) in zip(panels, REWARDS.items(), strict=True):
    for some in sets:
        mean = scaled_reward_mean(np.log(P[some]), np.array(reward)[some], SCALES)
        panel.semilogx(SCALES, mean, linewidth=4 if mean[-1] < mean[0] else 1.5, label=" or ".join(map(str, P[some])))
    panel.set(title=f"the reward {name}: {reward}", xlabel="scale $c$", ylabel="mean reward")
panels[0].legend(title="given the words of weight")
display(figure)

# %% [markdown]
# The thick line falls: of the two less likely words, the likelier one has the smaller reward.

# %% [markdown]
# ## 8. Confidence is an entropy, and the best position changes seldom
#
# A position of confidence $P(c)$ at scale $c$ has $-\log P(c) = c H_\infty + (1 - c) H_c$, its Renyi entropies at
# scale 1. Where no two curves cross twice, as with three tokens, each of $n$ positions is the best one at most once:
# there are at most $n$ turns.


# %%
NUMBERS = (2, 4, 8, 16, 32)
random = [
    len(theory.selection_path(rng.normal(size=(n, 3)), 1, 1e-3, 100.0).pieces) for n in NUMBERS for _ in range(20)
]


def bent(n):
    """Logits of n positions of three tokens, made so that each is the best one at some scale."""
    q = np.linspace(0, 0.4, n)
    return -np.stack([0 * q, 1 + 0.1 * q - 0.1 * q**2 - np.sqrt(2 * q), 1 + 0.1 * q - 0.1 * q**2 + np.sqrt(2 * q)], 1)


built = [len(theory.selection_path(bent(n), 1, 1e-3, 100.0).pieces) for n in NUMBERS]

# %%
p, c = np.array([0.5, 0.3, 0.2]), np.linspace(0.1, 3, 30)
surprise = -np.log(theory.max_probability(np.log(p), c))
parts = -c * np.log(p.max()), np.log((p[:, None] ** c).sum(axis=0))
names = "$c H_\\infty$", "$(1 - c) H_c$", "their sum"

# %%
figure, (left, right) = panels_of(None, 1, 2, (10.0, 3.8))
left.plot(c, surprise, linewidth=6, color="#d9d9d9", label="$-\\log P(c)$")
for part, look, name in zip((*parts, sum(parts)), ("-", "--", ":"), names, strict=True):
    left.plot(c, part, look, label=name)
right.plot(np.repeat(NUMBERS, 20) + rng.uniform(-0.5, 0.5, 100), random, ".", label="random positions")
right.plot(NUMBERS, built, "s", label="made to change often")
right.set(title="three tokens each", xlabel="positions n", ylabel="turns of the best position")
left.set(title=f"probabilities {p}", xlabel="scale $c$", ylabel="nats")
for panel in (left, right):
    panel.legend()
display(figure)

# %% [markdown]
# ## Findings
#
# Computed from the cells above:

# %%
held = [pairs[name][512].interval() for name in lesson.laws()]
limits = [limit for _, limit in lesson.laws().values()]
held = [low <= limit.upper and limit.lower <= high for (low, high), limit in zip(held, limits, strict=True)]
tight = np.median([min(radius.cheap[1] - 1, 1 - radius.cheap[0]) / radius.radius for radius in radii])
apart = min(low for low, _ in exchange["mini"]), max(low for low, _ in exchange["mini"])
gap = np.abs(sum(parts) - surprise).max()
first, last = (frozen[name][0.5].share for name in ("d = 16", "d = 4,096"))

# %%
rises = all(np.diff([len(piece.positions) for piece in path.pieces]).min() > 0 for path in paths)
fall = raises["does not"].fall
findings = f"""
1. With one drawn token a step, the distance from the law is **{max(each[0] for each in parallel.values())}** in every
   order. Argmax writes **{len({text for text, _ in argmax})}** texts. The exchange distances of `mini` reach
   {apart[1]:.2f}, and the least is {apart[0]:.1g}: its conditionals are
   of **{"no" if apart[1] > 1e-3 else "one"}** joint law.
2. With 512 tokens **{sum(held)} of {len(held)}** intervals hold their limit. Of normal pairs with 64 tokens,
   {100 * counts[64][2:].sum():.1f} % cross more than once.
3. At half the freezing scale, {100 * first:.1f} % of pairs of 16 tokens are reversed, and {100 * last:.1f} % of 4,096.
"""

# %%
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
