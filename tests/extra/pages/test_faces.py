"""Objects say in one short line what they are, whatever they hold."""

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import bert_classifier, bert_predictor, diffusion_gemma, llama_classifier, word_tokenizer

import rws_decode
import rws_theory
from rws_decode import CallablePredictor
from rws_decode.extra.steering import METHODS
from rws_decode.strategies import STRATEGIES, offered

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
    return rws_decode.scale_path(mini(), mini().prompts[0], 0.5, 8.0, SHAPE, over=over, reward=reward())


def usual() -> rws_decode.Trace:
    return runs()["default"][0]


def guided() -> rws_decode.Trace:
    return runs()["guided"][0]


@cache
def noisy() -> rws_decode.DiffusionGemma:
    return rws_decode.DiffusionGemma(diffusion_gemma(), word_tokenizer(), name=HOSTILE)


LINES = [STRATEGIES[name] for name in offered() if "run" not in STRATEGIES[name].reads]
# What makes an object, by the name of its public class, and further ones of it.
OBJECTS: dict[str, Callable[[], Any]] = {
    **{
        entry.kind.__name__: partial(
            entry.kind, **{name: number.usual for name, number in entry.numbers.items() if number.needed}
        )
        for entry in [*LINES, *METHODS.values()]
    },
    "Spacing": lambda: rws_decode.Spacing(rws_decode.RandomOrder(tuple(range(99))), 3),
    "SpacingChoice": lambda: rws_decode.SpacingChoice(rws_decode.Threshold(0.9, scaled=rws_decode.RWS(8.0)), 3),
    "CallablePredictor": lambda: CallablePredictor(lambda canvas: torch.eye(4)[3 - canvas], mask_id=0, name=HOSTILE),
    "CallableReward": lambda: rws_decode.CallableReward(len, name=HOSTILE, bounds=(0.0, 1.0)),
    "CausalReward": lambda: rws_decode.CausalReward(
        llama_classifier(), word_tokenizer(), mean=0.0, std=1.0, name=HOSTILE
    ),
    "Comparison": runs,
    "Decoding": lambda: runs()["guided"],
    "Digest": lambda: digest(),
    "Fragility": lambda: rws_decode.fragility([guided()], [1.0]),
    "DigestDiff of another": lambda: rws_decode.compare_digests(digest(), digest(HOSTILE)),
    "DiffusionGemma": noisy,
    "Dialogue": lambda: rws_decode.Dialogue(TURNS),
    "HFMaskPredictor": bert_predictor,
    "Calibrated": lambda: rws_decode.Calibrated(rws_decode.token_frequencies([[1, 2]], 900)),
    "CommittedPositions": lambda: rws_decode.CommittedPositions(
        3, 2, 40, *[torch.zeros(40)] * 6, 1, rws_decode.MaskedPositions(3, 2, reward=np.zeros(40))
    ),
    "OracleOrder": lambda: rws_decode.OracleOrder(np.arange(900)),
    "Options": lambda: rws_decode.Options(seed=tuple(range(99)), end_ids=tuple(range(99)), cfg=0.5, padding="left"),
    "PathDiagnostics": lambda: rws_decode.path_diagnostics(usual(), mini()),
    "RandomOrder": lambda: rws_decode.RandomOrder(tuple(range(99))),
    "Reach": lambda: rws_decode.compare_reach(path(), path("reward-scale")),
    "RecordedOrder": lambda: rws_decode.RecordedOrder(np.random.default_rng(0).random((2, 30, 40))),
    "ScalePath": path,
    "SequenceClassifierReward": lambda: rws_decode.SequenceClassifierReward(
        bert_classifier(), word_tokenizer(), mean=0.1, std=2.0, name=HOSTILE
    ),
    "StepLogits": lambda: rws_decode.step_logits(guided(), mini(), 1),
    "Temperature of many": lambda: rws_decode.Temperature(tuple(np.linspace(1, 2, 99).tolist())),
    "TextLaw": lambda: rws_decode.strategy_log_prob(mini(), mini().prompts[0], [mini().prompts[1]]),
    "Trace": guided,
    "TraceDiff": lambda: rws_decode.diff(usual(), guided(), mini()),
    "UniformDecode": lambda: rws_decode.decode_uniform(noisy(), [[2, 6]])[0],
    "WorldPredictor": lambda: rws_decode.load_predictor("english"),
    "exact reward": lambda: rws_decode.load_reward("exact"),
    "world's reward": lambda: rws_decode.load_reward("keywords:peace,war,law,states,congress,treaty,people,nation"),
    "GapStatistics": lambda: rws_theory.gap_statistics(np.random.default_rng(0).random((50, 9))),
}


def digest(name: str = "table") -> rws_decode.Digest:
    table = torch.eye(4)[:3]
    predictor = CallablePredictor(lambda canvas: table[canvas % 3], mask_id=0, name=name)
    return rws_decode.check_digest(predictor, prompts=[[1, 1 + (name == HOSTILE)]], shape=rws_decode.Shape(4, 2, 4))


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_says_in_one_short_line_what_it_is(name: str) -> None:
    text = repr(OBJECTS[name]())
    assert "\n" not in text and len(text) <= 120 and not re.search(r"0x[0-9a-f]{4}|object at", text)
    assert re.fullmatch(r"\w+\(.*\)", text)
