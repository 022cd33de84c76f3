"""Everything that `decode` can be told, as one checked, frozen value with the names of transformers' `generate`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rws_decode.canvas.schedule import EndOfText, Padding
from rws_decode.common.arguments import check_seeds
from rws_decode.common.files import parse_json, write_json
from rws_decode.common.plugins import hook
from rws_decode.predictors.base import MaskPredictor
from rws_decode.settings import Options, Precision, Ranking, Savings, Shape
from rws_decode.strategies.protocol import Strategy
from rws_decode.strategies.table import STRATEGIES, strategy_named
from rws_decode.trace.trace import Trace, load_trace
from rws_theory.show import one_line, quoted

CONFIG_NAME = "rws_generation_config.json"

# What other decoders call an option that has another name here.
_ELSEWHERE = {
    "gen_length": "max_new_tokens",
    "max_length": "max_new_tokens",
    "canvas_length": "block_length",
    "max_denoising_steps": "steps",
    "num_inference_steps": "steps",
    "guidance_scale": "cfg_scale",
    "remasking": "strategy",
    "alg": "strategy",
}
# The names here of what shape and options call otherwise.
_HERE = {
    "length": "max_new_tokens",
    "block": "block_length",
    "sampling_temperature": "temperature",
    "cfg": "cfg_scale",
    "end_ids": "eos_token_id",
}


@dataclass(frozen=True, kw_only=True)
class RWSGenerationConfig:
    """Shape, options, savings and strategy of `decode.decode` in one value.

    Names are those of transformers' text diffusion (`max_new_tokens`, `temperature`, `eos_token_id`) and of diffusers'
    block refinement (`block_length`) if they mean the same. `steps` is the number of forwards in all, as in LLaDA's and
    Dream's own loops; diffusers' `steps` and DiffusionGemma's `max_denoising_steps` count those of one block.
    `cfg_scale` is LLaDA's.

    strategy: a name of `table.STRATEGIES`, with what it reads: scale ("temperature": c), reward_scale and eps (rws
    ones: s_R and epsilon), every ("rws-every"), threshold, parallel_factor, gamma, sigma, eta, hypotheses or
    stride (of other papers), run ("schedule", "constant", "shuffled": the file of an rws run's trace, of as many
    steps). Options that the strategy does not read are kept and do nothing.

    max_new_tokens: tokens of the answer, exactly; its text can end before. block_length, steps: `settings.Shape`.
    temperature: of Gumbel sampling, 0 is greedy; seed: of sampling, "rws-random", "random-order" and "shuffled".
    cfg_scale, end_of_text, ranking, precision, padding, key_cache, savings: as in `settings`; eos_token_id: end_ids.

    ValueError, naming the option, for a value that no decode could use.

    >>> config = RWSGenerationConfig(strategy="rws", reward_scale=8.0, max_new_tokens=64)
    >>> config.update(steps=16).steps, config.steps
    (16, 32)
    >>> RWSGenerationConfig.from_dict(config.to_dict()) == config
    True
    >>> config.update(gen_length=32)
    Traceback (most recent call last):
    ...
    ValueError: gen_length is not an option of RWSGenerationConfig: the nearest is max_new_tokens
    """

    strategy: str = "default"
    scale: float | None = None
    reward_scale: float | None = None
    eps: float = 1e-5
    every: int | None = None
    threshold: float | None = None
    parallel_factor: float | None = None
    gamma: float | None = None
    sigma: float | None = None
    eta: float | None = None
    hypotheses: int | None = None
    stride: int | None = None
    run: str | None = None
    max_new_tokens: int = 64
    block_length: int = 32
    steps: int = 32
    temperature: float = 0.0
    seed: int = 0
    cfg_scale: float = 0.0
    end_of_text: EndOfText = "none"
    eos_token_id: int | tuple[int, ...] | None = None
    ranking: Ranking = "log-odds"
    precision: Precision = "float64"
    padding: Padding = "right"
    key_cache: str = "none"
    savings: Savings = field(default_factory=Savings)

    __repr__ = one_line

    def validate(self) -> None:
        """Raise ValueError for a value that no decode could use."""
        kinds = {"savings": Savings, "strategy": str, "run": str | None, "eos_token_id": int | tuple | None}
        for name, kind in kinds.items():
            if not isinstance(value := getattr(self, name), kind):
                raise ValueError(f"{name} is {quoted(value)}: {getattr(kind, '__name__', kind)} is needed")
        check_seeds("seed", self.seed)
        try:
            self.decode_options()
        except ValueError as error:
            name, _, rest = str(error).partition(" ")
            raise ValueError(f"{_HERE.get(name, name)} {rest}") from error
        if not self._reads_run():
            self.make_strategy()
        elif self.run is None:
            raise ValueError(f"run is None: strategy {self.strategy} needs it")

    __post_init__ = validate

    def make_strategy(self, seed: int | tuple[int, ...] | None = None) -> Strategy:
        """Return the strategy; seed: one, or one per row, in place of the config's.

        The file that `run` names is read now: FileNotFoundError or ValueError if it is missing or broken, or if the run
        had another number of steps.

        >>> RWSGenerationConfig(strategy="temperature", scale=2.0).make_strategy()
        Temperature(scale=2.0)
        """
        run: Trace | None = None
        if self._reads_run() and self.run is not None:
            run = load_trace(self.run)
            if not run.of_step_map and run.steps != self.steps:
                raise ValueError(f"run is {self.run}: a run of {run.steps} steps, steps is {self.steps}")
        numbers = {name: value for name, value in vars(self).items() if name != "strategy"}
        return strategy_named(self.strategy, **numbers | {"run": run, "seed": self.seed if seed is None else seed})

    def decode_options(self, seed: int | tuple[int, ...] | None = None) -> dict[str, Any]:
        """Return shape, options and savings, as `decode.decode` takes them; seed: in place of the config's."""
        ends = self.eos_token_id
        return {
            "shape": Shape(self.max_new_tokens, self.steps, self.block_length),
            "options": Options(
                ranking=self.ranking,
                precision=self.precision,
                padding=self.padding,
                key_cache=self.key_cache,
                sampling_temperature=self.temperature,
                seed=self.seed if seed is None else seed,
                cfg=self.cfg_scale,
                end_of_text=self.end_of_text,
                end_ids=(ends,) if isinstance(ends, int) else ends,
            ),
            "savings": self.savings,
        }

    def update(self, **overrides: Any) -> RWSGenerationConfig:
        """Return a config with other values; `savings` may be a dict of some of its parts.

        ValueError for an unknown option, naming the nearest, and for a bad value.
        """
        savings = overrides.get("savings")
        if isinstance(savings, Mapping):
            _refuse_unknown(savings, Savings)
            overrides["savings"] = replace(self.savings, **savings)
        if isinstance(overrides.get("eos_token_id"), list):
            overrides["eos_token_id"] = tuple(overrides["eos_token_id"])
        _refuse_unknown(overrides, RWSGenerationConfig)
        return replace(self, **overrides)

    def to_dict(self) -> dict[str, Any]:
        """Return all options, ready for JSON."""
        return asdict(self) | {"eos_token_id": list(ids) if isinstance(ids := self.eos_token_id, tuple) else ids}

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> RWSGenerationConfig:
        """Return the config of some options, the others at their defaults; ValueError as in `update`."""
        return cls().update(**options)

    @classmethod
    def from_preset(cls, name: str, predictor: MaskPredictor, **overrides: Any) -> RWSGenerationConfig:
        """Return the config of a preset (`rws_decode.extra.presets`), with other values for some options.

        Steps and block follow another length, as in the commands. ValueError for an option that no config has.

        >>> from rws_decode import load_predictor
        >>> config = RWSGenerationConfig.from_preset("llada-gsm8k", load_predictor("mini"), max_new_tokens=32)
        >>> config.steps, config.block_length, config.end_of_text
        (32, 32, 'defer-published')
        """
        _refuse_unknown(overrides, RWSGenerationConfig)
        preset, names = hook("presets", f"preset is {name!r}").load(name), {new: old for old, new in _HERE.items()}
        own = {option: overrides.pop(option) for option in ("savings", "run") if option in overrides}
        values = preset.arguments(predictor, **{names.get(key, key): value for key, value in overrides.items()})
        for part in (values.pop("shape"), values.pop("options")):
            changed = (option.name for option in fields(part) if getattr(part, option.name) != option.default)
            values |= {_HERE.get(option, option): getattr(part, option) for option in changed}
        return cls().update(**values, **own)

    def save_pretrained(self, save_directory: str | os.PathLike[str]) -> Path:
        """Write the config to `save_directory`/rws_generation_config.json, atomically, and return the file's path.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = RWSGenerationConfig(steps=16).save_pretrained(folder)
        ...     path.name, RWSGenerationConfig.from_pretrained(folder, temperature=0.5).steps
        ('rws_generation_config.json', 16)
        """
        return write_json(Path(save_directory) / CONFIG_NAME, self.to_dict())

    @classmethod
    def from_pretrained(cls, directory: str | os.PathLike[str], **overrides: Any) -> RWSGenerationConfig:
        """Read the config that `save_pretrained` wrote, with other values for some options.

        FileNotFoundError if there is none; ValueError, naming the file, if it holds no such config.
        """
        path = Path(directory) / CONFIG_NAME
        if not path.is_file():
            raise FileNotFoundError(f"no generation config at {path}")
        try:
            options = parse_json(path.read_text(encoding="utf-8"))
            if not isinstance(options, dict):
                raise ValueError("a JSON object is needed")
            config = cls.from_dict(options)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        return config.update(**overrides)

    def _reads_run(self) -> bool:
        return self.strategy in STRATEGIES and "run" in STRATEGIES[self.strategy].reads


def _refuse_unknown(options: Mapping[str, Any], kind: type) -> None:
    """Raise ValueError, naming the nearest option, for one that the kind does not have."""
    names = [option.name for option in fields(kind)]
    for name in options:
        if name not in names:
            name_here = (_ELSEWHERE | _HERE).get(name)
            near = [name_here] if name_here in names else get_close_matches(str(name), names, 1, 0.0)
            raise ValueError(f"{name} is not an option of {kind.__name__}: the nearest is {near[0]}")
