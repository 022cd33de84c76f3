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
# # Expected reward: tilting is not scaling
#
# Reward-weighted sampling (RWS) multiplies all logits of a step by one factor $c$, which rises with the reward of the
# greedily completed text. The paper's Theorem 2 is about another operation: *tilting* $p$ by the reward, to
# $p_r(x) \propto p(x)\, e^{r R(x)}$. Multiplying logits by $c$ gives $p(x)^c / Z$ instead, in which $R$ does not occur.
#
# **Question.** Theorem 2 says that tilting raises the expected reward. Does scaling raise it, and does RWS end with
# more reward than decoding that ignores the reward?
#
# **Prediction.** Write down your answers before you go on.
#
# 1. Three words have probabilities 8/13, 4/13 and 1/13, and just one of them has reward 1. The logits are multiplied
#    by a growing $c$. For which of the three words does the expected reward rise?
# 2. On small models whose probabilities are known exactly, RWS decodes beside confidence decoding ($c = 1$), beside a
#    constant factor, beside its own rewards shuffled among the steps, and beside rewards of the wrong sign. Which of
#    the four does it beat in the reward of its output?

# %%
from IPython.display import Markdown

from paper_figures.lessons import corollary, tilting
from rws_theory.tilting import variance_identity
from rws_theory.worlds.ensembles import corollary_study
from rws_theory.worlds.less_reward import rws_less_reward_example

# %% [markdown]
# ## One axis for both
#
# Scaling is tilting too, but by $\log p$ in place of the reward: $p^c = p\, e^{(c-1) \log p}$. So both leave $p$ as it
# is at one place, $r = 0$ and $c = 1$, and can be drawn over one axis: $r$ for tilting, $c - 1$ for scaling. The slopes
# are
#
# $$\frac{d}{dr} E_{p_r}[R] = \mathrm{Var}_{p_r}[R] \ge 0, \qquad
#   \frac{d}{dc} E_{p^c}[R] = \mathrm{Cov}_{p^c}(\log p, R), \text{ of either sign.}$$

# %%
tilting.means_picture(tilting.WEIGHTS, tilting.REWARDS)

# %%
tilting.slopes(tilting.WEIGHTS, tilting.REWARDS)

# %% [markdown]
# Where the reward rises with the probability, scaling up helps, at every $c$. Else nothing is promised. The factor of
# RWS is a number that the reward *of the whole text* sets. It says how strongly to scale, not in which direction.
#
# ## Drag it yourself
#
# Bars: the three distributions. Lines: their expected rewards. Where does scaling lower the expected reward at $c < 1$
# *and* at $c > 1$? Where does tilting lower it? (The page works by itself, also in this notebook saved as HTML. Jupyter
# shows it once you have run its cell or trusted the notebook; GitHub leaves it out. For weights and rewards of your own
# change the cell: `tilting.drag({"cat": 3, "dog": 2}, {"on the dog": (0, 1)})`.)

# %%
tilting.drag(tilting.WEIGHTS, tilting.REWARDS)

# %% [markdown]
# ## A step of the proof that does not hold
#
# Theorem 2 is true. Its proof in Appendix E goes from $A'(r) = A'(0) + \int_0^r \mathrm{Var}_{p_s}[R]\, ds$ to
# $A'(r) = A'(0) + r\, \mathrm{Var}_{p_r}[R]$, as if the variance were the same all the way. Two words of probability
# 1/2 with rewards 0 and 1 show that it is not: the gain grows to 1/2, the printed expression falls back to 0. What
# holds is $r\, \mathrm{Var}_{p_s}[R]$ at *some* $s$ between 0 and $r$.

# %%
tilting.identity_picture(at=2.0)

# %%
at_two = variance_identity([0.0, 0.0], [0.0, 1.0], 2.0)
print(at_two)

# %% [markdown]
# ## What a factor changes in one step: where, not what
#
# RWS does not draw from $p^c$ either. It commits, at the most confident positions, the best token of each. A positive
# factor leaves every position's best token as it is. So within a step the greedy completion, and with it the reward
# that is asked, is the same at every factor; only the *order* of the positions can change.
#
# What that is worth depends on the model. Here is the smallest one on which it costs: two positions, three words, seven
# equally likely draws, and a reward of 1 if the first word is "0".

# %%
decodes = corollary.decode_both(rws_less_reward_example())
corollary.order_picture(decodes)

# %%
corollary.decodes_table(decodes)

# %% [markdown]
# One model refutes a guarantee; it says nothing of how often. So:
#
# ## RWS beside decoding that ignores its reward
#
# Random joint tables over 4 words and 5 positions (softmax of normal weights, Dirichlet, Markov chains), with their
# exact conditionals as the model, and RWS at $s_R = 8$, one token a step. There are three kinds of reward:
#
# - the log-probability itself, the best case for decoding by confidence;
# - noise, *independent* of the model;
# - the log-probability of every other position, a *sub-structure*.
#
# The controls: confidence ($c = 1$); a constant factor, for each model the mean of its RWS run; the run's rewards
# shuffled among the steps; and rewards with their sign turned.

# %%
study = corollary_study(models=400)
corollary.outcomes_picture(corollary.tallies_of(study))

# %% [markdown]
# In how many models RWS ends with more / equal / less reward than each control, and in how many its first commit lowers
# the expected reward:

# %%
corollary.counts_table(study)

# %% [markdown]
# ## Conclusion
#
# Computed from the cells above. RWS is said to be ahead of a control, or behind, where the interval of its share of the
# models that differ lies above or below one half, with 95 % confidence over all twelve comparisons (Bonferroni).

# %%
rising = tilting.rising(tilting.WEIGHTS, tilting.REWARDS)
Markdown(corollary.conclusion(rising, at_two, decodes, study))
