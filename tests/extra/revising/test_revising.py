"""Committed tokens that are masked again: the engine against a slow loop over one row, and the traces of such runs."""

import io
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from documented_commands import snippets
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from slow_rows import Row, slow_decode
from tiny_models import bert_predictor, llada_predictor
from torch import Tensor
from trace_files import trace_bytes

import rws_decode as rws
from rws_decode import Abilities, CommittedPositions, Edit, MaskedPositions, Shape, Trace, decode, diff, load_trace
from rws_decode.extra.drafts import play
from rws_decode.strategies import Evidence, describe

LLADA, BERT = llada_predictor(), bert_predictor()
PROMPTS = ["the cat sat", "a dog ran over the hill"]
SHAPE, DRAWN = Shape(length=12, steps=12, block=6), rws.Options(sampling_temperature=1.0)


@dataclass(frozen=True)
class Doubting:
    """Commits `count` positions a step, and masks the committed tokens again whose log p is below `nats`."""

    evidence: Evidence
    nats: float
    commits: int = 3
    name = "doubting"
    needs_reward = False

    def factor(self, view: MaskedPositions) -> NDArray[np.float64]:
        return np.ones(view.rows)

    def count(self, view: MaskedPositions) -> Tensor:
        return torch.full((view.rows,), self.commits)

    @property
    def abilities(self) -> Abilities:
        return Abilities(counts=True, revises=self.evidence)

    def revise(self, view: CommittedPositions) -> Tensor:
        return view.log_p < self.nats


@dataclass(frozen=True)
class Chance:
    """Masks the committed tokens again that a number of their own tells it to, as far as the schedule can make up."""

    seed: int
    share: float = 0.4
    name = "chance"
    needs_reward = False
    abilities = Abilities(revises="none")

    def factor(self, view: MaskedPositions) -> NDArray[np.float64]:
        return np.ones(view.rows)

    def revise(self, view: CommittedPositions) -> Tensor:
        drawn = torch.from_numpy(np.random.default_rng((self.seed, view.step)).random(view.length))
        again = drawn[view.position] < self.share
        left = torch.bincount(view.masked.row, minlength=view.rows) - view.commits
        for row in range(view.rows):
            of_row = (view.row == row) & again
            again &= ~of_row | (of_row.cumsum(0) <= left[row])
        return again


@settings(max_examples=examples(50))
@given(st.integers(0, 999), st.sampled_from([(12, 12, 6), (12, 4, 12), (12, 6, 4), (8, 8, 8)]), st.data())
def test_masking_again_is_made_up_for_at_once(seed: int, size: tuple[int, int, int], data: st.DataObject) -> None:
    """The schedule's number of tokens stands after each step, whatever was masked again; the file says it all."""
    shape, rule = Shape(*size), Chance(seed)
    prompt = data.draw(st.sampled_from(PROMPTS))
    (trace,) = decode(BERT, prompt, rule, shape)

    def drawn(row: Row) -> tuple[int, set[int]]:
        draws = np.random.default_rng((seed, row.step)).random(shape.length)
        again = [i for i in row.visible if draws[i] < rule.share][: len(row.masked) - row.k]
        return row.k + len(again), set(again)

    slow = slow_decode(BERT, BERT.encode_prompt(prompt), shape, drawn)
    assert (trace.tokens.tolist(), trace.canvas.tolist()) == (slow.tokens, slow.canvases)
    assert trace.forwards == slow.forwards
    done = np.cumsum([planned.commits for planned in shape.plan])
    assert (shape.length - trace.masked.sum(axis=1)).tolist() == [0, *done[:-1].tolist()]
    check_history(trace)


def check_history(trace: Trace) -> None:
    """Hold what a trace derives against the canvas, step by step, and its file against itself."""
    after = np.concatenate([trace.canvas[1:], trace.tokens[None]])
    open_before, open_after = trace.canvas == trace.mask_id, after == trace.mask_id
    assert np.array_equal(trace.masked, open_before)
    assert np.array_equal(trace.chosen, open_before & ~open_after)
    assert np.array_equal(trace.masked_again, ~open_before & open_after)
    assert np.array_equal(trace.edited, ~open_before & ~open_after & (trace.canvas != after))
    assert trace.masked_again.sum() == trace.chosen.sum() - (trace.commit_step >= 0).sum()
    assert trace.revisions == trace.masked_again.sum() + trace.edited.sum()
    last = [max(np.flatnonzero(column), default=-1) for column in trace.chosen.T]
    assert trace.commit_step.tolist() == [-1 if a else s for s, a in zip(last, open_after[-1], strict=True)]
    stands = ~trace.masked & (trace.candidate >= 0)
    assert np.array_equal(trace.candidate[stands], np.where(trace.edited, after, trace.canvas)[stands])
    block = np.arange(trace.length) // trace.block
    current = block[trace.eligible.argmax(axis=1)]
    assert not (trace.masked_again & (block != current[:, None])).any()


