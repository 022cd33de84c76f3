"""Every strategy on exactly solvable models, against a decoder that only ever counts whole sequences."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from grouped import grouped
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rws_decode.canvas.schedule import block_plan
from rws_decode.decode import decode
from rws_decode.settings import Savings
from rws_decode.strategies.factors import RWS, Confidence, Temperature
from rws_decode.strategies.given import RewardReplay, Schedule
from rws_decode.strategies.orders import Entropy, LeftToRight, Margin, RandomOrder
from rws_decode.strategies.protocol import Strategy
from rws_decode.strategies.reward_controls import FlippedReward, RandomReward, RWSEvery
from rws_decode.testing import exact_predictor, token_reward
from rws_theory.worlds.joint_table import MASK, JointTable, MaskedModel
from rws_theory.worlds.markov import MarkovChain
from rws_theory.worlds.reference_decoder import constant_rule, decode_masked, flipped_rule, replay_rule, rws_rule

S_R, EPS, MEAN, STD = 8.0, 1e-5, 3.5, 2.0

# Closer than this, rounding may decide between two values; the reference then says so instead of choosing.
NEAR = 1e-9

Row = dict[int, Fraction]  # probability of each possible token at a position


@dataclass(frozen=True)
class Enumeration:
    """A masked model given by the integer weight of each possible sequence; equal conditionals have equal bits."""

    weights: dict[tuple[int, ...], int]
    vocabulary: int
    length: int

    def row(self, canvas: Sequence[int], position: int) -> Row:
        """Return p(token at a position | revealed tokens) by summing over all sequences that hold those tokens."""
        mass = dict.fromkeys(range(self.vocabulary), 0)
        for x, weight in self.weights.items():
            if all(shown in (MASK, token) for shown, token in zip(canvas, x, strict=True)):
                mass[x[position]] += weight
        total = sum(mass.values())
        if total == 0:
            raise ValueError(f"canvas {list(canvas)} has probability 0")
        return {token: Fraction(part, total) for token, part in mass.items() if part}

    def conditionals(self, canvas: Sequence[int]) -> Any:
        computed = np.full((self.length, self.vocabulary), -np.inf)
        for position in range(self.length):
            for token, p in self.row([int(shown) for shown in canvas], position).items():
                computed[position, token] = math.log(p.numerator) - math.log(p.denominator)
        return computed

    def log_prob(self, tokens: Sequence[int]) -> float:
        return math.log(self.weights[tuple(tokens)]) - math.log(sum(self.weights.values()))


@dataclass(frozen=True)
class Case:
    """An enumeration, the same as a model of the package, a prompt, a plan, and the reward of each sequence."""

    truth: Enumeration
    model: MaskedModel
    prompt: list[int]
    steps: int
    block: int
    rewards: dict[tuple[int, ...], int]

    @property
    def shape(self) -> dict[str, int]:
        return {"length": self.truth.length - len(self.prompt), "steps": self.steps, "block": self.block}

    def normalised(self, tokens: Sequence[int]) -> float:
        return (self.rewards[tuple(tokens)] - MEAN) / STD


def table_of(weights: dict[tuple[int, ...], int], vocabulary: int, length: int) -> JointTable:
    log_p = np.full((vocabulary,) * length, -np.inf)
    for x, weight in weights.items():
        log_p[x] = math.log(weight)
    return JointTable(log_p)


def chain_of(rng: np.random.Generator, vocabulary: int, length: int, least: int) -> tuple[dict[Any, int], MarkovChain]:
    """Draw a chain, and its sequences' weights brought to one denominator."""
    initial, steps = rng.integers(least, 12, vocabulary), rng.integers(least, 12, (vocabulary, vocabulary))
    initial[0], steps[:, 0] = max(initial[0], 1), np.maximum(steps[:, 0], 1)
    common = math.lcm(*(int(total) for total in steps.sum(axis=1)))
    whole = [[int(weight) * common // int(row.sum()) for weight in row] for row in steps]
    weights = {
        x: int(initial[x[0]]) * math.prod(whole[u][v] for u, v in itertools.pairwise(x))
        for x in itertools.product(range(vocabulary), repeat=length)
    }
    with np.errstate(divide="ignore"):
        return {x: weight for x, weight in weights.items() if weight}, MarkovChain(np.log(initial), np.log(steps))


@st.composite
def cases(draw: st.DrawFn, *, full: bool = False, ties: bool = False, whole: bool = False) -> Case:
    """A random case; full: all sequences possible; ties: equal weights abound; whole: no prompt and one block."""
    vocabulary, length = draw(st.sampled_from([3, 4, 2])), draw(st.sampled_from([4, 5, 3, 2]))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    sequences = list(itertools.product(range(vocabulary), repeat=length))
    least = 1 if full else draw(st.sampled_from([0, 1]))
    model: MaskedModel
    if not ties and draw(st.booleans()):
        weights, model = chain_of(rng, vocabulary, length, least)
    else:
        most = draw(st.sampled_from([1, 2, 4])) if ties else 40
        drawn = {x: int(rng.integers(least, most + 1)) for x in sequences}
        if ties and draw(st.booleans()):  # the same whatever the order of the positions: equal conditionals
            drawn = {x: drawn[tuple(sorted(x))] for x in sequences}
        drawn[sequences[0]] = max(drawn[sequences[0]], 1)
        weights = {x: weight for x, weight in drawn.items() if weight}
        model = table_of(weights, vocabulary, length)
    truth = Enumeration(weights, vocabulary, length)
    possible = draw(st.sampled_from(sorted(weights)))
    prompt = list(possible[: 0 if whole else draw(st.integers(0, min(2, length - 1)))])
    answer = length - len(prompt)
    block = answer if whole else draw(st.sampled_from([size for size in range(1, answer + 1) if answer % size == 0]))
    blocks = answer // block
    steps = draw(st.sampled_from([n for n in range(blocks, answer + 1, blocks) if not whole or answer % n == 0]))
    rewards = {x: int(rng.integers(0, 8)) for x in sequences}
    return Case(truth, truth if ties else model, prompt, steps, block, rewards)


# What decides the order: the factor at (step, normalised reward), or the value of (position, its row).
Factor = Callable[[int, float], float]
Order = Callable[[int, Row], float]


@dataclass
class Reference:
    """What the reference committed, by which values, and its factors and rewards.

    `clear`: no step was decided by less than rounding. `dead`: the step at which nothing possible was left, or None.
    """

    tokens: list[int]
    commit_step: list[int]
    values: list[float]
    factors: list[float]
    rewards: list[float]
    clear: bool = True
    dead: int | None = None


def log_odds(row: Row, token: int, factor: float) -> float:
    others = [float(p / row[token]) ** factor for other, p in row.items() if other != token]
    return -math.log(math.fsum(others)) if others else math.inf


def enumerate_decode(
    case: Case,
    rule: Factor | Order,
    *,
    order: bool = False,
    cfg: int = 0,
    end_of_text: str = "none",
    end: int = -1,
    sampling_temperature: float = 0.0,
    seed: int = 0,
) -> Reference:
    """Decode from the definitions, all probabilities being counts of sequences."""
    truth, start = case.truth, len(case.prompt)
    canvas = [*case.prompt, *[MASK] * (truth.length - start)]
    computed = Reference([], [-1] * (truth.length - start), [math.nan] * (truth.length - start), [], [])
    noise = torch.Generator().manual_seed(seed)
    for step, planned in enumerate(block_plan(**case.shape)):
        masked = [position for position in range(start, truth.length) if canvas[position] == MASK]
        try:
            rows = {position: truth.row(canvas, position) for position in masked}
        except ValueError:
            computed.dead = step
            return computed
        if cfg:
            blind = [MASK] * start + canvas[start:]
            for position in masked:
                free = truth.row(blind, position)
                rows[position] = {token: p ** (cfg + 1) / free[token] ** cfg for token, p in rows[position].items()}
        known = rows  # what the model's logits are made of
        if end_of_text == "suppress":
            rows = {position: {token: p for token, p in row.items() if token != end} for position, row in rows.items()}
        if not all(rows.values()):
            computed.dead = step
            return computed
        rows = {position: {token: p / sum(row.values()) for token, p in row.items()} for position, row in rows.items()}

        scores: dict[int, dict[int, Any]] = dict(rows)
        if sampling_temperature:
            drawn = torch.rand(len(masked), truth.vocabulary + 1, generator=noise, dtype=torch.float64).tolist()
            for position, uniform in zip(masked, drawn, strict=True):
                scores[position] = {
                    token: float(p) / (-math.log(uniform[token])) ** sampling_temperature
                    for token, p in rows[position].items()
                }
        chosen = {position: max(sorted(score), key=score.__getitem__) for position, score in scores.items()}
        # Equal probabilities have equal logits in an Enumeration; elsewhere, and with noise, rounding might decide.
        counted = case.model is truth and not (cfg or sampling_temperature)
        for position, score in scores.items():
            rivals = [s for token, s in score.items() if token != chosen[position]]
            if rivals and max(rivals) >= score[chosen[position]] * (1 - NEAR) and not counted:
                computed.clear = False

        completed = [chosen.get(position, token) for position, token in enumerate(canvas)]
        computed.rewards.append(case.normalised(completed))
        here = [position for position in masked if planned.start <= position - start < planned.stop]
        if order:
            values = {position: rule(position - start, rows[position]) for position in here}  # type: ignore[arg-type]
        else:
            computed.factors.append(rule(step, computed.rewards[-1]))  # type: ignore[arg-type]
            values = {position: log_odds(rows[position], chosen[position], computed.factors[-1]) for position in here}
        late = {position for position in here if end_of_text == "defer" and chosen[position] == end}
        ranked = sorted(here, key=lambda position: (position in late, -values[position], position))
        taken, left = ranked[: planned.commits], ranked[planned.commits :]
        for inside, outside in itertools.product(taken, left):
            if (inside in late) == (outside in late) and not values[inside] > values[outside] + NEAR:
                # Rows of one possible token rank as certain, exactly; equal rows rank alike where they have equal bits.
                certain = len(rows[inside]) == len(rows[outside]) == 1
                alike = (known[inside], chosen[inside]) == (known[outside], chosen[outside])
                computed.clear &= certain or (alike and case.model is truth and not cfg)
        for position in taken:
            canvas[position], computed.commit_step[position - start] = chosen[position], step
            computed.values[position - start] = values[position]
    computed.tokens = canvas[start:]
    return computed


def rws_factor(reward: float) -> float:
    return S_R * math.sqrt(1 / (1 + math.exp(-reward)) + EPS)


def largest_two(row: Row) -> list[Fraction]:
    return sorted([*row.values(), Fraction(0)], reverse=True)[:2]


def probability_margin(position: int, row: Row) -> float:
    first, second = largest_two(row)
    return float(first - second)


def logit_margin(position: int, row: Row) -> float:
    first, second = largest_two(row)
    return math.log(first / second) if second else math.inf


def negative_entropy(position: int, row: Row) -> float:
    return math.fsum(float(p) * math.log(p) for p in row.values())


def controls(run: Reference) -> dict[str, tuple[Strategy, Factor]]:
    permuted = np.random.default_rng(5).permutation(run.rewards).tolist()
    return {
        "schedule": (Schedule(tuple(run.factors)), lambda step, reward: run.factors[step]),
        "constant": (Temperature(float(np.mean(run.factors))), lambda step, reward: float(np.mean(run.factors))),
        "shuffled": (RewardReplay(S_R, tuple(permuted)), lambda step, reward: rws_factor(permuted[step])),
    }


FACTORS: dict[str, tuple[Strategy, Factor]] = {
    "default": (Confidence(), lambda step, reward: 1.0),
    "temperature-low": (Temperature(0.3), lambda step, reward: 0.3),
    "temperature-high": (Temperature(5.0), lambda step, reward: 5.0),
    "rws": (RWS(S_R), lambda step, reward: rws_factor(reward)),
    "rws-every": (RWSEvery(S_R, every=2), lambda step, reward: 1.0 if step % 2 else rws_factor(reward)),
    "rws-flipped": (FlippedReward(S_R), lambda step, reward: rws_factor(-reward)),
    "rws-random": (
        RandomReward(S_R, 11),
        lambda step, reward: rws_factor(float(np.random.default_rng([11, step]).standard_normal())),
    ),
}
ORDERS: dict[str, tuple[Strategy, Order]] = {
    "margin": (Margin(), probability_margin),
    "logit-margin": (Margin("logit"), logit_margin),
    "entropy": (Entropy(), negative_entropy),
    "left-to-right": (LeftToRight(), lambda position, row: -float(position)),
}
CONTROLS = ["schedule", "constant", "shuffled"]
NAMES = [*FACTORS, *CONTROLS, *ORDERS, "random-order"]
POLICIES: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampled": {"sampling_temperature": 0.8, "seed": 3},
    "suppress": {"end_of_text": "suppress"},
    "defer": {"end_of_text": "defer"},
    "defer-sampled": {"end_of_text": "defer", "sampling_temperature": 2.0, "seed": 1},
    "cfg": {"cfg": 2},
    "cfg-sampled-defer": {"cfg": 1, "end_of_text": "defer", "sampling_temperature": 0.5, "seed": 2},
}


SAVINGS = [Savings(), Savings.everything(), Savings.nothing()]


def check(case: Case, name: str, options: dict[str, Any], savings: Savings) -> None:
    end = case.truth.vocabulary - 1
    slow = options | {"end": end}
    if name in CONTROLS:
        run = enumerate_decode(case, FACTORS["rws"][1], **slow)
        assume(run.dead is None and run.clear)
        strategy, rule = controls(run)[name]
        reference = enumerate_decode(case, rule, **slow)
    elif name in FACTORS:
        strategy, rule = FACTORS[name]
        reference = enumerate_decode(case, rule, **slow)
    else:
        drawn = np.random.default_rng(7).random(case.shape["length"])
        strategy, value_of = ORDERS.get(name) or (RandomOrder(7), lambda position, row: float(drawn[position]))
        reference = enumerate_decode(case, value_of, order=True, **slow)
    assume(reference.clear)
    fast = options | ({"end_ids": [end]} if "end_of_text" in options else {}) | {"savings": savings}
    reward = token_reward(lambda x: case.rewards[tuple(x)], MEAN, STD)

    def run_package() -> Any:
        return decode(
            exact_predictor(case.model), [case.prompt], strategy, reward=reward, **grouped(**case.shape, **fast)
        )[0]

    if reference.dead is not None:
        with pytest.raises(ValueError, match=r"has probability 0|no finite largest logit"):
            run_package()
        return
    trace = run_package()
    assert trace.tokens.tolist() == reference.tokens
    assert trace.commit_step.tolist() == reference.commit_step
    # A trace holds NaN where the set was the same at any factor.
    value = trace.value[trace.commit_step, np.arange(trace.commit_step.size)]
    known = ~np.isnan(value)
    assert value[known] == pytest.approx(np.array(reference.values)[known], rel=1e-9, abs=1e-9)
    if reference.factors:
        known = ~np.isnan(trace.factor)
        assert trace.factor[known] == pytest.approx(np.array(reference.factors)[known], rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data(), policy=st.sampled_from(sorted(POLICIES)), savings=st.sampled_from(SAVINGS))
@settings(max_examples=3)
def test_strategies_commit_what_counting_says(name: str, data: st.DataObject, policy: str, savings: Savings) -> None:
    options = POLICIES[policy]
    check(data.draw(cases(full="cfg" in options)), name, options, savings)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data(), policy=st.sampled_from(["greedy", "suppress", "defer"]), savings=st.sampled_from(SAVINGS))
