"""Read the results of studies, name rewards and methods, and set the paper's numbers beside ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from paper_figures.exhibits.shared.exhibit import MissingRun
from paper_figures.plan import command
from paper_figures.studies.options import METHODS
from paper_figures.table import Column, Row, Rows, Table, make_table, wide
from rws_decode.common.files import parse_json
from rws_decode.rewards.registry import PUBLISHED
from rws_theory.printed import printed_in

_KINDS = {"settings": dict, "selection": dict | None, "units": str | dict}


@dataclass(frozen=True)
class Results:
    """What a study's results.json holds (`paper_figures.studies.study`).

    settings: its options; prompts: source, and how many test and validate; selection: reward -> reward scale chosen,
    None if they were given; rows: table -> rows as measured; inputs: its files, below the runs; units: the name of
    their folder.
    """

    experiment: str
    settings: Mapping[str, Any]
    prompts: Mapping[str, Any]
    selection: Mapping[str, float] | None
    rows: Mapping[str, Sequence[Row]]
    inputs: tuple[str, ...]
    units: str

    def table(self, table: str, needed: str = "") -> Sequence[Row]:
        """Return a table's rows; needed: ValueError with these words where there are none."""
        rows = self.rows.get(table, ())
        if needed and not rows:
            raise ValueError(f"the run of {self.experiment} has no table {table}: {needed}")
        return rows

    def named(self, table: str, needed: str = "") -> list[dict[str, Any]]:
        """Return the same rows with their reward's `name`."""
        return with_guide_names(self.table(table, needed), self.settings["rewards"])


def read_run(runs: Path, experiment: str) -> Results:
    """Return the results of a study below `runs`; MissingRun, with the command that makes them, if they are missing.

    ValueError as `read_results_json` has it.
    """
    results = read_named(runs, experiment, ("settings", "prompts", "selection", "units", "tables"))
    try:
        rows = {name: [{**row} for row in table["rows"]] for name, table in results["tables"].items()}
    except (AttributeError, KeyError, TypeError):
        path, made_by = runs / experiment / "results.json", command(experiment, runs)
        raise ValueError(f"{path} has a table without rows: make it again with {made_by}") from None
    files = (f"{experiment}/results.json", *(f"{experiment}/{name}.csv" for name in rows))
    settings, prompts, selection, units = (results[name] for name in ("settings", "prompts", "selection", "units"))
    return Results(experiment, settings, prompts, selection, rows, files, units)


def read_named(runs: Path, experiment: str, parts: Sequence[str]) -> dict[str, Any]:
    """Return what `read_results_json` does, with short names for the paths in its settings."""
    results = read_results_json(runs, experiment, parts)
    return renamed(results, short_names(results.get("settings")))


def read_results_json(runs: Path, experiment: str, parts: Sequence[str]) -> dict[str, Any]:
    """Return an experiment's results.json as it is; MissingRun, with the command, if there is none.

    ValueError for a file that is not a JSON object, of another schema or version, or lacks one of its `parts`, or has
    nothing in the first.
    """
    path, made_by = runs / experiment / "results.json", command(experiment, runs)
    if not path.is_file():
        raise MissingRun(f"{path} is missing: make it with {made_by}")
    try:
        results = parse_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    if not isinstance(results, dict):
        raise ValueError(f"{path} is not a JSON object: make it again with {made_by}")
    schema_found = (results.get("schema"), results.get("version"))
    if schema_found != (None, None) and schema_found != _schema(experiment):
        schema, version = schema_found
        raise ValueError(f"{path} is {schema} of version {version}, not read here: make it again with {made_by}")
    if absent := [part for part in parts if part not in results]:
        raise ValueError(f"{path} has no {absent[0]}: make it again with {made_by}")
    if not results[parts[0]]:
        raise ValueError(f"{path} has nothing in {parts[0]}: run {made_by} --retry-failed")
    for part, kind in _KINDS.items():
        if part in results and not isinstance(results[part], kind):
            raise ValueError(f"{path} has {str(results[part])[:60]!r} as {part}: make it again with {made_by}")
    return results


