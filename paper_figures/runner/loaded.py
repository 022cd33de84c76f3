"""The models that this process has loaded: each once, as long as its files stay what they were."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from paper_figures.runner.units import Model

# Threads of one worker must not load a model twice.
_LOADING = threading.Lock()
# What the files of the models in the caches below were: a worker outlives many runs.
_DIGESTS: dict[Model, str] = {}
# What this process holds: role -> name and options -> model.
_LOADED: dict[str, dict[tuple[Any, ...], Any]] = {}


def expect(models: Mapping[Model, str]) -> None:
    """Say what the files of the models are now, by digest: what was loaded from other files is dropped."""
    with _LOADING:
        if any(_DIGESTS.get(model, files) != files for model, files in models.items()):
            _LOADED.clear()
        _DIGESTS.update(models)


def forget(*roles: str) -> None:
    """Drop the models of these roles (predictor, reward, causal) that this process holds, so that memory is free."""
    with _LOADING:
        for role in roles:
            _LOADED.pop(role, None)


def kept(role: str, key: tuple[Any, ...], load: Callable[[], Any], most: int = 1) -> Any:
    """Return a role's model of this key, loaded if this process does not hold it; `most` of a role are kept.

    The last used ones stay. Threads of one process load a model once.
    """
    with _LOADING:
        loaded = _LOADED.setdefault(role, {})
        if key not in loaded:
            # Before the next is loaded: memory may not hold both.
            while len(loaded) >= most:
                del loaded[next(iter(loaded))]
            loaded[key] = load()
        loaded[key] = loaded.pop(key)  # the last used stands last
        return loaded[key]
