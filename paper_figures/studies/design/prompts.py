"""Choose the prompts of a study from a source: test prompts, and other prompts to choose settings on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from paper_figures.data.prompt_files import PROMPT_ENDINGS
from paper_figures.runner.digests import digest
from paper_figures.studies.design.options import SOURCES
from paper_figures.studies.design.prompt_sources import DRAWN, LOADED, Prompt

__all__ = ["SOURCES", "Prompt", "Prompts", "is_file", "prompts_of"]


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


def is_file(source: str) -> bool:
    """Return whether a source is a file of prompts, of which all are wanted unless a number is given."""
    return source.partition(":")[0] not in SOURCES or source.partition(":")[0] == "text"


def prompts_of(source: str, count: int | None, validation: int = 0, *, seed: int = 0, model: str = "mini") -> Prompts:
    """Return `count` test prompts of a source or file, and `validation` other prompts to choose settings on.

    If `count` is None, all are taken, or 32 where prompts are drawn. How they are chosen depends on the source:

    - Stories, dialogues and puzzles are drawn by the seed from the language's splits test and validation, on which no
      shipped model was trained.
    - Antibodies and reactions are drawn by the seed, and so are the tokens of each that become gaps.
    - Of benchmarks and keywords, the test prompts are drawn by the seed, then the validation prompts from the rest.
      Both keep the order of the file. They are drawn because the first rows of a file may all be of one category.
    - Of examples and of a file the first `count` are taken, and the validation prompts are drawn from the rest.

    If all prompts of a set or file are wanted, the validation prompts are drawn first, and the test prompts are the
    rest. Prompts of equal turns count once, and no first turn is in both parts. ValueError is raised for an unknown
    source, for too few prompts, and as the loaders say.

    >>> [len(part) for part in (lambda chosen: (chosen.test, chosen.validation))(prompts_of("stories:puzzle", 3, 2))]
    [3, 2]
    """
    name, _, detail = source.partition(":")
    if name not in SOURCES:
        if not source.endswith(PROMPT_ENDINGS) and not Path(source).exists():
            raise ValueError(f"data is {source!r}: no such file, and the sources are {', '.join(SOURCES)}")
        name, detail = "file", source
    if count is not None and count < 1:
        raise ValueError(f"prompts is {count}: at least 1 is needed")
    if validation < 0:
        raise ValueError(f"validation is {validation}: at least 0 is needed")
    if detail and name in ("dialogues", "puzzles", "openings", "keywords"):
        raise ValueError(f"data is {source!r}: {name} have no detail")
    if name in DRAWN:
        draw = DRAWN[name]
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
    loaded = list({prompt.turns: prompt for prompt in LOADED[name](detail or None, model)}.values())
    needed = validation + (1 if count is None else count)
    if len(loaded) < needed:
        parted = f" ({validation} of them for --validation; --reward-scale S needs none)" if validation else ""
        raise ValueError(f"data is {source!r}: it has {len(loaded)} different prompts, {needed} are wanted{parted}")
    if count is None:
        # If all prompts are used, the validation prompts are drawn first, and the test prompts are the rest.
        validation_prompts = [loaded[index] for index in _drawn(len(loaded), validation, seed)]
        return Prompts(source, tuple(_without(loaded, validation_prompts)), tuple(validation_prompts))
    indices = range(count) if name in ("examples", "text", "file") else _drawn(len(loaded), count, seed)
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
    return sorted(np.random.default_rng(seed).choice(total, count, replace=False).tolist()) if count else []
