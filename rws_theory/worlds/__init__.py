"""Masked models whose conditionals are exact, and the decoders and studies that run on them.

:mod:`~rws_theory.worlds.joint_table` holds any distribution over short sequences, :mod:`~rws_theory.worlds.markov`
Markov chains of any length. :mod:`~rws_theory.worlds.reference_decoder` is the paper's algorithm in a few lines.
:mod:`~rws_theory.worlds.ensembles` compares RWS with its controls on random models, and
:mod:`~rws_theory.worlds.less_reward` is one model on which RWS provably earns less reward.
"""

from __future__ import annotations

import lazy_loader

# The names are in __init__.pyi, once; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
