"""`python -m rws_decode generate`: decode the answer to one prompt."""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rws_decode import settings
from rws_decode.commands.options import (
    END_OF_TEXT,
    GUIDANCE,
    PredictorOptions,
    PromptOptions,
    RewardOptions,
    ShapeOptions,
    shape_help,
    threads_option,
)
from rws_decode.strategies.table import OFFERED, STRATEGIES, strategy_named
from rws_theory.commands.options import add_options, group, json_option, option, read_options

if TYPE_CHECKING:
    from rws_decode.step.final_text import FinalReward
    from rws_decode.strategies.protocol import Strategy
    from rws_decode.trace.trace import Trace

__all__ = ["GenerateOptions", "StrategyOptions", "add_arguments", "result", "run"]

_DECODING = {
    "ranking": "what ranks positions; topk is torch.topk of the probability, as in public decoders",
    "precision": "of the ranking; model is the precision of the model's logits",
    "sampling_temperature": "draw tokens by Gumbel-max; 0 takes the best token",
    "seed": "of sampling, random-order, rws-random and shuffled",
    "cfg": GUIDANCE,
    "end_of_text": END_OF_TEXT,
}


@dataclass(frozen=True)
class StrategyOptions:
    """The strategy and what it reads."""

    strategy: str = option("default", "how logits are scaled, or positions ordered", choices=tuple(OFFERED))
    scale: float | None = option(None, "constant factor of --strategy temperature", metavar="C")
    reward_scale: float | None = option(None, "reward scale s_R of the rws strategies", metavar="S")
    every: int | None = option(None, "rws-every: ask the reward every N steps")
    run: str | None = option(
        None, "trace of the rws run that schedule repeats, constant averages and shuffled permutes", metavar="FILE"
    )

    def make(self, steps: int, seed: int) -> Strategy:
        """Return the strategy; ValueError for a run of another number of steps."""
        run = None
        if "run" in STRATEGIES[self.strategy].reads and self.run is not None:
            from rws_decode.trace.trace import load

            run = load(self.run)
            if run.steps != steps:
                raise ValueError(f"--run is {self.run}: a run of {run.steps} steps, --steps is {steps}")
        return strategy_named(
            self.strategy, scale=self.scale, reward_scale=self.reward_scale, every=self.every, run=run, seed=seed
        )


