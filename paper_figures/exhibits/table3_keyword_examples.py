"""Table 3: keyword prompts, and which of their keywords the answers of confidence decoding and of RWS contain.

Shows: the paper's prompts beside the first test prompts here, with the keywords that each answer contains and those
that it lacks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from paper_figures.data.inclusion import included_keywords
from paper_figures.exhibits.shared.exhibit import Exhibit
from paper_figures.exhibits.shared.results import Results, beside, method_name, read_run, with_guide_names
from paper_figures.table import Table
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ("keywords",)
_STEM = "table3_keyword_examples"


class Example(NamedTuple):
    """A prompt, its keywords, and its answers, that of confidence first: who gave them -> text."""

    prompt: str
    keywords: tuple[str, ...]
    answers: Mapping[str, str]


def _told(example: Example, answer: str) -> str:
    """Return how many of its keywords an answer contains, and which it lacks."""
    found = included_keywords(example.keywords, answer)
    lacking = [word for word, contained in zip(example.keywords, found, strict=True) if not contained]
    return f"{sum(found)} of {len(found)}" + (f", lacks {', '.join(lacking)}" if lacking else "")


def examples_of(run: Results) -> list[Example]:
    """Return the run's first prompts."""
    rows = run.rows.get("examples", ())
    free = [{**row, "name": None} for row in rows if row["guide"] is None]
    guided = with_guide_names([row for row in rows if row["guide"] is not None], run.settings["rewards"])
    examples = []
    for name in dict.fromkeys(row["example"] for row in rows):
        group = [row for row in (*free, *guided) if row["example"] == name]
        by = [f"RWS, {row['name']}" if row["method"] == "rws" else method_name("default") for row in group]
        answers = dict(zip(by, (row["answer"] for row in group), strict=True))
        examples.append(Example(group[0]["prompt"], tuple(filter(None, group[0]["keywords"].split(", "))), answers))
    return examples


def table(run: Results, examples: Sequence[Example]) -> Table:
    """Return the printed examples and ours, with the keywords that each answer contains."""
    table = printed_in(_STEM)
    printed = {
        str(number): {"prompt": row["prompt"], "anchor keywords": ", ".join(row["keywords"])}
        for number, row in enumerate(table["rows"], 1)
    }
    here = {
        str(number): {"prompt": example.prompt, "keywords": ", ".join(example.keywords)}
        | {f"contained by {by}": _told(example, answer) for by, answer in example.answers.items()}
        for number, example in enumerate(examples, 1)
    }
    caption = (
        f"{table['where']}: {table['task']}. Right: the first {len(examples)} test prompts here "
        f"({run.prompts['source']}), chosen by their place alone. A keyword counts if its words are in the "
        "answer, in any case and inflection; keywords/examples.csv of the run has the answers. The numbers count "
        "examples: the two sides of a row are different prompts."
    )
    return beside(_STEM, "example", printed, here, caption)


def exhibit(runs: Path) -> Exhibit:
    """Return Table 3 from the results below `runs`."""
    run = read_run(runs, NEEDS[0])
    examples = examples_of(run)
    whole = {by: 0 for example in examples for by in example.answers}
    for example in examples:
        for by, answer in example.answers.items():
            whole[by] += all(included_keywords(example.keywords, answer))
    listed = "; ".join(f"{by} {count} of {len(examples)}" for by, count in whole.items())
    summary = f"Answers of the examples shown that contain every keyword: {listed}."
    return Exhibit(
        "Table 3: keyword prompts and what answers contain",
        tables=(table(run, examples),),
        conclusions=(summary if examples else "The run has no answers to show.",),
        inputs=run.inputs,
    )
