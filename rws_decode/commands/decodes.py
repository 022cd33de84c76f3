"""What `generate` and `compare` share: a prompt, models, a shape, and decodes of them by any strategy."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Self

from rws_decode import settings
from rws_decode.cli.options import fixed, group, json_option, option, parameters, read_options
from rws_decode.cli.progress import loading, tell
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
from rws_decode.common.plugins import hook
from rws_decode.steering import is_method, steering
from rws_decode.strategies.table import check_text

if TYPE_CHECKING:
    from rws_decode.rewards import RewardModel
    from rws_decode.step.callback import StepCallback
    from rws_decode.strategies.protocol import Strategy
    from rws_decode.trace.trace import Trace

_DECODING = {
    "ranking": "what ranks positions; topk is torch.topk of the probability, as in public decoders",
    "precision": "of the ranking; model is the precision of the model's logits",
    "sampling_temperature": "sample tokens by Gumbel-max; 0 takes the best token, or 1 where --steer samples",
    "top_p": "draw from the fewest tokens with this share of the probability; 1 cuts nothing",
    "top_k": "draw from so many of the likeliest tokens, and from all that equal the last",
    "seed": "of sampling, random-order, rws-random and shuffled",
    "cfg": GUIDANCE,
    "key_cache": "keep keys of steps before: prefix or dual (Fast-dLLM), delayed:N (dKV-Cache); it changes the answer",
    "end_of_text": END_OF_TEXT,
}


@dataclass(frozen=True)
class DecodeOptions:
    """What is decoded, with which models, and how."""

    preset: str | None = option(
        None, "the options of a published loop, where none are given; the command presets lists them", metavar="NAME"
    )
    prompt: PromptOptions = group(PromptOptions, "the prompt: one of", one_of=True)
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
    json: bool = json_option()

    applied: Any = fixed(None)

    @classmethod
    def from_given(cls, given: Mapping[str, Any]) -> Self:
        """Return the options, those of the preset where the command line gives none, which standard error is told."""
        applied = None
        if (name := given.get("preset")) is not None:
            with_preset = hook("preset-options", f"--preset is {name}")
            given, applied = with_preset(given, {each.name: each.default for each in parameters(cls)})
        options = read_options(cls, given)
        object.__setattr__(options, "applied", applied)
        if applied is not None:
            applied.tell()
        return options

    def __post_init__(self) -> None:
        if self.prompt.text is not None:
            self.shape.make(self.prompt.text)
        if self.compact:
            self._check_compact()

    @property
    def seed(self) -> int:
        """Return the one seed of the command line."""
        assert isinstance(self.decoding.seed, int)
        return self.decoding.seed

    def check_named(self, text: str, argument: str) -> None:
        """Raise ValueError, naming the argument, for a text that names no strategy or method, or lacks a reward."""
        if is_method(text):
            steering(f"{argument} is {text}").check_method(text, argument)
            if self.compact:
                raise ValueError(f"{argument} is {text!r}: --compact has strategies alone, leave --compact out")
        reads = ("reward",) if is_method(text) else check_text(text, argument)
        if "reward" in reads:
            self.need_reward(f"{argument} {text}")

    def need_reward(self, what: str) -> None:
        """Take the model's usual reward where none is given (`RewardOptions.needed`)."""
        object.__setattr__(self, "reward", self.reward.needed(self.predictor.model, what))

    def _check_compact(self) -> None:
        fixed = [each for each in fields(settings.Options) if each.name not in ("seed", "end_of_text")]
        changed = [each.name for each in fixed if getattr(self.decoding, each.name) != each.default]
        changed += ["end_of_text"] if self.decoding.end_of_text.startswith("defer") else []
        if changed:
            value = getattr(self.decoding, changed[0])
            raise ValueError(f"--{changed[0].replace('_', '-')} is {value}: --compact decodes without it, choose one")


