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
# # What rounding does
#
# A decoder commits the positions whose best token has the largest softmax probability. Public decoders compute that
# probability in the model's own number format, often bfloat16, and close to 1 there are few such numbers: whatever is
# nearer to 1 than half the last gap *is* 1.0, and from then on positions cannot be told apart. Multiplying the logits
# by a scale $c$, as temperature and RWS do, pushes more of them there.
#
# **Question.** How much of the order in which text is written comes from the model, and how much from rounding?
#
# **Prediction.** The same model decodes the same prompts at the scales 1, 2, ..., 32, ranked once exactly and once by
# softmax in bfloat16, ties going to the leftmost position. Generation order deviation (GOD) says how far an order is
# from left to right: 0 is strictly left to right. Write down before you go on:
#
# 1. from which $c$ times *margin* (best logit less second best) is the probability exactly 1.0 in bfloat16? In float32?
# 2. at scale 32, in which share of the steps does bfloat16 still commit the positions that the exact order would?
# 3. does rounding make the text *more* or *less* left to right?

# %%
from dataclasses import dataclass, field
from itertools import groupby

import ipywidgets as widgets
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown, display

from paper_figures.runner.units import Unit, batch_key
from paper_figures.statistics.intervals import bootstrap_interval
from paper_figures.studies.design.prompts import prompts_of
from paper_figures.studies.precision import RANKINGS, precision_units, tables
from paper_figures.studies.work.decoding import predictor_of
from paper_figures.studies.work.precision import work
from rws_decode import Options, Shape, Temperature
from rws_decode.decode import decode
from rws_decode.step.confidence import dtype_of, rank_values
from rws_decode.step.cut_and_ties import select_top, select_topk
from rws_decode.step.rounding import saturated
from rws_theory import footrule_mean, selection_path
from rws_theory.printed import printed_in

torch.set_num_threads(1)
BLACK, BLUE, ORANGE, GREEN = "#000000", "#0072B2", "#D55E00", "#009E73"
LOOK = {"exact": (BLACK, "-", "o"), "float32": (BLUE, "--", "s"), "bfloat16": (ORANGE, "-.", "^")}
TOPK = (GREEN, ":", "D")

# %% [markdown]
# ## One position
#
# Two tokens, the best one ahead by a margin. The exact log-odds of its probability are the margin itself. What log-odds
# does the *rounded* probability stand for?

# %%
margins = torch.arange(0, 45, 0.01, dtype=torch.float64)
two = torch.stack([margins, torch.zeros_like(margins)], dim=1)
best = torch.zeros(len(margins), dtype=torch.int64)
ones = {}
figure, panels = plt.subplots(1, 3, figsize=(9.5, 3.3), layout="constrained")
colors = {"bfloat16": ORANGE, "float32": BLUE, "float64": GREEN}
for axes, (precision, color) in zip(panels, colors.items(), strict=True):
    values = rank_values(two, best, 1.0, "probability", precision)
    ones[precision] = float(margins[saturated(values, "probability", dtype_of(precision, two))][0])
    near = (margins > ones[precision] - 4) & (margins < ones[precision] + 1)
    standing = torch.logit(values).masked_fill(values == 1, torch.nan)
    axes.plot(margins[near], margins[near], "--", color=BLACK, linewidth=1, label="exact")
    axes.plot(margins[near], standing[near], color=color, linewidth=2, label="rounded")
    axes.axvspan(ones[precision], ones[precision] + 1, color="#cccccc", label="probability 1.0")
    axes.set_title(f"{precision}: 1.0 from {ones[precision]:.1f}", loc="left", fontsize=10)
    axes.margins(x=0)
    axes.legend(fontsize=8.5, loc="upper left")
panels[0].set_ylabel("log-odds of the\nrounded probability [nats]")
panels[1].set_xlabel("exact log-odds: scale times margin [nats]")
plt.show()

# %% [markdown]
# The last nats of each format. The curve ends where the probability is 1.0: all that lies to the right is one tie, and
# every flat stretch before it is another. Log-odds, computed from the logits without passing through the probability,
# have no such end: that is how this decoder ranks unless asked otherwise.
#
# ## One real step
#
# The shipped model `mini`, one of its held-out prompts, 32 tokens in 16 steps. A strategy of our own decodes by
# confidence, and keeps the logits of the masked positions at one step.


# %%
@dataclass(frozen=True)
class Looking:
    """Confidence decoding that keeps what it sees at one step."""

    at: int
    seen: list = field(default_factory=list)
    name = "looking"
    needs_reward = False

    def factor(self, view):
        if view.step == self.at:
            self.seen.append(view._replace(logits=view.logits.clone()))
        return np.ones(view.rows)


