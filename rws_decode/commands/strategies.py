"""`rws strategies`: what each strategy does, in a line, and how it is asked for."""

from __future__ import annotations

from functools import partial
from textwrap import fill

from rws_decode.commands.shown import print_json
from rws_decode.common.plugins import hook
from rws_decode.steering import METHODS
from rws_decode.strategies.table import SPACING, offered

GROUP = "Decode"


def strategies(*, json: bool = False) -> None:
    """Say what each strategy does, in a line.

    Parameters
    ----------
    json
        print the result as JSON on standard output
    """
    offers, methods = offered(), METHODS.listed()
    if json:
        entries = [{"name": name, "reads": entry.reads, "about": entry.about} for name, entry in offers.items()]
        entries += [
            {"name": name, "reads": [*entry.numbers, "reward"], "about": entry.about, "steers": True}
            for name, entry in methods.items()
        ]
        print_json(entries)
        return
    width = max(map(len, [*offers, *methods]))
    show = partial(fill, width=80, break_on_hyphens=False, break_long_words=False, subsequent_indent=" " * (width + 2))
    for name, entry in offers.items():
        shown = {option: number.metavar for option, number in entry.numbers.items()} | {"reward": "NAME", "run": "FILE"}
        flags = " ".join(f"--{option.replace('_', '-')} {shown[option]}" for option in entry.reads)
        print(show(f"{name:{width}}  {entry.about}{f' [{flags}]' if flags else ''}"))
    if methods:
        print("\nways to use a reward besides a factor, by --steer NAME:N")
    for name, method in methods.items():
        (_, first), *others = method.numbers.items()
        parts = [f":{first.metavar}{first.limits}"]
        parts += [f"+{option}:{number.metavar}{number.limits}" for option, number in others]
        print(show(f"{name:{width}}  {method.about}"), show(f"{'':{width}}  [{' '.join(parts)}]"), sep="\n")
    if hook(SPACING) is not None:
        print(f"\n+{SPACING}:N keeps a step's positions N or more apart, as in default+{SPACING}:3")
