"""Every public object says in one short line what it is, and shows itself as a table of escaped text."""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import bert_predictor

import rws_decode
import rws_theory
from rws_decode.extra.steering.table import METHODS
from rws_decode.extra.testing.networks import bert_classifier, diffusion_gemma, llama_classifier, word_tokenizer
from rws_decode.predictors import CallablePredictor
from rws_decode.strategies.table import STRATEGIES, offered

HOSTILE = "<script>alert('&')</script>\n" * 9
SHAPE = rws_decode.Shape(8, 4, 8)
TURNS = ("how many cats ? " * 30, "two .", "and dogs ?")


@cache
def mini() -> Any:
    return rws_decode.load_predictor("mini")


@cache
def reward() -> Any:
    return rws_decode.load_reward("mini")


@cache
def runs() -> rws_decode.Comparison:
    labels = {
        "default": "default",
        "guided": "rws:8",
        HOSTILE: "temperature:4",
        **{f"s{n}": "margin" for n in range(9)},
    }
    return rws_decode.compare(mini(), mini().prompts[:2], labels, SHAPE, reward=reward())


@cache
def path(over: Any = "temperature") -> rws_decode.ScalePath:
    shape = rws_decode.Shape(8, 4, 8)
    return rws_decode.scale_path(mini(), mini().prompts[0], 0.5, 8.0, shape, over=over, reward=reward())


def usual() -> rws_decode.Trace:
    return runs()["default"][0]


def guided() -> rws_decode.Trace:
    return runs()["guided"][0]


def callable_predictor() -> CallablePredictor:
    return CallablePredictor(lambda canvas: torch.eye(4)[3 - canvas], mask_id=0, name=HOSTILE)


def classifier() -> Any:
    return rws_decode.SequenceClassifierReward(bert_classifier(), word_tokenizer(), mean=0.1, std=2.0, name=HOSTILE)


@cache
def noisy() -> rws_decode.DiffusionGemma:
    return rws_decode.DiffusionGemma(diffusion_gemma(), word_tokenizer(), name=HOSTILE)


def made(entry: Any) -> Any:
    """Return the strategy or the steering method of a line of its table, with the usual numbers that it needs."""
    return entry.kind(**{name: number.usual for name, number in entry.numbers.items() if number.needed})


LINES = [STRATEGIES[name] for name in offered() if "run" not in STRATEGIES[name].reads]
# What makes an object, by the name of its public class, and further ones of it.
OBJECTS: dict[str, Callable[[], Any]] = {
    **{entry.kind.__name__: partial(made, entry) for entry in [*LINES, *METHODS.values()]},
    "Abilities": rws_decode.Abilities,
    "Animation": lambda: usual().animate(),
    "Apart": lambda: rws_decode.Apart(rws_decode.RandomOrder(tuple(range(99))), 3),
    "ApartChoice": lambda: rws_decode.ApartChoice(rws_decode.Threshold(0.9, scaled=rws_decode.RWS(8.0)), 3),
    "Breakpoint": lambda: path().breakpoints[0],
    "CallablePredictor": callable_predictor,
    "CallableReward": lambda: rws_decode.CallableReward(len, name=HOSTILE, bounds=(0.0, 1.0)),
    "CausalReward": lambda: rws_decode.CausalReward(
        llama_classifier(), word_tokenizer(), mean=0.0, std=1.0, name=HOSTILE
    ),
    "Comparison": runs,
    "Decoding": lambda: runs()["guided"],
    "Digest": lambda: digest(),
    "DigestDiff": lambda: rws_decode.compare_digests(digest(), digest()),
    "Fragility": lambda: rws_decode.fragility([guided()], [1.0]),
    "DigestDiff of another": lambda: rws_decode.compare_digests(digest(), digest(HOSTILE)),
    "DiffusionGemma": noisy,
    "Dialogue": lambda: rws_decode.Dialogue(TURNS),
    "HFMaskPredictor": bert_predictor,
    "Steering": lambda: rws_decode.steer(mini(), mini().prompts[:2], "best-of:2", SHAPE, reward=reward()),
    "Calibrated": lambda: rws_decode.Calibrated(rws_decode.token_frequencies([[1, 2]], 900)),
    "CommittedPositions": lambda: rws_decode.CommittedPositions(
        3, 2, 40, *[torch.zeros(40)] * 6, 1, rws_decode.MaskedPositions(3, 2, reward=np.zeros(40))
    ),
    "ReMDM": lambda: rws_decode.ReMDM(0.1, seed=tuple(range(99))),
    "MaskedPositions": lambda: rws_decode.MaskedPositions(3, 2, reward=np.zeros(40), logits=torch.zeros(40, 9)),
    "OracleOrder": lambda: rws_decode.OracleOrder(np.arange(900)),
    "Options": lambda: rws_decode.Options(seed=tuple(range(99)), end_ids=tuple(range(99)), cfg=0.5, padding="left"),
    "Output": lambda: reach().outputs[0],
    "Page": lambda: usual().view(),
    "PathDiagnostics": lambda: rws_decode.path_diagnostics(usual(), mini()),
    "ParallelFactor": lambda: rws_decode.ParallelFactor(1.0, scaled=rws_decode.Temperature(tuple(range(1, 99)))),
    "RWSGenerationConfig": lambda: rws_decode.RWSGenerationConfig(strategy="rws", reward_scale=8.0, steps=16),
    "RandomOrder": lambda: rws_decode.RandomOrder(tuple(range(99))),
    "RandomReward": lambda: rws_decode.RandomReward(8.0, tuple(range(99))),
    "Reach": lambda: reach(),
    "RecordedOrder": lambda: rws_decode.RecordedOrder(np.random.default_rng(0).random((2, 30, 40))),
    "Replay": lambda: rws_decode.replay(guided()),
    "RewardReplay": lambda: rws_decode.shuffled(guided(), np.random.default_rng(0)),
    "Savings": rws_decode.Savings.everything,
    "ScalePath": path,
    "ScalePiece": lambda: path().pieces[0],
    "Schedule": lambda: rws_decode.recorded(runs()["guided"]),
    "SequenceClassifierReward": classifier,
    "Shape": lambda: SHAPE,
    "StepLogits": lambda: rws_decode.step_logits(guided(), mini(), 1),
    "Temperature": lambda: rws_decode.constant_of(runs()["guided"]),
    "Temperature of many": lambda: rws_decode.Temperature(tuple(np.linspace(1, 2, 99).tolist())),
    "TextLaw": lambda: rws_decode.strategy_log_prob(mini(), mini().prompts[0], [mini().prompts[1]]),
    "Threshold": lambda: rws_decode.Threshold(0.9, scaled=rws_decode.RWS(8.0)),
    "Trace": guided,
    "TraceDiff": lambda: rws_decode.diff(usual(), guided(), mini()),
    "TraceDiff of the same": lambda: rws_decode.diff(usual(), usual()),
    "UniformDecode": lambda: rws_decode.decode_uniform(noisy(), [[2, 6]])[0],
    "UniformOptions": rws_decode.UniformOptions,
    "Unexplored": lambda: rws_decode.Unexplored(1.0, 2.0),
    "WorldPredictor": lambda: rws_decode.load_predictor("english"),
    "exact reward": lambda: rws_decode.load_reward("exact"),
    "world's reward": lambda: rws_decode.load_reward("keywords:peace,war,law,states,congress,treaty,people,nation"),
    "final reward": lambda: rws_decode.final_reward(mini(), reward(), mini().prompts[0], usual().tokens),
    "GapStatistics": lambda: rws_theory.gap_statistics(np.random.default_rng(0).random((50, 9))),
}
NO_OBJECTS = {"FactorStrategy", "OrderStrategy", "Strategy", "MaskPredictor", "RewardModel"}  # Protocols
TABLES = [
    *("CallablePredictor", "HFMaskPredictor", "WorldPredictor", "StepLogits", "TraceDiff", "TraceDiff of the same"),
    *("CallableReward", "CausalReward", "SequenceClassifierReward", "exact reward", "world's reward"),
]


