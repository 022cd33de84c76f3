"""Ask whether RWS gains by its reward once mean, SD and scale are chosen as carefully as a fixed factor.

The plan, docs/normalisation-plan.md, was written before any test prompt was decoded. Of each cell, which is a model, a
reward and a shape:

1. Confidence decoding and RWS at the published statistics on the validation prompts give the means and SDs of texts and
   of drafts, and from these all settings (`search.rws_settings`).
2. As many fixed factors as there are settings. Both are tried on ever more validation prompts (`search.RUNGS`), and
   those of less reward are dropped; what is left with the greatest mean reward is chosen.
3. RWS at its setting meets its twins, the chosen fixed factor and best of N on the test prompts. These are decoded and
   compared by the code of `rws ablate` (`tables`).

Files below OUT/normalisation: what was decoded, by cell, so that the same command goes on; `answers.parquet`,
`about.json` and the table. The record in this folder is such a run.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from paper_figures.extra.normalisation import search as tries
from paper_figures.extra.normalisation.cells import (
    CELLS,
    DECIDED,
    LEVERAGE,
    LOOK,
    NAME,
    TEST_PROMPTS,
    Cell,
    cell_prompts,
    compared_cell,
    is_primary,
    order_of,
)
from paper_figures.extra.normalisation.tables import tables
from paper_figures.runner.executors import RunOptions
from paper_figures.studies.study import Foretold, about_run
from paper_figures.table import write_tables
from paper_figures.table_text import files_line, terminal_text
from rws_decode.cli.options import check_writable, option
from rws_decode.cli.progress import tell
from rws_decode.common.files import read_json, write_bytes, write_json
from rws_decode.common.later import np, pd

RECORD = Path(__file__).parent / "record"


@dataclass(frozen=True)
class NormalisationOptions(RunOptions):
    """The options of `experiment normalisation`."""

    cells: tuple[str, ...] = option(
        tuple(CELLS), f"of {' '.join(CELLS)}", metavar="MODEL:REWARD/LENGTH/STEPS", choices=tuple(CELLS)
    )
    prompts: int | None = option(None, f"test prompts of a cell at most (default: {TEST_PROMPTS})", least=2)
    most_settings: int | None = option(None, "settings tried at most, to try the study out (default: all)", least=1)
    until: str = option("all", "stop a cell once ablate's intervals decide all four", choices=("all", "decided"))
    seed: int = option(0, "of prompts, shuffles and samples", least=0)
    recorded: bool = option(False, "decode nothing: the tables of the record that ships")


def run(options: NormalisationOptions) -> dict[str, Any]:
    """Run the study, or go on with it; return what `--json` prints."""
    check_writable("--out", Path(options.out), "directory")
    cells, folder = [CELLS[name] for name in options.cells], Path(options.out) / NAME
    if options.dry_run:
        raise Foretold(_foretold(cells, options))
    if options.recorded:
        frame, about = read_record()
    else:
        with options.backend().open() as executor:
            waiting = [executor.submit(decode_cell, cell, options,
                                       folder / cell.name.replace(":", "-").replace("/", "-"))
                       for cell in cells]  # fmt: skip
            frame = pd.concat([each.result() for each in waiting], ignore_index=True)
        about = about_run(NAME, options, ("cells", "until", "seed"))
    shown = tables(frame, seed=about["seed"])
    write_bytes(folder / "answers.parquet", packed(frame))
    write_json(folder / "about.json", about)
    write_tables(folder, shown)
    return {
        "experiment": NAME,
        "folder": str(folder),
        "units": {"asked": len(frame), "found": 0, "computed": len(frame), "failed": 0},
        "tables": {table.name: list(table.rows) for table in shown},
        "message": f"{terminal_text(shown)}\n{files_line(folder, shown)}",
    }


def read_record(folder: Path = RECORD) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the rows of a run, and what is known of it."""
    return pd.read_parquet(folder / "answers.parquet"), read_json(folder / "about.json")


def again(sample: int, seed: int) -> tuple[int, str, Iterator[Any]]:
    """Compute a sample of the record again, for `rws verify` (`again.again`)."""
    from paper_figures.extra.normalisation.again import again as computed

    return computed(sample, seed)


def packed(frame: pd.DataFrame) -> bytes:
    """Return rows as Parquet, with scores in single precision."""
    scores = {name: "float32" for name in ("reward", "judge", "log_prob", "factor", "variation")}
    small = frame.astype(scores | {"text": "int32", "forwards": "int16", "reward_calls": "int16"})
    return cast("bytes", small.to_parquet(compression="zstd", index=False, compression_level=19))


