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
# # How far may the factor move?
#
# A decoder commits the most confident positions, and a factor on all logits changes the ranking. Reward-weighted
# sampling (RWS) does nothing else. This notebook takes one decode, and asks what can be proved of it without another.
# The proofs are in `docs/theory.md`, sections 15 to 20.
#
# **Question.** How far may the factor move before another position is committed?
#
# **You will learn** to prove an interval of factors that changes nothing, and to say how often a factor changes an
# order.
#
# **Prediction.** Write down your answers before you go on.
#
# 1. At how many of the 31 steps of a decode can no factor at all change which position is first?
# 2. A decoder commits every position above a threshold, and its factor grows. Can fewer positions be committed?
# 3. Two positions have random logits of no meaning. How often does a factor reverse their order: never, in a quarter
#    of all pairs, or in half?
# 4. How often can the best of 32 positions change, on the whole axis?

# %%
import numpy as np
from IPython.display import Markdown, display

import rws_theory as theory
from rws_decode import Shape, decode, load_predictor, plots, step_logits
from rws_decode.view.plots.sheet import panels_of
from rws_theory.majorisation import dominance_order

rng, SCALES = np.random.default_rng(0), np.geomspace(0.05, 8, 200)

# %% [markdown]
# ## 1. A decode, and how far its factor may move
#
# One evaluation at factor 1 proves an interval of factors that choose the same position. The exact interval costs more,
# and is proved too. Both are shown here for every step of a decode by the toy story model.

# %%
mini = load_predictor("mini")
(trace,) = decode(mini, mini.prompts[3], "default", Shape(32, 32, 32))
rows = [step_logits(trace, mini, step).logits for step in range(31)]
radii = [theory.stability_radius(logits, 1) for logits in rows]
plots.stability(radii)

# %% [markdown]
# ## 2. A threshold commits more tokens at a larger factor
#
# Confidence does not fall as the factor grows. So each position passes a threshold at most once, upwards, and the
# number of positions is a step function that never falls. These are the 24 open positions of step 8 of the same decode.

# %%
paths = [theory.threshold_path(rows[8], tau, 0.1, 10.0) for tau in (0.5, 0.7, 0.9, 0.97)]
plots.threshold_counts(*paths)

# %% [markdown]
# ## 3. How often a factor reverses two positions
#
# Two positions have independent random logits of one distribution. A pair is reversed if its order near factor 0 is not
# that at large factors. For many tokens its probability depends, in the distributions sampled here, on the upper tail
# alone. It is 1/4 for tails such as the normal one, less for heavy tails, and more, up to 1/2, for bounded logits.

# %%
SAMPLES = {
    "normal": (rng.standard_normal, ("gumbel",)),
    "exponential": (rng.standard_exponential, ("gumbel",)),
    "Pareto, alpha 3": (lambda shape: rng.pareto(3, shape), ("frechet", 3.0)),
    "Pareto, alpha 1": (lambda shape: rng.pareto(1, shape), ("frechet", 1.0)),
    "bounded, alpha 3": (lambda shape: rng.beta(1, 3, shape), ("weibull", 3.0)),
    "uniform (alpha 1)": (rng.random, ("weibull", 1.0)),
}

# %%
sizes, pairs = (8, 32, 128, 512), {}
for name, (sample, _) in SAMPLES.items():
    pairs[name] = {d: theory.end_reversals(*sample((2, 2000, d))) for d in sizes}
counts = {d: np.bincount(theory.classify_pairs(*rng.standard_normal((2, 2000, d))).count) / 2000 for d in (8, 64)}
limits = {name: theory.reversal_limit(*tail) for name, (_, tail) in SAMPLES.items()}
plots.reversal_shares(pairs, limits)

# %% [markdown]
# Normal logits come to their limit slowly.

# %% [markdown]
# ## 4. At a large factor the order freezes
#
# Let the logits be normal with standard deviation $\sigma$. Below any fixed share of the freezing scale
# $\sqrt{2 \log d} / \sigma$ the probability of a reversal goes to 0, and above any fixed multiple it does not: both are
# proved. What happens within a vanishing factor of that scale is open.

# %%
RHO, frozen = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0), {}
for d in (16, 256, 4096):
    counted = theory.scale_reversals(*rng.standard_normal((2, 1000, d)), np.array(RHO) * theory.freezing_scale(d))
    frozen[f"d = {d:,}"] = dict(zip(RHO, counted, strict=True))
plots.reversal_shares(frozen, across="factor over the freezing scale", border=1.0)

# %% [markdown]
# Left of the line the share falls as the vocabulary grows, but slowly: at real sizes it is not 0.

