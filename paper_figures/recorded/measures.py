"""Measure the answers of a record: what is compared, in which unit, and from which margin on a difference matters.

No margin of equivalence follows from the results: each has its reason beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from numpy.typing import ArrayLike

from paper_figures.statistics.intervals import (
    Interval,
    clustered_interval,
    exact_share,
    mean_interval,
    paired_differences,
)
from paper_figures.statistics.paired_proportions import net_share
from paper_figures.statistics.resampling import text_pairs
from paper_figures.statistics.win_rates import paired_outcomes
from paper_figures.studies.evidence_arms import WORLDS
from rws_decode.common.later import NDArray, np, pd
from rws_decode.rewards.registry import kind_of, offered_reward


@dataclass(frozen=True)
class Measure:
    """A measure of answers: how two answers of a prompt are compared, and the margin of equivalence.

    - kind "mean": their difference. kind "share": who has the greater score, +1, 0 or -1, as in a net win rate.
    - `margin` is in the unit of the measure; `reason` says why it is that. `factor` makes points of shares for reading.
    - `smaller`: the smaller value is the better one. A greater GOD counts as better.
    """

    name: str
    title: str
    unit: str
    kind: Literal["mean", "share"]
    margin: float
    reason: str
    factor: float = 1.0
    smaller: bool = False

    @property
    def bound(self) -> float:
        """Return the size beyond which a difference counts as no more: that of a share, else 30 margins as in `ablate`.

        >>> MEASURES["reward"].bound, MEASURES["coherent"].bound
        (3.0, 1.0)
        """
        return 1.0 if self.kind == "share" else round(30 * self.margin, 9)

    def text(self, value: float, sign: bool = True) -> str:
        """Return a value for reading, with its sign and without its unit.

        >>> MEASURES["coherent"].text(0.123), MEASURES["log_prob"].text(-0.0004), MEASURES["god"].text(2, sign=False)
        ('+12.3', '0.000', '2.00')
        """
        digits = 1 if self.factor > 1 else 3 if self.margin < 0.1 else 2
        rounded = round(self.factor * value, digits) + 0.0  # no minus zero
        return f"{rounded:{'+' if sign and rounded else ''}.{digits}f}"


_RATE = "half of the 21.9 points that the paper's Table 1 has between RWS and its default, on average"
_NATS = "a perplexity that is 5.8 % higher, about half of the 12 % of the paper's Section 5.4"
# The only place where margins are chosen.
MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("reward", "reward", "SD", "mean", 0.1, "half of what is called a small effect, 0.2 SD"),
        Measure("net", "net win rate by the reward", "points", "share", 0.11, _RATE, 100.0),
        Measure("net mini-judge", "net win rate by the other judge", "points", "share", 0.11, _RATE, 100.0),
        Measure("net exact", "net win rate by the exact rules", "points", "share", 0.11, _RATE, 100.0),
        Measure("net humanness", "net win rate by humanness", "points", "share", 0.11, _RATE, 100.0),
        Measure("net valid", "net win rate by valid", "points", "share", 0.11, _RATE, 100.0),
        Measure("net qed", "net win rate by qed", "points", "share", 0.11, _RATE, 100.0),
        Measure("log_prob", "log p", "nats a word", "mean", 0.057, _NATS),
        Measure("nll", "log perplexity", "nats a token", "mean", 0.057, _NATS, smaller=True),
        Measure("coherent", "coherent answers", "points", "share", 0.05, "one answer in 20: fewer do not count", 100.0),
        Measure("god", "GOD", "tokens", "mean", 0.5, "about half of the rise in the paper's Table 1, from 1.4 to 2.6"),
    )
}
_TIE = 1e-9  # raw reward; scores that differ by less are equal


def measures_of(world: str) -> tuple[str, ...]:
    """Return the measures of a model and reward, those that matter most first.

    >>> measures_of("english:era")
    ('log_prob', 'reward', 'net', 'god')
    """
    if WORLDS[world].exact:
        return ("log_prob", "reward", "net", "god")
    judges = tuple(f"net {judge}" for judge in WORLDS[world].judges)
    language = ("coherent", "nll") if WORLDS[world].causal else ()
    return (*judges, *language, "reward", "net", "god")


def main_measures(world: str) -> tuple[str, str]:
    """Return the two measures that figures and answers use.

    >>> main_measures("english:era"), main_measures("mini:mini")
    (('reward', 'log_prob'), ('net mini-judge', 'coherent'))
    """
    if not WORLDS[world].exact and WORLDS[world].causal:
        return ("net mini-judge", "coherent")
    return ("reward", "log_prob" if WORLDS[world].exact else measures_of(world)[0])


def scores_of(answers: pd.DataFrame, world: str, measure: str) -> NDArray[np.float64]:
    """Return the scores of one arm's answers, shape (n,), in the measure's unit; NaN where an answer has none."""
    setting = WORLDS[world]
    if measure == "log_prob":
        return answers["log_prob"].to_numpy(float) / setting.length
    if measure in ("reward", "net"):
        mean, deviation = _guide(setting.reward)
        return (answers["reward"].to_numpy(float) - mean) / deviation
    if measure.startswith("net "):
        judge = setting.judges.index(measure.removeprefix("net "))
        return np.array([scores[judge] for scores in answers["judge_scores"]], dtype=np.float64)
    if measure == "coherent":
        broken = answers["rules_broken"].to_numpy(float)
        return np.where(np.isnan(broken), np.nan, broken == 0)
    if measure == "nll":
        with np.errstate(divide="ignore", invalid="ignore"):
            return answers["nll"].to_numpy(float) / answers["causal_tokens"].to_numpy(float)
    return answers["god_tokens"].to_numpy(float)


def differences_of(measure: str, first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return first - second of a mean, or +1, 0, -1 of a share; 0 where they differ by rounding alone."""
    if MEASURES[measure].kind == "share":
        return paired_outcomes(first, second, tolerance=_TIE).astype(np.float64)
    return paired_differences(first, second)


