"""Command line: `python -m rws_theory COMMAND`, of claims, crossings and path; `rws` has the same commands."""

from __future__ import annotations

import math
import os
import sys
import textwrap
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from json import dumps, loads
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, CycloptsError, Parameter

from rws_theory import __version__
from rws_theory.show import printable, quoted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rws_theory.claims import Claim
    from rws_theory.crossings import Crossings
    from rws_theory.selection import SelectionPath

GROUP = "Theory"  # in `rws --help`

_EVERY = 10.0  # seconds from one line of progress to the next
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

Whole = Annotated[int, Parameter(converter=lambda kind, tokens: kind(tokens[0].value))]  # not 1.5, which is rounded


def claims(ids: tuple[str, ...] = (), /, *, list: bool = False, json: bool = False) -> None:
    """Check the paper's statements and give a verdict on each.

    Parameters
    ----------
    ids
        claims to check, such as D-gaps (default: all)
    list
        print the ids of all claims and check nothing
    json
        print one JSON list of records
    """
    from rws_theory.claims import CHECKS, OURS, PAPER, REMARKS, source
    from rws_theory.claims import claims as check

    if list:
        print(dumps([*CHECKS]) if json else "\n".join(CHECKS))
        return
    checked = check(ids or None)
    if json:
        records, total, last = [], len(set(ids)) or len(CHECKS), monotonic()
        for claim in checked:
            records.append(claim.as_dict())
            if len(records) == total or monotonic() - last > _EVERY:
                last = monotonic()
                print(f"claims: {len(records)} of {total}", file=sys.stderr, flush=True)
        print(dumps(records, indent=1))
        return
    verdicts = {author: Counter[str]() for author in (PAPER, REMARKS, OURS)}
    for claim in checked:
        print(_claim_text(claim), flush=True)
        verdicts[source(claim.where)][claim.verdict] += 1
    for author, counts in verdicts.items() if not ids else ():
        numbers = ", ".join(f"{number} {verdict}" for verdict, number in counts.most_common())
        print(f"{author.capitalize()} ({counts.total()}): {numbers}.")


def crossings(a: str, b: str, /, *, json: bool = False) -> None:
    """Find the scales at which two positions swap the order of their confidences.

    Parameters
    ----------
    a
        JSON list of logits (-Infinity forbids a token) or path of a .npy file
    b
        JSON list of logits, or path, of the other position
    json
        print one JSON object; delta is null where there is no second token
    """
    from rws_theory.crossings import crossings as find

    result = find(_read_logits(a, "A"), _read_logits(b, "B"))
    print(dumps(_crossings_json(result), allow_nan=False) if json else _crossings_text(result))


def path(logits: str, /, *, k: Whole, scale_min: float, scale_max: float, json: bool = False) -> None:
    """List the k most confident positions at every scale of a range, with proof.

    Parameters
    ----------
    logits
        .npy file of shape (positions, vocabulary); -inf forbids a token
    k
        number of positions selected at each scale
    scale_min
        least scale, positive
    scale_max
        greatest scale, at least the least
    json
        print one JSON object
    """
    if not 0 < scale_min <= scale_max < math.inf:
        scales = f"{scale_min} and {scale_max}"
        raise ValueError(f"--scale-min and --scale-max must satisfy 0 < X <= Y < inf, got {scales}")

    from rws_theory.selection import selection_path

    selection = selection_path(read_npy(logits, "LOGITS"), k, scale_min, scale_max)
    pieces = [{"lower": p.lower, "upper": p.upper, "selected": [*p.selected]} for p in selection.pieces]
    result = {"k": selection.k, "pieces": pieces, "certified": selection.certified}
    print(dumps(result, allow_nan=False) if json else _path_text(selection))


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


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 2 with one line on standard error where something is wrong."""
    words = [*(sys.argv[1:] if argv is None else argv)]
    about = "Mathematics of logit scaling in masked diffusion decoding."
    app = App(
        "python -m rws_theory",
        help=about,
        version=__version__,
        help_format="plaintext",
        default_parameter=Parameter(negative=()),
    )
    for command in (claims, crossings, path):
        app.command(command)
    try:
        app(words, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except BrokenPipeError:  # no reader: the rest is not written again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (ValueError, OSError, CycloptsError) as error:
        called = " ".join(["python -m rws_theory", *(word for word in words[:1] if word in app)])
        print(f"{called}: {printable(str(error), 300)}", file=sys.stderr)
        return 2
    return 0


def _decimal(text: str) -> Fraction | float:
    """The decimal number as it is written; outside the float64 range what float64 makes of it."""
    value = float(text)
    return Fraction(text) if value and math.isfinite(value) else value


def _read_logits(text: str, name: str) -> Sequence[Any] | NDArray[Any]:
    """Logits from a JSON list, its decimals taken exactly, or from a .npy file; ValueError names the argument."""
    if text.lstrip().startswith("["):
        try:
            values = loads(text, parse_float=_decimal)
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


def _claim_text(claim: Claim) -> str:
    parts = [f"{claim.id}: {claim.verdict.upper()}   ({claim.where})"]
    for label, text in (
        ("says", claim.statement),
        ("found", claim.evidence),
        ("counterexample", claim.counterexample),
        ("instead", claim.correction),
    ):
        if text is not None:
            parts.append(textwrap.fill(f"{label}: {text}", 110, initial_indent="  ", subsequent_indent="    "))
    return "\n".join(parts) + "\n"


def _crossings_json(result: Crossings) -> dict[str, Any]:
    return {
        "dimension": result.dimension,
        "sigma": [*result.sigma],
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


def _crossings_text(result: Crossings) -> str:
    lines = [
        f"{result.dimension} logits each; {_AT_ONE[result.sign_at_one]}",
        f"a: total gap {result.sigma[0]:.6g}, smallest gap {result.delta[0]:.6g}",
        f"b: total gap {result.sigma[1]:.6g}, smallest gap {result.delta[1]:.6g}",
        *(
            f"crossing at r = {c.root:.12g}, proved to lie in [{c.lower!r}, {c.upper!r}], multiplicity {c.multiplicity}"
            if c.multiplicity
            else f"near-tangency at r = {c.root:.12g}, in [{c.lower!r}, {c.upper!r}], not resolved"
            for c in result.crossings
        ),
    ]
    how = f"(proved by {_PROOF[result.certificate]})"
    if result.complete and not result.count:
        return "\n".join([*lines, f"no crossing at any scale {how}"])
    counted = f"{result.count} crossing{'' if result.count == 1 else 's'}; at most {result.bound} possible"
    return "\n".join([*lines, counted, f"{'these are all' if result.complete else 'not all are resolved'} {how}"])


def _path_text(path: SelectionPath) -> str:
    lines = [
        f"scales {p.lower:.12g} to {p.upper:.12g}: positions {', '.join(map(str, p.selected)) or 'none'}"
        for p in path.pieces
    ]
    lines += [
        f"{'the set changes' if b.breakpoint else 'not proved'} in [{b.lower!r}, {b.upper!r}]" for b in path.brackets
    ]
    verdict = "certified at every scale" if path.certified else "not certified everywhere"
    how = f"by {path.certificate}, from {path.evaluations} evaluations"
    return "\n".join([*lines, f"{verdict} ({how}; positions count from 0)"])


if __name__ == "__main__":
    sys.exit(main())
