"""What lessons 6 to 12 compute for themselves, against slow counts and what their records hold."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from evidence_records import evidence_record
from interactive_pages import data_of
from scipy.stats import binomtest, multinomial

from paper_figures.lessons import antibody, order_worth, orders, own_traces, printed_tables, proved, reward_matters
from paper_figures.recorded import Recorded
from paper_figures.statistics.equivalence import least_difference, t_test_power
from paper_figures.studies.design.evidence_arms import Arm
from paper_figures.studies.summaries.evidence_measures import MEASURES
from rws_decode import Options, Shape, decode, diff, load_predictor, load_reward, strategy_log_prob
from rws_decode.checkpoints.packages import PACKAGED, is_installed
from rws_decode.predictors import WorldPredictor
from rws_theory import selection_path
from rws_theory.printed import printed_in
from rws_theory.worlds.information_curve import information_curve

# --- lesson 6 ---------------------------------------------------------------------------------------------------------


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


# --- lesson 7 ---------------------------------------------------------------------------------------------------------


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


# --- lesson 8 ---------------------------------------------------------------------------------------------------------


def test_one_token_at_a_time_every_order_of_an_exact_world_gives_log_p_of_the_text() -> None:
    english, rng = load_predictor("english"), np.random.default_rng(0)
    assert isinstance(english, WorldPredictor)
    predictor, prompt, tokens = text = orders.greedy_text(english, english.examples[0]["prompt"], 5)
    expected = english.world.log_prob(np.array(tokens), predictor.encode_prompt(prompt))
    assert orders.in_random_orders(text, 1, 4, rng) == pytest.approx([expected] * 4)
    assert np.ptp(orders.in_random_orders(text, 5, 4, rng)) < 1e-9 and len(orders.circulations(text)) == 4
    assert orders.circulations(text) == pytest.approx(0.0, abs=1e-9)


# --- lesson 9 ---------------------------------------------------------------------------------------------------------


def test_one_drawn_token_a_step_writes_the_law_and_the_likeliest_token_does_not() -> None:
    table = np.random.default_rng(0).integers(1, 30, (3, 3, 3))
    distances = proved.distances_of_orders(table)
    assert {name: each[0] for name, each in distances.items()} == dict.fromkeys(distances, 0)
    # Three copies at once, drawn apart: p has three texts of 1/3, and each is written with probability 1/27.
    assert distances["four copies of a token"][-1] == Fraction(8, 9) and not any(distances["independent tokens"])
    for text, distance in proved.argmax_texts(table):
        assert distance == 1 - Fraction(int(table[text]), int(table.sum()))


def test_positions_made_to_change_often_are_each_the_best_one_once() -> None:
    path = selection_path(proved.bent(6), 1, 1e-3, 100.0)
    assert sorted(row for piece in path.pieces for row in piece.selected) == list(range(6))


def test_the_pictures_of_proved_results_hold_what_is_proved() -> None:
    surprise, parts = proved.entropy_parts([0.5, 0.3, 0.2], np.array([0.5, 1.0, 2.0]))
    assert surprise == pytest.approx(sum(parts.values())) and surprise[1] == pytest.approx(np.log(2))
    ladder = proved.draw_ladder(np.array([0.0, -2, -2, -5]), np.array([0.0, -1, -4, -4]))
    leads, (second, third) = ladder.axes[0].lines[0].get_ydata(), (line.get_ydata() for line in ladder.axes[1].lines)
    assert np.min(leads) > 0 and np.max(second) > 0.5 and np.max(third) < 1e-12  # but for rounding
    means = proved.draw_reward_means(np.array([8, 4, 1]), {"does not": [2, 0, 1]})
    falls = [line.get_linewidth() for line in means.axes[0].lines if np.diff(line.get_ydata())[0] < 0]
    assert falls == [4]


# --- lesson 10 --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def record() -> Recorded:
    return evidence_record()


def test_the_places_are_those_of_the_paths_and_the_pictures_show_themselves(record: Recorded) -> None:
    places = reward_matters.places_of(record)
    assert {arm.method for arm in places.places} >= {"rws", "temperature", "default"}
    assert all(arm.number is None or arm.number >= 0.5 for arm in places.places if arm.method == "temperature")
    rows = reward_matters.controls_of(record)
    assert {row.arm.method for row in rows} == {"constant", "schedule", "swapped"}
    least = reward_matters.least_of(record, rows, [16, 400], "constant")
    drawn = [reward_matters.draw_frontier(places), reward_matters.draw_controls(rows)]
    for figure in (*drawn, reward_matters.draw_least(least, [16, 400], [16, 400])):
        assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined] - what a notebook calls


def test_a_difference_is_of_pairs_and_unknown_arms_are_named(record: Recorded) -> None:
    arms = reward_matters.places_of(record).arms
    first, second = (arms[arm]["regret"] for arm in (Arm("rws", 8.0), Arm("default")))
    difference = reward_matters.difference(record, Arm("rws", 8.0), Arm("default"))
    assert difference.mean == pytest.approx((first - second).mean()) and difference.low <= difference.mean
    with pytest.raises(ValueError, match=r"the record has no Arm\(method='rws', number=7.0") as refused:
        reward_matters.difference(record, Arm("rws", 7.0), Arm("default"))
    assert "\n" not in str(refused.value)


def test_the_least_difference_is_seen_in_four_of_five_studies(record: Recorded) -> None:
    rows = reward_matters.controls_of(record)
    (row,) = (r for r in rows if (r.measure, r.arm, r.drawn) == ("reward", Arm("constant", 8.0), False))
    least = reward_matters.least_of(record, rows, [row.n, 4 * row.n], "constant")
    assert next(iter(least)) == "english: reward" and least["english: reward"][0] == pytest.approx(
        row.least / row.margin
    )
    sd = row.least / least_difference(1.0, row.n)  # type: ignore[operator]
    for n, margins in zip((row.n, 4 * row.n), least["english: reward"], strict=True):
        assert t_test_power(margins * MEASURES["reward"].margin, sd, n) == pytest.approx(0.8, abs=1e-6)


# --- lesson 11 --------------------------------------------------------------------------------------------------------


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


def test_the_grid_has_all_random_orders_and_the_page_shows_it() -> None:
    kl, steps = order_worth.divergences()
    data = data_of(order_worth.drag())
    assert data["text"] == "aabbaaab" and len(data["kl"]) == len(data["steps"]) == len(data["said"]) == 120
    np.testing.assert_allclose(np.array(data["kl"]).reshape(kl.shape), kl, rtol=1e-4)
    assert not kl[0].any() and not kl[:, :, 0].any() and kl[1:, :, 1:].min() > 1e-9
    for number, memory in enumerate(order_worth.MEMORIES):
        curve = information_curve(order_worth.chain(memory), 8)
        for at, words in enumerate(order_worth.WORDS):
            counts = [count for _, _, count in order_worth.shape_of(words).plan]
            assert kl[at, 0, number, 1] == pytest.approx(curve.schedule(counts).divergence, abs=1e-9)
    assert steps[1, 0, 8, 2].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    for far in (1, 2):  # two words a step have room for it until the last ones
        assert all(np.ptp(np.flatnonzero(row == 0)) >= far + 1 for row in steps[1, far].reshape(-1, 8))


def test_what_a_canvas_of_the_chain_says_is_exact() -> None:
    canvas = np.array([2, 0, 2, 2, 1, 2, 0, 2])
    exact = np.exp(order_worth.chain(0.6).conditionals(np.where(canvas == 2, -1, canvas)))
    np.testing.assert_allclose(order_worth.beliefs(0.6, canvas[None])[0], exact, atol=1e-11)


def test_recorded_laws_are_ranked_and_compared_over_the_same_prompts() -> None:
    found = order_worth.recorded_kl()
    assert next(iter(found)) == "random-order+apart:3" and all(set(each) == {2, 4} for each in found.values())
    change, least = order_worth.difference("default", "random-order", 2)
    assert change.mean == pytest.approx(found["default"][2].mean - found["random-order"][2].mean) and least is not None
    assert order_worth.draw_recorded(found)._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    sums = order_worth.laws(0.5, 3, ["default", "left-to-right"])
    assert [total for total, _ in sums.values()] == pytest.approx([1.0, 1.0])


# --- lesson 12 --------------------------------------------------------------------------------------------------------


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


@pytest.mark.skipif(not is_installed(PACKAGED["antibody"]), reason="antiberty, a published network (make real)")
def test_the_published_network_writes_the_recorded_answers() -> None:
    predictor, reward = load_predictor("antibody", progress=False), load_reward("human")
    for name in ("default", "rws:8"):
        recorded = antibody.runs()[name]
        (trace,) = decode(predictor, antibody.asked()[0], name, antibody.SHAPE, reward=reward)
        assert trace.tokens.tolist() == recorded.tokens.tolist()
