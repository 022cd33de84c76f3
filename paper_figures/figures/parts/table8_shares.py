"""How much of the change from the default that RWS makes a constant factor of equal mean makes too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from paper_figures.exhibits.evidence import arms_of, difference_of
from paper_figures.exhibits.evidence_looks import path_of
from paper_figures.figures.parts.evidence_sentences import text_of
from paper_figures.recorded import Recorded
from paper_figures.statistics.intervals import Interval
from paper_figures.studies.design.evidence_arms import WORLDS, Arm

if TYPE_CHECKING:
    import pandas

MEASURES_OF_TABLE8 = {"log_perplexity": "perplexity", "god_tokens": "GOD"}


@dataclass(frozen=True)
class Share:
    """The change of RWS from the default and of its constant, and the second as a share of the first.

    The share is None where the interval of RWS's own change holds 0.
    """

    rws: Interval
    constant: Interval
    share: Interval | None


def share_of_change(
    default: pandas.DataFrame, rws: pandas.DataFrame, constant: pandas.DataFrame, measure: str
) -> Share | None:
    """Return how much of the mean change from the default that RWS makes its constant makes too.

    share = mean(constant - default) / mean(RWS - default), with a percentile bootstrap interval over prompts. None
    where an answer has no such measure.
    """
    of_rws, of_constant = difference_of(rws, default, measure), difference_of(constant, default, measure)
    if of_rws is None or of_constant is None:
        return None
    if of_rws.low <= 0 <= of_rws.high:
        return Share(of_rws, of_constant, None)
    pairs = np.stack([(frame[measure] - default[measure]).to_numpy(dtype=float) for frame in (rws, constant)])
    drawn = np.random.default_rng(0).integers(pairs.shape[1], size=(1999, pairs.shape[1]))
    means = pairs[:, drawn].mean(axis=2)
    low, high = np.quantile(means[1] / means[0], [0.025, 0.975])
    share = Interval(float(pairs[1].mean() / pairs[0].mean()), float(low), float(high))
    return Share(of_rws, of_constant, share)


def shares_of(evidence: Recorded, worlds: Iterable[str]) -> Iterator[tuple[str, float, str, Share]]:
    """Yield the share of change of each world, scale and measure."""
    for world in worlds:
        arms, default = arms_of(evidence, world), Arm("default")
        for rws in path_of(arms, "rws"):
            constant = Arm("constant", rws.number)
            if default in arms and constant in arms:
                for measure in MEASURES_OF_TABLE8:
                    share = share_of_change(arms[default], arms[rws], arms[constant], measure)
                    if share is not None:
                        yield world, float(rws.number or 0.0), measure, share


def sentences(evidence: Recorded, worlds: Iterable[str]) -> tuple[str, ...]:
    """Return a sentence for each world and scale where RWS shows the printed pattern: what its constant makes of it."""
    cells: dict[tuple[str, float], dict[str, Share]] = {}
    for world, scale, measure, share in shares_of(evidence, worlds):
        cells.setdefault((world, scale), {})[measure] = share
    return tuple(
        _sentence(world, scale, shares)
        for (world, scale), shares in cells.items()
        if len(shares) == len(MEASURES_OF_TABLE8) and _is_pattern(shares)
    )


def _is_pattern(shares: Mapping[str, Share]) -> bool:
    return shares["god_tokens"].rws.low > 0 and shares["log_perplexity"].rws.high < 0


def _sentence(world: str, scale: float, shares: Mapping[str, Share]) -> str:
    god, level = shares["god_tokens"], shares["log_perplexity"]
    line = (
        f"RWS {scale:g} in {WORLDS[world].model} changes GOD by {text_of(god.rws, signed=True)} tokens and log "
        f"perplexity by {text_of(level.rws, signed=True)} from the default: Table 8's pattern."
    )
    parts = [
        f"{text_of(Interval(*(100 * number for number in share.share)), 0)} % of the {which}"
        for which, share in (("first", god), ("second", level))
        if share.share is not None
    ]
    return f"{line} Its constant makes {' and '.join(parts)}." if parts else line
