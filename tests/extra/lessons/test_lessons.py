"""What the lessons compute for themselves: what readers type into them, and numbers that a slow count confirms."""

import re
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from evidence_records import evidence_record
from interactive_pages import data_of
from scipy.stats import binomtest, multinomial

from paper_figures.extra.lessons import (
    antibody,
    corollary,
    order_worth,
    own_traces,
    printed_tables,
    proved,
    ranks,
    reward_matters,
    rounding,
    tilting,
)
from paper_figures.recorded import Recorded
from paper_figures.studies.evidence_arms import Arm
from rws_decode import Options, Shape, Temperature, decode, diff, load_predictor, load_reward, strategy_log_prob
from rws_decode.checkpoints.packages import PACKAGED, is_installed
from rws_theory.printed import printed_in
from rws_theory.theorem1 import theorem1
from rws_theory.worlds.less_reward import rws_less_reward_example


# lesson 1
def test_gaps_are_exact_and_the_more_confident_position_is_a() -> None:
    assert ranks.pair_of("1/2 4/5", "3/5 3/5") == ranks.pair_of("0.5 0.8", "0.6 0.6")
    a, b = ranks.pair_of("1/2 1/2", "2 3")
    assert a == (0, Fraction(-2), Fraction(-3)) and theorem1(a, b).hypothesis


@pytest.mark.parametrize("typed", ["1 x", "1/0", "nan", "1e400 inf"])
def test_what_is_no_gap_is_said_in_a_line(typed: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(typed))) as refused:
        ranks.pair_of(typed, "1/2 3")
    assert "such as 1 3/2 0.25 are needed" in str(refused.value) and "\n" not in str(refused.value)


def test_the_page_of_pairs_says_who_is_ahead() -> None:
    pairs = {name: ranks.pair_of(*gaps) for name, gaps in ranks.PAIRS.items()}
    data = data_of(ranks.drag(pairs))
    assert [case["name"] for case in data["cases"]] == list(pairs)
    for case, (a, b) in zip(data["cases"], pairs.values(), strict=True):
        roots = theorem1(a, b).crossings.roots
        assert case["marks"] == pytest.approx(roots, rel=1e-4)
        for scale, said, (first, second) in zip(data["at"], case["said"], case["bars"][0]["values"], strict=True):
            confidence = [1 / sum(np.exp(scale * float(logit)) for logit in row) for row in (a, b)]
            assert [first, second] == pytest.approx(confidence, rel=1e-4)
            turned = sum(1 < root < scale or scale < root < 1 for root in roots) % 2
            assert f" {'ab'[turned]} is ahead" in said


def test_random_pairs_are_counted() -> None:
    shares = ranks.refutations(20, [3, 5])
    assert list(shares) == ["as printed", "(b) mended", "odd or even, and no-flip"]
    rng, refuted, seen = np.random.default_rng(0), 0, 0
    while seen < 20:
        verdict = theorem1(*([0, *(-rng.integers(1, 40, 2)).tolist()] for _ in "ab"))
        refuted += verdict.hypothesis and verdict.printed_holds is False
        seen += verdict.hypothesis
    assert shares["as printed"][3].mean == pytest.approx(5 * refuted)
    assert all(low <= mean <= high for series in shares.values() for mean, low, high in series.values())


# lesson 2
def test_the_page_of_words_has_the_expected_rewards() -> None:
    data = data_of(tilting.drag({"cat": 3, "dog": 2}, {"on the dog": (0, 1), "on both": (1, 1)}))
    dog, both = data["cases"]
    for at, c in enumerate(data["at"]):
        scaled = 2**c / (2**c + 3**c)
        tilted = 2 * np.exp(c - 1) / (2 * np.exp(c - 1) + 3)
        assert [line["values"][at] for line in dog["lines"]] == pytest.approx([tilted, scaled, 0.4], rel=1e-4)
        assert [series["values"][at][1] for series in dog["bars"]] == pytest.approx([tilted, scaled, 0.4], rel=1e-4)
        assert f"{scaled:.4f} scaled, {tilted:.4f} tilted, 0.4000 under p." in dog["said"][at]
    assert {value for line in both["lines"] for value in line["values"]} == {1}


def test_the_smallest_model_is_decoded_as_it_is_proved() -> None:
    example = rws_less_reward_example()
    decodes = corollary.decode_both(example, factors=5)
    assert decodes.completions == 1 and decodes.logits.shape == (2, 3)
    assert [tuple(run.tokens) for run in decodes.runs.values()] == [example.confidence, example.rws]


