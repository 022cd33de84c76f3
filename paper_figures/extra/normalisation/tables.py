"""Compare RWS with its twins in each cell, by ablate's intervals and by those of the plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from paper_figures.extra.normalisation import search as tries
from paper_figures.extra.normalisation.cells import (
    BOUND,
    CELLS,
    DECIDED,
    LEVEL,
    LEVERAGE,
    LOOK,
    MARGIN,
    NAME,
    PRIMARY,
    Cell,
    compared_cell,
    is_primary,
    order_of,
)
from paper_figures.recorded.ablations import names_of
from paper_figures.recorded.measures import interval_of
from paper_figures.statistics.equivalence import least_difference, tost
from paper_figures.statistics.intervals import clustered_interval
from paper_figures.statistics.resampling import text_pairs
from paper_figures.statistics.significance import holm
from paper_figures.table import Brief, Column, Table, make_table, records
from rws_decode.ablation.sequence import confidence_sequence
from rws_decode.ablation.verdict import side_of
from rws_decode.common.later import np, pd

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rws_decode.ablation.result import Ablation

INTERVALS = ("low", "high", "low_source", "high_source", "further_low", "further_high", "judge_low", "judge_high")


def tables(frame: pd.DataFrame, *, seed: int = 0) -> list[Table]:
    """Return RWS, as chosen, minus four others by ablate's intervals and by the plan's, and minus each twin."""
    rows = []
    for name in dict.fromkeys(frame["cell"]):
        test = frame[(frame["cell"] == name) & (frame["stage"] == "test")]
        arms = {str(arm): group.set_index("prompt") for arm, group in test.groupby("arm", sort=False)}
        ablation, order = _ablation(arms, CELLS[name], seed)
        mine = arms.pop("strategy")
        numbers = mine.iloc[0][["cell", "setting", "strategy", "mean", "sd", "tuned", "unit", *LEVERAGE]].to_dict()
        numbers |= {"variation": float(mine["variation"].median()), "ablation": ablation.verdict}
        for always in ablation.comparisons:
            other = arms[always.twin].loc[mine.index]
            values, judge, log_prob = (
                (mine[score] - other[score]).to_numpy(np.float64) for score in ("reward", "judge", "log_prob")
            )
            values, pairs = values / mine["unit"].iloc[0], text_pairs(mine["text"], other["text"])
            by_source, test = clustered_interval(values, mine["source"]), tost(values, MARGIN, pairs)
            row = numbers | {"twin": always.twin, "n": always.n, "pairs": always.distinct, "same_text": always.equal}
            row |= _interval("", values, pairs) | {"sources": mine["source"].nunique()}
            row |= {"low_source": by_source.low, "high_source": by_source.high}
            row |= {"cut": always.difference, "low_always": always.low, "high_always": always.high}
            row |= {"verdict": always.verdict, "decided_after": _decided_after(values[order], len(arms))}
            row |= {"p_different": test.p_different, "p_equivalent": test.p}
            spread = (row["high"] - row["low"]) / 3.92 * np.sqrt(len(values))  # of independent prompts, this interval
            row |= {"least": least_difference(spread, len(values)) if 0 < spread < np.inf else None}
            later = slice(CELLS[name].first, None)
            row |= _interval("further_", values[later], pairs[later]) | _interval("judge_", judge, pairs)
            row |= {name: None for name in INTERVALS if not np.isfinite(row[name])}
            rows.append(row | {"log_prob": float(log_prob.mean())})
    primary = [row for row in rows if is_primary(row["twin"])]
    for column in ("p_different", "p_equivalent"):
        for row in rows:
            row[f"{column}_holm"] = None
        for row, adjusted in zip(primary, holm([row[column] for row in primary]), strict=True):
            row[f"{column}_holm"] = adjusted
    caption = (
        "RWS at the setting that validation prompts chose, minus each twin, in SD of the reward over confidence texts; "
        "95 % intervals over distinct pairs of texts."
    )
    return [*_by_cell(primary), make_table(NAME, rows, COLUMNS, caption)]


def _interval(prefix: str, values: NDArray[np.float64], pairs: NDArray[np.int64]) -> dict[str, float | None]:
    found = interval_of(values, "mean", pairs) if len(values) else (None, np.nan, np.nan)
    return dict(zip((f"{prefix}difference", f"{prefix}low", f"{prefix}high"), found, strict=True))


def _decided_after(values: NDArray[np.float64], twins: int) -> int | None:
    """Return after how many prompts ablate's interval decides, looked at after every LOOK; None if it does not."""
    low, high = (ends.tolist() for ends in confidence_sequence(values, 1 - (1 - LEVEL) / twins, BOUND))
    looks = [*range(LOOK, len(values), LOOK), len(values)]
    return next((look for look in looks if side_of(low[look - 1], high[look - 1], MARGIN) in DECIDED), None)


