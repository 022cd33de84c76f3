"""What holds for every strategy: its run is kept, described, replayed and repeated; what it cannot be is named."""

from collections.abc import Callable
from dataclasses import field, make_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from misuse import refused
from tiny_models import llada_predictor

import rws_decode as rws
from paper_figures.extra.fragility.answers import moved_answers
from rws_decode import RWS, Abilities, Calibrated, Edit, OracleOrder, Schedule, Temperature, Threshold, decode, recorded
from rws_decode.extra.adapters.dream import DreamHooks
from rws_decode.extra.lookahead import InformationGain, LookUM, LoPA
from rws_decode.extra.paper_rules import Dilated
from rws_decode.extra.steering import METHODS
from rws_decode.extra.testing.strategies import mask_predictors
from rws_decode.strategies import STRATEGIES as NAMED
from rws_decode.strategies import abilities_of, as_strategy, check_text, describe, gives_order, offered, strategy_from
from rws_decode.trace.labels import strategy_label

PREDICTOR = llada_predictor()
PROMPTS = ["the cat sat", "a dog ran over the hill"]
SHAPE = rws.Shape(length=8, steps=6, block=4)
REWARD = rws.CallableReward(lambda prompt, answer: float(len(set(answer.split()))), mean=4.0, std=1.5)
FREQUENCY, TRUTH = np.linspace(0.01, 0.2, 28), np.array([9, 11, 7, 13, 6, 8, 20, 21])
STRATEGIES = [
    *(Temperature(2.0), RWS(8.0), rws.RWSEvery(8.0, 2), rws.FlippedReward(8.0), rws.RandomReward(8.0, 1)),
    *(rws.Margin("logit"), rws.Entropy(), rws.RandomOrder(3), rws.LeftToRight()),
    *(Threshold(0.42), rws.ParallelFactor(1.9), rws.EntropyBound(1.9), Threshold(0.6, scaled=RWS(12.0))),
    *(rws.Klass(0.3, 0.05, 1, scaled=Temperature(2.0)), Dilated(3), LoPA(0.42, scaled=RWS(8.0))),
    *(rws.CertaintyPrior(1.5, scaled=Temperature(2.0)), Calibrated(FREQUENCY, 0.25, 2.0), OracleOrder(TRUTH)),
    *(InformationGain(4, 3, 1.0, scaled=RWS(8.0)), LookUM(4, 7, pool=3, alpha=0.3)),
    *(rws.ReMDM(0.5, scaled=RWS(8.0)), rws.P2(1.0, "left-out"), rws.Wino(0.2, scaled=RWS(8.0))),
    *(Edit(0.2, 0.6, scaled=RWS(8.0)), Edit(0.0, 0.5, 3)),
    *(rws.Spacing(RWS(8.0), 2), rws.Spacing(rws.RandomOrder(3), 4), rws.SpacingChoice(Threshold(0.42), 2)),
]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_a_run_is_kept_described_replayed_and_repeated(strategy: Any, tmp_path: Path) -> None:
    batch = decode(PREDICTOR, PROMPTS, strategy, SHAPE, reward=REWARD)
    repeated = decode(PREDICTOR, PROMPTS, recorded(list(batch)), SHAPE)
    for trace, other in zip(batch, repeated, strict=True):
        assert np.array_equal(other.canvas, trace.canvas) and np.array_equal(other.tokens, trace.tokens)
        assert other.reward_calls == 0
    saved = rws.load_trace(trace.save(tmp_path / "t.parquet"))
    assert saved == trace and saved.strategy["name"] == strategy.name
    if not isinstance(strategy, Calibrated | OracleOrder):  # their tables are not written down
        assert strategy_from(saved.strategy) == strategy
    assert rws.replay(trace).diverged_at is None
    again = rws.replay_with(trace, PREDICTOR)
    assert np.array_equal(again.canvas, trace.canvas) and np.array_equal(again.tokens, trace.tokens)
    if gives_order(strategy):
        assert trace.ranking == "order" and again.strategy == {"name": "recorded-order"}
        assert again.forwards == trace.steps_run  # the order is known: nothing is looked at
    less = decode(PREDICTOR, PROMPTS, strategy, SHAPE, reward=REWARD, savings=rws.Savings.everything())
    assert less.texts == batch.texts


@pytest.mark.parametrize(
    "text",
    [
        *("temperature:4", "rws:8", "rws-flipped:8", "margin", "threshold:0.42", "klass:0.3", "entropy-bound:0.5"),
        *("threshold:0.9+rws:8", "remdm:0.5+rws:8", "p2:2+rws:8", "wino:0.3+temperature:2"),
        *("edit:0.9+threshold:0.95", "edit:0.9+threshold:0.5+rws:8"),
        *("information-gain:3+temperature:2", "lookum:3", "lopa:0.9+rws:8", "certainty-prior:2"),
        *("dus:16", "default+spacing:3", "rws:8+spacing:2", "threshold:0.9+rws:8+spacing:2", "margin+spacing:4"),
    ],
)
def test_a_text_is_the_label_of_its_strategy(text: str) -> None:
    strategy = as_strategy(text)
    assert strategy_label(describe(strategy)) == text and strategy_from(describe(strategy)) == strategy
    assert ("reward" in check_text(text, "--compare")) == ("rws" in text)


