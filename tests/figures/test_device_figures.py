"""What guidance costs on the hardware: the arithmetic, and the printed numbers beside it."""

from __future__ import annotations

from pathlib import Path

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
    (axes,) = exhibit.pictures[0].figure.axes
    assert [float(text.xy[0]) for text in axes.texts] == pytest.approx(list(seconds.values()))
    rows = {row["method"]: row for row in exhibit.tables[0].rows}
    assert rows["default"]["over the least"] == pytest.approx(table["default_seconds"] / least().default)
    assert rows["RWS, GRM"]["least seconds"] is None
