"""The range that the help tells of a number is what its class accepts."""

from __future__ import annotations

from typing import Any

import pytest

from rws_decode.steering.table import METHODS
from rws_decode.strategies.table import OFFERED, STRATEGIES

# What a told range accepts, and what it refuses.
_ENDS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "above 0": ((1e-6,), (0.0, -1.0)),
    "at least 0": ((0.0, 2.0), (-0.5,)),
    "at least 1": ((1,), (0, -1)),
    "at least 2": ((2,), (1,)),
    "0 to 1": ((0.0, 1.0), (-0.1, 1.1)),
    "between 0 and 1": ((0.5,), (0.0, 1.0)),
}
_NUMBERS = [
    pytest.param(entry.kind, number, id=f"{name} {number}")
    for table in ({name: STRATEGIES[name] for name in OFFERED}, METHODS)
    for name, entry in table.items()
    for number, declared in entry.numbers.items()
    if declared.range
]


@pytest.mark.parametrize(("kind", "number"), _NUMBERS)
def test_a_told_range_is_what_the_class_accepts(kind: Any, number: str) -> None:
    fields = kind.__dataclass_fields__
    usual = {name: one.metadata["number"] for name, one in fields.items() if "number" in one.metadata}
    given = {name: declared.usual for name, declared in usual.items() if declared.needed}
    accepted, refused = _ENDS[usual[number].range]
    for value in accepted:
        assert getattr(kind(**given | {number: value}), number) == value
    for value in refused:
        with pytest.raises(ValueError, match=number):
            kind(**given | {number: value})
