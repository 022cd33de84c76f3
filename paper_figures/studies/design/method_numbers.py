"""Give each method of a study its numbers: those of the study, or of the prompt's own RWS run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from paper_figures.runner.units import Unit
from paper_figures.studies.design.methods import METHODS
from rws_decode.strategies.table import STRATEGIES


def numbers_of(
    method: str, scale: float, base: Unit, name: str, run: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the numbers of a method's strategy for one prompt, besides the reward scale.

    `base` gives the seed, and `name` is the prompt's name. `run` is the prompt's row of rws at that scale, which the
    methods of FROM_RWS need.
    """
    if method == "temperature":
        return {"scale": scale}
    if method == "random":
        return {"seed": seed_of(base, name, "noise")}
    if run is not None and method == "constant":
        return {"scale": run["mean_factor"]}
    if run is not None and method == "shuffled":
        rng = np.random.default_rng(seed_of(base, name, f"shuffle {scale!r}"))
        return {"rewards": rng.permutation(list(run["rewards"])).tolist()}
    return {}


def strategy_of(
    method: str, guide: str | None, scale: float | None, numbers: Mapping[str, Any]
) -> tuple[dict[str, Any], str | None]:
    """Return the strategy and the reward model that a unit names.

    If `numbers` has `every`, the strategy is an rws that asks the reward only at every N-th step.

    >>> strategy_of("flipped", "mini", 8.0, {})
    ({'name': 'rws-flipped', 'reward_scale': 8.0}, 'mini')
    >>> strategy_of("constant", "mini", 8.0, {"scale": 2.5})
    ({'name': 'temperature', 'scale': 2.5}, None)
    """
    line = METHODS["best-of-n" if method == "sample" else method] if "every" not in numbers else None
    name = "rws-every" if line is None else line.strategy
    reads = STRATEGIES[name].reads
    scaled = {"reward_scale": scale} if "reward_scale" in reads and scale is not None else {}
    return {"name": name, **scaled, **numbers}, guide if "reward" in reads else None


def seed_of(base: Unit, name: str, purpose: str) -> int:
    """Return a seed for one prompt and purpose, so that it does not depend on what else is run."""
    return int(np.random.default_rng([base.seed, *f"{name} {purpose}".encode()]).integers(2**31))
