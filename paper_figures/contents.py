"""The one table of figures and tables, in the order of the page: name -> heading on the page, module.

A module of this table has `NEEDS`, the experiments whose results it reads, and `exhibit(runs)`, which returns an
`exhibits.exhibit.Exhibit`. To add a figure or a table, write that module and add one line here.
"""

from __future__ import annotations

from typing import NamedTuple

from paper_figures.plugins import EXHIBITS, registered


class Entry(NamedTuple):
    """Where an exhibit is on the page, and which module of this package makes it."""

    heading: str
    module: str


_QUESTION = "Does the reward matter?"
_FIGURES, _TABLES = "Figures of the paper", "Tables of the paper"
_FURTHER, _LEDGER = "What the paper does not show", "What of the paper holds"

CONTENTS: dict[str, Entry] = {
    "law_frontier": Entry(_QUESTION, "paper_figures.figures.law_frontier"),
    "at_a_glance": Entry(_QUESTION, "paper_figures.figures.at_a_glance"),
    "quality_per_forward": Entry(_QUESTION, "paper_figures.figures.quality_per_forward"),
    "order_quality": Entry(_QUESTION, "paper_figures.figures.order_quality"),
    "table8_pattern": Entry(_QUESTION, "paper_figures.figures.table8_pattern"),
    "evidence": Entry(_QUESTION, "paper_figures.tables.evidence"),
    "fig1_commit_order": Entry(_FIGURES, "paper_figures.figures.fig1_commit_order"),
    "fig2_masking": Entry(_FIGURES, "paper_figures.figures.fig2_masking"),
    "fig3_method": Entry(_FIGURES, "paper_figures.figures.fig3_method"),
    "fig4_worked_decode": Entry(_FIGURES, "paper_figures.figures.fig4_worked_decode"),
    "fig5_mean_win_rate": Entry(_FIGURES, "paper_figures.figures.fig5_mean_win_rate"),
    "fig6_keyword_task": Entry(_FIGURES, "paper_figures.figures.fig6_keyword_task"),
    "appendix_d": Entry(_FIGURES, "paper_figures.figures.appendix_d"),
    "table1_win_rate": Entry(_TABLES, "paper_figures.tables.table1_win_rate"),
    "table2_llm_judge": Entry(_TABLES, "paper_figures.tables.table2_llm_judge"),
    "table3_keyword_examples": Entry(_TABLES, "paper_figures.tables.table3_keyword_examples"),
    "table4_humaneval": Entry(_TABLES, "paper_figures.tables.table4_humaneval"),
    "table5_god_quintiles": Entry(_TABLES, "paper_figures.tables.table5_god_quintiles"),
    "table6_diversity": Entry(_TABLES, "paper_figures.tables.table6_diversity"),
    "table7_reward_statistics": Entry(_TABLES, "paper_figures.tables.table7_reward_statistics"),
    "table8_temperature": Entry(_TABLES, "paper_figures.tables.table8_temperature"),
    "table9_reward_models": Entry(_TABLES, "paper_figures.tables.table9_reward_models"),
    "table10_llm_judge_orders": Entry(_TABLES, "paper_figures.tables.table10_llm_judge_orders"),
    "table11_overhead": Entry(_TABLES, "paper_figures.tables.table11_overhead"),
    "table12_frequency": Entry(_TABLES, "paper_figures.tables.table12_frequency"),
    "scale_path": Entry(_FURTHER, "paper_figures.figures.scale_path"),
    "saturation": Entry(_FURTHER, "paper_figures.figures.saturation"),
    "ledger": Entry(_LEDGER, "paper_figures.tables.ledger"),
}
CONTENTS |= {name: Entry(_FURTHER, module) for name, module in registered(EXHIBITS).items()}
CONTENTS["ledger"] = CONTENTS.pop("ledger")  # the last
NAMES: tuple[str, ...] = tuple(CONTENTS)


def by_heading() -> dict[str, list[str]]:
    """Return heading -> the names under it, both in the order of the page.

    >>> by_heading()["What of the paper holds"]
    ['ledger']
    """
    names: dict[str, list[str]] = {}
    for name, entry in CONTENTS.items():
        names.setdefault(entry.heading, []).append(name)
    return names
