"""Two records compared field by field, and each difference in words: of two runs' settings, and of two machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rws_theory.show import one_line, shortened

_MOST = 6  # entries of a list that is told whole
_LONGEST, _BEFORE = 60, 20  # characters of a text, and of those before the first that differs


@dataclass(frozen=True)
class Change:
    """A field of two records that is not the same in both: its name and its two values."""

    name: str
    first: Any
    second: Any

    __repr__ = one_line

    def words(self, whole: Callable[[int], str] = str) -> tuple[str, str]:
        """Return the two values in words: of two dicts what differs, of long lists and texts where they first differ.

        whole: what says a whole number, such as the text of a token.

        >>> Change("savings", {"certain": True, "cache": True}, {"certain": False, "cache": True}).words()
        ('certain on', 'certain off')
        >>> Change("ids", tuple(range(9)), (0, 1)).words()
        ('2 at 2 of 9', 'nothing at 2 of 2')
        >>> Change("prompt", 20 * "yes " + "he said", 20 * "yes " + "she said").words()
        ('...yes yes yes yes yes he said', '...yes yes yes yes yes she said')
        """
        pair = self.first, self.second
        if all(isinstance(value, dict) for value in pair):
            keys = [change.name for change in changes(*pair)]
            first, second = (", ".join(f"{key} {_value(value.get(key), whole)}" for key in keys) for value in pair)
        elif all(isinstance(value, list | tuple) for value in pair) and max(map(len, pair)) > _MOST:
            place = _first_other(*pair)
            first, second = (
                f"{_value(value[place], whole) if place < len(value) else 'nothing'} at {place} of {len(value)}"
                for value in pair
            )
        elif all(isinstance(value, str) for value in pair) and max(map(len, pair)) > _LONGEST:
            start = max(0, _first_other(*pair) - _BEFORE)
            first, second = (f"{'...' * (start > 0)}{_value(value[start:], whole)}" for value in pair)
        else:
            first, second = (_value(value, whole) for value in pair)
        return first, second


def changes(first: Mapping[str, Any], second: Mapping[str, Any], known: bool = False) -> tuple[Change, ...]:
    """Return the fields that differ, one that is absent as None; known: only those that are None in neither record.

    >>> changes({"seed": 1, "cfg": 0.0}, {"seed": 2, "cfg": 0.0, "block": 8})
    (Change(name='seed', first=1, second=2), Change(name='block', first=None, second=8))
    >>> changes({"seed": None}, {"seed": 2}, known=True)
    ()
    """
    both = (Change(name, first.get(name), second.get(name)) for name in {**first, **second})
    return tuple(
        each for each in both if each.first != each.second and not (known and None in (each.first, each.second))
    )


def _first_other(first: Sequence[Any], second: Sequence[Any]) -> int:
    pairs = enumerate(zip(first, second, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(first), len(second)))


def _value(value: Any, whole: Callable[[int], str]) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int):
        return whole(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, str):
        return value if len(value) <= _LONGEST else f"{value[: _LONGEST - 3]}..."
    if isinstance(value, list | tuple):
        return shortened([_value(each, whole) for each in value]) or "none"
    return "none" if value is None else str(value)
