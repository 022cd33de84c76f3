"""Lesson 3: two decodes of one prompt, the step at which they part, and what follows."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rws_decode import RewardModel, Trace
from rws_decode.replay.replay import Replay
from rws_theory import SelectionPath

_WIDTH = 90


def steps_apart(default: Trace, rws: Trace) -> NDArray[np.int64]:
    """Return the steps at which two decodes chose different positions."""
    return np.flatnonzero((rws.chosen != default.chosen).any(axis=1))


def parting_words(apart: NDArray[np.int64], steps: int) -> str:
    """Say at how many steps the chosen positions differ, and at which first.

    >>> parting_words(np.array([1, 4]), 32)
    'The chosen positions differ at 2 of 32 steps, first at step 1 (from 0): this is the step to look at.'
    """
    said = f"The chosen positions differ at {apart.size} of {steps} steps"
    return f"{said}, first at step {apart[0]} (from 0): this is the step to look at." if apart.size else f"{said}."


def inside(rws: Trace, step: int, reward: RewardModel, low: float, high: float) -> str:
    """Return a step's canvas and completion, its reward, and its factor among all from low to high, in Markdown."""
    candidates = rws.words(rws.candidate[step])
    canvas = " ".join(np.where(rws.masked[step], "____", candidates))
    texts = (f"canvas: {canvas}", f"completion: {' '.join(candidates)}")
    return (
        "\n\n".join(f"```\n{textwrap.fill(text, _WIDTH)}\n```" for text in texts)
        + f"\n\nraw reward {rws.reward_raw[step]:.3f}, normalised {rws.reward_normalised[step]:.3f} "
        f"(mean {reward.mean:.3f}, deviation {reward.std:.3f}), factor **{rws.factor[step]:.3f}** "
        f"of a possible {low:.3f} to {high:.3f}; ties at the cut: {rws.ties[step]}."
    )


def _never(paths: Sequence[SelectionPath]) -> list[int]:
    """Return the steps at which every factor commits the same positions."""
    return [step for step, path in enumerate(paths) if len(path.pieces) == 1]


def what_any_factor_changes(paths: Sequence[SelectionPath], low: float, high: float) -> str:
    """Say at how many steps the factors of a range commit several sets of positions, in Markdown."""
    never = _never(paths)
    most = max(range(len(paths)), key=lambda step: len(paths[step].pieces))
    return (
        f"At {len(paths) - len(never)} of {len(paths)}: there factors between {low:.3f} and {high:.3f} commit several "
        f"sets of positions, up to {len(paths[most].pieces)} at step {most}. At the others every factor commits the "
        f"same: steps {', '.join(map(str, never)) or 'none'}."
    )


def conclusion(
    default: Trace, rws: Trace, again: Trace, selected: Replay, paths: Sequence[SelectionPath], low: float, high: float
) -> str:
    """Say what the factor changed in a step, what the replays gave, and how far the two decodes differ.

    again: RWS replayed from its recorded factors without a reward; selected: selected again from its recorded values;
    paths: what each step of RWS commits at every factor from low to high.
    """
    apart, never = steps_apart(default, rws), _never(paths)
    step = int(apart[0]) if apart.size else 0
    same_words = np.array_equal(rws.candidate[step], default.candidate[step])
    tested = (
        f"At step {step} the committed positions are different and the candidate texts are "
        f"**{'the same' if same_words else 'different'}**: the first half of the prediction "
        f"{'holds' if same_words else 'fails'} here."
        if apart.size
        else "The two runs never part: the first half of the prediction is not tested here."
    )
    same_tokens = np.array_equal(again.tokens, rws.tokens)
    same_order = np.array_equal(again.commit_step, rws.commit_step)
    agrees = "agrees at every step" if selected.diverged_at is None else f"parts at step {selected.diverged_at}"
    proved = all(path.certified for path in paths)
    return (
        f"- {tested} What the factor changes in one step is "
        f"{'**where**, not what' if same_words else 'more than where'}; what is written differs later, as the other "
        "positions see other words.\n"
        f"- Replaying the recorded factors without a reward gives **{'the same' if same_tokens else 'other'}** tokens "
        f"in {'the same' if same_order else 'another'} order; selecting again from the recorded values {agrees}.\n"
        f"- The factor stayed between {rws.factor.min():.2f} and {rws.factor.max():.2f}. The answers differ at "
        f"{int((rws.tokens != default.tokens).sum())} of {rws.length} positions. GOD is {rws.god_tokens:.2f} tokens "
        f"against {default.god_tokens:.2f}.\n"
        f"- At {len(never)} of {rws.steps} steps of RWS, every factor between {low:.3f} and {high:.3f} commits the "
        f"same positions ({'proved' if proved else 'not proved'}; the last step of a block takes what is left): there "
        f"the reward could change nothing. At {int(rws.changed.sum())} steps its factor did.\n"
        f"- Rules broken: {len(default.rules_broken or ())} by confidence decoding, {len(rws.rules_broken or ())} by "
        "RWS. This is one prompt: which is better as a rule it cannot say."
    )
