"""`rws crossings A B`: the scales at which the confidences of two logit vectors are equal."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rws_theory.commands.options import option
from rws_theory.show import quoted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rws_theory.crossings import Crossings

_PROOF = {
    "float64": "float64 sums with an error bound",
    "ball": "ball arithmetic",
    "exact": "an integer polynomial and ball arithmetic",
}
_AT_ONE = {
    -1: "at scale 1, a is less confident than b",
    0: "a and b are equally confident at every scale",
    1: "at scale 1, a is more confident than b",
}
_LOGITS = "JSON list of logits (-Infinity forbids a token) or path of a .npy file"


@dataclass(frozen=True)
class CrossingsOptions:
    """The two positions whose confidences are compared."""

    a: str = option(help=_LOGITS, metavar="A", positional=True)
    b: str = option(help=_LOGITS, metavar="B", positional=True)
    json: bool = option(False, "print one JSON object; delta is null where there is no second token")


def run(options: CrossingsOptions) -> int:
    """Print the crossings; ValueError for input that cannot be used."""

    from rws_theory.crossings import crossings

    result = crossings(_read_logits(options.a, "A"), _read_logits(options.b, "B"))
    print(json.dumps(_as_json(result), allow_nan=False) if options.json else _as_text(result))
    return 0


def _decimal(text: str) -> Fraction | float:
    """The decimal number as it is written; outside the float64 range what float64 makes of it."""
    value = float(text)
    return Fraction(text) if value and math.isfinite(value) else value


def _read_logits(text: str, name: str) -> list[Any] | NDArray[Any]:
    """Logits from a JSON list, its decimals taken exactly, or from a .npy file; ValueError names the argument."""
    if text.lstrip().startswith("["):
        try:
            values = json.loads(text, parse_float=_decimal)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{name} must be a JSON list of logits, got {quoted(text, 60)}: {error}") from None
        if not all(isinstance(v, (int, float, Fraction)) and not isinstance(v, bool) for v in values):
            raise ValueError(f"{name} must be a JSON list of numbers, got {quoted(text, 60)}")
        try:
            _ = [float(v) for v in values]
        except OverflowError:
            raise ValueError(f"{name} must hold numbers within float64, got {quoted(text, 60)}") from None
        return values
    if not text.endswith(".npy"):
        raise ValueError(f"{name} must be a JSON list of logits or the path of a .npy file, got {quoted(text, 60)}")
    return read_npy(text, name)


def _as_json(result: Crossings) -> dict[str, Any]:
    return {
        "dimension": result.dimension,
        "sigma": list(result.sigma),
        "delta": [u if math.isfinite(u) else None for u in result.delta],
        "sign_at_one": result.sign_at_one,
        "crossings": [
            {"lower": c.lower, "upper": c.upper if math.isfinite(c.upper) else None, "multiplicity": c.multiplicity}
            for c in result.crossings
        ],
        "count": result.count,
        "bound": result.bound,
        "complete": result.complete,
        "identical": result.identical,
    }


def _verdict(result: Crossings) -> list[str]:
    how = f"(proved by {_PROOF[result.certificate]})"
    if result.complete and not result.count:
        return [f"no crossing at any scale {how}"]
    counted = f"{result.count} crossing{'' if result.count == 1 else 's'}; at most {result.bound} possible"
    return [counted, f"{'these are all' if result.complete else 'not all are resolved'} {how}"]


def _as_text(result: Crossings) -> str:
    relation = _AT_ONE[result.sign_at_one]
    lines = [
        f"{result.dimension} logits each; {relation}",
        f"a: total gap {result.sigma[0]:.6g}, smallest gap {result.delta[0]:.6g}",
        f"b: total gap {result.sigma[1]:.6g}, smallest gap {result.delta[1]:.6g}",
        *(
            f"crossing at r = {c.root:.12g}, proved to lie in [{c.lower!r}, {c.upper!r}], multiplicity {c.multiplicity}"
            if c.multiplicity
            else f"near-tangency at r = {c.root:.12g}, in [{c.lower!r}, {c.upper!r}], not resolved"
            for c in result.crossings
        ),
        *_verdict(result),
    ]
    return "\n".join(lines)


def read_npy(text: str, name: str) -> NDArray[Any]:
    """Array in the .npy file at path `text`; ValueError names the argument and says what would be right."""
    import numpy as np

    if not text.endswith(".npy"):
        raise ValueError(f"{name} must be the path of a .npy file, got {quoted(text, 60)}")
    try:
        if os.path.exists(text) and not os.path.isfile(text):
            raise ValueError("no regular file")  # a pipe would be waited for
        with open(text, "rb") as file:
            return np.lib.format.read_array(file, allow_pickle=False)  # unlike np.load: never an archive or a pickle
    except Exception as error:  # NumPy passes on what its tokenizer of a header raises, which is of many kinds
        reason = " ".join(str(error).split())
        raise ValueError(f"{name} must be a readable .npy file of numbers, got {quoted(text, 60)}: {reason}") from None
