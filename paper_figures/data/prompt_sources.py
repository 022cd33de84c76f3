"""Hold the sources of prompts: shipped examples, stories, keyword prompts, benchmarks, and files of one's own.

A prompt that ships with the model has its number there as its name, any other text a name that follows from the text
alone. So the same prompt is the same unit of work, however it was named on the command line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, islice
from random import Random
from typing import Any

from paper_figures.data import loaders
from paper_figures.data.examples import examples_of, further_prompts, shipped_examples
from paper_figures.data.loaders import Prompt, load_chains, load_humaneval, load_keyword_set, load_reactions
from paper_figures.data.prompt_files import PromptRow, read_prompts, read_text
from paper_figures.data.story_sets import story_dialogues, story_tasks
from paper_figures.runner.digests import digest
from rws_decode.common.later import np
from rws_decode.text.dialogue import parts_of

_SLUG = 20  # characters of a prompt's own words in its name


def _stories(kind: str, count: int, seed: int, split: str) -> list[Prompt]:
    from paper_figures.extra.story_tasks import KINDS

    kinds = KINDS if kind == "all" else (kind or "keywords",)
    if not set(kinds) <= set(KINDS):
        raise ValueError(f"data is 'stories:{kind}': {', '.join(KINDS)} or all is needed")
    tasks = story_tasks(kinds, count, Random(f"{split} {seed}"), split)
    return [
        Prompt(f"{split}-{number}", (task.prompt,), {"kind": task.kind, **task.meta, "keywords": list(task.keywords)})
        for number, task in enumerate(tasks)
    ]


def _dialogues(_: str, count: int, seed: int, split: str) -> list[Prompt]:
    rows = story_dialogues(count, seed, split)
    return [Prompt(f"{split}-{number}", turns, {"kind": "dialogue"}) for number, (turns, _) in enumerate(rows, start=1)]


def _puzzles(_: str, count: int, seed: int, split: str) -> list[Prompt]:
    tasks = story_tasks(["puzzle"], count, Random(f"puzzles {split} {seed}"), split)
    labels = [{"kind": "puzzle", "puzzle": task.meta["puzzle"], "right_answer": task.answer} for task in tasks]
    rows = enumerate(zip(tasks, labels, strict=True), start=1)
    return [Prompt(f"{split}-{number}", (task.prompt,), known) for number, (task, known) in rows]


def _gapped(
    source: str, tokens: str, usual: int, load: Callable[[], dict[str, tuple[Sequence[str], int]]]
) -> Callable[[str, int, int, str], list[Prompt]]:
    """Return a function that takes sequences in random order and puts gaps in them: test from the front, else the back.

    tokens: what gaps hold, in words. usual: masks of each. load: tokens by name, and the first that may be a gap. A
    sequence has the same gaps in both splits. Label answer: what stood in the gaps, in order.
    """

    def draw(masks: str, count: int, seed: int, split: str) -> list[Prompt]:
        rows = list(load().items())
        number = int(masks or usual) if (masks or "1").isdecimal() else 0
        most = min(len(sequence) - first for _, (sequence, first) in rows)
        if not 1 <= number <= most:
            raise ValueError(f"data is '{source}:{masks}': {source}:N is needed, N {tokens} of each, 1 to {most}")
        if count > len(rows):
            raise ValueError(f"data is '{source}': it has {len(rows)}, {count} are wanted in all")
        order = np.random.default_rng(seed).permutation(len(rows))
        prompts = []
        for place in (order if split == "test" else order[::-1])[:count].tolist():
            name, (sequence, first) = rows[place]
            positions = first + np.random.default_rng([seed, place]).choice(
                len(sequence) - first, number, replace=False
            )
            text, answer = with_gaps(sequence, positions.tolist())
            prompts.append(Prompt(name, (text,), {"kind": source, "answer": answer}))
        return prompts

    return draw


def _openings(_: str | None, model: str) -> list[Prompt]:
    rows = further_prompts(model)
    if not rows:
        raise ValueError(f"model is {model}: it ships no further openings (openings.json beside its weights)")
    return [Prompt(f"opening-{number}", (row["prompt"],), {"kind": "opening"}) for number, row in enumerate(rows)]


def _example(number: int, example: Mapping[str, Any]) -> Prompt:
    labels = {name: example[name] for name in ("kind", "keywords") if name in example}
    return Prompt(str(number), (example["prompt"],), labels)


def numbered_examples(numbers: Iterable[int], model: str) -> list[Prompt]:
    """Return held-out prompts of a model by their numbers, from 0; ValueError for a number that it does not have."""
    stored, prompts = examples_of(model), []
    for number in dict.fromkeys(numbers):
        if not 0 <= number < len(stored):
            raise ValueError(
                f"--examples is {number}: {model} ships {len(stored)} examples, choose 0 to {len(stored) - 1}"
            )
        prompts.append(_example(number, stored[number]))
    return prompts


def named_prompts(rows: Iterable[PromptRow], model: str) -> list[Prompt]:
    """Return prompts of one's own, each different one once, with the names and labels that the module describes.

    >>> [prompt.name for prompt in named_prompts([PromptRow(("Why is the sky blue at noon?",))], "mini")]
    ['why-is-the-sky-blue-7a0b98']
    """
    known = {example["prompt"]: _example(number, example) for number, example in enumerate(shipped_examples(model))}
    prompts: dict[tuple[str, ...], Prompt] = {}
    for row in rows:
        shipped = known.get(row.turns[0]) if len(row.turns) == 1 else None
        prompt = shipped or Prompt(_name_of(row.turns), row.turns)
        if row.keywords is not None:
            prompt = replace(prompt, labels={**prompt.labels, "keywords": list(row.keywords)})
        prompts.setdefault(prompt.turns, prompt)
    return list(prompts.values())


def _name_of(turns: tuple[str, ...]) -> str:
    slug = ""
    for word in re.findall(r"[a-z0-9]+", turns[0].lower()):
        if len(slug) + len(word) > _SLUG:
            break
        slug += f"{word}-"
    return f"{slug or 'prompt-'}{digest(turns)[:6]}"


# What samples prompts: detail, count, seed and split -> prompts.
DRAWN: dict[str, Callable[[str, int, int, str], list[Prompt]]] = {
    "stories": _stories,
    "dialogues": _dialogues,
    "puzzles": _puzzles,
    "antibodies": _gapped(
        "antibodies", "residues", 32, lambda: {name: (residues, 0) for name, residues in load_chains().items()}
    ),
    "reactions": _gapped(
        *("reactions", "tokens of the product", 16),
        lambda: {name: (tokens, tokens.index(">>") + 1) for name, tokens in load_reactions().items()},
    ),
}
# What loads prompts: file or detail, and mask predictor -> prompts.
LOADED: dict[str, Callable[[str | None, str], Iterable[Prompt]]] = {
    "examples": lambda kind, model: [
        _example(number, example)
        for number, example in enumerate(examples_of(model))
        if kind in (None, "all", example.get("kind"))
    ],
    "openings": _openings,
    "keywords": lambda *_: load_keyword_set(),
    "reward-bench": lambda file, _: loaders.load_reward_bench(file).rows,
    "mt-bench": lambda file, _: loaders.load_mt_bench(file).rows,
    "nectar": lambda file, _: loaders.load_nectar(file).rows,
    "humaneval": lambda file, _: [
        Prompt(row.id, (row.prompt,), {"problem": row.id}) for row in load_humaneval(file).rows
    ],
    "text": lambda file, model: named_prompts(read_text(str(file), f"data is text:{file}"), model),
    "file": lambda file, model: named_prompts(read_prompts(str(file), "data"), model),
}


def with_gaps(tokens: Sequence[str], positions: Collection[int]) -> tuple[str, str]:
    """Return the text of tokens with those at some positions, from 0, as gaps [MASK:n], and the text of these alone.

    >>> with_gaps(["C", "Cl", ">>", "C", "O"], [1, 3, 4])
    ('C[MASK:1]>>[MASK:2]', 'ClCO')
    """
    parts = []
    for masked, run in groupby(range(len(tokens)), lambda index: index in positions):
        indices = list(run)
        parts.append(f"[MASK:{len(indices)}]" if masked else "".join(tokens[i] for i in indices))
    return "".join(parts), "".join(tokens[i] for i in sorted(positions))


def fill_gaps(text: str, tokens: Iterable[str]) -> str:
    """Return a text without blanks with tokens in place of its masks, in order: what `with_gaps` began with.

    >>> fill_gaps("C[MASK:1]>>[MASK:2]", ["Cl", "C", "O"])
    'CCl>>CO'
    """
    each = iter(tokens)
    return "".join(part if isinstance(part, str) else "".join(islice(each, part)) for part in parts_of(text))
