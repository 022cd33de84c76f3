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
# A decode of an 8-billion-parameter model takes a GPU; what it did fits into a file of some kilobytes. This lesson
# reads such a file, yours if you have one, on any computer.
#
# **Question.** What can be known of a decode afterwards, from its trace alone?
#
# **Prediction.** Say yes or no before you go on. From one Parquet file, *without the model*, can one
#
# 1. show the text as it stood before every step, masks included?
# 2. show the completed text that the reward model read at every step?
# 3. check that the positions committed are those that the recorded values call for?
# 4. tell *why* two runs of one prompt parted: which positions changed places, and at which factor?
#
# ## Making a trace
#
# On a machine with a GPU (48 GB for LLaDA and Skywork in bfloat16) two commands make a pair of runs of one prompt, with
# and without the reward:
#
#     python -m rws_decode generate --model GSAI-ML/LLaDA-8B-Instruct --reward skywork-v0.2 --reward-dtype bfloat16 \
#         --strategy rws --reward-scale 8 --device cuda --prompt "Why is the sky blue?" \
#         --length 256 --steps 128 --block 32 --trace traces/rws
#     python -m rws_decode generate --model GSAI-ML/LLaDA-8B-Instruct --strategy default --device cuda \
#         --prompt "Why is the sky blue?" --length 256 --steps 128 --block 32 --trace traces/default
#
# Then start this notebook with both in its environment, by whole paths (it runs in its own folder):
#
#     export RWS_TRACE=$PWD/traces/rws/trace.parquet RWS_TRACE_BESIDE=$PWD/traces/default/trace.parquet
#     jupyter lab notebooks
#
# Without these variables the notebook makes two traces with the shipped model `mini`: that is what you see here.

# %%
import json
import os
import tempfile
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from IPython.display import Markdown, display

from rws_decode import Shape, compare, diff, load_predictor, load_reward, load_trace, plots, replay, replay_with
from rws_decode.checkpoints.files import shipped

folder = tempfile.TemporaryDirectory()
if "RWS_TRACE" in os.environ:
    path, beside = Path(os.environ["RWS_TRACE"]), os.environ.get("RWS_TRACE_BESIDE")
else:
    mini, shape = load_predictor("mini"), Shape(length=64, steps=32, block=32)
    runs = compare(mini, mini.examples[6]["prompt"], ["rws:8", "default"], shape, reward=load_reward("mini"))
    path, beside = (run[0].save(f"{folder.name}/{name}.parquet") for name, run in runs.items())

# %% [markdown]
# ## One line
#
# No package of ours is needed: the trace is a table. Each row is a position at a step: those committed (`committed`),
# the best that were passed over, and those whose candidate changed. The file's metadata hold the settings, and the text
# of each token. The first step, best value first:

# %%
frame = pd.read_parquet(path)
metadata = json.loads(pq.read_metadata(path).metadata[b"rws_decode.trace"])
settings = metadata["trace"]
frame.insert(3, "word", frame["candidate"].astype(str).map(settings["pieces"]))
frame[frame["step"] == 0].sort_values("value", ascending=False, kind="stable").head(6).round(3)

# %% [markdown]
# What the columns hold here; `docs/trace-format.md` has their definitions. `unscaled` are the positions that confidence
# at factor 1 would have committed.

# %%
display(frame.drop(columns="word").astype(float).describe().loc[["count", "min", "max"]].T)
described = ("predictor", "reward_model", "strategy", "length", "steps", "block", "ranking", "precision", "forwards")
Markdown("Settings, from the file's metadata: " + ", ".join(f"{name} {settings[name]}" for name in described))

# %% [markdown]
# ## Text, canvas and completion of every step, from the table
#
# What was committed up to a step is the canvas; what stood at the masked positions in the last row before it is the
# completion that the reward model read. `load_trace` checks the file and gives the same as arrays.

# %%
trace = load_trace(path)
committed = frame[frame["committed"]].set_index("position")
everywhere = np.arange(settings["length"])
tokens = committed["candidate"].reindex(everywhere, fill_value=metadata["uncommitted_token"]).to_numpy()
commit_step = committed["step"].reindex(everywhere, fill_value=-1).to_numpy()


def canvas_at(step):
    """The answer before a step, masks where nothing was committed."""
    return np.where((commit_step >= 0) & (commit_step < step), tokens, settings["mask_id"])


def completion_at(step):
    """What the reward model would read at a step."""
    return frame[frame["step"] <= step].groupby("position")["candidate"].last().to_numpy()


