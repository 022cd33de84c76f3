"""How reward models show themselves in a notebook: what they read, and what normalises their scores."""

from __future__ import annotations

import math
from typing import Protocol

from rws_theory.show import facts_html, figures, quoted


class Normalised(Protocol):
    """What has a name and the statistics that normalise its scores, as every reward model does."""

    @property
    def name(self) -> str: ...

    @property
    def mean(self) -> float: ...

    @property
    def std(self) -> float: ...


def reward_html(reward: Normalised, reads: str, **more: object) -> str:
    """Return a reward model as a table of what is known of it; reads: in words; more: facts of its kind, by name.

    >>> from rws_decode.rewards import CallableReward
    >>> "prompt and answer" in reward_html(CallableReward(len), "prompt and answer")
    True
    """
    low, high = getattr(reward, "bounds", None) or (-math.inf, math.inf)
    facts: dict[str, object] = {
        "reads": reads,
        "mean": figures(reward.mean),
        "deviation": figures(reward.std),
        "scores lie between": None if (low, high) == (-math.inf, math.inf) else f"{figures(low)} and {figures(high)}",
        **{name.replace("_", " "): fact for name, fact in more.items()},
    }
    return facts_html(f"{type(reward).__name__}({quoted(reward.name)})", facts)
