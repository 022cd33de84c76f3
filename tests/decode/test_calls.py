"""The short ways to call decode: one prompt, a strategy by its name, a function as a reward; and what is refused."""

import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from misuse import refused
from tiny_models import bert_predictor
from transformers import BatchEncoding

import rws_decode as rws
from rws_decode import RWS, Confidence, Dialogue, Options, Shape, Temperature, final_reward, load_predictor, steer
from rws_decode.__main__ import main
from rws_decode.compare import compare
from rws_decode.decode import decode
from rws_decode.extra.adapters.generation import generate
from rws_decode.extra.scale_paths.path import scale_path
from rws_decode.gpu import decode_compact
from rws_decode.job import as_prompts
from rws_decode.measured_reward import measured_reward
from rws_decode.rewards import CallableReward, SequenceClassifierReward, load_reward
from rws_decode.rewards.callable import as_reward
from rws_decode.strategies.orders import RandomOrder
from rws_decode.strategies.protocol import describe
from rws_decode.strategies.reward_controls import RandomReward, RWSEvery
from rws_decode.strategies.table import as_strategy
from rws_decode.trace.labels import strategy_label

BERT = bert_predictor()
SHAPE = Shape(6, 3, 6)


@pytest.mark.parametrize("call", [decode, decode_compact])
@pytest.mark.parametrize("prompt", ["the cat sat", "", Dialogue(("the cat", "it ran", "a dog"))], ids=str)
def test_one_prompt_may_be_given_as_it_is(call: Any, prompt: Any) -> None:
    (alone,), (listed,) = call(BERT, prompt, shape=SHAPE), call(BERT, [prompt], shape=SHAPE)
    assert alone == listed and alone.strategy == {"name": "default"}


CALLS: list[Any] = [
    lambda given: decode(BERT, given, shape=SHAPE).texts,
    lambda given: decode_compact(BERT, given, shape=SHAPE).texts,
    lambda given: generate(BERT, given, max_new_tokens=6, steps=3, block_length=6).texts,
    lambda given: compare(BERT, given, ["default"], SHAPE)["default"].texts,
    lambda given: steer(BERT, given, "best-of:2", SHAPE, reward=len).texts,
    lambda given: rws.strategy_log_prob(BERT, given, [6] * 6, shape=SHAPE).log_prob,
]
IDS, SAID, SEEN = [[6, 7], [8, 9]], ("the cat", "it ran", "a dog"), [[0, 1, 1], [1, 1, 0]]
CHAT = Dialogue(SAID).messages


def test_what_a_tokenizer_or_a_chat_gives_is_read() -> None:
    batch = BatchEncoding({"input_ids": [[0, 6, 7], [8, 9, 0]], "attention_mask": torch.tensor(SEEN)})
    for given in (batch, {"input_ids": torch.tensor(IDS)}, torch.tensor(IDS), np.array(IDS), [*np.array(IDS)], IDS):
        assert as_prompts(given) == IDS
    for given in ({"input_ids": [6, 7, 0], "attention_mask": SEEN[1]}, torch.tensor([6, 7]), [6, 7], pd.Series([6, 7])):
        assert as_prompts(given) == IDS[:1]
    assert as_prompts(CHAT) == as_prompts([CHAT]) == [Dialogue(SAID)] and as_prompts(pd.Series(SAID)) == [*SAID]
    assert as_prompts([CHAT[0], "a"]) == [Dialogue(SAID[:1]), "a"]


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


FIVE = (
    decode,
    decode_compact,
    compare,
    partial(steer, reward=len),
    partial(rws.strategy_log_prob, answers="a"),
)


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
    for call in (partial(steer, BERT, "a", reward=len), load_predictor, load_reward):
        refused(partial(call, value), " is ")


