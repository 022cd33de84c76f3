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
# # Temperature against reward scaling, on the whole scale axis
#
# A temperature multiplies all logits by one constant $c$. Reward-weighted sampling (RWS) multiplies them by
# $s_R \sqrt{\sigma(r) + \epsilon}$, which follows the reward $r$ from step to step. The paper compares both at eight
# values of $c$ and $s_R$. But with greedy tokens, a decode can only change where two positions change places, and these
# places can be found: `scale_path` returns *every* output that *any* scale of an interval gives, with the exact
# intervals.
#
# **Question.** What does RWS reach that no temperature reaches, and is it better?
#
# **Prediction.** Write down your guesses before you go on, for one prompt, 32 tokens in 16 steps and every scale from
# 0.01 to 32:
#
# 1. How many different answers do all these temperatures give? A handful, dozens, hundreds?
# 2. How many of them does the paper's grid of eight values find?
# 3. Are there answers that only RWS reaches? Only temperature?
# 4. Which axis has the answer of the highest reward?

# %%
from math import log
from types import SimpleNamespace

import ipywidgets as widgets
import matplotlib.pyplot as plt
import numpy as np
import torch
from IPython.display import Markdown, display

from paper_figures.exhibits.style import GREY, LINES
from paper_figures.studies.design.options import GRID
from rws_decode import Shape, compare_reach, load_predictor, load_reward
from rws_decode.mini.stories.answers import judge
from rws_decode.scales.path import scale_path
from rws_theory import footrule_mean, generation_order_deviation, inverse_reward, normalise

torch.set_num_threads(1)
LOW, HIGH = 0.01, 32.0
SHAPE = Shape(length=32, steps=16, block=32)
AXES = {"temperature": LINES["temperature"], "reward-scale": LINES["rws"]}
NAMES = {"temperature": "temperature, over $c$", "reward-scale": "RWS, over $s_R$"}
predictor = load_predictor("mini", progress=False)
guide, other = load_reward("mini", progress=False), load_reward("mini-judge", progress=False)


def follow(example):
    """Follow both axes for one of the prompts that ship with the model; score every answer by both reward models."""
    prompt = predictor.examples[example]["prompt"]
    paths = {
        over: scale_path(predictor, prompt, LOW, HIGH, SHAPE, over=over, reward=reward)
        for over, reward in zip(AXES, (None, guide), strict=True)
    }
    reach = compare_reach(*paths.values())
    texts = [output.text for output in reach.outputs]
    scores = [normalise(one.score([prompt] * len(texts), texts), one.mean, one.std) for one in (guide, other)]
    letters = {output.tokens: chr(ord("A") + place) for place, output in enumerate(reach.outputs)}
    rewards = {output.tokens: (float(a), float(b)) for output, a, b in zip(reach.outputs, *scores, strict=True)}
    return SimpleNamespace(prompt=prompt, paths=paths, reach=reach, letters=letters, rewards=rewards)


# %% [markdown]
# ## Two prompts
#
# Number 0 is the first of the prompts that ship with the model. Number 18 was **chosen** because its two axes differ
# most among the first 40: it shows what can happen, not how often. (How often: `python -m paper_figures experiment
# reach
# --out out/runs` does this for many prompts.)

# %%
prompts = {number: follow(number) for number in (0, 18)}


def counts(found):
    """Answers of each axis, and what finding them cost."""
    reach, paths = found.reach, found.paths.values()
    numbers = (reach.temperature, reach.reward_scale, reach.shared, reach.only_temperature, reach.only_reward_scale)
    proved = "yes" if all(path.certified for path in paths) else "no"
    return [*map(len, numbers), sum(len(path.pieces) for path in paths), sum(path.forwards for path in paths), proved]


head = "| prompt | any temperature | any $s_R$ | both | temperature only | RWS only | pieces | forwards | all proved |"
rows = [" | ".join(map(str, (f"| {number}: {found.prompt}", *counts(found)))) for number, found in prompts.items()]
Markdown("\n".join([head, "|---" * 9 + "|", *(f"{row} |" for row in rows)]))

# %% [markdown]
# A *piece* is an interval of scales with one answer and one commit order; different orders often write the same text,
# so that there are fewer answers than pieces. "All proved" means that every breakpoint is enclosed to a relative width
# of $10^{-12}$, and that between them nothing changes.
#
# ## The axis, cut into answers
#
# One lane per answer; where a bar stands, those scales give that answer. Dots and squares are the eight values of the
# paper's grid: an answer whose bar has no such mark is one that the grid misses.


