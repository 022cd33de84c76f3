"""A published loop's options, each with its source, as arguments of `decode`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from rws_decode.settings import Options, Shape
from rws_theory.show import clipped

if TYPE_CHECKING:
    from rws_decode.predictors.base import MaskPredictor

SHAPE_OPTIONS = ("length", "steps", "block")
_DECODING = tuple(option.name for option in fields(Options))
_ENDS = "end_ids"


@dataclass(frozen=True)
class Setting:
    """One option of a published loop: its name and value as printed, their source, and the option here.

    source: repository, commit, file and lines, or an arXiv number. option, value: an argument of `decode`, or a field
    of its shape or options. otherwise: if there is no such option: "nothing to set", as the decoder does so anyway;
    "left out", as the decoder cannot; or "to be given" by the user. note: why, or what another source says.

    >>> Setting("alg_temp = 0", "DreamLM/Dream eval/eval.py").here
    'nothing to set'
    """

    published: str
    source: str
    option: str = ""
    value: Any = None
    otherwise: Literal["nothing to set", "left out", "to be given"] = "nothing to set"
    note: str = ""

    @property
    def here(self) -> str:
        """Return in words what this decoder has for the published option."""
        return f"{self.option} {self.value}" if self.option else self.otherwise


@dataclass(frozen=True)
class Preset:
    """A published loop for one task: `settings`, and `about`, whose it is; process: "uniform" for one without masks.

    >>> from rws_decode.extra import presets
    >>> preset = presets.load("fast-dllm-gsm8k")
    >>> preset.values["threshold"], preset.values["block"]
    (0.9, 32)
    """

    name: str
    about: str
    settings: tuple[Setting, ...]
    process: Literal["absorbing", "uniform"] = "absorbing"

    def __repr__(self) -> str:
        text = " ".join(f"{name} {value}" for name, value in self.values.items())
        return clipped(f"Preset({self.name}: {text})")

    @property
    def values(self) -> dict[str, Any]:
        """Return the options that are set here, with their values."""
        return {setting.option: setting.value for setting in self.settings if setting.option}

    @property
    def left_out(self) -> tuple[Setting, ...]:
        """Return the published options that this decoder does not have."""
        return tuple(setting for setting in self.settings if setting.otherwise == "left out")

    def end_ids(self, predictor: MaskPredictor) -> tuple[int, ...] | None:
        """Return the tokens of the preset's end-of-text policy: the first of a model's ends, or None, for all.

        >>> from rws_decode.extra import presets
        >>> from rws_decode.predictors import CallablePredictor
        >>> presets.load("llada-humaneval").end_ids(CallablePredictor(lambda canvas: canvas, mask_id=0, end_id=5))
        (5,)
        """
        first = self.values.get(_ENDS) == "the first"
        return (predictor.end_id,) if first and predictor.end_id is not None else None

    def refuse_uniform(self, argument: str) -> None:
        """Raise ValueError for a loop without masks, which `decode` does not have."""
        if self.process == "uniform":
            raise ValueError(f"{argument} is {self.name!r}: it has no masks, use decode_uniform in Python")

    def arguments(self, predictor: MaskPredictor, **given: Any) -> dict[str, Any]:
        """Return the arguments of `decode` besides the prompts: strategy, its numbers, shape and options.

        given: other values for options of the shape, of `Options` and of the strategy, which win over the preset's
        (`fitted`). With another strategy, the preset's numbers for its own are left out. ValueError for a value that no
        decode could use, and for a uniform process.

        >>> from rws_decode import decode, load_predictor
        >>> from rws_decode.extra import presets
        >>> predictor = load_predictor("mini")
        >>> told = presets.load("llada-gsm8k").arguments(predictor, length=8)
        >>> told["shape"], told["options"].end_of_text, told["strategy"]
        (Shape(length=8, steps=8, block=8), 'defer-published', 'default')
        >>> decode(predictor, "write about a dog", **told).forwards
        8
        """
        self.refuse_uniform("preset")
        values = fitted(self.values, given)
        if given.get("end_of_text", values.get("end_of_text")) == self.values.get("end_of_text"):
            values[_ENDS] = self.end_ids(predictor)
        values |= given
        strategy = self.values.get("strategy", "default")
        own = self.values if given.get("strategy", strategy) == strategy else {}
        numbers = {
            name: value
            for name, value in values.items()
            if name not in (*SHAPE_OPTIONS, *_DECODING, "strategy") and (name in given or name in own)
        }
        return {
            "strategy": values.get("strategy", strategy),
            "shape": Shape(**{name: values[name] for name in SHAPE_OPTIONS if name in values}),
            "options": Options(**{name: values[name] for name in _DECODING if name in values}),
            **numbers,
        }


def fitted(values: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a preset's values without those that are given, its steps and block fitted to another length.

    A block of the whole answer remains the whole answer, and another is at most the answer. A step commits as many
    tokens as in the preset, if possible. `end_ids` is not among the values, as it depends on the model.

    >>> fitted({"length": 256, "steps": 128, "block": 32}, {"length": 64})
    {'steps': 32, 'block': 32}
    >>> fitted({"length": 512, "steps": 512, "block": 512}, {"length": 64, "steps": 16})
    {'block': 64}
    """
    own = {name: value for name, value in values.items() if name not in given and name != _ENDS}
    if given.get("sampling_temperature") == 0:
        own.pop("top_p", None)  # nothing is sampled
    if given.get("length") is not None and "length" in values:
        length, usual = given["length"], values["length"]
        if "block" in own:
            own["block"] = length if own["block"] == usual else min(own["block"], length)
        if own.get("steps") is not None:
            own["steps"] = max(1, length * own["steps"] // usual)
    return own
