"""The interactive pages in a headless browser: keys and sliders move them, on a phone and in a frame."""

import json
from pathlib import Path

import numpy as np
import pytest
from chromium import CONTRASTS, Chromium, Tab
from interactive_pages import data_of, hostile_predictor
from table_models import REWARD, run, table_predictor

from rws_decode import Page, Shape, decode, scale_path, step_logits
from rws_decode.extra.pages.case_pages import OrdersCase, orders_page

SHAPE = Shape(length=8, steps=4, block=8)
NAMES = ["decode", "two", "path", "budget", "curves", "hostile", "orders"]
ORDERS = OrdersCase(  # at each setting its number in thousandths, and the steps of a text that move with it
    ("confidence", "random order"), (1, 2, 4), (1, 2, 3), (0.0, 0.5), np.arange(36).reshape(3, 3, 2, 2) / 1000,
    np.arange(108).reshape(3, 3, 2, 2, 3) % 4, "aba",
)  # fmt: skip
SLIDER, SAID = "document.querySelector('#step')", "document.querySelector('.said').textContent"
WORDS = "[...document.querySelectorAll('.word')].map(word => word.textContent.trim())"
SPILT = """[...document.body.querySelectorAll("main *")]
  .filter(one => one.checkVisibility() && !one.closest(".wide, .spoken"))
  .filter(one => one.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map(one => one.outerHTML.slice(0, 90))"""


@pytest.fixture(scope="module")
def pages() -> dict[str, Page]:
    predictor, trace = table_predictor(5), run()
    path = scale_path(predictor, "", 0.05, 20.0, SHAPE, reward=REWARD)
    part = scale_path(predictor, "", 0.05, 20.0, SHAPE, budget=6)
    (hostile,) = decode(hostile_predictor(), "</script><b>", "default", SHAPE)
    return {
        "decode": trace.view(),
        "two": run("default").view(trace, predictor),
        "path": path.view(),
        "budget": part.view(),
        "curves": step_logits(trace, predictor, 0).view(),
        "hostile": hostile.view(),
        "orders": orders_page("Orders", "Drag.", ORDERS),
    }


