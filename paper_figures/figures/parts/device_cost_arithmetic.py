"""The least work of the paper's decode as tables: beside the printed seconds, by part of a step, by prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paper_figures.figures.parts.device_cost_least_time import A100, ASSUMED_PROMPT, Least
from paper_figures.figures.parts.device_cost_measured import printed_overheads
from paper_figures.table import Table
from rws_theory.printed import printed_in

__all__ = ["arithmetic_tables", "assumed", "of_8b"]


def arithmetic_tables(by_prompt: Mapping[int, Least]) -> tuple[Table, ...]:
    """Return the printed seconds beside the least ones, the parts of a step, and the same by tokens of prompt."""
    least = by_prompt[ASSUMED_PROMPT]
    return (_printed(least), _steps(least), _prompts(by_prompt))


def of_8b() -> list[str]:
    """Return the reward models whose shape the arithmetic uses: Llama 3 and 3.1 of 8B.

    >>> of_8b()
    ['Skywork', 'LlamaOB', 'QRM']
    """
    return [row["model"] for row in printed_in("table9_reward_models")["rows"] if row["size"] == "8B"]


def _printed(least: Least) -> Table:
    table = printed_in("table11_overhead")
    base, overheads, models_8b = table["default_seconds"], printed_overheads(), of_8b()
    default = {"least seconds": least.default_seconds, "over the least": base / least.default_seconds}
    lines = [_line("default", {"seconds": base}, default)]
    for row in table["rows"]:
        extra, (increase, mib) = row["seconds"] - base, overheads[row["model"]]
        seconds, over = (
            (least.reward_seconds, extra / least.reward_seconds) if row["model"] in models_8b else (None, None)
        )
        lines.append(
            _line(
                f"RWS, {row['model']}",
                {"seconds": row["seconds"], "extra seconds": extra, "increase, %, computed": increase}
                | {"memory, MiB": mib},
                {"least seconds": seconds, "over the least": over}
                | {"increase with the default at its least, %": 100 * extra / least.default_seconds},
            )
        )
    caption = (
        f"Left: {table['where']}, {table['task']}. Right, by arithmetic, not measured: the default's least time; for "
        "RWS, the least that a reward read anew at every step adds to it; how many times that the printed (extra) "
        f"seconds are; and the increase of the same extra seconds over a default at its least time. {assumed()} The "
        "reward's shape is known here for those of 8B alone."
    )
    shown = [{key: _text(key, value) for key, value in line.items()} for line in lines]
    return Table("device_cost_printed", lines, shown, caption)


def _text(column: str, value: Any) -> str | None:
    """Return a number to the digits that its column is known to, seconds as printed."""
    if value is None or isinstance(value, str):
        return value
    if "%" in column:
        return f"{value:+.1f}"
    if column.endswith("seconds"):
        return f"{value:.{printed_in('table11_overhead')['decimals']}f}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}"


def _line(method: str, paper: Mapping[str, Any], arithmetic: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of the printed times, with None for what a method does not have."""
    columns = ("seconds", "extra seconds", "increase, %, computed", "memory, MiB")
    computed = ("least seconds", "over the least", "increase with the default at its least, %")
    row: dict[str, Any] = {"method": method} | {f"paper: {name}": paper.get(name) for name in columns}
    return row | {f"arithmetic: {name}": arithmetic.get(name) for name in computed}


def _steps(least: Least) -> Table:
    rows: list[dict[str, Any]] = []
    default = {part["part"]: part for part in least.default}
    numbers = {"Gflop": "gigaflop", "MB": "megabytes", "ms": "ms", "bound by": "bound"}
    for part in least.rws:
        row: dict[str, Any] = {"part": part["part"]}
        for name, part_of in (("default", default.get(part["part"])), ("RWS", part)):
            row |= {f"{name}: {label}": None if part_of is None else part_of[key] for label, key in numbers.items()}
        rows.append(row)
    total: dict[str, Any] = {"part": "all"}
    for column in list(rows[0])[1:]:
        total[column] = None if column.endswith("bound by") else sum(row[column] or 0.0 for row in rows)
    caption = (
        f"The least work of a step, means over the steps, and its least time on an {A100.name}: each part takes the "
        "longer of its operations and its bytes at the device's limits. RWS asks at every step, and the reward model "
        "reads prompt and answer anew. Arithmetic, nothing measured."
    )
    rows.append(total)
    shown = [{key: _text(key, value) for key, value in row.items()} for row in rows]
    return Table("device_cost_steps", rows, shown, caption)


def _prompts(by_prompt: Mapping[int, Least]) -> Table:
    printed = printed_in("table11_overhead")["default_seconds"]
    rows = [
        {
            "tokens of prompt": prompt,
            "default, least seconds": least.default_seconds,
            "printed over the least": printed / least.default_seconds,
            "RWS, more operations, %": least.more_operations,
        }
        | {f"least increase, every {every}, %": least.increase(every) for every in least.rws_seconds}
        for prompt, least in by_prompt.items()
    ]
    texts = [{key: _text(key, value) for key, value in row.items()} for row in rows]
    shown = [text | {"tokens of prompt": str(row["tokens of prompt"])} for text, row in zip(texts, rows, strict=True)]
    caption = (
        "The same by the length of the prompt, which the paper does not say. Least increase: of RWS that asks at every "
        "k-th step, where it and the default take their least time."
    )
    return Table("device_cost_prompts", rows, shown, caption)


def assumed() -> str:
    """Return what the arithmetic assumes."""
    setting = printed_in("setting")
    return (
        f"Assumed: the shapes of LLaDA-8B and Llama-3.1-8B, two bytes a weight, {ASSUMED_PROMPT} tokens of "
        f"prompt, {setting['length']} tokens in {setting['steps']} steps, blocks of {setting['block']}, batch 1; "
        f"{A100.rate / 1e12:g} TFLOP/s and {A100.bandwidth / 1e9:,g} GB/s ({A100.where}), which no program reaches."
    )
