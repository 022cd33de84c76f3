"""The commit schedule against its definition."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rws_decode.canvas.schedule import block_plan, commit_counts


@given(st.integers(1, 200), st.data())
def test_counts_deal_the_masks_out_one_by_one(masks: int, data: st.DataObject) -> None:
    steps = data.draw(st.integers(1, masks))
    dealt = [0] * steps
    for mask in range(masks):
        dealt[mask % steps] += 1
    assert commit_counts(masks, steps) == dealt


@given(st.integers(1, 6), st.integers(1, 12), st.data())
def test_plan_covers_every_block_in_order(blocks: int, block: int, data: st.DataObject) -> None:
    per_block = data.draw(st.integers(1, block))
    plan = block_plan(blocks * block, blocks * per_block, block)
    assert len(plan) == blocks * per_block
    expected = [(b * block, (b + 1) * block, k) for b in range(blocks) for k in commit_counts(block, per_block)]
    assert [tuple(step) for step in plan] == expected


@pytest.mark.parametrize(
    ("length", "steps", "block", "message"),
    [
        (0, 1, 1, "length is 0:"),
        (8, 0, 4, "steps is 0:"),
        (8, 4, -4, "block is -4:"),
        (8, 4, 3, "block is 3: it must divide length, which is 8, such as 2 or 4"),
        (8, 4, 16, "block is 16: it must divide length, which is 8, such as 8"),
        (2**20 - 3, 4, 2, "block is 2: it must divide length, which is 1048573, such as 1 or 1048573"),
        (10**30, 4, 2, f"length is {10**30}:"),
        (8, 3, 4, "steps is 3: it must be a multiple of 2, the blocks (length 8 // block 4), such as 2 or 4"),
        (8, 16, 4, "steps is 16: at most length, 8, so that each step commits a token"),
        (100, 30, 4, "steps is 30: it must be a multiple of 25, the blocks (length 100 // block 4), such as 25 or 50"),
        (100, 130, 4, "steps is 130: it must be a multiple of 25, the blocks (length 100 // block 4), such as 100"),
        (8, 10, 4, "steps is 10: at most length, 8, so that each step commits a token"),
        (8.0, 4, 4, "length is 8.0:"),
        (8, "4", 4, "steps is '4':"),
        (8, 8, True, "block is True:"),
    ],
)
def test_what_does_not_divide_is_named(length: int, steps: int, block: int, message: str) -> None:
    with pytest.raises(ValueError, match=rf"^{re.escape(message)}"):
        block_plan(length, steps, block)