# %% [markdown]
# ## 5. Ahead at every factor
#
# If the $m$ smallest gaps of $a$ sum to at least those of $b$, for every $m$, then $a$ is ahead at every factor. With
# four tokens the converse fails. The gaps 2, 2, 5 are ahead of 1, 4, 4 at every factor, although 2 + 2 < 1 + 4.

# %%
a, b = np.array([0, -2, -2, -5]), np.array([0, -1, -4, -4])
verdict, rung = theory.majorises(a, b), dominance_order(a.tolist(), b.tolist())
figure, (left, right) = panels_of(None, 1, 2, (10.0, 3.8))
left.semilogx(SCALES, theory.max_probability(a, SCALES) - theory.max_probability(b, SCALES))
left.set(title="ahead at every factor", xlabel="factor $c$", ylabel="confidence of a less that of b", ylim=(0, None))
t = np.linspace(0, 7, 400)[:, None]
for k in (2, 3):
    of_a, of_b = (np.maximum(t + x[1:], 0) ** (k - 1) for x in (a, b))
    right.plot(t, (of_a - of_b).sum(axis=1), {2: "-", 3: "--"}[k], label=f"rung {k}")
right.set(title="it suffices that one rung is never above 0", xlabel="t [nats]", ylabel="$D_k(t)$")
right.legend()
display(figure)

# %% [markdown]
# Majorisation is the second rung of a ladder. Where a is ahead at every factor, some rung of it proves so.

# %% [markdown]
# ## 6. Confidence is an entropy, and the best position changes seldom
#
# A position of confidence $P(c)$ at factor $c$ has $-\log P(c) = c H_\infty + (1 - c) H_c$, its Renyi entropies at
# factor 1. Where no two curves cross twice, as with three tokens, each of $n$ positions is the best one at most once:
# there are at most $n$ turns.


# %%
NUMBERS = (2, 4, 8, 16, 32)
random = [
    len(theory.selection_path(rng.normal(size=(n, 3)), 1, 1e-3, 100.0).pieces) for n in NUMBERS for _ in range(20)
]


def bent(n):
    """Logits of n positions of three tokens, made so that each is the best one at some factor."""
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
left.set(title=f"probabilities {p}", xlabel="factor $c$", ylabel="nats")
for panel in (left, right):
    panel.legend()
display(figure)

# %% [markdown]
# ## Exercise
#
# A decoder commits two positions a step. How far may the factor move then, at step 8 of the decode above?
#
# <details><summary>Solution</summary>
#
# <pre>radius = theory.stability_radius(rows[8], 2)
# print(radius.lower, radius.upper)</pre>
#
# </details>
#
# ## Findings
#
# Computed from the cells above:

# %%
held = [pairs[name][512].interval() for name in limits]
held = [low <= limit.upper and limit.lower <= high for (low, high), limit in zip(held, limits.values(), strict=True)]
never = sum(radius.lower == 0 and np.isinf(radius.upper) for radius in radii)
narrow = min(radii, key=lambda radius: radius.radius)
tight = np.median([min(radius.cheap[1] - 1, 1 - radius.cheap[0]) / radius.radius for radius in radii])
gap = np.abs(sum(parts) - surprise).max()
first, last = (frozen[name][0.5].share for name in ("d = 16", "d = 4,096"))
rises = all(np.diff([len(piece.positions) for piece in path.pieces]).min() > 0 for path in paths)

# %%
findings = f"""
1. At **{never} of {len(radii)}** steps no factor changes the first position. The narrowest interval goes from
   {narrow.lower:.3f} to {narrow.upper:.3f}. {sum(radius.certified for radius in radii)} intervals are certified, and
   one evaluation proves {100 * tight:.0f} % of the radius (median).
2. The number above a threshold **{"never falls" if rises else "falls"}** as the factor grows.
3. With 512 tokens **{sum(held)} of {len(held)}** intervals hold their limit. Of normal pairs with 64 tokens,
   {100 * counts[64][2:].sum():.1f} % cross more than once. At half the freezing scale, {100 * first:.1f} % of pairs of
   16 tokens are reversed, and {100 * last:.1f} % of 4,096.
"""

# %%
Markdown(f"""{findings}
4. The best of 32 positions changes **{built[-1] - 1}** times where it was made to, and at most
   {max(random) - 1} times at random. Both entropies give the confidence
   {"up to rounding" if gap < 1e-12 else "wrongly"}.
5. Majorisation fails at m = {verdict.fails_at[0]}, and yet a is **{"never" if verdict.never_behind else "at times"}**
   behind: rung {rung} of the ladder proves it.
""")
