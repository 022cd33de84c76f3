"""Tabulate every arm of a record or a run: means with intervals, net win rates and costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from paper_figures.recorded.measures import MEASURES, difference_interval, interval_of, measures_of, scores_of
from paper_figures.statistics.intervals import Interval
from paper_figures.studies.evidence_arms import METHODS, WORLDS, Arm, arms_of, title_of, worlds_of
from paper_figures.table import Column, Row, Table, make_table
from rws_decode.common.later import np, pd

_ENDS = ("", " low", " high")


def arm_tables(answers: pd.DataFrame) -> list[Table]:
    """Return a table for each model and reward: a row for each arm, means and 95 % intervals over the test prompts.

    Rewards are as their model is normalised. Net win rates are against greedy confidence decoding, in points.
    """
    return [_arm_table(answers, world) for world in worlds_of(answers)]


def _arm_table(answers: pd.DataFrame, world: str) -> Table:
    arms, methods, setting = arms_of(answers, world), list(METHODS), WORLDS[world]
    columns, rows = {"method": Column("method")}, []
    for arm in sorted(
        arms, key=lambda arm: (arm.sampling_temperature, arm.one_by_one, methods.index(arm.method), arm.number or 0)
    ):
        # Both scales of the better one are fixed.
        title = title_of(arm._replace(number=None) if arm.method == "better-scale" else arm)
        row: dict[str, Any] = {"method": title, "prompts": len(arms[arm])}
        for name, digits, interval in _cells(arm, arms, world):
            known = (float(value) if np.isfinite(value) else None for value in interval or (np.nan,) * 3)
            row |= {f"{name}{end}": value for end, value in zip(_ENDS, known, strict=True)}
            columns[name] = Column(name, form=partial(_span, name=name, digits=digits))
        rows.append(row | {name: float(arms[arm][name].mean()) for name in ("forwards", "reward_calls")})
    columns |= {name: Column(name.replace("_", " "), name, ".3g") for name in ("forwards", "reward_calls")}
    caption = (
        f"{world}: every arm on the same {max(map(len, arms.values()), default=0)} prompts, mean with 95 % interval "
        "(ABC of means, exact of shares, Tango's of net win rates, or over distinct pairs of texts where they repeat). "
        "Reward: as its model is normalised, by mean and SD. Net win rates: against the greedy default, in points; "
        "those of RWS are in the table evidence_comparisons. GOD: tokens. "
        + ("Regret: nats below the best text of at least the same reward. " if setting.tilts else "")
        + "Forwards and reward calls: of an answer, all copies counted."
    )
    first = next(each for each in WORLDS.values() if each.model == setting.model)
    name = setting.model if setting == first else f"{setting.model}_{setting.reward}"
    return make_table(f"evidence_{name}", rows, list(columns.values()), caption)


def _cells(arm: Arm, arms: Mapping[Arm, pd.DataFrame], world: str) -> Iterator[tuple[str, int, Interval | None]]:
    """Yield heading, digits and interval of each measure of an arm; None where an answer has no such measure."""
    frame, default = arms[arm], Arm("default")
    for name in (name for name in measures_of(world) if not name.startswith("net")):
        measure, values = MEASURES[name], scores_of(frame, world, name)
        share, interval = measure.kind == "share", None
        if np.isfinite(values).all():
            interval = Interval(*(measure.factor * end for end in interval_of(values, "share" if share else "mean")))
        yield f"{measure.title}, {'%' if share else measure.unit}", 1 if share else 2, interval
    if WORLDS[world].tilts:
        regret = frame["regret"].to_numpy(dtype=float)
        yield "regret, nats", 1, interval_of(regret, "mean") if np.isfinite(regret).all() else None
    for name in (name for name in measures_of(world) if name.startswith("net")):
        other = default in arms and arm != default and arm.method != "rws"
        net = difference_interval((frame, arms[default]), world, name) if other else None
        yield MEASURES[name].title, 0, net and Interval(*(100 * end for end in net))


def _span(row: Row, name: str, digits: int) -> str | None:
    if row[name] is None:
        return None
    mean, low, high = (
        None if row[f"{name}{end}"] is None else f"{round(row[f'{name}{end}'], digits) + 0.0:.{digits}f}"
        for end in _ENDS
    )
    return f"{mean} in all" if low is None else f"{mean} [{low}, {high}]"  # all are equal, and nothing bounds another's
