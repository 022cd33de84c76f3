"""What commands print of decodes, for people and as JSON."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from rws_theory.show import printable

if TYPE_CHECKING:
    from rws_decode.trace.trace import Trace

# What a reader must know who compares steering methods with strategies.
DRAWN = (
    "Methods with a number of copies draw tokens at temperature 1, in a random order: best-of:1 is such a draw without "
    "a choice. reward-lookahead draws nothing."
)

Mark = Callable[[str], str]


def print_json(value: Any) -> None:
    """Print a result as one line of JSON."""
    print(json.dumps(value, allow_nan=False))


def as_json(trace: Trace, completed: str | None = None) -> dict[str, Any]:
    """Return what `generate --json` prints; `scales` are the factors, `rewards` the raw ones, None where there is none.

    `final_reward`: of the final text, under any strategy, where --reward names a model and there is a text.
    `log_prob`: nats, of the answer given the prompt, where the model is exact. `completed`: the whole text of
    a prompt with gaps; `text` is what stands in the gaps, in order.
    """
    reward = trace.final_reward
    return {
        "tokens": None if trace.own_ids else trace.tokens.tolist(),
        "text": trace.text,
        "completed": completed,
        "final_reward": None if reward is None else {name: reward[name] for name in ("raw", "normalised")},
        "log_prob": trace.log_prob,
        "rules_broken": trace.rules_broken,
        "commit_step": trace.commit_step.tolist(),
        "god_tokens": trace.god_tokens,
        "god_steps": trace.god_steps,
        "forwards": trace.forwards,
        "reward_calls": trace.reward_calls,
        "reward_calls_saved": trace.reward_calls_saved,
        "scales": [None if math.isnan(factor) else factor for factor in trace.factor.tolist()],
        "rewards": [None if math.isnan(reward) else reward for reward in trace.reward_raw.tolist()],
        "ties": None if trace.ties is None else trace.ties.tolist(),
    }


def answer_text(trace: Trace, completed: str | None = None) -> str:
    """Return the answer in one line: the whole text of a prompt with gaps, ids without a tokenizer."""
    text = trace.text if completed is None else completed
    return json.dumps(trace.tokens.tolist()) if text is None else printable(text)


def prompt_line(trace: Trace) -> str:
    """Return a trace's prompt in one line, its ids without a tokenizer."""
    if trace.prompt is None and trace.prompt_text is None:
        return "prompt: not known"
    text = json.dumps(trace.prompt.tolist()) if trace.prompt_text is None else printable(trace.prompt_text)
    return f"prompt: {text}"


def run_text(trace: Trace, text: str, *, rules: bool = True) -> str:
    """Return a run for people: its text and what that is worth, its order and its cost; rules: name those broken."""
    from rws_decode.trace.labels import CUT_OFF, cut_off, worth

    lines = [f"answer: {text}", ""]
    lines += [f"  {printable(part)}" for part in worth(trace)]
    if rules:
        lines += [f"    {printable(rule)}" for rule in trace.rules_broken or ()]
        lines += [f"    the text is {CUT_OFF}"] if cut_off(trace.rules_broken, trace.text, trace.length) else []
    lines.append(f"  generation order deviation: {trace.god_tokens:.3f} tokens, {trace.god_steps:.3f} steps")
    steered = "base" in trace.strategy
    if trace.unscaled.any() and trace.strategy["name"] != "default" and not steered:
        changed = int(trace.changed.sum())
        lines.append(f"  steps that would have committed otherwise at factor 1: {changed} of {trace.steps_run}")
    if trace.strategy.get("edits"):
        lines.append(f"  tokens that were replaced: {trace.revisions}; the deviation is of the commits")
    elif trace.revisions or trace.strategy.get("revises"):
        of_what = "; the deviation is of the last commits" if trace.revisions else ""
        lines.append(f"  tokens that were masked again: {trace.revisions}{of_what}")
    if forced := forced_commits(trace):
        counts = ", ".join(f"{count} at step {step}" for step, count in forced.items())
        lines.append(f"  tokens that the end of --steps committed at once: {counts}; the strategy asks for more steps")
    saved = f", saved: {trace.reward_calls_saved}" if trace.reward_calls or trace.reward_calls_saved else ""
    ties = "" if trace.ties is None else f"; ties at the cut: {int(trace.ties.sum())}"
    lines.append(f"  forwards: {trace.forwards}; reward calls: {trace.reward_calls}{saved}{ties}")
    return "\n".join(lines)


def forced_commits(trace: Trace) -> dict[int, int]:
    """Return how many tokens went at a block's last step, by step, where a strategy counts and more than one went.

    There it commits all that is left, whatever it counted. A run whose steps are as many as its tokens has none.
    """
    if not trace.strategy.get("counts") or trace.steps == trace.length:
        return {}
    of_block = trace.steps * trace.block // trace.length
    last = [step for step in range(of_block - 1, trace.steps_run, of_block) if trace.chosen[step].sum() > 1]
    return {step: int(trace.chosen[step].sum()) for step in last}


def marker() -> Mark:
    """Return how a word is marked: bold and underlined on a terminal, unless NO_COLOR is set, else in brackets."""
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        return "\x1b[1;4m{}\x1b[0m".format
    return "[{}]".format


def legend(mark: Mark, what: str, plain: Iterable[str], shown: Iterable[str]) -> list[str]:
    """Return the line that says what marked words are; none where the texts shown are the plain ones."""
    return [] if list(plain) == list(shown) else [f"{mark('so marked')}: {what}"]


def marked(text: str, other: str, mark: Mark = "[{}]".format) -> str:
    """Return a text with the words marked that are not in the text beside it, in its order."""
    words, others = text.split(), other.split()
    shown: list[str] = []
    for kind, start, stop, _, _ in SequenceMatcher(None, words, others, autojunk=False).get_opcodes():
        part = words[start:stop]
        if kind == "equal":
            shown += part
        elif part:
            shown.append(mark(" ".join(part)))
    return " ".join(shown)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with columns as wide as their texts, the first to the left, the others to the right.

    >>> print(table(["a", "b"], [["x", "1.50"]]))
    a     b
    x  1.50
    """
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        first, *rest = zip(cells, widths, strict=True)
        return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)]).rstrip()

    return "\n".join(map(line, [head, *rows]))
