"""`rws presets`: the options of published loops and where each is printed; --preset applies them."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any, NamedTuple

from rws_decode.cli.progress import tell
from rws_decode.commands.shown import print_json
from rws_decode.extra.presets import PRESETS, Preset, load
from rws_decode.extra.presets.preset import SHAPE_OPTIONS, fitted

GROUP = "Decode"
_WIDTH = 100


def presets(names: tuple[str, ...] = (), /, *, json: bool = False) -> None:
    """Say what published loops set, and where it is printed.

    Parameters
    ----------
    names
        presets to print with every source (default: one line of each preset)
    json
        print the result as JSON on standard output
    """
    presets = [load(name, "NAME") for name in names or PRESETS]
    if json:
        names = ("published", "source", "option", "value", "here", "note")
        rows = [
            [{key: getattr(setting, key) for key in names} | {"option": setting.option or None} for setting in settings]
            for settings in (preset.settings for preset in presets)
        ]
        facts = [{key: getattr(preset, key) for key in ("name", "about", "values")} for preset in presets]
        print_json([fact | {"settings": row} for fact, row in zip(facts, rows, strict=True)])
    elif names:
        print("\n\n".join(map(_in_full, presets)))
    else:
        width = max(map(len, PRESETS))
        for preset in presets:
            text = f"{preset.name:{width}}  {preset.about}: {_in_short(preset)}"
            print(textwrap.fill(text, 80, subsequent_indent=" " * (width + 2), break_on_hyphens=False))
        print("\nEach option with its source: rws presets NAME")


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
        for text in (setting.source, *([f"({setting.note})"] if setting.note else [])):
            lines += textwrap.wrap(text, _WIDTH, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines)


class AppliedPreset(NamedTuple):
    """A preset applied to a command line: its options, those that the user replaced, and those derived from both."""

    preset: Preset
    given: dict[str, tuple[Any, Any]]
    followed: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Return what `--json` prints of it."""
        left_out = [setting.published for setting in self.preset.left_out]
        instead = {name: {"given": value, "preset": own} for name, (value, own) in self.given.items()}
        return {"name": self.preset.name, "overridden": instead, "followed": self.followed, "left_out": left_out}

    def tell(self) -> None:
        """Name on standard error the options that replace the preset's, and those that this decoder leaves out."""
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


def with_preset(given: Mapping[str, Any], usual: Mapping[str, Any]) -> tuple[Mapping[str, Any], AppliedPreset | None]:
    """Return the options of a command line with those of its preset added, and the applied preset.

    usual: the options of the command, with their defaults. With a prompt of gaps the shape follows from the gaps. For a
    command that has --strategies, the preset's strategy is the first of them. ValueError for a name that no preset has.
    """
    if given.get("preset") is None:
        return given, None
    preset = load(given["preset"], "--preset")
    preset.refuse_uniform("--preset")
    values = preset.values
    if given.get("infill") is not None:
        values = {name: value for name, value in values.items() if name not in SHAPE_OPTIONS}
        tell(f"note: the shape follows from the gaps, not from --preset {preset.name}")
    chosen = {name: given[name] for name in values if name in given}
    fitting = fitted(values, chosen)
    if "strategy" in chosen and chosen["strategy"] != values["strategy"]:
        fitting = {name: value for name, value in fitting.items() if name != "threshold"}
    merged = dict(given) | {name: value for name, value in fitting.items() if name in usual}
    followed = {name: value for name, value in fitting.items() if value != values[name]}
    instead = {name: (value, values[name]) for name, value in chosen.items() if value != values[name]}
    if "strategies" in usual:
        name = values.get("strategy", "default")  # the preset has no number for rws
        first = {"threshold": f"threshold:{values.get('threshold', 0):g}", "rws": None}.get(name, name)
        if "strategies" not in given and first is not None:
            merged["strategies"] = (first, *(text for text in usual["strategies"][1:] if text != first))
        elif "strategies" not in given:
            listed = " ".join(usual["strategies"])
            tell(f"note: --preset {preset.name} has no reward scale, so --strategies is {listed}")
        elif first is not None and first not in given["strategies"]:
            instead["strategies"] = ([*given["strategies"]], first)
    return merged, AppliedPreset(preset, instead, followed)
