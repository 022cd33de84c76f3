"""Step callbacks and streamers: what they are shown, how a decode stops, and transformers' own streamers."""

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from grouped import grouped
from tiny_models import MASK, bert_predictor, word_tokenizer
from transformers import TextDiffusionStreamer, TextStreamer

from rws_decode import RWS, CallableReward, Decoding, Savings, decode, load_trace, recorded, replay
from rws_decode.extra.drafts import MASK_CHARACTER, DraftStreamer, Feed
from rws_decode.step.callback import StepView

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
        assert load_trace(part.save(tmp_path / "part.parquet")) == part
    assert stopped.forwards == last + 1


def test_a_stop_ends_its_batch_alone() -> None:
    small = Savings(memory=1)  # one row per batch
    traces = run(lambda view: view.rows.tolist() == [1] and view.step == 1, savings=small)
    assert [trace.steps_run for trace in traces] == [4, 2, 4]
    rule = recorded(traces[1])
    (again,) = decode(PREDICTOR, PROMPTS[1:2], rule, callback=lambda view: view.step == 1, **grouped(**SIZE))
    np.testing.assert_array_equal(again.tokens, traces[1].tokens)


def test_drafts_show_the_canvas_and_end_with_the_text() -> None:
    out = io.StringIO()
    streamer = DraftStreamer(lambda ids: PREDICTOR.decode_answer(ids) or "", out)
    streamer.put(torch.tensor([1, 2, 3]))
    (trace,) = run(Feed(streamer, PREDICTOR, block=4), PROMPTS[:1])
    streamer.end()
    lines = out.getvalue().splitlines()
    assert len(lines) == 5
    left = [line.count(MASK_CHARACTER) for line in lines]
    assert left == [int((trace.commit_step > step).sum()) for step in range(4)] + [0]
    assert lines[-1] == trace.text


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
