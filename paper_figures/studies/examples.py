"""Set dialogues side by side: the default, RWS of each guide and a constant factor, chosen by a stated rule.

The paper's Appendix "Qualitative Multi-turn Examples" shows one dialogue and does not say how it was chosen. Here
`--pick` names the rule:

- `first`: the first test prompts;
- `random`: prompts drawn by the seed;
- `different`: the first of those where RWS of some guide answers otherwise than the default.

The share of dialogues that equal the default's is always given. These files go below OUT/examples, besides the units'
parts with the trace of every answer and `selection.json|csv`:

- `examples.md`, for reading;
- `examples.json`, the same with every token and the step that committed it;
- `identical`, how often nothing differs.
"""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import Any

import pandas as pd

from paper_figures.runner.units import Unit
from paper_figures.studies.design.arms import run_arms
from paper_figures.studies.design.comparison import arms_from, run_comparison, scales_from
from paper_figures.studies.design.prompts import Prompts
from paper_figures.studies.design.stages import Stages
from paper_figures.studies.options import ExamplesOptions
from paper_figures.studies.summaries.answers import answers_of, dialogues_of, judged_by_guide, mean_over_turns
from paper_figures.studies.summaries.means import Summary, summary_table
from paper_figures.studies.summaries.side_by_side import answers_text, page, pick, side_by_side
from paper_figures.table import Table
from rws_decode.common.files import write_changed

NAME = "examples"


def run(options: ExamplesOptions) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    if options.show < 1:
        raise ValueError(f"--show is {options.show}: at least 1 dialogue is needed")
    frames = []

    def run_stages(options: ExamplesOptions, base: Unit, prompts: Prompts, stages: Stages) -> None:
        run_arms(arms_from(options, base, prompts, scales_from(options, base, prompts, stages)), stages)
        frames.append((stages.outcome().frame, [prompt.name for prompt in prompts.test]))

    result = run_comparison(options, NAME, tables, run_stages)

    (frame, names), folder = frames[0], Path(options.out) / NAME
    answers = answers_of(frame)
    if not len(answers):
        return result
    chosen = pick(answers, names, options.pick, options.show, options.seed)
    examples = side_by_side(answers, chosen)

    write_changed(folder / "examples.json", dumps(examples, ensure_ascii=False, indent=1, allow_nan=False) + "\n")
    path = write_changed(folder / "examples.md", page(examples))
    text = f"{answers_text(examples)}\nwith every token's step: {path}\n"
    return result | {"examples": examples, "message": f"{text}\n{result['message']}"}


def tables(frame: pd.DataFrame, *, seed: int = 0) -> list[Table]:
    """Return the study's table from its rows: how often a method answers as the default does."""
    answers = answers_of(frame)
    judged = judged_by_guide(answers)
    if not len(judged):
        return []
    dialogues = dialogues_of(answers)
    pairs = list(zip(dialogues["replied"], dialogues["default_replied"], strict=True))
    comparison = dialogues.assign(
        identical=[float(ours == default) for ours, default in pairs],
        identical_first=[float(ours[0] == default[0]) for ours, default in pairs],
    )
    keys = ["guide", "reward_scale", "method", "example"]
    measures = ("net", "others_net", "own_score", "coherent", "god_steps")
    means = mean_over_turns(judged, keys[:-1], measures)
    on = [name for name in means if name in comparison]
    frame = means.merge(comparison.drop(columns=["asked", "replied", "default_replied", "answers"]), on=on, how="inner")
    table = summary_table(
        "identical",
        "Share of dialogues whose answers are the default's: in all turns, in the first; and means over the turns: "
        "net, answers won minus lost against the default in the guide's judgement, others_net, in that of all others; "
        "own_score, raw; coherent. Of all test prompts, not of those shown. In brackets the mean difference to rws of "
        "the same guide, its paired 95 % interval, and p of the sign-flip permutation test, corrected over "
        "the reward models by Holm's method.",
        frame,
        Summary(
            ("identical", "identical_first", *measures),
            ("guide", "reward_scale", "method"),
            {"method": "rws"},
            ("example",),
            ("guide", "reward_scale"),
        ),
        seed,
    )
    return [] if table is None else [table]
