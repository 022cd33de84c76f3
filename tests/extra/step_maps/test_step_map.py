"""A step map becomes a trace that plays and compares as the decode's own; what it cannot tell is null and is named."""

import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from documented_commands import ROOT
from hypothesis import given
from hypothesis import strategies as st
from misuse import refused
from tiny_models import bert_predictor

from rws_decode import Shape, decode, diff, load_predictor, load_trace, path_diagnostics, plots, replay, replay_with
from rws_decode.__main__ import main
from rws_decode.extra.check.fragility import fragility
from rws_decode.extra.drafts import play
from rws_decode.replay.step_logits import step_logits
from rws_decode.strategies.recorded import constant_of, recorded, shuffled
from rws_decode.trace.data import STEP_MAP_LACKS
from rws_decode.trace.decoding import Decoding
from rws_decode.trace.file import SCHEMA
from rws_decode.trace.trace import Trace
from rws_theory import global_arness, local_arness

MAP = Trace.from_step_map(None, [0, 2, 0, 1], texts=["a", " cat", " is", "."], prompt="name a pet", model="llada")
OTHER = Trace.from_step_map(None, [0, 1, 0, 2], texts=["a", " dog", " is", "."], prompt="name a pet")
PAGE = (ROOT / "docs/extra/step_maps.md").read_text(encoding="utf-8")


@cache
def mini() -> Any:
    return load_predictor("mini")


def mapped(trace: Trace, **more: Any) -> Trace:
    """Return the step map of a decode, as a trace."""
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
    for arness in (local_arness, global_arness):
        assert arness(trace.commit_step) == arness(full.commit_step)
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
    row = Decoding((trace,), 0).to_frame().iloc[0]
    assert row[["forwards", "reward_calls", "revisions", "tokens_per_forward", "changed_steps"]].isna().all()


REFUSING: dict[str, Callable[[Trace], object]] = {
    "replay": replay,
    "replay_with": lambda trace: replay_with(trace, bert_predictor()),
    "step_logits": lambda trace: step_logits(trace, bert_predictor(), 0),
    "path_diagnostics": lambda trace: path_diagnostics(trace, bert_predictor()),
    "diff with a model": lambda trace: diff(trace, trace, bert_predictor()),
    "view with a model": lambda trace: trace.view(trace, bert_predictor()),
    "fragility": lambda trace: fragility([trace]),
    "recorded": recorded,
    "constant": constant_of,
    "shuffled": lambda trace: shuffled(trace, np.random.default_rng(0)),
    "plots.step": lambda trace: plots.step(trace, 0),
    "plots.steps": plots.steps,
    "values of plots.order": lambda trace: plots.order(trace, values=True),
    "changes of plots.order": lambda trace: plots.order(trace, changes=True),
    "reward_asked": lambda trace: trace.reward_asked,
    "completed": lambda trace: trace.completed,
    "reward_calls": lambda trace: Decoding((trace,), 0).reward_calls,
    "reward_calls_saved": lambda trace: Decoding((trace,), 0).reward_calls_saved,
}


@pytest.mark.parametrize("reader", REFUSING)
def test_a_reader_that_would_have_to_guess_refuses_in_one_line_that_names_it(reader: str) -> None:
    refused(lambda: REFUSING[reader](MAP), "a step map, which does not tell strategy, ... (14 in all)")


NAMING: dict[str, Callable[[], str]] = {
    "diff": lambda: str(diff(MAP, OTHER)),
    "diff in a notebook": lambda: diff(MAP, OTHER)._repr_html_(),
    "trace in a notebook": MAP._repr_html_,
    "page of two": lambda: MAP.view(OTHER).html,
    "order": lambda: plots.caption(plots.order(MAP)),
    "order map": lambda: plots.caption(plots.order_map([MAP, MAP])),
    "missing": lambda: ", ".join(MAP.missing),
}


@pytest.mark.parametrize("reader", NAMING)
def test_a_reader_that_can_read_it_names_what_is_missing(reader: str) -> None:
    told = " ".join(NAMING[reader]().split())
    assert "candidates, ranking values, factors, rewards, ties, rounding" in told and "reward calls" in told
    assert "factor is" not in told and "0 forwards" not in told


