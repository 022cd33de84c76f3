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
# **You will learn** to compare two operations on a distribution, and a method with its controls on exact models.
#
# **Prediction.** Write down your answers before you go on.
#
# 1. Three words have probabilities 8/13, 4/13 and 1/13, and just one of them has reward 1. The logits are multiplied
#    by a growing $c$. For which of the three words does the expected reward rise?
# 2. On small models whose probabilities are known exactly, RWS decodes beside confidence decoding ($c = 1$), beside a
#    fixed factor, beside its own rewards shuffled among the steps, and beside rewards of the wrong sign. Which of
#    the four does it beat in the reward of its output?

# %%
import numpy as np
import pandas as pd
from IPython.display import Markdown, display

from paper_figures.extra.notebook_plots import tilting
from rws_decode import plots
from rws_decode.common.palette import BLUE, VERMILION
from rws_decode.view.plots.sheet import panels_of
from rws_theory import factor_range
from rws_theory.tilting import scaled_reward_mean, scaled_reward_slope, tilted_cumulants, tilted_gain, variance_identity
from rws_theory.worlds.ensembles import RewardTally, corollary_study
from rws_theory.worlds.joint_table import MASK, JointTable
from rws_theory.worlds.less_reward import rws_less_reward_example
from rws_theory.worlds.reference_decoder import constant_rule, decode_masked, rws_rule, table_reward

# %% [markdown]
# ## One axis for both
#
# Scaling is tilting too, but by $\log p$ in place of the reward: $p^c = p\, e^{(c-1) \log p}$. So both leave $p$ as it
# is at one place, $r = 0$ and $c = 1$, and can be shown over one axis: $r$ for tilting, $c - 1$ for scaling. The slopes
# are
#
# $$\frac{d}{dr} E_{p_r}[R] = \mathrm{Var}_{p_r}[R] \ge 0, \qquad
#   \frac{d}{dc} E_{p^c}[R] = \mathrm{Cov}_{p^c}(\log p, R), \text{ of either sign.}$$

# %%
log_p, r, c = np.log(list(tilting.WEIGHTS.values())), np.linspace(0, 7, 281), np.linspace(0, 8, 321)
figure, panels = panels_of(None, 1, 3, (10.0, 3.4), sharey=True)
for panel, (name, R) in zip(panels, tilting.REWARDS.items(), strict=True):
    panel.plot(r, tilted_cumulants(log_p, R, r)[:, 0], color=BLUE, label="tilted, $p\\,e^{rR}$")
    panel.plot(c - 1, scaled_reward_mean(log_p, R, c), "--", color=VERMILION, label="scaled, $p^c$")
    panel.set(title=f"reward 1 {name}", xlabel="$r$ (tilting), $c - 1$ (scaling)")
panels[0].set_ylabel("expected reward")
panels[-1].legend(loc="center right")
display(figure)

# %%
slopes = {"of tilting, r = 0": [tilted_cumulants(log_p, R, 0.0)[1] for R in tilting.REWARDS.values()]}
slopes["of scaling, c = 1"] = [scaled_reward_slope(log_p, R, 1.0) for R in tilting.REWARDS.values()]
pd.DataFrame(slopes, index=[f"reward 1 {name}" for name in tilting.REWARDS]).round(4)

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
figure, (panel,) = panels_of(None, 1, 1, (7.0, 3.4))
scales, TWO = np.linspace(0.1, 8, 80), ([0.0, 0.0], [0.0, 1.0])
panel.plot(scales, tilted_gain(*TWO, scales), color=BLUE, label="gain $A'(r) - A'(0)$")
panel.plot(scales, scales * tilted_cumulants(*TWO, scales)[:, 1], "--", color=VERMILION, label="as printed")
panel.set(xlabel="$r$", ylabel="expected reward, less that of $p$")
panel.legend()
display(figure)

# %%
at_two = variance_identity([0.0, 0.0], [0.0, 1.0], 2.0)
print(at_two)

# %% [markdown]
# ## What a factor changes in one step: where, not what
#
# RWS does not sample from $p^c$ either. It commits, at the most confident positions, the best token of each. A positive
# factor leaves every position's best token as it is. So within a step the greedy completion, and with it the reward
# that is asked, is the same at every factor; only the *order* of the positions can change.
#
# What that is worth depends on the model. Here is the smallest one on which it costs: two positions, three words, seven
# equally likely samples, and a reward of 1 if the first word is "0".

# %%
example = rws_less_reward_example()
with np.errstate(divide="ignore"):
    model = JointTable(np.log(example.weights))
reward, logits = table_reward(model, example.rewards), model.conditionals([MASK, MASK])
rules = {"confidence": constant_rule(1.0), "RWS": rws_rule(example.reward_scale)}
decodes = {name: decode_masked(model, rule, reward=reward) for name, rule in rules.items()}
tried = np.geomspace(*factor_range(example.reward_scale), 400)
completions = {tuple((factor * logits).argmax(axis=-1).tolist()) for factor in tried}
plots.confidence_curves(logits, names=["position 1", "position 2"], scale_min=0.5, scale_max=tried[-1])

