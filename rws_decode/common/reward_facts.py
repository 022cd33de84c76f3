"""What normalises the scores of a reward model, and how it shows itself: its statistics, its bounds."""

from __future__ import annotations

import math
from typing import Any

from rws_theory.checks import finite
from rws_theory.show import clipped, figures, quoted


class Normalised:
    """A reward model's name, the statistics that normalise its scores, and (low, high) if all lie between.

    ValueError, naming the reward model, unless mean is finite and std is positive and finite.

    >>> Normalised("half", 0.25, 1.0, (0, 1))
    Normalised('half', mean=0.25, std=1, bounds=(0, 1))
    """

    network = ""  # what its line tells of one

    def __init__(self, name: str, mean: float, std: float, bounds: tuple[float, float] | None = None) -> None:
        self.name, self.bounds = name, bounds
        self.mean = float(finite(f"mean of reward model {name}", mean))
        self.std = float(finite(f"std of reward model {name}", std, above=0))

    def __repr__(self) -> str:
        bounds = "" if self.network or self.bounds is None or -math.inf in self.bounds else f", bounds={self.bounds}"
        statistics = f"mean={figures(self.mean)}, std={figures(self.std)}"
        return clipped(f"{type(self).__name__}({quoted(self.name, 40)}{self.network}, {statistics}{bounds})")


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
