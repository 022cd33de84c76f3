"""Sample stories from the grammar."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
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
from rws_decode.extra.stories.lexicon import NUMBERS, TOPICS


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
    """Sample a variable's word, uniformly from its domain, except that half of all objects come alone."""
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
    """Sample a story of the grammar, with some of its variables pinned beforehand.

    topic: one of the ten, None for one at random. band: "short" (6 or 7 sentences), "medium" (9 or 10), "long" (12 or
    13). pinned: variables fixed in advance, by slot letter (`stories.grammar`). even: sample beats and
    wordings uniformly instead: the same stories with other frequencies, for a curriculum.
    """
    topic = rng.choice(tuple(TOPICS)) if topic is None else topic
    bound = dict(pinned or {})
    state, remaining = START, rng.choice(BANDS[band])
    beats, sentences = [], []
    while remaining:
        feasible = feasible_beats(state, remaining)
        beat = rng.choice(feasible) if even else rng.choices(feasible, beat_weights(feasible))[0]
        state, remaining = after(state, beat), remaining - 1
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
