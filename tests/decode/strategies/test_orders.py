"""Strategies from the outside: what they promise, what they refuse, and that one is a matter of ten lines."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np
import pytest
import torch
from grouped import grouped
from tiny_models import llada_predictor

from rws_decode import CallablePredictor, CallableReward, MaskedPositions, RandomReward, RWSEvery, Shape, recorded
from rws_decode.decode import decode
from rws_decode.strategies.factors import RWS, Confidence, Temperature
from rws_decode.strategies.given import RecordedOrder, Schedule
from rws_decode.strategies.orders import Entropy, LeftToRight, Margin, RandomOrder
from rws_decode.testing.networks import MASK, VOCABULARY

PREDICTOR = llada_predictor()
PROMPTS = ["the cat sat", "a dog ran over the hill"]
SIZE = {"length": 12, "steps": 6, "block": 6}


def counting() -> tuple[CallableReward, list[str]]:
    asked: list[str] = []

    def reward(prompt: str, answer: str) -> float:
        asked.append(answer)
        return float(len(set(answer.split())))

    return CallableReward(reward, mean=4.0, std=1.5), asked


def test_left_to_right_has_no_deviation_and_random_orders_differ_by_seed() -> None:
    (straight,) = decode(PREDICTOR, PROMPTS[:1], LeftToRight(), Shape(length=12, steps=12, block=12))
    assert straight.commit_step.tolist() == list(range(12)) and straight.god_tokens == 0
    options = {"length": 12, "steps": 12, "block": 12}
    orders = {
        seed: decode(PREDICTOR, PROMPTS, RandomOrder(seed), **grouped(**options))[0].commit_step.tolist()
        for seed in range(4)
    }
    assert len({tuple(order) for order in orders.values()}) == 4
    both = decode(PREDICTOR, PROMPTS, RandomOrder((1, 2)), **grouped(**options))
    assert [trace.commit_step.tolist() for trace in both] == [orders[1], orders[2]]


def test_a_random_order_is_uniform() -> None:
    runs = decode(PREDICTOR, [[7]] * 120, RandomOrder(tuple(range(120))), Shape(length=4, steps=4, block=4))
    first = [int(np.argmin(trace.commit_step)) for trace in runs]
    assert all(15 <= count <= 48 for count in np.bincount(first, minlength=4))


@pytest.mark.parametrize("every", [1, 2, 4, 7])
def test_the_reward_is_asked_every_so_many_steps_and_the_factor_is_one_between(every: int) -> None:
    reward, asked = counting()
    (trace,) = decode(PREDICTOR, PROMPTS[:1], RWSEvery(8.0, every), reward=reward, **grouped(**SIZE))
    called = [step % every == 0 for step in range(6)]
    assert trace.reward_asked.tolist() == called
    assert (trace.factor[~trace.reward_asked] == 1).all() and (trace.factor[trace.reward_asked] != 1).all()
    by_steps, for_the_trace = asked[: trace.reward_calls], asked[trace.reward_calls :]
    assert for_the_trace == ([] if trace.text in by_steps else [trace.text])
    assert trace.reward_calls + trace.reward_calls_saved == sum(called)
    if every == 1:
        (rws,) = decode(PREDICTOR, PROMPTS[:1], RWS(8.0), reward=counting()[0], **grouped(**SIZE))
        assert np.array_equal(rws.value, trace.value, equal_nan=True) and np.array_equal(rws.factor, trace.factor)


def test_random_rewards_are_standard_normal() -> None:
    views = [MaskedPositions(step, 1) for step in range(50)]
    factors = np.array([RandomReward(1.0, seed).factor(view)[0] for seed in range(20) for view in views])
    rewards = -np.log(1 / (factors**2 - 1e-5) - 1)
    assert abs(rewards.mean()) < 0.1 and abs(rewards.std() - 1) < 0.1
    assert len(set(factors)) == 1000


class Odd:
    """A strategy whose order, or factor, is a function."""

    name = "odd"
    needs_reward = False

    def __init__(self, **methods: Callable[[MaskedPositions], object]) -> None:
        vars(self).update(methods)


@pytest.mark.parametrize(
    ("strategy", "options", "message"),
    [
        (Odd(order=lambda view: torch.full(view.candidate.shape, math.nan)), {}, "strategy odd gives NaN at step 0:"),
        (Odd(order=lambda view: view.logits), {}, "strategy odd gives an order of shape (6, 28): one number for each"),
        (Odd(factor=lambda view: np.ones(3)), {}, "strategy odd gives factors of shape (3,): one for each of 1 rows"),
        (Odd(factor=lambda view: np.ones((1, 1))), {}, "strategy odd gives factors of shape (1, 1): one for each"),
        (RandomOrder((1, 2)), {}, "seed has 2 rows: the batch has 1"),
        (RecordedOrder(np.zeros((1, 2, 12))), {}, "values has shape (1, 2, 12): (1, more than 2, 12) is needed"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_misuse_is_named(strategy: object, options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=rf"^{re.escape(message)}"):
        decode(PREDICTOR, PROMPTS[:1], strategy, **grouped(**SIZE, **options))  # type: ignore[arg-type]


def test_a_factor_may_be_one_number_or_a_list_and_an_order_any_array() -> None:
    exact = decode(PREDICTOR, PROMPTS, Temperature((2.0, 2.0)), **grouped(**SIZE))
    for value in (2, [2, 2], np.float32(2)):
        decoding = decode(PREDICTOR, PROMPTS, Odd(factor=lambda view, value=value: value), **grouped(**SIZE))  # type: ignore[arg-type]
        for trace, other in zip(exact, decoding, strict=True):
            assert trace.arrays().keys() == other.arrays().keys()
            for name, array in trace.arrays().items():
                np.testing.assert_array_equal(array, other.arrays()[name], name)
    (left,) = decode(PREDICTOR, PROMPTS[:1], LeftToRight(), **grouped(**SIZE))
    (by_array,) = decode(
        PREDICTOR, PROMPTS[:1], Odd(order=lambda view: -view.position.numpy().astype(np.float32)), **grouped(**SIZE)
    )
    assert by_array.commit_step.tolist() == left.commit_step.tolist() and by_array.value.dtype == np.float64


@pytest.mark.parametrize(
    ("sensitivity", "distance", "near"), [(None, 4, 2), (None, 5, 0), (1.0, 2, 2), (1.0, 3, 0), (0.0, 0, 2)]
)
def test_an_order_is_as_uncertain_as_it_is_sensitive_to_the_logits(
    sensitivity: float | None, distance: int, near: int
) -> None:
    """The logits are off by 64 2**-23 16 = 2**-13 at most, so that values this times the sensitivity reach apart."""
    table = torch.zeros(2, 9)
    table[:, 5] = 16.0
    strategy = Odd(order=lambda view: torch.tensor([0.0, distance * 2.0**-13], dtype=torch.float64)[view.position])
    if sensitivity is not None:
        strategy.sensitivity = sensitivity  # type: ignore[attr-defined]
    (trace,) = decode(
        CallablePredictor(lambda canvas: table[None], mask_id=0), [[]], strategy, Shape(length=2, steps=2, block=2)
    )
    assert trace.near_ties.tolist() == [near, 0] and trace.ties.tolist() == [int(distance == 0), 0]


def test_a_batch_of_orders_and_factors_cannot_be_repeated_as_one() -> None:
    order = decode(PREDICTOR, PROMPTS[:1], Entropy(), **grouped(**SIZE))[0]
    factor = decode(PREDICTOR, PROMPTS[:1], Confidence(), **grouped(**SIZE))[0]
    assert isinstance(recorded([order, order]), RecordedOrder) and isinstance(recorded([factor]), Schedule)
    for traces in ([order, factor], []):
        strategies = [trace.strategy for trace in traces]
        message = f"traces come from {strategies}: factors or orders, not both, are needed"
        with pytest.raises(ValueError, match=rf"^{re.escape(message)}$"):
            recorded(traces)


def test_one_possible_token_has_the_widest_margin() -> None:
    table = torch.full((4, VOCABULARY), -math.inf)
    table[:, 9] = 0.0
    table[2, 10] = -1.0
    predictor = CallablePredictor(lambda c: table[: c.shape[1]].expand(len(c), -1, -1), mask_id=MASK)
    for strategy, values in ((Margin("logit"), [math.inf, 1.0]), (Margin(), [1.0, math.tanh(0.5)])):
        (trace,) = decode(predictor, [[7]], strategy, Shape(length=2, steps=2, block=2))
        assert trace.value[0].tolist() == pytest.approx(values)
    single = CallablePredictor(lambda c: torch.zeros(*c.shape, 1), mask_id=1)
    assert decode(single, [[0]], Margin(), Shape(length=2, steps=2, block=2))[0].value[0].tolist() == [1.0, 1.0]
