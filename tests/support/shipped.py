"""Shipped models that many tests read, loaded once; conftest.py makes them known."""

from __future__ import annotations

import pytest

from rws_decode.predictors import WorldPredictor, load_predictor


@pytest.fixture(scope="session")
def english() -> WorldPredictor:
    """Return the world of real English."""
    predictor = load_predictor("english")
    assert isinstance(predictor, WorldPredictor)
    return predictor
