"""Pages put together: a template, style, scripts and data in one HTML text that needs nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from rws_decode.common.page import Page

# No address is asked for, whatever a text says: the browser itself refuses.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
)

_WHOLE = Template(
    """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="$policy">
<title>$title</title>
<style>
$style</style>
</head>
<body>
<main>
$body</main>
<noscript><p>This page moves by JavaScript, which is off here. $plain</p></noscript>
<script type="application/json" id="data">$data</script>
<script>
$script</script>
</body>
</html>
"""
)


def page_of(
    body: str, *, title: str, plain: str, scripts: Sequence[str], data: Mapping[str, Any], **values: str
) -> Page:
    """Return the page that a template of `pages/` and some of its scripts make.

    body: name of the template; values: what stands for its $names, HTML. plain: what is said without JavaScript. data:
    JSON-ready; it never ends its element early, whatever its strings are.

    >>> page = page_of("page.css", title="A <b>", plain="", scripts=[], data={"word": "</script>"})
    >>> "A &lt;b&gt;" in page.html, "</script>" in page.html.split('id="data">')[1].split("</script>")[0]
    (True, False)
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    html = _WHOLE.substitute(
        policy=escape(_POLICY),
        title=escape(title),
        style=_read("page.css"),
        body=part(body, title=escape(title), **values),
        plain=escape(plain),
        data=text.replace("<", "\\u003c"),
        script="\n".join(_read(name) for name in ("shared.js", *scripts)),
    )
    # A lone surrogate is no character of any file.
    return Page(html.encode("utf-8", "replace").decode("utf-8"))


def part(name: str, **values: str) -> str:
    """Return a template of `pages/` with values, HTML, in place of its $names."""
    return Template(_read(name)).safe_substitute(values)


def rounded(value: float, digits: int = 6) -> float | str | None:
    """Return a number with so many digits, ready for JSON: None for NaN, infinity by its name in JavaScript.

    >>> rounded(2 / 3), rounded(float("nan")), rounded(float("-inf"))
    (0.666667, None, '-Infinity')
    """
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def _read(name: str) -> str:
    return files("rws_decode.view").joinpath("pages", name).read_text(encoding="utf-8")
