"""Traces: what they hold and keep, that files are readable by others, and whole or refused."""

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import torch
from documented_commands import page, snippets
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from misuse import refused
from trace_files import PREDICTOR, SCHEMA, TRACE, run, unneeded

from rws_decode import Shape, Trace, constant_of, decode, load_trace, recorded, replay, shuffled
from rws_decode.canvas.layout import Canvas
from rws_decode.canvas.schedule import block_plan
from rws_decode.step.record import Record
from rws_theory import generation_order_deviation

PAGE = "docs/trace-format.md"


def made(
    length: int, steps: int, block: int, *, changing: float = 0.05, seed: int = 0, grid: float = 0.0, fewer: int = 0,
    score: bool = True, vocabulary: int = 126_000,
) -> Trace:  # fmt: skip
    """Make a trace as a decode would, of random values that are multiples of `grid`; fewer: steps that are not run."""
    rng = np.random.default_rng(seed)
    answer = 60 + torch.arange(length)[None]
    record = Record([0], Canvas(torch.zeros(1, 60 + length), None, answer, answer < 0), steps)
    masked, candidate = np.ones(length, bool), rng.integers(0, vocabulary, length)
    for step, planned in enumerate(block_plan(length, steps, block)[: steps - fewer]):
        moved = masked & (rng.random(length) < changing)
        candidate = np.where(moved, rng.integers(0, vocabulary, length), candidate)
        value = rng.normal(0, 3, length)
        value = np.round(value / grid) * grid if grid else value
        eligible = masked & (np.arange(length) // block == planned.start // block)
        order = np.lexsort((-value, ~eligible))
        chosen = np.zeros(length, bool)
        chosen[order[: planned.commits]] = True
        level = eligible & ~chosen & (value == value[order[planned.commits - 1]])
        row = {"candidate": candidate, "value": np.where(eligible, value, np.nan), "chosen": chosen}
        row |= {"forwards": 1, "ties": level.sum(), "factor": rng.random() + 1, "saturated": rng.integers(9)}
        if score:
            row |= {"reward_raw": rng.normal(), "reward_normalised": rng.normal(), "reward_use": 1}
        for name, value in row.items():
            record.arrays[name][0, step] = value
        masked &= ~chosen
    given: dict[str, Any] = {
        **{"length": length, "steps": steps, "block": block, "ranking": "log-odds", "precision": "float64"},
        **{"logits_dtype": "bfloat16", "strategy": {"name": "rws", "reward_scale": 8.0, "eps": 1e-5}},
        **{"predictor": "GSAI-ML/LLaDA-8B-Instruct", "reward_model": "Skywork/reward", "mask_id": vocabulary},
        **{"padding": "right", "sampling_temperature": 0.0, "seed": 0, "cfg": 0.0},
        **{"end_of_text": "none", "end_ids": [], "prompt_text": "word " * 60, "text": "word " * length},
        **{"reward_calls": steps, "reward_calls_saved": 0},
        "prompt": rng.integers(0, vocabulary, 60),
    }
    return Trace(**(given | record.row(0, uncommitted=1)))


def test_saved_and_loaded_it_is_the_same_and_so_are_its_bytes(tmp_path: Path) -> None:
    path = TRACE.save(tmp_path / "new" / "a.parquet")
    assert load_trace(path) == TRACE
    assert run().save(tmp_path / "b.parquet").read_bytes() == path.read_bytes()
    assert load_trace(path).save(tmp_path / "c.parquet").read_bytes() == path.read_bytes()
    assert load_trace(path).strategy == {"name": "rws", "reward_scale": 8.0, "eps": 1e-5}
    assert load_trace(rewritten(path, version=5)) == TRACE  # a file of the version before


@settings(max_examples=examples(150))
@given(
    st.sampled_from([(1, 1, 1), (6, 3, 6), (40, 8, 20), (48, 48, 48), (60, 3, 60)]),
    st.sampled_from([0.0, 0.1, 1.0]),
    st.sampled_from([0.0, 0.5, 4.0]),
    st.integers(0, 1),
    st.booleans(),
    st.sampled_from([2, 126_000]),
    st.integers(0, 99),
)
def test_whatever_was_kept_comes_back_and_replays(
    tmp_path_factory: Any, shape: Any, changing: float, grid: float, fewer: int, score: bool, vocabulary: int, seed: int
) -> None:
    fewer = min(fewer, shape[1] - 1)
    trace = made(*shape, changing=changing, grid=grid, fewer=fewer, score=score, vocabulary=vocabulary, seed=seed)
    again = load_trace(trace.save(tmp_path_factory.mktemp("t") / "t.parquet"))
    assert again == trace
    assert replay(again).diverged_at is None and np.array_equal(replay(again).tokens, trace.tokens)


def test_the_schema_page_reads_a_file_without_this_package(tmp_path: Path) -> None:
    text, code = page(PAGE), "\n".join(snippets(PAGE))
    assert "rws_decode import" not in code and "import rws_decode" not in code
    for trace in (TRACE, made(20, 10, 10, fewer=2)):
        names: dict[str, Any] = {"path": trace.save(tmp_path / "t.parquet")}
        exec(compile(code, PAGE, "exec"), names)
        assert np.array_equal(names["tokens"], trace.tokens)
        assert np.array_equal(names["commit_step"], trace.commit_step)
        for step in range(trace.steps_run):
            assert np.array_equal(names["canvas"](step), trace.canvas[step])
            assert np.array_equal(names["completion"](step), trace.candidate[step])
        pd.testing.assert_frame_equal(names["frame"], trace.to_frame())
        section = text.split("## Columns")[1].split("## Metadata")[0]
        assert re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE) == list(names["frame"].columns)
        parts = "schema version prompt uncommitted_token whole_candidates spelled trace"
        assert set(names["metadata"]) == set(parts.split())
        for name in trace.metadata():
            assert f"`{name}`" in text


