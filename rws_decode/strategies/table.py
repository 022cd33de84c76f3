"""Strategies by name, as commands and configs ask for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rws_decode.strategies.factors import Strategy
    from rws_decode.trace.trace import Trace

__all__ = ["STRATEGIES", "strategy_named"]

# The options that each strategy reads besides the common ones; "reward" is a reward model, which decoding asks for.
STRATEGIES = {
    "default": (),
    "temperature": ("scale",),
    "rws": ("reward_scale", "reward"),
    "rws-every": ("reward_scale", "reward", "every"),
    "rws-flipped": ("reward_scale", "reward"),
    "rws-random": ("reward_scale",),
    "schedule": ("run",),
    "constant": ("run",),
    "shuffled": ("run",),
    "margin": (),
    "entropy": (),
    "random-order": (),
    "left-to-right": (),
}


def strategy_named(
    name: str,
    *,
    scale: float | None = None,
    reward_scale: float | None = None,
    eps: float = 1e-5,
    every: int | None = None,
    run: Trace | None = None,
    seed: int | tuple[int, ...] = 0,
) -> Strategy:
    """Return the strategy of that name (`STRATEGIES`) made from those of the options that it reads.

    scale: c of "temperature"; reward_scale, eps: s_R and epsilon of the rws strategies; every: of "rws-every"; run: the
    rws run that "schedule" repeats, "constant" averages and "shuffled" permutes; seed: of "rws-random", "random-order"
    and "shuffled" (the first, if one per row). ValueError for an unknown name, an option that is missing, and values
    that the strategy refuses.

    >>> strategy_named("rws", reward_scale=8.0)
    RWS(reward_scale=8.0, eps=1e-05)
    >>> strategy_named("temperature")
    Traceback (most recent call last):
    ...
    ValueError: scale is None: strategy temperature needs it
    """
    import numpy as np

    from rws_decode.strategies import controls, orders
    from rws_decode.strategies import factors as guidance

    if name not in STRATEGIES:
        raise ValueError(f"strategy is {name!r}: it must be one of {', '.join(STRATEGIES)}")
    given: dict[str, Any] = {"scale": scale, "reward_scale": reward_scale, "every": every, "run": run, "reward": name}
    for option in STRATEGIES[name]:
        if given[option] is None:
            raise ValueError(f"{option} is None: strategy {name} needs it")
    c, s_r, run_of = given["scale"], given["reward_scale"], given["run"]
    first = seed[0] if isinstance(seed, tuple) else seed
    build: dict[str, Callable[[], Strategy]] = {
        "default": guidance.Confidence,
        "temperature": lambda: guidance.Temperature(c),
        "rws": lambda: guidance.RWS(s_r, eps),
        "rws-every": lambda: controls.RWSEvery(s_r, given["every"], eps),
        "rws-flipped": lambda: controls.FlippedReward(s_r, eps),
        "rws-random": lambda: controls.RandomReward(s_r, seed, eps),
        "schedule": lambda: guidance.recorded(run_of),
        "constant": lambda: guidance.constant_of(run_of),
        "shuffled": lambda: guidance.shuffled(run_of, np.random.default_rng(first)),
        "margin": orders.Margin,
        "entropy": orders.Entropy,
        "random-order": lambda: orders.RandomOrder(seed),
        "left-to-right": orders.LeftToRight,
    }
    return build[name]()
