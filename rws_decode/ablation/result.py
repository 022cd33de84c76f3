"""What an ablation found: its rows as they are decoded, the comparison with each twin, and the verdict."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import textwrap
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rws_decode.ablation.sequence import confidence_sequence
from rws_decode.ablation.twins import SENTENCES
from rws_decode.ablation.verdict import WITHOUT, ComparisonVerdict, side_of, verdict_of
from rws_decode.common.files import json_lines, parse_json, read_json, write_bytes, write_json, write_text
from rws_decode.common.page import Page, picture
from rws_decode.common.plugins import hook
from rws_decode.trace.trace import Trace
from rws_theory.show import clipped

if TYPE_CHECKING:
    import pandas

__all__ = ["Ablation", "TwinComparison", "load_ablation"]

_LAYOUT = 1
_NOT_TOLD = ("rows", "examples", "examples_of")
DECODED = "decoded.jsonl"
_COLUMNS = ("prompt", "arm", "reward", "judge", "log_prob", "text", "forwards", "reward_calls")
_SAYS = {
    "the reward matters": "The reward matters here: no reward-blind twin has as much of it.",
    "only the temperature": "Only the temperature: {twin} has as much of the reward, or more.",
    "no effect": "The strategy has no effect here: confidence decoding has as much of the reward.",
    "worse than without": "The strategy is worse than none here: confidence decoding has more of the reward.",
    "undecided": "Undecided after {prompts} prompts{more}.",
}
_TWINS = {"fixed factor": "its own mean factor", "tuned fixed factor": "a tuned fixed factor"}


@dataclass(frozen=True)
class TwinComparison:
    """The strategy against one twin: the mean difference of a score, strategy minus twin, in SD, with its interval.

    n: prompts, or groups of them; distinct: pairs of texts that differ from one another; equal: prompts on which both
    wrote the same text.
    """

    twin: str
    difference: float
    low: float
    high: float
    verdict: ComparisonVerdict
    n: int
    distinct: int
    equal: int


@dataclass(frozen=True, repr=False)
class Ablation:
    """The outcome of `ablate`: a verdict, and a comparison of the strategy with each of its twins.

    comparisons: of the reward; judged and log_probs: the same of the judge and of the text's own log-probability, where
    there are any, with verdicts of their own. factor_variation: the median over prompts of the SD of the factor within
    a run as a share of its mean, None of a steering method; leverage: at which share of four validation prompts' steps
    other positions would be unmasked than by the mean factor of the run, "attainable" by the factors that all
    validation prompts had and "observed" by the step's own. stopped_after: prompts compared, of `prompts`. unit: the SD
    of the reward, in its own unit.

    rows: what each prompt's text by each method is, and is worth. examples: traces of prompts on which the strategy and
    the twin `examples_of` wrote different texts; they are not saved but on the page. digest: of what was asked.
    """

    strategy: str
    reward: str
    verdict: str
    comparisons: tuple[TwinComparison, ...]
    factor_variation: float | None
    leverage: dict[str, float] | None
    stopped_after: int
    prompts: int
    unit: float
    margin: float
    level: float
    bound: float
    more: int | None = None
    judge: str | None = None
    judge_verdict: str | None = None
    judged: tuple[TwinComparison, ...] = ()
    log_prob_verdict: str | None = None
    log_probs: tuple[TwinComparison, ...] = ()
    cost: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    digest: str = ""
    rows: tuple[dict[str, Any], ...] = ()
    examples: tuple[tuple[Trace, Trace], ...] = ()
    examples_of: str = ""

    def __repr__(self) -> str:
        return clipped(f"Ablation({self.strategy}, {self.reward}: {self.verdict}, {self.stopped_after} prompts)")

    def __str__(self) -> str:
        """Return verdict, table and what limits them, in lines of at most 80 characters."""
        lines = [self.line(), "", *self._table(f"reward [SD = {self.unit:.3g}]", self.comparisons)]
        for name, verdict, comparisons in self._beside():
            lines += ["", f"{name}: {verdict}", *self._table(f"{name} [SD]", comparisons)]
        return "\n".join([*lines, "", self.limits()])

    def limits(self) -> str:
        """Return what the verdict rests on and what limits it, in lines of at most 80 characters."""
        lines = [f"Intervals: {100 * self.level:g} % for all rows together, whenever you stop; margin {self.margin:g}."]
        if any(abs(each.difference) > 0.95 * self.bound for each in self.comparisons):
            lines.append(f"A prompt's difference beyond {self.bound:g} SD counts as {self.bound:g}.")
        if self.factor_variation is not None:
            lines.append(f"The factor varies by {100 * self.factor_variation:.1f} % within a run (median CV).")
        if self.leverage is not None:
            observed, attainable = (f"{self.leverage[name]:.0%}" for name in ("observed", "attainable"))
            lines.append(
                "On validation prompts it unmasked other positions than its mean factor would at "
                f"{observed} of steps; a factor in the range of those runs could have at {attainable}."
            )
            if self.leverage["attainable"] < 0.05:
                lines.append("The comparison with a fixed factor could hardly have come out otherwise.")
        lines += [*self.notes, f"Stopped after {self.stopped_after} of {self.prompts} prompts."]
        return "\n".join(line for each in lines for line in textwrap.wrap(each, 80))

    def line(self) -> str:
        """Return the verdict in a sentence."""
        names = [each.twin for each in self.comparisons if each.verdict in ("equivalent", "not better", "worse")]
        blind = [name for name in names if name != WITHOUT and not name.startswith("best of")]
        twin = next((name for name in blind if name != "sign turned"), "sign turned")
        more = f": about {self.more} more would decide" if self.more else ""
        twin_name = _TWINS.get(twin, f"the twin with {twin}")
        return _SAYS[self.verdict].format(twin=twin_name, prompts=self.stopped_after, more=more)

    def progress_line(self) -> str:
        """Return the verdict so far, and the two intervals that matter most."""
        two = (f"- {e.twin} {e.difference:+.2f} [{e.low:+.2f}, {e.high:+.2f}]" for e in self.comparisons[:2])
        return f"{self.stopped_after} prompts, {self.verdict}: {', '.join(two)}"

    def explain(self) -> str:
        """Return what each twin is, one sentence a line."""
        return "\n".join(f"{each.twin}: {SENTENCES[_kind(each.twin)]}" for each in self.comparisons)

    def as_json(self) -> dict[str, Any]:
        """Return the result as JSON-ready data, without its rows."""
        fields = asdict(replace(self, rows=(), examples=()))
        return {"layout": _LAYOUT, **{name: value for name, value in fields.items() if name not in _NOT_TOLD}}

    def to_frame(self) -> pandas.DataFrame:
        """Return a table of one row for each prompt and method, with the text and its scores."""
        import pandas

        return pandas.DataFrame([{name: row.get(name) for name in _COLUMNS} for row in self.rows])

    def plot(self, *, axes: Any = None) -> Any:
        """Return a figure of the intervals of all twins, with the margin (`plots.ablation`)."""
        from rws_decode.view.plots.ablation import ablation  # here, as no result needs matplotlib

        return ablation(self, axes=axes)

    def page(self) -> Page:
        """Return one HTML file with verdict, picture, table, and pairs of texts with their runs to scrub."""
        page: Page = picture("ablation_page", "result.page()")(self)
        return page

    def save(self, directory: str | os.PathLike[str]) -> Path:
        """Write result.json, decoded.jsonl, the table as table.csv, .md and .tex, picture.png and page.html.

        OSError where a file cannot be written; each is whole or absent.
        """
        folder = Path(directory)
        head = {"layout": _LAYOUT, "ablation": self.digest}
        write_text(folder / DECODED, "".join(json.dumps(row) + "\n" for row in (head, *self.rows)))
        for name, text in tables(self).items():
            write_text(folder / name, text)
        image = io.BytesIO()
        self.plot().savefig(image, format="png", dpi=150)
        write_bytes(folder / "picture.png", image.getvalue())
        if (make := hook("ablation_page")) is not None:
            make(self).save(folder / "page.html")
        write_json(folder / "result.json", self.as_json())
        return folder

    def _beside(self) -> Iterable[tuple[str, str, tuple[TwinComparison, ...]]]:
        if self.judge_verdict is not None:
            yield f"judge {self.judge}", self.judge_verdict, self.judged
        if self.log_prob_verdict is not None:
            yield "log p per token", self.log_prob_verdict, self.log_probs

    def _table(self, head: str, comparisons: Sequence[TwinComparison]) -> list[str]:
        width = max(len(self.strategy) + 6, *(len(each.twin) for each in comparisons))
        lines = [f"{self.strategy + ' minus':{width}}  {head:20}  {'prompts':>7}  {'same text':>9}  verdict"]
        for each in comparisons:
            value = f"{each.difference:+.2f} [{each.low:+.2f}, {each.high:+.2f}]"
            lines.append(f"{each.twin:{width}}  {value:20}  {each.n:7d}  {each.equal:9d}  {each.verdict}")
        return lines


def load_ablation(directory: str | os.PathLike[str]) -> Ablation:
    """Return the ablation that `Ablation.save`, or `rws ablate`, has written there.

    ValueError for a file that holds none, OSError where it cannot be read.
    """
    folder = Path(directory)
    fields = read_json(folder / "result.json")
    if not isinstance(fields, dict) or fields.pop("layout", None) != _LAYOUT:
        raise ValueError(f"{folder / 'result.json'} holds no ablation of layout {_LAYOUT}")
    for name in ("comparisons", "judged", "log_probs"):
        fields[name] = tuple(TwinComparison(**each) for each in fields[name])
    fields["notes"] = tuple(fields["notes"])
    rows = tuple(row for _, row in json_lines(folder / DECODED) if "arm" in row)
    try:
        return Ablation(**fields, rows=rows)
    except TypeError as error:
        raise ValueError(f"{folder / 'result.json'} holds no ablation: {error}") from None


class AblationRows:
    """The scores of each prompt's text by each method, kept in memory, and line by line in a directory if one is given.

    A line that a stopped run left unfinished is dropped. ValueError for a directory of another ablation.
    """

    def __init__(self, directory: str | os.PathLike[str] | None, digest: str) -> None:
        self.digest = digest
        self._path = None if directory is None else Path(directory) / DECODED
        self._head = json.dumps({"layout": _LAYOUT, "ablation": digest}) + "\n"
        self._rows: dict[tuple[int, str], dict[str, Any]] = {}
        if self._path is None or not self._path.is_file():
            return
        whole, newline, _ = self._path.read_text(encoding="utf-8").rpartition("\n")
        try:
            head, *lines = [parse_json(line) for line in whole.split("\n")]
        except ValueError as error:
            raise ValueError(f"{self._path} is damaged ({error}): give another directory") from None
        if not isinstance(head, dict) or head.get("ablation") != digest:
            raise ValueError(f"directory {directory} holds another ablation: give one of its own")
        write_text(self._path, whole + newline)
        self._rows = {(row["prompt"], row["arm"]): row for row in lines}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._rows.values())

    def has(self, prompt: int, arm: str) -> bool:
        return (prompt, arm) in self._rows

    def get(self, prompt: int, arm: str) -> dict[str, Any]:
        return self._rows[prompt, arm]

    def add(self, rows: Iterable[dict[str, Any]]) -> None:
        """Keep rows; OSError where the directory is full: lines that are whole are read again."""
        new = list(rows)
        if self._path is not None:
            if not self._path.is_file():
                write_text(self._path, self._head)
            with self._path.open("a", encoding="utf-8") as stream:
                stream.write("".join(json.dumps(row) + "\n" for row in new))
                stream.flush()
                os.fsync(stream.fileno())
        self._rows |= {(row["prompt"], row["arm"]): row for row in new}

    def total(self, name: str) -> int:
        """Return the sum of forwards, or of reward calls, over all that was decoded."""
        return sum(row[name] for row in self)

    def kept(self) -> str:
        """Return where the rows are, in words."""
        if self._path is None:
            return "nothing is kept: give a directory, and the same call goes on"
        if not self._rows:
            return "nothing is kept"
        return f"{len(self._rows)} texts are kept in {self._path.parent}, the same call goes on"


def compared(
    rows: AblationRows, units: Sequence[Sequence[int]], about: Mapping[str, Any], settings: Mapping[str, Any]
) -> Ablation:
    """Return the outcome after some units, numbers of prompts each.

    about: of the strategy, `label`, `reward`, `judge`, `twins` by the name of their rows, `sd` of each score, `notes`.
    settings: `margin`, `level`, `corrected`, `bound`, and `blind`, the twins that do not use the reward.
    """
    limits = {"margin": settings["margin"], "level": settings["corrected"], "bound": settings["bound"]}
    found: dict[str, tuple[TwinComparison, ...]] = {}
    compared_rows = [rows.get(row, arm) for unit in units for row in unit for arm in ("strategy", *about["twins"])]
    known = {score: sd for score, sd in about["sd"].items() if all(row[score] is not None for row in compared_rows)}
    for score, sd in known.items():
        values = ((name, *_differences(rows, units, arm, score, sd)) for arm, name in about["twins"].items())
        found[score] = tuple(compared_with(*each, **limits) for each in values)
    blind = [name for name in about["twins"] if name in settings["blind"]]
    verdicts = {
        score: verdict_of({each.twin: each.verdict for each in several}, blind) for score, several in found.items()
    }
    factors = [rows.get(row, "strategy").get("factors") for unit in units for row in unit]
    scaled = [np.std(run) / np.mean(run) for run in factors if run]
    more = _more(found["reward"], blind, limits["margin"]) if verdicts["reward"] == "undecided" else None
    return Ablation(
        strategy=about["label"],
        reward=about["reward"],
        verdict=verdicts["reward"],
        comparisons=found["reward"],
        factor_variation=float(np.median(scaled)) if scaled else None,
        leverage=None,
        stopped_after=sum(map(len, units)),
        prompts=about["prompts"],
        unit=about["sd"]["reward"],
        margin=settings["margin"],
        level=settings["level"],
        bound=settings["bound"],
        more=more,
        judge=about["judge"],
        judge_verdict=verdicts.get("judge"),
        judged=found.get("judge", ()),
        log_prob_verdict=verdicts.get("log_prob"),
        log_probs=found.get("log_prob", ()),
        cost={name: rows.total(name) for name in ("forwards", "reward_calls")},
        notes=tuple(about["notes"]),
        digest=about["digest"],
        rows=tuple(sorted(rows, key=lambda row: (row["prompt"], row["arm"]))),
    )


def _differences(
    rows: AblationRows, units: Sequence[Sequence[int]], arm: str, score: str, sd: float
) -> tuple[list[float], list[tuple[Hashable, Hashable]]]:
    """Return the mean difference of a score in each unit, in SD, and the two texts of each prompt."""
    pairs = [[(rows.get(row, "strategy"), rows.get(row, arm)) for row in unit] for unit in units]
    values = [float(np.mean([(mine[score] - other[score]) / sd for mine, other in unit])) for unit in pairs]
    return values, [(tuple(mine["tokens"]), tuple(other["tokens"])) for unit in pairs for mine, other in unit]


def compared_with(
    twin: str,
    values: Sequence[float],
    texts: Sequence[tuple[Hashable, Hashable]],
    *,
    margin: float,
    level: float,
    bound: float,
) -> TwinComparison:
    """Return the comparison with a twin: values are the differences of the units, texts the two of each prompt."""
    low, high = (float(ends[-1]) for ends in confidence_sequence(values, level, bound))
    mean, equal = float(np.mean(np.clip(values, -bound, bound))), sum(mine == other for mine, other in texts)
    return TwinComparison(twin, mean, low, high, side_of(low, high, margin), len(values), len(set(texts)), equal)


def _more(comparisons: Sequence[TwinComparison], blind: Sequence[str], margin: float) -> int | None:
    """Return about how many more units decide the verdict that the differences seen so far point to.

    An interval shrinks as 1 / sqrt(n), so that two digits are given. None where there are fewer than 16, and where it
    takes more than a hundred times as many as there are.
    """
    needed, below = {}, {}
    for each in comparisons:
        gap = min(abs(each.difference - margin), abs(each.difference + margin))
        half = (each.high - each.low) / 2
        needed[each.twin] = each.n * (half / max(gap, 1e-9)) ** 2 if each.verdict == "undecided" else 0.0
        below[each.twin] = each.difference < margin
    wanted = needed[WITHOUT]
    others = [name for name in blind if name != WITHOUT]
    if not below[WITHOUT] and others:
        reached = [needed[name] for name in others if below[name]]
        wanted = max(wanted, min(reached) if reached else max(needed[name] for name in others))
    n, more = comparisons[0].n, wanted - comparisons[0].n
    return max(1, int(float(f"{math.ceil(more):.2g}"))) if n >= 16 and more < 100 * n else None


def tables(result: Ablation) -> dict[str, str]:
    """Return the table of an ablation as CSV, Markdown and LaTeX, by the names of their files."""
    head = ["twin", "difference [SD]", "low", "high", "verdict", "prompts", "same text"]
    rows = [[e.twin, e.difference, e.low, e.high, e.verdict, e.n, e.equal] for e in result.comparisons]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([head, *rows])
    shown = [[f"{cell:+.2f}" if isinstance(cell, float) else f"{cell}" for cell in row] for row in rows]
    marks = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *shown)]
    lines = [" & ".join(row) + r" \\" for row in (head, *shown)]
    latex = [rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}", r"\hline", lines[0], r"\hline", *lines[1:], r"\hline"]
    return {
        "table.csv": text.getvalue(),
        "table.md": f"{result.line()}\n\n" + "\n".join(marks) + "\n",
        "table.tex": "\n".join([*latex, r"\end{tabular}"]) + "\n",
    }


def _kind(twin: str) -> str:
    return "best of" if twin.startswith("best of") else twin