# %%
def lanes(axes, found):
    """Draw at which scales each answer is given, on both axes."""
    for shift, (over, look) in zip((-0.2, 0.2), AXES.items(), strict=True):
        path = found.paths[over]
        place = {tokens: lane for lane, tokens in enumerate(found.letters)}
        pieces = path.pieces
        axes.barh(
            [place[piece.tokens] + shift for piece in pieces],
            [piece.upper - piece.lower for piece in pieces],
            left=[piece.lower for piece in pieces],
            height=0.36,
            color=look.color,
            edgecolor=look.color,
            linewidth=0.8,
            alpha=0.55,
            hatch="" if over == "temperature" else "////",
            label=NAMES[over],
        )
        hits = [place[path.at(scale).tokens] + shift for scale in GRID]
        label = f"the paper's grid, {'$c$' if over == 'temperature' else '$s_R$'}"
        dots = {"color": "white", "markeredgecolor": "black", "markersize": 5, "clip_on": False, "zorder": 3}
        axes.plot(GRID, hits, look.marker, label=label, **dots)
    for lane, output in enumerate(found.reach.outputs):
        if False in (output.by_temperature, output.by_reward_scale):
            only = "RWS only" if output.by_temperature is False else "temperature only"
            axes.annotate(only, (1, lane), (6, 0), ("axes fraction", "data"), "offset points", va="center", fontsize=9)
    axes.set_xscale("log")
    axes.set_xlim(LOW, HIGH)
    axes.set_xticks(GRID, [f"{scale:g}" for scale in GRID])
    axes.set_xticks([], minor=True)
    axes.set_yticks(range(len(found.letters)), found.letters.values())
    axes.set_ylim(len(found.letters) - 0.4, -0.6)
    axes.set_ylabel("answer")
    axes.grid(axis="x", color="#e2e2e2", linewidth=0.6)
    axes.set_axisbelow(True)


figure, panels = plt.subplots(
    len(prompts),
    1,
    figsize=(9, 1.6 + 0.42 * sum(len(found.letters) for found in prompts.values())),
    height_ratios=[len(found.letters) + 1 for found in prompts.values()],
    layout="constrained",
    sharex=True,
)
for axes, (number, found) in zip(panels, prompts.items(), strict=True):
    lanes(axes, found)
    axes.set_title(f"prompt {number}", loc="left", fontsize=10)
panels[-1].set_xlabel("scale: factor $c$ of temperature, reward scale $s_R$ of RWS")
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9)
plt.show()

# %% [markdown]
# ## The answers themselves
#
# Rewards are normalised, in deviations of the reward model: by the guide, which RWS follows, and by another reward
# model that guided nothing. *Share of axis* is the part of $\ln 0.01 \ldots \ln 32$ that leads to the answer. *Rules
# broken* are those of the story language, checked exactly; that a story is cut off after 32 tokens breaks some too.


# %%
def width(path, tokens):
    """Share of a path, in log scale, that gives an answer."""
    return sum(log(piece.upper / piece.lower) for piece in path.pieces if piece.tokens == tokens) / log(HIGH / LOW)


def answers(found):
    """One line per answer: who reaches it, where, its rewards, and whether the paper's grid finds it."""
    lines = [
        "| | any temperature | any $s_R$ | grid of $c$ | grid of $s_R$ | reward, guide | reward, other | rules broken "
        "| text |",
        "|---" * 9 + "|",
    ]
    on_grid = {over: {path.at(scale).tokens for scale in GRID} for over, path in found.paths.items()}
    for output in found.reach.outputs:
        tokens = output.tokens
        shares = [f"{width(path, tokens):.1%}" if width(path, tokens) else "**never**" for path in found.paths.values()]
        hits = ["found" if tokens in one else "missed" for one in on_grid.values()]
        hits = [hit if share != "**never**" else "-" for hit, share in zip(hits, shares, strict=True)]
        own, others = found.rewards[tokens]
        broken = len(judge(found.prompt, output.text).violations)
        cells = (found.letters[tokens], *shares, *hits, f"{own:.2f}", f"{others:.2f}", broken, output.text)
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


for number, found in prompts.items():
    display(Markdown(f"**Prompt {number}**: {found.prompt}\n\n{answers(found)}"))

# %% [markdown]
# ## How fine must a grid be?
#
# The answers that grids of 2 to 200 scales, even in the logarithm, find. The dotted lines are all that there are.
# A finer grid can find fewer, as its points lie elsewhere: that a grid finds nothing more is no proof that it found
# everything.


# %%
def hits_of(path, points):
    """How many different answers of a path a grid of so many scales finds."""
    scales = np.clip(np.geomspace(LOW, HIGH, points), LOW, HIGH)
    return len({path.at(float(scale)).tokens for scale in scales})


