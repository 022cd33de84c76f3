"""What guidance costs on the hardware: the arithmetic, and the printed numbers beside it."""

from __future__ import annotations

from pathlib import Path

import pytest
from handmade_runs import assert_whole

from paper_figures.exhibits.style import styled
from paper_figures.figures import device_cost
from paper_figures.figures.parts.device_cost_least_time import A100, least
from rws_theory.printed import printed_in


def test_it_is_whole_and_says_what_is_not_measured(tmp_path: Path) -> None:
    with styled():
        exhibit = device_cost.exhibit(tmp_path)
        assert_whole(exhibit)
    lines = exhibit.conclusions
    assert lines[0].endswith("no decode of that scale is measured on a GPU.") and device_cost.COMMAND in lines[-1]


def test_operations_are_counted_by_hand() -> None:
    # Llama's layers: 4 square matrices of attention (keys and values narrower), 3 of the MLP; 320 tokens in 128 steps.
    predictor = 32 * (4 * 4096**2 + 3 * 4096 * 12288)
    reward = 32 * (2 * 4096**2 + 2 * 4096 * 1024 + 3 * 4096 * 14336)
    pairs = 4 * 32 * 4096 * 320**2
    # Masked positions of all, and of the block: two fewer at each step, blocks of 16 steps.
    all_masked = sum(256 - 2 * step for step in range(128))
    in_block = 8 * sum(32 - 2 * step for step in range(16))
    head = 2 * 4096 * 126_464
    default = 128 * (2 * predictor * 320 + pairs) + head * in_block
    causal = 4 * 32 * 4096 * 320 * 321 / 2
    rws = 128 * (2 * predictor * 320 + pairs + 2 * reward * 320 + causal + 2 * 4096) + head * all_masked
    floor = least(64)
    assert floor.operations == pytest.approx((default, rws), rel=1e-12)
    assert floor.more_operations == pytest.approx(100 * (rws / default - 1))


def test_least_times_are_bounds_and_fall_with_rarer_calls() -> None:
    floor = least(64)
    rate = floor.operations[0] / A100.rate
    assert rate < floor.default_seconds < 1.1 * rate, "nearly all of it is bound by operations"
    increases = [floor.increase(every) for every in floor.rws_seconds]
    assert increases == sorted(increases, reverse=True)
    assert floor.increase(4) == pytest.approx(floor.increase(1) / 4, rel=0.01)
    for parts, seconds in ((floor.default, floor.default_seconds), (floor.rws, floor.rws_seconds[1])):
        assert 128 * sum(part["ms"] for part in parts) / 1e3 == pytest.approx(seconds)


def test_printed_seconds_are_parted_without_loss() -> None:
    floor = least()
    table, parts = printed_in("table11_overhead"), device_cost.printed_parts(floor)
    seconds = {"default": table["default_seconds"]} | {row["model"]: row["seconds"] for row in table["rows"]}
    assert {name: sum(shares.values()) for name, shares in parts.items()} == pytest.approx(seconds)
    assert [name for name, shares in parts.items() if "reward" in shares] == ["Skywork", "LlamaOB", "QRM"]
    (axes,) = device_cost.draw(floor).axes
    assert [float(text.xy[0]) for text in axes.texts] == pytest.approx(list(seconds.values()))


def test_the_same_extra_seconds_over_a_default_at_its_least() -> None:
    floor = least()
    rows = {row["method"]: row for row in device_cost.tables(floor)[0].rows}
    base = printed_in("table11_overhead")["default_seconds"]
    assert rows["default"]["over the least"] == pytest.approx(base / floor.default_seconds)
    for row in printed_in("table11_overhead")["rows"]:
        line, extra = rows[f"RWS, {row['model']}"], row["seconds"] - base
        assert line["paper: seconds"] == row["seconds"]
        assert line["increase at its least, %"] == pytest.approx(100 * extra / floor.default_seconds)