steps = range(trace.steps_run)
checks = {
    "text": np.array_equal(tokens, trace.tokens),
    "canvas": all(np.array_equal(canvas_at(step), trace.canvas[step]) for step in steps),
    "completion": trace.whole_candidates
    and all(np.array_equal(completion_at(step), trace.candidate[step]) for step in steps),
}
print("prompt:", trace.prompt_text)
for step in (0, trace.steps_run // 3, 2 * trace.steps_run // 3):
    candidates = trace.words(trace.candidate[step])
    print(f"\nbefore step {step}, the text so far, and the completion that was read:")
    print(textwrap.fill(" ".join(np.where(trace.masked[step], "____", candidates)), 110))
    print(textwrap.fill(" ".join(candidates), 110) if checks["completion"] else "(not kept)")

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
# The same of every step: move the slider, or press an arrow key. `trace.view().save("decode.html")` writes the page to
# a file, which needs nothing else: neither the model nor this package. (Jupyter shows a page once you have run its cell
# or trusted the notebook; GitHub leaves it out.)

# %%
trace.view()

# %% [markdown]
# ## Replay
#
# *Without* the model: are the positions committed the ones that the recorded values call for? *With* the model: does a
# decode with the recorded factors, and no reward model, give the same text? (`python -m rws_decode replay FILE`
# does the first, with `--model NAME` the second.)

# %%
predictor = load_predictor(trace.predictor) if trace.predictor in shipped("ForMaskedLM") else None
selected = replay(trace)
again = None if predictor is None else replay_with(trace, predictor)
parts = "agrees at every step" if selected.parted_at is None else f"parts at step {selected.parted_at}"
if again is None:
    repeated = "not run, as the model is not at hand"
else:
    repeated = "the same text" if np.array_equal(again.tokens, trace.tokens) else "**another text**"
Markdown(f"Selection from the recorded values: {parts}. Decode with the recorded factors: {repeated}.")

# %% [markdown]
# ## Two runs of one prompt
#
# Where do they part, and why? The files alone tell the step and the positions that changed places. *At which factor*
# they change places is a matter of the logits, which a trace does not keep: with the model they are computed again, and
# the crossings of their confidence curves are proved. (`python -m rws_decode diff A B --model NAME`.)

# %%
other = None if beside is None else load_trace(beside)
difference = None if other is None else diff(other, trace)
print("no second trace was given" if difference is None else difference)

# %% [markdown]
# The same with the model:

# %%
explained = None if other is None or predictor is None else diff(other, trace, predictor)
print("no second trace was given, or the model is not at hand" if explained is None else explained)

# %%
None if other is None else plots.order(other, trace)

# %% [markdown]
# Both in lock-step, from the step at which they part:

# %%
None if other is None else other.view(trace, predictor)

# %% [markdown]
# ## Conclusion
#
# The four predictions, computed from the cells above:


# %%
def says(checked):
    """Yes or no, in bold."""
    return "**yes**" if checked else "**no**"


small = path.stat().st_size <= 1024 * max(1, int((commit_step >= 0).sum()))
if difference is None:
    why = "no second trace was given (`RWS_TRACE_BESIDE`)."
elif difference.parting is None:
    why = "the runs do not part."
elif not difference.parting.reversals:
    parting = difference.parting
    why = f"they part at step {parting.step} ({parting.why}); no two positions changed places there."
else:
    pairs = difference.parting.reversals
    places = ", ".join(f"{pair.later} with {pair.earlier}" for pair in pairs)
    why = f"they part at step {difference.parting.step}, where these positions changed places: {places}. "
    why += "At which factor the files do not say"
    if explained is None:
        why += "."
    else:
        proved = sum(bool(pair.certified) for pair in explained.parting.reversals)
        why += f"; the model does: for {proved} of {len(pairs)} the crossing is **proved**."
Markdown(
    f"1. Text and canvas of every step, from the table alone: {says(checks['text'] and checks['canvas'])}.\n"
    f"2. The completed text of every step, which a reward model reads: {says(checks['completion'])}"
    f"{'' if checks['completion'] else '; this trace does not keep all candidates'}.\n"
    f"3. The selection follows from the recorded values: {says(selected.parted_at is None)}.\n"
    f"4. Why two runs parted: {why}\n\n"
    f"The file holds {len(frame)} rows for {trace.length} tokens in {trace.steps_run} steps, "
    f"{'at most' if small else 'more than'} 1 KiB per token. The reward model was asked {trace.reward_calls} times; "
    f"the factor went from {np.nanmin(trace.factor):.2f} to {np.nanmax(trace.factor):.2f}."
)
