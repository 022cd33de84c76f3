"""Dialogues side by side, chosen by a stated rule: the default, RWS and a constant factor.

Shows: the dialogues as text; one of them token by token, coloured by commit step; how often nothing differs at all; and
the number of words in the paper's one dialogue beside ours.
Inputs: RUNS/examples/results.json and examples.json, made by `python -m paper_figures experiment examples --out RUNS`.
Run time: two seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paper_figures.exhibits.differences import difference_from_row, span
from paper_figures.exhibits.exhibit import Exhibit, Passage, Picture
from paper_figures.exhibits.findings import tally
from paper_figures.exhibits.names import guide_names
from paper_figures.exhibits.runs import lookup, read_results_json, read_run, renamed, setting
from paper_figures.figures.parts.dialogues_picture import NAMES, draw, left_out
from paper_figures.figures.parts.dialogues_tables import Examples, counted_answers, tables
from paper_figures.figures.parts.dialogues_text import dialogue_text
from paper_figures.plan import command
from rws_theory.printed import printed_in

__all__ = ["Examples", "compute", "draw", "exhibit", "tables"]

Row = Mapping[str, Any]

NEEDS: tuple[str, ...] = ("examples",)
_PARTS = ("names", "text", "test", "different", "identical", "dialogues")


def compute(runs: Path) -> Examples:
    """Read the run and the dialogues that it shows; MissingRun, with the command, if either is missing."""
    run = read_run(runs, NEEDS[0])
    results = read_results_json(runs / NEEDS[0] / "examples.json", command(NEEDS[0], runs), _PARTS)
    shown = renamed(results, run.names)
    guide = run.settings["rewards"][0]
    usable = [
        dialogue
        for dialogue in shown["dialogues"]
        if any(turn["answers"][0].get("tokens") for turn in dialogue["turns"])
    ]
    first = next((dialogue for dialogue in usable if _differs(dialogue, guide)), usable[0] if usable else None)
    return Examples(run, shown, first, guide)


def _differs(dialogue: Row, guide: str) -> bool:
    answers = (answer for turn in dialogue["turns"] for answer in turn["answers"])
    return any(not answer["same"] for answer in answers if (answer["method"], answer["guide"]) == ("rws", guide))


def exhibit(runs: Path) -> Exhibit:
    """Return the dialogues as texts, one of them drawn, and the tables, from the results below `runs`."""
    data = compute(runs)
    shown = data.shown["dialogues"]
    passages = [
        Passage(
            f"dialogues_{number}",
            dialogue_text(dialogue),
            f"Dialogue {number} of the {len(shown)} shown, chosen by the rule: {data.shown['text']}. Left: the "
            "default. Right: what other methods answered. Every method continues with its own answers.",
        )
        for number, dialogue in enumerate(shown, start=1)
    ]
    pictures = () if data.drawn is None else (Picture("dialogues", draw(data), _caption(data), _alt(data)),)
    return Exhibit(
        "Dialogues, side by side",
        pictures,
        tables(data),
        passages=tuple(passages),
        conclusions=_conclusions(data),
        inputs=(*data.run.inputs, f"{NEEDS[0]}/examples.json"),
    )


def _caption(data: Examples) -> str:
    assert data.drawn is not None
    differ = "the first shown in which RWS has other words" if _differs(data.drawn, data.guide) else "the first shown"
    more = "; what is beyond nine lines is left out" if left_out(data) else ""
    return (
        f"Dialogue {data.drawn['name']}, {differ}; shown are {data.shown['text']}. RWS and the constant of equal mean, "
        f"guide {data.guide}. Each cell is a token, up to the end of the text{more}. Dark cells were committed late. "
        f"{setting(data.run)}"
    )


def _alt(data: Examples) -> str:
    assert data.drawn is not None
    lines = []
    for number, turn in enumerate(data.drawn["turns"], start=1):
        for answer in data.answers(turn):
            steps = [token["step"] for token in answer["tokens"]]
            words = " ".join(answer["text"].split()[:12])
            more = " …" if len(answer["text"].split()) > 12 else ""
            lines.append(
                f"Turn {number}, {NAMES[answer['method']]}: “{words}{more}”, {len(steps)} tokens, committed in steps "
                f"{min(steps)} to {max(steps)}."
            )
    return f"Rows of words in cells shaded by the step that committed them. {' '.join(lines)}"


def _conclusions(data: Examples) -> tuple[str, ...]:
    table = data.run.rows.get("identical", ())
    names = guide_names(table)
    lines = []
    same = [
        f"{name} {span(row, 100)} %"
        for (guide, scale), name in names.items()
        if (row := lookup(table, guide=guide, reward_scale=scale, method="rws", measure="identical")) is not None
    ]
    if same:
        lines.append(
            f"RWS answers every turn in exactly the default's words in this share of {data.shown['test']} test "
            f"dialogues: {'; '.join(same)}."
        )
    for measure, what in (
        ("identical", "share of dialogues with the default's words"),
        ("net", "net win rate by its own guide"),
        ("others_net", "net win rate by the other reward models"),
        ("coherent", "share coherent"),
    ):
        rows = {
            name: lookup(table, guide=guide, reward_scale=scale, method="constant", measure=measure)
            for (guide, scale), name in names.items()
        }
        differences = [
            difference for name, row in rows.items() if (difference := difference_from_row(name, row, 100)) is not None
        ]
        if differences:
            summary = tally(differences, "reward models")
            lines.append(f"RWS minus a constant factor of equal mean on dialogues, {what}, points: {summary}")
    lines += [*_orders(data), _doubled(data)]
    return tuple(lines)


def _orders(data: Examples) -> list[str]:
    """Return how often answers with the same words were committed in other steps, RWS beside default and constant."""
    lines = []
    for method, called in (("default", "the default"), ("constant", "the constant")):
        pairs = [
            (ours, other)
            for dialogue in data.shown["dialogues"]
            for turn in dialogue["turns"]
            for ours in turn["answers"]
            for other in turn["answers"]
            if ours["method"] == "rws" and other["method"] == method and other["guide"] in (None, ours["guide"])
            if other["reward_scale"] in (None, ours["reward_scale"]) and ours.get("tokens") and other.get("tokens")
        ]
        same = [(ours, other) for ours, other in pairs if ours["text"] == other["text"]]
        steps = sum([t["step"] for t in ours["tokens"]] != [t["step"] for t in other["tokens"]] for ours, other in same)
        if pairs:
            lines.append(
                f"Of {len(pairs)} answers of RWS shown, {len(same)} have the words of {called}'s; {steps} of these "
                "were committed in other steps."
            )
    return lines


def _doubled(data: Examples) -> str:
    printed = printed_in("dialogues")
    in_paper = []
    for method, name in (("default", "the default"), ("rws", "RWS")):
        rows = [row for row in printed["rows"] if row["method"] == method]
        in_paper.append(
            f"{sum(row['doubled'] for row in rows)} of {sum(row['words'] for row in rows)} words for {name}"
        )
    by_turn = counted_answers(data).values()
    here = []
    for name, called in (("default", "the default"), ("RWS", "RWS")):
        if all(name in counts for counts in by_turn):
            words, doubled = (sum(counts[name][part] for counts in by_turn) for part in (0, 1))
            here.append(f"{doubled} of {words} for {called}")
    return (
        f"In the paper's one dialogue ({printed['where']}), words that repeat the word before: {', '.join(in_paper)}; "
        f"in those shown here: {', '.join(here) or 'none to count'}. One dialogue says nothing about others, and the "
        "paper does not say how it was chosen."
    )
