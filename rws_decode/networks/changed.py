"""A network with another forward of one of its modules, which no other thread sees."""

from collections.abc import Callable
from copy import copy
from typing import Any


def with_forward(network: Any, part: Any, forward: Callable[..., Any]) -> Any:
    """Return a network of the same weights with another forward of a module; None where it has no such module.

    The modules around the part are copied, and nothing of the network itself changes.
    """
    changed = copy(network)
    if network is part:
        changed.forward = forward
        return changed
    for name, module in reversed(network._modules.items()):  # a head stands last
        if module is not None and (inner := with_forward(module, part, forward)) is not None:
            changed._modules = {**network._modules, name: inner}
            return changed
    return None
