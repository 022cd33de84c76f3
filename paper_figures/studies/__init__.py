"""List the studies of `rws experiment NAME`: a file and a line in `STUDIES` each.

The file of a study is read from top to bottom: its options, its run, its units of work, its rows, its tables. It has

- `run(options) -> dict`, whose argument's type is the dataclass of its options; it returns what `--json` prints, and
  its "message" is printed without `--json`;
- `tables(frame, seed=...) -> list[Table]`, from the rows of its units. It takes `folder`, the folder of the study's
  files, if the study keeps more than units.

Studies share `options` (prompts, models, decoding), `prompts` (which are asked), `study` (stages, files, dry run),
`comparison` (the same prompts answered by many methods), `work` (what a unit computes) and `answers` (rows with their
measures). What loads PyTorch is imported in the functions that do the work, so that bad options are refused at once.
Another package adds a study by an entry point of the group `rws.studies`, which names such a module.
"""

from __future__ import annotations

import ast
from importlib import import_module
from importlib.util import find_spec
from typing import Any, get_type_hints

from rws_decode.common import plugins

GROUP = "rws.studies"  # the group of entry points of other packages' studies
STUDIES: dict[str, str] = {
    "reward-bench": "win rates of RWS against confidence, by reward, judge and GOD",
    "keywords": "perplexity, GOD, keywords included, by reward",
    "diversity": "distinct-1, distinct-2 of RWS beside every control",
    "mt-bench": "two-turn dialogues, judged by reward models and by an LLM in both orders",
    "frequency": "RWS that asks at every 1st, 2nd, 4th step: GOD, time",
    "overhead": "seconds and memory that each reward costs, and savings",
    "temperature": "temperature against reward on keyword prompts",
    "precision": "how much of the order is due to rounding, per scale",
    "scale-path": "every answer on the axes of c and s_R, and what one alone reaches",
    "commit-order": "left to right, confidence and RWS, step by step",
    "humaneval": "pass@k of programs, or of the mini models' puzzles, by method",
    "evidence": "what the reward does in RWS: every control, 400 prompts a model, Pareto front",
    "laws": "how far sampling distributions are from the model's, and why",
    "rivals": "samplers of other papers beside confidence and RWS: reward, order, cost",
    "controls": "RWS beside constant, shuffled, flipped and random rewards, and best of N",
}


def every_study() -> dict[str, str]:
    """Return the studies by name, each with what it is for: the core's, then those that packages offer."""
    return STUDIES | {name: _about(name) for name in plugins.names(GROUP) if name not in STUDIES}


def _about(name: str) -> str:
    """Return the first line of a package's study. The module is read, not imported, as it loads large libraries."""
    (module, *_) = plugins.modules(GROUP, name)
    try:
        source = find_spec(module).loader.get_source(module)  # type: ignore[union-attr]
        return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]
    except Exception as error:  # whatever a foreign package does: its command says more
        return f"cannot be loaded ({type(error).__name__})"


def study_module(name: str) -> Any:
    """Import and return the module of a study."""
    own = name in STUDIES  # which no package replaces
    return import_module(f"{__name__}.{name.replace('-', '_')}") if own else plugins.find(GROUP, name)


def options_class(name: str) -> Any:
    """Return the class of a study's options: the type of what its `run` takes."""
    return get_type_hints(study_module(name).run)["options"]