@pytest.fixture(scope="module")
def files(pages: dict[str, Page], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    return {name: page.save(folder / f"{name}.html") for name, page in pages.items()}


def spoke(tab: Tab, sentence: str) -> None:
    tab.until(f"document.querySelector('#status').textContent === {json.dumps(sentence)}")


@pytest.mark.parametrize(
    ("name", "width", "dark"), [*((name, 390, True) for name in NAMES), ("two", 1200, False), ("path", 1200, False)]
)
def test_pages_fit_and_read_well(browser: Chromium, files: dict[str, Path], name: str, width: int, dark: bool) -> None:
    tab = browser.open(files[name].as_uri(), width=width, dark=dark, calm=True)
    assert tab.messages == [] and tab.failures == [] and tab.requests == [files[name].as_uri()]
    assert tab.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert tab.evaluate(SPILT) == []
    texts = tab.evaluate(CONTRASTS)
    assert len(texts) > 8
    assert {name: ratio for name, (ratio, _) in texts.items() if ratio < 4.5} == {}
    assert {name: size for name, (_, size) in texts.items() if size < 12} == {}
    for text in ("--new", "--other", "--fills", "--soft"):  # what words and numbers stand on
        for ground in tab.evaluate(f"colours('{text}')"):
            assert _ratio(ground, tab.evaluate("colours('--ink')[0]")) >= 4.5, (text, ground)


def _ratio(first: str, second: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
        return sum(a * b for a, b in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", ["decode", "path", "curves", "orders"])
def test_a_page_works_in_a_notebook(browser: Chromium, pages: dict[str, Page], tmp_path: Path, name: str) -> None:
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!DOCTYPE html><title>cell</title>{pages[name]._repr_html_()}", encoding="utf-8")
    tab = browser.open(notebook.as_uri(), width=800)
    assert tab.messages == [] and tab.failures == []
    inside = "document.querySelector('iframe').contentDocument"
    tab.until(f"Math.abs({inside}.body.offsetHeight - document.querySelector('iframe').offsetHeight) <= 2")
    assert tab.evaluate(f"{inside}.documentElement.scrollWidth <= {inside}.documentElement.clientWidth")
    before = tab.evaluate(f"{inside}.querySelector('#where').textContent")
    tab.point(*_in_frame(tab, f"{inside}.querySelector('#forward, #words')"), click=True)
    tab.press("ArrowRight", 2)
    assert tab.evaluate(f"{inside}.querySelector('#where').textContent") != before
    assert tab.messages == []


def _in_frame(tab: Tab, element: str) -> tuple[float, float]:
    x, y = tab.middle(element)
    left, top = tab.evaluate(
        "(() => { const b = document.querySelector('iframe').getBoundingClientRect(); return [b.x, b.y]; })()"
    )
    return x + left, y + top


@pytest.mark.parametrize("name", ["two", "path", "curves", "orders"])
def test_all_controls_are_reached_by_the_tab_key(browser: Chromium, files: dict[str, Path], name: str) -> None:
    tab = browser.open(files[name].as_uri(), width=1000)
    wanted = "[...document.querySelectorAll('main button, main input')].filter(e => e.checkVisibility()).length"
    wanted = tab.evaluate(wanted)
    reached = set()
    for _ in range(wanted + 8):
        tab.press("Tab")
        index = tab.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)")
        reached.add(index)
        outline = tab.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none" or tab.evaluate("document.activeElement === document.body")
    radios = tab.evaluate("document.querySelectorAll('input[type=radio]').length")  # one stop for a group
    assert len(reached) >= wanted - radios // 2


def test_the_slider_moves_by_keys_and_the_text_grows(browser: Chromium, files: dict[str, Path]) -> None:
    trace = run()
    data = data_of(trace.view())["runs"][0]
    tab = browser.open(files["decode"].as_uri(), width=1000)
    tab.evaluate(f"{SLIDER}.focus()")
    for step in range(5):
        done = [p for p in range(8) if 0 <= trace.commit_step[p] < step]
        assert tab.evaluate("[...document.querySelectorAll('.word.done')].map(e => Number(e.dataset.position))") == done
        new = [p for p in range(8) if trace.commit_step[p] == step]
        assert tab.evaluate("[...document.querySelectorAll('.word.new')].map(e => Number(e.dataset.position))") == new
        assert tab.evaluate(WORDS) == trace.words(trace.candidate[step] if step < 4 else trace.tokens)
        assert tab.evaluate(SAID) == data["sentences"][step]
        label = "end, after 4 steps" if step == 4 else f"step {step} (0 to 3)"
        assert tab.evaluate(f"{SLIDER}.getAttribute('aria-valuetext')") == label
        tab.press("ArrowRight")
    tab.press("Home")
    assert tab.evaluate(SAID) == data["sentences"][0]
    spoke(tab, data["sentences"][0])
    tab.press("End")
    assert tab.evaluate(SAID) == data["sentences"][4]


def test_two_runs_go_in_lock_step_from_their_first_difference(browser: Chromium, files: dict[str, Path]) -> None:
    first, second = run("default"), run()
    data = data_of(first.view(second))
    tab = browser.open(files["two"].as_uri(), width=1200)
    assert tab.evaluate(f"Number({SLIDER}.value)") == data["start"]
    columns = "[...document.querySelectorAll('#runs > section')].map(s => s.getBoundingClientRect())"
    assert tab.evaluate(f"(([a, b]) => a.top === b.top && a.right < b.left)({columns})")
    tab.press("End")
    sentences = tab.evaluate("[...document.querySelectorAll('.said')].map(e => e.textContent)")
    assert sentences == [each["sentences"][-1] for each in data["runs"]]
    unlike = [p for p in range(8) if first.tokens[p] != second.tokens[p]]
    for run_number in range(2):
        shown = f"[...document.querySelectorAll('#runs > section')[{run_number}].querySelectorAll('.differs')]"
        assert tab.evaluate(f"{shown}.map(e => Number(e.dataset.position))") == unlike
    phone = browser.open(files["two"].as_uri(), width=390)
    assert phone.evaluate(f"(([a, b]) => a.bottom <= b.top && a.left === b.left)({columns})")


def test_dragging_the_scale_changes_answers(browser: Chromium, pages: dict[str, Page], files: dict[str, Path]) -> None:
    data = data_of(pages["path"])
    tab = browser.open(files["path"].as_uri(), width=1000)
    assert tab.evaluate("document.querySelector('#where').textContent") == "c = 1"
    tab.press("Home")
    for number, part in enumerate(data["parts"]):
        answer = data["answers"][part["answer"]]
        assert tab.evaluate("document.querySelector('#said').textContent") == part["sentence"]
        assert tab.evaluate(WORDS) == [data["words"][word] for word in answer["words"]]
        marked = [p for p, word in enumerate(answer["words"]) if word != data["answers"][data["reference"]]["words"][p]]
        unlike = "[...document.querySelectorAll('.word')].flatMap((e, p) => e.classList.contains('unlike') ? [p] : [])"
        assert tab.evaluate(unlike) == marked
        assert tab.evaluate("document.querySelectorAll('circle.point').length") >= 8
        rows = "[...document.querySelectorAll('tbody tr')]"
        assert tab.evaluate(f"{rows}.findIndex(r => r.className === 'current')") == part["answer"]
        if number + 1 < len(data["parts"]):
            tab.press("ArrowRight")
    spoke(tab, data["parts"][-1]["sentence"])
    assert tab.evaluate("document.querySelectorAll('path.grid').length") == len(data["grid"])
    missed = sum(data["answers"][part["answer"]]["missed"] for part in data["parts"])
    assert tab.evaluate("document.querySelectorAll('rect[fill=\"url(#hatched)\"]').length") == missed
    part = data_of(pages["budget"])["parts"]
    unexplored = browser.open(files["budget"].as_uri(), width=1000)
    unexplored.press("Home")
    unexplored.press("ArrowRight", next(n for n, each in enumerate(part) if each["answer"] is None))
    assert set(unexplored.evaluate(WORDS)) == {"\u00b7"} and unexplored.messages == []


def test_dragging_the_factor_reverses_ranks(browser: Chromium, pages: dict[str, Page], files: dict[str, Path]) -> None:
    data = data_of(pages["curves"])
    assert len(data["pieces"]) > 1
    tab = browser.open(files["curves"].as_uri(), width=1000)
    chosen = (
        "[...document.querySelectorAll('#ranking li.chosen')].map(e => Number(e.dataset.place)).sort((a, b) => a - b)"
    )
    tab.press("Home")
    orders = []
    for number, piece in enumerate(data["pieces"]):
        assert tab.evaluate("document.querySelector('#said').textContent") == piece["sentence"]
        assert tab.evaluate(chosen) == piece["chosen"]
        assert tab.evaluate("document.querySelectorAll('.curve.chosen').length") == data["k"]
        first = "[...document.querySelectorAll('#ranking li')].slice(0, 2)"
        assert tab.evaluate(f"{first}.every(e => e.matches('.chosen'))")
        orders.append(tab.evaluate("[...document.querySelectorAll('#ranking li')].map(e => e.dataset.place)"))
        if number + 1 < len(data["pieces"]):
            tab.press("ArrowRight")
    assert len({tuple(order) for order in orders}) > 1
    assert tab.evaluate("document.querySelectorAll('.crossing').length") == len(data["crossings"])
    assert tab.evaluate("document.querySelectorAll('#changes li').length") == sum(c["cut"] for c in data["crossings"])
    tab.evaluate(f"{SLIDER}.focus()")
    tab.press("Home")
    assert tab.evaluate("document.querySelector('#where').textContent") == "c = 0.1"
    ring = next(n for n, crossing in enumerate(data["crossings"]) if crossing["cut"])
    tab.point(*tab.middle(f"document.querySelectorAll('.crossing')[{ring}]"))
    assert tab.evaluate("document.querySelector('#tip').textContent") == data["crossings"][ring]["said"]
    before = tab.evaluate("document.querySelector('.curve').getAttribute('d')")
    tab.evaluate("document.querySelector('input[value=rank]').click()")
    assert tab.evaluate("document.querySelector('.curve').getAttribute('d')") != before and tab.messages == []
