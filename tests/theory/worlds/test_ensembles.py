"""The ensembles against the one-model reference decoder, and the exact model on which RWS earns less reward."""

import itertools
import math
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import pytest

from rws_decode import RWS, Confidence, Shape, decode
from rws_decode.extra.testing import exact_predictor, token_reward
from rws_theory import reward_factor
from rws_theory.worlds import JointTable, ensembles, reward_statistics, rws_less_reward_example
from rws_theory.worlds import reference_decoder as decoder

EPS = Fraction(1, 100_000)


@pytest.mark.parametrize("ensemble", get_args(ensembles.Ensemble))
@pytest.mark.parametrize("reward", get_args(ensembles.Reward))
def test_batched_decodes_are_the_reference_decodes(ensemble: ensembles.Ensemble, reward: ensembles.Reward) -> None:
    rng, models = np.random.default_rng([7, len(ensemble), len(reward)]), 5
    tables = ensembles.random_tables(ensemble, models, 4, 3, rng)
    rewards = ensembles.random_rewards(reward, tables, rng)
    scales, given = rng.uniform(0.1, 20, size=models), rng.standard_normal((models, 4))
    batched = {
        "constant": (decoder.constant_rule(scales), lambda m: decoder.constant_rule(scales[m])),
        "rws": (decoder.rws_rule(8.0), lambda m: decoder.rws_rule(8.0)),
        "flipped": (decoder.flipped_rule(8.0), lambda m: decoder.flipped_rule(8.0)),
        "shuffled": (decoder.replay_rule(given, 8.0), lambda m: decoder.replay_rule(given[m], 8.0)),
    }
    for rule, rule_of in batched.values():
        decodes = ensembles.decode_tables(tables, rewards, rule)
        for m in range(models):
            table = JointTable(tables[m])
            decoded = decoder.decode_masked(table, rule_of(m), reward=decoder.table_reward(table, rewards[m]))
            assert decodes.tokens[m].tolist() == decoded.tokens.tolist()
            assert decodes.commit_step[m].tolist() == decoded.commit_step.tolist()
            assert decodes.factors[m] == pytest.approx(decoded.factors, rel=1e-9)
            assert decodes.rewards[m] == pytest.approx(decoded.rewards, abs=1e-9)
            assert decodes.final[m] == rewards[m][tuple(decoded.tokens)]
            p = np.exp(tables[m])
            assert decodes.initial[m] == pytest.approx((p * rewards[m]).sum())
            position = int(decoded.commit_step.argmin())
            kept, worth = (x.take(decoded.tokens[position], axis=position) for x in (p, rewards[m]))
            assert decodes.after_first[m] == pytest.approx((kept * worth).sum() / kept.sum())