def _foretold(cells: Sequence[Cell], options: NormalisationOptions) -> dict[str, Any]:
    before = [0, *(number for _, number in tries.RUNGS)]
    found = 2 * sum(kept * (number - last) for (kept, number), last in zip(tries.RUNGS, before, strict=False))
    texts = len(cells) * (found + 14 * (options.prompts or TEST_PROMPTS))
    return {"experiment": NAME, "texts": texts, "message": f"{NAME}: about {texts:,} texts in {len(cells)} cells"}


# A cell


def decode_cell(cell: Cell, options: NormalisationOptions, folder: Path) -> pd.DataFrame:
    """Decode a cell, or what is missing of it in its folder; return a row for each text.

    stage: "validation" or "test"; arm: a setting or a twin; prompt, source: its name, and what it is from; text: a
    number, the same for equal texts; reward, judge, log_prob: raw scores; factor, variation: mean of the run's factors,
    and their SD as a share of it. strategy, mean, sd: of the setting; unit, attainable, observed: of the cell.
    """
    from rws_decode import Options, Savings, Shape, load_predictor, load_reward
    from rws_decode.ablation.ablate import Trial
    from rws_decode.ablation.arms import Models
    from rws_theory.worlds.part_memory import PartMemory

    began, seed = time.perf_counter(), options.seed
    predictor: Any = load_predictor(cell.model)
    reward, judge = load_reward(cell.reward), load_reward(cell.judge)
    if hasattr(predictor, "memory"):  # many settings meet the same canvases and texts
        predictor.memory, log_prob = PartMemory(2000), cache(predictor.log_prob)
        predictor.log_prob = lambda prompt, answer: log_prob(tuple(prompt), tuple(answer))
    found = cell_prompts(cell, options.prompts or TEST_PROMPTS, seed)
    texts, shape = [prompt.text for prompt in found.validation], Shape(cell.length, cell.steps, cell.length)
    search = tries.Search(Models.of(predictor, reward, judge, None), texts, shape, seed, folder / "validation")
    rws, factor = search.chosen(options.most_settings)
    tell(f"{NAME}: {cell.name}: chosen {rws.name}, factor {factor.strategy}, {time.perf_counter() - began:.0f} s")

    models = Models.of(predictor, tries.renormalised(reward, rws.mean, rws.sd), judge, None)
    every = [*texts, *(prompt.text for prompt in found.test)]
    trial = Trial(models, every, range(len(texts)), rws.strategy, shape, Options(), Savings(), seed, folder, None)
    trial.tried = np.array([float(factor.strategy.partition(":")[2])])  # the search has tried the others
    known = trial.validate()
    rows = [len(texts) + place for place in order_of(cell, len(found.test), seed)]
    for done in range(0, len(rows), LOOK):
        for begin in range(done, min(done + LOOK, len(rows)), options.batch):
            trial.compare(rows[begin : min(begin + options.batch, done + LOOK)], known)
        sides = compared_cell(trial.rows, rows[: done + LOOK], trial.about(known))
        after, took = sides.stopped_after, time.perf_counter() - began
        tell(f"{NAME}: {cell.name}: {after} of {len(rows)}, {took:.0f} s")
        if options.until == "decided" and all(
            each.verdict in DECIDED for each in sides.comparisons if is_primary(each.twin)
        ):
            break
    leverage = trial.leverage(known) or {}
    decoded = pd.DataFrame(tries.measured(row) for row in trial.rows if row["prompt"] >= len(texts))
    frame = pd.concat([search.frame(), decoded.replace({"arm": {"best of": f"best of {known['best of']}"}})])
    frame["stage"] = np.where(frame["prompt"] < len(texts), "validation", "test")
    frame["prompt"] = [[*found.validation, *found.test][row].name for row in frame["prompt"]]
    sources = _sources(cell)
    frame["source"] = [sources.get(name, name) for name in frame["prompt"]]
    frame["text"] = pd.factorize(frame.pop("tokens"))[0]
    frame.loc[frame["stage"] == "test", ["setting", "strategy", "mean", "sd"]] = (
        rws.name,
        rws.strategy,
        rws.mean,
        rws.sd,
    )
    numbers = {"unit": known["sd"]["reward"], "tuned": trial.tried[0]}
    numbers |= {name: leverage.get(name, np.nan) for name in LEVERAGE}
    return frame.assign(cell=cell.name, **numbers).reset_index(drop=True)


def _sources(cell: Cell) -> dict[str, str]:
    """Return the speech of each prompt that begins one; other prompts are their own source."""
    from paper_figures.data.examples import further_prompts

    rows = further_prompts(cell.model) if cell.data == "openings" else []
    return {f"opening-{number}": row["address"] for number, row in enumerate(rows)}
