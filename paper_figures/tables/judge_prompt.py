"""The judge's prompt of the paper's appendix as it is sent, beside ours, which shows the conversation.

Shows: the messages of both prompts, byte for byte, with braces where texts go. Inputs: `paper_figures.judging`.
Run time: less than a second.
"""

from __future__ import annotations

from pathlib import Path

from paper_figures.exhibits.exhibit import Exhibit, Passage
from paper_figures.judging import PROMPTS, judge_messages

NEEDS: tuple[str, ...] = ()
_FIELDS = ("question", "first", "second")
_PAPER = "Appendix J (LLM-as-a-judge Evaluation Details), word for word; where its lines break is our reading"
_NAMES = {"paper": f"The paper's prompt ({_PAPER})", "with-question": "Our prompt with the question (our own)"}


def exhibit(runs: Path) -> Exhibit:
    """Return the prompts as passages; `runs` is not read."""
    passages, lines = [], []
    for name in PROMPTS:
        messages = judge_messages(name, *(f"{{{field}}}" for field in _FIELDS))
        stem = "judge_prompt" if name == "paper" else f"judge_prompt_{name.replace('-', '_')}"
        for message in messages:
            caption = (
                f"{_NAMES[name]}: the {message['role']} message as it is sent. Braces mark the places of the texts."
            )
            passages.append(Passage(f"{stem}_{message['role']}", message["content"], caption))
        asked = any("{question}" in message["content"] for message in messages)
        whose = "The paper's prompt" if name == "paper" else f"`--judge-prompt {name}`"
        lines.append(f"{whose} shows the judge both answers{' and' if asked else ', not'} what was asked.")
    return Exhibit("The judge's prompt", passages=tuple(passages), conclusions=tuple(lines))