def test_numbers_of_numpy_and_pytorch_are_numbers(tmp_path: Path) -> None:
    eight: Any = np.int64(8)
    assert Shape(eight) == Shape(8) and Shape(8, counts=np.array([3, 5])) == Shape(8, counts=(3, 5))
    assert Options(seed=eight, end_ids=torch.tensor([1])) == Options(seed=8, end_ids=(1,))
    assert describe(RWS(np.float32(8))) == describe(RWS(8.0)) and rws.BestOf(eight) == rws.BestOf(8)
    told = {"options": Options(seed=eight), "savings": rws.Savings(memory=2**20 * eight)}
    (trace,) = decode(BERT, "a", Temperature(eight), Shape(eight), **told)
    assert rws.load_trace(trace.save(tmp_path / "trace.parquet")) == trace


@pytest.mark.parametrize(
    ("text", "numbers", "strategy"),
    [
        ("temperature:4", {}, Temperature(4.0)),
        ("temperature", {"scale": 0.5}, Temperature(0.5)),
        ("temperature", {"scale": (1.0, 2.0)}, Temperature((1.0, 2.0))),
        ("rws:8", {}, RWS(8.0)),
        ("rws", {"reward_scale": 8.0, "eps": 0.25}, RWS(8.0, 0.25)),
        ("rws", {"reward_scale": 8, "run": None, "scale": None}, RWS(8)),  # what is None is not given
        ("rws-every", {"reward_scale": 8.0, "every": 2}, RWSEvery(8.0, 2)),
        ("rws-random:8", {"seed": 7}, RandomReward(8.0, 7)),
        ("random-order", {"seed": (3, 4)}, RandomOrder((3, 4))),
    ],
)
def test_a_name_and_numbers_are_a_strategy(text: str, numbers: dict[str, Any], strategy: Any) -> None:
    assert as_strategy(text, **numbers) == strategy
    assert as_strategy(strategy) is strategy
    if not numbers and text != "default":
        assert strategy_label(describe(strategy)) == text


def test_decode_takes_names_and_gives_the_strategy_the_seed_of_its_options() -> None:
    options = Options(seed=5)
    for name, strategy in (("rws-random:8", RandomReward(8.0, 5)), ("random-order", RandomOrder(5))):
        (named,) = decode(BERT, "the cat", name, SHAPE, options=options)
        (made,) = decode(BERT, "the cat", strategy, SHAPE, options=options)
        assert named == made
    rows = Options(seed=(5, 6))
    named_rows = decode(BERT, ["the cat", "a dog"], "random-order", SHAPE, options=rows)
    assert list(named_rows) == list(decode(BERT, ["the cat", "a dog"], RandomOrder((5, 6)), SHAPE, options=rows))
    for call in (decode, decode_compact):
        (named,) = call(BERT, "the cat", "temperature", SHAPE, scale=3.0)
        assert named == call(BERT, "the cat", Temperature(3.0), SHAPE)[0]


OBJECT = "a name such as 'rws:8' is needed, or an object such as RWS(8.0), with name, needs_reward and a method factor"
EVERY = "reward_scale and every, as in rws-every:4+every:2"


