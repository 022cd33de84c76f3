"""The machinery of the proofs; private to `rws_theory`, whose public modules use it."""
