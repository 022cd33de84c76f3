"""Numbers that the paper printed, as data; each file says where in the paper they stand."""

from __future__ import annotations

import json
from fractions import Fraction
from importlib.resources import files
from typing import Any

from rws_theory.checks import one_of

__all__ = ["NAMES", "printed_in"]

NAMES = tuple(
    sorted(file.name.removesuffix(".json") for file in files(__name__).iterdir() if file.name.endswith(".json"))
)


def printed_in(name: str, *, exact: bool = False) -> dict[str, Any]:
    """Read the numbers that the paper printed in one figure, table or passage.

    Decimals are floats, or Fractions if `exact`; whole numbers are int. ValueError for an unknown name.

    >>> printed_in("table8_temperature", exact=True)["rows"][0]["perplexity"]
    Fraction(1357, 100)
    """
    one_of("name", name, NAMES)
    text = files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8")
    return json.loads(text, parse_float=Fraction if exact else float)
