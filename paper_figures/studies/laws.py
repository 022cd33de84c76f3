"""Ask how far the law of each sampler is from the model's, and what moves it there.

Texts have 16 words; a step commits 1, 2 or 4 of them. Of an antibody 64 residues are masked; a step commits 1, 4 or 8.
In an exact world every text has log p, and so each sampler that has a law has KL(q || p) and E_q[R]; the tilts
p exp(beta R) / Z bound both. Four leaks, each the difference of two samplers that differ in one thing, split what a
strategy changes (`summaries.laws`, docs/theory.md, section 21). In a network the model's own law is not known: texts of
the data are forced along different orders instead.

The files below OUT/laws are the units' parts, `leaks.csv|md`, `frontier.csv|md`, `orders.csv|md`, and `about.json`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd

from paper_figures.runner.units import Unit
from paper_figures.studies.design.methods import seed_of
from paper_figures.studies.design.prompts import Prompt, prompts_of
from paper_figures.studies.design.stages import about_run, finish, on_device, open_stages
from paper_figures.studies.options import LawsOptions
from paper_figures.studies.summaries.laws import (
    BLIND,
    Leak,
    answers_of,
    frontiers_of,
    leaks,
    least_divergence,
    mean_of,
    order_gaps,
    sampler_values,
)
from paper_figures.studies.work.laws import work
from paper_figures.table import Column, Table, make_table
from rws_decode.cli.options import check_writable
from rws_decode.cli.progress import loading, tell

NAME = "laws"
BETAS = (0.02, 0.05, 0.1, 0.15, 0.3, 0.45, 0.6, 0.8, 1.0, 1.3)


@dataclass(frozen=True)
class LawWorld:
    """A model with its reward, and the methods that are asked: of laws, of the leaks, and of given texts.

    length: masks of a text; words: those that a step commits, in turn.
    """

    model: str
    reward: str
    data: str
    laws: tuple[str, ...]
    split: tuple[str, ...]
    given: tuple[str, ...] = ()
    length: int = 16
    words: tuple[int, ...] = (1, 2, 4)


_LAWS = (
    *("default", "random-order", "default+apart:3", "rws:8", "left-to-right", "temperature:5.6"),
    *("random-order+apart:3", "rws:1", "rws:8+apart:3"),
)
_SPLIT = ("default", "rws:8", "random-order")
WORLDS: dict[str, LawWorld] = {
    "english:era": LawWorld("english", "era", "openings", laws=_LAWS, split=_SPLIT),
    "mini:exact": LawWorld(
        "mini",
        "exact",
        "stories",
        laws=_SPLIT,
        split=_SPLIT,
        given=("left-to-right", "default", "random-order", "default+apart:3"),
    ),
    "antibody:human": LawWorld(
        "antibody",
        "human",
        "antibodies:64",
        laws=("default", "rws:8"),
        split=("default", "rws:8"),
        given=(
            *("left-to-right", "default", "random-order", "default+apart:3", "default+apart:8"),
            *("random-order+apart:3", "rws:8"),
        ),
        length=64,
        words=(1, 4, 8),
    ),
}


def run(options: LawsOptions) -> dict[str, Any]:
    """Run the study from parsed options; return what `--json` prints."""
    check_writable("--out", Path(options.out), "directory")
    loading(NAME, *(name for world in options.worlds for name in (WORLDS[world].model, WORLDS[world].reward)))
    units = [unit for world in options.worlds for unit in units_of(world, options.prompts, options.seed)]
    units = [on_device(unit, options.device) for unit in units]
    with open_stages(options, units, work) as stages:
        frame = stages.run(NAME, units)
    outcome = stages.outcome()
    tell(f"{NAME}: making the tables ...")
    about = about_run(NAME, options, ("worlds", "prompts", "seed")) | {
        "worlds": {w: asdict(WORLDS[w]) for w in options.worlds}
    }
    return finish(NAME, options, outcome, tables(frame), about=about)


def prompts_of_world(world: LawWorld, count: int, seed: int) -> list[tuple[Prompt, str]]:
    """Return prompts and, of stories and antibodies, each one's own text, else an empty one."""
    from rws_decode.extra.stories.tasks import sample_split

    if world.data != "stories":
        test = prompts_of(world.data, count, seed=seed, model=world.model).test
        return [(prompt, prompt.labels["answer"] if world.given else "") for prompt in test]
    rng, found = Random(f"{NAME} {seed}"), {}
    while len(found) < count:
        task = sample_split(rng, "test")
        found.setdefault(task.prompt, task.answer)
    return [(Prompt(f"test-{at}", (text,)), answer) for at, (text, answer) in enumerate(found.items())]


def units_of(name: str, count: int, seed: int) -> list[Unit]:
    """Return the units of a world: its curve first, then laws, leaks and given texts."""
    world = WORLDS[name]
    kinds = [] if world.given else [("world", 1, "commit")]
    kinds += [(method, words, "given") for method in world.given for words in world.words]
    for method in dict.fromkeys((*world.split[:1], *world.laws, *world.split)):
        if method in world.laws:
            kinds += [(method, words, "commit") for words in world.words if words > 1 or world.given]
        if method in world.split:
            drawings = ("greedy",) if method in BLIND else ("completion", "greedy")
            kinds += [(method, words, drawing) for drawing in drawings for words in world.words]
    asked = prompts_of_world(world, count, seed)
    return [unit_of(name, *kind, prompt, answer, seed) for kind in kinds for prompt, answer in asked]