# %% [markdown]
# The two curves cross: at factor 1 one position is committed first, at the factor of RWS the other one.

# %%
rows = {
    name: [run.factors.round(3).tolist(), (1 + run.commit_step.argsort()).tolist(), run.tokens.tolist()]
    for name, run in decodes.items()
}
pd.DataFrame.from_dict(rows, orient="index", columns=["factors", "positions in order of commits", "output"])

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
# The controls: confidence ($c = 1$); a fixed factor, for each model the mean of its RWS run; the run's rewards
# shuffled among the steps; and rewards with their sign turned.

# %%
study = corollary_study(models=400)
CONTROLS = {"confidence": "confidence", "constant": "fixed factor", "shuffled": "shuffled", "flipped": "sign turned"}


def summed(tallies, against):
    """Add the counts of one control over all kinds of models."""
    kept = [tally for tally in tallies if tally.against == against]
    return RewardTally(against, *(sum(getattr(tally, key) for tally in kept) for key in ("more", "equal", "less")))


final, first = {}, {}
for cell in study.cells:
    final.setdefault(cell.reward, []).extend(cell.final)
    first.setdefault(cell.reward, []).extend(cell.first_step)
tallies = {reward: [summed(each, against) for against in CONTROLS] for reward, each in final.items()}

# %%
figure, panels = panels_of(None, 1, 3, (10.0, 3.4), sharey=True, sharex=True)
for panel, (reward, row) in zip(panels, tallies.items(), strict=True):
    names = list(CONTROLS.values())
    panel.barh(names, [-100 * each.less / each.models for each in row], color=VERMILION, label="less")
    panel.barh(names, [100 * each.more / each.models for each in row], color=BLUE, label="more")
    panel.set(title=f"reward: {reward}", xlabel="models in which RWS ends\nwith less, with more [%]")
panels[-1].legend()
display(figure)

# %% [markdown]
# In how many models RWS ends with more / equal / less reward than each control, and in how many its first commit lowers
# the expected reward:

# %%
lowered = {reward: summed(each, "nothing").less for reward, each in first.items()}
counts = {reward: [f"{each.more} / {each.equal} / {each.less}" for each in row] for reward, row in tallies.items()}
table = pd.DataFrame.from_dict(counts, orient="index", columns=list(CONTROLS.values()))
table.assign(**{"first commit lowers it": pd.Series(lowered)})

# %% [markdown]
# ## Exercise
#
# Find weights of three tokens with which every other factor than $c = 1$ lowers the expected reward.
#
# <details><summary>Solution</summary>
#
# <pre>tilting.drag({"cat": 3, "dog": 3**0.75, "cow": 1}, {"on the dog": (0, 1, 0)})</pre>
#
# The covariance of $\log p$ and the reward is 0 at $c = 1$: both ends take probability from the middle token.
#
# </details>

# %% [markdown]
# ## Conclusion
#
# Computed from the cells above. RWS is said to be ahead of a control, or behind, where the interval of its share of the
# models that differ lies above or below one half, with 95 % confidence over all twelve comparisons (Bonferroni).

# %%
rewards = tilting.REWARDS.items()
tilted = [name for name, R in rewards if (np.diff(tilted_cumulants(log_p, R, r)[:, 0]) > 0).all()]
scaled = [name for name, R in rewards if (np.diff(scaled_reward_mean(log_p, R, c)) > 0).all()]
pairs = [tally for row in tallies.values() for tally in row]
ends = [tally.more_if_different(1 - 0.05 / len(pairs)) for tally in pairs]
ahead, behind = sum(low > 0.5 for low, _ in ends), sum(high < 0.5 for _, high in ends)
models = len(tallies) * pairs[0].models
proof = "proved" if example.proved and example.step_proved else "not proved"

# %%
Markdown(f"""
- The expected reward rises with $r$ for **{len(tilted)} of {len(rewards)}** rewards; with $c$ for
  **{len(scaled)} of {len(rewards)}** ({", ".join(scaled)}).
- The proof's identity is false: **{at_two.gain:.4f}** against **{at_two.printed:.4f}** for two words at r = 2.
- In the smallest model {len(tried)} factors gave **{len(completions)}** greedy completion. Order alone takes
  the expected reward from {example.mean} to {example.rws_expected}, and the output's reward from
  {example.confidence_reward} to {example.rws_reward} ({proof} in rational arithmetic).
- Of {len(pairs)} comparisons of the outputs' rewards, RWS is ahead in **{ahead}** and behind in **{behind}**; in the
  rest the two cannot be told apart.
- Corollary 1 promises that no step lowers the expected reward. The first commit of RWS lowered it in
  **{sum(lowered.values()):,} of {models:,}** pairs of a model and a reward.
""")
