"""Table 3: keyword prompts, and which of their keywords the answers of the default and of RWS contain.

Shows: the paper's prompts beside the first test prompts here, with the keywords that each answer contains and those
that it lacks; and the answers themselves.
Inputs: RUNS/keywords/results.json, made by `python -m paper_figures experiment keywords --out RUNS`.
Run time: less than a second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paper_figures.data.inclusion import included_keywords
from paper_figures.exhibits.exhibit import Exhibit, Passage
from paper_figures.exhibits.names import method_name, with_guide_names
from paper_figures.exhibits.paper_beside_ours import beside
from paper_figures.exhibits.runs import Results, read_run
from paper_figures.table import Table
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ("keywords",)


@dataclass(frozen=True)
class Answer:
    """An answer: by what, in words; its text; contains, whether it has each keyword of its prompt, in their order."""

    by: str
    text: str
    contains: tuple[bool, ...]


@dataclass(frozen=True)
class Example:
    """A prompt, its keywords, and its answers, the default's first."""

    name: str
    prompt: str
    keywords: tuple[str, ...]
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class KeywordExamples:
    """The run's first prompts; `included`: method's name -> mean number of keywords over all test prompts; the run."""

    examples: tuple[Example, ...]
    included: Mapping[str, float]
    run: Results


def compute(runs: Path) -> KeywordExamples:
    """Read the examples below `runs`; MissingRun, with the command, if the results are missing."""
    run = read_run(runs, NEEDS[0])
    order = run.settings["rewards"]
    free = [row for row in run.rows.get("examples", ()) if row["guide"] is None]
    guided = with_guide_names([row for row in run.rows.get("examples", ()) if row["guide"] is not None], order)
    means = with_guide_names(run.rows.get("perplexity_and_god", ()), order)
    included = {
        _by(row): row["mean"]
        for row in means
        if row["measure"] == "keywords_included" and row["mean"] is not None and row["method"] in ("default", "rws")
    }
    names = dict.fromkeys(row["example"] for row in run.rows.get("examples", ()))
    rows = {name: [row for row in (*free, *guided) if row["example"] == name] for name in names}
    return KeywordExamples(tuple(_example(name, of_example) for name, of_example in rows.items()), included, run)


def _example(name: str, rows: Sequence[Mapping[str, Any]]) -> Example:
    keywords = tuple(filter(None, rows[0]["keywords"].split(", ")))
    answers = (Answer(_by(row), row["answer"], included_keywords(keywords, row["answer"])) for row in rows)
    return Example(name, rows[0]["prompt"], keywords, tuple(answers))


def _by(row: Mapping[str, Any]) -> str:
    return method_name("default") if row["method"] == "default" else f"RWS, {row['name']}"


def table(data: KeywordExamples) -> Table:
    """Return the printed examples and ours, with the keywords that each answer contains."""
    table = printed_in("table3_keyword_examples")
    printed = {
        str(number): {"prompt": row["prompt"], "anchor keywords": ", ".join(row["keywords"])}
        for number, row in enumerate(table["rows"], 1)
    }
    here = {
        str(number): {"prompt": example.prompt, "keywords": ", ".join(example.keywords)}
        | {f"contained by {answer.by}": _told(example, answer) for answer in example.answers}
        for number, example in enumerate(data.examples, 1)
    }
    caption = (
        f"{table['where']}: {table['task']}. Right: the first {len(data.examples)} test prompts here "
        f"({data.run.prompts['source']}), chosen by their place alone. A keyword counts if its words are in the "
        "answer, in any case and inflection. The numbers count examples: the two sides of a row are different prompts."
    )
    return beside("table3_keyword_examples", "example", printed, here, caption)


def _told(example: Example, answer: Answer) -> str:
    lacking = [word for word, contained in zip(example.keywords, answer.contains, strict=True) if not contained]
    return f"{sum(answer.contains)} of {len(answer.contains)}" + (f", lacks {', '.join(lacking)}" if lacking else "")


def passages(data: KeywordExamples) -> tuple[Passage, ...]:
    """Return the answers to each prompt, to be read; the same text by several is given once."""
    made = []
    for number, example in enumerate(data.examples, 1):
        texts: dict[str, list[Answer]] = {}
        for answer in example.answers:
            texts.setdefault(answer.text, []).append(answer)
        parts = [f"Prompt: {example.prompt}", f"Keywords: {', '.join(example.keywords)}"]
        parts += [
            f"{'; '.join(a.by for a in same)} ({_told(example, same[0])}):\n{text}" for text, same in texts.items()
        ]
        caption = f"Example {number} ({example.name}): the answers of the default and of RWS, equal ones together."
        made.append(Passage(f"table3_example_{number}", "\n\n".join(parts), caption))
    return tuple(made)


def _conclusions(data: KeywordExamples) -> tuple[str, ...]:
    counts: dict[str, list[Example]] = {}
    for example in data.examples:
        for answer in example.answers:
            whole = counts.setdefault(answer.by, [])
            if all(answer.contains):
                whole.append(example)
    lines = []
    if counts:
        listed = "; ".join(f"{by} {len(whole)} of {len(data.examples)}" for by, whole in counts.items())
        same = sum(len({answer.text for answer in example.answers}) == 1 for example in data.examples)
        lines.append(
            f"Answers of the examples shown that contain every keyword: {listed}. In {same} of {len(data.examples)} "
            "examples all answers are the same text."
        )
    if data.included:
        asked = max((len(example.keywords) for example in data.examples), default=0)
        listed = "; ".join(f"{by} {mean:.2f}" for by, mean in data.included.items())
        line = f"Keywords included, mean over all {data.run.prompts['test']} prompts: {listed}"
        if asked and all(mean == asked for mean in data.included.values()):
            line += f". That is all {asked} in every answer, so inclusion cannot tell these methods apart here"
        lines.append(f"{line}.")
    return tuple(lines) or ("The run has no answers to show.",)


def exhibit(runs: Path) -> Exhibit:
    """Return Table 3 from the results below `runs`."""
    data = compute(runs)
    return Exhibit(
        "Table 3: keyword prompts and what answers contain",
        tables=(table(data),),
        passages=passages(data),
        conclusions=_conclusions(data),
        inputs=data.run.inputs,
    )