def test_study_is_its_models_decoded_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five decodes of every model by the reference decoder, and the counts of who got more."""
    models, shape = 4, {"length": 3, "words": 3, "reward_scale": 4.0, "eps": 0.25}
    batches: list[ensembles.TableDecodes] = []
    decode_tables = ensembles.decode_tables

    def kept(*arguments: Any) -> ensembles.TableDecodes:
        batches.append(decode_tables(*arguments))
        return batches[-1]

    monkeypatch.setattr(ensembles, "decode_tables", kept)
    study = ensembles.corollary_study(models, 9, **shape)  # type: ignore[arg-type]
    cells, batched = iter(study.cells), iter(batches)
    for row, ensemble in enumerate(get_args(ensembles.Ensemble)):
        for column, kind in enumerate(get_args(ensembles.Reward)):
            rng = np.random.default_rng([9, row, column])
            tables = ensembles.random_tables(ensemble, models, 3, 3, rng)
            rewards = ensembles.random_rewards(kind, tables, rng)
            runs, final, first, factors = [], [], [], []
            for table, reward in zip(map(JointTable, tables), rewards, strict=True):
                scored = decoder.table_reward(table, reward)
                runs.append(decoder.decode_masked(table, decoder.rws_rule(4.0, 0.25), reward=scored))
            shuffled = rng.permuted(np.array([run.rewards for run in runs]), axis=1)
            for table, reward, run, given in zip(map(JointTable, tables), rewards, runs, shuffled, strict=True):
                scored = decoder.table_reward(table, reward)
                rules = (
                    decoder.constant_rule(1.0),
                    decoder.constant_rule(run.factors.mean()),
                    decoder.replay_rule(given, 4.0, 0.25),
                    decoder.flipped_rule(4.0, 0.25),
                )
                others = [decoder.decode_masked(table, rule, reward=scored) for rule in rules]
                factors.append([decode.factors for decode in (run, *others)])
                final.append([np.sign(reward[tuple(run.tokens)] - reward[tuple(other.tokens)]) for other in others])
                counted = (run, 0), (run, 1), (others[0], 1)
                after = []  # E_p[R | the first so many commits of a decode]
                for computed, commits in counted:
                    p = np.exp(table.log_p)
                    for position in np.flatnonzero(computed.commit_step < commits):
                        others_at = np.arange(p.shape[position]) != computed.tokens[position]
                        p[(slice(None),) * int(position) + (others_at,)] = 0.0
                    after.append(float((p * reward).sum() / p.sum()))
                before, ours, theirs = after
                first.append([np.sign(ours - theirs) * (abs(ours - theirs) > 1e-12), np.sign(ours - before)])
            for index in range(5):
                assert next(batched).factors == pytest.approx(np.array(factors)[:, index], rel=1e-9)
            cell = next(cells)
            assert (cell.ensemble, cell.reward) == (ensemble, kind)
            for computed, signs in ((cell.final, final), (cell.first_step, first)):
                counted = [[column.count(sign) for sign in (1, 0, -1)] for column in zip(*signs, strict=True)]
                assert [[c.more, c.equal, c.less] for c in computed] == counted
    assert (study.models, study.seed) == (models, 9)
    assert {name: getattr(study, name) for name in shape} == shape


def test_rws_provably_earns_less_on_the_smallest_model() -> None:
    example = rws_less_reward_example()
    assert example.proved and example.step_proved
    assert example.weights == ((1, 2, 1), (2, 0, 1), (0, 0, 0)) and example.rewards == ((1, 1, 1), (0, 0, 0), (0, 0, 0))
    assert (example.reward_scale, example.eps) == (8, EPS)
    assert (example.candidate, example.confidence, example.rws) == ((0, 0), (0, 1), (1, 0))
    assert (example.confidence_reward, example.rws_reward) == (1, 0)
    assert (example.mean, example.variance) == (Fraction(4, 7), Fraction(12, 49))
    assert example.normalised_squared == Fraction(3, 4)
    assert (example.confidence_expected, example.rws_expected) == (Fraction(1), Fraction(1, 3))
    assert example.odds_at_one == (Fraction(3, 4), Fraction(4, 3))
    # The bounds, beside float64: the factor is above the integer, and positions compare as the bound says.
    factor = float(reward_factor(math.sqrt(0.75), 8.0))
    assert example.factor_above == 6 < factor
    assert 2 * (2 / 3) ** factor / (3 / 4) ** factor < float(example.advantage) < 1


def test_both_decoders_do_on_it_what_is_proved() -> None:
    example = rws_less_reward_example()
    with np.errstate(divide="ignore"):
        table = JointTable(np.log(np.array(example.weights, dtype=float)))
    rewards = np.array(example.rewards, dtype=float)
    mean, deviation = reward_statistics(table, rewards)
    reward = token_reward(lambda x: float(rewards[tuple(x)]), mean, deviation)
    predictor = exact_predictor(table)
    for strategy, rule, tokens in (
        (Confidence(), decoder.constant_rule(1.0), example.confidence),
        (RWS(8.0), decoder.rws_rule(8.0), example.rws),
    ):
        reference = decoder.decode_masked(table, rule, reward=decoder.table_reward(table, rewards))
        (trace,) = decode(predictor, [[]], strategy, Shape(length=2, steps=2, block=2), reward=reward)
        assert tuple(reference.tokens) == tuple(trace.tokens) == tokens
        assert reference.commit_step.tolist() == trace.commit_step.tolist()


def test_no_smaller_total_weight_lets_a_factor_reverse_two_positions() -> None:
    """Up to a total of 6 all products of largest ratios are ordered, so F_a <= F_b at every c by weak majorisation."""

    def stays(total: int) -> bool:
        shares = [m for m in itertools.product(range(total + 1), repeat=3) if sum(m) == total]
        marginals = [m for m in shares if m[0] > m[1] >= m[2]]
        return all(
            math.prod(Fraction(x, a[0]) for x in a[1 : m + 1]) <= math.prod(Fraction(y, b[0]) for y in b[1 : m + 1])
            for a, b in itertools.product(marginals, repeat=2)
            if a[0] > b[0]
            for m in (1, 2)
        )

    assert all(stays(total) for total in range(1, 7))
    assert not stays(7)
