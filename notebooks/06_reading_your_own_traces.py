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
# Token ids are shown as words if `RWS_TOKENIZER` names the checkpoint's directory or hub id. Without these variables
# the notebook makes two traces with the shipped model `mini`: that is what you see here.

# %%
import json
import os
import tempfile
import textwrap
from pathlib import Path

import ipywidgets as widgets
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import torch
from IPython.display import Markdown, display

from paper_figures.exhibits.style import GREY, LINES
from rws_decode import RWS, Confidence, Shape, load_predictor, load_reward, replay_with
from rws_decode.checkpoints.files import shipped
from rws_decode.decode import decode
from rws_decode.replay.diff import diff
from rws_decode.replay.replay import replay
from rws_decode.trace.record import NOT_ASKED, NOT_NEEDED, REUSED, SCORED
from rws_decode.trace.trace import load

torch.set_num_threads(1)
EXAMPLE = 6


def make(folder):
    """Decode one prompt with `mini`, with the reward and without, and keep both traces."""
    predictor, reward = load_predictor("mini", progress=False), load_reward("mini", progress=False)
    prompt, shape = [predictor.examples[EXAMPLE]["prompt"]], Shape(length=64, steps=32, block=32)
    (rws,) = decode(predictor, prompt, RWS(8.0), shape, reward=reward)
    (default,) = decode(predictor, prompt, Confidence(), shape)
    return rws.save(folder / "rws" / "trace.parquet"), default.save(folder / "default" / "trace.parquet")


made = tempfile.TemporaryDirectory()
if "RWS_TRACE" in os.environ:
    path, beside = Path(os.environ["RWS_TRACE"]), os.environ.get("RWS_TRACE_BESIDE")
else:
    path, beside = make(Path(made.name))

# %% [markdown]
# ## One line
#
# No package of ours is needed: the trace is a table. Each row is a position at a step: those committed (`committed`),
# the best that were passed over, and those whose candidate changed. The first step, best value first:

# %%
frame = pd.read_parquet(path)
frame[frame["step"] == 0].sort_values("value", ascending=False, kind="stable").head(6).round(3)

# %% [markdown]
# What the columns are, and what they hold here. `docs/trace-format.md` has the exact definitions.

# %%
MEANING = {
    "step": "step, from 0",
    "position": "position in the answer, from 0",
    "committed": "this step committed it",
    "candidate": "token id that would be, or is, committed there",
    "value": "what positions are ranked by, largest first (log-odds in nats, as a rule)",
    "factor": "what all logits of the step were multiplied by",
    "reward_use": "0 not asked, 1 scored, 2 scored before, 3 not needed",
    "reward_raw": "score of the completed text, in the reward model's unit",
    "reward_normalised": "the same in deviations from the reward model's mean",
    "ties": "positions level with the last one committed, and left out",
    "saturated": "positions whose probability rounds to 1.0 at this factor; -1 unknown",
    "inexact": "rounding chose another set than exact confidences do",
    "near_ties": "positions within rounding of the cut",
    "near_tokens": "positions whose two best tokens are within rounding of each other",
}


def held(column):
    """Smallest and largest value of a column, and how many are missing."""
    if column.dtype == bool:
        return f"true in {int(column.sum())} of {len(column)}"
    digits = "d" if column.dtype.kind == "i" else ".4g"
    span = f"{column.min():{digits}} to {column.max():{digits}}" if column.notna().any() else "nothing"
    return span + (f", {int(column.isna().sum())} empty" if column.isna().any() else "")


metadata = json.loads(pq.read_metadata(path).metadata[b"rws_decode.trace"])
settings = metadata["trace"]
described = ("predictor", "reward_model", "strategy", "length", "steps", "block", "ranking", "precision", "forwards")
lines = ["| column | meaning | here |", "|---|---|---|"]
lines += [f"| `{name}` | {MEANING.get(name, '')} | {held(frame[name])} |" for name in frame.columns]
display(Markdown("\n".join(lines)))
display(Markdown("Settings, from the file's metadata: " + ", ".join(f"{name} {settings[name]}" for name in described)))