TRACES = [
    *decode(LLADA, PROMPTS, Doubting("visible", -2.0), SHAPE),
    *decode(LLADA, PROMPTS, Doubting("left-out", -2.0, 2), Shape(12, 12, 12)),
    *decode(BERT, PROMPTS, Chance(3), SHAPE, options=DRAWN),
    *decode(LLADA, PROMPTS, Edit(0.1, 0.5), SHAPE),
    *decode(LLADA, PROMPTS, Edit(0.3, 0.3, scaled=rws.Temperature(2.0)), SHAPE, options=DRAWN),
]


@pytest.mark.parametrize("trace", TRACES, ids=str)
def test_a_revising_run_is_saved_read_and_shown(trace: Trace, tmp_path: Path) -> None:
    check_history(trace)
    path = trace.save(tmp_path / "t.parquet")
    assert load_trace(path) == trace and trace_bytes(load_trace(path)) == path.read_bytes()
    assert len(path.read_bytes()) <= 1024 * trace.chosen.sum()
    names: dict[str, Any] = {"path": path}
    exec("\n".join(snippets("docs/trace-format.md")), names)
    assert names["tokens"].tolist() == trace.tokens.tolist()
    assert names["commit_step"].tolist() == trace.commit_step.tolist()
    for step in range(trace.steps_run):
        assert names["canvas"](step).tolist() == trace.canvas[step].tolist()
    word = "replaced" if trace.strategy.get("edits") else "masked again"
    assert f"{trace.revisions} {word}" in repr(trace) and word in trace._repr_html_()
    assert trace.strategy["revises" if word == "masked again" else "edits"] is True
    played = io.StringIO()
    play(trace, played)
    rows = [zip(ids, trace.words(ids), strict=True) for ids in (*trace.canvas, trace.tokens)]
    lines = [" ".join("█" if token == trace.mask_id else word for token, word in row) for row in rows]
    assert played.getvalue().splitlines() == lines


@pytest.mark.parametrize("trace", TRACES, ids=str)
def test_a_revising_run_is_replayed_and_compared(trace: Trace) -> None:
    predictor = BERT if trace.strategy["name"] == "chance" else LLADA
    assert rws.replay(trace).diverged_at is None
    again = rws.replay_with(trace, predictor)
    assert np.array_equal(again.canvas, trace.canvas) and again.tokens.tolist() == trace.tokens.tolist()
    assert diff(trace, again).same and "masked again" not in str(diff(trace, again))
    path = rws.path_diagnostics(trace, predictor)
    assert path.tokens.tolist() == trace.chosen.sum(axis=1).tolist() and math.isfinite(path.total)


def test_runs_part_where_other_tokens_are_masked_again() -> None:
    first, second = (decode(LLADA, PROMPTS[0], Doubting("visible", nats), SHAPE)[0] for nats in (-2.0, -99.0))
    assert first.revisions and not second.revisions
    difference = diff(first, second, LLADA)
    parting = difference.parting
    assert parting is not None and parting.why == "revision"
    assert parting.step == int(first.masked_again.any(axis=1).argmax())
    assert "other tokens were masked again" in str(difference)
    (change,) = (change for change in difference.steps if change.step == parting.step)
    assert change.masked_again == (tuple(np.flatnonzero(first.masked_again[parting.step]).tolist()), ())


@dataclass(frozen=True)
class Wrong(Chance):
    kind: str = "all"

    def revise(self, view: CommittedPositions) -> Tensor:
        everything = torch.ones(len(view.row), dtype=torch.bool)
        return {"all": everything, "long": everything.long(), "short": everything[:-1]}[self.kind]


def test_what_no_step_can_do_is_refused_in_one_line() -> None:
    for kind, message in (
        ("all", r"masks \[6\] tokens of the rows again at step 6: at most the masks that the schedule leaves, \[5\]"),
        ("long", r"gives a revision of shape \(1,\) and dtype torch.int64: bool \(1,\) is needed"),
        ("short", r"gives a revision of shape \(0,\) and dtype torch.bool: bool \(1,\) is needed"),
    ):
        with pytest.raises(ValueError, match=message) as caught:
            decode(BERT, "the cat", Wrong(0, kind=kind), Shape(12, 12, 12))
        assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="the compact decoder goes by confidence and the schedule alone, use decode"):
        rws.decode_compact(BERT, "the cat", Chance(0), SHAPE)
    assert describe(Chance(0)) == {"name": "chance", "revises": True, "seed": 0, "share": 0.4}
