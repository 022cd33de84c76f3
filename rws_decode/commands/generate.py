"""`rws generate`: decode the answer to one prompt."""

from __future__ import annotations

from dataclasses import dataclass, make_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rws_decode.cli.options import group, option
from rws_decode.cli.progress import tell
from rws_decode.commands.decodes import DecodeOptions, Decodes
from rws_decode.commands.shown import answer_text, as_json, legend, marked, marker, print_json, prompt_line, run_text
from rws_decode.common.files import check_trace_file
from rws_decode.common.plugins import hook
from rws_decode.steering import is_method, steering
from rws_decode.strategies.table import SPACING, STRATEGIES, offered, parted, spaced, strategy_named

if TYPE_CHECKING:
    from rws_decode.strategies.protocol import Strategy
    from rws_decode.trace.trace import Trace


GROUP = "Decode"


@dataclass(frozen=True)
class _Strategy:
    """The strategy and what it reads."""

    strategy: str = option(
        "default",
        "how logits are scaled or positions ordered, such as rws:8 or threshold:0.9+rws:8, or a steering method; the "
        "command strategies lists all, and options may give the numbers",
        metavar="NAME[:NUMBER]",
    )
    run: str | None = option(
        None, "trace of the rws run that schedule repeats, constant averages and shuffled permutes", metavar="FILE"
    )
    spacing: int | None = option(None, "minimum spacing of the positions of a step, by any order", least=1, metavar="N")

    def __post_init__(self) -> None:
        """Put the numbers of a text in place of options; ValueError for an option beside them."""
        if is_method(self.strategy):
            return
        name, numbers = parted(self.strategy, "--strategy")
        for number, value in numbers.items():
            if (given := getattr(self, number)) is not None:
                raise ValueError(f"{_flag(number)} is {given}: --strategy {self.strategy} has its number, leave it out")
            object.__setattr__(self, number, value)
        object.__setattr__(self, "strategy", name)

    def make(self, steps: int, seed: int) -> Strategy:
        """Return the strategy; ValueError for a run of another number of steps."""
        run = None
        if "run" in STRATEGIES[self.strategy].reads and self.run is not None:
            from rws_decode.trace.trace import load_trace

            run = load_trace(self.run)
            if not run.of_step_map and run.steps != steps:
                raise ValueError(f"--run is {self.run}: a run of {run.steps} steps, --steps is {steps}")
        numbers = {name: value for name, value in vars(self).items() if name not in ("strategy", "run", SPACING)}
        return spaced(strategy_named(self.strategy, run=run, seed=seed, **numbers), self.spacing or 1)


def _number_options() -> list[tuple[str, Any, Any]]:
    """Return an option for each number that a strategy declares, as fields of a dataclass."""
    readers: dict[str, list[str]] = {}
    named = offered()
    for name, entry in named.items():
        for number in entry.numbers:
            readers.setdefault(number, []).append(name)
    options = []
    for number, names in readers.items():
        declared = named[names[0]].numbers[number]
        limits = {name: named[name].numbers[number].limits for name in names}
        ranges = [f", {name}{limit}" for name, limit in limits.items()]
        words = f"{', '.join(names)}: {declared.help}" + (
            "".join(ranges) if len({*limits.values()}) > 1 else declared.limits
        )
        options.append((number, type(declared.usual) | None, option(None, words, metavar=declared.metavar)))
    return options


StrategyOptions = make_dataclass("StrategyOptions", _number_options(), bases=(_Strategy,), frozen=True)


@dataclass(frozen=True)
class GenerateOptions(DecodeOptions):
    """What is decoded, and by which strategy."""

    strategy: _Strategy = group(StrategyOptions, "the strategy")
    steer: str | None = option(
        None,
        "a steering method such as particles:8+beta:2, which --strategy takes too",
        metavar="NAME:N",
    )
    compare: str | None = option(
        None, "decode by a second strategy too, such as default or temperature:4, and mark what differs", metavar="NAME"
    )
    trace: Path | None = option(None, "write the trace to DIR/trace.parquet", metavar="DIR", writes="directory")

    def __post_init__(self) -> None:
        super().__post_init__()
        name, argument = self.strategy.strategy, "--steer"
        if is_method(name):
            if self.steer is not None:
                raise ValueError(f"--strategy is {name} beside --steer {self.steer}: leave one out")
            object.__setattr__(self, "steer", name)
            object.__setattr__(self, "strategy", replace(self.strategy, strategy="default"))
            name, argument = "default", "--strategy"
        entry, given = STRATEGIES[name], self._given
        asks = "reward" in entry.reads or (entry.scalable and given["reward_scale"] is not None)
        if asks:
            self.need_reward(f"--strategy {name}")
        if missing := [_flag(option) for option in entry.needs if option != "reward" and given[option] is None]:
            several = len(missing) > 1
            raise ValueError(
                f"{' and '.join(missing)} {'are' if several else 'is'} missing: "
                f"--strategy {name} needs {'them' if several else 'it'}"
            )
        if self.strategy.run is not None and "run" in STRATEGIES[name].reads:
            check_trace_file(self.strategy.run)
        if self.compare is not None:
            self.check_named(self.compare, "--compare")
        if self.steer is not None:
            steering(f"{argument} is {self.steer}").check_method(self.steer, argument)
            self.check_named(self.steer, argument)
            if name != "default":
                raise ValueError(f"--strategy is {name}: name it in --steer, as in --steer best-of:8+rws:8")

    @property
    def unused(self) -> list[str]:
        """Return the options that were given and that the strategy does not read."""
        entry = STRATEGIES[self.strategy.strategy]
        reads = ("strategy", "reward", SPACING, *entry.reads, *(("scale", "reward_scale") if entry.scalable else ()))
        return [_flag(name) for name, value in self._given.items() if value is not None and name not in reads]

    @property
    def _given(self) -> dict[str, Any]:
        return {**vars(self.strategy), "reward": self.reward.reward}


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def generate(options: GenerateOptions) -> None:
    """Decode the answer to one prompt."""
    for name in options.unused:
        tell(f"note: {options.steer or f'--strategy {options.strategy.strategy}'} does not use {name}")
    decodes = Decodes("generate", options)
    trace = decodes.run(options.steer or options.strategy.make(decodes.shape.resolved().steps, options.seed))
    other = None if options.compare is None else decodes.run(options.compare)
    _show(decodes, options, trace, other)
    if options.trace is not None:  # last: the answer is there, whatever becomes of the file
        tell(f"trace: {trace.save(options.trace / 'trace.parquet')}")


def _show(decodes: Decodes, options: GenerateOptions, trace: Trace, compared: Trace | None) -> None:
    if options.json:
        result = as_json(trace, decodes.completed(trace))
        if options.applied is not None:
            result["preset"] = options.applied.as_json()
        if options.compare is not None and compared is not None:
            result["compared"] = {"strategy": options.compare} | as_json(compared, decodes.completed(compared))
        print_json(result)
        return
    text = answer_text(trace, decodes.completed(trace))
    print(prompt_line(trace))
    if compared is None:
        print(run_text(trace, text))
        return

    other, mark = answer_text(compared, decodes.completed(compared)), marker()
    same, first, second = other == text, marked(text, other, mark), marked(other, text, mark)
    print(run_text(trace, first))
    print(f"\nbeside it, {options.compare}\n{run_text(compared, 'the same' if same else second, rules=not same)}\n")
    for line in legend(mark, "words that the other answer does not have there", [text, other], [first, second]):
        print(f"{line}\n")
    if (diff := hook("diff")) is not None:
        print(diff(compared, trace, decodes.predictor))