@pytest.mark.parametrize(
    ("strategy", "numbers", "message"),
    [
        ("rsw:8", {}, "strategy is 'rsw:8': it must be one of default, ... (is rws meant?); `rws strategies` lists"),
        ("rws", {}, "reward_scale is None: strategy rws needs reward_scale, as in rws:4 or reward_scale=4.0"),
        ("rws:eight", {}, "strategy is 'rws:eight': a number is needed after the colon, as in rws:4"),
        ("rws:8", {"reward_scale": 4.0}, "reward_scale is 4.0: strategy rws:8 has its number, leave it out"),
        ("default:4", {}, "strategy is 'default:4': default reads no number, leave :4 out"),
        ("default", {"scale": 4.0}, "scale is 4.0: strategy default reads no numbers"),
        ("temperature:4", {"reward_scale": 8.0}, "reward_scale is 8.0: strategy temperature reads scale, as in"),
        ("rws-every:8", {}, f"every is None: strategy rws-every needs {EVERY}"),
        ("rws-every:8", {"evry": 2}, f"evry is 2: no such argument; strategy rws-every reads {EVERY}"),
        ("default", {"max_new_tokens": 8}, "max_new_tokens is 8: no such argument; strategy default reads"),
        (RWS(8.0), {"eps": 0.1}, "eps is 0.1: strategy RWS(reward_scale=8.0, eps=1e-05) has its numbers, leave it out"),
    ],
    ids=str,
)
def test_what_names_no_strategy_is_refused_with_the_call_that_would_be_right(
    strategy: Any, numbers: dict[str, Any], message: str
) -> None:
    refused(lambda: as_strategy(strategy, **numbers), message)
    refused(lambda: decode(BERT, "the cat", strategy, SHAPE, **numbers), message)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"length": 8}, "length is 8: give it as shape=Shape(length=8)"),
        ({"steps": 2, "scale": 4.0}, "steps is 2: give it as shape=Shape(steps=2)"),
        ({"lenght": 8}, "lenght is 8: is length meant? give it as shape=Shape(length=8)"),
        ({"option": 8}, "option is 8: is options meant? give it as options=8"),
        ({"reuse": False}, "reuse is False: give it as savings=Savings(reuse=False)"),
    ],
    ids=str,
)
@pytest.mark.parametrize("strategy", ["default", Confidence()], ids=["name", "object"])
def test_settings_that_stand_beside_the_strategy_are_sent_where_they_belong(
    strategy: Any, numbers: dict[str, Any], message: str
) -> None:
    for call in (decode, decode_compact):
        refused(partial(call, BERT, "the cat", strategy, **numbers), message)


def of_both(prompt: str, answer: str) -> float:
    return float(len(prompt) + len(answer))


class Scoring:
    """An object that can be called."""

    def __call__(self, prompt: str, answer: str) -> float:
        return of_both(prompt, answer)


@pytest.mark.parametrize(
    ("function", "expected", "name"),
    [
        (len, 3.0, "len"),
        (of_both, 7.0, "of_both"),
        (lambda *texts: of_both(*texts), 7.0, "lambda"),
        (lambda answer, weight=10.0: weight * len(answer), 30.0, "lambda"),  # its own number is not the answer
        (lambda prompt, answer, weight=10.0: weight * len(answer), 30.0, "lambda"),
        (lambda prompt="", answer="": of_both(prompt, answer), 7.0, "lambda"),
        (partial(of_both, "a"), 4.0, "callable"),
        (Scoring(), 7.0, "callable"),
    ],
)
def test_a_function_is_given_the_answer_or_both_texts(function: Any, expected: float, name: str) -> None:
    reward = as_reward(function)
    assert reward is not None and (reward.name, reward.mean, reward.std) == (name, 0.0, 1.0)
    assert reward.score(["why?"], ["yes"]) == [expected]


MODEL = "a reward model is needed, such as ... or a function"
TEXTS = "a function of (prompt, answer), or of the answer alone, is needed"


@pytest.mark.parametrize(
    ("reward", "message"),
    [
        ("mini", f"reward is 'mini': {MODEL}"),
        (SequenceClassifierReward, f"reward is {SequenceClassifierReward!r}: {MODEL}"),
        (lambda: 0.0, f"reward is lambda: {TEXTS}"),
        (lambda answer, *, weight: weight, f"reward is lambda: {TEXTS}"),
        (max, f"reward is max: {TEXTS}"),  # it does not say what it takes
    ],
)
def test_what_is_no_reward_is_refused(reward: Any, message: str) -> None:
    refused(partial(as_reward, reward), message)
    for call in (decode, decode_compact):
        refused(partial(call, BERT, "the cat", "default", SHAPE, reward=reward), message)
    refused(lambda: final_reward(BERT, reward, "the cat", [6, 7]), message)
    refused(lambda: compare(BERT, "the cat", ["default", "temperature:4"], SHAPE, reward=reward), message)


