"""Hypothesis profiles: dev, ci (derandomised) and explore (many new examples)."""

from __future__ import annotations

import os

import torch
from figure_runs import figure_page as figure_page  # fixtures
from figure_runs import figure_runs as figure_runs
from hypothesis import HealthCheck, settings

_SLOW_OK = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("dev", deadline=None, suppress_health_check=_SLOW_OK)
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True, print_blob=True)
settings.register_profile("explore", settings.get_profile("dev"), max_examples=5000, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))

# Workers share the cores, and thread counts must not change a test's outcome.
torch.set_num_threads(1)
