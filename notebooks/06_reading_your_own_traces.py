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
# # Reading your own traces
#
# A decode of an 8-billion-parameter model takes a GPU; what it did fits into a file of some kilobytes. This notebook
# reads such a file, yours if you have one, on any computer.
#
# **Question.** What can be known of a decode afterwards, from its trace alone?
#
# **You will learn** to read a trace as a table, to replay it, and to say why two runs diverge.
#
# **Prediction.** Say yes or no before you go on. From one Parquet file, *without the model*, can one
#
# 1. show the text as it stood before every step, masks included?
# 2. show the completed text that the reward model read at every step?
# 3. check that the positions committed are those that the recorded values call for?
# 4. tell *why* two runs of one prompt diverged: which positions changed places, and at which factor?
#
# You see two traces of the toy story model `mini`, with and without the reward. How to read your own is said below.

# %%
import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from IPython.display import Markdown

from rws_decode import Shape, Trace, compare, diff, load_predictor, load_reward, load_trace, plots, replay, replay_with

folder = TemporaryDirectory()
path, beside = (os.environ.get(name) for name in ("RWS_TRACE", "RWS_TRACE_BESIDE"))
if path is None:
    mini, shape = load_predictor("mini"), Shape(length=64, steps=32, block=32)
    runs = compare(mini, mini.examples[6]["prompt"], ["rws:8", "default"], shape, reward=load_reward("mini"))
    path, beside = (trace.save(Path(folder.name) / f"{trace.strategy['name']}.parquet") for (trace,) in runs.values())

# %% [markdown]
# ## A decode, from its file
#
# Move the slider, or press an arrow key: this is every step. `trace.view().save("decode.html")` writes the page to a
# file, which needs nothing else: neither the model nor this package. (Jupyter shows a page once you have run its cell
# or trusted the notebook; GitHub leaves it out.)

# %%
trace = load_trace(path)
trace.view()

# %% [markdown]
# ## In which order was it written?
#
# One mark per token at the step that committed it. Small grey marks are the steps at which a still masked position
# changed its mind about its token. The dotted line is the order from left to right, from which generation order
# deviation (GOD) measures the distance: 0 is left to right.

# %%
plots.order(trace, changes=trace.whole_candidates)

# %% [markdown]
# ## Reward and factor, step by step
#
# The factor is $s_R \sqrt{\sigma(r) + \epsilon}$ of the normalised reward $r$: it says nothing that the reward does
# not, but it is what acts. Bands mark the steps at which it changed what was committed: at factor 1 confidence would
# have committed other positions.

# %%
plots.steps(trace)

# %% [markdown]
# ## One step
#
# What a step ranked its positions by, and what it committed: the first step that the factor changed.

# %%
plots.step(trace, int(np.flatnonzero(trace.changed)[0]) if trace.changed.any() else 0)

# %% [markdown]
# ## What is in the file
#
# No package of ours is needed: the trace is a table. Each row is a position at a step: those committed (`committed`),
# the best that were passed over, and those whose candidate changed. `unscaled` are the positions that confidence at
# factor 1 would have committed. The file's metadata hold the settings, and the text of each token;
# `docs/trace-format.md` has all definitions. The first step, best value first:

# %%
frame = pd.read_parquet(path)
metadata = json.loads(pq.read_metadata(path).metadata[b"rws_decode.trace"])
settings = metadata["trace"]
frame.insert(3, "word", frame["candidate"].astype(str).map(settings["pieces"]))
columns = ["position", "word", "committed", "unscaled", "candidate", "value", "factor", "reward_raw"]
frame[frame["step"] == 0].sort_values("value", ascending=False, kind="stable")[columns].head(6).round(3)

# %%
print("settings:", {name: value for name, value in settings.items() if isinstance(value, int | str)})

# %% [markdown]
# ## Text, canvas and completion of every step, from the table
#
# What was committed up to a step is the canvas; what stood at the masked positions in the last row before it is the
# completion that the reward model read.

# %%
committed = frame[frame["committed"]].set_index("position").reindex(range(settings["length"]))
tokens = committed["candidate"].fillna(metadata["uncommitted_token"]).to_numpy(dtype=int)
commit_step = committed["step"].fillna(-1).to_numpy(dtype=int)


def canvas_at(step):
    """The answer before a step, masks where nothing was committed."""
    return np.where((commit_step >= 0) & (commit_step < step), tokens, settings["mask_id"])


def completion_at(step):
    """What the reward model would read at a step."""
    return frame[frame["step"] <= step].groupby("position")["candidate"].last().to_numpy()


# %% [markdown]
# `load_trace` gives the same as arrays. Here it checks the table, and shows three drafts in words:

