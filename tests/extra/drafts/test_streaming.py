"""Step callbacks and streamers: what they are shown, how a decode stops, and transformers' own streamers."""

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from grouped import grouped
from tiny_models import bert_predictor
from transformers import TextDiffusionStreamer, TextStreamer

from rws_decode import RWS, CallablePredictor, CallableReward, Confidence, Decoding, Savings, decode, recorded, replay
from rws_decode.extra.drafts import MASK_CHARACTER, DraftStreamer, Feed
from rws_decode.extra.testing.networks import EOS, MASK, word_tokenizer
from rws_decode.step.callback import StepView
from rws_decode.trace.trace import load

PREDICTOR = bert_predictor()
PROMPTS = ["the cat", "a dog sat on the mat", "it"]
REWARD = CallableReward(lambda prompt, answer: float(len(set(answer.split()))), mean=2.0, std=1.5)
USUAL = Savings()
SIZE: dict[str, Any] = {"length": 8, "steps": 4, "block": 4}


def run(callback: Any = None, prompts: Any = PROMPTS, savings: Savings = USUAL, **more: Any) -> Decoding:
    options = SIZE | {"reward": REWARD, "savings": savings, "callback": callback} | more
    return decode(PREDICTOR, prompts, RWS(8.0), **grouped(**options))


def test_views_are_what_the_traces_record() -> None:
    views: list[StepView] = []
    traces = run(views.append)
    assert [(view.step, view.cur_step) for view in views] == [(0, 4), (1, 3), (2, 2), (3, 1)]
    for view in views:
        assert view.rows.tolist() == [0, 1, 2]
        for row, trace in enumerate(traces):
            np.testing.assert_array_equal(view.chosen[row], trace.chosen[view.step])
            np.testing.assert_array_equal(view.candidate[row], trace.candidate[view.step])
            assert view.factor[row] == trace.factor[view.step]
            after = trace.canvas[view.step + 1] if view.step + 1 < trace.steps else trace.tokens
            np.testing.assert_array_equal(view.canvas[row], after)


def test_looking_on_changes_nothing() -> None:
    def scribble(view: StepView) -> None:
        for array in (view.canvas, view.candidate, view.chosen, view.factor, view.rows):
            array[...] = 0

    assert list(run(scribble)) == list(run())


@pytest.mark.parametrize(("last", "savings"), [(0, USUAL), (1, replace(Savings.everything(), spread=None)), (3, USUAL)])
def test_a_stopped_decode_is_the_start_of_the_whole_one(last: int, savings: Savings, tmp_path: Any) -> None:
    whole = run(savings=savings)
    stopped = run(lambda view: view.step == last, savings=savings)
    for full, part in zip(whole, stopped, strict=True):
        assert part.steps_run == last + 1 and part.steps == 4
        done = (full.commit_step >= 0) & (full.commit_step <= last)
        np.testing.assert_array_equal(part.commit_step, np.where(done, full.commit_step, -1))
        np.testing.assert_array_equal(part.tokens, np.where(done, full.tokens, MASK))
        np.testing.assert_array_equal(part.factor, full.factor[: last + 1])
        assert part.text == PREDICTOR.decode_answer(full.tokens[done].tolist())
        assert replay(part).diverged_at is None
        assert load(part.save(tmp_path / "part.parquet")) == part
    assert stopped.forwards == last + 1


def test_a_stop_ends_its_batch_alone() -> None:
    small = Savings(memory=1)  # one row per batch
    traces = run(lambda view: view.rows.tolist() == [1] and view.step == 1, savings=small)
    assert [trace.steps_run for trace in traces] == [4, 2, 4]
    again = decode(
        PREDICTOR, PROMPTS[1:2], recorded(traces[1]), callback=lambda view: view.step == 1, **grouped(**SIZE)
    )
    np.testing.assert_array_equal(again[0].tokens, traces[1].tokens)


