"""Inputs for tests of your own functions: Hypothesis strategies of logits, rewards, orders, tilts and exact worlds.

They are what this package tests itself with: ordinary inputs, and those on which functions of logits break, such as
ties, neighbouring floats, forbidden tokens, confidences that saturate and curves that cross. Needs Hypothesis:
`pip install "rws-toolkit[hypothesis]"`.

>>> import numpy as np
>>> from hypothesis import find, given, settings
>>> from rws_theory import max_probability
>>> def my_confidence(logits, scale):
...     powers = np.exp(scale * logits)
...     return powers.max() / powers.sum()
>>> @settings(derandomize=True, deadline=None)
... @given(logit_vectors(bound=5.0), scales(0.1, 10.0))
... def test_my_confidence(logits, scale):
...     assert abs(my_confidence(logits, scale) - max_probability(logits, scale)) < 1e-12
>>> test_my_confidence()

So far it holds. Where it fails, Hypothesis gives the simplest input it can find, here one whose powers overflow:

>>> with np.errstate(all="ignore"):
...     find(logit_vectors(1, 1, bound=1000.0), lambda logits: not my_confidence(logits, 1.0) == 1.0)
array([710.])
"""

from __future__ import annotations

from rws_theory.extras import not_installed

try:
    from rws_theory.testing.corpora import additive_rewards, corpora, ngram_worlds
    from rws_theory.testing.logits import logit_arrays, logit_vectors, wide_logits
    from rws_theory.testing.numbers import (
        dyadic,
        epsilons,
        log_uniform,
        reward_scales,
        rewards,
        scales,
        wide_numbers,
        wide_scales,
    )
    from rws_theory.testing.orders import commit_steps
    from rws_theory.testing.pairs import from_gaps, integer_gap_pairs, logit_pairs, saturated_pairs, wide_pairs
    from rws_theory.testing.selections import near_tied_rows, near_ties, selection_cases
    from rws_theory.testing.tables import (
        canvases,
        models_with_canvas,
        random_chain,
        random_table,
        wide_chains,
        wide_tables,
    )
    from rws_theory.testing.tilts import tilted_inputs, wide_tilts
except ModuleNotFoundError as error:
    if error.name != "hypothesis":
        raise
    raise ModuleNotFoundError(f"{__name__}: {not_installed('hypothesis')}", name="hypothesis") from None

__all__ = [
    "additive_rewards",
    "canvases",
    "commit_steps",
    "corpora",
    "dyadic",
    "epsilons",
    "from_gaps",
    "integer_gap_pairs",
    "log_uniform",
    "logit_arrays",
    "logit_pairs",
    "logit_vectors",
    "models_with_canvas",
    "near_tied_rows",
    "near_ties",
    "ngram_worlds",
    "random_chain",
    "random_table",
    "reward_scales",
    "rewards",
    "saturated_pairs",
    "scales",
    "selection_cases",
    "tilted_inputs",
    "wide_chains",
    "wide_logits",
    "wide_numbers",
    "wide_pairs",
    "wide_scales",
    "wide_tables",
    "wide_tilts",
]
