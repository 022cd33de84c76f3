"""The page of a scale path: its pieces are the proved ones, and its grid misses what decoding at the grid misses."""

from __future__ import annotations

import math
from functools import cache
from html import unescape
from itertools import pairwise

import pytest
from interactive_pages import HOSTILE, data_of, elements_of, hostile_predictor
from table_models import REWARD, table_predictor

from rws_decode import RWS, ScalePath, Shape, Temperature, decode, scale_path, scale_path_page
from rws_decode.view.scale_path_page import PAPER_GRID

SHAPE = Shape(length=8, steps=4, block=8)


@cache
def path(over: str = "temperature", budget: int | None = None) -> ScalePath:
    return scale_path(table_predictor(5), "", 0.05, 20.0, SHAPE, over=over, reward=REWARD, budget=budget)  # type: ignore[arg-type]


@pytest.mark.parametrize("over", ["temperature", "reward-scale"])
def test_decoding_anywhere_in_a_piece_gives_the_answer_that_is_shown(over: str) -> None:
    data = data_of(path(over).view())
    assert len(data["parts"]) == len(path(over).pieces) > 3 and data["symbol"] == (
        "c" if over == "temperature" else "s_R"
    )
    assert (data["parts"][0]["lower"], data["parts"][-1]["upper"]) == (data["low"], data["high"]) == (0.05, 20.0)
    rule = Temperature if over == "temperature" else RWS
    for part in data["parts"]:
        low, high = part["proved"]
        for scale in (low * (1 + 1e-9), math.sqrt(low * high), high * (1 - 1e-9)):
            (trace,) = decode(table_predictor(5), "", rule(scale), SHAPE, reward=REWARD)
            answer = data["answers"][part["answer"]]
            assert trace.words(trace.tokens) == [data["words"][number] for number in answer["words"]]
            assert (trace.text, trace.commit_step.tolist()) == (answer["text"], part["commit"])
            assert trace.final_reward is not None
            assert answer["reward"] == pytest.approx(trace.final_reward["normalised"], rel=1e-5)
            assert part["god"] == pytest.approx(trace.god_steps)
            assert f"proved for {data['symbol']} from " in part["sentence"]


@pytest.mark.parametrize("over", ["temperature", "reward-scale"])
def test_what_is_shown_as_proved_lies_outside_every_enclosure(over: str) -> None:
    data = data_of(path(over).view())
    for left, right in pairwise(data["parts"]):
        assert left["proved"][1] <= left["upper"] == right["lower"] <= right["proved"][0]
    for point in path(over).breakpoints:
        assert not any(part["proved"][0] < point.upper and point.lower < part["proved"][1] for part in data["parts"])


@pytest.mark.parametrize("grid", [None, (0.1, 0.5, 3.0), (100.0,)], ids=str)
def test_the_grid_misses_what_decoding_at_its_scales_does_not_give(grid: tuple[float, ...] | None) -> None:
    page = path().view(grid)
    data = data_of(page)
    scales = [scale for scale in (grid or PAPER_GRID) if 0.05 <= scale <= 20]
    assert data["grid"] == scales
    texts = {decode(table_predictor(5), "", Temperature(scale), SHAPE)[0].text for scale in scales}
    assert [answer["missed"] for answer in data["answers"]] == [
        answer["text"] not in texts for answer in data["answers"]
    ]
    missed = sum(answer["missed"] for answer in data["answers"])
    if not scales:
        assert "The grid has no scale in this range." in page.html
    else:
        name = "The paper's grid" if grid is None else "The grid"
        listed = f"{', '.join(f'{scale:g}' for scale in scales[:-1])} and {scales[-1]:g}"
        _, said, rest = unescape(page.html).partition(
            f"{name} ({listed}) misses {missed} of {len(data['answers'])} answers: "
        )
        named = rest.partition(".</p>")[0].split("; ")
        assert said and missed == len(named) <= 5
        for number, text in zip(
            (n for n, answer in enumerate(data["answers"]) if answer["missed"]), named, strict=True
        ):
            spans = [(part["lower"], part["upper"]) for part in data["parts"] if part["answer"] == number]
            assert text.startswith(f"answer {number + 1}, at c from {spans[0][0]:.4g} to ")
            assert text.endswith(f" to {spans[-1][1]:.4g}") or len(spans) > 3


def test_words_are_compared_with_the_answer_at_scale_one() -> None:
    data = data_of(path().view())
    reference = data["answers"][data["reference"]]
    (plain,) = decode(table_predictor(5), "", "default", SHAPE)
    assert reference["text"] == plain.text and data["reference_commit"] == plain.commit_step.tolist()
    for part in data["parts"]:
        words = data["answers"][part["answer"]]["words"]
        unlike = sum(ours != theirs for ours, theirs in zip(words, reference["words"], strict=True))
        assert (f"{unlike} word" in part["sentence"]) == bool(unlike)


def test_what_a_budget_left_out_is_shown_as_unexplored() -> None:
    page = path(budget=6).view()
    parts = data_of(page)["parts"]
    left = [part for part in parts if part["answer"] is None]
    assert [(part["lower"], part["upper"]) for part in left] == [(u.lower, u.upper) for u in path(budget=6).unexplored]
    assert left and all(part["sentence"].startswith("Unexplored for c from ") for part in left)
    assert "known answers" in page.html and "not every scale is proved" in page.html
    assert [left["upper"] for left in parts[:-1]] == [right["lower"] for right in parts[1:]]


def test_the_page_is_whole_and_words_never_become_markup() -> None:
    page = scale_path_page(scale_path(hostile_predictor(), "<b>", 0.1, 10.0, SHAPE))
    elements = elements_of(page.html)
    assert elements.wrong == [] and elements.open_ == [] and not elements.named("b") and not elements.named("img")
    assert len(elements.named("script")) == 2 and set(data_of(page)["words"]) <= set(HOSTILE)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, "2"])
def test_a_grid_of_what_is_no_scale_is_refused(bad: object) -> None:
    with pytest.raises(ValueError, match=r"^grid holds .*: positive numbers are needed"):
        path().view((1.0, bad))  # type: ignore[arg-type]
