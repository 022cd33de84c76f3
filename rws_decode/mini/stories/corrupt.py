"""Break a text of the story language: word-level and sentence-level corruptions."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from random import Random

from rws_decode.mini.stories.lexicon import NAMES, TOPICS, words

_PAIRS = ("she he", "her his", "her him", "it them", "was were")


@lru_cache(maxsize=1)
def _alternatives() -> dict[str, tuple[str, ...]]:
    others: dict[str, tuple[str, ...]] = {}
    for group in words().values():
        for word in group:
            others[word] = tuple(group)
    for topic in TOPICS.values():  # within the topic if there is one: the subtler mistake
        words_of = (topic.places, topic.jobs, topic.adjectives, topic.causes, topic.causes.values())
        for group in (*words_of, topic.objects, topic.tasks, topic.tasks.values()):
            others |= dict.fromkeys(group, tuple(group))
    for pair in _PAIRS:
        first, second = pair.split()
        others[first], others[second] = (second,), (first,)
    return others


def corrupt(text: str, rng: Random, count: int = 1) -> str:
    """Return the text with `count` corruptions, each drawn from six kinds.

    A word is swapped for another of its class (half of the time); a name for another name of the text; two sentences
    change places; a sentence is dropped; one is doubled; a word is dropped. The result may, by luck, break no rule.

    >>> corrupt("mara was alone .", Random(0)) != "mara was alone ."
    True
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
