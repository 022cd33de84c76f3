"""Say in a sentence which models, reward models and prompts a page is of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Record = Mapping[str, Any]

# What the shipped worlds are.
_WORLDS = {"english": "an n-gram model of public-domain English"}
_STUDY = "evidence"  # of the evidence study, on many prompts


def setting(records: Mapping[str, Record]) -> str:
    """Return a sentence with the models, reward models and numbers of prompts of all runs."""
    runs = {name: facts for record in records.values() for name, facts in record.get("runs", {}).items()}
    settings = [facts["settings"] for facts in runs.values() if facts["settings"]]
    if not settings:
        return ""
    models = _named([options["model"] for options in settings if "model" in options])
    rewards = _named(
        [name for options in settings for name in [*options.get("rewards", []), *_single(options.get("reward"))]]
    )
    counts = [facts["prompts"]["test"] for facts in runs.values() if facts["prompts"] and "test" in facts["prompts"]]
    prompts = (
        f" The studies that were run for this page have {_span(counts)} prompts each and are illustrations."
        if counts
        else ""
    )
    more = " The evidence study has hundreds." if counts and _STUDY in records else ""
    ours = _whose(settings) or f"Our numbers are of {models}, guided by the reward models {rewards}."
    return f"{ours}{prompts}{more}"


def _whose(settings: list[Mapping[str, Any]]) -> str:
    """Return a sentence on what the shipped models are, if nothing else was decoded; else ""."""
    from rws_decode.checkpoints.files import shipped

    models = {options["model"] for options in settings if "model" in options}
    if not models or not models <= {*shipped("BertForMaskedLM"), *_WORLDS}:
        return ""
    worlds, others = sorted(models & _WORLDS.keys()), sorted(models - _WORLDS.keys())
    made_up = "is a small model" if len(others) == 1 else "are small models"
    said = [f"{_named(others)} {made_up} of a made-up language of stories"] if others else []
    said += [f"{world} is {_WORLDS[world]}" for world in worlds]
    return (
        f"The worlds: {', and '.join(said)}. Both ship with this project, and nothing here was measured on "
        "LLaDA, the paper's model."
        if len(said) > 1
        else f"Here {said[0]}. It ships with this project, and nothing here was measured on LLaDA, the paper's model."
    )


def _single(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else []


def _named(names: list[str]) -> str:
    shown = list(dict.fromkeys(names))
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]])) or "not named"


def _span(counts: list[int]) -> str:
    return f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
