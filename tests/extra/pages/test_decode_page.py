"""The page of a decode: it holds the trace and nothing that a text could make of it, and asks no network."""

import math
import re
from dataclasses import replace
from functools import cache, partial
from html import unescape
from pathlib import Path

import numpy as np
import pytest
import torch
from html_elements import Elements
from interactive_pages import HOSTILE, data_of, hostile_predictor, written
from misuse import refused
from table_models import REWARD, table_predictor

from rws_decode import CallablePredictor, Shape, Trace, compare, decode, decode_page, diff
from rws_decode.extra.pages.decode_page import tied_and_near
from rws_decode.extra.pages.sentences import end_sentence, step_sentence

SHAPE = Shape(length=8, steps=4, block=8)


@cache
def run(strategy: str = "rws:4", shape: Shape = SHAPE) -> Trace:
    (trace,) = decode(table_predictor(5), "", strategy, shape, reward=REWARD)
    return trace


def restless(words: int = 200) -> CallablePredictor:
    """A predictor whose every candidate changes at every step, so that a page has the most to hold."""
    generator = torch.Generator().manual_seed(1)
    names = [f"{'abcdefgh'[: 2 + n % 7]}{n}" for n in range(words)]

    def logits(canvas: torch.Tensor) -> torch.Tensor:
        return 3 * torch.randn(*canvas.shape, words + 1, generator=generator, dtype=torch.float64)

    return CallablePredictor(
        logits,
        mask_id=words,
        vocab_size=words + 1,
        encode=lambda text: [],
        decode=lambda ids: " ".join([*names, "?"][token] for token in ids),
    )


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


def test_a_page_is_saved_whole_and_shown_in_a_frame(tmp_path: Path) -> None:
    page = run().view()
    (frame,) = Elements(page._repr_html_()).named("iframe")  # in a notebook
    assert frame["srcdoc"] == page.html and frame["title"] and re.match(r"Page\(\d+ KB of HTML: ", repr(page))
    assert page.save(tmp_path / "new" / "page.html").read_text(encoding="utf-8") == page.html
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["page.html"]
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(OSError, match="file"):
        page.save(tmp_path / "file" / "page.html")


def test_pages_are_of_modest_size_and_gaps_are_filled_between_words() -> None:
    assert decode_page(run()).html == decode_page(replace(run())).html
    (trace,) = decode(restless(), "", "temperature:2", Shape(length=256, steps=128, block=128))
    assert len(trace.view().html.encode()) < 900_000
    (trace,) = decode(
        speller("peace", "and", "war", "?"), "peace [MASK:2] and [MASK:1]", "default", Shape(length=3, steps=3, block=3)
    )
    assert data_of(trace.view())["runs"][0]["row"] == ["peace", 0, 1, "and", 2]


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


def test_candidates_that_were_not_kept_are_said_so() -> None:
    trace = run("temperature:4")
    candidate = trace.candidate.copy()
    open_ = trace.masked & ~trace.chosen & ~trace.unscaled & np.isnan(trace.value)
    forgotten = replace(trace, candidate=np.where(open_ | (np.arange(8) == 7) & ~trace.chosen, -1, candidate))
    (shown,) = data_of(forgotten.view())["runs"]
    rows = [written(row) for row in shown["candidates"]]
    assert any(-1 in row.values() for row in rows)
    for step, row in enumerate(rows):
        unknown = [position for position, word in row.items() if word < 0]
        assert (forgotten.candidate[step, unknown] == -1).all()


def test_the_sentences_say_what_each_step_did() -> None:
    trace = run()
    said = data_of(trace.view())["runs"][0]["sentences"]
    assert said == [*(step_sentence(trace, step) for step in range(4)), end_sentence(trace)]
    for step in range(4):
        for position in np.flatnonzero(trace.chosen[step]).tolist():
            word = trace.words([trace.tokens[position]])[0]
            assert f"“{word}” at {position}" in said[step].partition(".")[0]
        assert f"factor {trace.factor[step]:.3g}" in said[step]
        assert ("At factor 1 it would have committed" in said[step]) == bool(trace.changed[step])
    assert any(trace.changed)
    step = int(np.flatnonzero(trace.changed)[0])
    otherwise = np.flatnonzero(trace.unscaled[step] & ~trace.chosen[step]).tolist()
    after = said[step].partition("At factor 1")[2].partition(" instead of ")[0]
    assert [int(place) for place in re.findall(r"” at (\d+)", after)] == otherwise


def test_ties_stand_where_the_trace_counts_them() -> None:
    table = torch.tensor([[0.0, 2.0, 1.0], [0.0, 1.0, 2.0], [0.0, 5.0, 1.0], [0.0, 2.0, 1.0]], dtype=torch.float64)
    predictor = CallablePredictor(lambda canvas: table.expand(len(canvas), -1, -1), mask_id=0)
    (trace,) = decode(predictor, [[]], "default", Shape(length=4, steps=2, block=4))
    (shown,) = data_of(trace.view())["runs"]
    assert trace.ties.tolist() == [2, 0] and shown["ties"] == [[0, 1, 3], []]
    assert "2 positions more are level with the last: a tie." in shown["sentences"][0]
    for step in range(2):
        tied, near = tied_and_near(trace, step)
        assert (~trace.chosen[step, tied]).sum() == trace.ties[step] and not set(tied.tolist()) & set(near.tolist())


def speller(*words: str) -> CallablePredictor:
    """A predictor of its words in turn; the last is the mask."""
    table = torch.eye(len(words), dtype=torch.float64)
    return CallablePredictor(
        lambda canvas: table[torch.arange(canvas.shape[1]) % (len(words) - 1)].expand(len(canvas), -1, -1),
        mask_id=len(words) - 1,
        encode=lambda text: [words.index(word) for word in text.split()],
        decode=lambda ids: " ".join(words[token] for token in ids),
    )


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


def test_several_runs_are_compared_with_the_first() -> None:
    runs = compare(table_predictor(5), "", ["default", "rws:4", "temperature:1"], SHAPE, reward=REWARD)
    page = runs.view()
    (first,), *_ = runs.values()
    assert len(data_of(page)["runs"]) == 3 and data_of(page)["runs"][0] == data_of(first.view())["runs"][0]
    assert "B parts from A at step" in page.html and "C commits the same tokens at the same steps as A." in page.html


def test_a_run_of_another_length_is_shown_and_one_of_another_prompt_refused() -> None:
    long = run(shape=Shape(length=8, steps=8, block=8))
    page = run().view(long)
    assert "their plans, or their lengths, differ" in page.html
    first, second = decode(speller("a", "b", "?"), ["a", "b b"], "default", Shape(length=2, steps=2, block=2))
    for shown in (first.view, first.animate):
        refused(partial(shown, second), "other has the prompt 'b b': a run of the same prompt, 'a', is needed")
    for name, change in (
        ("callable (mask 7)", {"mask_id": 7}),
        ("b (mask 2)", {"predictor": "b", "prompt": second.prompt}),
    ):
        said = f"other is of {name}, whose tokens are not those of callable (mask 2): a run of the same model is needed"
        refused(lambda change=change: first.view(replace(first, **change)), said)
    refused(lambda: run().view(run("default"), hostile_predictor()), "has mask id 8: the trace has 20")