def digest(name: str = "table") -> rws_decode.Digest:
    table = torch.eye(4)[:3]
    predictor = CallablePredictor(lambda canvas: table[canvas % 3], mask_id=0, name=name)
    return rws_decode.check_digest(predictor, prompts=[[1, 1 + (name == HOSTILE)]], shape=rws_decode.Shape(4, 2, 4))


def reach() -> rws_decode.Reach:
    return rws_decode.compare_reach(path(), path("reward-scale"))


def test_every_public_class_is_here() -> None:
    classes = {name for name in dir(rws_decode) if isinstance(getattr(rws_decode, name), type)}
    assert classes - NO_OBJECTS <= set(OBJECTS)


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_says_in_one_short_line_what_it_is(name: str) -> None:
    said = repr(OBJECTS[name]())
    assert "\n" not in said and len(said) <= 120 and not re.search(r"0x[0-9a-f]{4}|object at", said)
    assert re.fullmatch(r"\w+\(.*\)", said)


def rows_of(html: str) -> dict[str, list[str]]:
    """Return a table's cells by the first of each row, checked to be plain escaped text without a script."""
    table = ElementTree.fromstring(html.replace("&#x27;", "'"))
    assert {node.tag for node in table.iter()} <= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert {key for node in table.iter() for key in node.attrib} <= {"style", "colspan"}
    rows = [[cell.text or "" for cell in row] for row in table.iter("tr")]
    return {row[0]: row[1:] for row in rows}


@pytest.mark.parametrize("name", TABLES)
def test_a_face_is_a_table_of_text(name: str) -> None:
    assert rows_of(OBJECTS[name]()._repr_html_()) is not None


def test_a_step_shows_words_log_odds_and_what_was_committed() -> None:
    logits = OBJECTS["StepLogits"]()
    rows = rows_of(logits._repr_html_())
    assert rows["position (from 0)"] == [
        *("word", "log-odds at factor 1", f"log-odds at factor {logits.factor:.5g}", "committed")
    ]
    kept = guided().value[1]
    for position, word, chosen in zip(logits.positions, logits.words, logits.chosen, strict=True):
        shown, unscaled, scaled, committed = rows[str(position)]
        assert shown == repr(word) and committed == ("yes" if chosen else "") and float(unscaled) < 99
        assert np.isnan(kept[position]) or float(scaled) == pytest.approx(kept[position], abs=0.01)
