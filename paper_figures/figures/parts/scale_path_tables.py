"""Tables and headline of the complete scale paths: answers, pieces, what RWS did, and counts over the prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paper_figures.figures.parts.scale_path_data import AXES, WORDS, Profile, letters
from paper_figures.table import Table

Row = Mapping[str, Any]
_NAMES = {"temperature_width": "width in c", "reward_width": "width in s_R", "reward": "guide"}


def tables(data: Profile) -> tuple[Table, ...]:
    """Return the drawn prompt's answers and pieces, what RWS did, and the counts over all prompts."""
    return (_answers(data), _counts(data), _walked(data), _pieces(data))


def _answers(data: Profile) -> Table:
    names = ("temperature_width", "reward_width", "coherent", "violations", "reward", "judge", "perplexity", "text")
    missed = {over: data.missed(over) for over in AXES}
    rows: list[dict[str, Any]] = []
    for number, output in enumerate(data.drawn["outputs"]):
        row: dict[str, Any] = {"answer": letters(number)}
        for over, name in zip(AXES, ("c", "s_R"), strict=True):
            reached = any(piece["output"] == number for piece in data.path(over)["pieces"])
            row[f"grid of {name}"] = None if not reached else "misses it" if number in missed[over] else "gives it"
        rows.append(row | {name: output[name] for name in names})
    shown = [{_NAMES.get(name, name): _text(value) for name, value in row.items()} for row in rows]
    caption = (
        f"Every answer to the drawn prompt, “{data.drawn['prompt']}” A width is ln(upper / lower) of the scales that "
        "give the answer, 0 if none in the range does. A grid misses an answer if none of its points gives it. "
        "Coherent: no rule of the story language is broken. Guide and judge: normalised scores."
    )
    return Table("scale_path", rows, shown, caption)


def _counts(data: Profile) -> Table:
    rows = [dict(row) for row in data.summary]
    shown = [{name.replace("_", " "): _text(value) for name, value in row.items()} for row in rows]
    caption = (
        f"Counts of both axes, prompt by prompt and added up. Grid: {_listed(data.grid)}. Missed: answers that no "
        "point of it gives, and the ln of upper / lower of the scales that do. Best judge: the greatest score of the "
        "judge on the whole axis and on the grid, in the last rows the mean over prompts."
    )
    return Table("scale_path_counts", rows, shown, caption)


def _walked(data: Profile) -> Table:
    rows = [
        {
            "prompt": prompt["index"],
            "reward scale": walk["reward_scale"],
            "least factor": min(walk["factors"]),
            "greatest factor": max(walk["factors"]),
            "answer": None if walk["output"] is None else letters(walk["output"]),
            "given by a constant factor": _given(prompt, walk),
            "as the path over s_R says": walk["on_path"],
            "GOD, tokens": walk["god_tokens"],
            "GOD, steps": walk["god_steps"],
        }
        for prompt in data.prompts
        for walk in prompt["walks"]
    ]
    caption = (
        "RWS decoded at given reward scales: the range of its factors over the steps, its answer (letters are of each "
        "prompt's own), and whether some constant factor in the range gives that answer too."
    )
    return Table(
        "scale_path_walks", rows, [{name: _text(value) for name, value in row.items()} for row in rows], caption
    )


def _given(prompt: Row, walk: Row) -> bool | None:
    """Return whether a constant factor gives the walk's answer; None if that is not known."""
    if walk["output"] is None:
        whole = all(path["certified"] for path in prompt["paths"])
        return False if whole else None
    given = prompt["outputs"][walk["output"]]["by_temperature"]
    return None if given is None else bool(given)


def _pieces(data: Profile) -> Table:
    rows = []
    for over in AXES:
        for piece in data.path(over)["pieces"]:
            output = data.drawn["outputs"][piece["output"]]
            row = {"axis": WORDS[over], "from": piece["lower"], "to": piece["upper"]}
            row |= {"answer": letters(piece["output"]), "GOD, tokens": piece["god_tokens"]}
            row |= {"GOD, steps": piece["god_steps"], "guide": output["reward"], "judge": output["judge"]}
            rows.append(row | {"perplexity": output["perplexity"], "commit steps": _joined(piece["commit_step"])})
    shown = [{name: _text(value) for name, value in row.items() if name != "commit steps"} for row in rows]
    caption = (
        "Every piece of both axes of the drawn prompt: between its ends, enclosed to a relative 1e-12 where certified, "
        "decoding gives this answer in this order. The CSV has the step at which each position is committed."
    )
    return Table("scale_path_pieces", rows, shown, caption)


def _joined(steps: Sequence[int]) -> str:
    return " ".join(map(str, steps))


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return None if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _listed(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:g}" for number in numbers)


def headline(data: Profile) -> str:
    """Return how many answers a constant factor gives on the whole axis, and how many of them on the grid."""
    rows = data.rows("temperature")
    total = {name: sum(row[name] for row in rows) for name in ("outputs", "grid_outputs", "missed")}
    whole = all(row["certified"] for row in rows)
    return (
        f"Over all {WORDS['temperature']} from {_ends(data)}, {_prompts(len(rows))} "
        f"{'has' if len(rows) == 1 else 'have'} {total['outputs']} distinct answer"
        f"{'' if total['outputs'] == 1 else 's'}"
        f"{', which is proved' if whole else ' as far as was followed'}; the "
        f"{len(data.grid)} points of the printed grid give {total['grid_outputs']} and miss {total['missed']}."
    )


def _ends(data: Profile) -> str:
    return f"{data.settings['scale_min']:g} to {data.settings['scale_max']:g}"


def _prompts(count: int) -> str:
    return f"{count} prompt{'' if count == 1 else 's'}"
