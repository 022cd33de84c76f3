"""How objects show themselves: small tables of HTML for notebooks, and the few digits of their one-line texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from numbers import Real

__all__ = ["figures", "shortened", "table_html"]

_CAPTION = "caption-side: top; text-align: left; white-space: nowrap; padding-bottom: 0.3em; color: inherit"
_CELL = "padding: 0.15em 1.2em 0.15em 0; vertical-align: top; white-space: normal; max-width: 50em; text-align: "
_RULE = "; border-bottom: 1px solid currentColor"


def table_html(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "", *, most: int = 60) -> str:
    """Return a table as HTML: all text escaped, no script, and the page's own colours, so that any theme suits it.

    head: the names of the columns, empty for none. rows: of that width each; floats have five digits, columns of
    numbers stand on the right. caption: a line above. most: of rows beyond so many only the number is shown.

    >>> table = table_html(("scale", "position"), [(4.81211825, "<0>")], "top 1")
    >>> "4.8121" in table, "&lt;0&gt;" in table, "<0>" in table
    (True, True, False)
    """
    listed = list(rows)
    width = len(head) if head else len(listed[0]) if listed else 1
    columns = list(zip(*listed, strict=True)) if listed else [()] * width
    sides = ["right" if column and all(map(_is_number, column)) else "left" for column in columns]

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
        '<table style="border-collapse: collapse; color: inherit">'
        + (f'<caption style="{_CAPTION}">{escape(caption)}</caption>' if caption else "")
        + (f"<thead>{line(head, 'th', _RULE)}</thead>" if head else "")
        + f"<tbody>{''.join(body)}</tbody></table>"
    )


def figures(value: float) -> str:
    """Return a number with five significant digits.

    >>> figures(4.81211825), figures(32.0), figures(1e-12)
    ('4.8121', '32', '1e-12')
    """
    return f"{value:.5g}"


def shortened(items: Iterable[object], most: int = 6) -> str:
    """Return the first items with commas between them, and the number of all where some are left out.

    >>> shortened([0, 3.5]), shortened(range(40), 3)
    ('0, 3.5', '0, 1, 2, ... (40 in all)')
    """
    texts = [_text(item) for item in items]
    return ", ".join(texts if len(texts) <= most else [*texts[:most], f"... ({len(texts)} in all)"])


def _text(value: object) -> str:
    return figures(value) if isinstance(value, float) else str(value)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
