"""List the studies of `python -m paper_figures experiment NAME`: one file and one line in `STUDIES` each.

The module of a study has three parts:

- `Options`, a dataclass of its options;
- `run(options) -> dict` runs it and returns what `--json` prints; the dict's "message" is printed without `--json`;
- `tables(frame, seed=...) -> list[Table]` makes its tables from the rows of its units. It takes `folder`, the folder of
  the study's files, if the study keeps more than units.

`design.asked` reads which prompts are asked, for all studies in the same way: --data, --examples and --prompt.
`design.comparison` runs studies that compare arms over prompts, and `design.single_stage` those of one stage of units.
Modules import PyTorch only in what `run` calls, so that --help answers at once.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["STUDIES", "Study"]


class Study(NamedTuple):
    """A study: its module, and a line that says what it does."""

    module: str
    summary: str


STUDIES: dict[str, Study] = {
    "reward-bench": Study(
        "paper_figures.studies.reward_bench", "win rates of RWS against the default, by every judge, guide and GOD"
    ),
    "keywords": Study("paper_figures.studies.keywords", "perplexity, GOD, keywords included, by guide"),
    "diversity": Study("paper_figures.studies.diversity", "distinct-1, distinct-2 of RWS beside every control"),
    "examples": Study("paper_figures.studies.examples", "dialogues side by side, chosen by a rule that is told"),
    "mt-bench": Study(
        "paper_figures.studies.mt_bench", "two-turn dialogues, judged by reward models and by an LLM in both orders"
    ),
    "frequency": Study("paper_figures.studies.frequency", "RWS that asks at every 1st, 2nd, 4th step: GOD, time"),
    "overhead": Study("paper_figures.studies.overhead", "seconds and memory that each guide costs, and savings"),
    "temperature": Study("paper_figures.studies.temperature", "temperature against reward on keyword prompts"),
    "precision": Study("paper_figures.studies.precision", "how much of the order is due to rounding, per scale"),
    "reach": Study("paper_figures.studies.reach", "what any temperature reaches, any reward scale, only one of them"),
    "scale-path": Study(
        "paper_figures.studies.scale_path", "every answer on the axes of c and s_R, scored, and where RWS walks"
    ),
    "commit-order": Study("paper_figures.studies.commit_order", "left to right, confidence and RWS, step by step"),
    "humaneval": Study(
        "paper_figures.studies.humaneval", "pass@k of programs, or of the mini models' puzzles, by method"
    ),
    "evidence": Study(
        "paper_figures.studies.evidence",
        "what the reward does in RWS: every control, 400 prompts a world, the frontier",
    ),
    "rivals": Study(
        "paper_figures.studies.rivals", "samplers of other papers beside the default and RWS: reward, order, cost"
    ),
    "controls": Study(
        "paper_figures.studies.controls", "RWS beside constant, shuffled, flipped and random rewards, and best of N"
    ),
}
