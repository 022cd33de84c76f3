"""What was measured on devices as tables: what made it, Tables 11 and 12 as ratios, goals, ways, savings, kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from paper_figures.exhibits.paper_beside_ours import beside, number_text
from paper_figures.measured import Measurement
from paper_figures.table import Table
from rws_theory.printed import printed_in

__all__ = ["OVERHEADS", "called", "measured_tables", "printed_overheads"]

Rows = list[dict[str, Any]]
_MIB, _GIB = 2**20, 2**30
# What `bench.tables.overhead` compares, in words.
OVERHEADS = {"ours": "ours", "every step": "ours, asked at every step", "naive": "the naive loop over the plain loop"}


def called(measured: Sequence[Measurement]) -> dict[str, Measurement]:
    """Return what each measurement is called -> it: its device and shape, and its file where that is not enough."""
    short = [
        ", ".join(filter(None, (measurement.made["device"], measurement.settings.get("shape"))))
        for measurement in measured
    ]
    return {
        name
        if short.count(name) == 1
        else f"{name} ({measurement.name.rpartition('/')[2].removesuffix('.json')})": measurement
        for name, measurement in zip(short, measured, strict=True)
    }


def printed_overheads() -> dict[str, tuple[float, int]]:
    """Return reward model -> increase in percent that the printed seconds amount to, and the printed MiB added.

    >>> increase, mib = printed_overheads()["GRM"]
    >>> round(increase, 1), mib
    (21.8, 6542)
    """
    table = printed_in("table11_overhead")
    base = table["default_seconds"]
    return {row["model"]: (100 * (row["seconds"] / base - 1), row["memory_mib"]) for row in table["rows"]}


def measured_tables(measured: Sequence[Measurement]) -> tuple[Table, ...]:
    """Return all tables; those of which no file has a row are empty."""
    named = called(measured)
    if not named:
        return ()
    return (
        _made_with(named),
        _overhead(named),
        _frequency(named),
        *(_table(f"device_cost_{table}", table, named, caption) for table, caption in _CAPTIONS.items()),
    )


def _made_with(named: Mapping[str, Measurement]) -> Table:
    rows: Rows = []
    shown: Rows = []
    for name, measurement in named.items():
        made, settings, checks = measurement.made, measurement.settings, len(measurement.content["checks"])
        changed = {True: " (changed)", False: "", None: " (whether changed is not known)"}[made["changed"]]
        words = [f"{key} {made[key]}" for key in ("driver", "cuda", "torch", "triton") if made[key]]
        lengths = ("prompt", "length", "steps", "block")
        answer = ", ".join(f"{key} {settings[key]}" for key in lengths if key in settings)
        rows.append(
            {
                "measured on": name,
                "date": made["date"],
                "commit": f"{made['commit'] or 'not known'}{changed}",
                "precision": settings.get("dtype"),
                "answer": answer or None,
                "libraries": ", ".join(words),
                "self-check": f"{checks - len(measurement.failed)} of {checks} passed",
                "run": "complete" if measurement.complete else "not complete: what it has is shown",
                "command": made["command"],
                "file": measurement.name,
            }
        )
        commit = f"{made['commit'][:12]}{changed}" if made["commit"] else rows[-1]["commit"]
        shown.append(rows[-1] | {"commit": commit, "date": made["date"].partition("T")[0]})
    caption = "What each measurement was made with. Its file holds all seconds, checks, notes and versions."
    return Table("device_cost_devices", rows, shown, caption)


def _overhead(named: Mapping[str, Measurement]) -> Table:
    printed = {
        f"RWS, {model}": {"increase, %, computed": round(increase, 2), "memory, MiB": mib}
        for model, (increase, mib) in printed_overheads().items()
    }
    here = {}
    for name, measurement in named.items():
        for row in measurement.rows("overhead"):
            added = None if row["added_bytes"] is None else row["added_bytes"] / _MIB
            line = f"{name}, batch {row['batch']}, {OVERHEADS.get(row['of'], row['of'])}"
            here[line] = {"increase, %": row["increase"], "memory, MiB": added}
    table = printed_in("table11_overhead")
    caption = (
        "Table 11 on these devices: increase in time of RWS over the default, and memory added. Left: "
        f"{table['where']}, {table['task']}. Right: the compact decoder with all savings, whose calls left out depend "
        "on random weights' text; asked at every step; and the loops in use, RWS as its algorithm reads over the plain "
        "loop. Memory added: the reward model's weights, and what is further held at the peak; measured on CUDA alone. "
        "Increases can be compared, seconds of other hardware cannot."
    )
    shown = {name: {"increase, %": f"{row['increase, %']:+.1f}"} for name, row in here.items()}
    shown |= {
        name: shown[name] | {"memory, MiB": f"{row['memory, MiB']:,.0f}"}
        for name, row in here.items()
        if row["memory, MiB"] is not None
    }
    return beside("device_cost_overhead", "RWS", printed, here, caption, shown) if here else _none("overhead")


def _frequency(named: Mapping[str, Measurement]) -> Table:
    table = printed_in("table12_frequency")
    seconds = {row["every"]: row["seconds"] for row in table["rows"]}
    printed: dict[int | None, tuple[float | None, float | None]] = {}
    printed[None] = (table["default"]["seconds"] / seconds[1], None)
    printed |= {row["every"]: (row["seconds"] / seconds[1], row["increase"]) for row in table["rows"]}
    rows: Rows = []
    shown: Rows = []
    for name, measurement in named.items():
        for row in measurement.rows("frequency"):
            every = row["every"]
            asked = "never (default)" if every is None else "every step" if every == 1 else f"every {every} steps"
            ratio, increase = printed.get(every, (None, None))
            comparable = every is not None and row["increase"] is not None
            # The default's increase over itself says nothing.
            ours = row["increase"] if comparable else None
            words = {"measured on": name, "asked": asked}
            numbers = {"paper: over every step's": ratio, "paper: increase, %": increase}
            numbers |= {"here: over every step's": row["over_every_step"], "here: increase, %": ours}
            numbers |= {"here: reward calls": row["reward_calls"]}
            rows.append(words | numbers)
            texts = {key: None if value is None else f"{value:.3f}" for key, value in numbers.items() if "over" in key}
            signed = {key: None if value is None else f"{value:+.1f}" for key, value in numbers.items() if "%" in key}
            shown.append(words | {key: number_text(value) for key, value in numbers.items()} | texts | signed)
    caption = (
        f"Table 12 on these devices, at the first batch: time over that of every step's, and increase over the "
        f"default. Printed: {table['where']}, {table['task']}; the first of these from its seconds. The compact "
        "decoder, which asks at each of these steps whatever the text: no call is left out."
    )
    return Table("device_cost_frequency", rows, shown, caption)


def _none(table: str) -> Table:
    return Table(f"device_cost_{table}", (), (), "")


def _yes(value: Any) -> str | None:
    return None if value is None else "yes" if value else "NO"


def _percent(value: Any) -> str | None:
    return None if value is None else f"{value:.1%}"


def _agreed(agreement: Any) -> str | None:
    if agreement is None:
        return None
    text = f"{agreement['equal']} of {agreement['answers']}"
    if agreement["equal"] == agreement["answers"]:
        return text
    return f"{text}; {agreement['explained']} part at a near-tie, {agreement['unexplained']} without one"


def _gib(value: Any) -> str | None:
    return None if value is None else f"{value / _GIB:.2f}"


def _met(value: Any) -> str | None:
    return None if value is None else "met" if value else "MISSED"


Column = tuple[str, Callable[[Any], str | None]]
# table -> what the file calls it -> what readers are told, and how its value is written.
_COLUMNS: dict[str, dict[str, Column]] = {
    "ratios": {
        "batch": ("batch", number_text),
        "name": ("ratio", number_text),
        "value": ("value", number_text),
        "goal": ("aimed at", number_text),
        "met": ("goal", _met),
    },
    "ways": {
        "batch": ("batch", number_text),
        "way": ("way", number_text),
        "ms_per_step": ("ms per step", number_text),
        "tokens_per_second": ("tokens per second", number_text),
        "memory_bytes": ("GiB above the weights", _gib),
        "reward_calls": ("reward calls", number_text),
        "reward_calls_saved": ("calls left out", number_text),
        "compared": ("to have the tokens of", number_text),
        "agreement": ("answers that have", _agreed),
        "status": ("status", number_text),
    },
    "savings": {
        "method": ("method", number_text),
        "saving": ("saving", number_text),
        "off": ("time without it over all's", number_text),
        "alone": ("time without any over it alone", number_text),
    },
    "kernels": {
        "dtype": ("logits", number_text),
        "factors": ("factors G", number_text),
        "way": ("way", number_text),
        "ms": ("ms", number_text),
        "share": ("share of copy bandwidth", _percent),
        "goal": ("aimed at", _percent),
        "error": ("largest error of log F", number_text),
        "tokens": ("all tokens right", _yes),
        "leads": ("all leads right", _yes),
        "status": ("status", number_text),
    },
}
_CAPTIONS = {
    "ratios": (
        "Ratios by batch, beside what is aimed at for LLaDA-8B's shape on a GPU. Floor: operations and bytes of a step "
        "over the rates measured on the device."
    ),
    "ways": (
        "Each way to decode, by batch: median time per step, answer tokens per second, the peak of memory above all "
        "weights (CUDA alone), reward calls, and whether its tokens are those of the loop that it ought to agree with; "
        "an answer may part from it at a counted near-tie."
    ),
    "savings": "What each saving of the compact decoder is worth, left out of all, and alone.",
    "kernels": (
        "Ways to read the logits: candidate, lead over the runner-up and log F at G factors in one pass, beside what "
        "loops in use run in its place. Share: bytes of the logits over time and measured copy bandwidth, beside what "
        "is aimed at on a GPU."
    ),
}


def _table(stem: str, table: str, named: Mapping[str, Measurement], caption: str) -> Table:
    """Return a table of the files as they have it, the device's name before each row."""
    rows: Rows = []
    shown: Rows = []
    for name, measurement in named.items():
        for row in measurement.rows(table):
            if table == "ways" and row["group"] != "ways":
                continue  # the times behind `savings`
            if not measurement.of_goals:
                row = {**row, "goal": None, "met": None}
            texts = {label: form(row[field]) for field, (label, form) in _COLUMNS[table].items()}
            plain = {label: row[field] for field, (label, _) in _COLUMNS[table].items()}
            if table == "ways":
                plain["answers that have"] = texts["answers that have"]
                plain["GiB above the weights"] = None if row["memory_bytes"] is None else row["memory_bytes"] / _GIB
            rows.append({"measured on": name} | plain)
            shown.append({"measured on": name} | texts)
    return Table(stem, rows, shown, caption)
