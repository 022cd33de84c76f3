"""Forwards begun before the reward is known: the same results, counted, one at a time."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import bert_predictor, llada_predictor
from torch import Tensor

from rws_decode.canvas import Canvas, lay_out
from rws_decode.completion import masked_logits
from rws_decode.decode import decode
from rws_decode.guidance import RWS
from rws_decode.predictors import MaskPredictor
from rws_decode.ranking import rank_values, select_top
from rws_decode.rewards import CallableReward
from rws_decode.speculation import Speculation

LEFT, RIGHT = torch.tensor([[True, False]]), torch.tensor([[False, True]])


def two_device_decode(
    predictor: MaskPredictor, prompt: str, reward: CallableReward, scale: float, length: int, ahead: Speculation | None
) -> tuple[list[int], list[int], int]:
    """Decode one prompt, one token a step, guessing each choice from the last factor; also return the guesses made."""
    first = lay_out(predictor, [predictor.encode_prompt(prompt)], length)
    state = {"ids": first.ids, "masked": torch.ones(1, length, dtype=torch.bool)}
    committed, factor, guesses = [-1] * length, None, 0

    def following(chosen: Tensor, candidate: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        answer = state["ids"].gather(1, first.answer)
        ids = state["ids"].scatter(1, first.answer, torch.where(chosen, candidate, answer))
        masked = state["masked"] & ~chosen
        logits = masked_logits(predictor, Canvas(ids, *first[1:]), masked).logits
        return ids, masked, logits

    nothing = torch.zeros(1, length, dtype=torch.bool)
    ids, masked, logits = following(nothing, first.ids.gather(1, first.answer))
    for step in range(length):
        state["ids"], state["masked"] = ids, masked
        token, candidate = logits.argmax(dim=1), ids.gather(1, first.answer).clone()
        candidate[masked] = token

        def select(factor: float, logits: Tensor = logits, token: Tensor = token, masked: Tensor = masked) -> Tensor:
            values = torch.zeros(1, length, dtype=torch.float64)
            values[masked] = rank_values(logits, token, factor)
            return select_top(values, masked, 1).chosen

        def choose(candidate: Tensor = candidate, select: Callable[[float], Tensor] = select) -> Tensor:
            nonlocal factor
            (score,) = reward.score([prompt], [predictor.decode_answer(candidate[0].tolist()) or ""])
            factor = scale * math.sqrt(1 / (1 + math.exp(-score)) + 1e-5)
            return select(factor)

        def forward(chosen: Tensor, candidate: Tensor = candidate) -> tuple[Tensor, Tensor, Tensor]:
            return following(chosen, candidate)

        guess = None if factor is None else select(factor)
        guesses += guess is not None
        if ahead is None:
            chosen = choose()
            ids, masked, logits = forward(chosen)
        else:
            chosen, (ids, masked, logits) = ahead.step(forward, choose, guess)
        committed[int(chosen.nonzero()[0, 1])] = step
    return ids.gather(1, first.answer)[0].tolist(), committed, guesses


@given(
    st.sampled_from([bert_predictor, llada_predictor]),
    st.integers(0, 20),
    st.sampled_from(["the cat", "a small red bird flew over", "."]),
    st.sampled_from([0.5, 2.0, 8.0]),
)
@settings(max_examples=10)
def test_a_decode_is_the_same_with_and_without_speculation(
    build: Callable[[int], MaskPredictor], seed: int, prompt: str, scale: float
) -> None:
    predictor = build(seed)
    reward = CallableReward(lambda prompt, answer: 3.0 * (sum(map(ord, answer)) % 7 - 3))
    with torch.inference_mode(), Speculation() as ahead:
        *guessed, guesses = two_device_decode(predictor, prompt, reward, scale, 8, ahead)
        *plain, _ = two_device_decode(predictor, prompt, reward, scale, 8, None)
    assert guessed == plain
    assert ahead.hits + ahead.misses == guesses == 7
    (trace,) = decode(predictor, [prompt], RWS(scale), length=8, steps=8, block=8, reward=reward)
    assert guessed == [trace.tokens.tolist(), trace.commit_step.tolist()]


def test_the_forward_runs_while_the_reward_is_scored() -> None:
    begun, scored, calls = threading.Event(), threading.Event(), []

    def forward(chosen: Tensor) -> int:
        calls.append(chosen.tolist())
        begun.set()
        assert scored.wait(10)  # ends only after the reward
        return len(calls)

    def choose() -> Tensor:
        assert begun.wait(10)  # ends only once the forward has begun
        scored.set()
        return LEFT

    with Speculation() as ahead:
        assert ahead.step(forward, choose, guess=LEFT)[1] == 1
    assert calls == [LEFT.tolist()] and (ahead.hits, ahead.misses) == (1, 0)


def test_a_wrong_guess_is_computed_again_once_its_own_forward_has_ended() -> None:
    running, calls = threading.Lock(), []

    def forward(chosen: Tensor) -> list[list[bool]]:
        assert running.acquire(blocking=False)  # never two at once
        calls.append(threading.current_thread() is threading.main_thread())
        running.release()
        return chosen.tolist()

    with Speculation() as ahead:
        chosen, following = ahead.step(forward, lambda: RIGHT, guess=LEFT)
    assert chosen is RIGHT and following == RIGHT.tolist()
    assert calls == [False, True] and (ahead.hits, ahead.misses) == (0, 1)


def test_without_a_guess_nothing_is_run_ahead() -> None:
    with Speculation() as ahead:
        assert ahead.step(lambda chosen: threading.current_thread(), lambda: LEFT)[1] is threading.main_thread()
    assert (ahead.hits, ahead.misses) == (0, 0)


def test_errors_are_raised_unless_they_are_of_a_forward_that_was_not_wanted() -> None:
    def only_right(chosen: Tensor) -> str:
        if torch.equal(chosen, LEFT):
            raise ValueError("impossible canvas")
        return "fine"

    def broken() -> Tensor:
        raise RuntimeError("no reward")

    with Speculation() as ahead:
        assert ahead.step(only_right, lambda: RIGHT, guess=LEFT)[1] == "fine"
        with pytest.raises(ValueError, match="impossible canvas"):
            ahead.step(only_right, lambda: LEFT, guess=LEFT)
        with pytest.raises(RuntimeError, match="no reward"):
            ahead.step(only_right, broken, guess=RIGHT)


@pytest.mark.parametrize("inference", [True, False])
def test_the_forward_runs_in_the_mode_of_its_caller(inference: bool) -> None:
    weight = torch.ones(1, requires_grad=True)
    with Speculation() as ahead, torch.inference_mode(inference):
        for guess in (LEFT, RIGHT):
            result = ahead.step(lambda chosen: weight * 2, lambda: LEFT, guess=guess)[1]
            assert result.is_inference() is inference and result.requires_grad is not inference
