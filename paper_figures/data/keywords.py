"""The keyword task (Section 5.4): prompts that ask for a text with four anchor keywords, and what checks such a set."""

from __future__ import annotations

import importlib.resources
import itertools
import os
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paper_figures.data.inclusion import included_keywords, lemmas, words_of
from rws_decode.common.files import parse_json, write_json
from rws_decode.mini.stories.lexicon import TOPICS as STORY_TOPICS
from rws_decode.mini.stories.tasks import sample_split
from rws_theory.checks import whole

# Appendix D of the paper, in its order.
TOPICS = (
    "science",
    "technology",
    "economy",
    "health",
    "sports",
    "environment",
    "politics",
    "education",
    "culture",
    "entertainment",
)
KEYWORDS = 4
_NEAR = 0.6  # share of common words from which two prompts are near duplicates
_FRAME = 0.1  # share of prompts from which a word belongs to the set's phrasing, not to what a prompt is about
_FIELDS = {"id": str, "topic": str, "prompt": str, "keywords": list}


@dataclass(frozen=True)
class KeywordPrompt:
    """A prompt with its keywords; length: the answer's tokens that are offered, where the prompt says how long."""

    id: str
    topic: str
    prompt: str
    keywords: tuple[str, ...]
    length: int | None = None


@dataclass(frozen=True)
class KeywordSet:
    """Prompts of one kind; template: what the model reads, with {prompt} and {keywords} to fill in."""

    name: str
    template: str
    prompts: tuple[KeywordPrompt, ...]

    def text(self, prompt: KeywordPrompt) -> str:
        """Return what the model reads.

        >>> keywords = load_keyword_set()
        >>> print(keywords.text(keywords.prompts[30]))
        Write advice for people who sit all day at work, using all anchor keywords. Keep it encouraging and specific.
        Anchor keywords: lower back, standing desk, stretching routine, lunch walk
        """
        return self.template.format(prompt=prompt.prompt, keywords=", ".join(prompt.keywords))


@dataclass(frozen=True)
class Difficulty:
    """What can be counted of how hard a prompt's keywords are to place.

    words: in the four keywords together, as each must stand beside its neighbour; letters: the mean length of these
    words, for rarity, which it goes with (Zipf's law of abbreviation), so that no list of frequencies is needed;
    given: keyword words that the prompt itself uses, which are the easier to continue with.
    """

    words: int
    letters: float
    given: int


@dataclass(frozen=True)
class KeywordReport:
    """What `check_keywords` finds; ids of prompts, and keywords as they are written.

    problems: what no set may have, a line each; topics: prompts of each; near_duplicates: pairs of prompts that have
    60 % of the words of the shorter in common, words in a tenth of all prompts or more left out; repeated: keywords
    that occur in more than one prompt, inflections counting as the same; overlaps: for each topic, pairs of its
    prompts whose keywords share a word; easy: prompts with fewer than 6 keyword words, or of fewer than 5 letters on
    average.
    """

    problems: tuple[str, ...]
    topics: dict[str, int]
    near_duplicates: tuple[tuple[str, str], ...]
    repeated: tuple[str, ...]
    overlaps: dict[str, int]
    difficulty: dict[str, Difficulty]
    easy: tuple[str, ...]


def difficulty(prompt: KeywordPrompt) -> Difficulty:
    """Return what can be counted of how hard the keywords are to place.

    >>> difficulty(KeywordPrompt("a", "health", "Write about walks.", ("lower back", "lunch walk")))
    Difficulty(words=4, letters=4.5, given=1)
    """
    words = [word for keyword in prompt.keywords for word in words_of(keyword)]
    asked = set().union(*map(lemmas, words_of(prompt.prompt)))
    given = sum(not lemmas(word).isdisjoint(asked) for word in words)
    return Difficulty(len(words), sum(map(len, words)) / max(1, len(words)), given)


def check_keywords(keywords: KeywordSet) -> KeywordReport:
    """Check a set: duplicates, keywords shared within prompt, topic and set, balance of topics, difficulty, wording.

    >>> check_keywords(load_keyword_set()).problems
    ()
    """
    prompts = keywords.prompts
    problems: list[str] = []
    for field, values in (
        ("id", [prompt.id for prompt in prompts]),
        ("prompt", [" ".join(words_of(prompt.prompt)) for prompt in prompts]),
    ):
        problems += [
            f"{field} {value!r} is there {count} times" for value, count in Counter(values).items() if count > 1
        ]
    topics = dict(Counter(prompt.topic for prompt in prompts))
    if len(set(topics.values())) > 1:
        problems.append(f"topics are not balanced: {topics}")
    for prompt in prompts:
        problems += [f"{prompt.id}: {problem}" for problem in _problems(keywords, prompt)]
    holders: dict[frozenset[str], list[tuple[str, str]]] = {}
    for prompt in prompts:
        for keyword in prompt.keywords:
            holders.setdefault(_key(keyword), []).append((prompt.id, keyword))
    repeated = [names[0][1] for names in holders.values() if len({name for name, _ in names}) > 1]
    pairs = list(itertools.combinations(prompts, 2))
    spread = Counter(word for prompt in prompts for word in set(words_of(prompt.prompt)))
    frame = {word for word, count in spread.items() if count >= _FRAME * len(prompts)}
    bags = {prompt.id: Counter(word for word in words_of(prompt.prompt) if word not in frame) for prompt in prompts}
    near = [(pair.id, two.id) for pair, two in pairs if _common(bags[pair.id], bags[two.id]) >= _NEAR]
    stems = {prompt.id: _stems(prompt) for prompt in prompts}
    overlaps = dict.fromkeys(topics, 0)
    for pair, two in pairs:
        overlaps[pair.topic] += pair.topic == two.topic and not stems[pair.id].isdisjoint(stems[two.id])
    hard = {prompt.id: difficulty(prompt) for prompt in prompts}
    easy = [name for name, flaws in hard.items() if flaws.words < 6 or flaws.letters < 5]
    return KeywordReport(tuple(problems), topics, tuple(near), tuple(repeated), overlaps, hard, tuple(easy))