@dataclass(frozen=True)
class GenerateOptions:
    """What is decoded, with which models, and how."""

    prompt: PromptOptions = group(PromptOptions, "the prompt: one of", one_of=True)
    strategy: StrategyOptions = group(StrategyOptions, "the strategy")
    predictor: PredictorOptions = group(PredictorOptions, "the mask predictor")
    reward: RewardOptions = group(RewardOptions, "the reward model")
    shape: ShapeOptions = group(ShapeOptions, "the answer", help=shape_help(settings.Shape()))
    decoding: settings.Options = group(settings.Options, "the decoder", help=_DECODING)
    savings: Literal["usual", "everything", "nothing"] = option(
        "usual", "skip work that cannot change the text: only repeated scores, all that is possible, or nothing"
    )
    compact: bool = option(
        False, "use the compact decoder, made for a GPU: the same tokens, for greedy decoding of scaled logits"
    )
    threads: int | None = threads_option()
    trace: Path | None = option(None, "write the trace to DIR/trace.parquet", metavar="DIR")
    json: bool = json_option()

    def __post_init__(self) -> None:
        name = self.strategy.strategy
        if missing := [_flag(option) for option in STRATEGIES[name].reads if self._given[option] is None]:
            several = len(missing) > 1
            raise ValueError(
                f"{' and '.join(missing)} {'are' if several else 'is'} missing: "
                f"--strategy {name} needs {'them' if several else 'it'}"
            )
        if self.trace is not None and self.trace.exists() and not self.trace.is_dir():
            raise ValueError(f"--trace is {self.trace}: a file; a directory is needed")
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"--seed is {self.seed}: at least 0 and below 2**63 is needed")
        if self.prompt.text is not None:
            self.shape.make(self.prompt.text)
        if self.compact:
            self._check_compact()

    @property
    def seed(self) -> int:
        """Return the one seed of the command line."""
        assert isinstance(self.decoding.seed, int)
        return self.decoding.seed

    @property
    def unused(self) -> list[str]:
        """Return the options that were given and that the strategy does not read."""
        reads = ("strategy", "reward", *STRATEGIES[self.strategy.strategy].reads)
        return [_flag(name) for name, value in self._given.items() if value is not None and name not in reads]

    @property
    def _given(self) -> dict[str, Any]:
        return {**vars(self.strategy), "reward": self.reward.reward}

    def _check_compact(self) -> None:
        usual = settings.Options()
        changed = [
            name
            for name in ("ranking", "precision", "sampling_temperature", "cfg")
            if getattr(self.decoding, name) != getattr(usual, name)
        ]
        changed += ["end_of_text"] if self.decoding.end_of_text == "defer" else []
        if changed:
            value = getattr(self.decoding, changed[0])
            raise ValueError(f"{_flag(changed[0])} is {value}: --compact decodes without it, choose one")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `generate` to a parser."""
    add_options(parser, GenerateOptions)


def run(args: argparse.Namespace) -> int:
    """Decode and print; ValueError for input that cannot be used."""
    options = read_options(GenerateOptions, args)
    for name in options.unused:
        print(f"note: --strategy {options.strategy.strategy} does not use {name}", file=sys.stderr)
    trace, final = _decoded(options)
    if options.trace is not None:
        print(f"trace: {trace.save(options.trace / 'trace.parquet')}", file=sys.stderr)
    print(json.dumps(result(trace, final), allow_nan=False) if options.json else _summary(trace, final))
    return 0


class Final(NamedTuple):
    """What is known of the final text: the whole text of a prompt with gaps, its reward, its log-probability."""

    completed: str | None = None
    reward: FinalReward | None = None
    log_prob: float | None = None


def _decoded(options: GenerateOptions) -> tuple[Trace, Final]:
    from rws_decode.common.threads import torch_threads
    from rws_decode.decode import decode
    from rws_decode.gpu import CompactSavings, decode_compact
    from rws_decode.predictors.base import KnowsProbability
    from rws_decode.step.final_text import final_reward

    predictor = options.predictor.load()
    prompt = options.prompt.read(predictor)
    shape = options.shape.make(prompt, predictor.mask_id)
    strategy: Any = options.strategy.make(shape.steps, options.seed)
    asked = strategy.needs_reward or options.reward.reward is not None
    reward = options.reward.load(options.predictor.loading.device) if asked else None
    with torch_threads(options.threads):
        if options.compact:
            kinds = {"usual": CompactSavings.usual, "everything": CompactSavings, "nothing": CompactSavings.nothing}
            (trace,) = decode_compact(
                predictor,
                [prompt],
                strategy,
                shape,
                reward=reward,
                savings=kinds[options.savings](),
                options=settings.Options(end_of_text=options.decoding.end_of_text),
            )
        else:
            usual = settings.Savings
            savings = {"usual": usual, "everything": usual.everything, "nothing": usual.nothing}[options.savings]()
            (trace,) = decode(
                predictor, [prompt], strategy, shape, reward=reward, options=options.decoding, savings=savings
            )
        scored = None
        if reward is not None and trace.text is not None:
            scored = final_reward(predictor, reward, prompt, trace.tokens.tolist())
    gaps = predictor.mask_id in trace.prompt
    return trace, Final(
        predictor.decode_prompt(trace.completed.tolist()) if gaps else None,
        scored,
        predictor.log_prob(trace.prompt.tolist(), trace.tokens.tolist())
        if isinstance(predictor, KnowsProbability)
        else None,
    )


def result(trace: Trace, final: Final | None = None) -> dict[str, Any]:
    """Return what `--json` prints; `scales` are the factors, `rewards` the raw ones, None where there is none.

    `final_reward`: of the final text, under any strategy, where --reward names a model and there is a text.
    `log_prob`: nats, of the answer given the prompt, where the model is an exact world. `completed`: the whole text of
    a prompt with gaps; `text` is what stands in the gaps, in order.
    """
    final = Final() if final is None else final
    return {
        "tokens": trace.tokens.tolist(),
        "text": trace.text,
        "completed": final.completed,
        "final_reward": None if final.reward is None else final.reward._asdict(),
        "log_prob": final.log_prob,
        "commit_step": trace.commit_step.tolist(),
        "god_tokens": trace.god_tokens,
        "god_steps": trace.god_steps,
        "forwards": trace.forwards,
        "reward_calls": trace.reward_calls,
        "reward_calls_saved": trace.reward_calls_saved,
        "scales": [None if math.isnan(factor) else factor for factor in trace.factor.tolist()],
        "rewards": [None if math.isnan(reward) else reward for reward in trace.reward_raw.tolist()],
        "ties": trace.ties.tolist(),
    }


def _summary(trace: Trace, final: Final) -> str:
    text = final.completed or (json.dumps(trace.tokens.tolist()) if trace.text is None else trace.text)
    worth = []
    if final.reward is not None:
        worth.append(f"reward of the text: {final.reward.raw:.4g}, normalised {final.reward.normalised:+.3f}")
    if final.log_prob is not None:
        worth.append(f"log-probability of the answer: {final.log_prob:.2f} nats")
    lines = [
        *worth,
        f"generation order deviation: {trace.god_tokens:.3f} tokens, {trace.god_steps:.3f} steps",
        f"forwards: {trace.forwards}; reward calls: {trace.reward_calls}, saved: {trace.reward_calls_saved}; "
        f"ties at the cut: {int(trace.ties.sum())}",
    ]
    return f"{text}\n\n" + "\n".join(lines)