shape = {"length": 32, "steps": 16, "block": 32}
predictor = predictor_of("mini")
looking = Looking(at=4)
(trace,) = decode(predictor, [predictor.examples[3]["prompt"]], looking, Shape(**shape))
(view,) = looking.seen
chosen_now = int(trace.chosen[looking.at].sum())
tokens = predictor.tokenizer.convert_ids_to_tokens(view.candidate.tolist())
everyone = torch.ones(1, len(view.position), dtype=torch.bool)
print(trace.prompt_text)
print(f"step {looking.at} (from 0): {len(view.position)} masked positions, {chosen_now} are committed")


def ranked(scale, name):
    """Ranking values of the masked positions at a scale, and the positions that are committed, by one ranking."""
    values = rank_values(view.logits, view.candidate, scale, *RANKINGS[name])
    return values, view.position[select_top(values[None], everyone, chosen_now).chosen[0]].tolist()


def show(scale):
    """Draw the log-odds of every masked position at a scale, as they are and as rounded, the committed ones ringed."""
    exact, _ = ranked(scale, "exact")
    order = exact.argsort(descending=True, stable=True)
    place = np.arange(len(order))
    ceiling = 1.5 * max(float(exact.max()), 6.5)
    _, axes = plt.subplots(figsize=(9.5, 3.8), layout="constrained")
    lines = ["| ranked by | probability exactly 1.0 | committed |", "|---|---|---|"]
    for size, (name, (color, dash, marker)) in zip((10, 14, 18), LOOK.items(), strict=True):
        values, committed = ranked(scale, name)
        shown = values if name == "exact" else torch.logit(values)
        level = shown.isinf()[order]
        heights = shown[order].masked_fill(level, ceiling)
        axes.plot(place, heights, dash, marker=marker, color=color, markersize=5, linewidth=1, label=name)
        ringed = [index for index, at in enumerate(view.position[order].tolist()) if at in committed]
        axes.plot(ringed, heights[ringed], "o", markersize=size, color=color, fillstyle="none")
        lines.append(f"| {name} | {int(level.sum())} of {len(order)} | {committed} |")
    axes.axhline(ceiling, color="#505050", linewidth=0.8, linestyle=":")
    axes.set_yscale("asinh", linear_width=4)
    ticks = [tick for tick in (-4, 0, 4, 10, 20, 50, 100, 200) if tick < 0.6 * ceiling]
    axes.set_yticks([*ticks, ceiling], [*map(str, ticks), "P = 1.0"])
    axes.set_yticks([], minor=True)
    axes.margins(y=0.12)
    axes.set_title(f"scale {scale:g}: what is ringed is committed", loc="left", fontsize=10)
    names = [f"{tokens[index]} ({int(view.position[index])})" for index in order]
    axes.set_xticks(place, names, rotation=60, ha="right", fontsize=8)
    axes.set_xlabel("best token (position), in the exact order")
    axes.set_ylabel("log-odds [nats, closer far from 0]")
    axes.legend(fontsize=9, loc="center right")
    plt.show()
    display(Markdown("\n".join(lines)))


show(8.0)

# %% [markdown]
# Drag the scale: the order of the black points changes little, that of the rounded ones dissolves into a tie, and from
# a tie the *leftmost* positions are taken. (The slider needs a running notebook; without one, call `show(32.0)`.)

# %%
def panel():
    """A slider for the scale, and a picture that follows it."""
    slider = widgets.FloatLogSlider(8.0, base=2, min=-2, max=5, step=0.25, description="scale c")
    slider.continuous_update = False
    picture = widgets.Output()

    def redraw(_=None):
        with picture:
            picture.clear_output(wait=True)
            show(slider.value)

    slider.observe(redraw, "value")
    redraw()
    return widgets.VBox([slider, picture])


display(panel())

# %% [markdown]
# ## The same step at every scale
#
# Rows are positions, the horizontal axis is the scale. Bars: the positions committed. Grey: masked positions whose
# probability is exactly 1.0. For the exact order these are the proved pieces of its selection path; for the others,
# scales are tried one by one.

# %%
grid = np.geomspace(0.25, 32, 57)
edges = np.geomspace(0.25 * (0.25 / 32) ** (1 / 112), 32 * (32 / 0.25) ** (1 / 112), 58)
path = selection_path(view.logits.double().numpy(), chosen_now, edges[0], edges[-1])
figure, panels = plt.subplots(1, 3, figsize=(9.5, 4), sharey=True, sharex=True, layout="constrained")
for piece in path.pieces:
    panels[0].hlines(view.position[list(piece.selected)], piece.lower, piece.upper, color=BLACK, linewidth=5)
