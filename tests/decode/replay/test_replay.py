"""Replays: a trace leads to its own tokens, a changed one parts where it was changed, models repeat their runs."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command_lines import decoding as main
from grouped import grouped
from tiny_models import EOS, VOCABULARY
from trace_files import PREDICTOR, TRACE, unneeded

from rws_decode import CallablePredictor, Temperature, Trace, decode, replay, replay_with
from rws_decode.extra.testing import tiny_checkpoint


def changed(name: str, step: int, position: int | None, value: float, trace: Trace = TRACE) -> Trace:
    """Return a trace with one number changed; a candidate that was committed goes into the tokens too."""
    array = getattr(trace, name).copy()
    array[step if position is None else (step, position)] = value
    return replace(trace, **{name: array})


@pytest.mark.parametrize(
    ("ranking", "policy", "temperature"),
    [
        *(("log-odds", "none", 1.0), ("log-odds", "defer-published", 0.0), ("probability", "suppress", 0.0)),
        *(("probability", "defer", 1.0), ("topk", "defer", 1.0), ("topk", "defer-published", 0.0)),
    ],
)
def test_long_blocks_replay_from_the_values_that_are_kept(ranking: str, policy: str, temperature: float) -> None:
    table = torch.randn(64, VOCABULARY, generator=torch.Generator().manual_seed(1))
    table[:, EOS] += 1.0
    predictor = CallablePredictor(lambda canvas: (table + 0.1 * canvas.sum() % 3)[None], mask_id=4, end_id=EOS)
    options = {"length": 64, "steps": 32, "block": 64, "end_of_text": policy, "sampling_temperature": temperature}
    # In bfloat16 at factor 64 most probabilities are 1: more positions tie than would be kept otherwise.
    (trace,) = decode(predictor, [[]], Temperature(64.0), **grouped(ranking=ranking, precision="bfloat16", **options))  # type: ignore[arg-type]
    assert ranking == "log-odds" or temperature or trace.ties.max() > 32
    assert replay(trace).diverged_at is None
    assert np.array_equal(replay(trace).tokens, trace.tokens)


@pytest.mark.parametrize("step", range(5))
def test_the_first_step_that_was_changed_is_named(step: int) -> None:
    position = int(np.flatnonzero(TRACE.chosen[step])[-1])
    outcome = replay(changed("value", step, position, -99.0))
    assert outcome.diverged_at == (None if step == 4 else step)  # in the last step nothing else is left
    if step < 4:
        before = TRACE.commit_step < step
        assert np.array_equal(outcome.tokens[before], TRACE.tokens[before])
        assert outcome.tokens[position] == TRACE.mask_id
    assert replay(changed("ties", step, None, 7)).diverged_at == step


def test_a_step_that_needed_no_reward_is_taken_from_the_record_where_its_values_are_not_known() -> None:
    known = unneeded(TRACE, 1)
    assert replay(known).diverged_at is None
    position = int(np.flatnonzero(known.chosen[1])[0])
    assert replay(changed("value", 1, position, -99.0, known)).diverged_at == 1
    value = TRACE.value.copy()
    value[1] = np.nan
    assert replay(replace(known, value=value)).diverged_at is None
    again = replay_with(replace(known, value=value), PREDICTOR)
    assert np.array_equal(again.tokens, TRACE.tokens) and np.array_equal(again.commit_step, TRACE.commit_step)


def test_the_command_line_finds_a_change_in_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = TRACE.save(tmp_path / "t.parquet")

    def shown(*words: object) -> dict[str, Any]:
        assert main(["replay", *map(str, words), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    same = {"same": True, "diverged_at": None, "tokens": TRACE.tokens.tolist(), "steps_run": 5}
    assert shown(path) == same
    assert shown(path, "--model", tiny_checkpoint("bert", tmp_path / "model")) == same
    changed("value", 2, int(np.flatnonzero(TRACE.chosen[2])[-1]), -99.0).save(path)
    assert shown(path)["diverged_at"] == 2
    assert main(["replay", str(path)]) == 0
    assert capsys.readouterr().out == "the replay differs from the record from step 2 of 5 on (steps count from 0)\n"
    path.write_bytes(b"?")
    assert main(["replay", str(path)]) == 2 and capsys.readouterr().err.count("\n") == 1
