"""Table 12: the reward asked at every step, every second, every fourth: order and time against the default's.

Shows: GOD and seconds as printed beside ours; both as ratios and increases over the default's, which can be compared,
against how often the reward is asked, with the constant factor, which asks none; and what asking less costs in quality.
Inputs: RUNS/frequency/results.json of `python -m rws_decode experiment frequency`. Run time: about two seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures.beside import beside
from paper_figures.contrasts import excludes_zero
from paper_figures.exhibits import Exhibit, Picture, Sheet
from paper_figures.guides import SHOWN, minus_text, with_names
from paper_figures.inputs import Results, read_run
from paper_figures.published import published
from paper_figures.style import GREY, LINES, PRINTED, figure, panel_title
from paper_figures.table11_overhead import few_prompts

__all__ = ["Frequency", "compute", "draw", "every_of", "exhibit", "sheets"]

NEEDS: tuple[str, ...] = ("frequency",)
_QUALITY = {
    "own_score": "guide's score",
    "others_net": "net wins by other judges",
    "coherent": "share coherent",
    "perplexity": "perplexity",
    "god_steps": "GOD, steps",
    "reward_calls": "reward calls",
}


@dataclass(frozen=True)
class Frequency:
    """The run's means over the guides by method, of one reward scale per guide, and `quality` by guide and method."""

    rows: Mapping[str, Mapping[str, Any]]
    quality: Sequence[Mapping[str, Any]]
    run: Results

    @property
    def asked(self) -> dict[int, Mapping[str, Any]]:
        """Return steps from one call of the reward model to the next -> its row, by rising number."""
        found = {every_of(method): row for method, row in self.rows.items()}
        return {every: found[every] for every in sorted(every for every in found if every)}


def every_of(method: str) -> int:
    """Return at how many steps' distance a method asks the reward; 0 for a method that is not RWS.

    >>> every_of("rws"), every_of("rws every 4"), every_of("default")
    (1, 4, 0)
    """
    words = method.split()
    return 0 if words[:1] != ["rws"] else int(words[2]) if words[1:2] == ["every"] else 1


def compute(runs: Path) -> Frequency:
    """Read the experiment's results below `runs`; MissingRun, naming the command, where they are absent."""
    run = read_run(runs, NEEDS[0])
    order = run.settings["rewards"]
    means = with_names(run.rows.get("trade_off", ()), order)
    # Guides that ran at several reward scales have a row for each: the first is shown, the CSV has all.
    rows = {row["method"]: row for row in reversed(means)}
    return Frequency(rows, with_names(run.rows.get("quality", ()), order), run)


def draw(data: Frequency) -> Figure:
    """Draw GOD over the default's and the increase in time against how often the reward is asked."""
    table = published("table12_frequency")
    held = sorted({*data.asked, *(row["every"] for row in table["rows"])})
    picture = figure(6.6, 3.5)
    left, right = picture.subplots(1, 2)
    base = table["default"]["god"]
    printed = {row["every"]: (row["god"] / base, row["increase"]) for row in table["rows"]}
    for axes, place in ((left, 0), (right, 1)):
        look = {"color": PRINTED, "marker": "s", "markerfacecolor": "white", "linestyle": (0, (1, 1.5)), "zorder": 3}
        values = [printed[every][place] for every in printed]
        axes.plot([held.index(every) for every in printed], values, label="RWS, as printed", **look)
    _points(left, data, held, "god_steps_ratio", "god_steps", LINES["rws"].marker, 0.0)
    timed = {"increase": ("", LINES["rws"].marker), "cpu_increase": (", CPU time", "o")}
    for place, (field, (words, marker)) in enumerate(timed.items()):
        _points(right, data, held, field, field, marker, 0.16 * place - 0.08, words)
    left.axhline(1, color=GREY, linewidth=1.0)
    right.axhline(0, color=GREY, linewidth=1.0)
    panel_title(left, "GOD over the default's")
    left.set_ylabel("ratio of mean GOD")
    panel_title(right, "Time over the default's")
    right.set_ylabel("increase  [%]")
    words = ["every\nstep" if every == 1 else f"every {every}\nsteps" for every in held]
    for axes in (left, right):
        axes.set_xticks(range(len(held) + 1), [*words, "never:\nconstant"])
        axes.set_xlim(-0.5, len(held) + 0.5)
        axes.set_xlabel("when the reward is asked")
    handles: dict[str, Any] = {}
    for axes in (left, right):
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    picture.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3)
    return picture


