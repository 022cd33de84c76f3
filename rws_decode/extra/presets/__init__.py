"""Presets: the options of published decoding loops, each traced to where it is printed.

>>> from rws_decode.extra import presets
>>> preset = presets.load("llada-gsm8k")
>>> preset.values["length"], preset.values["end_of_text"]
(512, 'defer-published')
>>> preset.settings[0].published, preset.settings[0].source
('gen_length = 512', 'ML-GSAI/LLaDA b7e6c35 EVAL.md line 74')

`preset.arguments(predictor)` are those of `decode`; options that are given win over the preset's.
"""

from __future__ import annotations

from rws_decode.common.arguments import meant
from rws_decode.extra.presets import blocks, dream, llada, papers
from rws_decode.extra.presets.preset import Preset, Setting
from rws_theory.show import shortened

__all__ = ["PRESETS", "Preset", "Setting", "load"]

_ALL = (*llada.PRESETS, *dream.PRESETS, *blocks.PRESETS, *papers.PRESETS)
PRESETS: dict[str, Preset] = {preset.name: preset for preset in _ALL}


def load(name: str, argument: str = "preset") -> Preset:
    """Return the preset of that name; ValueError, naming the argument, where there is none.

    >>> load("rws-paper").values["steps"]
    128
    """
    if name not in PRESETS:
        names = f"{shortened(PRESETS)}{meant(str(name), PRESETS)}; `rws presets` lists all"
        raise ValueError(f"{argument} is {name!r:.80}: it must be one of {names}")
    return PRESETS[name]