kept = {}
for axes, name in zip(panels[1:], ("float32", "bfloat16"), strict=True):
    kept[name] = []
    for scale, low, high in zip(grid, edges[:-1], edges[1:], strict=True):
        values, committed = ranked(scale, name)
        axes.hlines(view.position[values == 1], low, high, color="#bbbbbb", linewidth=5)
        axes.hlines(committed, low, high, color=LOOK[name][0], linewidth=5)
        kept[name].append(committed == ranked(scale, "exact")[1])
for axes, name in zip(panels, LOOK, strict=True):
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("scale $c$")
    axes.set_title(name, loc="left", fontsize=10)
panels[0].set_ylabel("position in the answer [tokens, from 0]")
panels[0].set_ylim(-2, 40)
for axes, name in zip(panels, LOOK, strict=True):
    axes.plot([], color=LOOK[name][0], linewidth=5, label="committed")
    if name != "exact":
        axes.plot([], color="#bbbbbb", linewidth=5, label="probability 1.0")
    axes.legend(fontsize=8.5, loc="upper left", ncols=2)
plt.show()

columns = len(trace.prompt) + view.position[None]
same = rank_values(view.logits, view.candidate, 32.0, "topk", "bfloat16")[None]
pick = {"columns": columns, "width": len(trace.prompt) + trace.length, "dtype": torch.bfloat16}
taken = view.position[select_topk(same, everyone, chosen_now, **pick).chosen[0]].tolist()
pieces = f"{len(path.pieces)} piece{'s' if len(path.pieces) > 1 else ''}"
Markdown(
    f"The exact order has {pieces} here ({'proved' if path.certified else 'not proved'}). float32 commits the same "
    f"positions at {sum(kept['float32'])} of {len(grid)} scales, bfloat16 at {sum(kept['bfloat16'])}. At scale 32 "
    f"{int((same == 1).sum())} of {same.numel()} positions are level in bfloat16: the leftmost rule commits "
    f"{ranked(32.0, 'bfloat16')[1]}, `torch.topk`, which public decoders call, {taken}; the exact order "
    f"{ranked(32.0, 'exact')[1]}."
)

# %% [markdown]
# ## Whole decodes
#
# Eight prompts at each scale, by the functions of `paper_figures experiment precision`; and once more as public
# decoders do it, softmax in bfloat16 and `torch.topk`, whose ties fall as its algorithm happens to leave them.

# %%
SCALES = (1.0, 2.0, 4.0, 8.0, 32.0)
prompts = prompts_of("examples", 8, model="mini").test
base = Unit(experiment="precision", prompt="", strategy={"name": "default"}, **shape)
units = sorted(precision_units(base, prompts, SCALES, ("temperature",)), key=batch_key)
batches = [list(batch) for _, batch in groupby(units, key=batch_key)]
rows = [unit.columns() | row for batch in batches for unit, (row,) in zip(batch, work(batch), strict=True)]
frame = pd.DataFrame(rows)
(found,) = tables(frame)

texts, scales = zip(*((prompt.text, scale) for scale in SCALES for prompt in prompts), strict=True)
in_public = Options(ranking="topk", precision="bfloat16")
public = decode(predictor, texts, Temperature(scales), Shape(**shape), options=in_public).traces
measured = [{"god_tokens": one.god_tokens, "inexact": one.inexact.sum(), "steps_run": one.steps_run} for one in public]
frame = pd.concat([frame, pd.DataFrame(measured).assign(rounding="topk", at=scales)])
frame["steps"] = 100 * frame["inexact"] / frame["steps_run"]
frame["level"] = 100 * frame["saturated"] / frame["eligible"]


def means(name, column):
    """Means over the prompts with bootstrap intervals, per scale, of one ranking."""
    cells = [frame[(frame["rounding"] == name) & (frame["at"] == scale)][column] for scale in SCALES]
    return [bootstrap_interval(cell, np.random.default_rng(0)) for cell in cells]


def bars(axes, name, column, label):
    """Draw these means."""
    values, (color, dash, marker) = means(name, column), (LOOK | {"topk": TOPK})[name]
    error = np.abs([[one.mean - one.low for one in values], [one.high - one.mean for one in values]])
    looks = {"color": color, "linestyle": dash, "marker": marker, "markersize": 5, "label": label}
    axes.errorbar(SCALES, [one.mean for one in values], error, capsize=3, **looks)


