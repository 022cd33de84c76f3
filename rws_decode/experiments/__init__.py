"""The experiments of `python -m rws_decode experiment NAME`: one line each in `EXPERIMENTS`.

A module named there has `add_arguments(parser)` and `run(args) -> dict`, what `--json` prints; the dict's "message" is
printed without `--json`; and, where its results are units, `tables(frame, seed=...) -> list[report.Table]`, which
takes `folder`, where the experiment's files are, where it keeps more than units. Modules import PyTorch only in what
`run` calls, so that --help answers at once.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["EXPERIMENTS", "Experiment"]


class Experiment(NamedTuple):
    """An experiment: its module, and a line on what it does."""

    module: str
    summary: str


EXPERIMENTS: dict[str, Experiment] = {
    "reward-bench": Experiment(
        "rws_decode.experiments.reward_bench", "win rates of RWS against the default, by every judge, guide and GOD"
    ),
    "keywords": Experiment("rws_decode.experiments.keywords", "perplexity, GOD, keywords included, by guide"),
    "diversity": Experiment("rws_decode.experiments.diversity", "distinct-1, distinct-2 of RWS beside every control"),
    "examples": Experiment("rws_decode.experiments.examples", "dialogues side by side, chosen by a rule that is told"),
    "mt-bench": Experiment(
        "rws_decode.experiments.mt_bench", "two-turn dialogues, judged by reward models and by an LLM in both orders"
    ),
    "frequency": Experiment("rws_decode.experiments.frequency", "RWS that asks at every 1st, 2nd, 4th step: GOD, time"),
    "overhead": Experiment("rws_decode.experiments.overhead", "seconds and memory that each guide costs, and savings"),
    "temperature": Experiment("rws_decode.experiments.temperature", "temperature against reward on keyword prompts"),
    "precision": Experiment("rws_decode.experiments.precision", "how much of the order is due to rounding, per scale"),
    "reach": Experiment(
        "rws_decode.experiments.reach", "what any temperature reaches, any reward scale, only one of them"
    ),
    "scale-path": Experiment(
        "rws_decode.experiments.path_profile", "every answer on the axes of c and s_R, scored, and where RWS walks"
    ),
    "regimes": Experiment(
        "rws_decode.experiments.regimes", "Theorem 1's cases, and the true crossings, of random and real pairs"
    ),
    "commit-order": Experiment(
        "rws_decode.experiments.commit_order", "left to right, confidence and RWS, step by step"
    ),
    "humaneval": Experiment(
        "rws_decode.experiments.humaneval", "pass@k of programs, or of the mini models' puzzles, by method"
    ),
    "controls": Experiment(
        "rws_decode.experiments.controls", "RWS beside constant, shuffled, flipped and random rewards, and best of N"
    ),
}
