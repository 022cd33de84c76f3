"""Units and tiny work for the tests of the runner: importable by worker processes, and without PyTorch."""

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from paper_figures.runner import Model, Origin, Report, Unit, read_unit_rows, run_units

ORIGIN = Origin("code", {"numpy": "2"}, {Model("predictor", "mini"): "a", Model("reward", "mini"): "b"})


def units(count: int, **fields: Any) -> list[Unit]:
    return [
        Unit(
            experiment="tiny",
            prompt=f"prompt {number}",
            strategy={"name": "temperature", "scale": float(1 + number % 3)},
            reward="mini",
            seed=number % 2,
            **fields,
        )
        for number in range(count)
    ]


def rows(unit: Unit) -> list[dict[str, Any]]:
    return [{"place": index, "value": len(unit.prompt) * (unit.scale or 0.0) + index} for index in range(unit.seed + 1)]


def slow(unit: Unit) -> list[dict[str, Any]]:
    """Return the rows, after a while, and leave a mark of having been asked where MARKS says."""
    if "MARKS" in os.environ:
        with open(Path(os.environ["MARKS"]) / str(os.getpid()), "a") as stream:
            stream.write(unit.prompt + "\n")
    time.sleep(0.02)
    return rows(unit)


def failing(unit: Unit) -> list[dict[str, Any]]:
    if unit.prompt == "prompt 2" and not Path(os.environ["MENDED"]).exists():
        raise KeyError("no such thing")
    return rows(unit)


def exiting(unit: Unit) -> list[dict[str, Any]]:
    if unit.prompt == "prompt 2":
        os._exit(3)
    return rows(unit)


def each(function: Callable[[Unit], Any], units: Sequence[Unit]) -> list[Any]:
    """Return what a function of one unit gives for each: work, when bound to the function by `partial`."""
    return [function(unit) for unit in units]


def run(out: Path, count: int, function: Any = rows, **options: Any) -> Report:
    return run_units(units(count), partial(each, function), out, origin=ORIGIN, progress=False, **options)


def run_quietly(out: str, count: int, batch: int, started: str) -> None:
    """Run in a process that will be killed; say first that it begins."""
    Path(started).touch()
    run(Path(out), count, slow, batch=batch)


def table(out: Path) -> list[Any]:
    frame = read_unit_rows(out)
    return [list(frame.columns), *frame.to_dict("records")]


def prompts(out: Path) -> list[str]:
    return read_unit_rows(out)["prompt"].tolist()


def asked(folder: Path) -> Sequence[str]:
    """Return the prompts that `slow` was asked for, in all processes."""
    return [line for path in folder.glob("*") for line in path.read_text().splitlines()]


def who(unit: Unit) -> list[dict[str, Any]]:
    return [{"pid": os.getpid()}]
