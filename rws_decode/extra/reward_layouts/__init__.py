"""Reward models of the paper whose weights transformers does not read: InternLM2's, and QRM's quantiles."""
