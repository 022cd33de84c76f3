"""`rws presets`: the options of published loops and where each is printed; --preset applies them."""

from __future__ import annotations

import argparse
import json
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rws_theory.commands.options import given_options, json_option, option
from rws_theory.commands.progress import tell

if TYPE_CHECKING:
    from rws_decode.extra.presets import Preset

_WIDTH = 100


@dataclass(frozen=True)
class PresetsOptions:
    """Which presets are printed, and how."""

    names: tuple[str, ...] = option(
        (), "presets to print with every source (default: one line of each preset)", metavar="NAME", positional=True
    )
    json: bool = json_option()

    def __post_init__(self) -> None:
        from rws_decode.extra.presets import load

        for name in self.names:
            load(name, "NAME")


def run(options: PresetsOptions) -> int:
    """Print the presets."""
    from rws_decode.extra.presets import PRESETS

    presets = [PRESETS[name] for name in options.names or PRESETS]
    if options.json:
        print(json.dumps([_as_json(preset) for preset in presets], allow_nan=False))
    elif options.names:
        print("\n\n".join(map(_in_full, presets)))
    else:
        width = max(map(len, PRESETS))
        for preset in presets:
            print(f"{preset.name:{width}}  {preset.about}: {_in_short(preset)}")
        print("\nEach option with its source: rws presets NAME")
    return 0


def _as_json(preset: Preset) -> dict[str, Any]:
    names = ("published", "source", "option", "value", "here", "note")
    settings = [
        {name: getattr(setting, name) for name in names} | {"option": setting.option or None}
        for setting in preset.settings
    ]
    return {"name": preset.name, "about": preset.about, "values": preset.values, "settings": settings}


def _in_short(preset: Preset) -> str:
    """Return a preset's options in some words, such as "512 tokens, 512 steps, blocks of 512, defer-published"."""
    values = preset.values
    if preset.process == "uniform":
        return f"{values['steps']} steps, entropy bound {values['entropy_bound']:g}, without masks"
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


class AppliedPreset(NamedTuple):
    """A preset as a command line has it: what was given in its place, beside its own, and what followed from that."""

    preset: Preset
    given: dict[str, tuple[Any, Any]]
    followed: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Return what `--json` prints of it."""
        left_out = [setting.published for setting in self.preset.left_out]
        instead = {name: {"given": value, "preset": own} for name, (value, own) in self.given.items()}
        return {"name": self.preset.name, "overridden": instead, "followed": self.followed, "left_out": left_out}

    def tell(self) -> None:
        """Name on standard error what was given in place of the preset's, and what this decoder leaves out."""
        for name, (value, own) in self.given.items():
            text = " ".join(value) if isinstance(value, list) else value
            tell(f"note: {self._flag(name)} {text} is given, --preset {self.preset.name} has {own}")
        if self.followed:
            words = " and ".join(f"{self._flag(name)} {value}" for name, value in self.followed.items())
            tell(f"note: {words} {'follows' if len(self.followed) == 1 else 'follow'} from --length")
        for setting in self.preset.left_out:
            tell(f"note: --preset {self.preset.name} leaves out {setting.published}: {setting.note}")

    def _flag(self, name: str) -> str:
        return f"--{name.replace('_', '-')}"


def with_preset(args: argparse.Namespace) -> tuple[argparse.Namespace, AppliedPreset | None]:
    """Return the command line with the options of its preset where it gives none, and what was applied.

    With a prompt of gaps the shape follows from the gaps. For a command that has --strategies, the preset's strategy is
    the first of them. ValueError for a name that no preset has.
    """
    from rws_decode.extra.presets import load
    from rws_decode.extra.presets.preset import SHAPE_OPTIONS, fitted

    if args.preset is None:
        return args, None
    preset = load(args.preset, "--preset")
    preset.refuse_uniform("--preset")
    values = preset.values
    if args.infill is not None:
        values = {name: value for name, value in values.items() if name not in SHAPE_OPTIONS}
        tell(f"note: the shape follows from the gaps, not from --preset {preset.name}")
    named = given_options(args)
    given = {name: getattr(args, name) for name in values if name in named}
    kept = fitted(values, given)
    if "strategy" in given and given["strategy"] != values["strategy"]:
        kept = {name: value for name, value in kept.items() if name != "threshold"}
    changed = argparse.Namespace(**vars(args))
    for name, value in kept.items():
        if hasattr(args, name):
            setattr(changed, name, value)
    followed = {name: value for name, value in kept.items() if value != values[name]}
    instead = {name: (value, values[name]) for name, value in given.items() if value != values[name]}
    if hasattr(args, "strategies"):
        first = _strategy_text(values)
        if "strategies" not in named and first is not None:
            changed.strategies = (first, *(text for text in args.strategies[1:] if text != first))
        elif "strategies" not in named:
            usual = " ".join(args.strategies)
            tell(f"note: --preset {preset.name} has no reward scale, so --strategies is {usual}")
        elif first is not None and first not in args.strategies:
            instead["strategies"] = (list(args.strategies), first)
    return changed, AppliedPreset(preset, instead, followed)


def _strategy_text(values: dict[str, Any]) -> str | None:
    """Return the preset's strategy as `compare` takes it, None for one whose number the preset does not have."""
    name = values.get("strategy", "default")
    if name == "threshold":
        return f"threshold:{values['threshold']:g}"
    return None if name == "rws" else name