def _schema(experiment: str) -> tuple[str, int]:
    """Return the schema, with its version, that results of an experiment have."""
    from paper_figures.runner import claims_run
    from paper_figures.studies import study as stages

    return claims_run.SCHEMA if experiment == claims_run.NAME else stages.SCHEMA


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Return JSON-ready data in which every path of `names`, in values and in keys, has its short name.

    >>> renamed({"/a/mini": ["reward /a/mini", 1]}, {"/a/mini": "mini"})
    {'mini': ['reward mini', 1]}
    """
    if not names:
        return value
    if isinstance(value, Mapping):
        return {renamed(name, names): renamed(item, names) for name, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, names) for item in value]
    if isinstance(value, str):
        for path in sorted(names, key=len, reverse=True):  # a folder may lie in another
            value = value.replace(path, names[path])
    return value


def short_names(settings: Any) -> dict[str, str]:
    """Return absolute path -> short name for every path in a run's options: its last part, or as many as tell it apart.

    A page must not show in which folders models and data were.

    >>> short_names({"model": "/a/llada", "data": "text:/b/prompts.txt", "rewards": ["mini"]})
    {'/a/llada': 'llada', '/b/prompts.txt': 'prompts.txt'}
    >>> short_names({"rewards": ["/a/one/final", "/a/two/final"]})
    {'/a/one/final': 'one/final', '/a/two/final': 'two/final'}
    """
    paths = sorted({path for value in _strings(settings) if (path := _path_in(value))})
    ends = {path: ["/".join(Path(path).parts[-count:]) for count in range(1, len(Path(path).parts))] for path in paths}
    shared = Counter(end for candidates in ends.values() for end in candidates)
    return {path: next((end for end in candidates if shared[end] == 1), path) for path, candidates in ends.items()}


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(item)


def _path_in(value: str) -> str | None:
    """Return the absolute path that an option is or has after a colon; None without one."""
    return next((part for part in (value, value.partition(":")[2]) if len(part) > 1 and Path(part).is_absolute()), None)


def lookup(rows: Sequence[Row], **match: Any) -> Row | None:
    """Return the row with all of these values; None if there is none, ValueError if there are several."""
    matching = [row for row in rows if all(row.get(name) == value for name, value in match.items())]
    if len(matching) > 1:
        raise ValueError(f"results hold {len(matching)} rows of {match}: one is needed")
    return matching[0] if matching else None


def with_mean(rows: Sequence[Row], **match: Any) -> Row | None:
    """Return the row with all of these values if it has a mean, else None."""
    row = lookup(rows, **match)
    return row if row and row["mean"] is not None else None


def setting(run: Results) -> str:
    """Return two sentences: what was run, and how it differs from the paper's run.

    The paper's own is LLaDA on RewardBench or MT-Bench prompts, with six reward models.
    """
    given, prompts = run.settings, run.prompts
    model = given["model"]
    parts = [f"model {model}, {prompts['test']} test prompts of {prompts['source']}"]
    if "length" in given:
        parts.append(f"answers of {given['length']} tokens in {given['steps']} steps, blocks of {given['block']}")
    if run.selection:
        scales = ", ".join(f"{guide_name(guide)} {scale:g}" for guide, scale in run.selection.items())
        parts.append(f"s_R chosen on {prompts['validation']} validation prompts ({scales})")
    elif given.get("reward_scale"):
        parts.append(f"s_R given ({', '.join(f'{scale:g}' for scale in given['reward_scale'])})")
    paper = {row["model"] for row in printed_in("table1_win_rate")["rows"]}
    others = {
        "model": "llada" not in model.lower(),
        "prompts": not str(prompts["source"]).startswith(("reward-bench", "mt-bench")),
        "reward models": not {guide_name(guide) for guide in given["rewards"]} <= paper,
    }
    differ = [name for name, other in others.items() if other]
    apart = f"Not the paper's {', '.join(differ)}: shapes can be compared, levels cannot."
    same = "Model family, kind of prompts and reward models are the paper's; its sample of prompts is not known."
    return f"Here: {'; '.join(parts)}. {apart if differ else same}"


def method_name(method: str) -> str:
    """Return what a method is called in tables; its own name if it has no other.

    >>> method_name("constant"), method_name("best of three")
    ('fixed factor of equal mean', 'best of three')
    """
    return METHODS[method].title if method in METHODS else method


def capital(text: str) -> str:
    """Return a text with its first letter as a capital, and the others as they are.

    >>> capital("fixed factor of equal mean"), capital("RWS")
    ('Fixed factor of equal mean', 'RWS')
    """
    return text[:1].upper() + text[1:]


def in_words(method: str) -> str:
    """Return what a method is called in a sentence, after "RWS minus".

    >>> in_words("constant"), in_words("best of three")
    ('a fixed factor of equal mean', 'best of three')
    """
    return METHODS[method].phrase if method in METHODS else method


def methods_in(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the methods of the rows in the order of tables; methods without a name come last."""
    present = dict.fromkeys(row["method"] for row in rows)
    return [name for name in METHODS if name in present] + [name for name in present if name not in METHODS]


