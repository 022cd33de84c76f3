"""Mathematics of logit scaling in masked diffusion decoding; all proofs are in docs/theory.md.

A position's confidence is the largest softmax probability of its logits. Scaling all logits by a factor r > 0 keeps
every position's best token and changes which positions are most confident.

- :mod:`~rws_theory.confidence` computes confidences at any scale. :mod:`~rws_theory.crossings` finds where two of them
  cross, :mod:`~rws_theory.pairs` counts the crossings of many pairs. :mod:`~rws_theory.selection` follows the top k
  positions over a range of scales, and :mod:`~rws_theory.threshold` those that reach a threshold.
- :mod:`~rws_theory.majorisation` says whether a position is ahead at every scale, :mod:`~rws_theory.stability` how far
  the scale may move before the chosen set changes, :mod:`~rws_theory.reversal_law` how often orders reverse.
- :mod:`~rws_theory.gain` is the factor that a reward produces. :mod:`~rws_theory.tilting` compares tilting by a reward
  with scaling.
- :mod:`~rws_theory.theorem1` states what is true of the paper's Theorem 1. :mod:`~rws_theory.claims` checks all its
  statements, :mod:`~rws_theory.printed` has its printed numbers.
- :mod:`~rws_theory.orders` measures generation orders, and :mod:`~rws_theory.worlds` has exact masked models.
"""

from __future__ import annotations

import lazy_loader

__version__ = "0.2.0"

# The names are in __init__.pyi, once; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
