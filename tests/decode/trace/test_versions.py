"""Trace files of versions 3 and 4 are still read; what a file says of its outcome is checked."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import bert_predictor

from rws_decode import RWS, CallableReward, Shape, diff
from rws_decode.decode import decode
from rws_decode.replay.replay import replay, replay_with
from rws_decode.trace.file import SCHEMA
from rws_decode.trace.trace import Trace, load

PREDICTOR = bert_predictor()
REWARD = CallableReward(lambda prompt, answer: float(len(set(answer.split()))), mean=4.0, std=1.5, name="different")
(TRACE,) = decode(PREDICTOR, "the cat sat", RWS(0.2), Shape(12, 5, 12), reward=REWARD)
NEW = ("pieces", "final_reward", "log_prob", "rules_broken")


def written(path: Path, *, version: int = 6, without: tuple[str, ...] = (), **fields: Any) -> Path:
    """Write TRACE with other fields; None as a field's value is null, `...` leaves it out."""
    TRACE.save(path)
    header = json.loads(pq.read_metadata(path).metadata[SCHEMA.encode()])
    header["version"] = version
    for name, value in fields.items():
        header["trace"][name] = value
        if value is ...:
            del header["trace"][name]
    table = pq.read_table(path)
    table = table.drop_columns(list(without))
    pq.write_table(table.replace_schema_metadata({SCHEMA: json.dumps(header)}), path)
    return path


def version_3(path: Path) -> Path:
    """Write TRACE as version 3 had it: without two columns, the pieces and the outcome."""
    return written(path, version=3, without=("unscaled", "masked_again"), **dict.fromkeys(NEW, ...))


def test_a_file_of_version_4_is_read_and_nothing_was_masked_again(tmp_path: Path) -> None:
    old = load(written(tmp_path / "old.parquet", version=4, without=("masked_again",)))
    assert old == TRACE and old.revisions == 0 and not old.masked_again.any()
    assert old.save(tmp_path / "new.parquet").read_bytes() == TRACE.save(tmp_path / "t.parquet").read_bytes()


def test_a_file_of_version_3_is_read_and_what_it_does_not_know_is_unknown(tmp_path: Path) -> None:
    assert TRACE.changed.any() and TRACE.pieces and TRACE.final_reward is not None
    old = load(version_3(tmp_path / "old.parquet"))
    assert not old.unscaled.any() and not old.changed.any() and old.unscaled.shape == (5, 12)
    assert [getattr(old, name) for name in NEW] == [{}, None, None, None]
    for name, array in TRACE.arrays().items():
        if name != "unscaled":
            np.testing.assert_array_equal(getattr(old, name), array, name)
    assert {**TRACE.metadata(), **{name: getattr(old, name) for name in NEW}} == old.metadata()
    assert old.words([6, -1]) == ["6", ""]
    assert replay(old).diverged_at is None and np.array_equal(replay(old).tokens, TRACE.tokens)
    assert replay_with(old, PREDICTOR).tokens.tolist() == TRACE.tokens.tolist()
    assert diff(old, TRACE).same and diff(TRACE, old).settings == ()
    assert load(old.save(tmp_path / "new.parquet")) == old
    # It shows itself, without saying that factor 1 would have changed nothing.
    assert "factor 1" not in old._repr_html_() and repr(old).startswith("Trace(rws:0.2 on tiny-bert: 12 tokens")


@pytest.mark.parametrize(
    ("version", "without", "fields", "message"),
    [
        (3, (), dict.fromkeys(NEW, ...), "the columns are not those of a trace"),
        (4, (), {}, "the columns are not those of a trace"),
        (5, ("masked_again",), {}, "the columns are not those of a trace"),
        (3, ("unscaled", "masked_again"), {}, "lacks parts of a trace, or holds others"),
        (4, ("masked_again",), {"pieces": ...}, "lacks parts of a trace, or holds others"),
        (5, (), {"pieces": ...}, "lacks parts of a trace, or holds others"),
        (7, (), {}, "trace version 7: this reads versions 3 to 6"),
    ],
)
def test_each_version_has_its_own_parts(
    tmp_path: Path, version: Any, without: tuple[str, ...], fields: dict[str, Any], message: str
) -> None:
    path = written(tmp_path / "t.parquet", version=version, without=without, **fields)
    with pytest.raises(ValueError, match=rf"^{re.escape(f'{path}: {message}')}$"):
        load(path)


