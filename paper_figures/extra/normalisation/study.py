"""Ask whether RWS gains by its reward once mean, SD and scale are chosen as carefully as a fixed factor.

The plan, docs/normalisation-plan.md, was written before any test prompt was decoded. Of each cell, which is a model, a
reward and a shape:

1. Confidence decoding and RWS at the published statistics on the validation prompts give the means and SDs of texts and
   of drafts, and from these all settings (`search.rws_settings`).
2. As many fixed factors as there are settings. Both are tried on ever more validation prompts (`search.RUNGS`), and
   those of less reward are dropped; what is left with the greatest mean reward is chosen.
3. RWS at its setting meets its twins, the chosen fixed factor and best of N on the test prompts. These are decoded and
   compared by the code of `rws ablate`.

Files below OUT/normalisation: what was decoded, by cell, so that the same command goes on; `answers.parquet`,
`about.json` and the table. The record in this folder is such a run.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast

from paper_figures.extra.normalisation import search as tries
from paper_figures.recorded.measures import interval_of
from paper_figures.runner.executors import RunOptions
from paper_figures.statistics.equivalence import least_difference, tost
from paper_figures.statistics.intervals import clustered_interval
from paper_figures.statistics.resampling import text_pairs
from paper_figures.statistics.significance import holm
from paper_figures.studies.prompts import prompts_of
from paper_figures.studies.study import Foretold, about_run
from paper_figures.table import Column, Table, make_table, records, write_tables
from paper_figures.table_text import files_line, terminal_text
from rws_decode.cli.options import check_writable, option
from rws_decode.cli.progress import tell
from rws_decode.common.files import read_json, write_bytes, write_json
from rws_decode.common.later import np, pd

NAME = "normalisation"
RECORD = Path(__file__).parent / "record"
MARGIN, LEVEL, BOUND = 0.1, 0.95, 3.0  # SD of the reward over confidence texts; of all intervals; as in `ablate`
PRIMARY = ("confidence", "fixed factor", "tuned fixed factor", "best of N")


class Cell(NamedTuple):
    """A model, its reward and judge, the source of its prompts, the shape of an answer, and how many test prompts."""

    model: str
    reward: str
    judge: str
    data: str
    length: int
    steps: int
    prompts: int

    @property
    def name(self) -> str:
        return f"{self.model}:{self.reward}/{self.length}/{self.steps}"


CELLS = {
    cell.name: cell
    for cell in (
        Cell("english", "era", "keywords", "openings", 16, 8, 200),
        Cell("english", "era", "keywords", "openings", 32, 16, 300),
        Cell("mini", "mini", "mini-judge", "stories:keywords", 32, 16, 100),
        Cell("english", "era", "keywords", "openings", 16, 16, 150),
        Cell("english", "era", "keywords", "openings", 32, 8, 150),
        Cell("english", "era", "keywords", "openings", 32, 32, 100),
        Cell("english", "era", "keywords", "openings", 64, 32, 100),
        Cell("reactions", "balanced", "valid", "reactions:16", 16, 8, 150),
        Cell("english", "smollm2", "era", "openings", 16, 8, 100),
        Cell("antibody", "human", "humanness", "antibodies:32", 32, 16, 100),
    )
}


@dataclass(frozen=True)
class NormalisationOptions(RunOptions):
    """The options of `experiment normalisation`."""

    cells: tuple[str, ...] = option(
        tuple(CELLS), f"of {' '.join(CELLS)}", metavar="MODEL:REWARD/LENGTH/STEPS", choices=tuple(CELLS)
    )
    prompts: int | None = option(None, "test prompts of a cell at most (default: its own number)", least=2)
    most_settings: int | None = option(None, "settings tried at most, to try the study out (default: all)", least=1)
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
            waiting = [executor.submit(decode_cell, cell, options.prompts, options.most_settings, options.seed,
                                       folder / cell.name.replace(":", "-").replace("/", "-"), options.batch)
                       for cell in cells]  # fmt: skip
            frame = pd.concat([each.result() for each in waiting], ignore_index=True)
        about = about_run(NAME, options, ("cells", "seed"))
    shown = tables(frame, seed=options.seed)
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
    texts = sum(found + 14 * min(cell.prompts, options.prompts or cell.prompts) for cell in cells)
    return {"experiment": NAME, "texts": texts, "message": f"{NAME}: about {texts:,} texts in {len(cells)} cells"}


# A cell


def decode_cell(
    cell: Cell, prompts: int | None, most_settings: int | None, seed: int, folder: Path, batch: int
) -> pd.DataFrame:
    """Decode a cell, or what is missing of it in its folder; return a row for each text.

    stage: "validation" or "test"; arm: a setting or a twin; prompt, source: its name, and what it is from; text: a
    number, the same for equal texts; reward, judge, log_prob: raw scores; factor, variation: mean of the run's factors,
    and their SD as a share of it. strategy, mean, sd: of the setting; unit, attainable, observed: of the cell.
    """
    from rws_decode import Options, Savings, Shape, load_predictor, load_reward
    from rws_decode.ablation.ablate import Trial
    from rws_decode.ablation.arms import Models
    from rws_theory.worlds.part_memory import PartMemory

    began = time.perf_counter()
    predictor: Any = load_predictor(cell.model)
    reward, judge = load_reward(cell.reward), load_reward(cell.judge)
    if hasattr(predictor, "memory"):  # many settings meet the same canvases and texts
        predictor.memory, log_prob = PartMemory(2000), cache(predictor.log_prob)
        predictor.log_prob = lambda prompt, answer: log_prob(tuple(prompt), tuple(answer))
    found = prompts_of(
        cell.data, min(cell.prompts, prompts or cell.prompts), tries.RUNGS[-1][1], seed=seed, model=cell.model
    )
    texts, shape = [prompt.text for prompt in found.validation], Shape(cell.length, cell.steps, cell.length)
    search = tries.Search(Models.of(predictor, reward, judge, None), texts, shape, seed, folder / "validation")
    rws, factor = search.chosen(most_settings)
    tell(f"{NAME}: {cell.name}: chosen {rws.name}, factor {factor.strategy}, {time.perf_counter() - began:.0f} s")

    models = Models.of(predictor, tries.renormalised(reward, rws.mean, rws.sd), judge, None)
    every = [*texts, *(prompt.text for prompt in found.test)]
    rows = list(range(len(texts), len(every)))
    trial = Trial(models, every, range(len(texts)), rws.strategy, shape, Options(), Savings(), seed, folder, None)
    trial.tried = np.array([float(factor.strategy.partition(":")[2])])  # the search has tried the others
    known = trial.validate()
    for begin in range(0, len(rows), batch):
        trial.compare(rows[begin : begin + batch], known)
        tell(
            f"{NAME}: {cell.name}: {min(begin + batch, len(rows))} of {len(rows)}, {time.perf_counter() - began:.0f} s"
        )
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


LEVERAGE = ("attainable", "observed")
INTERVALS = ("low", "high", "low_source", "high_source", "judge_low", "judge_high")


def _sources(cell: Cell) -> dict[str, str]:
    """Return the speech of each prompt that begins one; other prompts are their own source."""
    from paper_figures.data.examples import further_prompts

    rows = further_prompts(cell.model) if cell.data == "openings" else []
    return {f"opening-{number}": row["address"] for number, row in enumerate(rows)}


# The table


def tables(frame: pd.DataFrame, *, seed: int = 0) -> list[Table]:
    """Return two tables from the rows of the cells: RWS, as chosen, minus four others, and minus each twin."""
    rows = []
    for name in dict.fromkeys(frame["cell"]):
        test = frame[(frame["cell"] == name) & (frame["stage"] == "test")]
        arms = {str(arm): group.set_index("prompt") for arm, group in test.groupby("arm", sort=False)}
        ablation = _ablation(arms, seed)
        mine = arms.pop("strategy")
        numbers = mine.iloc[0][["cell", "setting", "strategy", "mean", "sd", "tuned", "unit", *LEVERAGE]].to_dict()
        numbers |= {"variation": float(mine["variation"].median()), "ablation": ablation.verdict}
        for always in ablation.comparisons:
            other = arms[always.twin].loc[mine.index]
            values, judge, log_prob = (
                (mine[score] - other[score]).to_numpy(np.float64) for score in ("reward", "judge", "log_prob")
            )
            values, pairs = values / mine["unit"].iloc[0], text_pairs(mine["text"], other["text"])
            mean, low, high = interval_of(values, "mean", pairs)
            by_source, test = clustered_interval(values, mine["source"]), tost(values, MARGIN, pairs)
            row = numbers | {"twin": always.twin, "n": always.n, "pairs": always.distinct, "same_text": always.equal}
            row |= {"sources": mine["source"].nunique(), "difference": mean, "low": low, "high": high}
            row |= {"low_source": by_source.low, "high_source": by_source.high}
            row |= {"low_always": always.low, "high_always": always.high, "verdict": always.verdict}
            row |= {"p_different": test.p_different, "p_equivalent": test.p}
            spread = (high - low) / 3.92 * np.sqrt(len(values))  # of independent prompts with this interval
            row |= {"least": least_difference(spread, len(values)) if 0 < spread < np.inf else None}
            row |= dict(zip(("judge", "judge_low", "judge_high"), interval_of(judge, "mean", pairs), strict=True))
            row |= {name: None for name in INTERVALS if not np.isfinite(row[name])}
            rows.append(row | {"log_prob": float(log_prob.mean())})
    primary = [row for row in rows if row["twin"].startswith("best of") or row["twin"] in PRIMARY]
    for column in ("p_different", "p_equivalent"):
        for row in rows:
            row[f"{column}_holm"] = None
        for row, adjusted in zip(primary, holm([row[column] for row in primary]), strict=True):
            row[f"{column}_holm"] = adjusted
    caption = (
        "RWS at the setting that validation prompts chose, minus each twin, in SD of the reward over confidence texts; "
        "95 % intervals over distinct pairs of texts."
    )
    return [_by_cell(primary), make_table(NAME, rows, COLUMNS, caption)]


def _by_cell(primary: Sequence[dict[str, Any]]) -> Table:
    """Return a line for each cell, with its primary comparisons."""
    cells: dict[str, dict[str, Any]] = {}
    for row in primary:
        same = {name: row[name] for name in ("cell", "setting", "tuned", "n", "variation", *LEVERAGE, "ablation")}
        line, twin = cells.setdefault(row["cell"], same), "best of N" if "best of" in row["twin"] else row["twin"]
        line |= {twin: row["difference"], f"{twin}, low": row["low"], f"{twin}, high": row["high"]}

    def against(twin: str) -> Column:
        return Column(
            f"- {twin}", form=lambda row: f"{row[twin]:+.2f} {_ends(row[f'{twin}, low'], row[f'{twin}, high'])}"
        )

    columns = [Column("cell"), *map(against, PRIMARY), Column("n")]
    columns += [Column("CV, %", "variation", ".1f", unit=100), Column("attainable, %", "attainable", ".0f", unit=100)]
    caption = "RWS at its chosen setting, minus four others, in SD of the reward; 95 % intervals over pairs of texts."
    columns += [Column("observed, %", "observed", ".0f", unit=100), Column("RWS, chosen", form=_chosen)]
    return make_table(f"{NAME}_by_cell", list(cells.values()), columns, caption)


def _ablation(arms: Mapping[str, pd.DataFrame], seed: int) -> Any:
    """Return what `ablate` says of the test prompts, in a random order by the seed."""
    from rws_decode.ablation.result import AblationRows, compared
    from rws_decode.ablation.twins import BLIND

    prompts, found = list(arms["strategy"].index), AblationRows(None, NAME)
    for arm, group in arms.items():
        kept = group.loc[prompts, ["reward", "text", "forwards", "reward_calls"]].reset_index(drop=True)
        found.add(
            row | {"prompt": place, "arm": arm, "tokens": [row["text"]]} for place, row in enumerate(records(kept))
        )
    twins = {arm: arm for arm in arms if arm != "strategy"}
    about = {"label": NAME, "reward": NAME, "judge": None, "prompts": len(prompts), "twins": twins, "notes": []}
    about |= {"sd": {"reward": float(arms["strategy"]["unit"].iloc[0])}, "digest": NAME}
    settings = {"margin": MARGIN, "level": LEVEL, "corrected": 1 - (1 - LEVEL) / len(twins), "bound": BOUND}
    units = [[int(place)] for place in np.random.default_rng(seed).permutation(len(prompts))]
    return compared(found, units, about, settings | {"blind": [arm for arm in twins if arm in BLIND]})


def _chosen(row: Mapping[str, Any]) -> str:
    return tries.described(row["setting"])


def _ends(low: float | None, high: float | None) -> str:
    return "(all equal)" if low is None or high is None else f"[{low:+.2f}, {high:+.2f}]"


COLUMNS = (
    Column("cell"),
    Column("minus", "twin"),
    Column("difference, SD", form=lambda row: f"{row['difference']:+.2f} {_ends(row['low'], row['high'])}"),
    Column("by source", form=lambda row: _ends(row["low_source"], row["high_source"])),
    Column("n"),
    Column("same text", "same_text"),
    Column("Holm p, different", "p_different_holm", ".2g"),
    Column("Holm p, equivalent", "p_equivalent_holm", ".2g"),
    Column("verdict"),
    Column("CV, %", "variation", ".1f", unit=100),
    Column("attainable, %", "attainable", ".0f", unit=100),
    Column("observed, %", "observed", ".0f", unit=100),
    Column("RWS, chosen", form=_chosen),
)
