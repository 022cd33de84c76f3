"""The page of a decode: it holds the trace and nothing that a text could make of it, and asks no network."""

import math
import re
from html import unescape

import numpy as np
import pytest
from html_elements import Elements
from interactive_pages import HOSTILE, data_of, hostile_predictor, written
from table_models import run, table_predictor

from rws_decode import Shape, decode, diff

SHAPE = Shape(length=8, steps=4, block=8)


@pytest.mark.parametrize("two", [False, True], ids=["one", "two"])
def test_the_page_is_one_whole_document_that_asks_for_nothing(two: bool) -> None:
    page = run().view(run("default") if two else None)
    elements = Elements(page.html)
    assert [len(elements.named(tag)) for tag in ("html", "title", "main", "h1")] == [1, 1, 1, 1]
    assert len(elements.named("section")) == 1 + two
    ids = [attributes["id"] for _, attributes in elements.all if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert not any(attributes.keys() & {"src", "href", "onclick", "style"} for _, attributes in elements.all)
    assert set(re.findall(r"https?://[^\"' ]+", page.html)) == {"http://www.w3.org/2000/svg"}  # a name, no address
    assert not re.search(r"\beval\(|new Function|innerHTML|outerHTML|insertAdjacentHTML|document\.write", page.html)
    policy = next(a["content"] for a in elements.named("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None and policy.startswith("default-src 'none'")


def test_words_never_become_markup() -> None:
    (trace,) = decode(hostile_predictor(), "<b>&amp;</b> </main>", "default", SHAPE)
    page = trace.view(trace)
    elements = Elements(page.html)
    assert not elements.named("img") and not elements.named("b") and not elements.named("i")
    assert len(elements.named("script")) == 2
    assert set(data_of(page)["words"]) <= set(HOSTILE) and len(data_of(page)["words"]) > 2
    assert "&lt;b&gt;&amp;amp;&lt;/b&gt; &lt;/main&gt;" in page.html


@pytest.mark.parametrize("strategy", ["rws:4", "left-to-right"])
def test_the_data_are_those_of_the_trace(strategy: str) -> None:
    trace = run(strategy)
    (shown,) = data_of(trace.view())["runs"]
    words = data_of(trace.view())["words"]
    assert [words[number] for number in shown["tokens"]] == trace.words(trace.tokens)
    assert shown["commit"] == trace.commit_step.tolist() and shown["row"] == list(range(8))
    candidates: dict[int, int] = {}
    for step in range(trace.steps_run):
        candidates |= written(shown["candidates"][step])
        for position in np.flatnonzero(trace.masked[step]).tolist():
            assert words[candidates[position]] == trace.words([trace.candidate[step, position]])[0]
        values = written(shown["values"][step])
        known = np.flatnonzero(trace.eligible[step] & ~np.isnan(trace.value[step]))
        assert list(values) == known.tolist()
        for position, value in values.items():
            assert value == pytest.approx(trace.value[step, position], rel=1e-4)
    for name, array in (("factor", trace.factor), ("reward", trace.reward_normalised)):
        numbers = [math.nan if v is None else v for v in shown[name]]
        assert numbers == pytest.approx(array.tolist(), rel=1e-5, nan_ok=True)
    assert data_of(trace.view())["marked"] == np.flatnonzero(trace.changed).tolist()


def test_the_sentences_say_what_each_step_did() -> None:
    trace = run()
    sentences = data_of(trace.view())["runs"][0]["sentences"]
    assert len(sentences) == 5
    for step in range(4):
        for position in np.flatnonzero(trace.chosen[step]).tolist():
            word = trace.words([trace.tokens[position]])[0]
            assert f"“{word}” at {position}" in sentences[step].partition(".")[0]
        assert f"factor {trace.factor[step]:.3g}" in sentences[step]
        assert ("At factor 1 it would have committed" in sentences[step]) == bool(trace.changed[step])
    assert any(trace.changed)
    step = int(np.flatnonzero(trace.changed)[0])
    otherwise = np.flatnonzero(trace.unscaled[step] & ~trace.chosen[step]).tolist()
    after = sentences[step].partition("At factor 1")[2].partition(" instead of ")[0]
    assert [int(place) for place in re.findall(r"” at (\d+)", after)] == otherwise


def test_two_runs_start_where_they_part_and_say_why() -> None:
    first, second, predictor = run("default"), run("temperature:6"), table_predictor(5)
    difference = diff(first, second, predictor)
    assert difference.parting is not None and difference.parting.why == "order"
    page = first.view(second, predictor)
    data = data_of(page)
    assert data["start"] == difference.parting.step
    assert data["marked"] == [change.step for change in difference.steps if change.only_first or change.only_second]
    text = unescape(re.sub(r"<[^>]*>", " ", page.html))
    for pair in difference.parting.reversals[:5]:
        assert pair.certified and f"cross at c = {pair.crossings[0].root:.6g}, proved" in text
    assert "is not known without the model" in first.view(second).html
