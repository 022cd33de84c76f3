"""Pairs of arms of nearly equal GOD, how their quality differs, and what this says of orders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from paper_figures.exhibits.evidence import MEASURES, Measure, arms_of, difference_of
from paper_figures.exhibits.evidence_looks import title_of
from paper_figures.figures.parts.evidence_sentences import compared
from paper_figures.recorded import Recorded
from paper_figures.statistics.intervals import Interval
from paper_figures.studies.design.evidence_arms import WORLDS, Arm

__all__ = ["FIXED", "Orders", "Pair", "measure_of", "nearest_pairs", "sentences"]

FIXED = ("left-to-right", "window", "random-order")  # orders that do not follow confidence
_NEAR = 1.0  # tokens: GODs that differ by no more count as nearly equal


@dataclass(frozen=True, eq=False)
class Orders:
    """For each world: mean GOD and mean quality of each greedy arm whose order is drawn."""

    evidence: Recorded
    places: Mapping[str, Mapping[Arm, tuple[Interval, Interval]]]


@dataclass(frozen=True)
class Pair:
    """RWS or an order without confidence, the arm by confidence of nearest GOD, and how their quality differs."""

    fixed: Arm
    confident: Arm
    gods: tuple[float, float]
    difference: Interval


def measure_of(world: str) -> str:
    """Return the measure of a world's quality."""
    return "log_p_word" if WORLDS[world].exact else "coherent"


def nearest_pairs(data: Orders, world: str) -> Iterator[Pair]:
    """Yield, for RWS and each order without confidence, the arm by confidence of as many steps with the nearest GOD.

    Arms by confidence are the default and temperature, and their GOD is at most a token apart. The difference is
    paired over prompts.
    """
    arms, places = arms_of(data.evidence, world), data.places[world]
    for fixed in (arm for arm in places if arm.method in ("rws", *FIXED)):
        others = [
            arm for arm in places if arm.method in ("default", "temperature") and arm.one_by_one == fixed.one_by_one
        ]
        if others:
            god = places[fixed][0].mean
            nearest = min(others, key=lambda arm: abs(places[arm][0].mean - god))
            difference = difference_of(arms[fixed], arms[nearest], measure_of(world))
            if difference is not None and abs(places[nearest][0].mean - god) <= _NEAR:
                yield Pair(fixed, nearest, (god, places[nearest][0].mean), difference)


def sentences(data: Orders) -> tuple[str, ...]:
    lines = []
    for world, places in data.places.items():
        name = MEASURES[measure_of(world)]
        pairs = list(nearest_pairs(data, world))
        if pairs:
            widest = max(pairs, key=lambda pair: abs(pair.difference.mean))
            lines.append(
                f"In {world}, at GODs at most {_NEAR:g} token apart, {name.title} differ{_s(name)} by up to "
                f"{abs(widest.difference.mean):.2f} {name.unit}: {_pair(widest)}."
            )
        lines += [_spans(world, places), _ends(data, world)]
        rest = [_pair(pair) for pair in sorted(pairs, key=lambda pair: -abs(pair.difference.mean))[1:]]
        if rest:
            lines.append(f"Further pairs of nearly equal GOD in {world}, by {name.title}: {'; '.join(rest)}.")
    return tuple(filter(None, lines))


def _s(name: Measure) -> str:
    return "" if name.title.endswith("s") else "s"


def _pair(pair: Pair) -> str:
    (first, second), said = pair.gods, compared(pair.difference, "more", "less")
    return f"{title_of(pair.fixed)} (GOD {first:.1f}) beside {title_of(pair.confident)} (GOD {second:.1f}): {said}"


def _spans(world: str, places: Mapping[Arm, tuple[Interval, Interval]]) -> str:
    """Return how far apart the arms' means lie, two tokens a step and one."""
    said = []
    for one_by_one, steps in ((False, "two tokens a step"), (True, "one token a step")):
        means = [quality.mean for arm, (_, quality) in places.items() if arm.one_by_one == one_by_one]
        if len(means) > 1:
            said.append(f"{max(means) - min(means):.2f} with {steps} ({len(means)} arms)")
    name = MEASURES[measure_of(world)]
    return f"Over all orders in {world}, mean {name.title} spans, in {name.unit}: {'; '.join(said)}." if said else ""


def _ends(data: Orders, world: str) -> str:
    """Return what a random order has more than left to right, two tokens a step and one."""
    arms, said = arms_of(data.evidence, world), []
    for one_by_one in (False, True):
        pair = [Arm(method, None, 0.0, one_by_one) for method in ("random-order", "left-to-right")]
        if all(arm in arms for arm in pair):
            difference = difference_of(arms[pair[0]], arms[pair[1]], measure_of(world))
            if difference is not None:
                steps = "one token a step" if one_by_one else "two tokens a step"
                said.append(f"{steps} {compared(difference, 'more', 'less')}")
    name = MEASURES[measure_of(world)]
    return f"A random order against left to right in {world}, {name.title}: {'; '.join(said)}." if said else ""
