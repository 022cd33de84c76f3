"""What there is, in the order of the page: the name of every figure's or table's module, under a heading."""

from __future__ import annotations

__all__ = ["CONTENTS", "MODULES", "NAMES"]

CONTENTS: dict[str, tuple[str, ...]] = {
    "Figures of the paper": (
        "fig1_commit_order",
        "fig2_masking",
        "fig3_method",
        "fig4_worked_decode",
        "fig5_mean_win_rate",
        "fig6_keyword_task",
        "appendix_d",
    ),
    "Tables of the paper": (
        "table1_win_rate",
        "table2_llm_judge",
        "table3_keyword_examples",
        "table4_humaneval",
        "table5_god_quintiles",
        "table6_diversity",
        "table7_reward_statistics",
        "table8_temperature",
        "table9_reward_models",
        "table10_llm_judge_orders",
        "table11_overhead",
        "table12_frequency",
        "judge_prompt",
        "dialogues",
    ),
    "What the paper does not show": (
        "controls",
        "cross_judging",
        "scale_path",
        "regimes",
        "saturation",
        "calls_saved",
        "device_cost",
    ),
    "What of the paper holds": ("ledger",),
}
NAMES: tuple[str, ...] = tuple(name for names in CONTENTS.values() for name in names)

_TABLES = (*CONTENTS["Tables of the paper"], "ledger")
# The module of each: in `tables` or in `figures`.
MODULES: dict[str, str] = {
    name: f"paper_figures.{'tables' if name in _TABLES and name != 'dialogues' else 'figures'}.{name}" for name in NAMES
}
