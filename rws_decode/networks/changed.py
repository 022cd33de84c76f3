"""A network with another forward of one of its modules, which no other thread sees."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any


def with_forward(network: Any, part: Any, forward: Callable[..., Any]) -> Any:
    """Return a network of the same weights, in which a module's forward is another one; None where it has no such part.

    The modules around the part are copied, and nothing of the network itself changes.

    >>> from torch import ones
    >>> from torch.nn import Identity, Sequential
    >>> network = Sequential(Identity(), Sequential(Identity()))
    >>> doubling = with_forward(network, network[1][0], lambda x: 2 * x)
    >>> doubling(ones(1)).tolist(), network(ones(1)).tolist(), doubling[0] is network[0]
    ([2.0], [1.0], True)
    """
    if network is part:
        changed = copy(network)
        changed.forward = forward
        return changed
    for name, module in reversed(network._modules.items()):  # the last first: a head stands there
        inner = None if module is None else with_forward(module, part, forward)
        if inner is not None:
            changed = copy(network)
            changed._modules = {**network._modules, name: inner}
            return changed
    return None