def _by_cell(primary: Sequence[dict[str, Any]]) -> list[Table]:
    """Return two tables with a line for each cell: by ablate's intervals, as other pages have, and by the plan's."""
    cells: dict[str, dict[str, Any]] = {}
    for row in primary:
        line, twin = cells.setdefault(row["cell"], dict(row)), "best of N" if "best" in row["twin"] else row["twin"]
        line |= {f"{twin} {field}": value for field, value in row.items()}
    for line in cells.values():
        after = [line[f"{twin} decided_after"] for twin in PRIMARY]
        line["decided after"] = None if None in after else max(after)

    samples = {row["twin"] for row in primary} - {*PRIMARY}
    labels = {"best of N": samples.pop()} if len(samples) == 1 else {}

    def against(twin: str, middle: str, low: str, high: str) -> Column:
        def form(row: Mapping[str, Any]) -> str:
            mean, cut, *ends = (row[f"{twin} {field}"] for field in ("difference", middle, low, high))
            return f"{cut:+.2f} {_ends(*ends)}" + (f", uncut {mean:+.2f}" if abs(mean - cut) > MARGIN else "")

        return Column(f"- {labels.get(twin, twin)}", form=form)

    always = [against(twin, "cut", "low_always", "high_always") for twin in PRIMARY]
    planned = [against(twin, "difference", "low", "high") for twin in PRIMARY]
    measured = [Column("CV, %", "variation", ".1f", unit=100), Column("attainable, observed, %", form=_leverage)]
    caption = "RWS at its chosen setting, minus four others, in SD of the reward over confidence texts; {}."
    at_all_times = caption.format(
        "95 % intervals for all twins together, at any stopping time; beyond 3 SD counts as 3"
    )
    over_pairs, rows = caption.format("95 % intervals over distinct pairs of texts"), list(cells.values())
    named = [Column("model, reward", form=_names), Column("tokens / steps", form=_shape), Column("n")]
    short = [Column("cell"), Column("n")]
    verdict = Column("verdict", "ablation")
    by_cell = make_table(f"{NAME}_by_cell", rows, [*named, verdict, *always, *measured], at_all_times)
    return [
        replace(
            by_cell, brief=Brief(at_all_times, make_table("", rows, [*short, *always, *measured, verdict], "").shown)
        ),
        make_table(
            f"{NAME}_planned",
            rows,
            [*short, *planned, Column("decided after"), Column("RWS, chosen", form=_chosen)],
            over_pairs,
        ),
    ]


def _names(row: Mapping[str, Any]) -> str:
    return ", ".join(names_of(row["cell"].partition("/")[0]))


def _shape(row: Mapping[str, Any]) -> str:
    return " / ".join(row["cell"].split("/")[1:])


def _leverage(row: Mapping[str, Any]) -> str:
    return f"{100 * row['attainable']:.0f}, {100 * row['observed']:.0f}"


def _ablation(arms: Mapping[str, pd.DataFrame], cell: Cell, seed: int) -> tuple[Ablation, list[int]]:
    """Return what `ablate` says of the test prompts, and their order."""
    from rws_decode.ablation.result import AblationRows

    prompts, found = list(arms["strategy"].index), AblationRows(None, NAME)
    for arm, group in arms.items():
        kept = group.loc[prompts, ["reward", "text", "forwards", "reward_calls"]].reset_index(drop=True)
        found.add(
            row | {"prompt": place, "arm": arm, "tokens": [row["text"]]} for place, row in enumerate(records(kept))
        )
    about = {"label": NAME, "reward": NAME, "judge": None, "prompts": len(prompts), "notes": [], "digest": NAME}
    about |= {"twins": {arm: arm for arm in arms if arm != "strategy"}}
    about |= {"sd": {"reward": float(arms["strategy"]["unit"].iloc[0])}}
    order = order_of(cell, len(prompts), seed)
    return compared_cell(found, order, about), order


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
