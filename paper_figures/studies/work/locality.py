"""Do the work of the locality study: decode a prompt in a world whose words stand at positions of a drawn order."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from paper_figures.runner.units import Unit
from paper_figures.runner.worker import Rows
from paper_figures.studies.work.decoding import decode_units, predictor_for, prompt_of, reward_for
from rws_decode.predictors import WorldPredictor
from rws_decode.predictors.scattered import ScatteredPredictor
from rws_theory.worlds import scattered_order
from rws_theory.worlds.part_memory import PartMemory


def work(units: Sequence[Unit]) -> list[Rows]:
    """Decode each unit in its own order and return one row for each; `studies.locality` describes the columns.

    The label `locality` and the unit's seed determine the order. Words that several units reveal are the same words in
    any order, so what follows from them is computed once for all.
    """
    memory = PartMemory()
    return [[_row(unit, memory)] for unit in units]


def _row(unit: Unit, memory: PartMemory) -> dict[str, Any]:
    started = time.perf_counter()
    base, reward = predictor_for(unit), reward_for(unit, unit.reward or "")
    if not isinstance(base, WorldPredictor):
        raise ValueError(f"predictor is {unit.predictor}: a world is needed, such as english")
    order = scattered_order(unit.length, unit.labels["locality"], np.random.default_rng(unit.seed))
    (trace,) = decode_units([unit], predictor=ScatteredPredictor(base, order, memory))
    words = trace.tokens[order]
    score = reward.score([prompt_of(unit)], [trace.text or ""])[0]
    return {
        "text": trace.text,
        "words": words.tolist(),
        "word_steps": trace.commit_step[order].tolist(),
        "god_tokens": trace.god_tokens,
        "god_steps": trace.god_steps,
        "log_probability": base.world.log_prob(words, base.encode_prompt(unit.prompt)),
        "score": score,
        "normalised_score": (score - reward.mean) / reward.std,
        "mean_factor": float(trace.factor.mean()),
        "rewards": trace.reward_normalised.tolist() if unit.strategy["name"] == "rws" else None,
        "seconds": time.perf_counter() - started,
    }
