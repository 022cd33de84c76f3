"""What steering methods write in an exact world, compared with the law that each is to have."""

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import softmax

from rws_decode import SVDD, BestOf, Options, ParticleGibbs, Particles, Shape, SoftBestOf, Steering, steer
from rws_decode.extra.steering import GuidedParticles, SteeringMethod
from rws_decode.extra.testing import TableReward, tabulated_predictor
from rws_theory.worlds import JointTable

V, N = 3, 3
WORLD = JointTable(np.random.default_rng(5).normal(0, 0.7, (V,) * N))
WORDS = np.array([0.0, 0.7, -0.8])
PAIR = 0.9  # for equal neighbours, so that a greedy completion misjudges texts
PREDICTOR = tabulated_predictor(WORLD)
TEXTS = list(itertools.product(range(V), repeat=N))
P = np.exp([WORLD.log_prob(text) for text in TEXTS])
R = np.array([WORDS[list(text)].sum() + PAIR * sum(a == b for a, b in itertools.pairwise(text)) for text in TEXTS])
REWARD = TableReward(R.reshape(V, V, V))
BETA = 1.0


def run_of(method: SteeringMethod, chains: int, seed: int = 0) -> Steering:
    options = Options(sampling_temperature=1.0, seed=tuple(range(seed, seed + chains)))
    return steer(PREDICTOR, [""] * chains, method, Shape(N, N, N), reward=REWARD, options=options)


def counts_of(run: Steering) -> NDArray[np.int64]:
    number = {text: index for index, text in enumerate(TEXTS)}
    return np.bincount([number[tuple(tokens)] for tokens in run.tokens.tolist()], minlength=len(TEXTS))


def distance(counts: NDArray[np.int64], law: NDArray[np.float64]) -> float:
    """Return the chi-square statistic's excess over its mean, in its own standard deviations."""
    expected = counts.sum() * law
    statistic = ((counts - expected) ** 2 / expected).sum()
    freedom = (law > 0).sum() - 1
    return float((statistic - freedom) / math.sqrt(2 * freedom))


def tilt(beta: float = BETA) -> NDArray[np.float64]:
    weights = P * np.exp(beta * R)
    return weights / weights.sum()


def test_the_best_of_one_has_the_law_of_the_model() -> None:
    assert distance(counts_of(run_of(BestOf(1), 600)), P) < 4


def test_the_soft_best_of_n_has_its_law() -> None:
    law = np.zeros(len(TEXTS))
    for pair in itertools.product(range(len(TEXTS)), repeat=2):
        weights = np.exp(BETA * R[list(pair)])
        for text, weight in zip(pair, weights, strict=True):
            law[text] += P[pair[0]] * P[pair[1]] * weight / weights.sum()
    assert distance(counts_of(run_of(SoftBestOf(2, BETA), 600)), law) < 4


@pytest.mark.long
@pytest.mark.parametrize(("n", "ess_threshold"), [(30, 0.0), (15, 1.0)])
def test_many_particles_write_the_tilt(n: int, ess_threshold: float) -> None:
    few, many = (counts_of(run_of(Particles(each, BETA, ess_threshold), 300, seed=1000)) for each in (1, n))
    assert distance(many, tilt()) < 4 < distance(few, tilt())
    assert distance(few, P) < 4


@pytest.mark.long
def test_few_guided_particles_write_the_tilt() -> None:
    guided, plain = (counts_of(run_of(kind(3, BETA, 1.0), 400)) for kind in (GuidedParticles, Particles))
    assert distance(guided, tilt()) < 4 < distance(plain, tilt())


@pytest.mark.long
@pytest.mark.parametrize(("sizes", "temperature"), [((2, 1), 0.6), ((1, 1, 1), 1.0)])
def test_guided_particles_estimate_without_bias_what_is_sampled(sizes: tuple[int, ...], temperature: float) -> None:
    """Also where a step draws several words, each without the others, and the sampler is not the world."""
    law = np.ones(len(TEXTS))
    for number, text in enumerate(TEXTS):
        for begin, end in itertools.pairwise([0, *itertools.accumulate(sizes)]):
            log_p = WORLD.conditionals([*text[:begin], *[-1] * (N - begin)])[begin:end] / temperature
            law[number] *= np.prod(softmax(log_p, axis=-1)[range(end - begin), text[begin:end]])
    options = Options(sampling_temperature=temperature, seed=tuple(range(800)))
    given = {"strategy": "left-to-right", "reward": REWARD, "options": options}
    run = steer(PREDICTOR, [""] * 800, GuidedParticles(2, BETA), Shape(N, len(sizes), N), **given)
    estimates = np.exp(run.log_partition)
    assert abs(estimates.mean() - law @ np.exp(BETA * R)) < 4 * estimates.std() / math.sqrt(len(estimates))


@pytest.mark.parametrize("method", [Particles(3, BETA, 0.5), SoftBestOf(2, BETA)], ids=str)
def test_the_estimate_of_the_partition_function_has_no_bias(method: SteeringMethod) -> None:
    estimates = np.exp(run_of(method, 800).log_partition)
    error = estimates.std() / math.sqrt(len(estimates))
    assert abs(estimates.mean() - (P * np.exp(BETA * R)).sum()) < 4 * error


@pytest.mark.long
def test_sweeps_of_particle_gibbs_lead_to_the_tilt() -> None:
    """Three particles alone are far from it: the sweeps do the work."""
    alone, sweeps = (counts_of(run_of(ParticleGibbs(3, k, BETA, 1.0), 400)) for k in (1, 8))
    assert distance(sweeps, tilt()) < 4 < distance(alone, tilt())


@pytest.mark.parametrize("method", [BestOf(4), SoftBestOf(4), Particles(4), ParticleGibbs(4, 2), SVDD(4)], ids=str)
def test_an_answer_follows_from_its_seed_and_not_from_its_batch(method: SteeringMethod) -> None:
    together = run_of(method, 6, seed=3)
    apart = [run_of(method, 1, seed=3 + row)[0] for row in range(6)]
    assert [trace.tokens.tolist() for trace in together] == [trace.tokens.tolist() for trace in apart]
    assert [trace.forwards for trace in together] == [trace.forwards for trace in apart]
    assert [trace.reward_calls for trace in together] == [trace.reward_calls for trace in apart]
