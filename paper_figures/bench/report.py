"""Write the measurements of `bench --shape`, `--kernels` and `--check` as text, with the goals beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_GIB = 2**30


def as_text(result: Mapping[str, Any]) -> str:
    """Return a whole result as lines; absent parts are left out."""
    lines = [_made_with(result["provenance"]), *_checks(result["checks"])]
    for key, part in _PARTS.items():
        if result.get(key):
            lines += ["", *part(result)]
    return "\n".join(lines)


def checks_as_text(checks: Sequence[Mapping[str, Any]]) -> str:
    """Return the self-check as lines.

    >>> print(checks_as_text([{"name": "kernel", "passed": True, "detail": "27 shapes"}]))
    self-check: 1 of 1 passed
      passed  kernel: 27 shapes
    """
    return "\n".join(_checks(checks))


def _made_with(made: Mapping[str, Any]) -> str:
    code = f"version {made['version']}" if made["version"] else "code of unknown version"
    if made["commit"]:
        code = f"commit {made['commit']}{' (changed)' if made['changed'] else ''}"
    libraries = ", ".join(f"{name} {made[name]}" for name in ("driver", "cuda", "torch", "triton") if made[name])
    return f"{made['device']}; {libraries}; {made['date']}; {code}"


def _checks(checks: Sequence[Mapping[str, Any]]) -> list[str]:
    passed = sum(check["passed"] for check in checks)
    rows = [f"  {'passed' if check['passed'] else 'FAILED'}  {check['name']}: {check['detail']}" for check in checks]
    return [f"self-check: {passed} of {len(checks)} passed", *rows]


def _ceilings(result: Mapping[str, Any]) -> Iterator[str]:
    ceilings = result["ceilings"]
    yield (
        f"ceilings: copy {ceilings['bandwidth'] / 1e9:,.4g} GB/s (read + written), matrix product "
        f"{ceilings['rate'] / 1e12:,.4g} TFLOP/s in {ceilings['dtype']}"
    )


def _kernels(result: Mapping[str, Any]) -> Iterator[str]:
    table = result["kernels"]
    yield f"{table['rows']} x {table['vocabulary']:,} logits, copy bandwidth {table['bandwidth'] / 1e9:,.4g} GB/s"
    head = f"{'way':28}{'dtype':>10}{'G':>4}{'ms':>10}{'share':>8}{'goal':>7}"
    yield f"{head}{'error of log F':>16}{'tokens':>8}{'leads':>7}"
    for row in table["ways"]:
        head = f"{row['way']:28}{row['dtype']:>10}{row['factors']:>4}"
        goal = "" if row["goal"] is None else f"{row['goal']:.0%}"
        if row["ms"] is None:
            yield f"{head}  {row['status']}"
            continue
        same = [{True: "same", False: "OTHER", None: ""}[row[name]] for name in ("tokens", "leads")]
        yield f"{head}{row['ms']:>10.4g}{row['share']:>8.1%}{goal:>7}{row['error']:>16.2g}{same[0]:>8}{same[1]:>7}"


def _parameters(result: Mapping[str, Any]) -> Iterator[str]:
    weights, settings = result["parameters"], result["settings"]
    yield (
        f"{settings['shape']}: {weights['predictor']:,} + {weights['reward']:,} weights, "
        f"{weights['predictor_bytes'] / 1e9:.2f} + {weights['reward_bytes'] / 1e9:.2f} GB in {settings['dtype']}; "
        f"{settings['length']} tokens in {settings['steps']} steps, blocks of {settings['block']}, after "
        f"{settings['prompt']}; s_R = {settings['reward_scale']:g}"
    )


def _roofline(result: Mapping[str, Any]) -> Iterator[str]:
    yield f"{'least time':>22}{'GFLOP':>12}{'MB':>10}{'ms':>9}  bound by (means per step)"
    for row in result["roofline"]:
        yield f"batch {row['batch']}, {row['method']}: {row['seconds']:.4g} s, {row['ms_per_step']:.4g} ms per step"
        for part in row["parts"]:
            numbers = f"{part['gigaflop']:>12,.4g}{part['megabytes']:>10,.4g}{part['ms']:>9.4g}"
            yield f"{part['part']:>22}{numbers}  {part['bound']}"


def _ways(result: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"{'way':32}{'batch':>6}{'runs':>5}{'seconds':>9}{'ms/step':>9}{'tokens/s':>10}{'GiB above':>10}"
        f"{'forwards':>9}{'calls':>7}{'saved':>7}  same tokens"
    )
    for row in result["ways"]:
        head = f"{row['way']:32}{row['batch']:>6}{row['runs']:>5}"
        if row["median_seconds"] is None:
            yield f"{head}  {row['status']}"
            continue
        memory = "" if row["memory_bytes"] is None else f"{row['memory_bytes'] / _GIB:.2f}"
        yield (
            f"{head}{row['median_seconds']:>9.3f}{row['ms_per_step']:>9.2f}{row['tokens_per_second']:>10.1f}{memory:>10}"
            f"{row['forwards']:>9}{row['reward_calls']:>7}{row['reward_calls_saved']:>7}  {_agreement(row)}"
        )


def _agreement(row: Mapping[str, Any]) -> str:
    agreement = row["agreement"]
    again = "; OTHER TOKENS when run again" if row["repeatable"] is False else ""
    if agreement is None:
        return again.removeprefix("; ")
    line = f"{agreement['equal']} of {agreement['answers']} as {row['compared']}"
    if agreement["equal"] < agreement["answers"]:
        line += f", {agreement['explained']} part at a near-tie ({agreement['near_steps']:.0%} of steps have one)"
        first = [difference for difference in agreement["differences"] if difference["why"] is None]
        line += f", {len(first)} UNEXPLAINED, the first at step {first[0]['step']}" if first else ""
    return line + again


def _ratios(result: Mapping[str, Any]) -> Iterator[str]:
    for row in result["ratios"]:
        goal = "" if row["goal"] is None else f" (aimed at: {row['goal']}; {'met' if row['met'] else 'MISSED'})"
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


def _notes(result: Mapping[str, Any]) -> Iterator[str]:
    yield from result["notes"]


_PARTS = {
    "ceilings": _ceilings,
    "kernels": _kernels,
    "parameters": _parameters,
    "roofline": _roofline,
    "ways": _ways,
    "ratios": _ratios,
    "overhead": _overhead,
    "frequency": _frequency,
    "notes": _notes,
}
