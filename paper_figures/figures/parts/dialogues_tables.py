"""Tables of dialogues side by side: how often nothing differs, the answers, and words counted beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paper_figures.exhibits.differences import span
from paper_figures.exhibits.names import guide_names, method_name
from paper_figures.exhibits.paper_beside_ours import beside
from paper_figures.exhibits.runs import Results, lookup, setting
from paper_figures.figures.parts.dialogues_text import counted, who
from paper_figures.table import Table
from rws_theory.printed import printed_in

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Examples:
    """The run, what it shows (`examples.json`), and which dialogue is drawn with which guide's answers.

    drawn: the first shown dialogue in which the first guide's RWS has other words than the default, else the first
    shown; None if none was traced.
    """

    run: Results
    shown: Mapping[str, Any]
    drawn: Mapping[str, Any] | None
    guide: str

    def answers(self, turn: Row) -> list[Row]:
        """Return a turn's answers that are drawn: the default's, then RWS's and the constant's of one guide."""
        rows = [answer for answer in turn["answers"] if answer["guide"] in (None, self.guide) and answer.get("tokens")]
        order = ("default", "rws", "constant")
        chosen = [next((answer for answer in rows if answer["method"] == method), None) for method in order]
        return [answer for answer in chosen if answer is not None]


def tables(data: Examples) -> tuple[Table, ...]:
    """Return how often nothing differs, the answers shown, and the words of the paper's dialogue beside ours."""
    return (_identical(data), _answers(data), _counts(data))


def _identical(data: Examples) -> Table:
    table = [row for row in data.run.rows.get("identical", ()) if row["method"] != "default"]
    table.sort(key=lambda row: row["method"] != "rws")
    names = guide_names(table)
    columns = {
        "identical": "same in all turns, %",
        "identical_first": "same in the first turn, %",
        "net": "net by own guide, points",
        "others_net": "net by other reward models, points",
        "coherent": "coherent, %",
    }
    rows, shown = [], []
    order = {key: position for position, key in enumerate(names)}
    keys = dict.fromkeys((row["guide"], row["reward_scale"], row["method"]) for row in table)
    for key in sorted(keys, key=lambda key: order[key[:2]]):
        where = dict(zip(("guide", "reward_scale", "method"), key, strict=True))
        line: dict[str, Any] = {"guide": names[key[:2]], "s_R": key[1], "method": key[2]}
        text: dict[str, str | None] = {"guide": names[key[:2]], "s_R": f"{key[1]:g}", "method": method_name(key[2])}
        for measure, column in columns.items():
            row = lookup(table, **where, measure=measure)
            if row is None and measure == "coherent":
                continue
            line |= {column: None if row is None or row["mean"] is None else 100 * row["mean"]}
            line |= {f"{column}, {end}": None if row is None or row[end] is None else 100 * row[end] for end in _ENDS}
            text[column] = span(row, 100)
        rows.append(line | {"dialogues": max((row["n"] for row in table), default=0)})
        shown.append(text)
    caption = (
        f"How often a method's answers have exactly the default's words, over all {data.shown['test']} test dialogues "
        f"and not only those shown, and how reward models judge the rest. {setting(data.run)} Brackets: 95 % intervals."
    )
    return Table("dialogues_identical", rows, shown, caption)


_ENDS = ("low", "high")


def _answers(data: Examples) -> Table:
    rows, shown = [], []
    for dialogue in data.shown["dialogues"]:
        for number, turn in enumerate(dialogue["turns"], start=1):
            for answer in turn["answers"]:
                line = {"dialogue": dialogue["name"], "turn": number, "answer of": who(answer)}
                measured = {
                    "same as the default": answer["same"],
                    "coherent": answer["coherent"],
                    "GOD, steps": answer["god_steps"],
                }
                scores = {f"score, {judge}": score for judge, score in answer["scores"].items()}
                rows.append(line | {"text": answer["text"]} | measured | scores)
                same = answer["same"] and answer["method"] != "default"
                text = "as the default" if same else _start(answer["text"])
                shown.append(
                    {name: str(value) for name, value in line.items()}
                    | {"text": text}
                    | {name: _shown(value) for name, value in (measured | scores).items()}
                )
    caption = (
        f"The dialogues shown: {data.shown['text']}. Scores are raw. Long answers are shortened here; the CSV and the "
        "texts have the whole answers."
    )
    return Table("dialogues_answers", rows, shown, caption)


def _start(text: str, most: int = 70) -> str:
    flat = " ".join(text.split()) or "(empty)"
    return flat if len(flat) <= most else f"{flat[:most].rpartition(' ')[0]} …"


def _shown(value: Any) -> str | None:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return None if value is None else f"{value:.4g}"


def _counts(data: Examples) -> Table:
    table = printed_in("dialogues")
    printed: dict[str, dict[str, Any]] = {}
    for row in table["rows"]:
        name = "RWS" if row["method"] == "rws" else row["method"]
        cell = {f"{name}, words": row["words"], f"{name}, repeating the word before": row["doubled"]}
        printed.setdefault(f"turn {row['turn']}", {}).update(cell)
    here: dict[str, dict[str, Any]] = {}
    for number, by_method in counted_answers(data).items():
        for name, (words, doubled) in by_method.items():
            cell = {f"{name}, words": words, f"{name}, repeating the word before": doubled}
            here.setdefault(f"turn {number}", {}).update(cell)
    caption = (
        f"Left: {table['where']}: {table['task']}; counted from the printed text. Right: all answers shown here, RWS "
        f"of the guide {data.guide}, added up over {len(data.shown['dialogues'])} dialogues."
    )
    return beside("dialogues_counts", "answers", printed, here, caption)


def counted_answers(data: Examples) -> dict[int, dict[str, tuple[int, int]]]:
    """Return turn -> method -> words, and words that repeat the one before, of all dialogues shown."""
    counts: dict[int, dict[str, tuple[int, int]]] = {}
    for dialogue in data.shown["dialogues"]:
        for number, turn in enumerate(dialogue["turns"], start=1):
            for answer in turn["answers"]:
                if answer["method"] == "default" or (answer["method"], answer["guide"]) == ("rws", data.guide):
                    name, totals = "RWS" if answer["method"] == "rws" else "default", counts.setdefault(number, {})
                    words, doubled = counted(answer["text"])
                    totals[name] = (totals.get(name, (0, 0))[0] + words, totals.get(name, (0, 0))[1] + doubled)
    return counts
