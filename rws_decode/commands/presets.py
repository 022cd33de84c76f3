"""`python -m rws_decode presets`: the options of published loops, and where each is printed."""

from __future__ import annotations

import argparse
import json
import textwrap
from dataclasses import dataclass
from typing import Any

from rws_decode.presets import PRESETS, Preset, load
from rws_theory.commands.options import add_options, json_option, option, read_options

_WIDTH = 100


@dataclass(frozen=True)
class PresetsOptions:
    """Which presets are printed, and how."""

    names: tuple[str, ...] = option(
        (), "presets to print with every source (default: one line of each preset)", metavar="NAME", positional=True
    )
    json: bool = json_option()

    def __post_init__(self) -> None:
        for name in self.names:
            load(name, "NAME")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `presets` to a parser."""
    add_options(parser, PresetsOptions)


def run(args: argparse.Namespace) -> int:
    """Print the presets."""
    options = read_options(PresetsOptions, args)
    presets = [PRESETS[name] for name in options.names or PRESETS]
    if options.json:
        print(json.dumps([_as_json(preset) for preset in presets], allow_nan=False))
    elif options.names:
        print("\n\n".join(map(_in_full, presets)))
    else:
        width = max(map(len, PRESETS))
        for preset in presets:
            print(f"{preset.name:{width}}  {preset.about}: {_in_short(preset)}")
        print("\nEach option with its source: python -m rws_decode presets NAME")
    return 0


def _as_json(preset: Preset) -> dict[str, Any]:
    settings = [
        {
            "published": setting.published,
            "source": setting.source,
            "option": setting.option or None,
            "value": setting.value,
            "here": setting.here,
            "note": setting.note,
        }
        for setting in preset.settings
    ]
    return {"name": preset.name, "about": preset.about, "values": preset.values, "settings": settings}


def _in_short(preset: Preset) -> str:
    """Return a preset's options in some words, such as "512 tokens, 512 steps, blocks of 512, defer-published"."""
    values = preset.values
    words = [f"{values['length']} tokens"]
    words += [f"{values['steps']} steps"] if "steps" in values else []
    words += [f"blocks of {values['block']}"] if values["block"] < values["length"] else []
    words += [values["strategy"]] if values.get("strategy", "default") != "default" else []
    words += [f"temperature {values['sampling_temperature']:g}"] if values.get("sampling_temperature") else []
    words += [values["end_of_text"]] if values.get("end_of_text", "none") != "none" else []
    return ", ".join(words)


def _in_full(preset: Preset) -> str:
    lines = [f"{preset.name}: {preset.about}"]
    for setting in preset.settings:
        lines.append(f"  {setting.published} -> {setting.here}")
        lines += textwrap.wrap(setting.source, _WIDTH, initial_indent="    ", subsequent_indent="    ")
        lines += textwrap.wrap(f"({setting.note})", _WIDTH, initial_indent="    ", subsequent_indent="    ")[
            : None if setting.note else 0
        ]
    return "\n".join(lines)
