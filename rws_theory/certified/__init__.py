"""The machinery of the proofs; private to `rws_theory`, whose public modules use it.

Exact exponential sums with proved signs (:mod:`~rws_theory.certified.exponential_sum`,
:mod:`~rws_theory.certified.condensed`), their Taylor models and the isolation of their zeros with multiplicities
(:mod:`~rws_theory.certified.taylor`, :mod:`~rws_theory.certified.isolation`), and the contest of positions for seats
(:mod:`~rws_theory.certified.selection_sums`, `selection_pairs`, `selection_cells`).
"""
