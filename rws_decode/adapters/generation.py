"""A config object as of transformers' `generate`, and `generate` with it: prompts in, sequences and traces out."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rws_decode.canvas.dialogue import Dialogue
from rws_decode.canvas.end_of_text import EndOfText
from rws_decode.canvas.layout import Padding
from rws_decode.canvas.schedule import block_plan
from rws_decode.common.arguments import check_seeds
from rws_decode.common.files import write_json
from rws_decode.decode import decode
from rws_decode.predictors.base import MaskPredictor, prompt_ids
from rws_decode.rewards.base import RewardModel
from rws_decode.step.order import Precision, Ranking, check_ranking
from rws_decode.step.savings import Savings
from rws_decode.strategies.protocol import Strategy
from rws_decode.strategies.table import STRATEGIES, strategy_named
from rws_decode.trace.trace import Trace, load
from rws_decode.view.drafts import Feed, StepCallback, StepView, Streamer, text_tokens

__all__ = ["CONFIG_NAME", "RWSGenerationConfig", "RWSGenerationOutput", "generate"]

CONFIG_NAME = "rws_generation_config.json"

# What other decoders, and `decode` itself, call an option that has another name here.
_ELSEWHERE = {
    "gen_length": "max_new_tokens",
    "length": "max_new_tokens",
    "max_length": "max_new_tokens",
    "block": "block_length",
    "canvas_length": "block_length",
    "max_denoising_steps": "steps",
    "num_inference_steps": "steps",
    "sampling_temperature": "temperature",
    "cfg": "cfg_scale",
    "guidance_scale": "cfg_scale",
    "end_ids": "eos_token_id",
    "remasking": "strategy",
    "alg": "strategy",
}
_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "int | None": (int, type(None)),
    "float": (float, int),
    "float | None": (float, int, type(None)),
    "str | None": (str, type(None)),
    "int | tuple[int, ...] | None": (int, tuple, type(None)),
    "Savings": (Savings,),
}


# Types of the parts of `Savings`, by name.
_SAVINGS: dict[str, tuple[type, ...]] = {
    **{part.name: (type(part.default),) for part in fields(Savings)},
    "spread": (type(None), float, int),
}


@dataclass(frozen=True, kw_only=True)
class RWSGenerationConfig:
    """Everything that `decode.decode` can be told but for models and prompts, as one checked, frozen value.

    Names are those of transformers' text diffusion (`max_new_tokens`, `temperature`, `eos_token_id`) and of diffusers'
    block refinement (`block_length`), where they mean the same; `steps` is the number of forwards in all, as in LLaDA's
    and Dream's own loops (diffusers' `steps` and DiffusionGemma's `max_denoising_steps` count those of one block), and
    `cfg_scale` is LLaDA's.

    strategy: a name of `table.STRATEGIES`, with what it reads: scale ("temperature": c), reward_scale and eps (rws
    ones: s_R and epsilon), every ("rws-every"), run ("schedule", "constant", "shuffled": the file of an rws run's
    trace, of as many steps). Options that the strategy does not read are kept and do nothing. max_new_tokens: tokens of
    the answer, exactly; its text can end before. block_length, steps: as block and steps of `schedule.block_plan`.
    temperature: of Gumbel sampling, 0 is greedy; seed: of sampling, "rws-random", "random-order" and "shuffled".
    cfg_scale, end_of_text, ranking, precision, padding, savings: as in `decode.decode`; eos_token_id: its end_ids.

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
    savings: Savings = field(default_factory=Savings)

    def __post_init__(self) -> None:
        self.validate()

    def validate(self) -> None:
        """Raise ValueError for a value that no decode could use; called when a config is made, and of no need after."""
        for option in fields(self):
            value, kinds = getattr(self, option.name), _TYPES.get(str(option.type), (str,))
            if not isinstance(value, kinds) or isinstance(value, bool):
                names = " or ".join("None" if kind is type(None) else kind.__name__ for kind in kinds)
                raise ValueError(f"{option.name} is {value!r}: {names} is needed")
        for name, kind in (("end_of_text", EndOfText), ("padding", Padding)):
            if getattr(self, name) not in get_args(kind):
                raise ValueError(f"{name} is {getattr(self, name)!r}: it must be one of {', '.join(get_args(kind))}")
        for name in ("temperature", "cfg_scale"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise ValueError(f"{name} is {getattr(self, name)!r}: it must be finite and at least 0")
        for token in self._end_ids() or ():
            if isinstance(token, bool) or not isinstance(token, int) or token < 0:
                raise ValueError(f"eos_token_id holds {token!r}: token ids, whole numbers from 0, are needed")
        check_seeds("seed", self.seed)
        try:
            block_plan(self.max_new_tokens, self.steps, self.block_length)
        except ValueError as error:
            raise ValueError(f"{error} (length is max_new_tokens, block is block_length)") from error
        check_ranking(self.ranking, self.precision)
        if self.strategy not in STRATEGIES or "run" not in STRATEGIES[self.strategy].reads:
            self.make_strategy()
        elif self.run is None:
            raise ValueError(f"run is None: strategy {self.strategy} needs it")

    def make_strategy(self, seed: int | tuple[int, ...] | None = None) -> Strategy:
        """Return the strategy; seed: one, or one per row, in place of the config's.

        The file that `run` names is read now: FileNotFoundError or ValueError where it is missing, broken, or the run
        had another number of steps.

        >>> RWSGenerationConfig(strategy="temperature", scale=2.0).make_strategy()
        Temperature(scale=2.0)
        """
        options = {name: getattr(self, name) for name in ("scale", "reward_scale", "eps", "every")}
        run: Trace | None = None
        if "run" in STRATEGIES[self.strategy].reads and self.run is not None:
            run = load(self.run)
            if run.steps != self.steps:
                raise ValueError(f"run is {self.run}: a run of {run.steps} steps, steps is {self.steps}")
        return strategy_named(self.strategy, **options, run=run, seed=self.seed if seed is None else seed)

    def decode_options(self) -> dict[str, Any]:
        """Return the keyword arguments of `decode.decode` that the config stands for, without seed and strategy."""
        return {
            "length": self.max_new_tokens,
            "steps": self.steps,
            "block": self.block_length,
            "ranking": self.ranking,
            "precision": self.precision,
            "padding": self.padding,
            "sampling_temperature": self.temperature,
            "cfg": self.cfg_scale,
            "end_of_text": self.end_of_text,
            "end_ids": self._end_ids(),
            "savings": self.savings,
        }

    def update(self, **overrides: Any) -> RWSGenerationConfig:
        """Return a config with other values; `savings` may be a dict of some of its parts.

        ValueError for an unknown option, naming the nearest, and for a bad value.
        """
        savings = overrides.get("savings")
        if isinstance(savings, Mapping):
            _refuse_unknown(savings, Savings)
            for name, value in savings.items():
                kinds = _SAVINGS[name]
                if type(value) not in kinds:
                    kind = " or ".join("None" if one is type(None) else one.__name__ for one in kinds)
                    raise ValueError(f"savings has {name} {value!r}: {kind} is needed")
            overrides["savings"] = replace(self.savings, **savings)
        if isinstance(overrides.get("eos_token_id"), list):
            overrides["eos_token_id"] = tuple(overrides["eos_token_id"])
        _refuse_unknown(overrides, RWSGenerationConfig)
        return replace(self, **overrides)

    def to_dict(self) -> dict[str, Any]:
        """Return all options, ready for JSON."""
        found = asdict(self)
        return found | {"eos_token_id": list(ids) if isinstance(ids := self.eos_token_id, tuple) else ids}

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> RWSGenerationConfig:
        """Return the config of some options, the others at their defaults; ValueError as in `update`."""
        return cls().update(**options)

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

        FileNotFoundError where there is none; ValueError, naming the file, for what is not such a config.
        """
        path = Path(directory) / CONFIG_NAME
        if not path.is_file():
            raise FileNotFoundError(f"no generation config at {path}")
        try:
            read = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(read, dict):
                raise ValueError("a JSON object is needed")
            config = cls.from_dict(read)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path}: {error}") from error
        return config.update(**overrides)

    def _end_ids(self) -> tuple[int, ...] | None:
        ids = self.eos_token_id
        return (ids,) if isinstance(ids, int) else ids


@dataclass(frozen=True, eq=False)
class RWSGenerationOutput:
    """What `generate` returns: a row for each prompt, in order.

    sequences: int64 [B, n], the answers' tokens without the prompts, as diffusers' block refinement gives them, whole,
    with what stands after an end of text too; texts: the answers' texts, None without a tokenizer; traces: what each
    decode did (`trace.Trace`); forwards: of the predictor, a batch counting once; reward_calls: texts scored;
    tokens_per_forward: float64 [B], the answer's tokens before its end of text over the row's forwards. `generate`'s
    example shows one.
    """

    sequences: Tensor
    texts: list[str | None]
    traces: tuple[Trace, ...]
    forwards: int
    reward_calls: int
    tokens_per_forward: NDArray[np.float64]


def generate(
    predictor: MaskPredictor,
    prompts: Sequence[str | Dialogue | Sequence[int]],
    config: RWSGenerationConfig | None = None,
    *,
    reward: RewardModel | None = None,
    generator: torch.Generator | None = None,
    streamer: Streamer | None = None,
    callback: StepCallback | None = None,
    return_dict: bool = True,
    **overrides: Any,
) -> RWSGenerationOutput | Tensor:
    """Decode an answer to each prompt by `decode.decode`, told by a config object.

    prompts, reward: as in `decode.decode`. config: the defaults if None; overrides: options of the config with other
    values for this call. generator: the rows' seeds are drawn from it, one each, in place of the config's seed, so it
    moves on and a second call draws others. streamer: shown a decode of one prompt as it goes (`drafts.Streamer`),
    and closed whatever happens. callback: called after each step, and ends a batch (`drafts.StepCallback`).
    return_dict: False for the sequences alone.

    Guarantee: the same config, models, prompts and generator state give the same output, and the same as `decode` does.
    ValueError for an unknown option, a bad value, a generator together with a seed, or a streamer of several prompts.

    >>> from rws_decode.predictors import CallablePredictor
    >>> predictor = CallablePredictor(lambda canvas: torch.eye(4)[3 - canvas], mask_id=0)
    >>> output = generate(predictor, [[2]], max_new_tokens=3, steps=3, block_length=3)
    >>> output.sequences.tolist(), output.tokens_per_forward.tolist()
    ([[3, 3, 3]], [1.0])
    """
    chosen = (RWSGenerationConfig() if config is None else config).update(**overrides)
    if generator is not None and "seed" in overrides:
        raise ValueError(f"seed is {overrides['seed']}: the generator gives the seeds, leave one of them out")
    seeds: int | tuple[int, ...] = chosen.seed
    if generator is not None:
        drawn = torch.randint(2**63 - 1, (len(prompts),), generator=generator, device=generator.device)
        seeds = tuple(drawn.tolist())
    strategy = chosen.make_strategy(seeds)
    options = chosen.decode_options() | {"seed": seeds, "reward": reward}
    if streamer is None:
        decoding = decode(predictor, prompts, strategy, **options, callback=callback)
    else:
        if isinstance(prompts, str) or len(prompts) != 1:
            raise ValueError(f"streamer shows one prompt at a time: prompts holds {len(prompts)}")
        feed = Feed(streamer, predictor, chosen.block_length)

        def both(view: StepView) -> bool | None:
            feed(view)
            return None if callback is None else callback(view)

        try:
            (prompt,) = prompts
            spoken = isinstance(prompt, str | Dialogue)
            streamer.put(torch.tensor(prompt_ids(predictor, prompt) if spoken else list(prompt)))
            decoding = decode(predictor, prompts, strategy, **options, callback=both)
            feed.finish(decoding[0].tokens.tolist())
        finally:
            streamer.end()
    sequences = torch.from_numpy(decoding.tokens).to(predictor.device)
    if not return_dict:
        return sequences
    lengths = [len(text_tokens(predictor, trace.tokens.tolist())) for trace in decoding]
    return RWSGenerationOutput(
        sequences=sequences,
        texts=decoding.texts,
        traces=decoding.traces,
        forwards=decoding.forwards,
        reward_calls=decoding.reward_calls,
        tokens_per_forward=np.array(lengths) / np.array([trace.forwards for trace in decoding]),
    )


def _refuse_unknown(options: Mapping[str, Any], kind: type) -> None:
    """Raise ValueError, naming the nearest option, for one that the kind does not have."""
    known = [option.name for option in fields(kind)]
    for name in options:
        if name not in known:
            near = [_ELSEWHERE[name]] if _ELSEWHERE.get(name) in known else get_close_matches(str(name), known, 1, 0.0)
            raise ValueError(f"{name} is not an option of {kind.__name__}: the nearest is {near[0]}")
