"""How large a network is, in words."""

from __future__ import annotations

from torch import nn


def parameters_of(model: nn.Module) -> str:
    """Return the number of a network's parameters in three digits; tied ones count once.

    >>> parameters_of(nn.Linear(1000, 1200)), parameters_of(nn.Linear(2, 3))
    ('1.2M parameters', '9 parameters')
    """
    count = float(sum(parameter.numel() for parameter in model.parameters()))
    for unit in ("", "k", "M", "B"):
        if count < 999.5 or unit == "B":
            break
        count /= 1000
    return f"{count:.3g}{unit} parameters" if count < 999.5 else f"{count:,.0f}{unit} parameters"