figure, panels = plt.subplots(1, 3, figsize=(9.5, 3.6), width_ratios=(1.3, 1, 1), layout="constrained")
for name in (*LOOK, "topk"):
    for axes, column in zip(panels[:2], ("god_tokens", "steps"), strict=True):
        bars(axes, name, column, "bfloat16, torch.topk" if name == "topk" else name)
    if name != "topk":
        bars(panels[2], name, "level", "float64" if name == "exact" else name)
random_order = footrule_mean(shape["length"], shape["block"])
panels[0].axhline(random_order, color="#505050", linewidth=0.8, linestyle=":")
panels[0].text(1, random_order + 0.15, "random order", fontsize=9)
panels[0].set_ylim(0, 13.5)
labels = ("GOD [tokens]", "steps unlike the exact order [%]", "positions at 1.0 [%]")
for axes, label in zip(panels, labels, strict=True):
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("scale $c$")
    axes.set_ylabel(label)
for axes in panels[1:]:
    axes.set_ylim(-3, 109)
panels[0].legend(fontsize=8.5, ncols=2, loc="upper center")
panels[2].legend(fontsize=8.5, loc="upper left")
plt.show()
shown = [row for row in found.shown if row["ranking"] != "exact"]
heads = ("scale", "ranking", "GOD tokens", "due to rounding", "inexact", "same")
lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
lines += [f"| {' | '.join(row[head] for head in heads)} |" for row in shown]
Markdown(
    "\n".join(lines)
    + f"\n\nMeans over {len(prompts)} prompts. Due to rounding: GOD less that of the exact ranking, with 95 % interval "
    "and the p of a paired test, corrected over the scales; inexact: steps whose positions are not those of the exact "
    "order; same: answers equal to the exact ranking's."
)

# %% [markdown]
# All with 95 % intervals over the prompts. Right: positions whose probability is exactly 1.0, in the number format
# named; at high scales float64 does not save the probability either.
#
# ## Conclusion
#
# Computed from the cells above:

# %%
first, last = SCALES[0], SCALES[-1]
god = {name: [one.mean for one in means(name, "god_tokens")] for name in (*LOOK, "topk")}
steps = {name: [one.mean for one in means(name, "steps")] for name in LOOK}
(due,) = [row for row in found.rows if (row["ranking"], row["scale"]) == ("bfloat16", last)]
low, high = due["god_tokens_due_low"], due["god_tokens_due_high"]
printed = {row["scale"]: row["god"] for row in printed_in("table8_temperature")["rows"]}
exact_now, rounded_now = (ranked(8.0, name)[1] for name in ("exact", "bfloat16"))
Markdown(
    f"- The probability is exactly 1.0 from log-odds of **{ones['bfloat16']:.1f}** in bfloat16, {ones['float32']:.1f} "
    f"in float32, {ones['float64']:.1f} in float64. Log-odds themselves go on.\n"
    f"- At the step looked at, at scale 8, the exact order commits {exact_now}, bfloat16 {rounded_now}: "
    f"**{len(set(exact_now) & set(rounded_now))} of {chosen_now}** in common.\n"
    f"- From scale {first:g} to {last:g} GOD changes by **{god['exact'][-1] - god['exact'][0]:+.2f}** tokens in the "
    f"exact order and by **{god['bfloat16'][-1] - god['bfloat16'][0]:+.2f}** in bfloat16 with ties leftmost. At scale "
    f"{last:g} rounding makes the text **{'more' if due['god_tokens_due'] < 0 else 'less'}** left to right, by "
    f"{abs(due['god_tokens_due']):.2f} tokens (change of GOD {due['god_tokens_due']:+.2f} [{low:+.2f}, {high:+.2f}]; "
    f"{'the interval leaves out 0' if low > 0 or high < 0 else 'the interval holds 0'}).\n"
    f"- bfloat16 commits other positions than the exact order in {steps['bfloat16'][0]:.1f} % of the steps at scale "
    f"{first:g} and in **{steps['bfloat16'][-1]:.1f} %** at {last:g}; float32 in {steps['float32'][0]:.1f} % and "
    f"{steps['float32'][-1]:.1f} %.\n"
    f"- Nothing but the rule for ties lies between GOD {god['bfloat16'][-1]:.2f} (leftmost) and {god['topk'][-1]:.2f} "
    f"(`torch.topk`) at scale {last:g}, both in bfloat16; the exact order has {god['exact'][-1]:.2f}.\n"
    f"- The paper prints GOD {printed[first]:.2f} at scale {first:g}, {printed[16.0]:.2f} at 16 and "
    f"{printed[last]:.2f} at {last:g}, for another model and other prompts, and does not say how ties fall. How much "
    "of that is rounding only a run with the exact ranking can tell; levels here and there cannot be compared."
)
