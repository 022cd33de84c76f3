"""A small evidence record with seeded numbers, in which RWS has more reward than each control but another prompt's."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from paper_figures.recorded import Recorded
from paper_figures.recorded.completed import completed
from paper_figures.studies.evidence import ANSWER_COLUMNS, EVIDENCE_WORLDS
from paper_figures.studies.evidence_arms import WORLDS, Arm

PROMPTS, VALIDATION = 24, 3
SCALES = (2.0, 8.0)
_MADE = ("constant", "schedule", "swapped")
_OTHERS = (
    *(Arm("default"), Arm("temperature", 0.5), Arm("temperature", 2.0), Arm("left-to-right"), Arm("random-order")),
    *(Arm("default", None, 0.0, True), Arm("random-order", None, 0.0, True), Arm("lookahead", 4.0)),
    *(Arm("default", None, 1.0), Arm("best-of", 2.0, 1.0), Arm("best-of", 4.0, 1.0), Arm("particles", 4.0, 1.0)),
)


@cache
def evidence_record(worlds: tuple[str, ...] = EVIDENCE_WORLDS, seed: int = 0) -> Recorded:
    """Return a record of these worlds: the texts of RWS and of another prompt's rewards are the same."""
    rng = np.random.default_rng(seed)
    rows = [row for world in worlds for row in _rows(world, rng)]
    answers = pd.DataFrame(rows).reindex(columns=list(ANSWER_COLUMNS))
    curves = [
        {"world": world, "prompt": f"p{index:02}", "points": [[-20.0, 0.0], [-60.0, 20.0]]}
        | {"lines": [[0.0, -20.0], [2.0, -20.0], [4.0, 20.0]]}
        for world in worlds
        if WORLDS[world].exact
        for index in range(PROMPTS)
    ]
    frontiers = pd.DataFrame(curves, columns=["world", "prompt", "points", "lines"])
    about: dict[str, Any] = {"command": "python -m paper_figures experiment evidence --out out/runs"}
    about |= {"date": "2026-01-01", "prompts": PROMPTS, "validation": VALIDATION}
    return Recorded(completed(answers, frontiers), frontiers, about)


def _rows(world: str, rng: np.random.Generator) -> list[dict[str, Any]]:
    arms = [*_OTHERS, *(Arm(method, scale) for method in ("rws", *_MADE) for scale in SCALES)]
    arms += [Arm(method, 8.0, 1.0) for method in ("rws", *_MADE)]
    arms += [Arm("tilt-decode", 1.0)] if WORLDS[world].exact else []
    level = {prompt: float(rng.normal()) for prompt in range(PROMPTS)}
    rows: list[dict[str, Any]] = []
    guided: dict[Any, dict[str, Any]] = {}  # the rows of RWS, by number, temperature and prompt
    for arm in arms:
        for prompt in range(PROMPTS):
            if arm.method == "swapped":
                rows.append(guided[arm.number, arm.sampling_temperature, prompt] | {"method": "swapped"})
                continue
            rows.append(answer_of(world, arm, prompt, level[prompt], rng))
            if arm.method == "rws":
                guided[arm.number, arm.sampling_temperature, prompt] = rows[-1]
    for method in ("rws", "temperature"):
        for number in (0.5, 1.0, 8.0):
            for prompt in range(VALIDATION):
                reward = (number if method == "rws" else -number) + 0.4 * prompt
                made = answer_of(world, Arm(method, number), prompt, 0.0, rng)
                rows.append(made | {"split": "validation", "reward": reward})
    return rows


def answer_of(world: str, arm: Arm, prompt: int, level: float, rng: np.random.Generator) -> dict[str, Any]:
    setting, more = WORLDS[world], 2.0 if arm.method == "rws" else 0.0
    reward = level + more + float(rng.normal(scale=0.5))
    row: dict[str, Any] = {"world": world, "split": "test", "prompt": f"p{prompt:02}"}
    row |= {"method": arm.method, "number": arm.number}
    row |= {"drawn": bool(arm.sampling_temperature), "steps": setting.length if arm.one_by_one else setting.steps}
    row |= {"text": f"text {rng.integers(10**9)}", "tokens": f"{rng.integers(10**9):x}", "reward": reward}
    row |= {"log_prob": -45.0 + float(rng.normal()) if setting.exact else None}
    row |= {"rules_broken": None if setting.exact else int(rng.random() < 0.5)}
    row |= {"judge_scores": [reward + float(rng.normal()), float(rng.normal())][: len(setting.judges)]}
    row |= {"nll": None if setting.exact else 50.0 + float(rng.normal())}
    row |= {"causal_tokens": None if setting.exact else 60}
    row |= {"god_tokens": 0.0 if arm.method == "left-to-right" else float(rng.uniform(3, 5))}
    row |= {"god_steps": float(rng.uniform(1, 2)), "mean_factor": 1.0, "rewards": None, "forwards": row["steps"]}
    row |= {"reward_calls": setting.steps if arm.method == "rws" else 0}
    return row | {"near_ties": 0, "near_tokens": 0, "seconds": 0.1}
