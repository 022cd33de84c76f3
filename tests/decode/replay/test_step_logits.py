"""The logits of a recorded step: they lead to the values, the candidates and the choice that the trace recorded."""

from dataclasses import replace
from typing import Any

import numpy as np
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from misuse import refused
from table_models import END, LENGTH, REWARD, table_predictor
from table_models import MASK as LOOP_MASK
from trace_files import NOT_NEEDED

import rws_decode as rws
from rws_decode import RWS, Confidence, Margin, Options, Savings, Shape, StepLogits, Temperature, decode, step_logits
from rws_theory import crossings

SHAPES = [Shape(LENGTH, LENGTH, LENGTH), Shape(LENGTH, 3, LENGTH), Shape(LENGTH, 4, LENGTH // 2)]


def check(trace: rws.Trace, view: StepLogits) -> None:
    step = view.step
    assert view.positions.tolist() == np.flatnonzero(trace.eligible[step]).tolist()
    assert view.positions.dtype == view.candidate.dtype == np.int64 and view.logits.dtype == np.float64
    recorded = trace.candidate[step, view.positions]
    assert ((recorded == view.candidate) | (recorded < 0)).all()
    assert view.chosen.tolist() == trace.chosen[step, view.positions].tolist()
    assert np.array_equal(view.factor, trace.factor[step], equal_nan=True) and type(view.factor) is float
    assert view.words == tuple(trace.words(view.candidate))
    if trace.sampling_temperature == 0:
        assert view.candidate.tolist() == view.logits.argmax(axis=1).tolist()


@settings(max_examples=examples(200))
@given(
    st.integers(0, 2**32),
    st.sampled_from([Confidence(), Temperature(0.2), Temperature(3.0), RWS(4.0)]),
    st.sampled_from(SHAPES),
    st.sampled_from(["none", "suppress", "defer"]),
    st.sampled_from([0.0, 0.8]),
    st.booleans(),
)
def test_the_logits_of_each_step_lead_to_what_it_recorded(
    seed: int, strategy: Any, shape: Shape, policy: Any, temperature: float, saving: bool
) -> None:
    predictor = table_predictor(seed, spread=0.4)
    options = Options(end_of_text=policy, sampling_temperature=temperature, seed=seed)
    savings = Savings.everything() if saving else Savings.nothing()
    (trace,) = decode(predictor, [[]], strategy, shape, reward=REWARD, options=options, savings=savings)
    for step in range(trace.steps_run):
        view = step_logits(trace, predictor, step)
        check(trace, view)
        if policy == "suppress":
            assert np.isneginf(view.logits[:, END]).all()
        if trace.reward_use[step] != NOT_NEEDED:
            value = trace.value[step, view.positions]
            for row, token, recorded in zip(view.logits, view.candidate.tolist(), value, strict=True):
                with np.errstate(over="ignore"):
                    others = np.exp(view.factor * (np.delete(row, token) - row[token])).sum()
                np.testing.assert_allclose(-np.log(others), recorded, rtol=1e-9, atol=1e-9)


def test_the_values_of_order_strategies_and_probabilities_follow_from_them_too() -> None:
    predictor = table_predictor(1, spread=0.4)
    (trace,) = decode(predictor, [[]], Margin(), SHAPES[1])
    for step in range(trace.steps_run):
        view = step_logits(trace, predictor, step)
        check(trace, view)
        odds = np.exp(view.logits - view.logits.max(axis=1, keepdims=True))
        best = np.sort(odds / odds.sum(axis=1, keepdims=True), axis=1)
        np.testing.assert_allclose(best[:, -1] - best[:, -2], trace.value[step, view.positions], rtol=1e-12)
    for ranking in ("probability", "topk"):
        options = Options(ranking=ranking, precision="float64")
        (trace,) = decode(predictor, [[]], Temperature(2.0), SHAPES[1], options=options)
        for step in range(trace.steps_run):
            view = step_logits(trace, predictor, step)
            assert np.isneginf(view.logits[:, LOOP_MASK]).all() == (ranking == "probability")  # topk reads it as well
            scaled = np.exp(2.0 * (view.logits - view.logits.max(axis=1, keepdims=True)))
            probability = (scaled / scaled.sum(axis=1, keepdims=True))[range(len(scaled)), view.candidate]
            np.testing.assert_allclose(probability, trace.value[step, view.positions], rtol=1e-12)
        if ranking == "topk":  # a candidate that is not kept is no mask, however large the logit of the mask
            lost = replace(trace, candidate=np.where(trace.chosen | ~trace.masked, trace.candidate, -1))
            again = [step_logits(lost, predictor, step).candidate.tolist() for step in range(3)]
            assert again == [step_logits(trace, predictor, step).candidate.tolist() for step in range(3)]


def test_crossings_are_of_ranked_positions_and_their_best_tokens() -> None:
    predictor = table_predictor(5)
    (trace,) = decode(predictor, "", Confidence(), SHAPES[2])
    view = step_logits(trace, predictor, 0)
    assert (
        view.crossings(1, 2).crossings == crossings(*(np.delete(row, LOOP_MASK) for row in view.logits[1:3])).crossings
    )
    assert trace.crossings(0, 1, 2, predictor) == view.crossings(1, 2)
    refused(lambda: view.crossings(0, LENGTH), f"j is {LENGTH}: step 0 ranked 0, 1")
    drawn = replace(view, candidate=np.where(view.candidate == 1, 2, 1))
    refused(lambda: drawn.crossings(0, 1), "i is 0: its token,  ... , is not its best one")
