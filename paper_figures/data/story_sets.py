"""Dialogues of two turns and puzzles in the language of the shipped models: each question has one right answer."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from paper_figures.data.loaders import BenchmarkPrompt
from rws_decode.mini.stories.sample import sample_story
from rws_decode.mini.stories.tasks import questions, sample_split, split_of
from rws_decode.text.dialogue import Dialogue
from rws_theory.checks import one_of, whole

# Training reads the other splits.
_HELD_OUT = ("test", "validation")


def story_dialogue_set(count: int = 40, seed: int = 0, *, split: str = "test") -> tuple[BenchmarkPrompt, ...]:
    """Return `count` two-turn dialogues: a story with a question, then another question about the same story.

    turns: the user's, "STORY question : QUESTION" and "QUESTION"; `Dialogue` with the model's first answer between them
    reads as the models were trained on (`stories.tasks`). references: the right answers, by the story alone, so that
    the second is the same whatever was said first, and `stories.answers.judge(dialogue.text, answer)` judges either.
    category: the story's topic.

    Drawn by the seed, no first turn twice. split: "test" or "validation", which no model was trained on: both questions
    with their right answers, the second after the right first one, are tasks of that split (`stories.tasks.split_of`).
    ValueError for count < 1 and another split.

    >>> (row,) = story_dialogue_set(1)
    >>> row.turns[1], row.references[1]
    ('why was the border-post occupied ?', 'because of the coup .')
    """
    whole("count", count)
    one_of("split", split, _HELD_OUT)
    rng = random.Random(f"dialogues {split} {seed}")
    drawn: dict[str, BenchmarkPrompt] = {}
    while len(drawn) < count:
        story = sample_story(rng)
        asked = sorted(questions(story).values())
        pairs = []
        for question, answer in asked:
            first = f"{story.text} question : {question}"
            if split_of(first, answer) == split:
                pairs += [
                    ((first, other), (answer, right))
                    for other, right in asked
                    if other != question and split_of(Dialogue((first, answer, other)).text, right) == split
                ]
        if pairs:
            turns, references = rng.choice(pairs)
            row = BenchmarkPrompt(f"{split}-{len(drawn) + 1}", turns[0], turns, story.topic, "", references)
            drawn.setdefault(turns[0], row)
    return tuple(drawn.values())


# A split holds some twenty times as many; of sort and largest, the rarest, some two thousand each.
_MOST = 5000


@dataclass(frozen=True)
class PuzzlePrompt:
    """A puzzle: kind is add, subtract, reverse, sort or largest; answer, the right one; length, tokens to offer."""

    id: str
    prompt: str
    kind: str
    answer: str
    length: int


def story_puzzle_set(
    count: int = 100, seed: int = 0, *, split: Literal["test", "validation"] = "test"
) -> tuple[PuzzlePrompt, ...]:
    """Return `count` puzzles drawn by the seed from a split that no model was trained on, no prompt twice.

    What a model that cannot write programs has in place of HumanEval: an answer passes where it is the right one word
    for word, `stories.answers.judge(prompt, answer).coherent`. The five kinds are drawn as often as each other, but
    repeated prompts are drawn again, and `sort` and `largest` have the fewest. The split is that of prompt and right
    answer (`stories.tasks.split_of`), so that no prompt is in two. ValueError for another split, or unless
    1 <= count <= 5000.

    >>> story_puzzle_set(1, seed=1)[0].prompt, story_puzzle_set(1, seed=1)[0].answer
    ('sort : eight one five', 'one five eight .')
    """
    whole("count", count, 1, _MOST)
    one_of("split", split, _HELD_OUT)
    rng = random.Random(f"puzzles {split} {seed}")
    drawn: dict[str, PuzzlePrompt] = {}
    while len(drawn) < count:
        task = sample_split(rng, split, "puzzle")
        row = PuzzlePrompt(f"{split}-{len(drawn) + 1}", task.prompt, task.meta["puzzle"], task.answer, task.length)
        drawn.setdefault(task.prompt, row)
    return tuple(drawn.values())