@settings(max_examples=3)
def test_ties_go_to_the_leftmost(name: str, data: st.DataObject, policy: str, savings: Savings) -> None:
    check(data.draw(cases(ties=True)), name, POLICIES[policy], savings)


RULES: dict[str, Callable[[Reference], Any]] = {
    "default": lambda run: constant_rule(1.0),
    "temperature-high": lambda run: constant_rule(5.0),
    "rws": lambda run: rws_rule(S_R),
    "rws-flipped": lambda run: flipped_rule(S_R),
    "shuffled": lambda run: replay_rule(np.random.default_rng(5).permutation(run.rewards), S_R),
}


@pytest.mark.parametrize("name", RULES)
@given(case=cases(whole=True))
@settings(max_examples=8)
def test_the_reference_decoder_of_the_theory_agrees(name: str, case: Case) -> None:
    run = enumerate_decode(case, FACTORS["rws"][1])
    assume(run.dead is None and run.clear)
    reference = enumerate_decode(case, controls(run)[name][1] if name in CONTROLS else FACTORS[name][1])
    assume(reference.clear and reference.dead is None)
    length, steps, _ = case.shape.values()
    decoded = decode_masked(
        case.model, RULES[name](run), length=length, per_step=length // steps, reward=case.normalised
    )
    assert decoded.tokens.tolist() == reference.tokens and decoded.commit_step.tolist() == reference.commit_step
    assert decoded.factors == pytest.approx(reference.factors, rel=1e-12)
    assert decoded.rewards == pytest.approx(reference.rewards, abs=1e-12)