def vowels(answer: str) -> float:
    return float(sum(letter in "aeiou" for letter in answer))


@pytest.mark.parametrize(
    ("call", "asks"),
    [
        (lambda: decode(BERT, "the cat", "rws:8", SHAPE, reward=vowels), "strategy rws"),
        (lambda: decode_compact(BERT, "the cat", "rws:8", SHAPE, reward=vowels), "strategy rws"),
        (lambda: compare(BERT, "the cat", ["temperature:8", "rws:8"], SHAPE, reward=vowels), "strategy rws"),
        (lambda: steer(BERT, "the cat", "best-of:2+rws:8", SHAPE, reward=vowels), "strategy rws"),
        (lambda: scale_path(BERT, "the cat", 1, 8, SHAPE, over="reward-scale", reward=vowels), "a reward scale"),
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
    said = "for each of 3 decodes, which all wrote one text: give other prompts"
    refused(lambda: measured_reward(vowels, BERT, ["the cat"] * 3, SHAPE), said)
    refused(lambda: measured_reward(lambda text: 1.0, BERT, prompts, SHAPE), "each of 3 decodes: give more prompts")


def test_a_budget_of_forwards_gives_a_way_of_steering_its_copies() -> None:
    asked = {"shape": Shape(6, 6, 6), "reward": vowels, "budget": 24}
    runs = compare(BERT, ["the cat", "a dog"], ["default", "best-of", "best-of+random-order", "best-of:2"], **asked)
    assert [*runs] == ["default", "best-of:4", "best-of:4+random-order", "best-of:2"]
    assert runs.to_frame().groupby("strategy")["forwards"].max().le(24).all()
    labelled = compare(BERT, ["the cat", "a dog"], {"best": "best-of"}, **asked)
    assert list(labelled["best"]) == list(runs["best-of:4"])
    names, asked["reward"] = ["best-of+rws:8", "particles", "best-order"], CallableReward(vowels)
    calls = compare(BERT, ["the cat", "a dog"], names, **asked, budget_of="reward_calls")
    assert [*calls] == ["best-of:3+rws:8", "particles:3", "best-order:24"]
    assert calls.to_frame()["reward_calls"].max() <= 24


def test_a_budget_of_seconds_is_kept_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    scored: list[str] = []  # each text takes a second

    def reward(answer: str) -> float:
        scored.append(answer)
        return vowels(answer)

    monkeypatch.setattr(time, "perf_counter", lambda: float(len(scored)))
    asked: dict[str, Any] = {"shape": Shape(6, 6, 6), "reward": reward, "budget_of": "seconds"}
    runs = compare(BERT, ["the cat", "a dog"], ["default", "best-of"], **asked, budget=5.5)
    assert [*runs] == ["default", "best-of:5"]
    assert runs.to_frame()[["strategy", "seconds"]].values.tolist() == [["default", 1.0], ["best-of:5", 5.0]] * 2
    refused(
        lambda: compare(BERT, "the cat", ["best-of"], **asked, budget=0.5), "budget is 0.5: best-of:1 takes 1 seconds"
    )


def test_a_reward_that_scales_every_step_alike_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    predictor, shape = load_predictor("english"), Shape(8, 8, 8)
    said, prompts = "factor 8 at every step: reward saturated or constant", predictor.prompts[:2]
    for function in (lambda answer: 70.0 + len(answer), lambda answer: 50.0):
        runs = compare(predictor, prompts, ["temperature:8", "rws:8"], shape, reward=CallableReward(function))
        assert runs["rws:8"].texts == runs["temperature:8"].texts
        assert f"; rws:8: {said}" in repr(runs) and "; factor 8 at every step" in repr(runs["rws:8"])
        assert "factor 8 at every step" in repr(runs["rws:8"][0]) and "factor" not in repr(runs["temperature:8"])
        frame = runs.to_frame()
        assert frame["constant_factor"].notna().tolist() == (frame["strategy"] == "rws:8").tolist()
    varied = decode(predictor, prompts, "rws:8", shape, reward=load_reward("era"))
    assert "factor" not in repr(varied) and varied.to_frame()["constant_factor"].isna().all()
    words = ["--model", "english", "--prompt", "peace", "--length", "4", "--steps", "4", "--reward", "keywords:slavery"]
    assert main(["generate", *words, "--strategy", "rws:8"]) == 0
    assert "note: rws:8: factor 5.59 at every step: reward saturated or constant" in capsys.readouterr().err


def test_compare_takes_the_ways_of_steering_that_its_command_takes() -> None:
    def reward(answer: str) -> float:
        return float(len(answer))

    seen: list[tuple[str, int]] = []
    told = {"reward": reward, "progress": lambda label, row, _: seen.append((label, row))}
    runs = compare(BERT, ["the cat", "a dog"], ["default", "best-of:4"], SHAPE, **told)
    steered = steer(BERT, ["the cat", "a dog"], "best-of:4", SHAPE, reward=reward)
    assert list(runs["best-of:4"]) == list(steered)
    assert seen == [("default", 0), ("default", 1), ("best-of:4", 0), ("best-of:4", 1)]
    with pytest.raises(KeyError, match=r"0: compared were default, best-of:4; .* is runs\['default'\]\[0\]"):
        runs[0]  # type: ignore[index]
    assert set(runs.to_frame()["strategy"]) == {"default", "best-of:4"} and "best-of:4" in runs._repr_html_()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: compare(BERT, "a", ["best-of:4"], SHAPE), "reward is None: best-of:4 needs a reward model, such as"),
        (lambda: compare(BERT, "a", "best-of", reward=vowels), "strategies is 'best-of': a list"),  # type: ignore[arg-type]
        (lambda: compare(BERT, "a", ["best-of"], reward=vowels), "'best-of': a whole number is missing, as in"),
        (lambda: compare(BERT, "a", ["best-of"], SHAPE, reward=vowels, budget=2), "budget is 2: best-of:1 takes 3 "),
        (lambda: final_reward(BERT, None, "a", [6]), "reward is None: a reward model is needed, such as"),  # type: ignore[arg-type]
        (lambda: compare(BERT, "a", [("default", SHAPE)]), "strategies[0] is ('default', Shape( ... shape=Shape(8)"),
        (lambda: decode(BERT.model, "a"), "predictor is a ... ForMaskedLM: ... as HFMaskPredictor(model, tokenizer)"),
        (lambda: decode(BERT, "a", reward=BERT.model), "reward is a ... as SequenceClassifierReward(model, tokenizer"),
        (lambda: decode(BERT, "a", 8.0, SHAPE), f"strategy is 8.0: {OBJECT} or order"),
        (lambda: decode_compact(BERT, "a", RWS, SHAPE), f"strategy is {RWS!r}: {OBJECT} or order"),
        (lambda: decode_compact(BERT, "a", "margin", SHAPE), "strategy is 'margin': one with name, needs_reward and"),
        (lambda: compare(BERT, "the cat", ["default"], length=8), "length is 8: give it as shape=Shape(length=8)"),
        (lambda: compare(BERT, "the cat", ["default"], scale=8), "scale is 8: compare has no such argument"),
        (lambda: load_reward(vowels), f"reward is {vowels!r}: a name or a directory"),
        (lambda: load_predictor(BERT.model, BERT.tokenizer), f"model is a {type(BERT.model).__name__}: a name"),
        (lambda: load_predictor("englsh"), "model is 'englsh': neither a shipped name (english, mini)"),
    ],
    ids=lambda value: "",  # the message of a function has its address
)
def test_a_call_that_is_nearly_right_is_told_the_right_one(call: Any, said: str) -> None:
    refused(call, said)
    for name, load in {"englsh": load_predictor, "skywork-v02": load_reward}.items():
        with pytest.raises(ValueError, match=r" \(is (english|skywork-v0.2) meant\?\)$"):
            load(name)
