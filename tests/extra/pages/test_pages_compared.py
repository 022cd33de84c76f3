"""What a page puts side by side can be compared: one scale, one height, one way to count; ends of texts are short."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from chromium import Chromium
from table_models import run
from tiny_models import fixed_predictor

from rws_decode import CallablePredictor, Page, Shape, decode, scale_path, step_logits

SHAPE = Shape(length=8, steps=4, block=8)
SEEN = "[...document.querySelectorAll('.word')].filter(word => word.checkVisibility()).map(word => word.textContent)"
TIP = "[...document.querySelectorAll('#tip > *')].map(line => line.textContent)"


def ending() -> CallablePredictor:
    """A predictor of "word word [EOS] [EOS] ...": six ends of text, which are the surest."""
    table = torch.zeros(8, 3, dtype=torch.float64)
    table[:2, 0], table[2:, 1] = 1.0, 2.0
    words = {"encode": lambda text: [], "decode": lambda ids: " ".join(("word", "[EOS]", "?")[token] for token in ids)}
    return fixed_predictor(table, mask_id=2, **words)


def opened(browser: Chromium, page: Page, folder: Path, width: int = 1200) -> Any:
    return browser.open(page.save(folder / "page.html").as_uri(), width=width)


LONG = ("Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft", "of", "a b", "[EOS]")
SPILT = """[...document.querySelectorAll("main *")].filter(one => one.checkVisibility() && !one.closest(".spoken"))
  .filter(one => one.getBoundingClientRect().right > document.documentElement.clientWidth + 1
    || (one.matches(".wide") && one.scrollWidth > one.clientWidth))
  .map(one => one.outerHTML.slice(0, 90))"""


@pytest.mark.parametrize(("prompt", "width"), [("", 390), ("of [MASK:3] of of [MASK:5] of", 1200)])
def test_no_word_is_cut_or_makes_a_page_wider(browser: Chromium, tmp_path: Path, prompt: str, width: int) -> None:
    table = torch.randn(8, 5, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    predictor = CallablePredictor(
        lambda canvas: table[torch.arange(canvas.shape[1]) % 8].expand(len(canvas), -1, -1),
        mask_id=4,
        encode=lambda text: [1 for _ in text.split()],
        decode=lambda ids: " ".join((*LONG, "?")[token] for token in ids),
    )
    first, second = (decode(predictor, [prompt], each, SHAPE)[0] for each in ("default", "temperature:9"))
    path = scale_path(predictor, prompt, 0.1, 20.0, SHAPE)
    for page in (first.view(second, predictor), step_logits(first, predictor, 0).view(), path.view()):
        tab = opened(browser, page, tmp_path, width)
        for key in ("Home", "End"):
            tab.press(key)
            assert tab.evaluate(SPILT) == [] and tab.messages == []
            assert tab.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_two_runs_stand_at_one_height_and_have_one_scale(browser: Chromium, tmp_path: Path) -> None:
    first, second = run("default"), run(shape=Shape(8, 8, 8))
    tab = opened(browser, first.view(second), tmp_path)
    figures = "[...document.querySelectorAll('#runs > section')].map(s => [...s.querySelectorAll('.drawn > *')]"
    tops = tab.evaluate(f"{figures}.map(e => e.getBoundingClientRect().top))")
    assert tops[0] == tops[1] and len(tops[0]) == 3  # reward, factor, map
    cursors = tab.evaluate(f"{figures}.map(e => e.querySelector('.now').getBoundingClientRect().width))")
    assert cursors[0] == pytest.approx(cursors[1], abs=0.1)  # a step is as wide in both
    values = np.concatenate([first.value.ravel(), second.value.ravel()])
    values = values[np.isfinite(values)]
    low, high = (f"{end:.3g}".replace("-", "\u2212") for end in (values.min(), values.max()))
    legends = tab.evaluate("[...document.querySelectorAll('.legend > :first-child')].map(e => e.textContent)")
    assert legends == [f"{low}{high} log-odds, one scale for A and B"] * 2
    heights = tab.evaluate(
        "[...document.querySelectorAll('.drawn > svg:first-child')]"
        ".map(e => [...e.querySelectorAll('.axis')].map(line => line.getAttribute('y1')))"
    )
    assert heights[0] == heights[1] != []


def test_a_run_of_end_marks_is_one_word_that_says_where_it_is(browser: Chromium, tmp_path: Path) -> None:
    (trace,) = decode(ending(), "", "default", SHAPE)
    assert trace.commit_step.tolist() == [3, 3, 0, 0, 1, 1, 2, 2]
    tab = opened(browser, trace.view(), tmp_path)
    assert tab.evaluate(SEEN) == ["word", "word", "[EOS] \u00d7 2", "[EOS] \u00d7 4"]  # new, and masked
    height = "document.querySelector('.text').offsetHeight"
    before = tab.evaluate(height)
    tab.press("End")
    assert tab.evaluate(SEEN) == ["word", "word", "[EOS] \u00d7 6"]
    assert tab.evaluate(height) == before  # what stands below stays
    tab.point(*tab.middle("document.querySelector('.word[data-through]')"))
    assert tab.evaluate(TIP) == ["[EOS]", "positions 2 to 7, committed at steps 0 to 2"]
    tab.press("Home")
    tab.point(2, 2)
    tab.point(*tab.middle("document.querySelector('.word.masked[data-through]')"))
    assert tab.evaluate(TIP) == ["[EOS]", "positions 4 to 7, step 0: masked"]
    label = tab.evaluate("document.querySelector('.heat').getAttribute('aria-label')")
    assert label.startswith("Map of 4 steps and 8 positions")  # which keeps them all
    tab = opened(browser, scale_path(ending(), "", 0.5, 2.0, SHAPE).view(), tmp_path)
    assert tab.evaluate(SEEN) == ["word", "word", "[EOS] \u00d7 6"]
    tab.point(*tab.middle("document.querySelector('.word[data-through]')"))
    assert tab.evaluate(TIP)[1] == "positions 2 to 7, committed at steps 0 to 2"
    (gaps,) = decode(ending(), "[MASK:8] word", "default", SHAPE)
    assert len(opened(browser, gaps.view(), tmp_path).evaluate(SEEN)) == 8
