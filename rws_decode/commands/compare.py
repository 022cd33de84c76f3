"""`rws compare`: decode one prompt by several strategies, side by side."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path

from rws_decode.cli.options import option
from rws_decode.cli.progress import each, tell
from rws_decode.commands.decodes import DecodeOptions, Decodes
from rws_decode.commands.shown import (
    DRAWN,
    answer_text,
    as_json,
    legend,
    marked,
    marker,
    print_json,
    prompt_line,
    table,
)
from rws_decode.common.page import picture
from rws_decode.common.plugins import hook
from rws_decode.steering import is_method

GROUP = "Decode"


@dataclass(frozen=True)
class CompareOptions(DecodeOptions):
    """What is decoded, and by which strategies."""

    strategies: tuple[str, ...] = option(
        ("default", "rws:8"),
        "strategies and steering methods with their numbers; the first is what the others are compared with",
        metavar="NAME[:NUMBER]",
    )
    view: Path | None = option(
        None, "write a page to scrub of the runs in lock-step to this file", metavar="FILE.html", writes="file"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for text in self.strategies:
            self.check_named(text, "--strategies")
            if self.strategies.count(text) > 1:
                raise ValueError(f"--strategies holds {text} twice: name each once")


def compare(options: CompareOptions) -> None:
    """Decode one prompt by several strategies, side by side."""
    decodes = Decodes("compare", options)
    named = options.strategies
    traces = {text: decodes.run(text) for text in each(named, "compare", len(named), "answer")}
    if options.view is not None:
        page = picture("runs_page", f"--view is {options.view}")([*traces.values()])
        tell(f"page: {page.save(options.view)}")
    if options.json:
        preset = {} if options.applied is None else {"preset": options.applied.as_json()}
        print_json(
            [{"strategy": text} | as_json(trace, decodes.completed(trace)) | preset for text, trace in traces.items()]
        )
        return

    from rws_decode.trace.labels import CUT_OFF, cut_off

    answers = {text: answer_text(trace, decodes.completed(trace)) for text, trace in traces.items()}
    usual, mark = named[0], marker()
    shown = {text: marked(answer, answers[usual], mark) for text, answer in answers.items()}
    print(f"{prompt_line(traces[usual])}\n")
    for text, answer in shown.items():
        same = next(other for other in named if answers[other] == answers[text])
        print(f"{text}: {answer if same == text else f'identical text to {same}'}\n")
    for line in legend(mark, f"words that the answer of {usual} does not have there", answers.values(), shown.values()):
        print(f"{line}\n")
    head = ["", "reward", "log p", "rules broken", "GOD [tokens]", "forwards", "reward calls"]
    rows = [
        [
            text,
            "-" if trace.final_reward is None else f"{trace.final_reward['raw']:.3f}",
            "-" if trace.log_prob is None else f"{trace.log_prob:.2f}",
            "-" if trace.rules_broken is None else str(len(trace.rules_broken)),
            f"{trace.god_tokens:.2f}",
            str(trace.forwards),
            str(trace.reward_calls),
        ]
        for text, trace in traces.items()
    ]
    known = [i for i in range(len(head)) if i == 0 or any(row[i] != "-" for row in rows)]
    print(table([head[i] for i in known], [[row[i] for i in known] for row in rows]))
    print("\nGOD: generation order deviation, 0 where words are committed from left to right")
    if (line_of := hook("leverage-line")) is not None:
        print("".join(line_of(trace, decodes.predictor) for trace in traces.values()), end="")
    if any(is_method(text) for text in traces):
        print("\n".join(textwrap.wrap(f"{DRAWN} beta is per unit of the raw reward, which is the one shown.", 100)))
    if cut := [text for text, trace in traces.items() if cut_off(trace.rules_broken, trace.text, trace.length)]:
        print(f"{', '.join(cut)}: {CUT_OFF}")
