"""The interactive pages of the executed lessons, in a headless browser: without a kernel, without a network."""

from pathlib import Path

import pytest
from chromium import Chromium, Tab
from nbconvert import HTMLExporter

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")]

FOLDER = Path(__file__).parents[2] / "notebooks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.ipynb") if "<iframe" in path.read_text(encoding="utf-8"))
FRAMES = "[...document.querySelectorAll('iframe')]"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder, exporter = tmp_path_factory.mktemp("lessons"), HTMLExporter()
    written = {}
    for name in NAMES:
        html, _ = exporter.from_filename(str(FOLDER / f"{name}.ipynb"))
        written[name] = folder / f"{name}.html"
        written[name].write_text(html, encoding="utf-8")
    return written


def text_of(tab: Tab, number: int) -> str:
    """Return what a reader sees on a page: what is only spoken comes a moment later."""
    page = f"{FRAMES}[{number}].contentDocument"
    tab.evaluate(f"{page}.querySelectorAll('.spoken').forEach(status => {{ status.hidden = true; }})")
    return tab.evaluate(f"{page}.querySelector('main').innerText")


def moved(tab: Tab, number: int) -> None:
    """Move the slider of a page, and assert that its text changes and that of the others does not."""
    page = f"{FRAMES}[{number}].contentDocument"
    count = tab.evaluate(f"{FRAMES}.length")
    before = {index: text_of(tab, index) for index in range(count) if index != number}
    tab.evaluate(f"{page}.querySelector('input[type=range]').focus()")
    states = []
    for key in ("Home", "End", "ArrowLeft"):
        tab.press(key, 3 if key == "ArrowLeft" else 1)
        states.append((tab.evaluate(f"{page}.querySelector('#where').textContent"), text_of(tab, number)))
    assert len({where for where, _ in states[:2]}) == len({text for _, text in states[:2]}) == 2
    assert states[2][1] != states[1][1]
    assert {index: text_of(tab, index) for index in range(count) if index != number} == before


@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_works_alone_with_sliders(browser: Chromium, files: dict[str, Path], name: str, width: int) -> None:
    tab = browser.open(files[name].as_uri(), width=width)
    titles = tab.evaluate(f"{FRAMES}.map(frame => frame.contentDocument.title)")
    boxes = tab.evaluate(f"{FRAMES}.map(frame => frame.getBoundingClientRect()).map(box => [box.left, box.right])")
    assert titles and all(titles) and all(0 <= left < right <= width for left, right in boxes)
    assert tab.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    inside = f"{FRAMES}.map(frame => frame.contentDocument.documentElement)"
    assert tab.evaluate(f"{inside}.every(page => page.scrollWidth <= page.clientWidth)")
    for number, title in enumerate(titles if width == 1200 else ()):
        assert text_of(tab, number).startswith(title)
        moved(tab, number)
    requests = tab.evaluate(f"{FRAMES}.flatMap(f => f.contentWindow.performance.getEntriesByType('resource'))")
    assert requests == [] and not any("exceptionDetails" in message for message in tab.messages)