# %%
steps = range(trace.steps_run)
whole = np.array_equal(tokens, trace.tokens)
whole &= all(np.array_equal(canvas_at(step), trace.canvas[step]) for step in steps)
kept = trace.whole_candidates and all(np.array_equal(completion_at(step), trace.candidate[step]) for step in steps)
print("prompt:", trace.prompt_text)
for step in (0, trace.steps_run // 3, 2 * trace.steps_run // 3):
    words = trace.words(trace.candidate[step])
    print(f"\nbefore step {step}:", " ".join(np.where(trace.masked[step], "____", words)))
    print("completion that was read:", " ".join(words) if trace.whole_candidates else "(not kept)")

# %% [markdown]
# ## Replay
#
# *Without* the model: are the positions committed the ones that the recorded values call for? *With* the model: does a
# decode with the recorded factors, and no reward model, give the same text? (`rws replay FILE`
# does the first, with `--model NAME` the second.)

# %%
predictor = load_predictor(trace.predictor) if trace.predictor in ("mini", "english") else None
selected = replay(trace)
parts = "agrees at every step" if selected.diverged_at is None else f"diverges at step {selected.diverged_at}"
repeated = "not run, as the model is not at hand"
if predictor is not None:
    same = np.array_equal(replay_with(trace, predictor).tokens, trace.tokens)
    repeated = "the same text" if same else "**another text**"
Markdown(f"Selection from the recorded values: {parts}. Decode with the recorded factors: {repeated}.")

# %% [markdown]
# ## Two runs of one prompt
#
# Where do they diverge, and why? Both in lock-step, from the step at which they diverge:

# %%
other = None if beside is None else load_trace(beside)
None if other is None else other.view(trace, predictor)

# %%
None if other is None else plots.order(other, trace)

# %% [markdown]
# The files alone tell the step and the positions that changed places. *At which factor* they change places is a matter
# of the logits, which a trace does not keep: with the model they are computed again, and the crossings of their
# confidence curves are proved. (`rws diff A B --model NAME`.)

# %%
difference = None if other is None else diff(other, trace)
print("no second trace was given" if difference is None else difference)

# %% [markdown]
# The same with the model:

# %%
explained = None if other is None or predictor is None else diff(other, trace, predictor)
print("no second trace was given, or the model is not at hand" if explained is None else explained)

# %% [markdown]
# ## Where a serving engine ran it
#
# An engine that serves a model often returns the tokens and the step that committed each, and no more. Such a *step
# map* becomes a trace that plays, too. (`rws import STEPMAP -o TRACE`; the file: `docs/extra/step_maps.md`.)

# %%
served = Trace.from_step_map(
    [64, 8415, 7731, 389, 279, 5634, 13],
    [0, 1, 3, 2, 0, 1, 2],
    texts=["A", " cat", " sleeps", " on", " the", " table", "."],
    prompt="Write about a pet.",
    model="a model that is not here",
)
served.view()

# %% [markdown]
# What it cannot know is null. What needs it says so, and guesses nothing:

# %%
print("forwards:", served.forwards)
try:
    replay(served)
except ValueError as error:
    print(error)

# %% [markdown]
# ## Traces of your own
#
# On a machine with a GPU (48 GB for LLaDA and Skywork in bfloat16) two commands make a pair of runs of one prompt, with
# and without the reward:
#
#     rws generate --model GSAI-ML/LLaDA-8B-Instruct --reward skywork-v0.2 --reward-dtype bfloat16 \
#         --strategy rws --reward-scale 8 --device cuda --prompt "Why is the sky blue?" \
#         --length 256 --steps 128 --block 32 --trace traces/rws
#     rws generate --model GSAI-ML/LLaDA-8B-Instruct --strategy default --device cuda \
#         --prompt "Why is the sky blue?" --length 256 --steps 128 --block 32 --trace traces/default
#
# Then start this notebook with both in its environment, by whole paths (it runs in its own folder):
#
#     export RWS_TRACE=$PWD/traces/rws/trace.parquet RWS_TRACE_BESIDE=$PWD/traces/default/trace.parquet
#     jupyter lab notebooks
#
# Without these variables the notebook makes the two traces of `mini`.

# %% [markdown]
# ## Exercise
#
# At how many steps did the reward model see a text that it had not seen before? Read it from the table alone.
#
# <details><summary>Solution</summary>
#
# <pre>texts = [tuple(completion_at(step)) for step in range(trace.steps_run)]
# print(len(set(texts)), "different texts,", trace.reward_calls, "calls")</pre>
#
# </details>

# %% [markdown]
# ## Conclusion
#
# The four predictions, computed from the cells above:

# %%
yes = {True: "**yes**", False: "**no**"}
why = "no second trace was given"
if difference is not None and difference.parting is not None:
    swapped = ", ".join(f"{pair.later} with {pair.earlier}" for pair in difference.parting.reversals)
    why = f"the step is {difference.parting.step}, the positions that changed places {swapped or 'none'}: **yes**"
    why += ". At which factor, only the model tells" + ("." if explained is None else ": it is shown above.")

# %%
small = Path(path).stat().st_size <= 1024 * max(1, int((commit_step >= 0).sum()))
Markdown(f"""
1. Text and canvas of every step, from the table alone: {yes[bool(whole)]}.
2. The completed text of every step, which a reward model reads: {yes[kept]}{"" if kept else " (not all are kept)"}.
3. The selection follows from the recorded values: {yes[selected.diverged_at is None]}.
4. Why two runs diverged: {why}

The file holds {len(frame)} rows for {trace.length} tokens in {trace.steps_run} steps,
{"at most" if small else "more than"} 1 KiB per token. The reward model was asked {trace.reward_calls} times; the factor
went from {np.nanmin(trace.factor):.2f} to {np.nanmax(trace.factor):.2f}.
""")
