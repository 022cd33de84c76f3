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
# # Did the reward matter?
#
# Reward-weighted sampling (RWS) asks a reward model at every step. The answer becomes a factor that scales all logits,
# and the factor changes which positions are committed first. A fixed factor, a *temperature*, does that too, and reads
# no reward.
#
# **Question.** Does RWS do anything that its factors would not do without the reward?
#
# **Prediction.** Write down your answers before you go on.
#
# 1. In a world that is known exactly, the most probable text of each reward can be computed. Who comes nearer to these
#    texts: RWS, or a temperature?
# 2. Give RWS the rewards of *another prompt's* texts. Is its text worse: always, sometimes, hardly ever?
# 3. Take one prompt. Is there a text with more reward than that of RWS, and likelier too?
# 4. How many prompts does it take to see a difference that matters: 16, 160, 400?
#
# Nothing is decoded at first. The package ships the answers of a study, on 400 prompts in each of two small worlds:
# `english`, an exact model of real sentences, and `mini`, a small network that writes stories.

# %%
import numpy as np
from IPython.display import Markdown

from paper_figures.exhibits.evidence import chosen_scale, title_of
from paper_figures.lessons import reward_matters as lesson
from paper_figures.recorded import recorded
from paper_figures.statistics.frontier_points import context_and_canvas, texts_of
from paper_figures.studies.design.evidence_arms import Arm
from paper_figures.studies.summaries.evidence_answers import alike_settings, reward_answer
from rws_decode import Shape, load_predictor, load_reward, plots
from rws_theory.worlds import frontier

# %% [markdown]
# ## How far from the most probable texts?
#
# Each mark is the mean of a method over 400 prompts of `english`. To the right, its texts are more probable; further
# up, they have more reward, in standard deviations of the reward model `era`. No method can lie above the grey curve:
# it joins the most probable texts for each weight of the reward. The blue path is temperature, which multiplies all
# logits by a constant c. The orange one is RWS, by its scale s_R. The default has c = 1.

# %%
record = recorded()
places = lesson.places_of(record)
lesson.draw_frontier(places)

# %% [markdown]
# A method that follows the reward goes up, as decoding the *tilt* does: the world's law times exp(reward). Both paths
# stay low, far from the curve. But a picture is no test.

# %% [markdown]
# ## RWS minus what it would do without the reward
#
# Three controls do not follow the reward of the text that is being written. *Its mean factor* is a constant, that of
# the same decode. *Its mean factor by step*, the schedule, is that of all prompts. The third takes *another prompt's
# rewards*. If the reward matters, RWS differs from all three.
#
# A difference is drawn in *margins*, which were fixed before the controls were run: 0.1 deviations of reward, 0.057
# nats a word of log p, 11 points of the net win rate by another judge (wins), and 5 points of answers that break
# no rule (coherent). In the band it is too small to matter. A coloured mark is a difference that is shown after
# correction for all comparisons; it may still be small. "Drawn" means that tokens are drawn at random.

# %%
rows = lesson.controls_of(record)
lesson.draw_controls(rows)

# %% [markdown]
# In words:

# %%
Markdown(reward_answer(rows))

# %% [markdown]
# ## One prompt, with texts to read
#
# Twelve words after one opening of `english`. The frontier is now computed here, and not read: it searches all texts.
# (`rws frontier --example 3 --length 12 --steps 6` does the same.)

# %%
english, era = load_predictor("english"), load_reward("era")
prompt = english.examples[3]["prompt"]
METHODS = ["default", "temperature:8", "rws:1", "rws:8", "constant:8", "tilt-decode:1", "sample"]
context, canvas = context_and_canvas(english, prompt, 12)
curve = frontier(english.world, era.world_reward, canvas, context)
texts = list(texts_of(english, prompt, era, Shape(12, 6, 12), curve, METHODS))
plots.frontier(curve, {text.strategy: (text.log_prob, text.reward) for text in texts}, "era")

# %% [markdown]
# The texts themselves. `sample` is drawn from the world's own law, and it is far less likely than the others. The most
# probable texts are neither typical nor good: the frontier bounds single texts, not what one would like to read.

# %%
Markdown(f"**{prompt}** ...\n\n{lesson.texts_to_read(curve, texts, english)}")

