"""The records as ablations: RWS against its twins, by the intervals and verdicts of `rws_decode.ablate`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from paper_figures.recorded import FOLDERS, read_recorded
from paper_figures.recorded.comparisons import TWINS, confidence_texts
from paper_figures.recorded.completed import with_one_score
from paper_figures.studies.evidence_arms import WORLDS, Arm, arms_of, chosen_scales, worlds_of
from paper_figures.table import Brief, Column, Row, Table, make_table, records
from rws_decode.ablation.result import Ablation, AblationRows, compared
from rws_decode.ablation.twins import BLIND
from rws_theory.gain import reward_factor

RECORDS = ("evidence", "antibody", "reactions", "smollm2")
_SHOWN = ("confidence", "fixed factor", "tuned fixed factor")
# Models and rewards in the reader's words.
_MODELS = {"english": "4-gram model of speeches", "mini": "toy story model", "antibody": "AntiBERTy"}
_MODELS |= {"reactions": "rxnfp (reactions)"}
_REWARDS = {"era": "modern words", "mini": "learned, of stories", "human": "human-like", "balanced": "atoms kept"}
_REWARDS |= {"smollm2": "SmolLM2's log p"}


def recorded_ablation(
    answers: pd.DataFrame, world: str, scale: float, *, margin: float = 0.1, level: float = 0.95, seed: int = 0
) -> Ablation:
    """Return what `ablate` would say of the greedy decodes of a record: RWS at a scale against its twins.

    answers: of a record, `with_one_score`. All test prompts are compared, in a random order by `seed`. The tuned
    fixed factor is the best of the recorded temperatures on the validation prompts, and the SD is that of the reward
    over their confidence texts. Twins that the record lacks at this scale are left out. ValueError for one without RWS.
    """
    arms = arms_of(answers, world)
    numbers = {"default": None, "temperature": chosen_scales(answers, world)["temperature"]}
    roles = {name: Arm(method, numbers.get(method, scale)) for name, method in {"strategy": "rws", **TWINS}.items()}
    there = {name: arms[arm] for name, arm in roles.items() if arm in arms}
    if "strategy" not in there:
        raise ValueError(f"scale is {scale:g}: the record of {world} has no RWS of it")
    found, count = AblationRows(None, "record"), len(there["strategy"])
    for name, frame in there.items():
        found.add(_row(name, prompt, row) for prompt, row in enumerate(records(frame)))
    units = [[int(place)] for place in np.random.default_rng(seed).permutation(count)]
    twins = {name: name for name in there if name != "strategy"}
    about = {"label": f"rws:{scale:g}", "reward": WORLDS[world].reward, "judge": None, "prompts": count}
    sd = float(confidence_texts(answers, world)["reward"].std(ddof=0))
    about |= {"twins": twins, "sd": {"reward": sd}, "notes": [], "digest": "record"}
    settings = {"margin": margin, "level": level, "corrected": 1 - (1 - level) / len(twins), "bound": 3.0}
    return compared(found, units, about, settings | {"blind": [name for name in twins if name in BLIND]})


def recorded_ablations(names: Sequence[str] = RECORDS, chosen: bool = False) -> dict[tuple[str, float], Ablation]:
    """Return the ablations of records, by model and reward, and by reward scale.

    They are of every scale that has its twins; chosen: of the one with the greatest reward on the validation prompts.
    """
    found = {}
    for name in names:
        answers = with_one_score(read_recorded(FOLDERS[name]).answers)
        for world in worlds_of(answers):
            mine = answers[(answers["world"] == world) & (answers["method"] == "constant")]
            scales = [chosen_scales(answers, world)["rws"]] if chosen else sorted(mine["number"].unique())
            found |= {(world, float(scale)): recorded_ablation(answers, world, float(scale)) for scale in scales}
    return found


def ablation_table(found: dict[tuple[str, float], Ablation]) -> Table:
    """Return a row for each model and scale: RWS minus three of its twins, how much its factor varies, the verdict."""
    rows = []
    for (world, scale), result in found.items():
        sides = {each.twin: each for each in result.comparisons}
        row: dict[str, Any] = {"world": world, "s_R": scale, "n": result.stopped_after, "verdict": result.verdict}
        row |= {"same_text": sides["fixed factor"].equal, "variation": result.factor_variation, "unit": result.unit}
        for twin in _SHOWN:
            side = sides.get(twin)  # no record of a network has a tuned factor
            row |= {
                twin: side and side.difference,
                f"{twin}, low": side and side.low,
                f"{twin}, high": side and side.high,
            }
        rows.append(row)
    leads = [Column(f"- {twin}", form=partial(_lead, twin)) for twin in _SHOWN]
    variation, verdict = Column("CV, %", "variation", ".0f", unit=100), Column("verdict")
    columns = [
        Column("model", form=lambda row: names_of(row["world"])[0]),
        Column("reward", form=lambda row: names_of(row["world"])[1]),
        Column("tokens / steps", form=lambda row: f"{WORLDS[row['world']].length} / {WORLDS[row['world']].steps}"),
        Column("s_R", form="g"),
        verdict,
        *(replace(lead, label=f"RWS {lead.label}") for lead in leads),
        Column("same text", form=lambda row: f"{row['same_text']} of {row['n']}"),
        variation,
    ]
    caption = (
        "RWS minus three of its twins, in SD of the reward over confidence texts, with 95 % intervals that hold for "
        "all twins together{}. CV: by how much RWS's factor varies within a run; near 0 RWS is almost a fixed factor, "
        "and a tie proves little. A dash: not decoded."
    )
    table = make_table(
        "ablations", rows, columns, caption.format("; same text: as its fixed factor, of how many prompts")
    )
    short = make_table(
        "", rows, [Column("model:reward", "world"), Column("s_R", form="g"), *leads, variation, verdict], ""
    )
    return replace(table, brief=Brief(caption.format(""), short.shown))


def _lead(twin: str, row: Row) -> str | None:
    if row[twin] is None:
        return None
    return f"{row[twin]:+.2f} [{row[f'{twin}, low']:+.2f}, {row[f'{twin}, high']:+.2f}]"


def names_of(world: str) -> tuple[str, str]:
    """Return what readers call the model and the reward of "MODEL:REWARD"."""
    model, reward = world.split(":")
    return _MODELS[model], _REWARDS[reward]


def _row(arm: str, prompt: int, row: dict[str, Any]) -> dict[str, Any]:
    rewards = row["rewards"] if arm == "strategy" else None
    factors = [] if rewards is None else reward_factor(list(rewards), row["number"]).tolist()
    kept = {name: row[name] for name in ("reward", "text", "tokens", "forwards", "reward_calls")}
    return kept | {"prompt": prompt, "arm": arm, "factors": factors}
