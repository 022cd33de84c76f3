"""Numbers that the paper printed, as data, each file with the place in the paper it was read from."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

__all__ = ["NAMES", "published"]

NAMES = (
    "appendix_d",
    "dialogues",
    "keyword_task",
    "setting",
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
)


def published(name: str) -> dict[str, Any]:
    """Return the printed numbers of one figure, table or passage; ValueError for an unknown name.

    >>> published("table8_temperature")["rows"][0]
    {'scale': 0.01, 'perplexity': 13.57, 'god': 0.91}
    """
    if name not in NAMES:
        raise ValueError(f"name is {name!r}: one of {', '.join(NAMES)} is needed")
    return json.loads(files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8"))