class Decodes:
    """The prompt, models and shape of a command line, loaded once, and decoded by any strategy.

    command: what a terminal is told to be loading the models.
    """

    def __init__(self, command: str, options: DecodeOptions) -> None:
        if sys.stderr.isatty():  # elsewhere a refusal is the only line
            loading(command, options.predictor.model, options.reward.reward)
        self.options = options
        self.predictor = options.predictor.load()
        self.prompt = options.prompt.read(self.predictor)
        self.shape = options.shape.make(self.prompt, self.predictor.mask_id)
        self.decoding = self._with_ends(options.decoding)
        self._reward: RewardModel | None = None

    def run(self, strategy: Strategy | str) -> Trace:
        """Decode by a strategy or a steering method; on a terminal, a strategy's drafts are shown on standard error.

        An answer whose tokens have no text, and a reward that scaled each step alike, are told there, too.
        """
        from rws_decode.trace.labels import constant_note, strategy_label

        trace = self._decoded(strategy)
        if trace.text == "":
            tell(
                f"note: the answer by {trace.strategy['name']} is empty: none of its {len(trace.tokens)} tokens has a "
                "text before the answer ends"
            )
        if note := constant_note([trace]):
            tell(f"note: {strategy_label(trace.strategy)}: {note}")
        return trace

    def _decoded(self, strategy: Strategy | str) -> Trace:
        from rws_decode.common.threads import torch_threads
        from rws_decode.decode import decode
        from rws_decode.strategies.table import as_strategy

        options = self.options
        call: Any = decode
        made: Any = strategy
        given: dict[str, Any] = {"options": self.decoding}
        steers = isinstance(strategy, str) and is_method(strategy)
        if not steers:
            made = as_strategy(strategy, seed=options.seed)
        if self._reward is None and (steers or made.needs_reward or options.reward.reward is not None):
            self._reward = options.reward.load(options.predictor.loading.device)
        if steers:
            methods = steering(f"--steer is {strategy}")
            call, given["options"] = methods.steer, methods.drawing(strategy, self.decoding)
            if given["options"] != self.decoding:
                tell(f"note: {strategy} draws tokens at --sampling-temperature 1")
        elif options.compact:
            compact = hook("compact", "--compact is given")
            call, kind = compact.decode_compact, compact.CompactSavings
            given["savings"] = {"usual": kind.usual, "everything": kind, "nothing": kind.nothing}[options.savings]()
            ends = {"end_of_text": self.decoding.end_of_text, "end_ids": self.decoding.end_ids}
            given["options"] = settings.Options(**ends)
        else:
            plain = settings.Savings
            kinds = {"usual": plain, "everything": plain.everything, "nothing": plain.nothing}
            given["savings"] = kinds[options.savings]()
        with torch_threads(options.threads), self._drafts() if call is decode else nullcontext() as callback:
            given |= {} if callback is None else {"callback": callback}
            return call(self.predictor, [self.prompt], made, self.shape, reward=self._reward, **given)[0]

    def _with_ends(self, decoding: settings.Options) -> settings.Options:
        """Return the options, with the end-of-text tokens that the preset's policy is about."""
        if self.options.preset is None:
            return decoding
        preset = hook("presets", f"--preset is {self.options.preset}").load(self.options.preset)
        same = preset.values.get("end_of_text") == decoding.end_of_text
        return replace(decoding, end_ids=preset.end_ids(self.predictor)) if same else decoding

    def completed(self, trace: Trace) -> str | None:
        """Return the whole text of a prompt with gaps, None of another."""
        gaps = self.predictor.mask_id in trace.prompt
        return self.predictor.decode_prompt(trace.completed.tolist()) if gaps else None

    @contextmanager
    def _drafts(self) -> Iterator[StepCallback | None]:
        """Give a callback that draws each draft over the last one, and erase the drafts at the end."""
        drafts = None if self.options.json or not sys.stderr.isatty() else hook("drafts")
        if drafts is None:
            yield None
            return
        decode: Callable[[list[int]], str | None] = self.predictor.decode_answer
        screen = drafts.DraftStreamer(decode, sys.stderr)

        def draw(view: Any) -> None:
            screen.draw(drafts.draft_text(view.canvas[0].tolist(), view.mask_id, decode))

        try:
            yield draw
        finally:
            screen.erase()
