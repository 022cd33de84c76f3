"""What pytest does differently in a process that holds a mutant: quick tests first, no test for ever, no shrinking.

Loaded by `[tool.mutmut]` in pyproject.toml alone. A mutant is killed by the first test that fails, so the order is that
of the durations which mutmut measured on the unchanged code, and Hypothesis stops at the first example that fails.
"""

from __future__ import annotations

import gc
import json
import os
import signal
from collections.abc import Generator
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import HealthCheck, Phase, settings

settings.register_profile(
    "mutants",
    deadline=None,
    database=None,
    derandomize=True,
    max_examples=50,
    phases=(Phase.explicit, Phase.generate),
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
os.environ["HYPOTHESIS_PROFILE"] = "mutants"

# mutmut writes this file where it runs the tests.
STATS = Path("mutmut-stats.json")


def durations() -> dict[str, float]:
    """Return the seconds of every test on the unchanged code, empty while they are still being measured."""
    return json.loads(STATS.read_text())["duration_by_test"] if STATS.exists() else {}


# A test that takes longer is left out where there are enough others; it would run for every mutant that survives them.
LONG, ENOUGH = 2.0, 20


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    taken = durations()
    # The whole ledger takes a minute; what it says is also tested claim by claim.
    items[:] = [item for item in items if "ledger" not in getattr(item, "fixturenames", ())]
    if len(items) > ENOUGH:
        items[:] = [item for item in items if taken.get(item.nodeid, 0.0) <= LONG]
    items.sort(key=lambda item: taken.get(item.nodeid, 0.0))


def pytest_collection_finish(session: pytest.Session) -> None:
    if session.config.option.collectonly:
        gc.freeze()  # what the processes of all mutants inherit is never searched for garbage


class Endless(BaseException):
    """A mutated test ran many times as long as the unchanged one. No `except Exception` of the code stops it."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    taken = durations().get(item.nodeid)
    if not os.environ.get("MUTANT_UNDER_TEST") or taken is None:
        return (yield)

    def stop(number: int, frame: FrameType | None) -> None:
        raise Endless(item.nodeid)

    before = signal.signal(signal.SIGVTALRM, stop)
    # Of the processor's time, which other work on the machine does not lengthen.
    signal.setitimer(signal.ITIMER_VIRTUAL, 5.0 + 10.0 * taken)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)
