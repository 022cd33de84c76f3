"""Choose dialogues by a rule and put them side by side, as data and as a page."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from paper_figures.studies.design.methods import COMPARED
from paper_figures.studies.summaries.answers import dialogues_of
from paper_figures.table import to_markdown
from paper_figures.table_text import WIDTH
from rws_theory.show import printable

_RULES = {
    "first": "the first of the test prompts, whatever was answered",
    "random": "drawn by the seed {seed} from the test prompts, whatever was answered",
    "different": "the first of the {different} test prompts where RWS of some guide answers otherwise than the default",
}


def pick(answers: pd.DataFrame, names: Sequence[str], rule: str, count: int, seed: int = 0) -> dict[str, Any]:
    """Choose prompts by a rule, and return their names with what to say about the choice.

    `answers` is the frame of `answers.answers_of`. `names` are the names of all test prompts, in order. A prompt counts
    if the dialogues of the default and of every rws are whole. The result has these keys:

    - `names`: at most `count` chosen prompts, in the order of the prompts;
    - `rule`, `text` and `seed`: the rule, what it says in words, and the seed;
    - `test`: how many prompts count; `different`: on how many of them some rws differs from the default;
    - `identical`: for each guide and reward scale, the share of prompts where rws answers as the default in every turn.
    """
    dialogues = dialogues_of(answers)
    rws = dialogues[dialogues["method"] == "rws"].assign(same=lambda rows: rows["replied"] == rows["default_replied"])
    complete = rws.groupby("example").size()
    usable = [name for name in names if complete.get(name, 0) == complete.max()] if len(complete) else []
    rws = rws[rws["example"].isin(usable)]
    changed = set(rws[~rws["same"]]["example"])
    different = [name for name in usable if name in changed]
    if rule == "different":
        picked = different[:count]
    elif rule == "random":
        indices = np.random.default_rng(seed).choice(len(usable), min(count, len(usable)), replace=False)
        picked = [usable[index] for index in sorted(indices.tolist())]
    else:
        picked = usable[:count]
    shares = rws.groupby(["guide", "reward_scale"])["same"].mean().reset_index().to_dict("records")
    return {
        "names": picked,
        "rule": rule,
        "text": _RULES[rule].format(seed=seed, different=len(different)),
        "seed": seed,
        "test": len(usable),
        "different": len(different),
        "identical": [{**row, "same": float(row["same"])} for row in shares],
    }


def side_by_side(answers: pd.DataFrame, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the chosen dialogues with all answers to each turn, as JSON-ready data.

    The result says what was chosen and how, and holds `dialogues`. A dialogue has `name` and `turns`. A turn has
    `prompt` and `answers`. An answer has:

    - method; guide and reward_scale, None for the default; text;
    - `same`, whether the text is the default's; coherent; god_steps;
    - `scores`, the raw scores by judge;
    - `tokens`, if it was traced: {"text", "step"} up to the end of the text.
    """
    scored = [str(column) for column in answers if str(column).startswith("score of ")]
    # The answers of default and margin are repeated for every guide: one of each is kept.
    free = answers["method"].isin(["default", "margin"])
    once = answers.assign(guide=answers["guide"].mask(free), reward_scale=answers["reward_scale"].mask(free))
    once = once.drop_duplicates(["example", "turn", "method", "guide", "reward_scale"])
    order = ["default", *(method for method in COMPARED if method != "default")]
    dialogues = []
    for name in chosen["names"]:
        turns = []
        for _, rows in once[once["example"] == name].groupby("turn"):
            # The order in which results were stored must not matter.
            answered = sorted(
                rows.to_dict("records"),
                key=lambda row: (order.index(row["method"]), str(_known(row["guide"])), row["reward_scale"]),
            )
            default = answered[0]["text"]
            answer_entries = [_answer(row, default, scored) for row in answered]
            turns.append({"prompt": answered[0]["prompt"], "answers": answer_entries})
        dialogues.append({"name": name, "turns": turns})
    return {**chosen, "dialogues": dialogues}


