"""Hypothesis profiles, dev and ci (derandomised), and how often properties are tried (`make explore`)."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter

import pytest
import torch
from chromium import browser as browser  # fixtures
from figure_runs import figure_page as figure_page
from figure_runs import figure_runs as figure_runs
from figure_runs import sketched as sketched
from hypothesis import HealthCheck, settings

from rws_decode import WorldPredictor, load_predictor

_SLOW_OK = [HealthCheck.too_slow, HealthCheck.data_too_large]
# Fewer than Hypothesis' own 100 at each run; `make explore` makes 20 runs.
settings.register_profile("dev", deadline=None, suppress_health_check=_SLOW_OK, max_examples=15)
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))

# Helpers are imported where a test asks for them. They are not searched for doctests.
collect_ignore = ["support"]

# Workers share the cores, and thread counts must not change a test's outcome.
torch.set_num_threads(1)

# nbformat would make a parser of addresses in other alphabets, seconds in each process, and no notebook has any.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

# What is imported to collect the tests is kept: to search it for garbage takes a third of the time.
gc.disable()


def pytest_collection_finish() -> None:
    """Search for garbage from now on, and only in what the tests make."""
    gc.freeze()
    gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --seeds to pytest's options."""
    parser.addoption("--seeds", type=int, default=1, help="try each test so often, each time from a seed of its own")


def _of_all_figures(item: pytest.Item) -> bool:
    names = [*getattr(item, "fixturenames", ()), item.nodeid]  # some ask by a parameter
    return any("figure_runs" in text or "figure_page" in text for text in names)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark as long what needs the runs and the page of all figures, which take minutes."""
    if _of_all_figures(item):
        item.add_marker(pytest.mark.long)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the tests that share the figures' runs, and then the notebooks, first: each takes long and is made once."""

    def turn(item: pytest.Item) -> int:
        if _of_all_figures(item):
            return 0
        return 1 if "test_notebooks.py" in item.nodeid else 2

    items.sort(key=turn)
    items *= config.getoption("--seeds")  # all once, then all again: what is interrupted has tried each as often


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was left out, and how to have it: the reasons of skipped tests name what they need."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.stats.get("skipped", [])
    )
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"left out: {count} tests that need {reason}")


@pytest.fixture(scope="session")
def english() -> WorldPredictor:
    """Return the world of real English, loaded once."""
    predictor = load_predictor("english")
    assert isinstance(predictor, WorldPredictor)
    return predictor
