"""List the studies of `rws experiment NAME`: a file, its options and a line in `STUDIES` each.

The module of a study has two functions:

- `run(options) -> dict` runs it and returns what `--json` prints; the dict's "message" is printed without `--json`;
- `tables(frame, seed=...) -> list[Table]` makes its tables from the rows of its units. It takes `folder`, the folder of
  the study's files, if the study keeps more than units.

Its options are a dataclass in `studies.options`, which `--help` reads without waiting for PyTorch. `design.asked` reads
which prompts are asked, for all studies in the same way: --data, --examples and --prompt. `design.comparison` runs
studies that compare arms over prompts.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple


class Study(NamedTuple):
    """A study: its options' class in `studies.options`, and a line on what it does; its module has its name."""

    options: str
    summary: str


def study_module(name: str) -> Any:
    """Import and return the module of a study."""
    return import_module(f"{__name__}.{name.replace('-', '_')}")


def options_class(name: str) -> Any:
    """Return the class of a study's options; what is large is not imported for it."""
    return getattr(import_module(f"{__name__}.options"), STUDIES[name].options)


STUDIES: dict[str, Study] = {
    "reward-bench": Study("RewardBenchOptions", "win rates of RWS against the default, by every judge, guide and GOD"),
    "keywords": Study("KeywordsOptions", "perplexity, GOD, keywords included, by guide"),
    "diversity": Study("DiversityOptions", "distinct-1, distinct-2 of RWS beside every control"),
    "mt-bench": Study("MTBenchOptions", "two-turn dialogues, judged by reward models and by an LLM in both orders"),
    "frequency": Study("FrequencyOptions", "RWS that asks at every 1st, 2nd, 4th step: GOD, time"),
    "overhead": Study("OverheadOptions", "seconds and memory that each guide costs, and savings"),
    "temperature": Study("TemperatureOptions", "temperature against reward on keyword prompts"),
    "precision": Study("PrecisionOptions", "how much of the order is due to rounding, per scale"),
    "scale-path": Study("ScalePathOptions", "every answer on the axes of c and s_R, and what one alone reaches"),
    "commit-order": Study("CommitOrderOptions", "left to right, confidence and RWS, step by step"),
    "humaneval": Study("HumanEvalOptions", "pass@k of programs, or of the mini models' puzzles, by method"),
    "evidence": Study(
        "EvidenceOptions", "what the reward does in RWS: every control, 400 prompts a world, the frontier"
    ),
    "laws": Study("LawsOptions", "how far samplers' laws are from the model's, and what moves them: four leaks"),
    "rivals": Study("RivalsOptions", "samplers of other papers beside the default and RWS: reward, order, cost"),
    "controls": Study("ControlsOptions", "RWS beside constant, shuffled, flipped and random rewards, and best of N"),
}
