"""Representations of objects: small tables of HTML for notebooks, and one-line texts with few digits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from fractions import Fraction
from html import escape
from numbers import Rational, Real
from typing import Any
from unicodedata import category

_CAPTION = "caption-side: top; text-align: left; white-space: nowrap; padding-bottom: 0.3em; color: inherit"
_CELL = "padding: 0.15em 1.2em 0.15em 0; vertical-align: top; white-space: normal; max-width: 50em; text-align: "
_LONG = "left; min-width: 18em"  # of a column of texts, so that a narrow window scrolls instead of breaking each word
_UNSHOWN = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # control and format characters, lone surrogates, ends of lines
_SHOWN = "\n\u200c\u200d"  # the two that join letters and emoji are harmless
_RULE = "; border-bottom: 1px solid currentColor"


class Note(UserWarning):
    """A warning about a result that is valid nevertheless; a command prints it as "note: ..."."""


def table_html(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "", *, most: int = 60) -> str:
    """Return a table as HTML: all text escaped, no script, and the page's own colours, so that any theme suits it.

    head: the names of the columns, empty for none. rows: of that width each; floats have five digits. caption: a line
    above. most: of rows beyond so many only the number is shown.

    >>> table = table_html(("scale", "position"), [(4.81211825, "<0>")], "top 1")
    >>> "4.8121" in table, "&lt;0&gt;" in table, "<0>" in table
    (True, True, False)
    """
    listed = list(rows)
    width = len(head) if head else len(listed[0]) if listed else 1
    columns = list(zip(*listed, strict=True)) if listed else [()] * width
    sides = [
        "right" if column and all(map(_is_number, column)) else _LONG if _has_text(column) else "left"
        for column in columns
    ]

    def line(values: Sequence[object], tag: str, rule: str = "") -> str:
        cells = (
            f'<{tag} style="{_CELL}{side}{rule}">{escape(_text(value))}</{tag}>'
            for value, side in zip(values, sides, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    body = [line(row, "td") for row in listed[:most]]
    if len(listed) > most:
        body.append(f'<tr><td colspan="{width}" style="{_CELL}left">and {len(listed) - most:,} more</td></tr>')
    return (
        '<table style="display: block; overflow-x: auto; border-collapse: collapse; color: inherit">'
        + (f'<caption style="{_CAPTION}">{escape(caption)}</caption>' if caption else "")
        + (f"<thead>{line(head, 'th', _RULE)}</thead>" if head else "")
        + f"<tbody>{''.join(body)}</tbody></table>"
    )


def facts_html(caption: str, facts: Mapping[str, object]) -> str:
    """Return the facts of one object as a table of two columns; those that are None or "" are left out.

    >>> facts_html("Loaded('mini')", {"tokens": 1616, "device": None}).count("<tr>")
    1
    """
    return table_html((), [(name, _text(fact)) for name, fact in facts.items() if fact not in (None, "")], caption)


def clipped(line: str, most: int = 120) -> str:
    """Return a one-line text that ends in a bracket, cut before it where it has more than `most` characters.

    >>> clipped("Comparison(default, rws:8)"), clipped("Comparison(default, rws:8)", 20)
    ('Comparison(default, rws:8)', 'Comparison(defau...)')
    """
    line = printable(line)
    return line if len(line) <= most else f"{line[: most - 4]}...)"


def escaped(text: str) -> str:
    """Return a text that is safe in a terminal: characters that control it, or a line's direction, are escaped.

    Ends of lines stay: `printable` makes one line of a text.
    """
    return "".join(ascii(each)[1:-1] if category(each) in _UNSHOWN and each not in _SHOWN else each for each in text)


def printable(text: str, most: int | None = None) -> str:
    """Return a text as one line for a terminal, without its middle if it has more than `most` characters.

    Line ends and blanks become one blank each, but for the blanks that the line begins with.

    >>> printable("  rws:8\\nreward: 9"), printable("\\x1b[2J\\u202e"), printable("a" * 60, 20)
    ('  rws:8 reward: 9', '\\\\x1b[2J\\\\u202e', 'aaaaaa ... aaaaaaaaa')
    """
    line = " " * (len(text) - len(text.lstrip(" "))) + " ".join(text.split())
    if most is not None and len(line) > most:
        line = f"{line[: most // 2 - 4]} ... {line[-(most // 2 - 1) :]}"
    return escaped(line)


def quoted(value: object, most: int = 80) -> str:
    """Return a value as a message quotes it: its repr, cut before its last character if it is longer than `most`.

    Of a value whose repr has several lines, such as a network or a table, the class is named.

    >>> quoted("owner/name"), quoted("a" * 60, 8), quoted(list(range(60)), 16)
    ("'owner/name'", "'aaaaa...'", '[0, 1, 2, 3, 4...]')
    """
    line = repr(value)
    if "\n" in line:
        return f"a {type(value).__name__}"
    return escaped(line if len(line) <= most + 2 else f"{line[: most - 2]}...{line[-1]}")


def one_line(self: Any) -> str:
    """Return a dataclass, or a named tuple, in one line: whole if it fits into 120 characters, else a summary.

    A summary leaves out fields at their defaults, shortens sequences, has the shapes of arrays, and is cut. Classes use
    this function as their `__repr__`.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Job:
    ...     factors: tuple
    ...     note: str = ""
    >>> one_line(Job((1.0,))), one_line(Job(tuple(range(100))))
    ("Job(factors=(1.0,), note='')", 'Job(factors=(0, 1, 2, 3, ... (100 in all)))')
    """
    defaults = _defaults(self)
    line = _call(self, {name: repr(getattr(self, name)) for name in defaults})
    if len(line) <= 120 and "\n" not in line:
        return line
    values = {name: getattr(self, name) for name in defaults}
    line = _call(self, {name: _gist(part) for name, part in values.items() if not _same(part, defaults[name])})
    return clipped(line)


def _defaults(value: Any) -> dict[str, Any]:
    """Return the default of every field by name, MISSING where there is none."""
    if not is_dataclass(value):  # a named tuple
        return {name: value._field_defaults.get(name, MISSING) for name in value._fields}
    return {
        each.name: each.default if each.default_factory is MISSING else each.default_factory()
        for each in fields(value)
        if each.repr
    }


def _call(value: Any, shown: Mapping[str, str]) -> str:
    return f"{type(value).__name__}({', '.join(f'{name}={text}' for name, text in shown.items())})"


def _same(part: object, default: object) -> bool:
    return part is default or (not hasattr(part, "shape") and part == default)


def _gist(part: Any) -> str:
    """Return a short summary of a value."""
    if hasattr(part, "shape"):
        return f"array of {' x '.join(map(str, part.shape)) or 'no axes'}"
    if isinstance(part, str):
        return quoted(part, 36)
    if type(part) in (tuple, list):
        return f"({shortened(map(_gist, part), 4)})"
    return _text(part) if isinstance(part, float) else " ".join(repr(part).split())


def figures(value: float) -> str:
    """Return a number with five significant digits.

    >>> figures(4.81211825), figures(32.0), figures(1e-12)
    ('4.8121', '32', '1e-12')
    """
    return f"{value:.5g}"


def number(value: Rational | float) -> str:
    """Return an exact number for a reader: as a decimal if it is one, else five digits and the fraction, if short.

    >>> from fractions import Fraction
    >>> number(Fraction(13, 2)), number(Fraction(4, 7)), number(Fraction(1.1)), number(3), number(Fraction(7, 200))
    ('6.5', '0.57143 (4/7)', '1.1 (exact fraction)', '3', '0.035')
    """
    text = figures(float(value))
    if not isinstance(value, Rational) or Fraction(text) == value:
        return text
    fraction = f"{value.numerator}/{value.denominator}"
    return f"{text} ({fraction if len(fraction) <= 12 else 'exact fraction'})"


class Exact(Fraction):
    """A Fraction that shows itself as a number first; it computes and compares as one, and str() is still p/q."""

    def __repr__(self) -> str:
        return number(self)


def shortened(items: Iterable[object], most: int = 6) -> str:
    """Return the first items with commas between them, and the number of all if some are left out.

    >>> shortened([0, 3.5]), shortened(range(40), 3)
    ('0, 3.5', '0, 1, 2, ... (40 in all)')
    """
    texts = [_text(item) for item in items]
    return ", ".join(texts if len(texts) <= most else [*texts[:most], f"... ({len(texts)} in all)"])


def _text(value: object) -> str:
    if isinstance(value, Fraction):
        return number(value)
    return figures(value) if isinstance(value, float) else str(value)


def _has_text(column: Sequence[object]) -> bool:
    return any(isinstance(value, str) and len(value) > 40 for value in column)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