def interval_of(
    values: ArrayLike, kind: Literal["mean", "share", "net"], pairs: NDArray[np.int64] | None = None
) -> Interval:
    """Return the mean of values with its 95 % interval: ABC, exact of a share of 0 and 1, Tango's of a net win rate.

    pairs: those of `text_pairs`; where pairs repeat, the interval is over distinct pairs (`clustered_interval`).
    """
    array = np.asarray(values, dtype=np.float64)
    if pairs is not None and pairs.max() + 1 < pairs.size:
        if np.ptp(array) > 0:
            found = clustered_interval(array, pairs)
            return Interval(*np.clip(found, -1.0, 1.0).tolist()) if kind == "net" else found
        array = array[: pairs.max() + 1]  # one value for each pair
    return _interval(array.tobytes(), kind)


# Of the differences of a measure.
KINDS: dict[str, Literal["mean", "net"]] = {"mean": "mean", "share": "net"}


def difference_interval(answers: Sequence[pd.DataFrame], world: str, measure: str) -> Interval | None:
    """Return the first arm's answers less the second's with a 95 % interval; None where a measure is missing.

    It is over distinct pairs of texts where pairs repeat.
    """
    first, second = (scores_of(frame, world, measure) for frame in answers)
    if not np.isfinite([first, second]).all():
        return None
    pairs = text_pairs(*(frame["tokens"] for frame in answers))
    return interval_of(differences_of(measure, first, second), KINDS[MEASURES[measure].kind], pairs)


@lru_cache(maxsize=4096)
def _interval(buffer: bytes, kind: str) -> Interval:
    values = np.frombuffer(buffer)
    if kind == "share":
        return exact_share(int(values.sum()), values.size)
    return net_share(values) if kind == "net" else mean_interval(values)


@lru_cache(maxsize=8)
def _guide(reward: str) -> tuple[float, float]:
    """Return mean and SD of a reward model over texts."""
    from rws_decode import load_reward
    from rws_decode.extra.packages.likelihood import STATISTICS

    # A record is read where its network is not installed.
    known = getattr(offered_reward(reward), "statistics", None) if kind_of(reward) == "offered" else None
    if known is not None:
        return known(reward)
    if reward in STATISTICS:
        return STATISTICS[reward]
    model = load_reward(reward)
    return float(model.mean), float(model.std)
