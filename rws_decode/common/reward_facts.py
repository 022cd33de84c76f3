"""How reward models show themselves in a notebook: what they read, and what normalises their scores."""

from __future__ import annotations

import math
from typing import Any

from rws_theory.show import facts_html, figures, quoted


def reward_html(reward: Any, reads: str, **more: object) -> str:
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


def parameters_of(model: Any) -> str:
    """Return the number of a network's parameters in three digits; tied ones count once.

    >>> from torch import nn
    >>> parameters_of(nn.Linear(1000, 1200)), parameters_of(nn.Linear(2, 3))
    ('1.2M parameters', '9 parameters')
    """
    count = float(sum(parameter.numel() for parameter in model.parameters()))
    for unit in ("", "k", "M", "B"):
        if count < 999.5 or unit == "B":
            break
        count /= 1000
    return f"{count:.3g}{unit} parameters" if count < 999.5 else f"{count:,.0f}{unit} parameters"
