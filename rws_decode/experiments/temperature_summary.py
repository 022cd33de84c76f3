"""The temperature experiment put together: a row per method and scale, and RWS against its controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rws_decode.metrics import (
    AnswerScore,
    Interval,
    bootstrap_interval,
    distinct_n,
    mean_perplexity,
    paired_bootstrap_interval,
    pooled_perplexity,
    share_interval,
)

__all__ = ["COMPARED", "METRICS", "compare", "controls_markdown_rows", "summarise", "summary_markdown_rows"]

Row = Mapping[str, Any]
Rows = Mapping[tuple[str, float], Sequence[Row]]

COMPARED = ("constant", "shuffled", "temperature", "default")
METRICS = ("perplexity", "coherent", "exact", "reward", "judge", "god_tokens", "god_steps", "keywords_included")
_AVERAGED = ("reward", "keywords_included", "mean_factor", "ended", "ties", "reward_calls", "reward_calls_saved")


def _rng(seed: int, *names: object) -> np.random.Generator:
    """Return a generator of its own for each statistic, so that none depends on what else is computed."""
    return np.random.default_rng([seed, *"-".join(map(str, names)).encode()])


def _mean(rows: Sequence[Row], field: str) -> float:
    return float(np.mean([row[field] for row in rows]))


def summarise(cells: Rows, seed: int) -> list[dict[str, Any]]:
    """Return one row per method and scale, in the order given; `temperature` says what each column means."""
    default = {row["index"]: row["text"] for rows in _of(cells, "default") for row in rows}
    out = []
    for (method, scale), rows in cells.items():
        scores = [AnswerScore(row["nll"], row["answer_tokens"] + 1) for row in rows]
        true = [row["true_perplexity"] for row in rows if row["true_perplexity"] is not None]
        line: dict[str, Any] = {"method": method, "scale": scale, "n": len(rows)}

        def interval(field: str, found: Interval, line: dict[str, Any] = line) -> None:
            line.update({field: found.mean, f"{field}_low": found.low, f"{field}_high": found.high})

        def resampled(field: str, rows: Sequence[Row] = rows, names: tuple[object, ...] = (method, scale)) -> Interval:
            return bootstrap_interval([row[field] for row in rows], _rng(seed, *names, field))

        interval("perplexity", resampled("perplexity")._replace(mean=mean_perplexity(scores)))
        line["perplexity_median"] = float(np.median([row["perplexity"] for row in rows]))
        line["perplexity_pooled"] = pooled_perplexity(scores)
        line["true_perplexity"] = float(np.mean(true)) if true else None
        line["true_perplexity_n"] = len(true)
        interval("coherent", share_interval(sum(row["coherent"] for row in rows), len(rows)))
        for field in ("god_tokens", "god_steps", "exact", "judge"):
            interval(field, resampled(field))
        for field in _AVERAGED:
            line[field] = _mean(rows, field)
        line["saturated_share"] = sum(row["saturated"] for row in rows) / sum(row["eligible"] for row in rows)
        line["distinct_2"] = distinct_n([row["text"] for row in rows], 2)
        line["same_as_default"] = float(np.mean([row["text"] == default.get(row["index"]) for row in rows]))
        out.append(line)
    return out


def _of(cells: Rows, method: str) -> list[Sequence[Row]]:
    return [rows for (name, _), rows in cells.items() if name == method]


def compare(cells: Rows, seed: int) -> list[dict[str, Any]]:
    """Return mean differences, rws minus another method on the same prompts, with 95 % intervals: one row per metric.

    `default` is compared at every scale; the others at the scale of the rws run.
    """
    out = []
    for (method, scale), rows in cells.items():
        if method != "rws":
            continue
        for control in COMPARED:
            others = cells.get((control, 1.0 if control == "default" else scale))
            if others is None:
                continue
            same = float(np.mean([row["text"] == other["text"] for row, other in zip(rows, others, strict=True)]))
            for metric in METRICS:
                ours, theirs = [row[metric] for row in rows], [row[metric] for row in others]
                found = paired_bootstrap_interval(
                    np.asarray(ours, float), np.asarray(theirs, float), _rng(seed, "rws", control, scale, metric)
                )
                line = {"control": control, "scale": scale, "metric": metric, "n": len(rows)}
                line |= {"rws": float(np.mean(ours)), "other": float(np.mean(theirs))}
                out.append(line | {"difference": found.mean, "low": found.low, "high": found.high, "same_text": same})
    return out


def summary_markdown_rows(summary: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the summary's rows with a mean and its interval in one column, for reading."""
    return [
        {
            "method": row["method"],
            "scale": f"{row['scale']:g}",
            "n": row["n"],
            "perplexity": _shown(row, "perplexity"),
            "pooled": f"{row['perplexity_pooled']:.2f}",
            "true perplexity": None
            if row["true_perplexity"] is None
            else f"{row['true_perplexity']:.2f} (n = {row['true_perplexity_n']})",
            "coherent": _shown(row, "coherent"),
            "GOD tokens": f"{row['god_tokens']:.2f}",
            "GOD steps": f"{row['god_steps']:.2f}",
            "keywords": f"{row['keywords_included']:.2f}",
            "reward": f"{row['reward']:.2f}",
            "judge": f"{row['judge']:.2f}",
            "exact": f"{row['exact']:.2f}",
            "mean factor": f"{row['mean_factor']:.3g}",
            "saturated": f"{100 * row['saturated_share']:.1f} %",
        }
        for row in summary
    ]


def controls_markdown_rows(controls: Sequence[Row]) -> list[dict[str, Any]]:
    """Return one row per control and scale, a column per metric, for reading."""
    table: dict[tuple[str, float], dict[str, Any]] = {}
    for row in controls:
        line = table.setdefault(
            (row["control"], row["scale"]), {"rws minus": row["control"], "scale": f"{row['scale']:g}"}
        )
        line[row["metric"]] = f"{row['difference']:+.2f} [{row['low']:+.2f}, {row['high']:+.2f}]"
        line["same text"] = f"{100 * row['same_text']:.0f} %"
    order = {control: place for place, control in enumerate(COMPARED)}
    return [table[key] for key in sorted(table, key=lambda key: (order[key[0]], key[1]))]


def _shown(row: Row, field: str) -> str:
    return f"{row[field]:.2f} [{row[f'{field}_low']:.2f}, {row[f'{field}_high']:.2f}]"
