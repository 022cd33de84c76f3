"""Dialogues of two turns in the language of the shipped models, which has one right answer to every question."""

from __future__ import annotations

import random

from paper_figures.data.loaders import BenchmarkPrompt
from rws_decode.mini.stories.sample import sample_story
from rws_decode.mini.stories.tasks import questions, split_of
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