def _points(
    axes: Axes, data: Frequency, held: Sequence[int], field: str, ends: str, marker: str, shift: float, words: str = ""
) -> None:
    """Draw RWS by how often it asks, and the constant factor, with intervals; what was not measured is left out."""
    for method, rows in (
        ("rws", {held.index(every): row for every, row in data.asked.items()}),
        ("constant", {len(held): data.rows["constant"]} if "constant" in data.rows else {}),
    ):
        known = {place: row for place, row in rows.items() if row[field] is not None}
        if known:
            names = (f"{ends}_low", field, f"{ends}_high")
            low, middle, high = ([row[name] for row in known.values()] for name in names)
            axes.errorbar(
                [place + shift for place in known],
                middle,
                yerr=[
                    [max(m - end, 0.0) for m, end in zip(middle, low, strict=True)],
                    [max(end - m, 0.0) for m, end in zip(middle, high, strict=True)],
                ],
                color=LINES[method].color,
                marker=LINES[method].marker if method == "constant" and shift <= 0 else marker,
                linestyle="none",
                elinewidth=1.1,
                capsize=2.5,
                label=("RWS" if method == "rws" else "constant factor") + (words or " (time: wall clock)"),
            )


def sheets(data: Frequency) -> tuple[Sheet, ...]:
    """Return Table 12 beside ours, and what asking less changes by guide."""
    return (_printed(data), *((_quality(data),) if data.quality else ()))


def _printed(data: Frequency) -> Sheet:
    table = published("table12_frequency")
    base = table["default"]
    printed: dict[str, dict[str, Any]] = {SHOWN["default"]: {"GOD": base["god"]}}
    printed[SHOWN["default"]] |= {"GOD over default's, computed": None, "seconds": base["seconds"]}
    for row in table["rows"]:
        printed[_words(row["every"])] = {"GOD": row["god"], "GOD over default's, computed": row["god"] / base["god"]}
        printed[_words(row["every"])] |= {"seconds": row["seconds"], "increase, %": row["increase"]}
    kept = {method: row for method, row in data.rows.items() if method in ("default", "constant") or every_of(method)}
    here: dict[str, dict[str, Any]] = {}
    shown: dict[str, dict[str, str | None]] = {}
    for method, row in sorted(kept.items(), key=lambda item: (item[0] == "constant", every_of(item[0]))):
        name = _words(every_of(method)) if every_of(method) else SHOWN[method]
        here[name] = {"GOD, steps": row["god_steps"], "GOD, tokens": row["god_tokens"]}
        here[name] |= {"reward calls": row["reward_calls"], "seconds": row["seconds"]}
        for field, column in _COMPARED.items():
            here[name][column] = row[field]
            shown.setdefault(name, {})[column] = _interval(row, field)
    caption = (
        f"Left: {table['where']}, {table['task']}. Right, here: model {data.run.settings['model']}, means over the "
        f"guides ({', '.join(data.run.settings['rewards'])}) of {data.run.prompts['test']} prompts, of which "
        f"{data.run.settings['timing_prompts']} are timed, {data.run.settings['repetitions']} times each, an answer at "
        "a time. Brackets: 95 % bootstrap intervals over prompts, rough where these are few. Seconds are of other "
        "hardware, models and code; ratios and increases can be compared roughly. What the constant factor is slower "
        "by is the machine's noise: it asks no reward."
    )
    return beside("table12_frequency", "method", printed, here, caption, shown)


_COMPARED = {
    "god_steps_ratio": "GOD in steps over default's",
    "increase": "increase, %",
    "cpu_increase": "increase of CPU time, %",
}


def _words(every: int) -> str:
    return "RWS, every step" if every == 1 else f"RWS, every {every} steps"


def _interval(row: Mapping[str, Any], field: str) -> str | None:
    """Return a value with its interval; one of no width, of a single prompt, is none."""
    if row[field] is None:
        return None
    low, high = (row[f"{field.removesuffix('_ratio')}_{end}"] for end in ("low", "high"))
    form = "{:.3g}" if field.endswith("_ratio") else "{:+.1f}"
    text = form.format(row[field])
    return text if low == high else f"{text} [{form.format(low)}, {form.format(high)}]"


def _quality(data: Frequency) -> Sheet:
    measures = {name: label for name, label in _QUALITY.items() if any(row["measure"] == name for row in data.quality)}
    methods = dict.fromkeys(row["method"] for row in data.quality)
    less = sorted((method for method in methods if every_of(method) > 1), key=every_of)
    lines: dict[tuple[str, str], dict[str, str | None]] = {}
    for row in data.quality:
        if row["method"] in (*less, "constant", "default") and row["measure"] in measures:
            name = _words(every_of(row["method"])) if row["method"] in less else SHOWN[row["method"]]
            line = lines.setdefault((row["name"], row["method"]), {"guide": row["name"], "method, minus RWS": name})
            line |= {measures[row["measure"]]: _difference(row)}
    caption = (
        "Each method minus RWS at every step, on the same prompts: mean difference, its paired 95 % bootstrap "
        "interval, * where that excludes zero, and p of the sign-flip permutation test, corrected over the reward "
        "models."
    )
    columns = ("guide", "method, minus RWS", *measures.values())
    shown = [{column: line.get(column) for column in columns} for line in lines.values()]
    return Sheet("table12_quality", data.quality, shown, caption)


