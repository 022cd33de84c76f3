"""Read a text of the story language: its coherence, violation by violation, and its exact probability.

Both come from one derivation. A text of the language has exactly one, because word classes are disjoint and no sentence
matches two templates. The sentences of a text that breaks rules are still matched by class, and every broken rule is
named.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from rws_decode.extra.stories.grammar import (
    BANDS,
    BASE,
    CLASS,
    SHARES,
    START,
    TEMPLATES,
    PlotState,
    after,
    allowed_beats,
    beat_weights,
    domain,
    feasible_beats,
    surface,
)
from rws_decode.extra.stories.lexicon import SINGULAR, TOPICS, words
from rws_decode.extra.stories.sample import split_template

# Each kind of violation, and what it means.
VIOLATIONS: dict[str, str] = {
    "grammar": "a sentence matches no template",
    "topic": "a word belongs to another topic",
    "name": "a person's name changes, or hero and helper share it",
    "pronoun": "a pronoun does not agree with the hero",
    "number": "a number, noun or verb does not agree with how many there are",
    "object": "the object or its description changes",
    "holder": "the wrong person has the object",
    "place": "the object or the scene is in the wrong place",
    "promise": "what was promised changes",
    "cause": "the event changes",
    "effect": "the effect does not follow from its cause",
    "ending": "the ending does not follow from the opening",
    "plot": "a sentence comes where the plot does not allow it, or something is left open",
    "length": "the story has too few or too many sentences",
    "keyword": "a given keyword is not used as given",
    "answer": "not the right answer to the question or puzzle",
}

_KIND = {
    "H": "name", "G": "name", "T": "ending", "J": "ending", "P": "place", "Q": "place", "N": "number", "A": "object",
    "V": "promise", "D": "promise", "W": "promise", "C": "cause", "E": "effect", "R": "ending", "K": "holder",
    "U": "place", "HE": "pronoun", "HIS": "pronoun", "HIM": "pronoun", "IT": "number", "WAS": "number",
}  # fmt: skip


@dataclass(frozen=True)
class Violation:
    """One broken rule: its kind (a key of `VIOLATIONS`), the sentence (from 0), the text found and the one expected."""

    kind: str
    sentence: int
    found: str
    expected: str


@dataclass(frozen=True)
class Reading:
    """The reading of a text: violations, log-probabilities (nats), beats, topic, variables, the final plot state.

    `log_length` is that of the number of sentences, `log_sentences` that of each sentence given those before it.
    """

    violations: tuple[Violation, ...]
    log_length: float
    log_sentences: tuple[float, ...]
    beats: tuple[str, ...]
    topic: str | None
    bound: dict[str, str]
    state: PlotState

    @property
    def coherent(self) -> bool:
        """True where no rule is broken; equivalent to a positive probability."""
        return not self.violations

    def log_probability(self, start: int = 0) -> float:
        """Return log P of the sentences from `start` on, given those before it; -inf unless coherent."""
        return self.log_length + math.fsum(self.log_sentences[start:]) if self.coherent else -math.inf


@lru_cache(maxsize=1)
def _classes() -> dict[str, frozenset[str]]:
    groups = {name: frozenset(group) for name, group in words().items()}
    pronouns = {"HE": "she he", "HIS": "her his", "HIM": "her him", "IT": "it them", "WAS": "was were"}
    out = {slot: groups[name] for slot, name in CLASS.items()}
    out |= {slot: frozenset(text.split()) for slot, text in pronouns.items()}
    out["O"] = groups["object"] | groups["objects"]
    return out


@lru_cache(maxsize=1)
def _topics() -> dict[str, str]:
    return {word: topic.name for topic in TOPICS.values() for group in topic.classes.values() for word in group}


def _match(sentence: tuple[str, ...]) -> tuple[str, float, list[tuple[str, str]]] | None:
    for beat, templates in TEMPLATES.items():
        for share, template in zip(SHARES, templates, strict=True):
            parts = split_template(template)
            if len(parts) == len(sentence) and all(
                word in _classes()[part] if is_slot else word == part
                for (is_slot, part), word in zip(parts, sentence, strict=True)
            ):
                slots = [(part, word) for (is_slot, part), word in zip(parts, sentence, strict=True) if is_slot]
                return beat, share, slots
    return None


def _sentences(text: str) -> list[tuple[str, ...]]:
    out: list[tuple[str, ...]] = []
    current: list[str] = []
    for word in text.split():
        current.append(word)
        if word == ".":
            out.append(tuple(current))
            current = []
    return [*out, tuple(current)] if current else out


class _Reader:
    """The reading of one text, sentence by sentence."""

    def __init__(self, topic: str | None, pinned: dict[str, str]):
        self.topic = topic
        self.pinned = pinned
        self.bound: dict[str, str] = {}
        self.log_sentence = 0.0
        self.violations: list[Violation] = []

    def bind(self, variable: str, word: str, index: int) -> None:
        """Give a variable its first value: check it against its domain, and add its log-probability."""
        self.bound[variable] = word
        if variable in self.pinned:
            if self.pinned[variable] != word:
                self.violations.append(Violation("keyword", index, word, self.pinned[variable]))
            return
        owner = _topics().get(word)
        if owner is not None:
            if self.topic is None:
                self.topic = owner
                self.log_sentence -= math.log(len(TOPICS))
            if owner != self.topic:
                self.violations.append(Violation("topic", index, word, f"a word of {self.topic}"))
                return
        if variable == "N":
            plural_only = "O" in self.pinned and self.pinned.get("plural") == "yes"
            self.log_sentence += math.log(1 / 9) if plural_only else math.log(0.5 if word == "one" else 0.5 / 9)
            return
        options = domain(variable, self.topic or next(iter(TOPICS)), self.bound)
        if word not in options:
            self.violations.append(Violation(_KIND.get(variable, "plot"), index, word, "another"))
        else:
            self.log_sentence -= math.log(len(options))

    def sentence(self, slots: list[tuple[str, str]], state: PlotState, index: int) -> None:
        """Read one matched sentence: bind what is new, compare what is known."""
        for slot, word in slots:
            if slot == "O":
                self._object(word, index)
                continue
            if slot in BASE and BASE[slot] not in self.bound:
                base = next((value for name, value in slots if name == BASE[slot]), None)
                if base is not None:
                    self.bind(BASE[slot], base, index)
            expected = surface(slot, self.bound, state)
            if expected is None and slot in _FREE:
                self.bind(slot, word, index)
            elif expected != word:
                kind = _KIND.get(slot, "plot")
                self.violations.append(Violation(kind, index, word, expected or "something introduced before"))

    def _object(self, word: str, index: int) -> None:
        noun, single = SINGULAR.get(word, word), word not in SINGULAR
        if "O" not in self.bound:
            self.bind("O", noun, index)
        elif self.bound["O"] != noun:
            self.violations.append(Violation("object", index, word, self.bound["O"]))
            return
        if "N" in self.bound and single != (self.bound["N"] == "one"):
            self.violations.append(Violation("number", index, word, "agreement with " + self.bound["N"]))


_FREE = frozenset("H G T J P Q N A Y L V D C F".split())


def read_story(
    text: str, *, band: str | None = None, topic: str | None = None, pinned: dict[str, str] | None = None
) -> Reading:
    """Read a story: every violation, and its log-probability in nats given what is pinned.

    The probability is a product: of each sentence's beat and template, and of each variable's word
    (`rws_decode.extra.stories.grammar`). Guarantee: it is positive exactly where no rule is broken.

    text: space-separated words. band: the length asked for, None for "short", "medium" and "long" with equal
    probability. topic: the one asked for, or None. pinned: variables given beforehand, by slot letter; "plural": "yes"
    beside "O" where the keyword was a plural.

    >>> read_story("mara was the brave pupil of the library .").violations[-1].kind
    'length'
    """
    reader = _Reader(topic, dict(pinned or {}))
    sentences = _sentences(text)
    bands = (band,) if band else tuple(BANDS)
    fitting = [name for name in bands if len(sentences) in BANDS[name]]
    log_length = -math.inf
    if fitting:
        log_length = -math.log(len(bands) * len(BANDS[fitting[0]]))
    state, beats, log_sentences = START, [], []
    for index, sentence in enumerate(sentences):
        matched = _match(sentence)
        if matched is None:
            reader.violations.append(Violation("grammar", index, " ".join(sentence), "a sentence of the language"))
            continue
        beat, share, slots = matched
        last = index == len(sentences) - 1
        if beat not in allowed_beats(state) or (beat == "end") != last:
            reader.violations.append(Violation("plot", index, beat, " or ".join(allowed_beats(state)) or "nothing"))
        feasible = feasible_beats(state, len(sentences) - index)
        weights = dict(zip(feasible, beat_weights(feasible), strict=True))
        reader.log_sentence = math.log(share * weights.get(beat, 1) / max(sum(weights.values()), 1))
        state = after(state, beat)
        beats.append(beat)
        reader.sentence(slots, state, index)
        log_sentences.append(reader.log_sentence)
    if not fitting:
        reader.violations.append(
            Violation("length", len(sentences), f"{len(sentences)} sentences", f"a {band or ''} story")
        )
    for variable, word in reader.pinned.items():
        if variable != "plural" and variable not in reader.bound:
            reader.violations.append(Violation("keyword", len(sentences), "nothing", word))
    if reader.pinned.get("plural") and reader.bound.get("N") == "one":
        reader.violations.append(Violation("keyword", len(sentences), "one", "more than one"))
    if "end" not in beats and not any(v.kind == "plot" for v in reader.violations):
        reader.violations.append(Violation("plot", len(sentences), "no ending", "an ending"))
    return Reading(
        tuple(reader.violations), log_length, tuple(log_sentences), tuple(beats), reader.topic, reader.bound, state
    )
