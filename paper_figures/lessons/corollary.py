"""Lesson 2, second half: the model on which RWS ends with less reward, RWS beside its controls, and the conclusion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rws_decode import plots
from rws_decode.common.palette import BLACK, BLUE, GREY, VERMILION
from rws_decode.view.plots.sheet import drawn, finished, panels_of
from rws_theory import crossings, factor_range, log_odds
from rws_theory.worlds.ensembles import CorollaryStudy, Reward, RewardTally
from rws_theory.worlds.joint_table import MASK, JointTable
from rws_theory.worlds.less_reward import LessReward
from rws_theory.worlds.reference_decoder import MaskedDecode, constant_rule, decode_masked, rws_rule, table_reward

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Tallies = Mapping[str, Sequence[RewardTally]]

# What RWS is compared with, and what a picture calls it.
CONTROLS = {
    "confidence": "confidence",
    "constant": "constant of equal mean",
    "shuffled": "rewards shuffled",
    "flipped": "reward's sign turned",
}


@dataclass(frozen=True, eq=False)
class TwoDecodes:
    """The smallest model on which RWS loses, decoded by confidence and by RWS.

    logits: [2, 3], those of the first step; completions: the greedy completions that `factors` factors of RWS's range
    give there.
    """

    example: LessReward
    logits: NDArray[np.float64]
    runs: Mapping[str, MaskedDecode]
    factors: int
    completions: int


def decode_both(example: LessReward, factors: int = 400) -> TwoDecodes:
    """Decode the model by confidence and by RWS, and count the completions that its possible factors give."""
    with np.errstate(divide="ignore"):
        model = JointTable(np.log(example.weights))
    reward = table_reward(model, example.rewards)
    logits = model.conditionals([MASK, MASK])
    tried = np.geomspace(*factor_range(example.reward_scale), factors)
    completions = {tuple((factor * logits).argmax(axis=-1).tolist()) for factor in tried}
    runs = {
        "confidence": decode_masked(model, constant_rule(1.0), reward=reward),
        "RWS": decode_masked(model, rws_rule(example.reward_scale), reward=reward),
    }
    return TwoDecodes(example, logits, runs, factors, len(completions))


@drawn
def order_picture(decodes: TwoDecodes) -> Figure:
    """Draw which position is committed first at each factor, and what that does to the expected reward."""
    example, (_, high) = decodes.example, factor_range(decodes.example.reward_scale)
    figure, (left, right) = panels_of(None, 1, 2, (10.0, 4.0), width_ratios=(3, 2))
    names = ["position 1", "position 2"]
    plots.confidence_curves(decodes.logits, names=names, scale_min=0.5, scale_max=high, axes=left)
    commits = []
    for (name, run), marker in zip(decodes.runs.items(), "Ds", strict=True):
        best = max(float(log_odds(row, run.factors[0])) for row in decodes.logits)
        look = {"color": "white", "markeredgecolor": BLACK, "markersize": 8, "linestyle": "none"}
        commits += left.plot(run.factors[0], best, marker, label=f"first commit, {name}", **look)
    left.set_xlabel(f"factor $c$; that of RWS is at most {high:.3g} at $s_R$ = {example.reward_scale}")
    (root,) = crossings(*decodes.logits).roots
    left.set_title(f"who is committed first: the curves cross at {root:.3f}")
    left.legend(handles=commits, loc="upper left")
    expected = {"before": example.mean, "confidence": example.confidence_expected, "RWS": example.rws_expected}
    colors = [GREY, BLUE, VERMILION]
    bars = right.bar(list(expected), [float(value) for value in expected.values()], 0.6, color=colors)
    for bar, hatch, value in zip(bars, ("", "//", ".."), expected.values(), strict=True):
        bar.set(hatch=hatch, edgecolor="white")
        right.text(bar.get_x() + 0.3, bar.get_height() + 0.02, str(value), ha="center")
    right.set_ylim(0, 1.15)
    right.set_ylabel("expected reward")
    right.set_title("before, and after the first commit by")
    return figure


def tallies_of(study: CorollaryStudy) -> Tallies:
    """Return, for each kind of reward, how RWS ended beside each control, over all ensembles together."""
    final = {
        reward: [tally for cell in study.cells if cell.reward == reward for tally in cell.final]
        for reward in get_args(Reward)
    }
    return {reward: [_summed(tallies, against) for against in CONTROLS] for reward, tallies in final.items()}


def _summed(tallies: Sequence[RewardTally], against: str) -> RewardTally:
    tallies = [tally for tally in tallies if tally.against == against]
    return RewardTally(against, *(sum(getattr(tally, key) for tally in tallies) for key in ("more", "equal", "less")))


def first_lowered(study: CorollaryStudy, reward: Reward) -> int:
    """Return in how many models the first commit of RWS lowered the expected reward, of a kind of reward."""
    cells = [cell for cell in study.cells if cell.reward == reward]
    return _summed([tally for cell in cells for tally in cell.first_step], "nothing").less


@drawn
def outcomes_picture(tallies: Tallies) -> Figure:
    """Draw in which share of the models RWS ended with more reward than each control, and with less."""
    figure, panels = panels_of(None, 1, len(tallies), (10.0, 3.6), sharey=True, sharex=True)
    for panel, (reward, comparisons) in zip(panels, tallies.items(), strict=True):
        for row, tally in enumerate(comparisons):
            _outcome(panel, row, tally, "less", -1, {"color": VERMILION, "hatch": ".."})
            _outcome(panel, row, tally, "more", 1, {"color": BLUE, "hatch": "//"})
        panel.axvline(0, color=BLACK, linewidth=0.8)
        panel.set_title(f"reward: {reward}")
    panels[0].set_yticks(range(len(CONTROLS)), list(CONTROLS.values()))
    panels[0].invert_yaxis()
    panels[0].set_xticks(range(-10, 11, 5))
    panels[0].set_xlim(-11.9, 11.9)
    panels[0].xaxis.set_major_formatter(lambda value, _: f"{abs(value):g}")
    number = next(iter(tallies.values()))[0].models
    panels[1].set_xlabel(f"models [% of {number:,}]")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return finished(figure, None, "The rest of the models end with equal reward. Bars are 95 % intervals.")


def _outcome(
    panel: Axes, row: int, tally: RewardTally, outcome: Literal["more", "less"], sign: int, look: dict[str, Any]
) -> None:
    share = 100 * getattr(tally, outcome) / tally.models
    start, end = (100 * bound for bound in tally.interval(outcome))
    error = [[share - start], [end - share]] if sign > 0 else [[end - share], [share - start]]
    label = f"RWS ends with {outcome} reward" if row == 0 else None
    panel.barh(row, sign * share, 0.6, edgecolor="white", label=label, **look)
    panel.errorbar(sign * share, row, xerr=error, color=BLACK, capsize=3, linewidth=1)
