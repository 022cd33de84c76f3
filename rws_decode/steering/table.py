"""The one table of steering methods, by name, and the texts that name one with its number."""

from __future__ import annotations

from dataclasses import fields
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rws_decode.steering.protocol import SteeringMethod

__all__ = ["METHODS", "as_method", "is_method", "within"]


class Entry(NamedTuple):
    """A method's line: MODULE.CLASS in this package, and what it does."""

    rule: str
    about: str


# Strings, not classes: --help must not wait for PyTorch.
METHODS: dict[str, Entry] = {
    "best-of": Entry("best_of.BestOf", "the answer of most reward among N draws"),
    "soft-best-of": Entry("best_of.SoftBestOf", "one of N draws, by exp(beta R)"),
    "particles": Entry("particles.Particles", "N copies, weighed and resampled at each step (FK steering)"),
    "particle-gibbs": Entry("particle_gibbs.ParticleGibbs", "particles in sweeps, beside the last answer"),
    "svdd": Entry("svdd.SVDD", "each step drawn N times, one draw taken by its value (SVDD)"),
    "reward-lookahead": Entry("reward_lookahead.RewardLookahead", "the commit of N after which the text scores best"),
    "gradient-guidance": Entry("entrgi.GradientGuidance", "logits moved by N gradients of the reward (EntRGi)"),
}


def is_method(text: str) -> bool:
    """Return whether a text names a steering method.

    >>> is_method("best-of:8"), is_method("rws:8")
    (True, False)
    """
    return text.partition(":")[0] in METHODS


def as_method(method: SteeringMethod | str, argument: str = "method", **numbers: Any) -> SteeringMethod:
    """Return a method as it is, or the one that a name and numbers say: "particles:8" with beta=2.0.

    The number after the colon is how many copies, draws, commits or gradients there are. ValueError, naming the
    argument, for an unknown name and for numbers that the method does not have or refuses.

    >>> as_method("particles:8", beta=2.0)
    Particles(n=8, beta=2.0, uneven=0.5)
    >>> as_method("particles")
    Traceback (most recent call last):
    ...
    ValueError: method is 'particles': a whole number is missing, as in particles:8
    """
    if not isinstance(method, str):
        return method
    name, _, number = method.partition(":")
    if name not in METHODS:
        meant = get_close_matches(name, METHODS, 1)
        advice = f" (is {meant[0]} meant?)" if meant else ""
        raise ValueError(
            f"{argument} is {method!r}: one of {', '.join(METHODS)} is needed{advice}, with a number as in best-of:8"
        )
    module, _, attribute = METHODS[name].rule.rpartition(".")
    rule = getattr(import_module(f"{__package__}.{module}"), attribute)
    try:
        copies = int(number)
    except ValueError:
        raise ValueError(f"{argument} is {method!r}: a whole number is missing, as in {name}:8") from None
    known = {field.name for field in fields(rule)}
    for option, value in numbers.items():
        if option not in known:
            raise ValueError(f"{option} is {value!r}: {name} has {', '.join(sorted(known))}")
    return rule(copies, **numbers)


def within(method: str, budget: int, steps: int, **numbers: Any) -> SteeringMethod:
    """Return the method with the most copies whose forwards stay within a budget for each prompt.

    budget: forwards, at least those of the smallest such method; steps: of the decode. The default strategy and rws
    take `steps` forwards. ValueError for a budget that is too small, and for a method whose forwards are the same for
    every number.

    >>> within("best-of", 128, 32), within("particle-gibbs", 128, 32, sweeps=2)
    (BestOf(n=4), ParticleGibbs(n=2, sweeps=2, beta=1.0, uneven=0.5))
    """
    least = 2 if method == "particle-gibbs" else 1
    fits = as_method(f"{method}:{least}", **numbers)
    if fits.forwards(2) == as_method(f"{method}:{least + 1}", **numbers).forwards(2):
        raise ValueError(f"method is {method!r}: no number changes its forwards, give one yourself, as in {method}:3")
    if fits.forwards(steps) > budget:
        raise ValueError(f"budget is {budget}: {method}:{least} takes {fits.forwards(steps)} forwards in {steps} steps")
    while steps > 1 and (more := as_method(f"{method}:{fits.copies + 1}", **numbers)).forwards(steps) <= budget:
        fits = more
    return fits