# lesson 5
def test_first_steps_are_those_of_whole_decodes() -> None:
    predictor, shape, scales = load_predictor("mini"), Shape(length=8, steps=4, block=8), np.geomspace(1, 16, 3)
    steps = rounding.first_steps(predictor, predictor.prompts[0], shape, scales)  # type: ignore[arg-type]
    assert list(steps.chosen) == list(steps.value) == list(rounding.RANKINGS)
    for name, options in rounding.RANKINGS.items():
        for at, scale in enumerate(scales):
            (trace,) = decode(predictor, predictor.prompts[0], Temperature(float(scale)), shape, options=options)
            # Rows of a batch and single rows are summed in another order: float32 differs, and bfloat16 by one place.
            np.testing.assert_allclose(steps.value[name][at], trace.value[0], rtol=2**-7, atol=1e-5)
            if trace.near_ties[0] == 0:
                assert (steps.chosen[name][at] == trace.chosen[0]).all()
                assert steps.committed(name, scale * 1.1) == np.flatnonzero(trace.chosen[0]).tolist()
    assert list(steps.words) == list(trace.words(trace.candidate[0]))


@pytest.mark.parametrize("precision", ["bfloat16", "float32", "float64"])
def test_a_probability_is_one_from_where_softmax_says_so(precision: str) -> None:
    one, dtype = rounding.first_ones()[precision], getattr(torch, precision)
    wide = torch.float64 if precision == "float64" else torch.float32
    for margin, level in ((one, True), (one - 0.02, False)):
        two = torch.tensor([margin, 0.0], dtype=wide)
        assert bool(torch.softmax(two, 0).to(dtype)[0] == 1) == level


# lesson 6
def test_why_two_runs_parted_is_said_with_and_without_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    english, shape = load_predictor("english"), Shape(12, 6, 12)
    prompt = english.examples[0]["prompt"]
    first, second = (decode(english, prompt, name, shape)[0] for name in ("default", "temperature:8"))
    assert own_traces.why_parted(None, None) == "no second trace was given (`RWS_TRACE_BESIDE`)."
    assert own_traces.why_parted(diff(first, first), None) == "the runs do not part."
    alone, explained = diff(first, second), diff(first, second, english)
    assert alone.parting is not None and alone.parting.reversals
    said = own_traces.why_parted(alone, None)
    assert said.startswith(f"they part at step {alone.parting.step}, where these positions changed places: ")
    assert said.endswith("At which factor the files do not say.")
    assert own_traces.why_parted(alone, explained).endswith("the crossing is **proved**.")
    monkeypatch.setenv("RWS_TRACE", "mine.parquet")
    monkeypatch.delenv("RWS_TRACE_BESIDE", raising=False)
    assert own_traces.paths("unused") == (Path("mine.parquet"), None)


# lesson 7
def test_the_page_of_prompts_has_the_power_that_a_slow_count_gives() -> None:
    rows = printed_in("table1_win_rate")["rows"][:2]
    data = data_of(printed_tables.power_page(rows))
    assert data["at"] == list(printed_tables.SIZES) and data["names"] == [row["model"] for row in rows]
    seen, wide = data["cases"]
    win, loss, n = rows[0]["win"] / 100, rows[0]["default_win"] / 100, 10
    chance = 0.0  # every number of wins and losses that the exact test calls different
    for won, lost in product(range(n + 1), repeat=2):
        if 0 < won + lost <= n and binomtest(won, won + lost).pvalue <= 0.05:
            chance += multinomial.pmf([won, lost, n - won - lost], n, [win, loss, 1 - win - loss])
    assert seen["bars"][0]["values"][0][0] == pytest.approx(chance, abs=1e-4)
    low, high = printed_tables.net_interval(rows[0]["win"], rows[0]["default_win"], n)
    assert wide["bars"][0]["values"][0][0] == pytest.approx((high - low) / 2, rel=1e-3)
    assert all(line["values"] == sorted(line["values"]) for line in seen["lines"])


# lesson 9
def test_one_drawn_token_a_step_writes_the_law_and_the_likeliest_token_does_not() -> None:
    table = np.random.default_rng(0).integers(1, 30, (3, 3, 3))
    distances = proved.distances_of_orders(table)
    assert {name: each[0] for name, each in distances.items()} == dict.fromkeys(distances, 0)
    # Three copies at once, drawn apart: p has three texts of 1/3, and each is written with probability 1/27.
    assert distances["four copies of a token"][-1] == Fraction(8, 9) and not any(distances["independent tokens"])
    for text, distance in proved.argmax_texts(table):
        assert distance == 1 - Fraction(int(table[text]), int(table.sum()))


# lesson 10
@pytest.fixture(scope="module")
def record() -> Recorded:
    return evidence_record()