def _difference(row: Mapping[str, Any]) -> str | None:
    if row["difference"] is None:
        return None
    return minus_text({**row, "low": row["difference_low"], "high": row["difference_high"]})


def conclusions(data: Frequency) -> tuple[str, ...]:
    """Return what follows from the intervals: order, time, the machine's noise, and what asking less changes."""
    table = published("table12_frequency")
    printed = {row["every"]: row for row in table["rows"]}
    lines = []
    for field, nothing, what in (("god_steps_ratio", 1.0, "GOD over the default's"), ("increase", 0.0, "Time")):
        told, apart = [], []
        for every, row in data.asked.items():
            if row[field] is not None:
                said = printed.get(every, {})
                as_printed = said.get("god", 0.0) / table["default"]["god"] if nothing else said.get("increase")
                told.append(f"{_words(every)} {_interval(row, field)}" + (f" (paper {as_printed:.3g})" if said else ""))
                ends = [row[f"{field.removesuffix('_ratio')}_{end}"] - nothing for end in ("low", "high")]
                apart += [_words(every)] if excludes_zero({"low": ends[0], "high": ends[1]}) else []
        if told:
            unit = "" if nothing else " in percent over the default's"
            found = ", ".join(apart) or "none"
            lines.append(f"{what}{unit}: {'; '.join(told)}. Intervals that exclude {nothing:g}: {found}.")
    lines += few_prompts(data.run.settings["timing_prompts"]) if lines else []
    constant = data.rows.get("constant", {})
    if constant.get("increase") is not None:
        lines.append(
            f"The time of the constant factor, which asks no reward, is {_interval(constant, 'increase')} % over the "
            "default's: differences of that size are the machine's."
        )
    if constant.get("god_steps_ratio") is not None:
        lines.append(f"Its GOD over the default's is {_interval(constant, 'god_steps_ratio')}, without any reward.")
    return (*lines, *_changes(data)) or ("The run has no numbers of RWS to compare.",)


def _changes(data: Frequency) -> list[str]:
    less = [row for row in data.quality if every_of(row["method"]) > 1 and row["difference"] is not None]
    rows = [row for row in less if row["measure"] in ("own_score", "others_net", "coherent", "perplexity")]
    apart = [
        f"{_words(every_of(row['method']))} with {row['name']}, {_QUALITY[row['measure']]}: {_difference(row)}"
        for row in rows
        if row["p_holm"] is not None and row["p_holm"] <= 0.05
    ]
    if not rows:
        return []
    told = f"Differences in quality of asking less, of {len(rows)} tested, with a corrected p of at most 0.05"
    return [f"{told}: {'; '.join(apart) or 'none'}."]


def exhibit(runs: Path) -> Exhibit:
    """Return Table 12 and its picture from the results below `runs`."""
    data = compute(runs)
    settings = data.run.settings
    caption = (
        f"Left: mean GOD in steps over the default's, {data.run.prompts['test']} prompts of "
        f"{data.run.prompts['source']}. Right: time over the default's, {settings['timing_prompts']} of these prompts, "
        f"{settings['repetitions']} runs each, one answer at a time. Model {settings['model']}, means over the guides "
        f"({', '.join(settings['rewards'])}), one s_R each; 95 % bootstrap intervals over prompts. Hollow: as printed "
        f"({published('table12_frequency')['where']}), without intervals; GOD as a ratio of printed numbers. The "
        "constant factor of equal mean asks no reward: its time shows the machine's noise, its GOD what a factor alone "
        "does. Seconds of other hardware cannot be compared, ratios roughly."
    )
    told = [
        f"{_words(every)}: GOD ratio {_interval(row, 'god_steps_ratio')}, time {_interval(row, 'increase')} percent."
        for every, row in data.asked.items()
    ]
    alt = (
        "Two panels against how often the reward is asked. The printed ratios of GOD and increases of time, hollow, "
        f"fall as it is asked less. Here: {' '.join(told)}"
    )
    return Exhibit(
        "Table 12: the reward asked less often",
        (Picture("table12_frequency", draw(data), caption, alt),) if data.rows else (),
        sheets(data),
        conclusions=conclusions(data),
        inputs=data.run.inputs,
        settings=settings,
        seconds=data.run.seconds,
    )
