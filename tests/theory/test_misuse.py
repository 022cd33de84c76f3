"""What the theory refuses in a line that names argument and value, beside tests/project/test_hostile.py."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from misuse import refused

import rws_theory as theory
from rws_theory import classify_pairs, crossings, end_reversals, log_odds, reversal_limit, selection_path, worlds
from rws_theory.certified.brent import brent_root
from rws_theory.orders import invariance
from rws_theory.selection import same_at_every_scale
from rws_theory.show import table_html
from rws_theory.testing.worlds import random_chain, random_table
from rws_theory.theorem1 import theorem1
from rws_theory.tilting.reward import tilt, variance_identity
from rws_theory.worlds import decode_tables, table_reward

INF = math.inf
PAIR = [[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]]
ONE, TWO = invariance.table_conditionals([1, 2]), invariance.table_conditionals([[1, 2], [3, 4]])
WORLD = worlds.NGram.fit([[0, 1, 2]], order=3, vocabulary=3)
WIDE = worlds.NGram.fit([range(99)], order=4, vocabulary=99)
TABLE, CHAIN = random_table(0, 2, 2), random_chain(0, 2)
RULE = worlds.constant_rule(1.0)


def fit(**changes: Any) -> worlds.NGram:
    return worlds.NGram.fit(**{"sequences": [[0, 1, 2]], "order": 3, "vocabulary": 3} | changes)


# What is called, and parts of what is said.
CALLS: list[tuple[Callable[[], object], str]] = [
    # Logits and curves.
    (lambda: log_odds([[1.0, 2.0], [-INF, -INF]], 1.0), "logits must ... got a row of -inf only"),
    (lambda: log_odds([1e308, -1e308], 1.0), "logits must ... got a wider span"),
    (lambda: log_odds([1.0, 2.0], "1"), "r must be real numbers, got dtype <U1"),  # type: ignore[arg-type]
    (lambda: log_odds([[1.0, 2.0]] * 3, [1.0, 2.0]), "r must broadcast with the leading shape (3,) ... shape (2,)"),
    (lambda: crossings([1, Fraction(1, 2)], [1, "2"]), "b must hold numbers, int, Fraction or float"),
    (lambda: crossings([1.0, 2.0], [1.0, 3.0], rtol=0.9e-15), "rtol must lie between ... got 9e-16"),
    (lambda: classify_pairs(np.zeros((2, 0)), np.zeros((2, 0))), "a must have shape"),
    (lambda: brent_root(lambda x: x - 1, 2.0, 3.0, 1e-12), "function has the same sign at 2.0 and 3.0: "),
    (lambda: selection_path(PAIR, True, 1.0, 2.0), "k must be an integer from 0 to ... 2, got True"),
    (lambda: selection_path([[0.0, -1e300], [0.0, -2e300]], 1, 1.0, 1e8), "c_max times ... got c_max = 100000000.0"),
    (lambda: same_at_every_scale([1.0, 2.0]), "logits must have shape (positions, d), got shape (2,)"),
    (lambda: theory.stability_radius([1.0, 2.0], 1), "shape (positions, d), got shape (2,)"),
    (lambda: theory.threshold_path([[1.0, 2.0]], 1.0, 1.0, 2.0), "tau must be a probability between 0 and 1, got 1.0"),
    (lambda: theorem1([[0.0, 1.0]], [0.0]), "a must be one vector of logits"),
    (lambda: reversal_limit("normal"), "domain must be one of gumbel, frechet, weibull, got 'normal'"),  # type: ignore[arg-type]
    (lambda: reversal_limit("gumbel", 2.0), "alpha must be None in the Gumbel domain, got 2.0"),
    (lambda: reversal_limit("weibull", 2), "alpha must not be 2"),
    (lambda: end_reversals([[1.0, -INF]], [[1.0, 0.0]]), "must be finite"),
    (lambda: theory.freezing_scale(1), "tokens must be at least 2"),
    (lambda: table_html(("a", "b"), [("1",)]), "shorter"),
    # Rewards and tilts.
    (lambda: theory.reward_factor(0.0, 1e-323), "reward_scale must ... got 1e-323 with eps 1e-05"),
    (lambda: tilt([[0.0], [-INF]], [0.0], 1.0), "log_p must leave at least one state possible, got only -inf"),
    (lambda: tilt([0.0, 0.0], [0.0, 1e200], 1e200), "reward times r must stay within float64, got a span of inf"),
    (lambda: variance_identity([0.0], [0.0], 0.0), "log_p must ... got (1,) and 0.0"),
    (lambda: theory.scaling_raises_reward([1, 2], [1]), "p and reward must have the same length, got 2 and 1"),
    # Orders.
    (lambda: theory.local_arness([0, 1], 2), "k must be below the number of positions, 2, got 2"),
    (lambda: theory.footrule_max(6, 3, per_step=2), "per_step must divide block = 3, got 2"),
    (lambda: invariance.table_law([[1, 2, 3], [1, 2, 3]]), "shape (vocabulary,) * length, got (2, 3)"),
    (lambda: invariance.output_law(ONE, 1, invariance.by_confidence(), per_step=0), "got 1 and 0"),
    (lambda: invariance.output_law(TWO, 2, lambda c, r: [1, 1], per_step=2), "got [1, 1]"),
    (lambda: invariance.exchange_distance({}.get, (-1, -1), 0, 1), "impossible"),
    # Exact models and decoders.
    (lambda: worlds.JointTable(np.array([0.0, -INF])).conditionals([1]), "canvas [1] has probability 0"),
    (lambda: TABLE.conditionals([0, 2]), "canvas holds 2: tokens are -1 to 1, -1 a mask"),
    (lambda: worlds.MarkovChain(np.zeros(2), [[0.0, 0.0], [-INF, -INF]]), "log_transitions must ... got only -inf"),
    (lambda: table_reward(TABLE, np.ones((2, 2))), "std must be positive and finite, got 0.0"),
    (lambda: worlds.decode_masked(CHAIN, RULE), "length is None"),
    (lambda: worlds.decode_masked(TABLE, worlds.constant_rule(0.0)), "r must be positive and finite, got 0.0"),
    (lambda: decode_tables(np.zeros((2, 2)), [[0.0, 1.0], [1.0, 1.0]], RULE), "rewards must ... a constant for model"),
    # N-gram worlds.
    (lambda: fit(minimum=(3, 2)), "minimum is"),
    *((lambda word=word: fit(sequences=[[0, word]]), "rows of ids from 0 to 2") for word in (3, 0.5)),
    (lambda: WORLD.conditionals_batch([[worlds.MASK]], []), "contexts are 0"),
    (lambda: WORLD.tilt(np.zeros(2), 1.0), "reward has shape (2,)"),
    (lambda: WORLD.tilt([0.0, 0.0, 1.0], 601.0), "at most 600"),
    (lambda: worlds.keywords([1, 2], 3), "phrases are"),  # type: ignore[list-item]
    (lambda: worlds.keywords([[i] for i in range(13)], 13), "more than 4096 states"),
    (lambda: worlds.Automaton(np.array([[1]]), np.array([[0.0]])), "following names state"),
    (lambda: worlds.frontier(WIDE, [0.0] * 99, 10**5), "n is 100000: the best text of at most 4096 words"),
    *(
        (lambda betas=betas: worlds.frontiers(WORLD, [0.0, 1.0, 0.0], 2, [[]], betas), "betas is")
        for betas in ([], [-1.0], [1.0, 1.0], [INF])
    ),
    (lambda: worlds.information_curve(WORLD, 20), "draws is 0: 3^20 texts are too many"),
    (lambda: worlds.information_curve(TABLE, 4), "length is 4: the table has 2"),
    (lambda: worlds.information_curve(WORLD, 3).schedule((2, 2)), "they sum to 4, 3 is needed"),
    (lambda: worlds.reward_slopes(WORLD, np.zeros((3, 3)), 3), "reward is of pairs"),
    (lambda: worlds.reward_slopes(WORLD.tilt([0.0, 1.0, 0.0], 1.0), [0.0, 1.0, 0.0], 3), "world is tilted"),
]


@pytest.mark.parametrize(("call", "message"), CALLS, ids=[message for _, message in CALLS])
def test_misuse_is_one_line_that_names_the_argument(call: Callable[[], object], message: str) -> None:
    refused(call, message)