def own(members: dict[str, Any], abilities: Any = None) -> Any:
    """Return a strategy of one's own: plain confidence, with fields of any name and value, and what it declares."""
    common = {"name": "own", "needs_reward": False, "factor": lambda self, view: np.ones(view.rows)}
    declared = {} if abilities is None else {"abilities": abilities}
    kinds = [(name, Any, field(default=value)) for name, value in members.items()]
    return make_dataclass("Own", kinds, namespace=common | declared, frozen=True)()


CHOOSING = "threshold:0.6 parallel-factor:1 entropy-bound:0.6 klass:0.4 lopa:0.6 lopa:0.9 wino:0.4 p2:1".split()
CHOOSING += "edit:0.4 threshold:0.4+spacing:2 entropy-bound:0.6+spacing:2 default+spacing:2".split()


@settings(max_examples=examples(200))
@given(mask_predictors(), st.sampled_from(CHOOSING), st.integers(0, 99))
def test_logits_that_move_within_rounding_change_nothing_that_is_not_counted(model: Any, text: str, seed: int) -> None:
    predictor, length = model
    (trace,) = decode(predictor, [[]], text, rws.Shape(length))
    if not (trace.near_ties.any() or trace.near_tokens.any()):
        assert (moved_answers(trace, predictor, decodes=4, seed=seed) == trace.tokens).all()


GUESSED = "count choose doubts revise evidence asks_evidence edits after memory hypotheses asks_reward".split()
GUESSED += "factor_range tensor_factor sensitivity counts chooses revises".split()


@pytest.mark.parametrize("value", [0.5, True, len])
def test_what_a_strategy_can_do_is_not_guessed_from_names(value: Any) -> None:
    strategy, plain = own(dict.fromkeys(GUESSED, value)), decode(PREDICTOR, PROMPTS, "default", SHAPE)
    batch = decode(PREDICTOR, PROMPTS, strategy, SHAPE, savings=rws.Savings(certain=True))
    assert all(np.array_equal(mine.canvas, theirs.canvas) for mine, theirs in zip(batch, plain, strict=True))
    assert abilities_of(strategy) == Abilities() and isinstance(recorded(list(batch)), Schedule)


COMPACT = "the compact decoder goes by confidence and the schedule alone"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Threshold(0.9, scaled=rws.Entropy()), "a strategy with a factor is needed, such as RWS(8.0)"),
        (lambda: decode(PREDICTOR, "a", Calibrated(FREQUENCY[:5]), SHAPE), "frequency has 5 tokens: the model has 28"),
        (lambda: decode(PREDICTOR, "a", OracleOrder(TRUTH[:3]), SHAPE), "truth has 3 tokens: the answer has 8"),
        (lambda: own({}, Abilities(memory=2.5)), "memory is 2.5: a whole number, at least 0, is needed"),
        (lambda: decode(PREDICTOR, "a", own({}, {"counts"}), SHAPE), "abilities is {'counts'}: strategy own"),
        (lambda: decode(PREDICTOR, "a", own({"count": 3}, Abilities(counts=True)), SHAPE), "has no method count"),
        (lambda: Threshold(0.9, scaled=own({}, Abilities(asks_at_steps=True))), "own has no method asks_reward, write"),
        (lambda: Threshold(0.9, scaled=own({}, {"counts"})), "abilities is {'counts'}: strategy own"),
        (lambda: DreamHooks(Threshold(0.9), mask_id=0), "one that gives factors alone is needed"),
        (lambda: recorded([decode(PREDICTOR, "a", Edit(edit), SHAPE)[0] for edit in (0.5, 0.9)]), "traces come from"),
        (lambda: rws.decode_compact(PREDICTOR, "a", "threshold:0.9", SHAPE), COMPACT),
    ],
)
def test_what_no_strategy_can_be_is_named_in_one_line(make: Callable[[], object], message: str) -> None:
    refused(make, message)


# What a told range accepts, and what it refuses.
_ENDS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "above 0": ((1e-6,), (0.0, -1.0)),
    "at least 0": ((0.0, 2.0), (-0.5,)),
    "at least 1": ((1,), (0, -1)),
    "at least 2": ((2,), (1,)),
    "0 to 1": ((0.0, 1.0), (-0.1, 1.1)),
    "between 0 and 1": ((0.5,), (0.0, 1.0)),
}
_NUMBERS = [
    pytest.param(entry.kind, number, id=f"{name} {number}")
    for table in ({name: NAMED[name] for name in offered()}, METHODS)
    for name, entry in table.items()
    for number, declared in entry.numbers.items()
    if declared.range
]


@pytest.mark.parametrize(("kind", "number"), _NUMBERS)
def test_a_told_range_is_what_the_class_accepts(kind: Any, number: str) -> None:
    fields = kind.__dataclass_fields__
    usual = {name: one.metadata["number"] for name, one in fields.items() if "number" in one.metadata}
    given = {name: declared.usual for name, declared in usual.items() if declared.needed}
    accepted, refused = _ENDS[usual[number].range]
    for value in accepted:
        assert getattr(kind(**given | {number: value}), number) == value
    for value in refused:
        with pytest.raises(ValueError, match=number):
            kind(**given | {number: value})
