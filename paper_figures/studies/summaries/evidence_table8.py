"""Ask what of the paper's Table 8, GOD up and perplexity down against the default, needs a reward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import pandas as pd

from paper_figures.studies.design.evidence_arms import WORLDS, Arm
from paper_figures.studies.summaries.evidence_comparisons import Comparison, difference_interval
from paper_figures.studies.summaries.evidence_measures import MEASURES
from paper_figures.studies.summaries.evidence_words import (
    MADE,
    control_name,
    listed_words,
    setting_words,
    short_text,
)


def table8_rows(rows: Sequence[Comparison], arms: Mapping[Arm, pd.DataFrame], world: str) -> list[dict[str, Any]]:
    """Return the change of GOD and of perplexity against the default, of RWS and of the controls from its runs.

    Each row also has whether both clearly go as in Table 8, and RWS minus the control in log p or log perplexity.
    """
    default, quality = arms.get(Arm("default")), "log_prob" if WORLDS[world].exact else "nll"
    better = 1 if quality == "log_prob" else -1  # log p up, or log perplexity down
    scales = sorted({arm.number or 0 for arm in arms if arm.method == "rws" and not arm.sampling_temperature})
    made = []
    for arm in (Arm(method, scale) for scale in scales for method in ("rws", *MADE)):
        if default is None or arm not in arms:
            continue
        god, other = (difference_interval((arms[arm], default), world, name) for name in ("god", quality))
        if god is None or other is None:
            continue
        key = (world, False, quality, arm.number, arm.method)
        direct = next((r for r in rows if (r.world, r.drawn, r.measure, r.scale, r.arm.method) == key), None)
        pattern = god.low > 0 and min(better * other.low, better * other.high) > 0
        made.append(
            {"world": world, "s_R": arm.number, "method": arm.method, "god": god, "quality": other, "name": quality}
            | {"pattern": pattern, "direct": direct}
        )
    return made


def table8_lines(rows: Sequence[Comparison], arms: Mapping[Arm, pd.DataFrame], world: str) -> list[str]:
    """Return at which s_R RWS and its controls have Table 8's pattern, and what RWS has over its controls then."""
    lines, without = [], []
    for scale, group in groupby(table8_rows(rows, arms, world), key=lambda row: row["s_R"]):
        kept = list(group)
        shown = [control_name(row["method"]) for row in kept if row["pattern"]]
        if not shown:
            without.append(f"{scale:g}")
            continue
        lines.append(
            f"{setting_words(world, False)}, s_R = {scale:g}: GOD rises and perplexity falls against the default for "
            f"{listed_words(shown)}."
        )
        lines += [
            f"RWS minus {control_name(row['method'])} in {MEASURES[row['name']].title}: {short_text(row['direct'])}"
            for row in kept
            if row["direct"] is not None
        ]
    if without:
        lines.append(
            f"{setting_words(world, False)}, s_R = {listed_words(without)}: GOD up and perplexity down, as in Table 8, "
            "is seen neither for RWS nor for its controls."
        )
    return lines