def test_two_runs_are_compared_by_what_both_know() -> None:
    difference = diff(MAP, OTHER)
    assert difference.settings == () and difference.parting is not None and difference.parting.step == 1
    assert difference.parting.reversals[0].words == (".", " dog") and "own ids" not in str(difference)
    ids = Trace.from_step_map([9, 8, 7, 6], [0, 2, 0, 1], texts=["a", " cat", " is", "."], prompt_ids=[1])
    assert diff(MAP, ids).same and diff(ids, MAP).same
    assert not diff(MAP, replace(ids, pieces={**ids.pieces, "8": " rat"})).same
    bare = Trace.from_step_map([9, 8, 7, 6], [0, 2, 0, 1])
    refused(lambda: diff(MAP, bare), "the runs cannot be compared: one has the texts of its tokens alone")
    other = replace(OTHER, prompt_text="name a dog")
    refused(lambda: MAP.view(other), "other has the prompt 'name a dog': a run of the same prompt")
    longer = Trace.from_step_map([9, 8, 7, 6], [0, 3, 1, 2])
    assert diff(bare, longer).parting.why == "count"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": []}, "steps is empty"),
        ({"steps": "0123"}, "steps is '0123': a list is needed"),
        ({"steps": [0, 1, 1, 3]}, "steps has no 2: every step from 0 to the last, 3, commits a token"),
        ({"steps": [0, 1, 2, -1]}, "steps holds -1: whole numbers from 0"),
        ({"steps": [0, 1, 2, None]}, "steps holds None"),
        ({"steps": [0, 1, 2, 2**40]}, f"steps holds {2**40}"),
        ({"steps": [0, 1, 2]}, "tokens has 4 entries: 3 are needed, as steps has"),
        ({"texts": ["a"]}, "texts has 1 entries: 4 are needed"),
        ({"texts": ["a", "b", "c", 4]}, "texts holds 4: the text of each token"),
        ({"tokens": [5, 6, 7, -8]}, "tokens holds -8"),
        ({"tokens": None}, "tokens and texts are missing"),
        ({"tokens": [5, 6, 7, 10**6], "tokenizer": True}, "tokens holds the id 1000000: the tokenizer has ids 0 to 1"),
        ({"prompt_ids": [10**6], "tokenizer": True}, "prompt_ids holds the id 1000000: the tokenizer has ids 0 to 1"),
        ({"prompt": 7}, "prompt is 7: text is needed"),
        ({"model": []}, "model is []: text is needed"),
        ({"mask_id": 6}, "tokens holds mask_id, 6, at position 1"),
        ({"mask_id": 9, "prompt_ids": [9]}, "prompt holds 1 masks"),
        ({"block": 0}, "block is 0: at least 1"),
        ({"block": 2}, "block is 2: step 0 commits a token after position 1, and step 1 one before"),
        ({"masks": [4, 2]}, "masks is [4, 2]: the steps leave [4, 2, 1]"),
    ],
)
def test_a_step_map_that_is_none_is_refused_in_one_line(change: dict[str, Any], message: str) -> None:
    given_: dict[str, Any] = {"tokens": [5, 6, 7, 8], "steps": [0, 1, 0, 2]} | change
    if given_.get("tokenizer"):
        given_["tokenizer"] = mini().tokenizer
    refused(lambda: Trace.from_step_map(**given_), message)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"forwards": 0}, "forwards is 0: a step map, whose strategy is null, does not tell it; null is needed"),
        ({"reward_calls": 3}, "reward_calls is 3: "),
        ({"strategy": {"name": "default"}}, "reward_use must not be null"),
        ({"own_ids": True, "pieces": {}}, "own_ids is True: pieces must hold the text of every token"),
        ({"length": None}, "4 rows do not fit"),
    ],
)
def test_a_file_whose_nulls_contradict_each_other_is_refused(
    tmp_path: Path, fields: dict[str, Any], message: str
) -> None:
    path = MAP.save(tmp_path / "t.parquet")
    header = json.loads(pq.read_metadata(path).metadata[SCHEMA.encode()])
    header |= {"trace": header["trace"] | fields, "prompt": []}
    pq.write_table(pq.read_table(path).replace_schema_metadata({SCHEMA: json.dumps(header)}), path)
    refused(lambda: load_trace(path), f"{path}:  ... {message}")


def test_the_page_and_the_command_say_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0], {})
    assert capsys.readouterr().out == PAGE.split("```text\n")[1].split("```")[0]
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