def controls_of(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the controls among the rows' methods, without confidence decoding, in the order of tables."""
    return [method for method in methods_in(rows) if method not in ("rws", "default")]


def guide_name(guide: str) -> str:
    """Return the paper's name of a reward model; a model that is not the paper's keeps its own.

    >>> guide_name("skywork-v0.2"), guide_name("mini")
    ('Skywork', 'mini')
    """
    return next((entry.paper for entry in PUBLISHED.values() if guide in (entry.name, entry.hub_id)), guide)


def names_of(rows: Iterable[Row]) -> list[str]:
    """Return the `name` of each reward in the rows, in their order."""
    return list(dict.fromkeys(row["name"] for row in rows))


def with_guide_names(rows: Iterable[Row], order: Sequence[str]) -> list[dict[str, Any]]:
    """Return rows with their reward's name as `name`, the rewards in `order`, their mean last.

    The paper's reward models have the paper's names. A reward with several reward scales has the scale in its name.

    >>> rows = [{"guide": guide, "reward_scale": scale} for guide, scale in [("all", 8.0), ("grm", 8.0), ("grm", 2.0)]]
    >>> [row["name"] for row in with_guide_names(rows, ["grm"])]
    ['GRM, s_R = 2', 'GRM, s_R = 8', 'mean of all rewards']
    """
    rows = [dict(row) for row in rows]
    scales: dict[str, set[float | None]] = {}
    for row in rows:
        scales.setdefault(row["guide"], set()).add(row["reward_scale"])
    for row in rows:
        row["name"] = "mean of all rewards" if row["guide"] == "all" else guide_name(row["guide"])
        if len(scales[row["guide"]]) > 1:
            row["name"] += f", s_R = {row['reward_scale']:g}"
    order_of = {guide: position for position, guide in enumerate(order)}
    return sorted(rows, key=lambda row: (order_of.get(row["guide"], len(order_of)), row["reward_scale"] or 0.0))


Numbers = Mapping[str, Mapping[str, Any]]


def beside(
    stem: str, key: str, printed: Numbers, here: Numbers, caption: str, columns: Sequence[Column] | None = None
) -> Table:
    """Return a table with one row per name, the paper's names first; a name of both sides has both in one row.

    printed: name -> column -> number or text; here: name -> field -> the same; columns: what is shown of `here`, by
    default every field. They become "paper: ..." and "here: ...", and are empty if that side has no such name. The ends
    of intervals are columns of the CSV. Give reward models the paper's names (`names.guide_name`), so that they share
    the paper's rows.

    >>> columns = [Column("win, %", "win", ".0f", ("low", "high"))]
    >>> here = {"A": {"win": 60.0, "low": 50.0, "high": 70.0}}
    >>> table = beside("s", "model", {"A": {"win": 60.2}}, here, "A caption.", columns)
    >>> table.shown
    [{'model': 'A', 'paper: win': '60.2', 'here: win, %': '60 [50, 70]'}]
    >>> list(table.rows[0])
    ['model', 'paper: win', 'here: win, %', 'here: win, %, low', 'here: win, %, high']
    """
    left = dict.fromkeys(column for row in printed.values() for column in row)
    if columns is None:
        columns = [Column(name) for name in dict.fromkeys(name for row in here.values() for name in row)]
    rows, texts = [], []
    for name in dict.fromkeys([*printed, *here]):
        given, ours = printed.get(name, {}), here.get(name, {})
        row: dict[str, Any] = {key: name} | {f"paper: {column}": given.get(column) for column in left}
        text = {key: name} | {f"paper: {column}": Column(column).text(given) for column in left}
        for column in columns:
            row |= {f"here: {label}": value for label, value in column.values(ours).items()}
            text[f"here: {column.label}"] = column.text(ours) if ours else None
        rows.append(row)
        texts.append(text)
    return Table(stem, rows, texts, caption)


def numbers_by(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return name -> the means of each measure of its rows, with the ends of their intervals, for `measured`.

    >>> numbers_by([{"name": "a", "measure": "win", "mean": 1.0, "low": 0.0, "high": 2.0, "n": 9, "reward_scale": 8.0}])
    {'a': {'s_R': 8.0, 'prompts': 9, 'win': 1.0, 'win low': 0.0, 'win high': 2.0}}
    """
    lines: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["mean"] is not None:
            line = lines.setdefault(row["name"], {"s_R": row.get("reward_scale"), "prompts": row["n"]})
            line |= {row["measure"]: row["mean"]} | {f"{row['measure']} {end}": row[end] for end in ("low", "high")}
    return lines


def measured(label: str, measure: str, form: str = ".3g") -> Column:
    """Return the column of a measure of `numbers_by` with its interval."""
    return Column(label, measure, form, (f"{measure} low", f"{measure} high"))


def printed_range(quantity: str) -> tuple[float, float]:
    """Return the ends of the range that the text on the keyword task prints; both are the same for a single number.

    >>> printed_range("perplexity of RWS below that of the default"), printed_range("GOD of the default")
    ((12, 16), (0.95, 0.95))
    """
    entry = _keyword_task()[quantity]
    low, high = ("value", "value") if "value" in entry else ("low", "high")
    return entry[low], entry[high]


def ranges_table(stem: str, ours: Mapping[str, Iterable[float | None]], over: str) -> Table:
    """Return each range or number of that text with the range of ours; quantities without a number are left out.

    ours: quantity, as `printed_in("keyword_task")` names it, -> our values; over: what these are of, in words.
    """
    rows = [
        {"quantity": quantity, **dict(zip(_ENDS, (*printed_range(quantity), min(values), max(values)), strict=True))}
        | {"where in the paper": _keyword_task()[quantity]["where"]}
        for quantity, found in ours.items()
        if (values := [value for value in found if value is not None])
    ]
    columns = [
        Column("quantity"),
        Column("paper: printed", form=lambda row: _range(row, "paper", "g")),
        Column("here: range", form=lambda row: _range(row, "here", ".2f")),
        Column("where in the paper"),
    ]
    caption = (
        f"{printed_in('keyword_task')['where']}: numbers in the text, as printed, and the same quantities here, over "
        f"{over}. GOD here is in steps. Percentages and ratios can be compared, levels cannot."
    )
    return make_table(stem, rows, columns, caption)


_ENDS = ("paper: low", "paper: high", "here: low", "here: high")


def _keyword_task() -> dict[str, dict[str, Any]]:
    task = printed_in("keyword_task")
    return {entry["quantity"]: entry for entry in (*task["ranges"], *task["values"])}


def _range(row: Mapping[str, Any], side: str, form: str) -> str:
    return " to ".join(dict.fromkeys(f"{row[f'{side}: {end}']:{form}}" for end in ("low", "high")))


def agrees(printed: float, computed: float) -> bool:
    """Return whether `computed` rounds to `printed` at the decimals that `printed` shows; a tie may round either way.

    >>> agrees(0.486, 0.48641), agrees(1.73, 4.8121)
    (True, False)
    """
    decimals = len(f"{printed!r}".partition(".")[2])
    return abs(printed - computed) <= 0.5 * 10.0**-decimals + 1e-12


ALPHA = 0.05
_MINUS_CAPTION = (
    "RWS minus every other method on the same prompts: mean difference, its paired 95 % interval, and p corrected over "
    "the reward models by Holm's method; * if the interval excludes zero and p is at most 0.05. The CSV has the mean "
    "of each method too."
)


class Difference(NamedTuple):
    """RWS minus something: value, 95 % interval, and p, corrected if there are several, or None without a test.

    >>> Difference(0.2, 0.1, 0.3, 0.2).sign, Difference(-0.2, -0.3, -0.1, 0.04).sign
    (0, -1)
    """

    value: float
    low: float
    high: float
    p: float | None

    @property
    def apart(self) -> bool:
        """Return whether the interval excludes zero; one without width needs a test as well."""
        return (self.low > 0 or self.high < 0) and (self.low < self.high or self.p is not None)

    @property
    def sign(self) -> int:
        """Return 1 or -1, the sign, if the interval excludes zero and p is at most `ALPHA`; else 0."""
        if not self.apart or (self.p is not None and self.p > ALPHA):
            return 0
        return 1 if self.low > 0 else -1

    def text(self) -> str:
        """Return the difference, its interval and p, with * for a sign; a bootstrap of equal pairs has no width.

        >>> Difference(-0.2, -0.3, -0.1, 0.04).text(), Difference(0.0, 0.0, 0.0, 1.0).text()
        ('-0.2 [-0.3, -0.1], p 0.04 *', '0 in every prompt')
        """
        if self.value == self.low == self.high == 0:
            return "0 in every prompt"
        ends = "in every prompt" if self.low == self.high else f"[{self.low:+.3g}, {self.high:+.3g}]"
        p_text = "" if self.p is None else f", p {self.p:.2g}"
        return f"{self.value:+.3g} {ends}{p_text}" + (" *" if self.sign else "")


def minus_of(row: Row) -> Difference:
    """Return the difference of a row that is RWS minus something already."""
    return Difference(row["difference"], row["low"], row["high"], row["p_holm"])


def rws_minus(row: Row | None) -> Difference | None:
    """Return RWS minus the row's method; None without a row or a difference."""
    if row is None or row["difference"] is None:
        return None
    # Means of equal numbers may differ by rounding, which is no difference; adding 0.0 leaves no negative zero.
    ends = ("difference", "difference_high", "difference_low")
    value, low, high = (round(-row[key], 9) + 0.0 for key in ends)
    return Difference(value, low, high, row["p_holm"])


def differences_table(stem: str, rows: Sequence[Row], measures: Mapping[str, str]) -> Table:
    """Return a line for each reward and method with RWS minus that method in each measure.

    rows: with their reward's `name`; measures: measure -> what a heading calls it.
    """
    order, names = methods_in(rows), list(dict.fromkeys(row["name"] for row in rows))
    kept = [row for row in rows if row["method"] != "rws"]
    kept.sort(key=lambda row: (names.index(row["name"]), order.index(row["method"])))
    shown = by_measure(kept, lambda row: {"guide": row["name"], "RWS minus": method_name(row["method"])}, measures)
    return Table(stem, rows, shown, _MINUS_CAPTION)


def by_measure(
    rows: Sequence[Row],
    keys: Callable[[Row], Row],
    measures: Mapping[str, str],
    field: str = "measure",
    minus: Callable[[Row], Difference | None] = rws_minus,
) -> Rows:
    """Return a line for each set of keys, with a difference as text in a column for each of the measures that it has.

    field: the field of a row that names its measure; minus: the difference of a row.
    """
    rows = [row for row in rows if row[field] in measures]
    present = [label for name, label in measures.items() if any(row[field] == name for row in rows)]
    return wide(
        rows, keys, lambda row: {measures[row[field]]: (difference := minus(row)) and difference.text()}, present
    )


def tally(differences: Sequence[Difference | None], noun: str, words: tuple[str, str] = ("higher", "lower")) -> str:
    """Return in words for how many RWS is higher, and for how many it is lower; noun: what is counted, in the plural.

    >>> found = [Difference(0.2, 0.1, 0.3, 0.01), Difference(0.0, 0.0, 0.0, 1.0)]
    >>> tally(found, "guides"), tally(found[1:], "guides")
    ('higher for 1 of 2 guides, lower for none', 'shown neither higher nor lower for any of 1 guides')
    """
    signs = [difference.sign for difference in differences if difference is not None]
    if not signs:
        return f"nothing to compare for any of the {noun}"
    if not any(signs):
        return f"shown neither {words[0]} nor {words[1]} for any of {len(signs)} {noun}"
    higher, lower = signs.count(1) or "none", signs.count(-1) or "none"
    return f"{words[0]} for {higher} of {len(signs)} {noun}, {words[1]} for {lower}"


_ASKS = "`rws experiment mt-bench --out RUNS --llm-judge MODEL --base-url URL`"
_REWARDS = {"net": "own reward", "others_net": "other reward models"}
# What tells the verdicts of one LLM judge from those of another.
_ABOUT = ("judge", "judge_prompt", "endpoint", "settings")


@dataclass(frozen=True)
class Dialogues:
    """A run's verdicts.

    rows: the share preferred to confidence in percent, draws counted half, with its interval and its difference to
    RWS in points; `name` is its reward's name, `measure` its judge. orders: the table `llm_orders` in percent, of RWS,
    with `judge` the judge's name. against: judge -> RWS against confidence, by reward. prompts: judge -> the prompt
    that an LLM was asked with.
    """

    run: Results
    rows: Sequence[Row]
    orders: Sequence[Row]
    against: Mapping[str, Sequence[Difference]]
    prompts: Mapping[str, str]

    @property
    def llm(self) -> bool:
        """Return whether LLMs judged."""
        return bool(self.prompts)

    @property
    def judges(self) -> list[str]:
        """Return the names of the judges."""
        return list(dict.fromkeys(row["measure"] for row in self.rows))

    def verdict(self) -> str:
        """Return in words who judged, and what is unknown if only reward models did."""
        if self.llm:
            names = "; ".join(f"{judge}, prompt {prompt}" for judge, prompt in self.prompts.items())
            return f"Judged by an LLM ({names}) in both orders; dialogues with the same texts count half."
        return (
            "No LLM has judged these dialogues: reward models have, each reward itself and all others, answer by "
            f"answer, means over the two turns, draws counted half. {_ASKS} asks an LLM."
        )


def judged_dialogues(runs: Path) -> Dialogues:
    """Read the verdicts of the run on dialogues; MissingRun, with the command, if it is missing."""
    run = read_run(runs, "mt-bench")
    rates = run.named("llm_win_rates")
    if rates:
        rows = [_percent(row, _judge(row, rates), 100.0) for row in rates if row["measure"] == "both"]
        signs = [row | {"measure": _judge(row, rates)} for row in run.named("llm_sign_tests") if row["method"] == "rws"]
        found = [(row["measure"], _of_sign_test(row)) for row in signs]
    else:
        rows = [
            _percent(row, _REWARDS[row["measure"]], 50.0)
            for row in run.named("win_rates")
            if row["measure"] in _REWARDS
        ]
        found = [(row["measure"], rws_minus(row)) for row in rows if row["method"] == "default"]
    rows = [row for row in rows if row["mean"] is not None]
    if not rows:
        raise ValueError("the run of mt-bench has no table win_rates: no answer was judged")
    against: dict[str, list[Difference]] = {}
    for judge, difference in found:
        if difference is not None:
            against.setdefault(judge, []).append(difference)
    orders = [
        row | {"judge": _judge(row, rates)} | {end: 100.0 * row[end] for end in ("mean", "low", "high")}
        for row in run.named("llm_orders")
        if row["method"] == "rws" and row["mean"] is not None
    ]
    return Dialogues(run, rows, orders, against, {_judge(row, rates): row["judge_prompt"] for row in rates})


def _judge(row: Row, rows: Iterable[Row]) -> str:
    """Return an LLM's name, with what else tells it from the other judges of the rows."""
    differing = (row[name] for name in _ABOUT[1:] if name in row and len({other[name] for other in rows}) > 1)
    return ", ".join([row["judge"], *differing])


def _percent(row: dict[str, Any], judge: str, points: float) -> dict[str, Any]:
    """Return a row with its numbers as a share preferred in percent.

    points: 100 for a share, 50 for a net win rate, whose share, draws counted half, is 50 (1 + net) percent.

    >>> row = {"mean": 0.2, "low": 0.0, "high": 0.5, "difference": None}
    >>> _percent(row, "judge", 50.0)
    {'mean': 60.0, 'low': 50.0, 'high': 75.0, 'difference': None, 'measure': 'judge'}
    """
    row = row | {"measure": judge}
    if row["mean"] is not None:
        row |= {end: 100.0 - points + points * row[end] for end in ("mean", "low", "high")}
    if row["difference"] is not None:
        row |= {end: points * row[end] for end in ("difference", "difference_low", "difference_high")}
    return row


def _of_sign_test(row: Row) -> Difference:
    """Return how far (W + D/2)/N of RWS lies above one half, in points, with p of the sign test."""
    value, low, high = (100 * row[end] - 50 for end in ("score", "low", "high"))
    return Difference(value, low, high, row["p_holm"])
