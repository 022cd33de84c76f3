"""Judge an answer to a prompt of the story language: violations, log P(answer | prompt), keywords used."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import inf
from typing import Any

from rws_decode.checkpoints.files import models_directory
from rws_decode.common.reward_facts import Normalised
from rws_decode.extra.stories.check import VIOLATIONS, Violation, read_story
from rws_decode.extra.stories.grammar import BANDS, START, surface
from rws_decode.extra.stories.lexicon import NUMBERS, SINGULAR, TOPICS, TRAITS, plural, words
from rws_decode.extra.stories.sample import Story
from rws_decode.rewards.registry import NamedReward
from rws_decode.text.dialogue import Dialogue, as_dialogue
from rws_theory.show import figures

_KEYWORDS = re.compile(r"write an? (\w+) (\w+) story with (\S+) , (\S+) , (\S+) and (\S+) \.")
_CONTINUE = re.compile(r"continue this (\w+) story : (.+)")
_PUZZLE = re.compile(r"(?:\w+ had (\w+) (\S+) and (found|lost) (\w+) \. how many now \?|(reverse|sort|largest) : (.+))")


@dataclass(frozen=True)
class Judgement:
    """The judgement on an answer: the kind of task ("free" for other prompts), violations, probability.

    `log_probability`: of the answer given the prompt, in nats; -inf if there is a violation, None for "free".
    """

    kind: str
    violations: tuple[Violation, ...]
    log_probability: float | None

    @property
    def coherent(self) -> bool:
        """True where no rule is broken."""
        return not self.violations


def tokens_of(text: str) -> str:
    """Return a text as the language writes it: lower case, punctuation apart, single spaces.

    >>> tokens_of("Write a short story, please.")
    'write a short story , please .'
    """
    return " ".join(re.sub(r"([.,:?])", r" \1 ", text.lower()).split())


def _pin(keywords: Sequence[str]) -> dict[str, str]:
    slots = {"place": "P", "object": "O", "objects": "O", "cause": "C", "trait": "T", "job": "J"}
    pinned: dict[str, str] = {}
    for keyword in keywords:
        for name, group in words().items():
            if name in slots and keyword in group:
                pinned[slots[name]] = SINGULAR.get(keyword, keyword)
                if name == "object":
                    pinned["N"] = "one"
                if name == "objects":
                    pinned["plural"] = "yes"
    return pinned


def _puzzle_answer(prompt: str) -> str | None:
    match = _PUZZLE.fullmatch(prompt)
    if match is None:
        return None
    count, noun, verb, change, operation, listed = match.groups()
    if operation:
        items = listed.split()
        if operation == "reverse":
            return " ".join(reversed(items)) + " ."
        if any(item not in NUMBERS for item in items):
            return None
        ordered = sorted(items, key=NUMBERS.index)
        return " ".join(ordered if operation == "sort" else ordered[-1:]) + " ."
    if count not in NUMBERS or change not in NUMBERS:
        return None
    result = NUMBERS.index(count) + 1 + (1 if verb == "found" else -1) * (NUMBERS.index(change) + 1)
    if not 1 <= result <= len(NUMBERS):
        return None
    single = SINGULAR.get(noun, noun)
    return f"{NUMBERS[result - 1]} {single if result == 1 else plural(single)} ."


def questions(story: Story) -> dict[str, tuple[str, str]]:
    """Return the questions that a story answers, with their answers."""
    bound, topic = story.bound, story.topic
    noun = surface("O", dict(bound), START)
    pairs = {
        "holder": (f"who had the {noun} at last ?", f"{story.holder} had the {noun} ."),
        "place": (f"where at last ? the {noun}", f"at the {story.place} ."),
        "number": (f"how many {noun} ?", f"{bound['N']} {noun} ."),
        "job": (f"who was {bound['H']} ?", f"{bound['H']} was the {bound['J']} of the {bound['P']} ."),
        "effect": (f"why was the {bound['P']} {TOPICS[topic].causes[bound['C']]} ?", f"because of the {bound['C']} ."),
        "ending": (f"how did {bound['H']} end up ?", f"{bound['H']} was {TRAITS[bound['T']]} ."),
    }
    if "V" in bound:
        fulfilled = "yes" if "fulfil" in story.beats else "no"
        pairs["promise"] = (f"did {bound['H']} {bound['V']} the {noun} ?", f"{fulfilled} .")
    return pairs


def _dialogue_answer(prompt: str) -> str | None:
    # The right answer follows from the story alone, not from earlier answers.
    context, separator, _ = prompt.partition(" question : ")
    if not separator:
        return None
    reading = read_story(context)
    if not reading.coherent or reading.topic is None:
        return None
    holder = reading.bound.get(reading.state.holder, "")
    story = Story(reading.topic, "", reading.bound, reading.beats, (), holder, reading.bound[reading.state.place])
    return dict(questions(story).values()).get(prompt.rpartition(" question : ")[2])


def judge(prompt: str, answer: str) -> Judgement:
    """Judge an answer by its prompt; if the prompt is of no known kind, by the rules of stories alone.

    Guarantee: for the four kinds of task, there is no violation exactly if the answer has positive probability.

    >>> judge("sort : two one", "one two .").coherent
    True
    >>> judge("reverse : lens flask", "lens flask .").violations[0].expected
    'flask lens .'
    """
    prompt, answer = tokens_of(prompt), tokens_of(answer)
    if match := _KEYWORDS.fullmatch(prompt):
        band, topic, *chosen = match.groups()
        if band in BANDS and topic in TOPICS:
            reading = read_story(answer, band=band, topic=topic, pinned=_pin(chosen))
            return Judgement("keywords", reading.violations, reading.log_probability())
    if match := _CONTINUE.fullmatch(prompt):
        band, opening = match.groups()
        sentences = opening.split().count(".")
        if band in BANDS and opening.endswith("."):
            reading = read_story(f"{opening} {answer}", band=band)
            return Judgement("continuation", reading.violations, reading.log_probability(sentences))
    for kind, expected in (("puzzle", _puzzle_answer(prompt)), ("dialogue", _dialogue_answer(prompt))):
        if expected == answer:
            return Judgement(kind, (), 0.0)
        if expected is not None:
            return Judgement(kind, (Violation("answer", 0, answer, expected),), -inf)
    return Judgement("free", read_story(answer).violations, None)


def broken_rules(prompt: str, answer: str) -> list[str] | None:
    """Return the rules that an answer breaks, each with the text found; None for a prompt of no known kind.

    >>> broken_rules("sort : two one", "two one .")
    ["answer: not the right answer to the question or puzzle ('two one .', not 'one two .')"]
    """
    judgement = judge(prompt, answer)
    if judgement.kind == "free":
        return None
    return [
        f"{violation.kind}: {VIOLATIONS[violation.kind]} ({violation.found!r}"
        + (")" if violation.kind == "grammar" else f", not {violation.expected!r})")
        for violation in judgement.violations
    ]


class ExactReward(Normalised):
    """The exact reward (`rws_decode.rewards.RewardModel`): minus the number of violations.

    >>> exact_reward().score(["sort : two one"], ["one two ."])
    [0.0]
    """

    def __init__(self, mean: float, std: float) -> None:
        super().__init__("exact", mean, std, (-inf, 0.0))

    def __repr__(self) -> str:
        return f"ExactReward(mean={figures(self.mean)}, std={figures(self.std)})"

    def score(self, prompts: Sequence[str | Dialogue], answers: Sequence[str]) -> list[float]:
        texts = [as_dialogue(prompt).text for prompt in prompts]
        return [float(-len(judge(text, answer).violations)) for text, answer in zip(texts, answers, strict=True)]

    def unknown_words(self, text: str) -> list[str]:
        """Return the different words of a text that are not of the language, in their order."""
        return [word for word in dict.fromkeys(tokens_of(text).split()) if word not in _vocabulary()]


@cache
def _vocabulary() -> frozenset[str]:
    """Return all words of the language, which are the tokens of the models that were trained on it."""
    stored = files("rws_decode.mini.models").joinpath("mini", "tokenizer.json").read_text(encoding="utf-8")
    return frozenset(json.loads(stored)["model"]["vocab"])


def exact_reward() -> ExactReward:
    """Load the exact reward with the mean and SD measured on the held-out reference set of the reward recipe."""
    stored = json.loads(files("rws_decode.mini.models").joinpath("exact.json").read_text(encoding="utf-8"))
    return ExactReward(float(stored["mean"]), float(stored["std"]))


def _load(name: str, mean: float | None = None, std: float | None = None, **placed: Any) -> ExactReward:
    """Return the exact reward, which has its own mean and SD."""
    return exact_reward()


REWARD = NamedReward(_load, source=lambda name: {"exact.json": models_directory() / "exact.json"})