def test_the_places_are_those_of_the_paths_and_the_pictures_show_themselves(record: Recorded) -> None:
    places = reward_matters.places_of(record)
    assert {arm.method for arm in places.places} >= {"rws", "temperature", "default"}
    assert all(arm.number is None or arm.number >= 0.5 for arm in places.places if arm.method == "temperature")
    first, second = (places.arms[arm]["regret"] for arm in (Arm("rws", 8.0), Arm("default")))
    difference = reward_matters.difference(record, Arm("rws", 8.0), Arm("default"))
    assert difference.mean == pytest.approx((first - second).mean()) and difference.low <= difference.mean
    with pytest.raises(ValueError, match=r"the record has no Arm\(method='rws', number=7.0"):
        reward_matters.difference(record, Arm("rws", 7.0), Arm("default"))
    rows = reward_matters.controls_of(record)
    assert {row.arm.method for row in rows} == {"constant", "schedule", "swapped"}
    least = reward_matters.least_of(record, rows, [16, 400], "constant")
    drawn = [reward_matters.draw_frontier(places), reward_matters.draw_controls(rows)]
    for figure in (*drawn, reward_matters.draw_least(least, [16, 400], [16, 400])):
        assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined] - what a notebook calls


# lesson 11
def slow_divergence(memory: float, strategy: str, words: int, seed: int = 0) -> tuple[float, list[int]]:
    log_p = order_worth.chain(memory).table(8).log_p.ravel()
    drawn = Options(sampling_temperature=1.0, drawing="commit", seed=seed)
    predictor, shape = order_worth.predictor_of(memory), order_worth.shape_of(words)
    law = strategy_log_prob(predictor, [[]], order_worth.TEXTS, strategy, shape, options=drawn)
    return float(np.exp(log_p) @ (log_p - law.log_prob)), law.commit_step[order_worth.SHOWN].tolist()


@pytest.mark.parametrize(("words", "distance"), [(2, 1), (2, 3), (4, 3)])
def test_the_fast_divergences_of_the_chain_are_those_of_every_text(words: int, distance: int) -> None:
    far = f"+apart:{distance}" if distance > 1 else ""
    memory = 0.6
    value, steps = order_worth.of_confidence(memory, words, distance)
    expected = slow_divergence(memory, f"default{far}", words)
    assert value == pytest.approx(expected[0], abs=1e-9) and steps.tolist() == expected[1]
    seeds = [np.random.default_rng(seed).random(8) for seed in range(2)]
    weights, steps = order_worth.of_orders(np.array(seeds), words, distance)
    slow = [slow_divergence(memory, f"random-order{far}", words, seed) for seed in range(2)]
    assert weights @ order_worth.set_entropies(memory) == pytest.approx(np.mean([each[0] for each in slow]), abs=1e-9)
    assert steps.tolist() == slow[0][1]


# lesson 12
def test_the_lines_show_the_recorded_answers_in_the_chain() -> None:
    runs, answer = antibody.runs(), antibody.asked()[1]
    mouse, asked, *lines = antibody.aligned(runs).splitlines()
    masked = [at for at, residue in enumerate(asked) if residue == "_"]
    assert "".join(mouse[at] for at in masked) == answer
    for trace, line in zip(runs.values(), lines, strict=True):
        residues = "".join(trace.words(trace.tokens))
        assert "".join(old if line[at] == "." else line[at] for at, old in zip(masked, answer, strict=True)) == residues
    table = antibody.judged(runs)
    assert table["as in the mouse"].tolist()[0] == 64
    for name, trace in runs.items():
        if trace.final_reward is not None:
            assert table["log-odds of human"][name] == pytest.approx(trace.final_reward["raw"], abs=1e-4)


def test_the_path_over_constants_has_the_decodes_of_its_constants() -> None:
    constants = antibody.path("temperature")
    assert constants.certified and constants.unexplored == ()
    for name, factor in (("default", 1.0), ("temperature:4", 4.0)):
        found, trace = constants.at(factor), antibody.runs()[name]
        assert found is not None and found.tokens == tuple(trace.tokens.tolist())
        assert found.commit_step == tuple(trace.commit_step.tolist())


@pytest.mark.long
@pytest.mark.skipif(not is_installed(PACKAGED["antibody"]), reason="antiberty, a published network (make real)")
def test_the_published_network_writes_the_recorded_answers() -> None:
    predictor, reward = load_predictor("antibody", progress=False), load_reward("human")
    for name in ("default", "rws:8"):
        recorded = antibody.runs()[name]
        (trace,) = decode(predictor, antibody.asked()[0], name, antibody.SHAPE, reward=reward)
        assert trace.tokens.tolist() == recorded.tokens.tolist()
