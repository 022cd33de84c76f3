"""`rws strategies`: what each strategy does, in a line, and how it is asked for."""

from __future__ import annotations

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
    width = max(map(len, offers))
    for name, entry in offers.items():
        shown = {option: number.metavar for option, number in entry.numbers.items()} | _OTHERS
        flags = " ".join(f"--{option.replace('_', '-')} {shown[option]}" for option in entry.reads)
        print(f"{name:{width}}  {entry.about}{f' [{flags}]' if flags else ''}")
    if methods:
        print("\nways to use a reward besides a factor, by --steer, with a number of copies, draws or commits")
    width = max(map(len, methods), default=0)
    for name, method in methods.items():
        (_, first), *others = method.numbers.items()
        parts = [f":{first.metavar}{first.limits}"]
        parts += [f"+{option}:{number.metavar}{number.limits}" for option, number in others]
        print(f"{name:{width}}  {method.about}\n{'':{width}}  [{' '.join(parts)}]")
    if hook(SPACING) is not None:
        print(f"\n+{SPACING}:N keeps a step's commits N or more positions apart, as in default+{SPACING}:3")


_OTHERS = {"reward": "NAME", "run": "FILE"}