def _answer(row: Mapping[str, Any], default: str, scored: Sequence[str]) -> dict[str, Any]:
    coherent = row.get("coherent")
    answer: dict[str, Any] = {
        **{name: _known(row[name]) for name in ("method", "guide", "reward_scale", "text")},
        "same": row["text"] == default,
        "coherent": None if _known(coherent) is None else bool(coherent),
        "god_steps": row["god_steps"],
        "scores": {name.removeprefix("score of "): _known(row[name]) for name in scored},
    }
    pieces = _known(row.get("pieces"))
    if pieces is not None:
        steps = zip(pieces, row["piece_steps"], strict=True)
        answer["tokens"] = [{"text": text, "step": int(step)} for text, step in steps]
    return answer


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and value != value else value


def page(shown: Mapping[str, Any]) -> str:
    """Format the dialogues as Markdown: for each turn a table of answers, then the order of the commits."""
    dialogues = shown["dialogues"]
    lines = [
        "# Dialogues side by side",
        "",
        f"Shown are {len(dialogues)} of {shown['test']} test prompts: {shown['text']}.",
        "",
        "RWS answers as the default does in every turn: "
        + "; ".join(
            f"{row['guide']} (s_R {row['reward_scale']:g}) in {row['same']:.0%} of the test prompts"
            for row in shown["identical"]
        )
        + ".",
        "",
        "Every method goes on with its own answers. score: raw, by each reward model; coherent: right, by the story "
        "language itself, where the prompt is of it; GOD in steps, over the whole canvas. Under each table: the tokens "
        "with the step that set them, from 0, `_` for one that adds no text, up to the end of the text.",
    ]
    for dialogue in dialogues:
        lines += ["", f"## {dialogue['name']}"]
        for number, turn in enumerate(dialogue["turns"], start=1):
            lines += ["", f"### Turn {number}", "", *(f"> {line}" for line in turn["prompt"].splitlines()), ""]
            lines.append(to_markdown([_row(answer) for answer in turn["answers"]]).rstrip())
            orders = [
                f"- {_who(answer)}: {_order(answer['tokens'])}" for answer in turn["answers"] if answer.get("tokens")
            ]
            lines += ["", *orders] if orders else []
    if not dialogues:
        lines += ["", "The rule chooses none."]
    return "\n".join(lines) + "\n"


def answers_text(shown: Mapping[str, Any]) -> str:
    """Return the dialogues for a terminal: prompts and answers alone."""
    dialogues = shown["dialogues"]
    lines = [f"Shown are {len(dialogues)} of {shown['test']} test prompts: {shown['text']}."]
    for dialogue in dialogues:
        for number, turn in enumerate(dialogue["turns"], start=1):
            lines += ["", f"{dialogue['name']}, turn {number}: {printable(turn['prompt'])}"]
            lines += [f"  {_who(answer)}: {printable(_said(answer))}" for answer in turn["answers"]]
    return "\n".join(textwrap.fill(line, WIDTH, subsequent_indent="    ") for line in lines) + "\n"


def _said(answer: Mapping[str, Any]) -> str:
    return "(as the default)" if answer["same"] and answer["method"] != "default" else answer["text"] or "(empty)"


def _row(answer: Mapping[str, Any]) -> dict[str, Any]:
    scores = {f"score, {judge}": score for judge, score in answer["scores"].items()}
    return {
        "method": _who(answer),
        "answer": "<br>".join(_said(answer).splitlines()),
        "coherent": answer["coherent"],
        "GOD": float(answer["god_steps"]),
        **scores,
    }


def _who(answer: Mapping[str, Any]) -> str:
    return (
        answer["method"]
        if answer["guide"] is None
        else f"{answer['method']}, {answer['guide']} (s_R {answer['reward_scale']:g})"
    )


def _order(tokens: Sequence[Mapping[str, Any]]) -> str:
    words = [(token["text"].strip(" ").replace("\n", "\\n") or "_", token["step"]) for token in tokens]
    return " ".join(f"`{word.replace('`', chr(39))}`<sub>{step}</sub>" for word, step in words)
