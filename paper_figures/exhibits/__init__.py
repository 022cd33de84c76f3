"""Figures and tables of the page, one file each, found by listing this folder.

The module of an exhibit has `NEEDS`, the studies whose results it reads, and `exhibit(runs)`, which reads, computes,
draws, and returns an `Exhibit` with captions and conclusions. To add one, write its file: it stands last
under `FURTHER`. Name it in `PAGE` to place it elsewhere. Another package adds an exhibit by an entry point of the group
`rws.exhibits`, which names such a module.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import lazy_loader

from rws_decode.common import plugins

EXHIBITS = "rws.exhibits"  # the group of entry points of other packages' exhibits

FURTHER = "What the paper does not show"
# Heading of the page -> its exhibits, in their order.
PAGE: dict[str, str] = {
    "Does the reward matter?": "law_frontier at_a_glance quality_per_forward order_quality table8_pattern evidence",
    "Figures of the paper": "fig1_commit_order fig2_masking fig3_method fig4_worked_decode fig5_mean_win_rate "
    "fig6_keyword_task appendix_d",
    "Tables of the paper": "table1_win_rate table2_llm_judge table3_keyword_examples table4_humaneval "
    "table5_god_quintiles table6_diversity table7_reward_statistics table8_temperature table9_reward_models "
    "table10_llm_judge_orders table11_overhead table12_frequency",
    FURTHER: "scale_path saturation",
    "What of the paper holds": "ledger",
}


def by_heading() -> dict[str, list[str]]:
    """Return heading -> the names under it, both in the order of the page.

    >>> by_heading()["What of the paper holds"]
    ['ledger']
    """
    names = {heading: exhibits.split() for heading, exhibits in PAGE.items()}
    placed = {name for exhibits in names.values() for name in exhibits}
    listed = sorted(file.stem for file in Path(__file__).parent.glob("[!_]*.py"))
    names[FURTHER] += [name for name in (*listed, *plugins.names(EXHIBITS)) if name not in placed]
    return names


NAMES: tuple[str, ...] = tuple(name for exhibits in by_heading().values() for name in exhibits)


def load_exhibit(name: str) -> Any:
    """Import and return the module of an exhibit."""
    own = (Path(__file__).parent / f"{name}.py").is_file()  # which no package replaces
    return import_module(f"{__name__}.{name}") if own else plugins.find(EXHIBITS, name)


# What an exhibit is made of; no stub lists it, as results depend on the code that they reach by imports.
__getattr__, _, _ = lazy_loader.attach(
    __name__, submod_attrs={"shared.exhibit": "Exhibit Interactive MissingRun Picture Story figure save styled".split()}
)
