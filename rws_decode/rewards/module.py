"""A reward of your own by MODULE:NAME: an object or a function of a Python module, installed or in this directory."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from rws_decode.rewards.base import RewardModel
from rws_decode.rewards.callable import CallableReward


def module_reward_named(name: str, mean: float | None = None, std: float | None = None) -> RewardModel:
    """Return the reward model of a module, or its function with a mean and a deviation.

    The module is imported, so its code runs. ValueError where it cannot be, for a name that it lacks, for what is
    neither, for a function without both numbers, and for numbers beside a reward model, which has its own.
    """
    module, _, attribute = name.partition(":")
    try:
        with _from_here():
            found = getattr(import_module(module), attribute, None)
    except Exception as error:  # of the module's own code
        raise ValueError(f"reward is {name}: module {module} fails ({type(error).__name__}: {error})") from error
    if isinstance(found, RewardModel) and not isinstance(found, type):
        if mean is not None or std is not None:
            raise ValueError(f"mean is {mean}, std is {std}: the reward model {name} has its own, leave them out")
        return found
    if isinstance(found, type) or not callable(found):
        raise ValueError(f"reward is {name}: module {module} has no reward model and no function {attribute}")
    if mean is None or std is None:
        raise ValueError(
            f"reward is {name}, a function whose mean and deviation are not known: name an object of the module such "
            f"as reward = CallableReward({attribute}, mean, std)"
        )
    return CallableReward(found, mean, std, name=name)


def module_file(name: str) -> Path:
    """Return the file of a reward's module, without running it; ValueError where there is none."""
    module = name.partition(":")[0]
    try:
        with _from_here():
            spec = find_spec(module)
    except ImportError:  # a package on the way is missing
        spec = None
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():
        raise ValueError(f"reward is {name}: no module {module} is installed, nor a file of it in {os.getcwd()}")
    return Path(spec.origin)


@contextmanager
def _from_here() -> Iterator[None]:
    """Let modules be found in the working directory too, where a console script does not look."""
    here = os.getcwd()
    if here in sys.path:
        yield
        return
    sys.path.append(here)
    try:
        yield
    finally:
        sys.path.remove(here)
