"""Axes and labels that several pictures share: scales, positions of an answer, steps, words."""

from __future__ import annotations

from functools import cache
from math import ceil, floor, log10

from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.ticker import MaxNLocator

from rws_decode.view.sentences import number, shown

MOST_TICKS = 9
_LONGEST = 16  # characters of a word; a longer one is cut


def scale_ticks(low: float, high: float) -> list[float]:
    """Return round scales in [low, high] for ticks: 1, 2 and 5 of each decade, or 1 alone where these are many.

    >>> scale_ticks(0.1, 10.0), scale_ticks(0.01, 40.0), scale_ticks(1.3, 1.4)
    ([0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0], [0.01, 0.1, 1.0, 10.0], [1.3, 1.4])
    """
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    for digits in ((1, 2, 5), (1,)):
        ticks = [float(f"{digit}e{power}") for power in powers for digit in digits]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) <= MOST_TICKS:
            break
    step = ceil(len(ticks) / MOST_TICKS)
    return ticks[::step] if len(ticks) > 1 else [low, high]


def scale_axis(axes: Axes, low: float, high: float, label: str, which: str = "x") -> None:
    """Make x, or y, the axis of scales from low to high, logarithmic, with plain numbers."""
    ends = low, high if high > low else low * 1.01
    axes.set(**{f"{which}scale": "log", f"{which}lim": ends, f"{which}label": label})
    axis, ticks = axes.xaxis if which == "x" else axes.yaxis, scale_ticks(low, high)
    axis.set_ticks(ticks, [number(tick) for tick in ticks])
    axis.set_ticks([], minor=True)


def whole_ticks(axes: Axes, which: str = "x") -> None:
    """Let the ticks of an axis of positions, steps or counts be whole numbers."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def values_label(ranking: str) -> str:
    """Return the label of what a trace's positions are ranked by, with its unit.

    >>> values_label("log-odds"), values_label("order")
    ('log-odds [nats]', "order [the strategy's number]")
    """
    unit = {"log-odds": "nats", "order": "the strategy's number"}.get(ranking, "probability")
    return f"{'confidence' if unit == 'probability' else ranking} [{unit}]"


def shown_word(word: str, longest: int = _LONGEST) -> str:
    """Return a token's text as a label: without outer blanks, cut where it is long.

    Characters that the font of the picture does not have become boxes.

    >>> shown_word(" the"), shown_word("incomprehensibilities")
    ('the', 'incomprehensibi…')
    """
    word, font = shown(word), str(findfont(FontProperties()))
    word = word if len(word) <= longest else word[: longest - 1] + "…"
    return "".join(letter if letter.isascii() or in_font(letter, font) else "▯" for letter in word)


@cache
def in_font(letter: str, path: str) -> bool:
    """Return whether the font of a file has a letter."""
    return bool(get_font(path).get_char_index(ord(letter)))
