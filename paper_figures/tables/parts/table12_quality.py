"""The quality of RWS that asks its reward less often, minus RWS at every step, by guide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paper_figures.exhibits.differences import minus_text
from paper_figures.exhibits.names import method_name
from paper_figures.table import Table

Rows = Sequence[Mapping[str, Any]]
_QUALITY = {
    "own_score": "guide's score",
    "others_net": "net wins by other judges",
    "coherent": "share coherent",
    "perplexity": "perplexity",
    "god_steps": "GOD, steps",
    "reward_calls": "reward calls",
}


def every_of(method: str) -> int:
    """Return the number of steps from one call of the reward to the next; 0 for a method that is not RWS.

    >>> every_of("rws"), every_of("rws every 4"), every_of("default")
    (1, 4, 0)
    """
    words = method.split()
    return 0 if words[:1] != ["rws"] else int(words[2]) if words[1:2] == ["every"] else 1


def every_words(every: int) -> str:
    """Return the name of RWS that asks its reward at every so many steps.

    >>> every_words(1), every_words(4)
    ('RWS, every step', 'RWS, every 4 steps')
    """
    return "RWS, every step" if every == 1 else f"RWS, every {every} steps"


def quality_table(stem: str, rows: Rows) -> Table:
    """Return a line per guide and method, that method minus RWS at every step in each measure that the rows have.

    rows: those of the frequency experiment's `quality`, with their guides' names.
    """
    measures = {name: label for name, label in _QUALITY.items() if any(row["measure"] == name for row in rows)}
    methods = dict.fromkeys(row["method"] for row in rows)
    less = sorted((method for method in methods if every_of(method) > 1), key=every_of)
    lines: dict[tuple[str, str], dict[str, str | None]] = {}
    for row in rows:
        if row["method"] in (*less, "constant", "default") and row["measure"] in measures:
            name = every_words(every_of(row["method"])) if row["method"] in less else method_name(row["method"])
            line = lines.setdefault((row["name"], row["method"]), {"guide": row["name"], "method, minus RWS": name})
            line |= {measures[row["measure"]]: _difference(row)}
    caption = (
        "Each method minus RWS at every step, on the same prompts: mean difference, its paired 95 % "
        "interval, * if that excludes zero, and p of the sign-flip permutation test, corrected over the reward models."
    )
    columns = ("guide", "method, minus RWS", *measures.values())
    shown = [{column: line.get(column) for column in columns} for line in lines.values()]
    return Table(stem, rows, shown, caption)


def _difference(row: Mapping[str, Any]) -> str | None:
    if row["difference"] is None:
        return None
    return minus_text({**row, "low": row["difference_low"], "high": row["difference_high"]})


def quality_lines(rows: Rows) -> list[str]:
    """Return in words which tested differences in quality have a corrected p of at most 0.05; no line without rows."""
    less = [row for row in rows if every_of(row["method"]) > 1 and row["difference"] is not None]
    tested = [row for row in less if row["measure"] in ("own_score", "others_net", "coherent", "perplexity")]
    apart = [
        f"{every_words(every_of(row['method']))} with {row['name']}, {_QUALITY[row['measure']]}: {_difference(row)}"
        for row in tested
        if row["p_holm"] is not None and row["p_holm"] <= 0.05
    ]
    if not tested:
        return []
    start = f"Differences in quality of asking less, of {len(tested)} tested, with a corrected p of at most 0.05"
    return [f"{start}: {'; '.join(apart) or 'none'}."]
