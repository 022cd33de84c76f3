"""Puzzles in the language of the shipped models: small computations with one right answer, as programs have checks."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from rws_decode.mini.stories.tasks import sample_split
from rws_theory.checks import one_of, whole

_HELD_OUT = ("test", "validation")
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
