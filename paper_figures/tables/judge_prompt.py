"""The judge's prompt of the paper's appendix as it is sent, beside ours, which shows the conversation.

Shows: the messages of both prompts, byte for byte, with braces where texts go; a table of what each prompt contains.
Inputs: `paper_figures.judging`. Run time: less than a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from string import Formatter

from paper_figures.exhibits.exhibit import Exhibit, Passage
from paper_figures.judging import PROMPTS, judge_messages
from paper_figures.studies.summaries.llm_verdicts import judge_pair
from paper_figures.table import Table

NEEDS: tuple[str, ...] = ()
_WHERE = "Appendix J (LLM-as-a-judge Evaluation Details)"
_FIELDS = ("question", "first", "second")
_NAMES = {"paper": "the paper's prompt", "with-question": "our prompt with the question"}


@dataclass(frozen=True)
class Shown:
    """One prompt: its messages as sent, texts in braces; `fields`, which texts it has a place for; two facts of it.

    question_matters: whether requests about two different conversations differ, their answers being the same;
    turns_marked: whether the answers of a dialogue's turns are told apart by more than a blank line.
    """

    name: str
    system: str
    user: str
    fields: tuple[str, ...]
    question_matters: bool
    turns_marked: bool


def compute() -> tuple[Shown, ...]:
    """Return every prompt that the code can send, checked by sending it nothing but markers."""
    return tuple(_shown(name) for name in PROMPTS)


def _shown(name: str) -> Shown:
    system, user = (message["content"] for message in judge_messages(name, *(f"{{{field}}}" for field in _FIELDS)))
    asked = [judge_messages(name, question, "one", "two") for question in ("why ?", "and how ?")]
    whole = judge_pair(name, ["why ?", "and how ?"], ["one", "two"], ["one", "two"])[1]
    used_fields = dict.fromkeys(field for _, field, _, _ in Formatter().parse(system + user) if field)
    return Shown(name, system, user, tuple(used_fields), asked[0] != asked[1], whole != "one\n\ntwo")


def table(prompts: tuple[Shown, ...]) -> Table:
    """Return what stands in each prompt."""
    rows = [
        {
            "prompt": _NAMES.get(prompt.name, prompt.name),
            "option": f"--judge-prompt {prompt.name}",
            "places for": ", ".join(prompt.fields),
            "shows the user's turns": prompt.question_matters,
            "tells turns apart": prompt.turns_marked,
            "characters without the texts": len(prompt.system)
            + len(prompt.user)
            - sum(len(f) + 2 for f in prompt.fields),
        }
        for prompt in prompts
    ]
    words = {True: "yes", False: "no"}
    shown = [{name: words[cell] if isinstance(cell, bool) else str(cell) for name, cell in row.items()} for row in rows]
    caption = (
        "What the judge's prompts contain, found by checking what the code sends. A prompt shows the conversation if "
        "two different conversations make two different requests. It tells turns apart if more than a blank line is "
        "between their answers."
    )
    return Table("judge_prompt", rows, shown, caption)


def exhibit(runs: Path) -> Exhibit:
    """Return the prompts as passages with their table; `runs` is not read."""
    prompts = compute()
    passages = []
    for prompt in prompts:
        stem = "judge_prompt" if prompt.name == "paper" else f"judge_prompt_{prompt.name.replace('-', '_')}"
        whose = (
            f"{_WHERE}, word for word; where its lines break is our reading" if prompt.name == "paper" else "our own"
        )
        for role, text in (("system", prompt.system), ("user", prompt.user)):
            caption = (
                f"{_NAMES.get(prompt.name, prompt.name).capitalize()} ({whose}): the {role} message as it is sent. "
                "Braces mark the places of the texts."
            )
            passages.append(Passage(f"{stem}_{role}", text, caption))
    return Exhibit(
        "The judge's prompt",
        tables=(table(prompts),),
        passages=tuple(passages),
        conclusions=tuple(line for prompt in prompts for line in _lines(prompt)),
    )


def _lines(prompt: Shown) -> list[str]:
    missing = [field for field in _FIELDS if field not in prompt.fields]
    name = _NAMES.get(prompt.name, prompt.name).capitalize()
    if "question" in missing or not prompt.question_matters:
        turns = "" if prompt.turns_marked else " Where the second turn's answer begins it is not told, as sent here."
        return [
            f"{name} shows the judge both answers and not what was asked: it cannot see whether an answer is to the "
            "question, or keeps to the dialogue.",
            f"{name} has places for {', '.join(prompt.fields)} alone.{turns} `--judge-prompt "
            f"{next(other for other in PROMPTS if other != prompt.name)}` asks with the conversation.",
        ]
    return [f"{name} has places for {', '.join(prompt.fields)}: the judge sees the conversation and both answers."]