# %% [markdown]
# ## How many prompts does it take?
#
# The least true difference that a study of so many prompts finds with 80 % power, for RWS at s_R = 8 minus RWS with
# another prompt's rewards. A line begins where enough prompts differ to find any difference at all. Only where it has
# come down into the band can a study tell "no difference that matters" from "not found". Other comparisons vary more.

# %%
SIZES = (16, 160, 400)
numbers = np.unique(np.geomspace(12, 1600, 40).astype(int)).tolist()
lesson.draw_least(lesson.least_of(record, rows, numbers), numbers, (*SIZES, 1600))

# %% [markdown]
# ## Findings
#
# Computed from the cells above:

# %%
regret = {arm: interval.mean for arm, interval in places.regrets.items() if arm.method in ("rws", "temperature")}
nearest, chosen = min(regret, key=regret.get), chosen_scale(record, lesson.WORLD)
warm = min((arm for arm in regret if arm.method == "temperature"), key=regret.get)
further = lesson.difference(record, warm, nearest)
schedule = lesson.difference(record, nearest, nearest._replace(method="schedule"))
gain = lesson.difference(record, chosen, Arm("default"), "reward_sd")
rest = lesson.difference(record, chosen, chosen._replace(method="schedule"), "reward_sd")

# %%
first = f"""
1. Of both paths **{title_of(nearest)}** is nearest to the frontier: {regret[nearest]:.1f} nats a text below it. The
   best temperature, {title_of(warm)}, is {further.mean:.1f} [{further.low:.1f}, {further.high:.1f}] nats further.
   The schedule of that RWS, which reads no reward,
   is {abs(schedule.mean):.1f} nats **{"nearer" if schedule.low > 0 else "no nearer"}**.
   {title_of(chosen)}, its scale chosen on other prompts, gains {gain.mean:.2f} deviations of reward over the default.
   It has {rest.mean:.2f} [{rest.low:.2f}, {rest.high:.2f}] more than its schedule, which averages its factors over
   prompts and keeps **{1 - rest.mean / gain.mean:.0%}** of the gain.
"""

# %%
count, alike = alike_settings(rows)
swapped = [row.verdict for row in rows if row.arm.method == "swapped"]
second = f"""
2. With another prompt's rewards, RWS does less than with its own in **{swapped.count("RWS more")} of {len(swapped)}**
   settings, more in {swapped.count("RWS less")}, and the same within a margin in {swapped.count("equivalent")}. It does
   more than all three controls in **{len(alike["RWS more"])} of {count}**, and less than all in
   {len(alike["RWS less"])}.
"""

# %%
text = {each.strategy: each for each in texts}["rws:8"]
better = [p for p in curve.points if p.reward > text.reward and p.log_prob > text.log_prob]
same = [each.strategy for each in texts if each.tokens == text.tokens and each is not text]
third = f"""
3. After the prompt above **{len(better)}** texts of the frontier have more reward than that of RWS 8, and are likelier.
   One has {better[-1].reward - text.reward:.1f} more reward and {better[-1].log_prob - text.log_prob:.1f} nats more.
   RWS 8 wrote the same words as {" and ".join(same) or "none of the others"}.
"""

# %%
least = np.array(list(lesson.least_of(record, rows, SIZES).values())).T
spans = [f"{np.nanmin(each):.1f} to {np.nanmax(each):.1f} margins" for each in least]
none, enough = np.isnan(least).sum(axis=1), int((least[2] <= 1).sum())
Markdown(f"""{first}{second}{third}
4. With 16 prompts the least difference that is found is {spans[0]}, and {none[0]} of {len(least[0])} measures find none
   at all. With 160 it is {spans[1]}, and {none[1]} finds none. With 400 it is {spans[2]}: in this comparison
   **{enough} of {len(least[2])}** measures can find a margin.

In these two worlds the reward was **{"seldom" if 4 * len(alike["RWS more"]) < count else "often"}** seen to matter. In
{count - len(alike["RWS more"]) - len(alike["equivalent"]) - len(alike["RWS less"])} of {count} settings the controls
disagree, or nothing is decided. The worlds are small: nothing was measured on LLaDA.
""")
