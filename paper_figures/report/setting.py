"""Say in a sentence which models, reward models and prompts a page is of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rws_decode.checkpoints.files import shipped

Record = Mapping[str, Any]

_SMALL = "a small model of a made-up language of stories"
# What the shipped worlds are.
_WORLDS = {"english": "an n-gram model of public-domain English"}
_STUDY = "evidence"  # of the evidence study, on many prompts


def setting(records: Mapping[str, Record]) -> str:
    """Return a sentence with the models, reward models and numbers of prompts of all runs."""
    runs = {name: facts for record in records.values() for name, facts in record.get("runs", {}).items()}
    settings = [facts["settings"] for facts in runs.values() if facts["settings"]]
    if not settings:
        return ""
    models = [options["model"] for options in settings if "model" in options]
    if models and {*models} <= {*shipped("BertForMaskedLM"), *_WORLDS}:
        worlds = sorted({*models}, key=_WORLDS.__contains__)
        small = "and ".join(f"{name} is {_WORLDS.get(name, _SMALL)}, " for name in worlds)
        ours = f"Here {small.removesuffix(', ')}. Nothing here was measured on LLaDA, the paper's model."
    else:
        rewards = [n for options in settings for n in [*options.get("rewards", []), *_single(options.get("reward"))]]
        ours = f"Our numbers are of {_named(models)}, guided by the reward models {_named(rewards)}."
    counts = [facts["prompts"]["test"] for facts in runs.values() if facts["prompts"] and "test" in facts["prompts"]]
    if counts:
        ours += f" The studies that were run for this page have {_span(counts)} prompts each and are illustrations."
    return ours + (" The evidence study has hundreds." if counts and _STUDY in records else "")


def _single(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else []


def _named(names: list[str]) -> str:
    shown = list(dict.fromkeys(names))
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]])) or "not named"


def _span(counts: list[int]) -> str:
    return f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
