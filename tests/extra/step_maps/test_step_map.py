"""A step map becomes a trace that plays and compares as the decode's own; what it cannot tell is null and is named."""

import io
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from command_lines import decoding as main
from documented_commands import page, ran, shown
from hypothesis import given
from hypothesis import strategies as st
from misuse import refused
from tiny_models import bert_predictor
from trace_files import SCHEMA, STEP_MAP_LACKS

import rws_decode as rws
from rws_decode import Shape, Trace, decode, diff, load_predictor, load_trace, plots, replay, replay_with, shuffled
from rws_decode.extra.drafts import play
from rws_theory import local_arness

MAP = Trace.from_step_map(None, [0, 2, 0, 1], texts=["a", " cat", " is", "."], prompt="name a pet", model="llada")
OTHER = Trace.from_step_map(None, [0, 1, 0, 2], texts=["a", " dog", " is", "."], prompt="name a pet")
PAGE = page("docs/extra/step_maps.md")


@cache
def mini() -> Any:
    return load_predictor("mini")


def mapped(trace: Trace, **more: Any) -> Trace:
    given_: dict[str, Any] = {"prompt": trace.prompt_text, "prompt_ids": trace.prompt.tolist()}
    given_ |= {"model": trace.predictor, "block": trace.block, "mask_id": trace.mask_id, "tokenizer": mini().tokenizer}
    masks = trace.masked.sum(axis=1).tolist()
    return Trace.from_step_map(trace.tokens.tolist(), trace.commit_step.tolist(), **given_ | {"masks": masks} | more)


def played(trace: Trace) -> str:
    stream = io.StringIO()
    play(trace, stream)
    return stream.getvalue()


@given(st.integers(0, 20), st.sampled_from([(8, 8), (4, 8), (4, 4), (2, 4)]), st.sampled_from(["default", "margin"]))
def test_a_decodes_step_map_has_its_order_and_plays_alike(example: int, shape: tuple[int, int], strategy: str) -> None:
    (full,) = decode(mini(), [mini().prompts[example]], strategy, Shape(8, *shape))
    trace = mapped(full)
    for name in ("canvas", "masked", "eligible", "chosen", "tokens", "commit_step", "prompt", "completed"):
        np.testing.assert_array_equal(getattr(trace, name), getattr(full, name), name)
    assert (trace.god_tokens, trace.god_steps) == (full.god_tokens, full.god_steps)
    assert local_arness(trace.commit_step) == local_arness(full.commit_step)
    assert (trace.text, trace.prompt_text, played(trace)) == (full.text, full.prompt_text, played(full))
    difference = diff(full, trace)
    assert difference.same and difference.settings == () and not difference.steps and "rewards" in difference.missing


@pytest.mark.parametrize("trace", [MAP, OTHER, mapped(decode(mini(), mini().prompts[:1], shape=Shape(4, 2, 4))[0])])
def test_what_a_step_map_cannot_tell_is_null_in_memory_file_and_table(trace: Trace, tmp_path: Path) -> None:
    path = trace.save(tmp_path / "t.parquet")
    assert load_trace(path) == trace
    settings, frame = json.loads(pq.read_metadata(path).metadata[SCHEMA.encode()])["trace"], pd.read_parquet(path)
    for name in STEP_MAP_LACKS:
        assert getattr(trace, name) is None
        assert settings[name] is None if name in settings else frame[name].isna().all()
    assert frame[["value", "factor", "reward_raw", "reward_normalised"]].isna().all().all()
    row = rws.Decoding((trace,), 0).to_frame().iloc[0]
    assert row[["forwards", "reward_calls", "revisions", "tokens_per_forward", "changed_steps"]].isna().all()


REFUSING: dict[str, Callable[[Trace], object]] = {
    "replay": replay,
    "replay_with": lambda trace: replay_with(trace, bert_predictor()),
    "step_logits": lambda trace: rws.step_logits(trace, bert_predictor(), 0),
    "path_diagnostics": lambda trace: rws.path_diagnostics(trace, bert_predictor()),
    "fragility": lambda trace: rws.fragility([trace]),
    "shuffled": lambda trace: shuffled(trace, np.random.default_rng(0)),
    "plots.step": lambda trace: plots.step(trace, 0),
    "values of plots.order": lambda trace: plots.order(trace, values=True),
}


@pytest.mark.parametrize("reader", REFUSING)
def test_a_reader_that_would_have_to_guess_refuses_in_one_line_that_names_it(reader: str) -> None:
    refused(lambda: REFUSING[reader](MAP), "a step map, which does not tell strategy, ... (14 in all)")


NAMING: dict[str, Callable[[], str]] = {
    "diff": lambda: str(diff(MAP, OTHER)),
    "trace in a notebook": MAP._repr_html_,
    "page of two": lambda: MAP.view(OTHER).html,
}


@pytest.mark.parametrize("reader", NAMING)
def test_a_reader_that_can_read_it_names_what_is_missing(reader: str) -> None:
    text = " ".join(NAMING[reader]().split())
    assert "candidates, ranking values, factors, rewards, ties, rounding" in text and "reward calls" in text
    assert "factor is" not in text and "0 forwards" not in text


def test_the_page_and_the_command_say_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    ran("docs/extra/step_maps.md")
    assert capsys.readouterr().out == shown("docs/extra/step_maps.md")[0]
    Path("runs.jsonl").write_text(PAGE.split("```json\n")[1].split("```")[0] + "\n")
    assert main("import runs.jsonl -o out --json".split()) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert first["forwards"] is first["reward_calls"] is first["ties"] is None and "block" in first["missing"]
    assert (first["tokens"], second["tokens"], second["text"]) == ([64, 8415, 374, 13], None, "a dog is.")
    assert load_trace("out/0.parquet").commit_step.tolist() == first["commit_step"] == [0, 2, 0, 1]
    Path("ids.jsonl").write_text('{"tokens": [20, 21], "steps": [1, 0], "texts": null}\n')
    assert main("import ids.jsonl --tokenizer mini -o one.parquet --play".split()) == 0
    assert "prompt: not known\n█ █\n█ answer\nquestion answer\n" in capsys.readouterr().out
    assert load_trace("one.parquet").text == "question answer"
    Path("bad.jsonl").write_text('{"tokens": [20], "steps": [0]}\n{"tokens": [9999999], "steps": [0]}\n')
    assert main("import bad.jsonl --tokenizer mini -o bad".split()) == 2 and not Path("bad").exists()
    assert "bad.jsonl, answer 1 (from 0): tokens holds the id 9999999: the tokenizer has" in capsys.readouterr().err
