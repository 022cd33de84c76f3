"""What guidance costs on the hardware: the arithmetic, and the printed and the measured numbers beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paper_figures.exhibits.style import styled
from paper_figures.figures import device_cost
from paper_figures.figures.device_cost import A100, PROMPT, least, printed_parts
from rws_theory.printed import printed_in


def test_the_least_time_is_nearly_that_of_operations_counted_by_hand() -> None:
    # Llama's layers: 4 square matrices of attention (keys and values narrower), 3 of the MLP; 320 tokens in 128 steps.
    predictor = 32 * (4 * 4096**2 + 3 * 4096 * 12288)
    reward = 32 * (2 * 4096**2 + 2 * 4096 * 1024 + 3 * 4096 * 14336)
    tokens = PROMPT + 256
    pairs = 4 * 32 * 4096 * tokens**2
    # Masked positions of the block: two fewer at each step, blocks of 16 steps.
    head = 2 * 4096 * 126_464 * 8 * sum(32 - 2 * step for step in range(16))
    default = 128 * (2 * predictor * tokens + pairs) + head
    assert default / A100.rate < least().default < 1.1 * default / A100.rate
    causal = 4 * 32 * 4096 * tokens * (tokens + 1) / 2
    added = 128 * (2 * reward * tokens + causal) / A100.rate
    assert added < least().reward < 1.1 * added


def test_printed_seconds_are_parted_without_loss() -> None:
    table, parts = printed_in("table11_overhead"), printed_parts()
    seconds = {"default": table["default_seconds"]} | {row["model"]: row["seconds"] for row in table["rows"]}
    assert {name: sum(shares.values()) for name, shares in parts.items()} == pytest.approx(seconds)
    assert [name for name, shares in parts.items() if "reward" in shares] == ["Skywork", "LlamaOB", "QRM"]
    with styled():
        exhibit = device_cost.exhibit(Path())
    axes, _ = exhibit.pictures[0].figure.axes
    assert [float(text.xy[0]) for text in axes.texts] == pytest.approx(list(seconds.values()))
    rows = {row["method"]: row for row in exhibit.tables[0].rows}
    assert rows["default"]["over the least"] == pytest.approx(table["default_seconds"] / least().default)
    assert rows["RWS, GRM"]["least seconds"] is None


def test_measured_seconds_are_parted_without_loss_and_are_those_of_the_guide() -> None:
    result, table = device_cost.measured(), device_cost.measured_table()
    assert result["complete"] and all(check["passed"] for check in result["checks"])
    ways = {(row["batch"], row["way"]): row for row in result["ways"]}
    for parts, row in zip(device_cost.measured_parts().values(), sorted(table.rows, key=order), strict=True):
        assert min(parts.values()) > 0 and sum(parts.values()) == pytest.approx(row["RWS seconds"])
        assert row["increase, %"] == pytest.approx(100 * (row["RWS seconds"] / row["default seconds"] - 1))
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "gpu.md").read_text(encoding="utf-8")
    for way, words in {"plain": "default, loops as published", "rws": "RWS, `--compact`"}.items():
        shown = [f"{ways[batch, way]['median_seconds'] / batch:.2f}" for batch in (1, 4, 16)]
        assert f"| {words} | {' | '.join(shown)} |" in guide


def order(row: dict[str, Any]) -> tuple[int, bool]:
    return row["batch"], row["decoder"] == "compact decoder"
