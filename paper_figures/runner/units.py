"""Units of work: one answer to one prompt by one strategy, addressed by a hash of all that determines it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from paper_figures.runner.digests import DECODER, code_digest, digest, root_of
from rws_decode.checkpoints.files import locate, models_directory, shipped, split_revision
from rws_decode.checkpoints.packages import PACKAGED, distribution_of
from rws_decode.rewards.callable import module_file
from rws_decode.rewards.registry import SHIPPED as REWARDS
from rws_decode.rewards.registry import kind_of, known_reward, offered_reward

_LIBRARIES = ("torch", "transformers", "tokenizers", "numpy", "scipy")
# Numbers of a strategy that may differ from row to row of one decode: strategies take one per row.
PER_ROW = {
    "temperature": ("scale",),
    "reward-replay": ("rewards",),
    "schedule": ("factors",),
    "rws-random": ("seed",),
    "random-order": ("seed",),
}


class Model(NamedTuple):
    """A model that a unit uses: its role (predictor, reward, judge or causal) and its name."""

    role: str
    name: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Unit:
    """One answer: a prompt, how it is decoded, and the models that guide and measure; the finest piece of work.

    experiment      the name of its study
    prompt          the text that is asked; history: the turns before it, user and assistant in turn
    example         what the prompt is called in its set
    strategy        {"name": ..., and its numbers}, as `rws_decode.strategies` describes strategies
    predictor, reward (guides), judges (score the answer), causal (for perplexity)
                    model names, `owner/name@COMMIT` for a commit of the hub, None for none
    seed            of what is sampled
    length, steps, block, ranking, precision, sampling_temperature, device
                    as in `rws_decode.decode.decode`
    settings        what else changes the decode or its measures, the same for all units of a batch
    labels          what is known of the prompt (keywords, category)

    Mappings hold what JSON can hold, and their order does not matter. Two units are equal if they are the same JSON
    with sorted keys. ValueError names a field that is not JSON, a setting or label that is named as a field is, or a
    history that does not end with the assistant's turn.

    >>> unit = Unit(experiment="x", prompt="why?", strategy={"name": "rws", "reward_scale": 8.0})
    >>> unit.scale, unit == Unit(experiment="x", prompt="why?", strategy={"reward_scale": 8.0, "name": "rws"})
    (8.0, True)
    """

    experiment: str
    prompt: str
    history: tuple[str, ...] = ()
    example: str = ""
    strategy: Mapping[str, Any]
    predictor: str | None = "mini"
    reward: str | None = None
    judges: tuple[str, ...] = ()
    causal: str | None = None
    seed: int = 0
    length: int = 64
    steps: int = 32
    block: int = 32
    ranking: str = "log-odds"
    precision: str = "float64"
    sampling_temperature: float = 0.0
    device: str = "cpu"
    settings: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            try:
                json.dumps(value, allow_nan=False)
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"{each.name} is {value!r}: JSON without nan or infinity is needed ({error})"
                ) from error
            if isinstance(value, Mapping):
                # A copy: what the caller does to its own afterwards does not change the unit.
                object.__setattr__(self, each.name, json.loads(json.dumps(value)))
        if not isinstance(self.strategy.get("name"), str):
            raise ValueError(f"strategy is {self.strategy!r}: a mapping with its name is needed")
        object.__setattr__(self, "judges", tuple(self.judges))
        if isinstance(self.history, str) or len(self.history) % 2:
            raise ValueError(f"history is {self.history!r}: texts of user and assistant in turn, an even number")
        object.__setattr__(self, "history", tuple(self.history))
        taken = _FIXED.intersection([*self.settings, *self.labels]) | set(self.settings).intersection(self.labels)
        if taken:
            raise ValueError(f"settings or labels hold {sorted(taken)}: these are columns of a unit already")

    @cached_property
    def key(self) -> str:
        """Return the unit as JSON with sorted keys."""
        return json.dumps({each.name: getattr(self, each.name) for each in fields(self)}, sort_keys=True)

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, Unit) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def scale(self) -> float | None:
        """Return the strategy's scale: s_R, or the factor c of a temperature; None where it has none."""
        scale = self.strategy.get("reward_scale", self.strategy.get("scale"))
        return None if scale is None else float(scale)

    @property
    def models(self) -> tuple[Model, ...]:
        """Return the models that the unit uses."""
        models = [Model("predictor", self.predictor or ""), Model("reward", self.reward or "")]
        models += [Model("judge", name) for name in self.judges] + [Model("causal", self.causal or "")]
        return tuple(model for model in models if model.name)

    def columns(self) -> dict[str, Any]:
        """Return the unit as the columns of its rows: fields, `scale`, and settings and labels under their own names.

        `strategy` is its name, `strategy_json` the whole of it.
        """
        columns = {each.name: getattr(self, each.name) for each in fields(self)}
        columns |= {"strategy": self.strategy["name"], "scale": self.scale, "judges": list(self.judges)}
        columns |= {"strategy_json": json.dumps(self.strategy, sort_keys=True), "history": list(self.history)}
        settings, labels = columns.pop("settings"), columns.pop("labels")
        return columns | settings | labels


