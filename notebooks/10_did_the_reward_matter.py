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
# Reward-weighted sampling (RWS) asks a reward model at every step. The answer becomes a factor of all logits, and the
# factor changes which positions are unmasked first. A fixed factor, a *temperature*, does that too, and reads no
# reward.
#
# **Question.** Does RWS do anything that its factors would not do without the reward?
#
# **You will learn** to ask this of a model and a reward of your own, in one call, and to read its answer.
#
# **Prediction.** Write down your answers before you go on.
#
# 1. RWS has more reward than confidence decoding. Does it have more than a fixed factor of the same mean?
# 2. Give RWS the rewards of *another prompt's* texts. Is its text worse?
# 3. Take one prompt. Is there a text with more reward than that of RWS, and likelier too?
# 4. How many prompts does it take to see a difference of 0.1 SD: 16, 100, 400?

# %%
from collections import Counter

import numpy as np
from IPython.display import Markdown, display
from scipy.stats import t

from paper_figures.extra.frontier.points import texts_of
from paper_figures.recorded.ablations import ablation_table, recorded_ablations
from paper_figures.studies.work import context_and_canvas
from paper_figures.table import to_markdown
from rws_decode import Shape, ablate, load_predictor, load_reward, plots
from rws_decode.common.palette import BLUE, RULE, VERMILION
from rws_decode.view.plots.sheet import panels_of
from rws_theory.worlds import frontier

# %% [markdown]
# ## One call
#
# `ablate` decodes prompts by RWS and by its *twins*. A twin scales the logits as RWS does, but not by the reward
# of the text: by a fixed factor, another prompt's rewards, its own rewards shuffled. The model is an exact
# 4-gram model of speeches, the reward prefers modern words. Eight prompts are few: the answer may be to take more.

# %%
model, reward, SHAPE = load_predictor("english"), load_reward("era"), Shape(length=16, steps=8, block=16)
few = ablate(model, model.prompts[:24], "rws:1", SHAPE, reward=reward, until=8, validation=6)
few.plot()

# %%
print(few)

# %% [markdown]
# A row is RWS minus one twin, in SD of the rewards of confidence texts. If the reward matters, RWS has more than the
# fixed factor and more than with another prompt's rewards. If the factor hardly varies within a run, RWS *is* a fixed
# factor, whatever its reward: the last lines say how much it varies.
#
# ## The same on 400 prompts
#
# The package ships the texts of 400 prompts in each of two models, so that nothing is decoded here. (32 tokens of the
# 4-gram model, 64 of the toy story model.)

# %%
results = recorded_ablations(["evidence"])
Markdown(to_markdown(ablation_table(results).shown))

# %%
results["english:era", 1.0].plot()

# %% [markdown]
# ## One prompt, with texts to read
#
# The model is exact, so the best text for each weight of the reward can be computed. These texts are the *Pareto
# front*: no text has both more reward and a higher probability. Twelve tokens after one prompt:

# %%
prompt = model.examples[3]["prompt"]
METHODS = ["default", "temperature:8", "rws:1", "rws:8", "tilt-decode:1", "sample"]
context, canvas = context_and_canvas(model, prompt, 12)
front = frontier(model.world, reward.world_reward, canvas, context)
texts = list(texts_of(model, prompt, reward, Shape(12, 6, 12), front, METHODS))
plots.frontier(front, {text.strategy: (text.log_prob, text.reward) for text in texts}, "era")

# %% [markdown]
# `tilt-decode` decodes the reward-tilted distribution p exp(reward) / Z. `sample` is sampled from the model itself. The
# most probable texts are neither typical nor good: the front bounds single texts, not what one would like to read.

# %%
for text in texts:
    print(
        f"{text.strategy:14} reward {text.reward:6.2f}, log p {text.log_prob:6.1f}: {model.decode_answer(text.tokens)}"
    )

# %% [markdown]
# ## How many prompts does it take?
#
# The 95 % interval of RWS minus a twin over the first N prompts of the record, for an N that is fixed before. It must
# fit into the band, where differences are too small to matter, before a study can say "no difference that matters".

# %%
record, NUMBERS = results["english:era", 8.0], np.geomspace(16, 400, 30).astype(int)
scores = {
    arm: {row["prompt"]: row["reward"] for row in record.rows if row["arm"] == arm}
    for arm in ("strategy", "confidence", "fixed factor")
}
half = {}
for arm in ("confidence", "fixed factor"):
    values = np.array([scores["strategy"][at] - scores[arm][at] for at in range(400)]) / record.unit
    half[arm] = [t.ppf(0.975, n - 1) * values[:n].std(ddof=1) / np.sqrt(n) for n in NUMBERS]
figure, (panel,) = panels_of(None, 1, 1, (7.0, 3.4))
panel.axhspan(0, 0.1, color=RULE)
for (arm, values), color in zip(half.items(), (VERMILION, BLUE), strict=True):
    panel.plot(NUMBERS, values, color=color, label=f"RWS minus {arm}")
panel.set(xscale="log", xlabel="prompts", ylabel="half of the interval [SD]", ylim=(0, None))
panel.set_xticks([16, 50, 100, 200, 400], ["16", "50", "100", "200", "400"])
panel.set_xticks([], minor=True)
panel.legend()
display(figure)

# %% [markdown]
# ## Exercise
#
# Ask the question of a reward of your own: any function of a text. Does a reward that counts the letter e do better?
#
# <details><summary>Solution</summary>
#
# <pre>mine = ablate(model, model.prompts[:24], "rws:1", SHAPE, reward=lambda text: text.count("e"), until=8)
# print(mine)</pre>
#
# Read the last lines first: how much the factor varies, and at how many steps a reward could have changed the order.
#
# </details>

# %% [markdown]
# ## Findings
#
# Computed from what the cells above show:

# %%
twins = {key: {each.twin: each for each in result.comparisons} for key, result in results.items()}
gain, rest = (twins["english:era", 1.0][name] for name in ("confidence", "fixed factor"))
other = [each["other prompt's rewards"] for each in twins.values() if "other prompt's rewards" in each]
verdicts = Counter(each.verdict for each in other)
settings = Counter(result.verdict for result in results.values())
own = next(text for text in texts if text.strategy == "rws:8")
better = [point for point in front.points if point.reward > own.reward and point.log_prob > own.log_prob]
first = {arm: int(NUMBERS[np.argmax(np.array(values) <= 0.1)]) for arm, values in half.items() if min(values) <= 0.1}

# %%
Markdown(f"""
1. In the 4-gram model RWS at s_R = 1 has **{gain.difference:+.2f}** [{gain.low:+.2f}, {gain.high:+.2f}] SD more than
   confidence decoding, and **{rest.difference:+.2f}** [{rest.low:+.2f}, {
    rest.high:+.2f}] SD more than its fixed factor.
2. Against another prompt's rewards RWS is {", ".join(f"{name} in **{n}**" for name, n in verdicts.items())} of
   {len(other)} settings.
3. After the prompt above **{len(better)}** texts of the Pareto front have more reward than RWS at s_R = 8 and are
   likelier.
4. With N fixed, an interval of half-width 0.1 SD takes {
    first.get("fixed factor", "more than 400")
} prompts against the fixed factor,
   and {first.get("confidence", "more than 400")} against confidence decoding, at s_R = 8. Intervals that are valid
   whenever one stops, as those of `ablate`, take more.

The verdicts of the {len(results)} settings: {
    ", ".join(f"**{name}** in {n}" for name, n in settings.items())
}. These are
two small models. Nothing was measured on LLaDA.
""")
