"""What guidance costs on the hardware in sentences: from arithmetic, and from what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paper_figures.figures.parts.device_cost_least_time import A100, ASSUMED_PROMPT, SHAPE, Least, weights_mib
from paper_figures.figures.parts.device_cost_measured import called, printed_overheads
from paper_figures.measured import COMMAND, Measurement
from rws_theory.printed import printed_in

__all__ = ["arithmetic_lines", "headline", "measured_lines", "on_gpu"]

# What owes nothing to the random weights' text: ours with all savings does.
_HEADLINE = {"every step": "ours, asked at every step", "naive": "the naive loop"}


def on_gpu(measured: Sequence[Measurement]) -> dict[str, Measurement]:
    """Return those on a GPU of LLaDA-8B's shape and the paper's length, steps and block, by what they are called."""
    setting = {"shape": SHAPE} | {key: printed_in("setting")[key] for key in ("length", "steps", "block")}
    return {
        name: measurement
        for name, measurement in called(measured).items()
        if measurement.cuda and all(measurement.settings.get(key) == value for key, value in setting.items())
    }


def headline(least: Least, measured: Sequence[Measurement]) -> str:
    """Return the first line: what was measured on a GPU, or that nothing was, and what the printed increase is of."""
    table, increases = printed_in("table11_overhead"), [increase for increase, _ in printed_overheads().values()]
    times = table["default_seconds"] / least.default_seconds
    printed = f"the printed {min(increases):+.1f} to {max(increases):+.1f} %"
    apart = f"of a default that takes {times:.1f} times its least time"
    at_least = f"{least.increase(1):+.0f} % where all runs at an {A100.name}'s limits"
    for name, measurement in on_gpu(measured).items():
        if measurement.failed:
            continue
        overheads = _by(measurement.rows("overhead"), 1)
        costs = [f"{overheads[of]['increase']:+.1f} % ({words})" for of, words in _HEADLINE.items() if of in overheads]
        if costs:
            return f"Guidance costs {', '.join(costs)} on {name}; {printed} are {apart} (arithmetic)."
    return (
        f"A reward of 8B, read anew at every step, costs {at_least} (arithmetic); {printed} are {apart}. Here no "
        "decode of that scale is measured on a GPU."
    )


def arithmetic_lines(by_prompt: Mapping[int, Least], models_8b: Sequence[str]) -> tuple[str, ...]:
    """Return what follows from operations, bytes and the printed seconds. known: models of the shape computed."""
    least, table = by_prompt[ASSUMED_PROMPT], printed_in("table11_overhead")
    base = table["default_seconds"]
    extra = {row["model"]: row["seconds"] - base for row in table["rows"]}
    mib = {row["model"]: row["memory_mib"] for row in table["rows"]}
    over = sorted(extra[name] / least.reward_seconds for name in models_8b)
    at_least = sorted(100 * seconds / least.default_seconds for seconds in extra.values())
    times = [base / floor.default_seconds for floor in by_prompt.values()]
    asked = [row["every"] for row in printed_in("table12_frequency")["rows"]]
    by_every = ", ".join(f"{least.increase(every):.0f} % asked at every {every} steps" for every in asked if every > 1)
    less, most = sorted(extra, key=lambda name: mib[name])[0], sorted(models_8b, key=lambda name: -mib[name])[0]
    predictor, reward = weights_mib()
    wide = (2 * predictor + mib[most]) * 2**20 / 1e9
    return (
        f"A reward of 8B read anew at every step has as many operations as the predictor: {least.more_operations:+.0f} "
        f"% in all. Where both take their least time, RWS takes {least.increase(1):.0f} % longer ({by_every}).",
        f"The printed increases are of a default far from the limit: it takes {base / least.default_seconds:.1f} times "
        f"its least time, the seconds that a reward of 8B adds {over[0]:.1f} to {over[-1]:.1f} times theirs. Over a "
        f"default at its least time the same extra seconds would be {at_least[0]:+.0f} to {at_least[-1]:+.0f} %.",
        f"The prompts' length is not printed: with {min(by_prompt)} to {max(by_prompt)} tokens the default takes "
        f"{max(times):.1f} to {min(times):.1f} times its least time. Nothing in the paper says where the rest of the "
        "time goes.",
        f"The precision is not printed, and two bytes a weight assumed: the memory added by {most}, {mib[most]:,} MiB, "
        f"fits two for the reward's ({reward:,.0f} MiB); with four for the predictor's, both would take {wide:.0f} GB "
        f"of a card of {printed_in('setting')['hardware_gb']}. Fewer would make the least time no longer.",
        f"The printed seconds do not go in step with the reward's size: {less} adds {mib[less] / mib[most]:.2f} of "
        f"{most}'s memory and {extra[less] / extra[most]:.2f} of its seconds.",
    )


def measured_lines(measured: Sequence[Measurement]) -> tuple[str, ...]:
    """Return a line per kind of result of each GPU, what is of other devices, and, where no GPU is, how to have one."""
    gpus, lines, kernels = on_gpu(measured), [], False
    for name, measurement in gpus.items():
        made = measurement.made
        commit = f"commit {made['commit'][:12]}" if made["commit"] else "a commit that is not known"
        state = "" if measurement.complete else ", not complete"
        lines.append(f"{name}: {made['date']}, at {commit}{' (changed)' if made['changed'] else ''}{state}.")
        if measurement.failed:
            lines.append(
                f"{name}: its self-check failed, so its numbers show nothing: {'; '.join(measurement.failed)}."
            )
        lines += [_goals(name, measurement)] if any(row["goal"] for row in measurement.rows("ratios")) else []
        lines += _tokens(name, measurement)
        lines.append(f"{name}: weights are random, and what is saved by not asking the reward is not real models'.")
    for name, measurement in called(measured).items():
        if measurement.of_goals and any(row["goal"] for row in measurement.rows("kernels")):
            kernels, lines = True, [*lines, _kernels(name, measurement)]
    others = [
        name for name, measurement in called(measured).items() if name not in gpus and "shape" in measurement.settings
    ]
    if others:
        lines.append(f"Not of {SHAPE} in the paper's setting on a GPU, and no word on it: {'; '.join(others)}.")
    if not gpus:
        bandwidth = "" if kernels else ", and the share of bandwidth of its kernel"
        lines.append(
            "Not measured, because no GPU was at hand: every time and ratio of the compact decoder at the scale of "
            f"LLaDA-8B{bandwidth}. This measures all: {COMMAND}."
        )
    return tuple(lines)


def _by(rows: Sequence[Mapping[str, Any]], batch: int) -> dict[str, Mapping[str, Any]]:
    return {row["of"]: row for row in rows if row["batch"] == batch}


def _goals(name: str, measurement: Measurement) -> str:
    ratios = [
        f"{row['name']}, batch {row['batch']}: {row['value']:.3g} (aimed at: {row['goal']}; "
        f"{'met' if row['met'] else 'missed'})"
        for row in measurement.rows("ratios")
        if row["goal"]
    ]
    return f"{name}, goals: {'; '.join(ratios)}."


def _kernels(name: str, measurement: Measurement) -> str:
    shares = []
    for row in measurement.rows("kernels"):
        if row["goal"]:
            what = row["status"].partition(":")[0] if row["share"] is None else f"{row['share']:.0%}"
            met = "" if row["share"] is None else "; met" if row["share"] >= row["goal"] else "; missed"
            shares.append(f"G = {row['factors']}, {row['dtype']}: {what} (aimed at: {row['goal']:.0%}{met})")
    return f"{name}, share of the copy bandwidth that reading the logits reaches: {'; '.join(shares)}."


def _tokens(name: str, measurement: Measurement) -> list[str]:
    agreements = [row["agreement"] for row in measurement.rows("ways") if row["agreement"] is not None]
    if not agreements:
        return []
    answers, equal, explained, unexplained = (
        sum(row[key] for row in agreements) for key in ("answers", "equal", "explained", "unexplained")
    )
    return [
        f"{name}: {equal} of {answers} answers compared have the plain loops' tokens, {explained} part at a counted "
        f"near-tie, {unexplained} without one."
    ]