sizes = np.unique(np.geomspace(2, 200, 90).astype(int))
figure, panels = plt.subplots(1, len(prompts), figsize=(9, 3.3), layout="constrained")
needed = {}
for axes, (number, found) in zip(panels, prompts.items(), strict=True):
    for over, look in AXES.items():
        path = found.paths[over]
        every = len({piece.tokens for piece in path.pieces})
        hits = np.array([hits_of(path, size) for size in sizes])
        needed[number, over] = int(sizes[hits == every][0]) if (hits == every).any() else None
        axes.plot(sizes, hits, color=look.color, linestyle=look.dash, label=NAMES[over])
        axes.axhline(every, color=look.color, linestyle=":", linewidth=1.2)
        held = len({path.at(scale).tokens for scale in GRID})
        axes.plot(len(GRID), held, look.marker, color="white", markeredgecolor=look.color, markersize=8, zorder=3)
    axes.set_xscale("log")
    axes.set_xlabel("scales in the grid")
    axes.set_xticks([2, 8, 32, 128], ["2", "8", "32", "128"])
    axes.set_xticks([], minor=True)
    most = max(len(found.reach.temperature), len(found.reach.reward_scale))
    axes.set_ylim(0, most + 0.5)
    axes.set_yticks(range(most + 1))
    axes.set_title(f"prompt {number}; hollow: the paper's grid", loc="left", fontsize=10)
panels[0].set_ylabel("different answers found")
panels[0].legend(loc="lower right", fontsize=8.5)
plt.show()

# %% [markdown]
# ## Reward and order along the axis
#
# What a larger scale buys: the reward of the answer, by the guide and by the other reward model, and how far the order
# of its commits is from left to right (generation order deviation, GOD, in steps; 0 is left to right). Dotted: scale 1,
# where a temperature is confidence decoding.


# %%
def along(path, value):
    """Ends of the pieces and a value of each piece at both of its ends, for drawing as steps."""
    ends = [end for piece in path.pieces for end in (piece.lower, piece.upper)]
    return ends, np.repeat([value(piece) for piece in path.pieces], 2)


def order(piece):
    """Generation Order Deviation of a piece's commits, in steps."""
    return float(generation_order_deviation(piece.commit_step, "steps"))


figure, panels = plt.subplots(3, len(prompts), figsize=(9, 6.6), sharex=True, sharey="row", layout="constrained")
for column, (number, found) in zip(panels.T, prompts.items(), strict=True):
    values = (lambda p, f=found: f.rewards[p.tokens][0], lambda p, f=found: f.rewards[p.tokens][1], order)
    for axes, value in zip(column, values, strict=True):
        for over, look in AXES.items():
            axes.plot(*along(found.paths[over], value), color=look.color, linestyle=look.dash, label=NAMES[over])
        axes.set_xscale("log")
        axes.axvline(1, color=GREY, linewidth=0.8, linestyle=":")
        axes.set_xticks(GRID, [f"{scale:g}" for scale in GRID])
        axes.set_xticks([], minor=True)
    column[0].set_title(f"prompt {number}", loc="left", fontsize=10)
    column[-1].set_xlabel("scale, $c$ or $s_R$")
for axes, name in zip(
    panels[:, 0], ("reward, guide\n[deviations]", "reward, other\n[deviations]", "GOD [steps]"), strict=True
):
    axes.set_ylabel(name)
figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=9)
plt.show()

# %% [markdown]
# ## Drag the scale
#
# The answer and its commit order at a scale, read off the pieces: nothing is decoded again. (Sliders need a running
# notebook; without one, call `show(18, "temperature", 2.0)`.)


# %%
def show(number, over, scale):
    """Print the answer at a scale and draw the order of its commits."""
    found, look = prompts[number], AXES[over]
    piece = found.paths[over].at(scale)
    print(f"{found.prompt}\n\n{piece.text}\n")
    _, axes = plt.subplots(figsize=(7.5, 3.2), layout="constrained")
    axes.plot(np.arange(len(piece.commit_step)), piece.commit_step, look.marker, color=look.color)
    axes.plot(np.arange(32), np.arange(32) // 2, color=GREY, linestyle=":", label="left to right")
    axes.set_xlabel("position in the answer [tokens, from 0]")
    axes.set_ylabel("step that commits it")
    axes.set_yticks(range(0, 16, 5))
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=8.5)
    axes.set_title(
        f"answer {found.letters[piece.tokens]}: {NAMES[over]} from {piece.lower:.4g} to {piece.upper:.4g}; "
        f"GOD {order(piece):.2f} steps",
        loc="left",
        fontsize=10,
    )
    plt.show()


show(18, "temperature", 2.0)
show(18, "reward-scale", 2.0)