def test_rows_that_settled_before_a_stop_keep_their_ends() -> None:
    end = 1

    def logits(canvas: torch.Tensor) -> torch.Tensor:
        """Prefer the end everywhere after prompt 2, word 3 after others; the leftmost is the surest."""
        best = torch.where(canvas[:, :1] == 2, end, 3).expand(canvas.shape)
        return torch.nn.functional.one_hot(best, 4) * (20.0 - torch.arange(canvas.shape[1])[:, None])

    predictor = CallablePredictor(logits, mask_id=0, end_id=end, decode=str)
    options: dict[str, Any] = {"length": 6, "steps": 6, "block": 6, "savings": Savings(settled=True)}
    first, second = decode(
        predictor, [[2], [3]], Confidence(), callback=lambda view: view.step == 2, **grouped(**options)
    )
    assert (first.steps_run, first.tokens.tolist(), first.text) == (1, [end] * 6, "[]")
    assert (second.steps_run, second.tokens.tolist(), second.text) == (3, [3, 3, 3, 0, 0, 0], "[3, 3, 3]")


def words(ids: list[int]) -> str:
    return PREDICTOR.decode_answer(ids) or ""


def test_drafts_show_the_canvas_and_end_with_the_text() -> None:
    out = io.StringIO()
    streamer = DraftStreamer(words, out)
    streamer.put(torch.tensor([1, 2, 3]))
    (trace,) = run(Feed(streamer, PREDICTOR, block=4), PROMPTS[:1])
    streamer.end()
    lines = out.getvalue().splitlines()
    assert len(lines) == 5
    left = [line.count(MASK_CHARACTER) for line in lines]
    assert left == [int((trace.commit_step > step).sum()) for step in range(4)] + [0]
    assert lines[-1] == trace.text


def test_a_terminal_is_overdrawn() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    streamer = DraftStreamer(words, out)
    for _ in range(2):  # it can be used again
        streamer.put(torch.tensor([[1, 2, 3]]))
        (trace,) = run(Feed(streamer, PREDICTOR, block=4), PROMPTS[:1])
        streamer.end()
    once = "██████\r\x1b[Jflew ████\r\x1b[Jflew ██\r\x1b[Jflew it tree\r\x1b[Jflew it tree\n"
    assert out.getvalue() == once * 2
    assert out.getvalue().endswith(f"\x1b[J{trace.text}\n")


def test_streamers_of_transformers_show_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    codec = word_tokenizer()
    for streamer in (
        TextStreamer(codec, skip_prompt=True, skip_special_tokens=True),
        TextDiffusionStreamer(codec, skip_prompt=True, skip_special_tokens=True),
    ):
        streamer.put(torch.tensor([1, 2, 3]))
        (trace,) = run(Feed(streamer, PREDICTOR, block=4), PROMPTS[:1])
        streamer.end()
        shown = capsys.readouterr().out
        assert shown.split("\x1b[J")[-1].split() == (trace.text or "").split()
        if isinstance(streamer, TextDiffusionStreamer):  # its drafts are completions, as of DiffusionGemma
            for step in range(4):
                assert f"\x1b[33m{codec.decode(trace.candidate[step], skip_special_tokens=True)}\x1b[0m" in shown


class Log:
    """A streamer without drafts."""

    def __init__(self) -> None:
        self.given: list[list[int]] = []

    def put(self, value: torch.Tensor) -> None:
        self.given.append(value.tolist())

    def end(self) -> None:
        self.given.append([])


VIEW = StepView(0, 9, MASK, *(np.zeros(1, np.int64) for _ in range(4)), np.ones(1))  # type: ignore[arg-type]


def test_blocks_are_put_once_complete_up_to_the_end_of_text() -> None:
    log = Log()
    after = Feed(log, PREDICTOR, block=2)
    for canvas in ([7, MASK, 8, 9, MASK, MASK], [7, 6, 8, EOS, MASK, MASK], [7, 6, 8, EOS, 9, 9]):
        after(replace(VIEW, canvas=np.array([canvas]), candidate=np.array([canvas])))
    after.finish([7, 6, 8, EOS, 9, 9])
    assert log.given == [[7, 6], [8]]


def test_what_an_early_end_leaves_is_put_at_the_finish() -> None:
    for settled, shown in (([7, 6, 8, EOS, EOS, EOS], [6, 8]), ([7, MASK, 8, 9, MASK, EOS], [8, 9])):
        log = Log()
        after = Feed(log, PREDICTOR, block=1)
        after(replace(VIEW, canvas=np.array([[7] + [MASK] * 5]), candidate=np.array([[7] * 6])))
        after.finish(settled)
        assert log.given == [[7], shown]