def unit_of(name: str, method: str, words: int, drawing: str, prompt: Prompt, answer: str, seed: int) -> Unit:
    """Return the unit of a sampler's text after one prompt."""
    world = WORLDS[name]
    base = Unit(
        experiment=NAME,
        prompt=prompt.text,
        example=prompt.name,
        strategy={"name": method} | ({"betas": list(BETAS)} if method == "world" else {}),
        predictor=world.model,
        reward=world.reward,
        seed=seed,
        length=world.length,
        steps=world.length // words,
        block=world.length,
        sampling_temperature=0.0 if drawing == "greedy" else 1.0,
        settings={"drawing": drawing},
        labels={"world": name, "method": method, "words": words, "answer": answer},
    )
    # Every sampler has draws of its own: their differences are then of independent texts.
    return replace(base, seed=seed_of(base, prompt.name, f"{name} {method} {words} {drawing}"))


def tables(frame: pd.DataFrame, *, seed: int = 0) -> Sequence[Table]:
    """Return the study's tables from its rows. No draw hangs on `seed`."""
    return tables_of(answers_of(frame), frontiers_of(frame)) if len(frame) else []


def tables_of(texts: pd.DataFrame, worlds: pd.DataFrame) -> list[Table]:
    """Return the leaks, the frontier of laws, and the orders on given texts."""
    split: list[Leak] = []
    gaps: list[Leak] = []
    places: list[dict[str, Any]] = []
    for world in dict.fromkeys(texts["world"]):
        values = sampler_values(texts, worlds, world)
        split += leaks(values, world)
        gaps += order_gaps(values, world)
        places += frontier_rows(values, worlds, world)
    leak_columns = [Column("world"), Column("method"), Column("words"), Column("measure"), Column("leak")]
    leak_columns += [
        Column("change", form="+.2f", ends=("low", "high")),
        Column("least", form=".2f"),
        Column("prompts"),
    ]
    note = "Means over prompts, 95 % intervals; least: the difference that a test would find with probability 0.8."
    place_columns = [Column("world"), Column("method"), Column("words"), Column("drawing"), Column("prompts")]
    place_columns += [Column(name, form=".2f", ends=(f"{name}, low", f"{name}, high")) for name in ("kl", "reward")]
    place_columns += [Column("least kl", form=".2f")]
    made = [
        make_table("leaks", _rows(split), leak_columns, f"What each change of the sampler does to a measure. {note}"),
        make_table(
            "frontier",
            places,
            place_columns,
            "KL(q || p) in nats and E_q[R] - E_p[R], raw; of completion and best-of-8 an upper bound of KL. least kl: "
            f"that no law with this reward can go below. {note}",
        ),
        make_table("orders", _rows(gaps), leak_columns, f"log q of given texts minus left to right, one word. {note}"),
    ]
    return [table for table in made if table.rows]


def _rows(found: Sequence[Leak]) -> list[dict[str, Any]]:
    return [leak._asdict() | dict(zip(("change", "low", "high"), leak.change, strict=True)) for leak in found]


def frontier_rows(values: Any, worlds: pd.DataFrame, world: str) -> list[dict[str, Any]]:
    """Return the place of each law that is known or bounded, and of best of N; none where p is not exact."""
    own = worlds[worlds["world"] == world]
    if not len(own):
        return []
    rows = []
    for (method, words, drawing), frame in values.items():
        if drawing not in ("given", "greedy") and frame["kl"].notna().all():
            rows.append(_place(world, method, words, drawing, frame["kl"], frame["reward"]))
    # N draws of p, the best kept: KL <= log N - (N - 1) / N (T90).
    best = np.array([max(row) for row in own["rewards"]]) - own["mean"].to_numpy()
    n = len(own["rewards"].iloc[0])
    rows.append(_place(world, f"best-of:{n}", 1, "commit", np.full(len(own), np.log(n) - (n - 1) / n), best))
    betas, log_z = list(own["betas"].iloc[0]), np.mean([list(row) for row in own["log_z"]], axis=0)
    for row in rows:
        least = least_divergence(np.array([row["reward"] + own["mean"].mean()]), [0.0, *betas], np.array([0.0, *log_z]))
        row["least kl"] = float(least[0])
    return rows


def _place(world: str, method: str, words: int, drawing: str, kl: Any, reward: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"world": world, "method": method, "words": words, "drawing": drawing, "prompts": len(kl)}
    for name, values in (("kl", kl), ("reward", reward)):
        array = np.asarray(values, dtype=float)
        interval = (array[0],) * 3 if np.ptp(array) == 0 else mean_of(array)[0]
        row |= dict(zip((name, f"{name}, low", f"{name}, high"), map(float, interval), strict=True))
    return row