# %%
def panel():
    """A slider over the scale, and a picture that follows it."""
    which = widgets.Dropdown(options=list(prompts), value=18, description="prompt")
    over = widgets.Dropdown(options=list(AXES), description="axis")
    scale = widgets.FloatLogSlider(
        1.0, min=np.log10(LOW), max=np.log10(HIGH), step=0.01, description="scale", continuous_update=False
    )
    picture = widgets.Output()

    def redraw(_=None):
        with picture:
            picture.clear_output(wait=True)
            show(which.value, over.value, min(max(scale.value, LOW), HIGH))

    for control in (which, over, scale):
        control.observe(redraw, "value")
    redraw()
    return widgets.VBox([which, over, scale, picture])


display(panel())

# %% [markdown]
# ## Conclusion
#
# Computed from the paths above:


# %%
def best(found, over, judged=0):
    """Letter and reward of the best answer of an axis."""
    tokens = max({piece.tokens for piece in found.paths[over].pieces}, key=lambda one: found.rewards[one][judged])
    return found.letters[tokens], found.rewards[tokens][judged]


def mean_along(path, value):
    """Mean of a value over the axis, scales being even in the logarithm."""
    return float(np.average([value(p) for p in path.pieces], weights=[log(p.upper / p.lower) for p in path.pieces]))


def left_first(found, over):
    """The answer that an axis begins with, and the scale at which it gives another one."""
    pieces = found.paths[over].pieces
    start = pieces[0].tokens
    return start, next((piece.lower for piece in pieces if piece.tokens != start), None)


def shift(found):
    """What the place of the first change says of the factor that RWS had there."""
    (first, c), (same, s) = (left_first(found, over) for over in AXES)
    if first != same or c is None or s is None:
        return "The axes do not begin alike."
    start = f"Both axes begin with answer {found.letters[first]} and leave it at $c$ = {c:.3g} and $s_R$ = {s:.3g}"
    if not 0 < c / s < 1:
        return f"{start}."
    return (
        f"{start}: RWS is there like a constant of {c / s:.2f} $s_R$, the factor that a reward of "
        f"{float(inverse_reward(c, s)):+.2f} deviations gives."
    )


def missed(found, over):
    """How many answers of an axis the paper's grid misses."""
    path = found.paths[over]
    return len({piece.tokens for piece in path.pieces} - {path.at(scale).tokens for scale in GRID})


def conclude(number, found):
    """Say what the two axes of a prompt gave."""
    reach = found.reach
    (t, t_best), (s, s_best) = (best(found, over) for over in AXES)
    if abs(t_best - s_best) < 1e-9:
        ahead = f"both axes reach it (answer {t}, reward {t_best:.2f})"
    else:
        ahead = f"{'RWS' if s_best > t_best else 'temperature'} has it ({s}: {s_best:.2f}, against {t}: {t_best:.2f})"
    reading = shift(found)
    lost = {over: missed(found, over) for over in AXES}
    means = {
        name: [
            round(mean_along(found.paths[over], lambda piece, at=at: found.rewards[piece.tokens][at]), 2) + 0.0
            for over in AXES
        ]
        for at, name in enumerate(("the guide", "the other reward model"))
    }
    along_axis = "; ".join(f"by {name} {t:+.2f} for temperature and {s:+.2f} for RWS" for name, (t, s) in means.items())
    forwards = {over: path.forwards for over, path in found.paths.items()}
    fine = [
        f"{size} scales ({size * SHAPE.steps} forwards; the path took {forwards[over]})" if size else "more than 200"
        for over in AXES
        for size in [needed[number, over]]
    ]
    proof = "**proved**" if reach.temperature_certified and reach.reward_certified else "not all proved"
    return (
        f"- **Prompt {number}**: {len(reach.temperature)} answers over all temperatures, {len(reach.reward_scale)} "
        f"over all reward scales, {len(reach.shared)} of them shared; **{len(reach.only_temperature)}** that only "
        f"temperature reaches and **{len(reach.only_reward_scale)}** that only RWS reaches, {proof}.\n"
        f"  - The paper's grid misses {lost['temperature']} of the first and {lost['reward-scale']} of the second. The "
        f"smallest even grid tried that finds all has {fine[0]} for temperature and {fine[1]} for RWS.\n"
        f"  - The highest reward by the guide: {ahead}. Mean over the axis: {along_axis}.\n"
        f"  - {reading}"
    )


gods = [
    float(generation_order_deviation(piece.commit_step, "tokens"))
    for found in prompts.values()
    for path in found.paths.values()
    for piece in path.pieces
]
Markdown(
    "\n".join(conclude(number, found) for number, found in prompts.items())
    + f"\n- GOD over all scales is {min(gods):.2f} to {max(gods):.2f} tokens; a random order within the block has "
    f"{footrule_mean(SHAPE.length, SHAPE.block):.2f} on average.\n"
    "- These are two prompts of a small model, one of them chosen for its difference: what they show can happen; how "
    "often it does, or on a large model, they do not show."
)