def _problems(keywords: KeywordSet, prompt: KeywordPrompt) -> list[str]:
    problems: list[str] = []
    if len(prompt.keywords) != KEYWORDS:
        problems.append(f"it has {len(prompt.keywords)} keywords, {KEYWORDS} are asked for")
    text = keywords.text(prompt)
    problems += [f"{keyword!r} is not in what the model reads" for keyword in prompt.keywords if keyword not in text]
    if "{keywords}" in keywords.template and "anchor keywords" not in prompt.prompt:
        problems.append("it does not ask for all anchor keywords")
    for pair, two in itertools.permutations(prompt.keywords, 2):
        if included_keywords([pair], two)[0]:
            problems.append(f"{pair!r} is included wherever {two!r} is")
    if any(included_keywords(prompt.keywords, prompt.prompt)) and "{keywords}" in keywords.template:
        problems.append("its wording uses a keyword already")
    return problems


def _key(keyword: str) -> frozenset[str]:
    return frozenset(min(lemmas(word), key=lambda lemma: (len(lemma), lemma)) for word in words_of(keyword))


def _stems(prompt: KeywordPrompt) -> frozenset[str]:
    return frozenset().union(*map(_key, prompt.keywords))


def _common(first: Counter[str], second: Counter[str]) -> float:
    return (first & second).total() / max(1, min(first.total(), second.total()))


def load_keyword_set(file: str | os.PathLike[str] | None = None) -> KeywordSet:
    """Load a set from JSON, by default the project's own: 100 prompts, 10 for each of TOPICS (see KEYWORDS.md).

    Layout: {"name", "template", "prompts": [{"id", "topic", "prompt", "keywords", "length"?}]}; other keys are left
    alone. ValueError, in one line, for a file of another layout.

    >>> len(load_keyword_set().prompts)
    100
    """
    shipped = importlib.resources.files("paper_figures.data") / "keywords_100.json"
    path = Path(str(shipped)) if file is None else Path(file)
    if not path.is_file():
        raise ValueError(f"file is {file}: no such file")
    try:
        data = parse_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"file is {file}: not JSON ({error})") from error
    rows = data.get("prompts") if isinstance(data, dict) else None
    if (
        not isinstance(rows, list)
        or not rows
        or not all(isinstance(data.get(key), str) for key in ("name", "template"))
    ):
        raise ValueError(f"file is {file}: no keyword set, which has name, template and prompts")
    return KeywordSet(
        data["name"], data["template"], tuple(_prompt(file, n, row) for n, row in enumerate(rows, start=1))
    )


def _prompt(file: object, number: int, row: Any) -> KeywordPrompt:
    for field, kind in _FIELDS.items():
        if not isinstance(row, dict) or not isinstance(row.get(field), kind) or not row[field]:
            raise ValueError(f"file is {file}: prompt {number} has no {field}")
    if not all(isinstance(keyword, str) and words_of(keyword) for keyword in row["keywords"]):
        raise ValueError(f"file is {file}: prompt {number} has a keyword that is no text")
    return KeywordPrompt(row["id"], row["topic"], row["prompt"], tuple(row["keywords"]), row.get("length"))


def write_keyword_set(file: str | os.PathLike[str], keywords: KeywordSet) -> Path:
    """Write a set as `load_keyword_set` reads it, whole or not at all, and return the path."""
    rows = [
        {"id": prompt.id, "topic": prompt.topic, "prompt": prompt.prompt, "keywords": list(prompt.keywords)}
        | ({} if prompt.length is None else {"length": prompt.length})
        for prompt in keywords.prompts
    ]
    return write_json(file, {"name": keywords.name, "template": keywords.template, "prompts": rows})


def story_keyword_set(per_topic: int = 10, seed: int = 0, *, split: str = "test", band: str = "short") -> KeywordSet:
    """Return keyword tasks of the story language for the mini models, `per_topic` for each of its topics.

    Drawn by the seed from one split of `rws_decode.mini.stories.tasks`, each prompt once. No model was trained on
    "test" or "validation". The prompts hold their keywords, words of a closed lexicon that recur over the set.
    ValueError for per_topic < 1, an unknown split or band.

    >>> story = story_keyword_set(1)
    >>> story.text(story.prompts[0]) == story.prompts[0].prompt
    True
    """
    whole("per_topic", per_topic)
    rng = random.Random(seed)
    drawn: dict[str, dict[str, KeywordPrompt]] = {topic: {} for topic in STORY_TOPICS}
    while any(len(tasks) < per_topic for tasks in drawn.values()):
        task = sample_split(rng, split, "keywords", band)
        tasks = drawn[task.meta["topic"]]
        if len(tasks) < per_topic:
            name = f"{task.meta['topic']}-{len(tasks) + 1}"
            tasks.setdefault(
                task.prompt, KeywordPrompt(name, task.meta["topic"], task.prompt, task.keywords, task.length)
            )
    prompts = tuple(prompt for tasks in drawn.values() for prompt in tasks.values())
    return KeywordSet(f"stories {split} {band} seed {seed}", "{prompt}", prompts)