REWARDED = {"model": "m", "raw": 1.0, "normalised": 0.5}
NEEDED = "model, raw and normalised are needed, or None"
HUGE = 10**400


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"pieces": []}, "pieces is []: a trace needs dict"),
        ({"pieces": {"6": 1}}, "pieces holds '6': 1: texts by token id in decimal are needed"),
        ({"pieces": {"the": "6"}}, "pieces holds 'the': '6': texts by token id in decimal are needed"),
        ({"pieces": {"٦": "the"}}, "pieces holds '٦': 'the': texts by token id in decimal are needed"),
        ({"final_reward": {"raw": 1.0}}, f"final_reward is {{'raw': 1.0}}: {NEEDED}"),
        *(
            ({"final_reward": REWARDED | change}, f"final_reward is {REWARDED | change}: {NEEDED}")
            for change in ({"more": 1}, {"model": None}, {"raw": True}, {"raw": HUGE})
        ),
        ({"log_prob": HUGE}, f"log_prob is {HUGE}: a finite number of nats is needed, or None"),
        ({"rules_broken": [1]}, "rules_broken must be a list of texts, or None"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_an_outcome_that_is_none_is_refused_in_one_line(tmp_path: Path, fields: dict[str, Any], message: str) -> None:
    path = written(tmp_path / "t.parquet", **fields)
    with pytest.raises(ValueError, match=rf"^{re.escape(f'{path}: {message}')}$"):
        load(path)


@pytest.mark.parametrize("name", ["log_prob", "final_reward", "pieces"])
@pytest.mark.parametrize("odd", ["NaN", "Infinity", "-Infinity", "1e999", '"\\ud800"', "[" * 9999, "9" * 5000])
def test_numbers_and_texts_that_json_has_not_are_refused_in_one_line(tmp_path: Path, name: str, odd: str) -> None:
    path = TRACE.save(tmp_path / "t.parquet")
    table, text = pq.read_table(path), pq.read_metadata(path).metadata[SCHEMA.encode()].decode()
    inside = {"log_prob": "{}", "final_reward": '{{"model":"m","raw":{},"normalised":0.0}}', "pieces": '{{"6":{}}}'}
    before = json.dumps(TRACE.metadata()[name], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert text.count(f'"{name}":{before}') == 1
    text = text.replace(f'"{name}":{before}', f'"{name}":{inside[name].format(odd)}')
    pq.write_table(table.replace_schema_metadata({SCHEMA: text}), path)
    with pytest.raises(ValueError, match=r"t\.parquet: \S") as caught:
        load(path)
    assert "\n" not in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(NEW), JSON)
def test_whatever_stands_there_a_trace_is_read_or_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, name: str, value: Any
) -> None:
    path = tmp_path_factory.mktemp("t") / "t.parquet"
    try:
        trace = load(written(path, **{name: value}))
    except ValueError as error:
        assert str(error).startswith(f"{path}: ") and "\n" not in str(error)
    else:
        assert isinstance(trace, Trace) and load(trace.save(path)) == trace
        assert repr(trace) and trace._repr_html_() and len(trace.to_frame(words=True))


COUNT = "unscaled must hold as many masked positions as a step commits, or none"


@pytest.mark.parametrize(
    "rows",
    [
        lambda frame: (frame["step"] == 0) & frame["unscaled"] & (frame["unscaled"].cumsum() == 1),  # one too few
        lambda frame: frame["step"] == 0,  # all of them
    ],
)
def test_a_step_would_have_committed_as_many_or_it_is_not_known(tmp_path: Path, rows: Any) -> None:
    path = TRACE.save(tmp_path / "t.parquet")
    table = pq.read_table(path)
    frame = table.to_pandas()
    selected = rows(frame).to_numpy()
    flags = frame["unscaled"].to_numpy() ^ selected if selected.sum() == 1 else frame["unscaled"].to_numpy() | selected
    at = table.schema.get_field_index("unscaled")
    field = table.schema.field(at)
    pq.write_table(table.set_column(at, field, [flags]), path)
    with pytest.raises(ValueError, match=rf"^{re.escape(f'{path}: {COUNT}')}$"):
        load(path)
    # A step of which nothing is known may stand beside others.
    flags = frame["unscaled"].to_numpy() & (frame["step"].to_numpy() != 0)
    pq.write_table(table.set_column(at, field, [flags]), path)
    trace = load(path)
    assert not trace.unscaled[0].any() and not trace.changed[0]
    assert np.array_equal(trace.changed[1:], TRACE.changed[1:])
