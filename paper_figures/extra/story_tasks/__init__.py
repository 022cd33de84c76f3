"""The four tasks posed in the story language, each a prompt and an answer that is right; and answers broken on purpose.

keywords: write a story that uses four given words. continuation: go on after two sentences. dialogue: answer one or
two questions about a story. puzzle: a small computation with one right answer.

Needs: stories
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from random import Random

from rws_decode.extra.stories.answers import questions
from rws_decode.extra.stories.grammar import BANDS, CANVAS, START, surface
from rws_decode.extra.stories.lexicon import NAMES, NUMBERS, TOPICS, plural, words
from rws_decode.extra.stories.sample import draw, sample_story
from rws_theory.checks import one_of


@dataclass(frozen=True)
class Task:
    """A prompt, one true answer, and the answer length (tokens) that is offered."""

    kind: str
    prompt: str
    answer: str
    length: int
    keywords: tuple[str, ...] = ()
    meta: Mapping[str, str] = field(default_factory=dict)


def _keywords(rng: Random, band: str, even: bool) -> Task:
    topic = rng.choice(tuple(TOPICS))
    pinned: dict[str, str] = {}
    for variable in ("P", "O", "N", "C", rng.choice("TJ")):
        pinned[variable] = draw(variable, topic, pinned, rng)
    shown = [surface(variable, pinned, START) for variable in pinned if variable != "N"]
    rng.shuffle(shown)
    keywords = tuple(word for word in shown if word)
    story = sample_story(rng, topic=topic, band=band, pinned=pinned, even=even)
    a, b, c, d = keywords
    prompt = f"write a {band} {topic} story with {a} , {b} , {c} and {d} ."
    return Task("keywords", prompt, story.text, CANVAS[band], keywords, {"topic": topic, "band": band})


def _continuation(rng: Random, band: str, even: bool) -> Task:
    story = sample_story(rng, band=band, even=even)
    opening, rest = (
        [word for sentence in part for word in sentence] for part in (story.sentences[:2], story.sentences[2:])
    )
    return Task(
        "continuation",
        f"continue this {band} story : " + " ".join(opening),
        " ".join(rest),
        CANVAS[band],
        meta={"topic": story.topic, "band": band, "opening": " ".join(opening)},
    )


def _dialogue(rng: Random, _: str, even: bool) -> Task:
    story = sample_story(rng, even=even)
    first, second = rng.sample(sorted(questions(story).items()), 2)
    prompt, answer = f"{story.text} question : {first[1][0]}", first[1][1]
    turns = "1"
    if rng.random() < 0.5:
        prompt, answer, turns = f"{prompt} answer : {answer} question : {second[1][0]}", second[1][1], "2"
    return Task("dialogue", prompt, answer, 16, meta={"topic": story.topic, "turns": turns})


def _puzzle(rng: Random, _: str, even: bool) -> Task:
    topic = TOPICS[rng.choice(tuple(TOPICS))]
    kind = rng.choice(("add", "subtract", "reverse", "sort", "largest"))
    if kind in ("add", "subtract"):
        total = rng.randint(2, len(NUMBERS))
        part = rng.randint(1, total - 1)
        name, noun = rng.choice(tuple(NAMES)), rng.choice(topic.objects)
        before, change, result = (part, total - part, total) if kind == "add" else (total, part, total - part)

        def amount(count: int) -> str:
            return f"{NUMBERS[count - 1]} {noun if count == 1 else plural(noun)}"

        verb = "found" if kind == "add" else "lost"
        prompt = f"{name} had {amount(before)} and {verb} {NUMBERS[change - 1]} . how many now ?"
        answer = f"{amount(result)} ."
    elif kind == "reverse":
        items = rng.sample(topic.objects, rng.randint(2, 5))
        prompt, answer = "reverse : " + " ".join(items), " ".join(reversed(items)) + " ."
    else:
        order = rng.sample(range(len(NUMBERS)), rng.randint(2, 5))
        prompt = f"{kind} : " + " ".join(NUMBERS[i] for i in order)
        chosen = sorted(order) if kind == "sort" else [max(order)]
        answer = " ".join(NUMBERS[i] for i in chosen) + " ."
    return Task("puzzle", prompt, answer, 16, meta={"puzzle": kind})


_MAKERS = {"keywords": _keywords, "continuation": _continuation, "dialogue": _dialogue, "puzzle": _puzzle}
KINDS = tuple(_MAKERS)


def sample_task(rng: Random, kind: str = "keywords", band: str = "short", *, even: bool = False) -> Task:
    """Draw one task of a kind; `even` as in `sample_story`."""
    return _MAKERS[kind](rng, band, even)


# Who may train on a text is decided by the text: 16 hash buckets of prompt and answer.
SPLITS: dict[str, frozenset[int]] = {
    "test": frozenset({0}),
    "validation": frozenset({1}),
    "mini": frozenset(range(2, 9)),
    "causal": frozenset(range(9, 12)),
    "reward-a": frozenset({12, 13}),
    "reward-b": frozenset({14, 15}),
}


def split_of(prompt: str, answer: str) -> str:
    """Return the split that a text belongs to, from the SHA-256 of prompt and answer."""
    bucket = hashlib.sha256(f"{prompt}\n{answer}".encode()).digest()[0] % 16
    return next(name for name, buckets in SPLITS.items() if bucket in buckets)


def sample_split(rng: Random, split: str, kind: str = "keywords", band: str = "short", *, even: bool = False) -> Task:
    """Draw a task of one split by rejection; `even` as in `sample_story`."""
    one_of("split", split, SPLITS)
    one_of("band", band, BANDS)
    while True:
        task = sample_task(rng, kind, band, even=even)
        if split_of(task.prompt, task.answer) == split:
            return task


def prompt_vocabulary() -> list[str]:
    """Return the words that only prompts, questions and answers use."""
    text = (
        "write a short medium long story with and . , : ? continue this question answer who had the at last where how "
        "many was of why because did end up yes no found lost now reverse sort largest"
    )
    return list(dict.fromkeys(text.split()))


_PAIRS = ("she he", "her his", "her him", "it them", "was were")


@lru_cache(maxsize=1)
def _alternatives() -> dict[str, tuple[str, ...]]:
    others: dict[str, tuple[str, ...]] = {}
    for group in words().values():
        for word in group:
            others[word] = tuple(group)
    for topic in TOPICS.values():  # within the topic if there is one: the subtler mistake
        for name, group in topic.classes.items():
            others |= {} if name == "objects" else dict.fromkeys(group, group)
    for pair in _PAIRS:
        first, second = pair.split()
        others[first], others[second] = (second,), (first,)
    return others


def corrupt(text: str, rng: Random, count: int = 1) -> str:
    """Return the text with `count` corruptions, each sampled from six kinds.

    A word is swapped for another of its class (half of the time); a name for another name of the text; two sentences
    change places; a sentence is dropped; one is doubled; a word is dropped. The result may, by luck, break no rule.
    """
    for _ in range(count):
        tokens = text.split()
        slots = [i for i, word in enumerate(tokens) if word in _alternatives()]
        ends = [0, *(i + 1 for i, word in enumerate(tokens) if word == ".")]
        sentences = [tokens[start:stop] for start, stop in pairwise(ends)]
        people = sorted({word for word in tokens if word in NAMES})
        kind = rng.choices(("word", "name", "swap", "drop", "double", "delete"), (6, 2, 1, 1, 1, 1))[0]
        if kind == "name" and len(people) > 1:
            place = rng.choice([i for i, word in enumerate(tokens) if word in NAMES])
            tokens[place] = rng.choice([name for name in people if name != tokens[place]])
        elif kind in ("swap", "drop", "double") and len(sentences) > 2:
            place = rng.randrange(len(sentences) - 1)
            if kind == "swap":
                sentences[place], sentences[place + 1] = sentences[place + 1], sentences[place]
            elif kind == "drop":
                del sentences[place]
            else:
                sentences.insert(place, sentences[place])
            tokens = [word for sentence in sentences for word in sentence]
        elif kind == "delete" and len(tokens) > 1:
            del tokens[rng.randrange(len(tokens))]
        elif slots:
            place = rng.choice(slots)
            others = [word for word in _alternatives()[tokens[place]] if word != tokens[place]]
            tokens[place] = rng.choice(others)
        text = " ".join(tokens)
    return text
