"""How far distributions are from the tilt: beside sums over all texts, and the command."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper_figures.__main__ import main
from paper_figures.extra.tilt_divergence.divergence import divergences, kl_divergence, small_world


@given(st.lists(st.integers(0, 50), min_size=2, max_size=9).filter(any), st.randoms(use_true_random=False))
def test_the_divergence_is_the_sum_over_texts(counts: list[int], random: object) -> None:
    law = np.random.default_rng(len(counts)).dirichlet(np.ones(len(counts)))
    slow = sum(
        (count / sum(counts)) * math.log(count / sum(counts) / p) for count, p in zip(counts, law, strict=True) if count
    )
    assert kl_divergence(np.array(counts), law) == pytest.approx(slow, abs=1e-12) and slow > -1e-12


def test_a_small_world_is_normalised_and_its_tilt_is_the_definition() -> None:
    world = small_world(3, vocabulary=2, length=3)
    assert len(world.texts) == 8 and world.p.sum() == pytest.approx(1.0)
    weights = [p * math.exp(2.0 * reward) for p, reward in zip(world.p, world.rewards, strict=True)]
    assert world.tilt(2.0) == pytest.approx(np.array(weights) / sum(weights))
    assert small_world(3, 2, 3).rewards.tolist() == world.rewards.tolist() != small_world(4, 2, 3).rewards.tolist()


@pytest.mark.long
def test_particles_come_nearer_with_a_larger_budget_and_a_plain_draw_does_not() -> None:
    rows = list(
        divergences([0], ["random-order", "rws:8", "particles", "guided-particles"], [4, 64], beta=1.5, draws=400)
    )
    kl = {row.method: row.kl for row in rows}
    assert kl["exact draws"] < kl["particles:21"] + 0.05 < kl["particles:1"] < kl["rws:8"]
    assert kl["guided-particles:21"] < kl["exact draws"] + 0.05 and kl["guided-particles:1"] < kl["particles:1"]
    assert kl["particles:1"] == pytest.approx(kl["random-order"], abs=0.3)
    forwards = {row.method: row.forwards for row in rows}
    assert forwards["particles:1"] == forwards["random-order"] == 4.0 and 4 < forwards["particles:21"] <= 64


def test_the_command_prints_a_table_and_its_rows(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["steering", "--methods", "default", "best-of", "--budgets", "7", "--models", "2", "--draws", "8"]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "exact draws" in printed and "best-of:2" in printed
    assert main([*words, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 2 * 3
