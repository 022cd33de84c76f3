"""What the times of all ways come to, the paper's Tables 11 and 12 among it, and all of `bench --shape` as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rws_decode.commands.shown import table

_GIB = 2**30
# Slow way, fast way, and by what factor it ought to be faster. What asks at every step owes nothing to the text.
_SPEEDS = (("plain", "default", None), ("naive rws", "rws", "at least 2"), ("naive rws", "rws every 1", None))
_OVERHEADS = (("ours", "default", "rws"), ("every step", "default", "rws every 1"), ("naive", "plain", "naive rws"))

Rows = Sequence[Mapping[str, Any]]


def ratios(ways: Rows, least: Rows) -> list[dict[str, Any]]:
    """Return ratios by batch, each with its goal for llada-8b on a GPU, if any; nothing for what was not measured.

    >>> ways = [{"batch": 1, "way": name, "median_seconds": seconds, "memory_bytes": None}
    ...         for name, seconds in [("naive rws", 6.0), ("rws", 2.0)]]
    >>> ratios(ways, [])
    [{'name': 'naive rws over rws', 'batch': 1, 'value': 3.0, 'goal': 'at least 2'}]
    """
    rows: list[tuple[str, int, float, str | None]] = []
    for batch in dict.fromkeys(row["batch"] for row in ways):
        times = _seconds(ways, batch)
        at_best = {row["method"]: row["seconds"] for row in least if row["batch"] == batch}
        for name, goal in (("default", "at most 1.25"), ("rws", None), ("plain", None)):
            against = at_best.get("rws" if name == "rws" else "default")
            if name in times and against:
                rows.append((f"{name} over the least time", batch, times[name] / against, goal))
        for slow, fast, goal in _SPEEDS:
            if slow in times and fast in times:
                rows.append((f"{slow} over {fast}", batch, times[slow] / times[fast], goal))
        for row in ways:
            if row["batch"] == batch and row["memory_bytes"] is not None:
                goal = "below 2" if row["way"] in ("default", "rws") and batch == 1 else None
                rows.append((f"{row['way']}: GiB above the weights", batch, row["memory_bytes"] / _GIB, goal))
    return [dict(zip(("name", "batch", "value", "goal"), row, strict=True)) for row in rows]


def overhead(ways: Rows, reward_bytes: int) -> list[dict[str, Any]]:
    """Return what RWS costs over the default (Table 11), by batch: ours, ours asking at every step, the loops in use.

    added_bytes: the reward model's weights, and the peak of rws over that of the default; None on a CPU.
    """
    rows = []
    for batch in dict.fromkeys(row["batch"] for row in ways):
        times = _seconds(ways, batch)
        memory = {row["way"]: row["memory_bytes"] for row in ways if row["batch"] == batch}
        for of, default, rws in _OVERHEADS:
            if default not in times or rws not in times:
                continue
            known = None not in (memory[default], memory[rws])
            row = {"batch": batch, "of": of, "default_seconds": times[default], "rws_seconds": times[rws]}
            row["increase"] = 100 * (times[rws] / times[default] - 1)
            rows.append(row | {"added_bytes": reward_bytes + memory[rws] - memory[default] if known else None})
    return rows


def frequency(ways: Rows, batch: int) -> list[dict[str, Any]]:
    """Return the seconds of RWS that asks the reward at every k-th step, of ours, at one batch (Table 12).

    None of these ways leaves a call out because it cannot matter or was made before.
    """
    times = _seconds(ways, batch)
    calls = {row["way"]: row["reward_calls"] for row in ways if row["batch"] == batch}
    asked = {name: int(name.removeprefix("rws every ")) for name in times if name.startswith("rws every ")}
    base, every_step = times.get("default"), times.get("rws every 1")
    rows = []
    for name, every in ({"default": None} | asked).items():
        if asked and name in times:
            row: dict[str, Any] = {"every": every, "seconds": times[name]}
            row["over_every_step"] = times[name] / every_step if every_step else None
            row["increase"] = 100 * (times[name] / base - 1) if base else None
            rows.append(row | {"reward_calls": calls[name]})
    return rows


def _seconds(ways: Rows, batch: int) -> dict[str, float]:
    rows = [row for row in ways if row["batch"] == batch]
    return {row["way"]: row["median_seconds"] for row in rows if row["median_seconds"] is not None}


def as_text(result: Mapping[str, Any]) -> str:
    """Return a result of `device.bench_device` as lines; absent parts are left out.

    >>> print(as_text({"checks": [{"name": "kernel", "passed": True, "detail": "27 shapes"}]}))
    self-check: 1 of 1 passed
      passed  kernel: 27 shapes
    """
    parts = [part(result) for key, part in _PARTS.items() if result.get(key)]
    return "\n\n".join("\n".join(lines) for lines in parts)


def _made_with(result: Mapping[str, Any]) -> Iterator[str]:
    made = result["provenance"]
    code = f"version {made['version']}" if made["commit"] is None else f"commit {made['commit']}"
    libraries = ", ".join(f"{name} {made[name]}" for name in ("cuda", "torch", "triton") if made[name])
    yield f"{made['device']}; {libraries}; {made['date']}; {code}"


def _checks(result: Mapping[str, Any]) -> Iterator[str]:
    checks = result["checks"]
    yield f"self-check: {sum(check['passed'] for check in checks)} of {len(checks)} passed"
    for check in checks:
        yield f"  {'passed' if check['passed'] else 'FAILED'}  {check['name']}: {check['detail']}"


def _ceilings(result: Mapping[str, Any]) -> Iterator[str]:
    ceilings = result["ceilings"]
    yield (
        f"ceilings: copy {ceilings['bandwidth'] / 1e9:,.4g} GB/s (read + written), matrix product "
        f"{ceilings['rate'] / 1e12:,.4g} TFLOP/s in {ceilings['dtype']}"
    )


def _not_measured(rows: Rows, name: str) -> Iterator[str]:
    told = (f"{row['way']}, {name} {row[name]}: {row['status']}" for row in rows if row["status"] != "measured")
    yield from dict.fromkeys(told)


def _kernels(result: Mapping[str, Any]) -> Iterator[str]:
    kernels = result["kernels"]
    yield f"{kernels['rows']} x {kernels['vocabulary']:,} logits; share of the copy bandwidth; error of log F"
    told = {True: "same", False: "OTHER", None: ""}
    rows = []
    for row in kernels["ways"]:
        if row["status"] == "measured":
            rows.append([f"{row['way']}, {row['dtype']}", str(row["factors"]), f"{row['ms']:.4g}"])
            rows[-1] += [f"{row['share']:.1%}", "" if row["goal"] is None else f"{row['goal']:.0%}"]
            rows[-1] += [f"{row['error']:.2g}", told[row["tokens"]], told[row["leads"]]]
    yield table(["", "factors", "ms", "share", "goal", "error", "tokens", "leads"], rows)
    yield from _not_measured(kernels["ways"], "dtype")


def _parameters(result: Mapping[str, Any]) -> Iterator[str]:
    weights, settings = result["parameters"], result["settings"]
    yield (
        f"{settings['shape']}: {weights['predictor']:,} + {weights['reward']:,} weights, "
        f"{weights['predictor_bytes'] / 1e9:.2f} + {weights['reward_bytes'] / 1e9:.2f} GB in {settings['dtype']}; "
        f"{settings['length']} tokens in {settings['steps']} steps, blocks of {settings['block']}, after "
        f"{settings['prompt']}; s_R = {settings['reward_scale']:g}"
    )


def _roofline(result: Mapping[str, Any]) -> Iterator[str]:
    rows = []
    for row in result["roofline"]:
        rows.append([f"batch {row['batch']}, {row['method']}", "", "", f"{row['ms_per_step']:.4g}", ""])
        for part in row["parts"]:
            rows.append([f"  {part['part']}", f"{part['gigaflop']:,.4g}", f"{part['megabytes']:,.4g}"])
            rows[-1] += [f"{part['ms']:.4g}", part["bound"]]
    yield table(["least time, means per step", "GFLOP", "MB", "ms", "bound by"], rows)


def _ways(result: Mapping[str, Any]) -> Iterator[str]:
    ways = result["ways"]
    head = ["", "runs", "seconds", "ms/step", "tokens/s", "GiB above", "forwards", "calls", "saved"]
    rows = []
    for row in ways:
        if row["median_seconds"] is not None:
            rows.append([f"batch {row['batch']}, {row['way']}", str(row["runs"]), f"{row['median_seconds']:.3f}"])
            rows[-1] += [f"{row['ms_per_step']:.2f}", f"{row['tokens_per_second']:.1f}"]
            rows[-1] += ["" if row["memory_bytes"] is None else f"{row['memory_bytes'] / _GIB:.2f}"]
            rows[-1] += [str(row[name]) for name in ("forwards", "reward_calls", "reward_calls_saved")]
    yield table(head, rows)
    yield from _not_measured(ways, "batch")
    for row in ways:
        if row["repeatable"] is False:
            yield f"batch {row['batch']}, {row['way']}: OTHER TOKENS when run again"
        if row["agreement"] is not None:
            yield f"batch {row['batch']}, {row['way']}: {_agreement(row['agreement'], row['compared'])}"


def _agreement(found: Mapping[str, Any], compared: str) -> str:
    line = f"{found['equal']} of {found['answers']} as {compared}"
    if found["differences"]:
        line += f", {found['explained']} part at a near-tie ({found['near_steps']:.0%} of steps have one)"
    first = [difference["step"] for difference in found["differences"] if difference["why"] is None]
    return line + (f", {len(first)} UNEXPLAINED, the first at step {first[0]}" if first else "")


def _ratios(result: Mapping[str, Any]) -> Iterator[str]:
    for row in result["ratios"]:
        goal = "" if row["goal"] is None else f" (goal for llada-8b on a GPU: {row['goal']})"
        yield f"batch {row['batch']}, {row['name']}: {row['value']:.3g}{goal}"


def _overhead(result: Mapping[str, Any]) -> Iterator[str]:
    yield "RWS over the default (Table 11)"
    for row in result["overhead"]:
        added = "" if row["added_bytes"] is None else f", {row['added_bytes'] / 2**20:,.0f} MiB more"
        yield f"batch {row['batch']}, {row['of']}: {row['increase']:+.1f} % seconds{added}"


def _frequency(result: Mapping[str, Any]) -> Iterator[str]:
    yield "reward at every k-th step (Table 12)"
    for row in result["frequency"]:
        name = "default" if row["every"] is None else f"every {row['every']}"
        over = "" if row["over_every_step"] is None else f", {row['over_every_step']:.3f} of every step's"
        more = "" if row["increase"] is None else f", {row['increase']:+.1f} % over the default"
        yield f"{name}: {row['seconds']:.3f} s{over}{more}, {row['reward_calls']} reward calls"


_PARTS = {
    "provenance": _made_with,
    "checks": _checks,
    "ceilings": _ceilings,
    "kernels": _kernels,
    "parameters": _parameters,
    "roofline": _roofline,
    "ways": _ways,
    "ratios": _ratios,
    "overhead": _overhead,
    "frequency": _frequency,
    "notes": lambda result: iter(result["notes"]),
}