# %% [markdown]
# ## Text, canvas and completion of every step, from the table
#
# What was committed up to a step is the canvas; what stood at the masked positions in the last row before it is the
# completion that the reward model read. `rws_decode.trace.trace.load` checks the file and gives the same as arrays.

# %%
trace = load(path)
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


predictor = load_predictor(trace.predictor, progress=False) if trace.predictor in shipped("ForMaskedLM") else None


def tokenizer_of():
    """The tokenizer that shows ids as words: of the shipped model, or the one that the reader names."""
    if predictor is not None:
        return predictor.tokenizer
    if "RWS_TOKENIZER" in os.environ:
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(os.environ["RWS_TOKENIZER"])
    return None


tokenizer = tokenizer_of()


def words(ids):
    """Ids as words, masks as underscores; as numbers without a tokenizer."""
    shown = [str(i) if tokenizer is None else tokenizer.decode([int(i)]).strip() for i in ids]
    return ["____" if int(i) == trace.mask_id else word for i, word in zip(ids, shown, strict=True)]


print("prompt:", trace.prompt_text)
for step in (0, trace.steps_run // 3, 2 * trace.steps_run // 3):
    print(f"\nbefore step {step}, the text so far, and the completion that was read:")
    print(textwrap.fill(" ".join(words(canvas_at(step))), 110))
    print(textwrap.fill(" ".join(words(trace.candidate[step])), 110) if checks["completion"] else "(not kept)")

# %% [markdown]
# ## In which order was it written?
#
# One mark per token at the step that committed it. Small grey marks are the steps at which a still masked position
# changed its mind about its token. The dotted line is the order from left to right, from which generation order
# deviation (GOD) measures the distance: 0 is left to right.

# %%
figure, axes = plt.subplots(figsize=(9, 4.2), layout="constrained")
if trace.whole_candidates and trace.steps_run > 1:
    changed = (trace.candidate[1:] != trace.candidate[:-1]) & trace.masked[1:]
    at, where = np.nonzero(changed)
    axes.plot(where, at + 1, "x", color=GREY, markersize=4, label="candidate changed")
for block in range(-(-trace.length // trace.block)):
    inside = (everywhere // trace.block == block) & (commit_step >= 0)
    look = LINES["temperature" if block % 2 == 0 else "rws"]
    label = f"committed, block {block}" if block < 4 else None
    axes.plot(everywhere[inside], commit_step[inside], look.marker, color=look.color, markersize=5.5, label=label)
axes.plot(everywhere, np.sort(commit_step), color="black", linestyle=":", label="left to right")
axes.set_xlabel("position in the answer [tokens, from 0]")
axes.set_ylabel("step, from 0")
axes.set_title(f"GOD {trace.god_tokens:.2f} tokens, {trace.god_steps:.2f} steps", loc="left", fontsize=10)
axes.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=9)
plt.show()

# %% [markdown]
# ## Reward and factor, step by step
#
# The factor is $s_R \sqrt{\sigma(r) + \epsilon}$ of the normalised reward $r$: it says nothing that the reward does
# not, but it is what acts.

# %%
USES = {NOT_ASKED: "not asked", SCORED: "scored", REUSED: "scored before", NOT_NEEDED: "not needed"}
by_step = frame.groupby("step")[["factor", "reward_use", "reward_normalised"]].first()
figure, panels = plt.subplots(2, 1, figsize=(9, 4.4), sharex=True, layout="constrained")
for axes, name, label in zip(panels, ("reward_normalised", "factor"), ("reward\n[deviations]", "factor"), strict=True):
    axes.plot(by_step.index, by_step[name], color=GREY, linewidth=1)
    for use, look in zip(USES, ("default", "rws", "temperature", "constant"), strict=True):
        rows = by_step[by_step["reward_use"] == use]
        if len(rows) and rows[name].notna().any():
            axes.plot(rows.index, rows[name], LINES[look].marker, color=LINES[look].color, label=USES[use])
    axes.set_ylabel(label)
    axes.grid(color="#e2e2e2", linewidth=0.6)
panels[1].set_xlabel("step, from 0")
panels[1].legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=9)
plt.show()
uses = {name: int((by_step["reward_use"] == use).sum()) for use, name in USES.items()}
Markdown("Steps by use of the reward: " + ", ".join(f"{name} {count}" for name, count in uses.items() if count) + ".")

# %% [markdown]
# ## Replay
#
# *Without* the model: are the positions committed the ones that the recorded values call for? *With* the model: does a
# decode with the recorded factors, and no reward model, give the same text? (`python -m rws_decode replay FILE`
# does the first, with `--model NAME` the second.)

# %%
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
other = None if beside is None else load(beside)
found = None if other is None else diff(other, trace)
print("no second trace was given" if found is None else found)

# %% [markdown]
# The same with the model:

# %%
certain = None if other is None or predictor is None else diff(other, trace, predictor)
print("no second trace was given, or the model is not at hand" if certain is None else certain)

# %% [markdown]
# ## Drag the step
#
# The canvas at every step: what stands, what is committed, what is masked. (Sliders need a running notebook; without
# one, call `show(5)`.)


# %%
def show(step):
    """Print a step's canvas and what it commits, and draw the recorded values of its positions."""
    place = np.flatnonzero(trace.chosen[step])
    print(textwrap.fill(" ".join(words(trace.canvas[step])), 110))
    written = ", ".join(f"{i}: {word}" for i, word in zip(place, words(trace.candidate[step, place]), strict=True))
    print(f"\nstep {step} commits  {written}")
    kept = np.flatnonzero(~np.isnan(trace.value[step]))
    chosen = trace.chosen[step, kept]
    _, axes = plt.subplots(figsize=(9, 2.8), layout="constrained")
    colors = np.where(chosen, LINES["rws"].color, "#c8c8c8")
    edges = np.where(chosen, "black", GREY)
    bars = axes.bar(kept, trace.value[step, kept], color=colors, edgecolor=edges)
    for bar, hit in zip(bars, chosen, strict=True):
        bar.set_hatch("//" if hit else "")
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set_xlim(-1, trace.length)
    axes.set_xlabel("position in the answer [tokens, from 0]")
    axes.set_ylabel(f"{trace.ranking} [nats]" if trace.ranking == "log-odds" else trace.ranking)
    factor = trace.factor[step]
    title = f"step {step}, committed hatched; factor {'not needed' if np.isnan(factor) else f'{factor:.2f}'}"
    axes.set_title(title, loc="left", fontsize=10)
    plt.show()


show(min(5, trace.steps_run - 1))


# %%
def panel():
    """A slider over the steps, and a picture that follows it."""
    step = widgets.IntSlider(0, 0, trace.steps_run - 1, description="step", continuous_update=False)
    picture = widgets.Output()

    def redraw(_=None):
        with picture:
            picture.clear_output(wait=True)
            show(step.value)

    step.observe(redraw, "value")
    redraw()
    return widgets.VBox([step, picture])


display(panel())

# %% [markdown]
# ## Conclusion
#
# The four predictions, computed from the cells above:


# %%
def says(checked):
    """Yes or no, in bold."""
    return "**yes**" if checked else "**no**"


small = path.stat().st_size <= 1024 * max(1, int((commit_step >= 0).sum()))
if found is None:
    why = "no second trace was given (`RWS_TRACE_BESIDE`)."
elif found.parting is None:
    why = "the runs do not part."
elif not found.parting.reversals:
    why = f"they part at step {found.parting.step} ({found.parting.why}); no two positions changed places there."
else:
    pairs = found.parting.reversals
    places = ", ".join(f"{pair.later} with {pair.earlier}" for pair in pairs)
    why = f"they part at step {found.parting.step}, where these positions changed places: {places}. "
    why += "At which factor the files do not say"
    if certain is None:
        why += "."
    else:
        proved = sum(bool(pair.certified) for pair in certain.parting.reversals)
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