def rewritten(path: Path, change: Any = lambda frame: frame, **header: object) -> Path:
    """Write TRACE as another program might, with a changed table or metadata."""
    TRACE.save(path)
    table, complete = pq.read_table(path), json.loads(pq.read_metadata(path).metadata[SCHEMA.encode()])
    table = pa.Table.from_pandas(change(table.to_pandas()), preserve_index=False)
    pq.write_table(table.replace_schema_metadata({SCHEMA: json.dumps(complete | header)}), path)
    return path


def changed(column: str, row: int, value: object) -> Any:
    def change(frame: pd.DataFrame) -> pd.DataFrame:
        frame.loc[frame.index[row], column] = value
        return frame

    return change


LAST = len(TRACE.to_frame()) - 1
CHOSEN = int(np.flatnonzero(TRACE.to_frame()["committed"])[0])


def settings_of(**changed: object) -> dict[str, Any]:
    return {"trace": TRACE.metadata() | changed}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.assign(near_ties=f["near_ties"].astype("int64")), "columns"),
        (lambda f: f.assign(ties=pd.array([None] * len(f), dtype="Int32")), "ties"),
        (lambda f: f.iloc[::-1], "rows must go by step and position"),
        (lambda f: f[f["step"] != 2], "uncommitted_token"),
        (lambda f: f.drop(index=f.index[(f["step"] == 0) & ~f["committed"]][0]), "whole_candidates"),
        (lambda f: f.assign(unscaled=f["step"] == 0), "unscaled"),
        (changed("committed", 0, True), "committed twice"),
        (changed("ties", LAST, 99), "ties"),
        (lambda f: f.assign(reward_raw=f["reward_raw"].where(f["step"] != 0)), "reward_raw"),
        (changed("value", CHOSEN, None), "value holds NaN"),
        *(({"version": number}, f"version {number}: ... 5 to 6") for number in (2, 4, 7)),
        ({"trace": {}}, "parts of a trace"),
        ({"prompt": ["a"]}, "'a'"),
        ({"uncommitted_token": None}, "uncommitted_token"),
        (settings_of(length=10**12), f"length {10**12}"),
        (settings_of(steps=4), "steps_run is 5:"),
        (settings_of(seed=False), "seed is False:"),
        (settings_of(text=f"{TRACE.text} dog"), f"text is '{TRACE.text} dog':"),
        (settings_of(drawing="dice"), "drawing is 'dice':"),
    ],
)
def test_files_that_contradict_themselves_are_refused(tmp_path: Path, change: Any, message: str) -> None:
    assert load_trace(rewritten(tmp_path / "p.parquet")) == TRACE  # by another program
    rows = {"change": lambda frame: change(frame.astype({"step": "int32"}))} if callable(change) else change
    path = rewritten(tmp_path / "p.parquet", **rows)
    refused(lambda: load_trace(path), f"{path}:  ... {message}")


def test_a_byte_that_changed_in_a_column_is_noticed(tmp_path: Path) -> None:
    path = TRACE.save(tmp_path / "p.parquet")
    data, columns = path.read_bytes(), pq.read_metadata(path).row_group(0)
    for number in range(columns.num_columns):
        column = columns.column(number)
        start = column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset
        for offset in (start + column.total_compressed_size - 1, start + column.total_compressed_size - 2):
            path.write_bytes(data[:offset] + bytes([data[offset] ^ 1]) + data[offset + 1 :])
            refused(lambda: load_trace(path), f"{path}: not a whole Parquet file: ")


def test_generation_order_deviation_comes_in_both_readings_and_over_what_was_committed() -> None:
    assert TRACE.god_tokens == generation_order_deviation(TRACE.commit_step, "tokens")
    assert TRACE.god_steps == generation_order_deviation(TRACE.commit_step, "steps")
    early = made(8, 8, 8, fewer=5)
    written = early.commit_step[early.commit_step >= 0]
    assert len(written) == 3 and early.steps_run == 3 and (early.tokens[early.commit_step < 0] == 1).all()
    assert early.god_tokens == generation_order_deviation(written, "tokens")


def test_steps_that_needed_no_reward_are_kept_replayed_and_not_taken_for_known(tmp_path: Path) -> None:
    trace = unneeded(TRACE, 2, "value")
    assert load_trace(trace.save(tmp_path / "t.parquet")) == trace
    assert trace.to_frame().query("step == 2")[["factor", "value", "reward_raw"]].isna().all(axis=None)
    table, rows = pq.read_table(tmp_path / "t.parquet"), trace.to_frame()
    for name in ("factor", "value", "reward_raw", "reward_normalised"):  # null in the file, not a number that is none
        assert table[name].null_count == (rows["step"] == 2).sum() > 0 and not pc.any(pc.is_nan(table[name])).as_py()
    assert replay(trace).diverged_at is None
    (again,) = decode(PREDICTOR, ["the cat sat"], recorded(trace), Shape(length=12, steps=5, block=12))
    assert again.commit_step.tolist() == trace.commit_step.tolist() and np.array_equal(again.tokens, trace.tokens)
    for control in (constant_of, lambda run: shuffled(run, np.random.default_rng(0))):
        message = "traces[1] lacks 1 factors, of steps where no reward was needed: decode again with every reward asked"
        refused(partial(control, [TRACE, trace]), message)
        refused(partial(control, trace), message.replace("[1]", "[0]"))
