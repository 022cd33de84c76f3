"""Draw stories from the grammar, and break them: corruptions of words and of sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from random import Random

from rws_decode.extra.stories.grammar import (
    BANDS,
    BASE,
    SHARES,
    START,
    TEMPLATES,
    after,
    beat_weights,
    domain,
    feasible_beats,
    surface,
)
from rws_decode.extra.stories.lexicon import NAMES, NUMBERS, TOPICS, words


@dataclass(frozen=True)
class Story:
    """A story with everything it was made from."""

    topic: str
    band: str
    bound: Mapping[str, str]
    beats: tuple[str, ...]
    sentences: tuple[tuple[str, ...], ...]
    holder: str
    place: str

    @property
    def text(self) -> str:
        """The story as space-separated words."""
        return " ".join(word for sentence in self.sentences for word in sentence)


@cache
def split_template(template: str) -> tuple[tuple[bool, str], ...]:
    """Return the template's tokens as (is a slot, word or slot name).

    >>> split_template("{H} was {R} .")
    ((True, 'H'), (False, 'was'), (True, 'R'), (False, '.'))
    """
    return tuple((word[0] == "{", word.strip("{}")) for word in template.split())


def draw(variable: str, topic: str, bound: Mapping[str, str], rng: Random) -> str:
    """Draw one variable: uniform over its domain, except that half of all objects come alone."""
    if variable == "N":
        return "one" if rng.random() < 0.5 else rng.choice(NUMBERS[1:])
    return rng.choice(domain(variable, topic, dict(bound)))


def sample_story(
    rng: Random,
    *,
    topic: str | None = None,
    band: str = "short",
    pinned: Mapping[str, str] | None = None,
    even: bool = False,
) -> Story:
    """Draw a story of the grammar, with some of its variables pinned beforehand.

    topic: one of the ten, None for a uniform draw. band: "short" (6 or 7 sentences), "medium" (9 or 10), "long" (12 or
    13). pinned: variables fixed in advance, by slot letter (`rws_decode.extra.stories.grammar`). even: draw beats and
    wordings uniformly instead: the same stories with other frequencies, for a curriculum.
    """
    topic = rng.choice(tuple(TOPICS)) if topic is None else topic
    bound = dict(pinned or {})
    state, left = START, rng.choice(BANDS[band])
    beats, sentences = [], []
    while left:
        feasible = feasible_beats(state, left)
        beat = rng.choice(feasible) if even else rng.choices(feasible, beat_weights(feasible))[0]
        state, left = after(state, beat), left - 1
        words = []
        wordings = TEMPLATES[beat]
        for is_slot, word in split_template(rng.choice(wordings) if even else rng.choices(wordings, SHARES)[0]):
            if is_slot:
                shown = surface(word, bound, state)
                if shown is None:
                    base = BASE.get(word, word)
                    bound[base] = draw(base, topic, bound, rng)
                    shown = surface(word, bound, state)
                assert shown is not None
                word = shown
            words.append(word)
        beats.append(beat)
        sentences.append(tuple(words))
    return Story(topic, band, bound, tuple(beats), tuple(sentences), bound.get(state.holder, ""), bound[state.place])


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
    """Return the text with `count` corruptions, each drawn from six kinds.

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
            at = rng.choice([i for i, word in enumerate(tokens) if word in NAMES])
            tokens[at] = rng.choice([name for name in people if name != tokens[at]])
        elif kind in ("swap", "drop", "double") and len(sentences) > 2:
            at = rng.randrange(len(sentences) - 1)
            if kind == "swap":
                sentences[at], sentences[at + 1] = sentences[at + 1], sentences[at]
            elif kind == "drop":
                del sentences[at]
            else:
                sentences.insert(at, sentences[at])
            tokens = [word for sentence in sentences for word in sentence]
        elif kind == "delete" and len(tokens) > 1:
            del tokens[rng.randrange(len(tokens))]
        elif slots:
            at = rng.choice(slots)
            others = [word for word in _alternatives()[tokens[at]] if word != tokens[at]]
            tokens[at] = rng.choice(others)
        text = " ".join(tokens)
    return text
