"""The interactive pages in a headless browser: keys and sliders move them, in silence, on a phone, and in a frame."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from chromium import CONTRASTS, Chromium, Tab
from interactive_pages import data_of, hostile_predictor
from table_models import REWARD, table_predictor

from paper_figures.lessons.case_pages import OrdersCase, orders_page
from rws_decode import Page, Shape, Trace, decode, scale_path, step_logits

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


def run(strategy: str = "rws:4") -> Trace:
    return decode(table_predictor(5), "", strategy, SHAPE, reward=REWARD)[0]


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
def test_a_page_fits_and_is_readable(
    browser: Chromium, files: dict[str, Path], name: str, width: int, dark: bool
) -> None:
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
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
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
        at = tab.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)")
        reached.add(at)
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
        expected = trace.words(trace.candidate[step] if step < 4 else trace.tokens)
        assert tab.evaluate(WORDS) == expected
        assert tab.evaluate(SAID) == data["sentences"][step]
        said = "end, after 4 steps" if step == 4 else f"step {step} (0 to 3)"
        assert tab.evaluate(f"{SLIDER}.getAttribute('aria-valuetext')") == said
        tab.press("ArrowRight")
    tab.press("Home")
    assert tab.evaluate(SAID) == data["sentences"][0]
    spoke(tab, data["sentences"][0])
    tab.press("End")
    assert tab.evaluate(SAID) == data["sentences"][4]


def test_keys_work_wherever_the_focus_is_and_buttons_too(browser: Chromium, files: dict[str, Path]) -> None:
    tab = browser.open(files["decode"].as_uri(), width=1000)
    tab.press("ArrowRight", 3)
    assert tab.evaluate(f"{SLIDER}.value") == "3"
    tab.press("ArrowLeft")
    tab.point(*tab.middle("document.querySelector('#back')"), click=True)
    assert tab.evaluate(f"{SLIDER}.value") == "1"
    changed = data_of(run().view())["marked"]
    tab.press("Home")
    for step in changed if changed[0] > 0 else changed[1:]:
        tab.point(*tab.middle("document.querySelector('#next')"), click=True)
        assert tab.evaluate(f"{SLIDER}.value") == str(step)
    assert tab.evaluate("document.querySelector('.said').textContent").count("At factor 1 it would have committed") == 1


def test_play_runs_to_the_end_and_stays_quiet(browser: Chromium, files: dict[str, Path]) -> None:
    tab = browser.open(files["decode"].as_uri(), width=1000)
    spoke(tab, data_of(run().view())["runs"][0]["sentences"][0])
    tab.evaluate(
        "window.heard = []; new MutationObserver(() => heard.push(document.querySelector('#status').textContent))"
        ".observe(document.querySelector('#status'), { childList: true, characterData: true, subtree: true }), 0"
    )
    tab.press(" ")
    assert tab.evaluate("document.querySelector('#play').textContent") == "Pause"
    tab.until(f"{SLIDER}.value === '4' && document.querySelector('#play').textContent === 'Play'")
    tab.until("heard.length > 0")
    assert set(tab.evaluate("heard")) == {data_of(run().view())["runs"][0]["sentences"][4]}
    tab.press(" ")  # from the end it begins anew
    assert tab.evaluate(f"{SLIDER}.value") == "0"
    tab.press(" ")
    assert tab.evaluate("document.querySelector('#play').textContent") == "Play"


def test_pointing_shows_candidates_and_values(browser: Chromium, files: dict[str, Path]) -> None:
    trace = run()
    tab = browser.open(files["decode"].as_uri(), width=1000)
    position = int(trace.commit_step.argmax())
    tab.point(*tab.middle(f"document.querySelector('.word[data-position=\"{position}\"]')"))
    lines = tab.evaluate("[...document.querySelectorAll('#tip > *')].map(line => line.textContent)")
    assert lines[:2] == [trace.words([trace.candidate[0, position]])[0], f"position {position}, step 0: masked"]
    assert re.search(r"log-odds \S+, rank \d of 8 kept values", lines[2])
    assert not tab.evaluate("document.querySelector('#tip').hidden")
    tab.point(2, 2)
    assert tab.evaluate("document.querySelector('#tip').hidden")


def test_the_map_is_read_by_mouse_and_by_keys(browser: Chromium, files: dict[str, Path]) -> None:
    trace = run()
    tab = browser.open(files["decode"].as_uri(), width=390)
    cells = "document.querySelector('.heat canvas').getBoundingClientRect()"
    tab.middle("document.querySelector('.heat')")
    left, top, width = tab.evaluate(f"[{cells}.x, {cells}.y, {cells}.width]")
    cell = (width - 56) / 4
    tab.point(left + 46 + 2.5 * cell, top + 20 + 11 * 5.5, click=True)  # the third step, the sixth position
    assert tab.evaluate(f"{SLIDER}.value") == "2"
    assert tab.evaluate("document.querySelector('#tip').textContent").count("position 5, ") == 1
    tab.evaluate("document.querySelector('.heat').focus()")
    tab.press("ArrowDown")
    tip = tab.evaluate("document.querySelector('#tip').textContent")
    assert "position 6, " in tip and tab.evaluate("document.querySelector('.word.here').dataset.position") == "6"
    tab.until("document.querySelector('#status').textContent.includes('position 6')")
    word = trace.words([trace.candidate[2, 6]])[0]
    assert tip.startswith(word)
    tab.press("ArrowRight")
    assert tab.evaluate(f"{SLIDER}.value") == "3"


def test_switches_hide_candidates_and_colour_the_words(browser: Chromium, files: dict[str, Path]) -> None:
    tab = browser.open(files["decode"].as_uri(), width=1000, calm=True)
    visible = "getComputedStyle(word).visibility === 'visible'"
    seen = f"[...document.querySelectorAll('.word.masked span')].filter(word => {visible}).length"
    assert tab.evaluate(seen) == 6
    tab.point(*tab.middle("document.querySelector('#candidates')"), click=True)
    assert tab.evaluate(seen) == 0
    tab.press("End")
    tab.evaluate("document.querySelector('#coloured').click()")
    lines = tab.evaluate("[...document.querySelectorAll('.word')].map(e => getComputedStyle(e).borderBottomColor)")
    assert len(set(lines)) == 4
    picture = "document.querySelector('canvas').toDataURL()"
    before = tab.evaluate(picture)
    tab.evaluate("document.querySelector('input[value=changes]').click()")
    assert tab.evaluate(picture) != before


def test_hostile_words_stay_text_and_less_motion_is_respected(browser: Chromium, files: dict[str, Path]) -> None:
    duration = "getComputedStyle(document.querySelector('.word')).transitionDuration"
    for calm in (False, True):
        tab = browser.open(files["hostile"].as_uri(), width=390, calm=calm)
        assert set(tab.evaluate(duration).split(", ")) == {"0s"}, "nothing moves before the reader does"
        tab.press("ArrowRight", 4)
        assert set(tab.evaluate(duration).split(", ")) == ({"0s"} if calm else {"0.18s"})
    assert tab.evaluate("document.title") == "A decode, step by step"
    assert tab.evaluate("document.querySelectorAll('main img, main b:not(#tip b), main script').length") == 0
    assert any("<img" in word or "</script>" in word for word in tab.evaluate(WORDS))
    assert tab.messages == [] and tab.requests == [files["hostile"].as_uri()]


def test_two_runs_go_in_lock_step_from_their_first_difference(browser: Chromium, files: dict[str, Path]) -> None:
    first, second = run("default"), run()
    data = data_of(first.view(second))
    tab = browser.open(files["two"].as_uri(), width=1200)
    assert tab.evaluate(f"Number({SLIDER}.value)") == data["start"]
    columns = "[...document.querySelectorAll('#runs > section')].map(s => s.getBoundingClientRect())"
    assert tab.evaluate(f"(([a, b]) => a.top === b.top && a.right < b.left)({columns})")
    tab.press("End")
    said = tab.evaluate("[...document.querySelectorAll('.said')].map(e => e.textContent)")
    assert said == [each["sentences"][-1] for each in data["runs"]]
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


def test_slider_strip_and_table_move_the_scale(
    browser: Chromium, pages: dict[str, Page], files: dict[str, Path]
) -> None:
    data = data_of(pages["path"])
    tab = browser.open(files["path"].as_uri(), width=1000)
    scale = "Number(document.querySelector('#where').textContent.split('= ')[1])"
    tab.evaluate(f"{SLIDER}.focus()")
    before = tab.evaluate(scale)
    tab.press("ArrowRight", 40)
    assert before < tab.evaluate(scale) < before * 1.2
    tab.press("End")
    assert tab.evaluate(scale) == data["high"]
    x, y = tab.middle("document.querySelector('#strip svg')")
    tab.point(x, y - 20, click=True)
    assert 0.5 < tab.evaluate(scale) < 2.5
    last = len(data["answers"]) - 1
    tab.point(*tab.middle(f"document.querySelectorAll('td button')[{last}]"), click=True)
    words = [data["words"][word] for word in data["answers"][last]["words"]]
    assert tab.evaluate(WORDS) == words


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


def test_every_slider_of_orders_moves_numbers(
    browser: Chromium, pages: dict[str, Page], files: dict[str, Path]
) -> None:
    data = data_of(pages["orders"])
    tab = browser.open(files["orders"].as_uri(), width=1000)
    assert data["kl"] == (ORDERS.kl.reshape(-1, 2)).tolist() and len(data["said"]) == 18
    settings = [(w, d, m) for w in range(3) for d in range(3) for m in range(2)]
    for number, setting in [*enumerate(settings)][1::4]:
        for name, value in zip(("words", "distance", "memory"), setting, strict=True):
            tab.evaluate(f"document.querySelector('#{name}').focus()")
            tab.press("Home")
            tab.press("ArrowRight", value)
        values = [f"{value:.3f}" for value in data["kl"][number]]
        assert tab.evaluate("[...document.querySelectorAll('.bar-value')].map(e => e.textContent)") == values
        label = f"KL(p || q) in nats: confidence {values[0]}, random order {values[1]}"
        assert tab.evaluate("document.querySelector('#bars svg').getAttribute('aria-label')") == label
        assert tab.evaluate("document.querySelector('#where').textContent") == data["said"][number]
        steps = "[...document.querySelectorAll('#cells td')].map(e => Number(e.textContent) - 1)"
        assert tab.evaluate(steps) == ORDERS.steps.reshape(18, -1)[number].tolist()
    spoke(tab, data["said"][number])
    assert data["said"][-1].startswith("4 words a step, 3 or more apart, memory 0.5: ")
    assert "apart" not in data["said"][5]
    _, y = tab.middle("document.querySelector('#lines svg')")
    left = tab.evaluate("document.querySelector('#lines svg').getBoundingClientRect().left")
    tab.point(left + 50, y, click=True)
    assert tab.evaluate("document.querySelector('#memory').getAttribute('aria-valuetext')") == "0"
    tab.evaluate("document.activeElement.blur()")
    tab.press("ArrowLeft")
    tab.press("ArrowDown")
    assert tab.evaluate("document.querySelector('#where').textContent") == data["said"][8] and tab.messages == []


def test_what_a_page_must_not_do_would_be_seen(browser: Chromium, pages: dict[str, Page], tmp_path: Path) -> None:
    broken = tmp_path / "broken.html"
    image = '<img src="http://example.invalid/a.png" alt="">'
    broken.write_text(pages["decode"].html.replace("</main>", f"{image}</main>"), encoding="utf-8")
    tab = browser.open(broken.as_uri(), width=390)
    assert any("Content Security Policy" in message for message in tab.messages)
    tab.until("document.images[0].complete")
    assert tab.failures == ["csp"] and tab.requests == [broken.as_uri(), "http://example.invalid/a.png"]
