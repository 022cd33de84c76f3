"""Compare RWS with controls: its order without the reward's information, other orders, and other uses of its cost.

At every reward scale s_R of every reward the methods are:

- `rws`;
- `constant`, the fixed factor that equals the mean factor of the prompt's own rws run;
- `shuffled`, the normalised rewards of that run permuted over the steps;
- `flipped`, which takes -r for the reward r;
- `random`, which takes standard normal noise for r, the same for all rewards and scales.

These methods have no scale:

- `default`, confidence;
- `margin`, the top-two margin of the logits, to which the order of a growing factor tends;
- `best-of-n`, samples at `--sampling-temperature`, of which the reward picks the best. N makes N x (forwards + one
  reward call) nearest to the mean cost of rws, and is at least 2.

Costs count a reward call as `--reward-cost` forwards. See `studies.comparison`. The files below OUT/controls are the
units' parts, and `controls.csv|md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paper_figures.statistics.means import against_rws, summary_table
from paper_figures.studies.answers import answers_of, judged_by_guide
from paper_figures.studies.comparison import run_comparison
from paper_figures.studies.options import ComparisonOptions, Drawn, Usual
from paper_figures.table import Table
from rws_decode.common.later import pd

NAME = "controls"


@dataclass(frozen=True)
class ControlsOptions(ComparisonOptions):
    """The options of `experiment controls`."""

    data: str = Usual("examples:keywords")
    prompts: int = Drawn(24)
    rewards: tuple[str, ...] = ("mini",)
    judges: tuple[str, ...] = ("mini-judge",)
    reward_scale: tuple[float, ...] | None = (2.0, 8.0, 32.0)


_CAPTION = (
    "Mean over prompts: net, prompts won minus lost against the default in the guide's judgement; others_net, the mean "
    "of that over all other reward models; own_score, the guide's raw score; coherent, share with no rule of the story "
    "language broken; samples, of which the answer is the best; "
    "cost, forwards + {reward_cost:g} x reward calls. In brackets the mean difference to rws at the "
    "same scale on the same prompts, its paired 95 % interval, and p of the sign-flip permutation test, "
    "corrected over guides and scales by Holm's method."
)


def run(options: ControlsOptions) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    return run_comparison(options, NAME, tables)


def tables(frame: pd.DataFrame, *, seed: int = 0) -> list[Table]:
    """Return the study's table from its rows: every method against rws at the same scale."""
    judged = judged_by_guide(answers_of(frame))
    if not len(judged):
        return []
    measures = ("net", "others_net", "own_score", "coherent", "god_tokens", "god_steps", "samples", "cost")
    caption = _CAPTION.format(reward_cost=judged["reward_cost"].iloc[0])
    table = summary_table("controls", caption, judged, against_rws(measures, "example", "turn"), seed)
    return [] if table is None else [table]
