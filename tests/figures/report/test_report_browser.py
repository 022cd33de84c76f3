"""The report page in a headless browser: silent, complete, readable on a desk and on a phone, in light and in dark."""

from pathlib import Path
from typing import Any

import pytest
from chromium import CONTRASTS, Chromium
from report_pages import page as page
from report_pages import small as small

BROKEN = "[...document.images].filter(one => !one.complete || !one.naturalWidth || !one.alt).length"
SPILT = """[...document.body.querySelectorAll("figure, .wide, pre, dl, ul, p, h1, h2, h3, h4, summary")]
  .filter(one => one.checkVisibility() && one.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map(one => one.outerHTML.slice(0, 80))"""
WRAPPED = """[...document.querySelectorAll("td.text")]
  .filter(one => getComputedStyle(one).whiteSpace !== "normal").length"""


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (400, True)], ids=["desk in light", "phone in dark"])
def test_the_page_is_silent_whole_and_readable(browser: Chromium, page: Path, width: int, dark: bool) -> None:
    tab = browser.open(page.as_uri(), width=width, dark=dark)
    assert tab.messages == [] and tab.failures == []
    assert {request for request in tab.requests if request != "about:srcdoc"} == {page.as_uri()}
    assert tab.evaluate("document.images.length") > 0 and tab.evaluate(BROKEN) == 0
    assert tab.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") is dark
    assert tab.evaluate("innerWidth") == width
    assert tab.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert tab.evaluate(SPILT) == []
    assert tab.evaluate(WRAPPED) == 0
    text_styles: dict[str, Any] = tab.evaluate(CONTRASTS)
    assert {"a", "p", "li", "th", "figcaption", "h1", "h2"} <= text_styles.keys()
    assert {name: ratio for name, (ratio, _) in text_styles.items() if ratio < 4.5} == {}
    assert {name: size for name, (_, size) in text_styles.items() if size < 12} == {}


def test_wide_tables_scroll_in_their_own_box_and_long_ones_keep_their_head(browser: Chromium, small: Path) -> None:
    tab = browser.open(f"{small.as_uri()}#table8_temperature", width=400)
    box = "document.querySelector('.wide.tall')"
    assert tab.evaluate(f"{box}.scrollWidth > {box}.clientWidth && {box}.scrollHeight > {box}.clientHeight")
    top = f"{box}.querySelector('thead').getBoundingClientRect().top - {box}.getBoundingClientRect().top"
    assert tab.evaluate(f"{box}.scrollTop = 300, Math.abs({top}) < 1")
    assert tab.evaluate(f"{box}.scrollLeft = 200, {box}.scrollLeft") == 200


def test_statements_are_filtered_by_verdict(browser: Chromium, small: Path) -> None:
    tab = browser.open(f"{small.as_uri()}#ledger", width=1280)
    rows = "[...document.querySelectorAll('#ledger tbody tr')].filter(row => row.checkVisibility()).length"
    assert tab.evaluate(rows) == 6
    assert tab.evaluate("document.getElementById('keep-false').click(), " + rows) == 2
    assert tab.evaluate("document.getElementById('keep-all').click(), " + rows) == 6


def test_pages_to_drag_run_in_their_frames_and_no_other_script_does(browser: Chromium, small: Path) -> None:
    tab = browser.open(f"{small.as_uri()}#one-step", width=1280)
    script = "document.querySelector('iframe').contentDocument.getElementById('said').textContent"
    assert tab.evaluate(script) == "moved"
    assert tab.evaluate("getComputedStyle(document.querySelector('.still')).display") == "none"


def test_the_story_is_printed_on_few_sheets(browser: Chromium, figure_page: Path) -> None:
    assert 3 < browser.open(figure_page.as_uri(), width=1280).printed_pages() <= 25


def test_what_asks_a_network_or_fails_is_seen(browser: Chromium, tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text('<img src="http://example.invalid/a.png"><script>console.warn("x"); y()</script>', encoding="utf-8")
    tab = browser.open(page.as_uri(), width=400)
    assert "http://example.invalid/a.png" in tab.requests and tab.failures
    assert len(tab.messages) >= 2 and tab.evaluate(BROKEN) == 1


def test_print_has_the_story_and_what_was_opened_of_the_appendix(browser: Chromium, small: Path) -> None:
    tab = browser.open(small.as_uri(), width=740, dark=True, media="print")
    assert tab.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert not tab.evaluate("document.querySelector('#appendix').checkVisibility()")
    assert tab.evaluate("getComputedStyle(document.querySelector('.still')).display") != "none"
    assert tab.evaluate("document.querySelector('details:not([open]) dt').checkVisibility()")
    opened = browser.open(f"{small.as_uri()}#table8_temperature", width=740, media="print")
    assert opened.evaluate("document.querySelector('#table8_temperature').checkVisibility()")
    assert not opened.evaluate("document.querySelector('#ledger').checkVisibility()")
    assert opened.evaluate("getComputedStyle(document.querySelector('.wide.tall')).overflowY") == "visible"
