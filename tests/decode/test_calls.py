"""The short ways to call decode: one prompt, a strategy by its name, a function as a reward; and what is refused."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from command_lines import decoding as main
from misuse import refused
from tiny_models import bert_predictor

import rws_decode as rws
from rws_decode import RWS, Options, Shape, compare, decode, decode_compact, load_predictor, measured_reward, steer
from rws_decode.extra.adapters.generation import generate
from rws_decode.strategies import describe

BERT = bert_predictor()
SHAPE = Shape(6, 3, 6)


CALLS: list[Any] = [
    lambda given: decode(BERT, given, shape=SHAPE).texts,
    lambda given: decode_compact(BERT, given, shape=SHAPE).texts,
    lambda given: generate(BERT, given, max_new_tokens=6, steps=3, block_length=6).texts,
    lambda given: compare(BERT, given, ["default"], SHAPE)["default"].texts,
    lambda given: steer(BERT, given, "best-of:2", SHAPE, reward=len).texts,
    lambda given: rws.strategy_log_prob(BERT, given, [6] * 6, shape=SHAPE).log_prob,
]
IDS, SAID, SEEN = [[6, 7], [8, 9]], ("the cat", "it ran", "a dog"), [[0, 1, 1], [1, 1, 0]]
CHAT = rws.Dialogue(SAID).messages


@pytest.mark.parametrize("given", [b"a", [b"a"], {"a": 6}, {"a"}, [{6}], iter("a"), [[1.5]], [[True]], [], 5, ["a", 6]])
def test_what_is_no_prompt_is_refused(given: Any) -> None:
    assert all(list(call({"input_ids": IDS[:1]})) == list(call(IDS[:1])) for call in CALLS)
    tokenized = {"input_ids": IDS, "attention_mask": SEEN}
    for wrong in (
        given,
        pd.DataFrame({"a": ["a"]}),
        CHAT[:2],
        [{"role": "system", "content": "a"}],
        [tokenized],
        tokenized,
    ):
        for call in CALLS:
            refused(partial(call, wrong), "prompts ... needed")


FIVE = (decode, decode_compact, compare, partial(steer, reward=len), partial(rws.strategy_log_prob, answers="a"))


@pytest.mark.parametrize("value", ["the " * 15_000, [0.5] * 60_000, BERT.model, Path("mini")], ids=type)
def test_a_wrong_value_is_told_in_one_short_line(value: Any) -> None:
    for call in FIVE:
        refused(partial(call, value, "a"), "predictor is ")
        for name in ("options", "shape"):
            refused(partial(call, BERT, "a", **{name: value}), f"{name} is ")
    for name in ("savings", "strategy", "reward", "canvas"):
        refused(partial(decode, BERT, "a", **{name: value}), f"{name} is ")
    for name in ("ranking", "precision", "end_of_text", "cfg", "seed", "end_ids", "key_cache"):
        refused(partial(Options, **{name: value}), f"{name} is ")
    refused(partial(compare, BERT, "a", [value]), "strateg")
    for call in (partial(steer, BERT, "a", reward=len), load_predictor, rws.load_reward):
        refused(partial(call, value), " is ")


def test_numbers_of_numpy_and_pytorch_are_numbers(tmp_path: Path) -> None:
    eight: Any = np.int64(8)
    assert Shape(eight) == Shape(8) and Shape(8, counts=np.array([3, 5])) == Shape(8, counts=(3, 5))
    assert Options(seed=eight, end_ids=torch.tensor([1])) == Options(seed=8, end_ids=(1,))
    assert describe(RWS(np.float32(8))) == describe(RWS(8.0)) and rws.BestOf(eight) == rws.BestOf(8)
    settings = {"options": Options(seed=eight), "savings": rws.Savings(memory=2**20 * eight)}
    (trace,) = decode(BERT, "a", rws.Temperature(eight), Shape(eight), **settings)
    assert rws.load_trace(trace.save(tmp_path / "trace.parquet")) == trace


def test_decode_takes_names_and_gives_the_strategy_the_seed_of_its_options() -> None:
    options = Options(seed=5)
    for name, strategy in (("rws-random:8", rws.RandomReward(8.0, 5)), ("random-order", rws.RandomOrder(5))):
        (named,) = decode(BERT, "the cat", name, SHAPE, options=options)
        (made,) = decode(BERT, "the cat", strategy, SHAPE, options=options)
        assert named == made
    rows = Options(seed=(5, 6))
    named_rows = decode(BERT, ["the cat", "a dog"], "random-order", SHAPE, options=rows)
    assert list(named_rows) == list(decode(BERT, ["the cat", "a dog"], rws.RandomOrder((5, 6)), SHAPE, options=rows))
    for call in (decode, decode_compact):
        (named,) = call(BERT, "the cat", "temperature", SHAPE, scale=3.0)
        assert named == call(BERT, "the cat", rws.Temperature(3.0), SHAPE)[0]


def vowels(answer: str) -> float:
    return float(sum(letter in "aeiou" for letter in answer))


@pytest.mark.parametrize(
    ("call", "asks"),
    [
        (lambda: decode(BERT, "the cat", "rws:8", SHAPE, reward=vowels), "strategy rws"),
        (lambda: decode_compact(BERT, "the cat", "rws:8", SHAPE, reward=vowels), "strategy rws"),
        (lambda: compare(BERT, "the cat", ["temperature:8", "rws:8"], SHAPE, reward=vowels), "strategy rws"),
        (lambda: steer(BERT, "the cat", "best-of:2+rws:8", SHAPE, reward=vowels), "strategy rws"),
        (lambda: rws.scale_path(BERT, "the cat", 1, 8, SHAPE, over="reward-scale", reward=vowels), "a reward scale"),
    ],
)
def test_a_function_whose_scores_are_not_normalised_scales_no_logits(call: Any, asks: str) -> None:
    way = "give measured_reward(function, predictor, prompts) or CallableReward(function, mean, std)"
    refused(lambda: call(), f"reward is vowels, whose mean and SD are not known: {asks} normalises by them, {way}")


def test_a_function_is_normalised_by_what_it_gives_to_default_decodes() -> None:
    prompts = ["the cat", "a dog", "the dog sat"]
    scores = [vowels(text) for text in decode(BERT, prompts, shape=SHAPE).texts if text is not None]
    measured = measured_reward(vowels, BERT, prompts, SHAPE)
    assert (measured.name, measured.mean, measured.std) == ("vowels", np.mean(scores), np.std(scores))
    refused(lambda: measured_reward(vowels, BERT, "the cat", SHAPE), "function vowels scored ")
    message = "for each of 3 decodes, which all wrote one text: give other prompts"
    refused(lambda: measured_reward(vowels, BERT, ["the cat"] * 3, SHAPE), message)
    refused(lambda: measured_reward(lambda text: 1.0, BERT, prompts, SHAPE), "each of 3 decodes: give more prompts")


def test_a_budget_of_forwards_gives_a_way_of_steering_its_copies() -> None:
    settings = {"shape": Shape(6, 6, 6), "reward": vowels, "budget": 24}
    runs = compare(BERT, ["the cat", "a dog"], ["default", "best-of", "best-of+random-order", "best-of:2"], **settings)
    assert [*runs] == ["default", "best-of:4", "best-of:4+random-order", "best-of:2"]
    assert runs.to_frame().groupby("strategy")["forwards"].max().le(24).all()
    labelled = compare(BERT, ["the cat", "a dog"], {"best": "best-of"}, **settings)
    assert list(labelled["best"]) == list(runs["best-of:4"])
    names, settings["reward"] = ["best-of+rws:8", "particles", "best-order"], rws.CallableReward(vowels)
    calls = compare(BERT, ["the cat", "a dog"], names, **settings, budget_of="reward_calls")
    assert [*calls] == ["best-of:3+rws:8", "particles:3", "best-order:24"]
    assert calls.to_frame()["reward_calls"].max() <= 24


def test_a_reward_that_scales_every_step_alike_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    predictor, shape = load_predictor("english"), Shape(8, 8, 8)
    note, prompts = "factor 8 at every step: reward saturated or constant", predictor.prompts[:2]
    for function in (lambda answer: 70.0 + len(answer), lambda answer: 50.0):
        runs = compare(predictor, prompts, ["temperature:8", "rws:8"], shape, reward=rws.CallableReward(function))
        assert runs["rws:8"].texts == runs["temperature:8"].texts
        assert f"; rws:8: {note}" in repr(runs) and "; factor 8 at every step" in repr(runs["rws:8"])
        assert "factor 8 at every step" in repr(runs["rws:8"][0]) and "factor" not in repr(runs["temperature:8"])
        frame = runs.to_frame()
        assert frame["constant_factor"].notna().tolist() == (frame["strategy"] == "rws:8").tolist()
    varied = decode(predictor, prompts, "rws:8", shape, reward=rws.load_reward("era"))
    assert "factor" not in repr(varied) and varied.to_frame()["constant_factor"].isna().all()
    words = ["--model", "english", "--prompt", "peace", "--length", "4", "--steps", "4", "--reward", "keywords:slavery"]
    assert main(["generate", *words, "--strategy", "rws:8"]) == 0
    assert "note: rws:8: factor 5.59 at every step: reward saturated or constant" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"length": 8}, "length is 8: give it as shape=Shape(length=8)"),
        ({"lenght": 8}, "lenght is 8: is length meant?"),
        ({"reuse": False}, "reuse is False: give it as savings=Savings(reuse=False)"),
    ],
    ids=str,
)
def test_settings_beside_the_strategy_are_sent_where_they_belong(numbers: dict[str, Any], message: str) -> None:
    for call in (decode, decode_compact):
        refused(lambda call=call: call(BERT, "the cat", "default", **numbers), message)
    refused(lambda: compare(BERT, "the cat", ["default"], **numbers), message)
