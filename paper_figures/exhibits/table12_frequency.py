"""Table 12: the reward asked at every step, every second, every fourth: order and time against confidence decoding.

Shows: GOD and seconds as printed beside ours; both as ratios and increases over confidence, which can be compared,
by how often the reward is asked, with the fixed factor, which asks none.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paper_figures.exhibits.shared.exhibit import Exhibit
from paper_figures.exhibits.shared.results import Results, beside, method_name, read_run
from paper_figures.exhibits.table11_overhead import CPU, INCREASE
from paper_figures.table import Column, Table
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ("frequency",)
_STEM = "table12_frequency"
_RATIO = Column("GOD in steps over default's", "god_steps_ratio", ".3g", ("god_steps_low", "god_steps_high"))


def _told(run: Results) -> str:
    """Return in words what was run and timed."""
    settings, prompts = run.settings, run.prompts
    return (
        f"model {settings['model']}, means over the rewards ({', '.join(settings['rewards'])}), one s_R each, of "
        f"{prompts['test']} prompts of {prompts['source']}, of which {settings['timing_prompts']} are timed, "
        f"{settings['repetitions']} times each, an answer at a time"
    )


def every_of(method: str) -> int:
    """Return the number of steps from one call of the reward to the next; 0 for a method that is not RWS.

    >>> every_of("rws"), every_of("rws every 4"), every_of("default")
    (1, 4, 0)
    """
    words = method.split()
    return 0 if words[:1] != ["rws"] else int(words[2]) if words[1:2] == ["every"] else 1


def _name(method: str) -> str:
    every = every_of(method)
    return f"RWS, every {f'{every} steps' if every > 1 else 'step'}" if every else method_name(method)


def table(run: Results, rows: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return Table 12 beside ours."""
    table = printed_in(_STEM)
    base = table["default"]
    printed: dict[str, dict[str, Any]] = {
        method_name("default"): {"GOD": base["god"], "GOD over default's, computed": None, "seconds": base["seconds"]}
    }
    for row in table["rows"]:
        numbers = {"GOD": row["god"], "GOD over default's, computed": row["god"] / base["god"]}
        every = f"rws every {row['every']}" if row["every"] > 1 else "rws"
        printed[_name(every)] = numbers | {"seconds": row["seconds"], "increase, %": row["increase"]}
    kept = {method: row for method, row in rows.items() if method in ("default", "constant") or every_of(method)}
    order = sorted(kept.items(), key=lambda item: (item[0] == "constant", every_of(item[0])))
    columns = [Column("GOD, steps", "god_steps"), Column("GOD, tokens", "god_tokens")]
    columns += [Column("reward calls", "reward_calls"), Column("seconds"), _RATIO, INCREASE, CPU]
    caption = (
        f"Left: {table['where']}, {table['task']}. Right, here: {_told(run)}. Brackets: 95 % intervals over prompts, "
        "rough where these are few. Seconds are of other hardware, models and code; ratios and increases can be "
        "compared roughly. The fixed factor asks no reward, so its slowdown is the machine's noise."
    )
    return beside(_STEM, "method", printed, {_name(method): row for method, row in order}, caption, columns)


def exhibit(runs: Path) -> Exhibit:
    """Return Table 12 from the results below `runs`."""
    run = read_run(runs, NEEDS[0])
    # Guides that ran at several reward scales have a row for each: the first is shown, the CSV has all.
    rows = {row["method"]: row for row in reversed(run.named("trade_off"))}
    ratios = [f"{_name(m)} {_RATIO.text(row)}" for m, row in rows.items() if row["god_steps_ratio"] is not None]
    summary = f"GOD over the default's: {'; '.join(ratios)}." if ratios else "The run has no numbers of RWS to compare."
    return Exhibit(
        "Table 12: the reward asked less often", tables=(table(run, rows),), conclusions=(summary,), inputs=run.inputs
    )
