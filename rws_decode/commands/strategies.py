"""`python -m rws_decode strategies`: what each strategy does, in a line, and how it is asked for."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass

from rws_decode.steering.table import METHODS
from rws_decode.strategies.table import OFFERED, STRATEGIES
from rws_theory.commands.options import add_options, json_option, read_options

__all__ = ["StrategiesOptions", "add_arguments", "run"]


@dataclass(frozen=True)
class StrategiesOptions:
    """How the table is printed."""

    json: bool = json_option()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `strategies` to a parser."""
    add_options(parser, StrategiesOptions)


def run(args: argparse.Namespace) -> int:
    """Print the table of strategies."""
    options = read_options(StrategiesOptions, args)
    if options.json:
        entries = [{"name": name, "reads": STRATEGIES[name].reads, "about": STRATEGIES[name].about} for name in OFFERED]
        entries += [
            {"name": name, "reads": [entry.first, *entry.others, "reward"], "about": entry.about, "steers": True}
            for name, entry in METHODS.items()
        ]
        print(json.dumps(entries))
        return 0
    width = max(map(len, OFFERED))
    for name in OFFERED:
        flags = " ".join(f"--{option.replace('_', '-')} {_VALUES[option]}" for option in STRATEGIES[name].reads)
        print(f"{name:{width}}  {STRATEGIES[name].about}{f' [{flags}]' if flags else ''}")
    print("\nways to use a reward besides a factor, by --steer, with a number of copies, draws or commits")
    width = max(map(len, METHODS))
    for name, method in METHODS.items():
        others = f" [{' '.join(f'+{option}:X' for option in method.others)}]" if method.others else ""
        print(f"{name:{width}}  {method.about}{others}")
    return 0


_VALUES = {
    "scale": "C",
    "reward_scale": "S",
    "reward": "NAME",
    "every": "N",
    "run": "FILE",
    "threshold": "P",
    "parallel_factor": "F",
    "gamma": "NATS",
    "sigma": "TOKENS",
    "eta": "N",
    "hypotheses": "N",
}
