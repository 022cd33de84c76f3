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
# # Ranks that reverse
#
# Two masked positions, *a* and *b*, wait to be committed. Position *a* is the more confident one: its best token has
# the larger softmax probability. Now all logits are multiplied by a factor $r$. Each position keeps its best token, but
# the order of the two confidences can change.
#
# **Question.** Can one tell from a few numbers about the logits at which factors the order is reversed?
#
# **You will learn** to draw the confidence of two positions over all factors, and to test a theorem on random pairs.
#
# **Prediction.** Theorem 1 of the paper says so. Let the *gaps* of a position be the distances from its best logit to
# its other logits, $\Sigma$ their sum and $\delta$ the smallest. Given $P^a(1) > P^b(1)$, *exactly one* holds:
#
# - (a) if $\Sigma_a < \Sigma_b$, there is a *unique* crossing in $(0, 1)$, and *b* is ahead below it;
# - (b) if $\delta_a > \delta_b$, there is a *unique* crossing in $(1, \infty)$, and *b* is ahead above it;
# - (c) otherwise *a* is ahead at every factor.
#
# Before you go on, decide what you expect for the paper's own example, the logits $a = (1.1, 0.6, 0.3)$ and
# $b = (1.0, 0.4, 0.4)$: which of the three applies, and where do the curves cross?

# %%
import numpy as np
from IPython.display import Markdown, display

from paper_figures.extra.notebook_plots import ranks
from paper_figures.statistics.intervals import exact_share
from rws_decode import plots
from rws_theory.theorem1 import theorem1

pairs = {name: ranks.pair_of(*gaps) for name, gaps in ranks.PAIRS.items()}
verdicts = {name: theorem1(*pair) for name, pair in pairs.items()}

# %% [markdown]
# ## A picture of a pair, and the paper's own example
#
# On the left the two confidences. They are often too close to tell apart. So the right shows who is ahead: the
# difference of the log-odds, $-\log F_a(r) + \log F_b(r)$ with $F(r) = \sum_k e^{-r \cdot \mathrm{gap}_k}$, *divided
# by* $r$. Above zero *a* is ahead, below zero *b*. The curve starts (for $r \to 0$) at the difference of the mean
# gaps. It ends (for $r \to \infty$) at the difference of the smallest gaps. Both are dotted. Theorem 1 tries to tell
# from these two ends what happens in between.
#
# Of its own example, Appendix D prints a crossing at 1.73. The reason it gives is "because $\delta_a < \delta_b$": the
# opposite of what (b) says.

# %%
plots.confidence_curves(pairs["the paper's example"], names="ab", unit="probability")

# %%
example, golden = verdicts["the paper's example"], 10 * np.log((1 + np.sqrt(5)) / 2)
display(example)
Markdown(f"""
The curves cross at {example.crossings.roots[0]:.10f}; ten times the logarithm of the golden ratio is {golden:.10f}. The
premise that is met is that of (b) *mended*; as printed, (c) applies and is false.
""")

# %% [markdown]
# ## Three more pairs
#
# Is it only the sign in (b)? Predict for each pair below, from the two dotted ends of the curve, how often it crosses
# zero, and on which side of $r = 1$.

# %%
for name in list(pairs)[1:]:
    display(Markdown(f"**{name}**"), plots.confidence_curves(pairs[name], names="ab", unit="probability"))
    print(verdicts[name])

# %% [markdown]
# ## Drag the factor
#
# The same four pairs. Choose one and drag the factor: see which position would be committed first. (The page works by
# itself, also in this notebook saved as HTML. Jupyter shows it once you have run its cell or trusted the notebook;
# GitHub leaves it out.)

# %%
ranks.drag(pairs)

# %% [markdown]
# ## What the ends of the curve do decide
#
# Not the number of crossings, but whether it is **odd or even** (a tangency counts twice). The curve has to get from
# one side of zero to the other an odd number of times, or back to its own side an even number of times. Which side it
# starts from is told by the first power sum $\sum_k \mathrm{gap}_k^m$ in which the two positions differ ($m = 1$:
# $\Sigma$). Which side it ends on is told by the smallest gap that they do not share.
#
# One *sufficient* condition does exclude crossings. If for every $m$ the $m$ smallest gaps of *a* add up to at least as
# much as those of *b*, then *a* is ahead at every factor.
#
# How often does each statement fail for random pairs, with gaps that are integers from 1 to 39? (Bars: 95 %
# intervals.)


# %%
def is_refuted(verdict):
    """Whether a pair refutes the theorem as printed, with (b) mended, and the corrected statement."""
    corrected = any(claim.holds is False for claim in verdict.corrected)
    return verdict.printed_holds is False, verdict.mended_holds is False, corrected


SAMPLED, rng = 100, np.random.default_rng(0)
shares = {"as printed": {}, "(b) mended": {}, "odd or even, and no-flip": {}}

# %%
for d in range(3, 9):
    sample = []
    while len(sample) < SAMPLED:
        random = theorem1(*([0, *(-rng.integers(1, 40, d - 1)).tolist()] for _ in "ab"))
        sample += [is_refuted(random)] if random.hypothesis else []
    for name, refuted in zip(shares, zip(*sample, strict=True), strict=True):
        shares[name][d] = [100 * end for end in exact_share(sum(refuted), SAMPLED)]
plots.intervals(shares, "number of tokens d", "pairs that refute it [%]")

# %% [markdown]
# ## Exercise
#
# Change the gaps of the two positions below and run the cell. Write them as fractions or decimals, which are taken as
# exact. Can you find a pair with no crossing although the no-flip condition fails?
#
# <details><summary>Solution</summary>
#
# <pre>mine = ranks.pair_of("2 2 5", "1 4 4")</pre>
#
# The two smallest gaps of *a* sum to 4, those of *b* to 5, and yet *a* is ahead at every factor.
#
# </details>

# %%
mine = ranks.pair_of("1 7/4 2", "3/2 3/2 3/2")
display(plots.confidence_curves(mine, names="ab", unit="probability"), theorem1(*mine))

# %% [markdown]
# ## Conclusion
#
# From the sums and the smallest gaps, where they differ, one can tell whether the number of crossings on each side of 1
# is odd or even. One cannot tell how many there are, nor where. The theorem has four faults: the sign of (b) is wrong;
# both flips can happen to one pair; a flip can happen where it allows none; and crossings need not be unique. The three
# pairs above are named after the last three. Computed from them:

# %%
printed = sum(each.printed_holds is False for each in verdicts.values())
mended = sum(each.mended_holds is False for each in verdicts.values())
correct = all(claim.holds for each in verdicts.values() for claim in each.corrected)
proved = "proved" if all(each.crossings.complete for each in verdicts.values()) else "not proved"
most = [max(share[0] for share in each.values()) for each in shares.values()]

# %%
Markdown(f"""
- Theorem 1, with the sign of (b) mended, is false of **{mended} of {len(verdicts)}** pairs, and of up to
  {most[1]:.0f} % of the random ones; with the sign as printed, of {printed}, and of up to {most[0]:.0f} %.
- Every crossing of these pairs is {proved} to be listed, and the corrected statement is
  **{"true of all of them" if correct else "refuted"}**; up to {most[2]:.0f} % of the random ones refute it.
""")
