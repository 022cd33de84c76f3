"""Tasks in the language of the shipped models, and dialogues of two turns: each question has one right answer."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from rws_decode.common.plugins import hook
from rws_decode.text.dialogue import Dialogue
from rws_theory.checks import one_of, whole

if TYPE_CHECKING:
    from paper_figures.extra.story_tasks import Task

# Training reads the other splits.
HELD_OUT = ("test", "validation")


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


def story_tasks(kinds: Sequence[str], count: int, rng: Random, split: str) -> list[Task]:
    """Return `count` tasks of one split, of the kinds in turn, no prompt twice.

    A puzzle is what a model that cannot write programs has in place of HumanEval: an answer passes where it is the
    right one word for word, `stories.answers.judge(prompt, answer).coherent`. Repeated prompts are sampled again.
    ValueError for another split, count < 1, and more than the split has of a kind.

    >>> (task,) = story_tasks(["puzzle"], 1, Random("puzzles test 1"), "test")
    >>> task.prompt, task.answer
    ('sort : eight one five', 'one five eight .')
    """
    from paper_figures.extra.story_tasks import sample_split

    whole("count", count)
    one_of("split", split, HELD_OUT)
    drawn: dict[str, Task] = {}
    for _ in range(100 * count + 1000):
        task = sample_split(rng, split, kinds[len(drawn) % len(kinds)])
        drawn.setdefault(task.prompt, task)
        if len(drawn) == count:
            return list(drawn.values())
    raise ValueError(f"count is {count}: different prompts of {', '.join(kinds)} are fewer")


def story_dialogues(count: int, seed: int = 0, split: str = "test") -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """Return (turns, right answers) of `count` dialogues: a story with a question, then another about the same story.

    turns: the user's, "STORY question : QUESTION" and "QUESTION"; `Dialogue` with the model's first answer between them
    reads as the models were trained on (`story_tasks`). The answers follow from the story alone, so that the second
    is the same whatever was said first, and `stories.answers.judge(dialogue.text, answer)` judges either.

    Sampled by the seed, no first turn twice. Both questions with their right answers, the second after the right first
    one, are tasks of the split (`story_tasks.split_of`). ValueError for count < 1 and another split.

    >>> ((turns, answers),) = story_dialogues(1)
    >>> turns[1], answers[1]
    ('why was the border-post occupied ?', 'because of the coup .')
    """
    from paper_figures.extra.story_tasks import split_of
    from rws_decode.extra.stories.answers import questions
    from rws_decode.extra.stories.sample import sample_story

    whole("count", count)
    one_of("split", split, HELD_OUT)
    rng = Random(f"dialogues {split} {seed}")
    drawn: dict[str, tuple[tuple[str, str], tuple[str, str]]] = {}
    while len(drawn) < count:
        story = sample_story(rng)
        texts = sorted(questions(story).values())
        pairs = []
        for question, answer in texts:
            first = f"{story.text} question : {question}"
            if split_of(first, answer) == split:
                pairs += [
                    ((first, other), (answer, right))
                    for other, right in texts
                    if other != question and split_of(Dialogue((first, answer, other)).text, right) == split
                ]
        if pairs:
            dialogue = rng.choice(pairs)
            drawn.setdefault(dialogue[0][0], dialogue)
    return list(drawn.values())
