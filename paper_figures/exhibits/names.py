"""What guides and methods are called, in tables and in sentences, and the order of methods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from paper_figures.studies.options import METHODS
from paper_figures.table import Row
from rws_decode.rewards.registry import PUBLISHED


def method_name(method: str) -> str:
    """Return what a method is called in tables; its own name if it has no other.

    >>> method_name("constant"), method_name("best of three")
    ('constant of equal mean', 'best of three')
    """
    return METHODS[method].title if method in METHODS else method


def capital(text: str) -> str:
    """Return a text with its first letter as a capital, and the others as they are.

    >>> capital("constant of equal mean"), capital("RWS")
    ('Constant of equal mean', 'RWS')
    """
    return text[:1].upper() + text[1:]


def in_words(method: str) -> str:
    """Return what a method is called in a sentence, after "RWS minus".

    >>> in_words("constant"), in_words("best of three")
    ('a constant factor of equal mean', 'best of three')
    """
    return METHODS[method].phrase if method in METHODS else method


def methods_in(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the methods of the rows in the order of tables; methods without a name come last."""
    present = dict.fromkeys(row["method"] for row in rows)
    return [name for name in METHODS if name in present] + [name for name in present if name not in METHODS]


def controls_of(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the controls among the rows' methods, without the default, in the order of tables."""
    return [method for method in methods_in(rows) if method not in ("rws", "default")]


def guide_name(guide: str) -> str:
    """Return the paper's name of a reward model; a model that is not the paper's keeps its own.

    >>> guide_name("skywork-v0.2"), guide_name("mini")
    ('Skywork', 'mini')
    """
    return next((entry.paper for entry in PUBLISHED.values() if guide in (entry.name, entry.hub_id)), guide)


def names_of(rows: Iterable[Row]) -> list[str]:
    """Return the `name` of each guide in the rows, in their order."""
    return list(dict.fromkeys(row["name"] for row in rows))


def with_guide_names(rows: Iterable[Row], order: Sequence[str]) -> list[dict[str, Any]]:
    """Return rows with their guide's name as `name`, the guides in `order`, their mean last.

    The paper's reward models have the paper's names. A guide with several reward scales has the scale in its name.

    >>> rows = [{"guide": guide, "reward_scale": scale} for guide, scale in [("all", 8.0), ("grm", 8.0), ("grm", 2.0)]]
    >>> [row["name"] for row in with_guide_names(rows, ["grm"])]
    ['GRM, s_R = 2', 'GRM, s_R = 8', 'mean of all guides']
    """
    rows = [dict(row) for row in rows]
    scales: dict[str, set[float | None]] = {}
    for row in rows:
        scales.setdefault(row["guide"], set()).add(row["reward_scale"])
    for row in rows:
        row["name"] = "mean of all guides" if row["guide"] == "all" else guide_name(row["guide"])
        if len(scales[row["guide"]]) > 1:
            row["name"] += f", s_R = {row['reward_scale']:g}"
    order_of = {guide: position for position, guide in enumerate(order)}
    return sorted(rows, key=lambda row: (order_of.get(row["guide"], len(order_of)), row["reward_scale"] or 0.0))