_FIXED = {each.name for each in fields(Unit)} | {"unit", "unit_fields", "scale", "strategy_json", "code"}


@dataclass(frozen=True)
class Origin:
    """What results follow from besides their unit: digest of the code, library versions, digests of models' files.

    checked: whether processes that compute compare `code` and `libraries` with their own before they do; root: the
    module that `code` is reached from (`digests.code_digest`).
    """

    code: str
    libraries: Mapping[str, str]
    models: Mapping[Model, Any]
    checked: bool = False
    root: str = DECODER

    @cached_property
    def name(self) -> str:
        """Return a digest of code and libraries, 16 hexadecimal digits: results of another are kept apart."""
        return digest([self.code, dict(self.libraries)])[:16]


@cache
def library_versions() -> dict[str, str]:
    """Return the versions of the libraries that numbers follow from, read once per process."""
    return {name: version(name) for name in _LIBRARIES}


def _files_of(model: Model) -> Any:
    """Return digests of a model's files; a hub id stands for its files, with its revision where it has one."""
    role, name = model
    if role in ("reward", "judge"):
        if kind_of(name) == "world":
            folder = models_directory() / "english"
            return {each: _file(folder / each) for each in ("rewards.json", "words.json", "world.npz")}
        if kind_of(name) == "offered" and (source := getattr(offered_reward(name), "source", None)) is not None:
            found = source(name)
            places = found.items() if isinstance(found, Mapping) else ()
            return {key: _file(place) if isinstance(place, Path) else place for key, place in places} or found
        if kind_of(name) == "module":
            return _file(module_file(name))  # not what it imports
    if name in PACKAGED:
        if role != "predictor":  # it is looked for where it is loaded
            distribution_of(role, PACKAGED[name])
        return dict(PACKAGED[name].files)
    short, revision = split_revision(name)
    if role in ("reward", "judge") and (entry := known_reward(short)) is not None:
        commit = revision or entry.revision
        return entry.hub_id if commit is None else f"{entry.hub_id}@{commit}"
    if role == "causal":
        # Here, as it imports PyTorch, which a process that only hands out or reads units does not need.
        from paper_figures.statistics.causal_scores import SHIPPED as ships
    else:
        ships = {each: each for each in shipped("ForMaskedLM")} if role == "predictor" else REWARDS
    directory = locate(role, short, ships).directory
    if directory is None:
        return name
    return {path.name: _file(path) for path in sorted(directory.iterdir()) if path.is_file() and path.suffix != ".md"}


def _file(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def origin_of(units: Iterable[Unit], work: object = None) -> Origin:
    """Return the origin of units: code, libraries, and the files of every model that they use, each digested once.

    work: what computes them, the decoder if None; only the code that it reaches counts. A hub id stands for its
    files. ValueError for a model that is not known.
    """
    models = {model: _files_of(model) for model in dict.fromkeys(model for unit in units for model in unit.models)}
    root = DECODER if work is None else root_of(work)
    return Origin(code_digest(root), library_versions(), models, checked=True, root=root)


def unit_hash(unit: Unit, origin: Origin) -> str:
    """Return the SHA-256, in hexadecimal, of all that determines a unit's result: its fields, models, code, libraries.

    Any field changes it; the order of keys does not. ValueError for a model that the origin does not know.

    >>> unit = Unit(experiment="x", prompt="why?", strategy={"name": "default"})
    >>> len(unit_hash(unit, Origin("", {}, {Model("predictor", "mini"): ""})))
    64
    """
    missing = [model for model in unit.models if model not in origin.models]
    if missing:
        raise ValueError(f"origin lacks {missing[0].role} {missing[0].name!r}: make it from the same units")
    models = [[model, origin.models[model]] for model in unit.models]
    return digest({"unit": unit.key, "code": origin.code, "libraries": dict(origin.libraries), "models": models})


def batch_key(unit: Unit) -> str:
    """Return what units of one decode share: all but prompt, history, seed, labels, and numbers taken per row.

    >>> two = [Unit(experiment="x", prompt="a", strategy={"name": "temperature", "scale": c}) for c in (1.0, 2.0)]
    >>> batch_key(two[0]) == batch_key(two[1])
    True
    """
    free = PER_ROW.get(unit.strategy["name"], ())
    shared = json.loads(unit.key) | {
        "strategy": {key: value for key, value in unit.strategy.items() if key not in free}
    }
    per_row = ("prompt", "history", "example", "seed", "labels")
    return json.dumps({key: value for key, value in shared.items() if key not in per_row}, sort_keys=True)
