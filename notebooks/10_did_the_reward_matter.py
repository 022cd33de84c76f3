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

from paper_figures.exhibits.shared.evidence import chosen_scale
from paper_figures.extra.frontier.points import texts_of
from paper_figures.extra.lessons import reward_matters as lesson
from paper_figures.recorded import recorded
from paper_figures.recorded.verdicts import alike_settings, reward_answer
from paper_figures.studies.evidence import title_of
from paper_figures.studies.evidence_arms import Arm
from paper_figures.studies.work import context_and_canvas
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
#
# After many openings a greedy decoder writes the same text. So intervals are over distinct pairs of texts, which makes
# some of them wide. And if the factor hardly varied within a run, RWS *would be* a fixed factor, whatever its reward:
# the sentence below says how much it varies.

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
lesson.draw_least(lesson.least_of(record, rows, lesson.NUMBERS), lesson.NUMBERS, (*lesson.SIZES, 1600))

# %% [markdown]
# ## Findings
#
# Computed from what the cells above show:

# %%
arms = {name: [arm for arm in places.regrets if arm.method == name] for name in ("temperature", "rws")}
warm, own = (min(each, key=lambda arm: places.regrets[arm].mean) for each in arms.values())
nearest, chosen = min(warm, own, key=lambda arm: places.regrets[arm].mean), chosen_scale(record, lesson.WORLD)
further = lesson.difference(record, warm, nearest)
gain = lesson.difference(record, chosen, Arm("default"), "reward_sd")
rest = lesson.difference(record, chosen, chosen._replace(method="schedule"), "reward_sd")
count, alike = alike_settings(rows)
more, less, equal = (len(alike[verdict]) for verdict in ("RWS more", "RWS less", "equivalent"))
swapped = [row.verdict for row in rows if row.arm.method == "swapped"]
text = next(each for each in texts if each.strategy == "rws:8")
better = [p for p in curve.points if p.reward > text.reward and p.log_prob > text.log_prob]
least = np.array(list(lesson.least_of(record, rows, lesson.SIZES).values())).T

# %%
first = f"""
1. Of both paths **{title_of(nearest)}** is nearest to the frontier: {places.regrets[nearest].mean:.1f} nats a text
   below it. The best temperature, {title_of(warm)}, is {further.mean:.1f} [{further.low:.1f}, {further.high:.1f}] nats
   further. {title_of(chosen)}, its scale chosen on other prompts, gains {gain.mean:.2f} deviations of reward over the
   default. Its schedule, which reads no reward, keeps **{1 - rest.mean / gain.mean:.0%}** of the gain: it has
   {rest.mean:.2f} [{rest.low:.2f}, {rest.high:.2f}] less.
2. With another prompt's rewards, RWS does less than with its own in **{swapped.count("RWS more")} of {len(swapped)}**
   settings, more in {swapped.count("RWS less")}, and the same within a margin in {swapped.count("equivalent")}. It does
   more than all three controls in **{more} of {count}**, and less than all in {less}.
"""

# %%
Markdown(f"""{first}
3. After the prompt above **{len(better)}** texts of the frontier have more reward than that of RWS 8, and are likelier.
4. With {lesson.SIZES[0]} prompts {np.isnan(least[0]).sum()} of {len(least[0])} measures find no difference at all. With
   {lesson.SIZES[-1]}, **{(least[-1] <= 1).sum()} of {len(least[-1])}** can find a margin.

In these two worlds the reward was **{"seldom" if 4 * more < count else "often"}** seen to matter. In
{count - more - equal - less} of {count} settings the controls disagree, or nothing is decided. The worlds are small:
nothing was measured on LLaDA.
""")
