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


def conclusion(default: Trace, rws: Trace, again: Trace, selected: Replay, paths: Sequence[SelectionPath]) -> str:
    """Say what the factor changed in a step, what the replays gave, and how far the two decodes differ.

    again: RWS replayed from its recorded factors without a reward; selected: selected again from its recorded values;
    paths: what each step of RWS commits at every factor of its range.
    """
    step = int(steps_apart(default, rws)[0])
    same_words = np.array_equal(rws.candidate[step], default.candidate[step])
    same = np.array_equal(again.tokens, rws.tokens) and np.array_equal(again.commit_step, rws.commit_step)
    agrees = "agrees at every step" if selected.diverged_at is None else f"parts at step {selected.diverged_at}"
    return (
        f"- At step {step} the committed positions are different and the candidate texts are "
        f"**{'the same' if same_words else 'different'}**. What the factor changes in one step is "
        f"{'**where**, not what' if same_words else 'more than where'}.\n"
        f"- Replaying the recorded factors without a reward gives **{'the same' if same else 'other'}** tokens and "
        f"order; selecting again from the recorded values {agrees}.\n"
        f"- The factor stayed between {rws.factor.min():.2f} and {rws.factor.max():.2f}. At "
        f"{sum(len(path.pieces) == 1 for path in paths)} of {rws.steps} steps every factor of its range commits the "
        f"same positions ({'proved' if all(path.certified for path in paths) else 'not proved'}); at "
        f"{int(rws.changed.sum())} its factor changed them. The answers differ at "
        f"{int((rws.tokens != default.tokens).sum())} of {rws.length} positions.\n"
        f"- GOD is {rws.god_tokens:.2f} tokens against {default.god_tokens:.2f}; rules broken: "
        f"{len(rws.rules_broken or ())} against {len(default.rules_broken or ())}."
    )
