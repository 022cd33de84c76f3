"""`decode(canvas=...)`: texts with gaps in place of prompts, under every strategy of the table and the scale path."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import bert_predictor, llada_predictor

from rws_decode import CallableReward, RewardReplay, Shape, Temperature, Threshold, scale_path
from rws_decode.compare import compare
from rws_decode.decode import decode
from rws_decode.gpu import decode_compact
from rws_decode.strategies.table import OFFERED, STRATEGIES
from rws_decode.strategies.weighed import Calibrated, OracleOrder
from rws_decode.testing.networks import CLS, MASK, SEP

BERT, LLADA = bert_predictor(), llada_predictor()
TEXT = "the cat [MASK:2] on [MASK:3] mat [MASK:1]"
IDS = [CLS, 6, MASK, MASK, 8, MASK, 9, MASK, MASK, MASK, 7, SEP]
REWARD = CallableReward(lambda prompt, answer: float(len(set(answer.split()))), mean=4.0, std=1.5)


def refused(message: str) -> Any:
    return pytest.raises(ValueError, match=rf"^{re.escape(message)}$")


@pytest.mark.parametrize(("canvas", "listed"), [(TEXT, [TEXT]), (IDS, [IDS]), ([IDS, TEXT], [IDS, TEXT])], ids=str)
def test_a_canvas_is_the_prompt_with_gaps_that_it_is(canvas: Any, listed: Any) -> None:
    shape = Shape(6, block=6)
    traces = list(decode(BERT, canvas=canvas, strategy="rws:8", reward=REWARD))
    assert traces == list(decode(BERT, listed, "rws:8", shape, reward=REWARD))
    assert (traces[0].length, traces[0].steps, traces[0].block) == (6, 3, 6)
    (shaped,) = decode(BERT, canvas=TEXT, strategy="threshold:0.3", shape=Shape(6, 6, 3))
    assert shaped == decode(BERT, [TEXT], "threshold:0.3", Shape(6, 6, 3))[0]
    compared = compare(BERT, strategies=["default", "temperature:4"], canvas=canvas)
    assert list(compared["default"]) == list(decode(BERT, listed, "default", shape))


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("predictor", [BERT, LLADA], ids=["bert", "llada"])
def test_every_strategy_fills_gaps_and_leaves_the_fixed_words(name: str, predictor: Any) -> None:
    ids = [6, *[predictor.mask_id] * 2, 8, predictor.mask_id, 9, *[predictor.mask_id] * 3, 7]
    (run,) = decode(predictor, [ids], "rws:8", Shape(6, 3, 6), reward=REWARD)
    given = {"run": run} | {option: number.usual for option, number in STRATEGIES[name].numbers.items()}
    size = predictor.logits(torch.tensor([ids]), None).shape[-1]
    strategy: Any = {
        "reward-replay": RewardReplay(8.0, (0.1, 0.2, 0.3)),
        "calibrated": Calibrated(np.linspace(0.01, 0.2, size)),
        "oracle-order": OracleOrder(run.tokens),
    }.get(name, name)
    numbers = {option: given[option] for option in STRATEGIES[name].reads if option != "reward" and name in OFFERED}
    shape = Shape(6, 3, 6)
    alone, first, second = (
        trace
        for canvas in ([ids], [ids, [8, 9, *ids]])
        for trace in decode(predictor, canvas=canvas, strategy=strategy, shape=shape, reward=REWARD, **numbers)
    )
    for trace, row in ((alone, ids), (second, [8, 9, *ids])):
        fixed = np.array(row) != predictor.mask_id
        assert trace.completed[fixed].tolist() == [token for token in row if token != predictor.mask_id]
        assert trace.completed[~fixed].tolist() == trace.tokens.tolist()
        assert (trace.tokens != predictor.mask_id).all() and (trace.commit_step >= 0).all()
    assert alone.tokens.tolist() == first.tokens.tolist()  # whoever is in the batch


@pytest.mark.parametrize("threshold", [None, 0.3])
def test_the_scale_path_fills_gaps_with_and_without_a_threshold(threshold: float | None) -> None:
    shape = Shape(6, 6, 6)
    path = scale_path(BERT, IDS, 0.1, 10.0, shape, threshold=threshold)
    for piece in path.pieces:
        scaled = Temperature((piece.lower * piece.upper) ** 0.5)
        strategy = scaled if threshold is None else Threshold(threshold, scaled=scaled)
        (trace,) = decode(BERT, canvas=IDS, strategy=strategy, shape=shape)
        assert trace.tokens.tolist() == list(piece.tokens) and trace.commit_step.tolist() == list(piece.commit_step)


def test_what_is_no_canvas_is_refused_in_one_line() -> None:
    gap = "a gap is needed, such as [MASK:3], or mask ids"
    with refused("prompts is None: prompts, or a canvas with gaps such as canvas='the [MASK:3] .', are needed"):
        decode(BERT)
    with refused("canvas is 'a [MASK:2]' beside prompts: give one of them"):
        decode(BERT, "a", canvas="a [MASK:2]")
    for canvas, shown in (("a cat", "'a cat'"), ([6, 7], "[6, 7]"), ([], "[]"), ([None], "None")):
        with refused(f"canvas[0] is {shown}: {gap}"):
            decode(BERT, canvas=canvas)  # type: ignore[arg-type]
    with refused("canvas[1] has 2 masks and canvas[0] 1: decode them one by one"):
        decode(BERT, canvas=["a [MASK:1]", "a [MASK:2]"])
    with refused("length is 4: the gaps of prompts[0] have length 2, give Shape(2)"):
        decode(BERT, canvas="a [MASK:2]", shape=Shape(4))
    with refused("canvas is 'a [MASK:2]': the compact decoder writes after a prompt, use decode"):
        decode_compact(BERT, "a", canvas="a [MASK:2]")
    with refused("prompts[0] has gaps: the compact decoder writes after a prompt, use decode"):
        decode_compact(BERT, ["a [MASK:2]"], shape=Shape(2, 2, 2))
