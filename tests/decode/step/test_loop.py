"""Records: whole ones, whose steps are diagnosed together, and tokens alone; and near-ties of sets."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from misuse import refused
from tiny_models import llada_predictor

import rws_decode as rws
from rws_decode import CallableReward, Options, Shape, Trace, decode, diff, load_trace, plots, replay
from rws_decode.step import record

PREDICTOR = llada_predictor()
PROMPTS = ["the cat sat", "a dog ran over the hill"]
SHAPE = Shape(12, 6, 6)
REWARD = CallableReward(lambda prompt, answer: float(len(set(answer.split()))), mean=4.0, std=1.5)
STRATEGIES = ["default", "rws:8", "rws-every:4+every:2", "margin", "random-order", "threshold:0.6", "lookum:3"]


def traces(strategy: str, **options: Any) -> list[Trace]:
    return list(decode(PREDICTOR, PROMPTS, strategy, SHAPE, reward=REWARD, options=Options(**options)))


@pytest.mark.parametrize("strategy", [*STRATEGIES, "remdm:0.2"])
@pytest.mark.parametrize("options", [{}, {"precision": "float32", "sampling_temperature": 0.7}], ids=str)
def test_steps_agree_together_or_alone(strategy: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    together = traces(strategy, **options)
    monkeypatch.setattr(record, "_MEMORY", -1)
    assert traces(strategy, **options) == together


@pytest.mark.parametrize("strategy", [*STRATEGIES, "remdm:0.2"])
def test_a_record_of_tokens_is_the_same_decode(strategy: str, tmp_path: Path) -> None:
    for whole, few in zip(traces(strategy), traces(strategy, record="tokens"), strict=True):
        assert np.array_equal(few.tokens, whole.tokens) and np.array_equal(few.commit_step, whole.commit_step)
        kept = ("candidate", "factor", "reward_raw", "reward_use", "edited", "provisional")
        for name in kept:
            theirs = getattr(whole, name)
            there = getattr(few, name) >= 0 if name == "candidate" else np.ones_like(theirs, dtype=bool)
            assert np.array_equal(getattr(few, name)[there], theirs[there], equal_nan=name in ("factor", "reward_raw"))
        assert (few.forwards, few.reward_calls) == (whole.forwards, whole.reward_calls)
        assert few.ties is None and few.near_ties is None and np.isnan(few.value).all() and not whole.missing
        assert load_trace(few.save(tmp_path / "few.parquet")) == few and load_trace(tmp_path / "few.parquet").missing


def test_readers_say_what_a_record_of_tokens_lacks(tmp_path: Path) -> None:
    (whole, _), (few, _) = traces("rws:8"), traces("rws:8", record="tokens")
    for reader in (replay, plots.steps, lambda trace: plots.order(trace, values=True)):
        refused(lambda reader=reader: reader(few), "record 'tokens' ... ranking values")
    assert diff(whole, few).same and "ranking values" in few.view().html
    assert plots.order(few) is not None and "rws:8" in repr(few) and len(few.to_frame()) > 0


@pytest.mark.parametrize("strategy", ["lookum:3", "information-gain:3"])
def test_a_set_that_an_ulp_puts_in_place_of_another_is_a_near_tie(strategy: str) -> None:
    """Two positions of one confidence, one of them moved by an ulp of float32, in 40 models that read the canvas."""
    rng, changed = np.random.default_rng(0), 0
    for _ in range(40):
        base = torch.tensor(rng.normal(size=(6, 4)), dtype=torch.float32)
        base[3], base[5] = base[2][[0, 2, 3, 1]], base[1][[0, 2, 3, 1]]
        base[:, 0] = -9.0
        reads = torch.tensor(rng.normal(size=(4, 6, 4)) / 2, dtype=torch.float32)
        reads[0] = 0.0
        place = (int(rng.integers(6)), int(rng.integers(1, 4)))
        runs = []
        for to in (-99.0, 99.0):
            moved = base.clone()
            moved[place] = torch.nextafter(moved[place], torch.tensor(to))
            model = rws.CallablePredictor(
                lambda canvas, z=moved, w=reads: z + w[canvas].sum(dim=1), mask_id=0, vocab_size=4
            )
            (trace,) = decode(model, [[]], strategy, Shape(6, 3, 6))
            runs.append(trace)
        counted = [int((trace.ties + trace.near_ties + trace.near_tokens).sum()) for trace in runs]
        if not (runs[0].commit_step == runs[1].commit_step).all():
            changed += 1
            assert all(counted)
    assert changed >= (3 if strategy == "lookum:3" else 0)
