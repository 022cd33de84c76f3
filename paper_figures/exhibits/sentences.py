"""The sentences of an exhibit: captions and findings, the blocks of the template NAME.j2 beside its module.

A template is filled in from data, so that no number in a text is typed. It knows `fmt`, which formats a number, and the
names that `_GLOBALS` lists.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from paper_figures.exhibits.differences import span, tally
from paper_figures.exhibits.names import guide_name, in_words, method_name
from paper_figures.exhibits.runs import setting
from rws_theory.printed import printed_in

_GLOBALS = {
    function.__name__: function
    for function in (guide_name, in_words, method_name, printed_in, setting, span, tally, min, max, sum, len, abs)
}


def sentences(name: str, **data: Any) -> Callable[[str], str]:
    """Return a function that fills in a block of the template NAME.j2 and returns it as one line.

    What a block does not find in `data` raises jinja2's UndefinedError.
    """
    template = _environment().get_template(f"{name}.j2")
    context = template.new_context(data)
    return lambda block: " ".join("".join(template.blocks[block](context)).split())


@cache
def _environment() -> Environment:
    loader = ChoiceLoader([PackageLoader("paper_figures", folder) for folder in ("figures", "tables")])
    environment = Environment(loader=loader, undefined=StrictUndefined, autoescape=False)  # plain text
    environment.filters["fmt"] = format
    environment.globals.update(_GLOBALS)
    return environment
