"""The rules of the language that a model writes, where a package knows them: what an answer breaks."""

from __future__ import annotations

from typing import Any, NamedTuple

from rws_decode.common.plugins import find, hook


class Free(NamedTuple):
    """The judgement of an answer by no rules."""

    kind: str = "free"
    violations: tuple[Any, ...] = ()
    log_probability: float | None = None
    coherent: bool = True


def judge(prompt: str, answer: str) -> Any:
    """Judge an answer by the rules of the story language; of kind "free" where they are not installed."""
    rules = hook("judge")
    return Free() if rules is None else rules(prompt, answer)


def broken_rules(model: str, prompt: str, answer: str) -> list[str] | None:
    """Return the rules of a model's language that an answer breaks, None where none are known."""
    rules = find("rws.languages", model)
    return None if rules is None else rules(prompt, answer)
