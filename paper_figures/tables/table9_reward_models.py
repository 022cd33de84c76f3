"""Table 9: the paper's reward models beside what our registry knows of them, and the shipped reward models.

Shows: name, size and base as printed, beside hub id, revision, class, network, text layout and licence. For the shipped
models, the parameters are counted from the header of their weights.
Inputs: `rws_decode.rewards.registry` and the shipped models. Run time: two seconds, mostly imports.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paper_figures.exhibits.exhibit import Exhibit
from paper_figures.exhibits.paper_beside_ours import beside
from paper_figures.table import Table
from rws_decode.rewards.registry import PUBLISHED, Layout
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ()
_STEM = "table9_reward_models"

# On which of transformers' networks `rws_decode.rewards.layouts` loads a layout.
NETWORKS: dict[Layout, str] = {"plain": "Llama", "internlm2": "Llama", "eurus": "Mistral", "quantile": "Llama"}
# What a printed base is built of: InternLM's reward model is Llama's network under other names.
_BASES = {"LLaMA": "Llama", "InternLM": "Llama"}


@dataclass(frozen=True)
class RewardModels:
    """The printed rows by name; ours by name, the paper's where they are the paper's: fields of one table.

    unlike: names whose printed base is another network than the one their checkpoint is loaded on; sizes: names whose
    hub id names another size than the printed one; unknown: names without a known revision.
    """

    printed: dict[str, dict[str, Any]]
    here: dict[str, dict[str, Any]]
    unlike: dict[str, tuple[str, str]]
    sizes: tuple[str, ...]
    unknown: tuple[str, ...]


def compute() -> RewardModels:
    """Read the registry, and the headers of the shipped weights."""
    printed = {row["model"]: row for row in printed_in(_STEM)["rows"]}
    here: dict[str, dict[str, Any]] = {}
    unlike, sizes, unknown = {}, [], []
    for entry in PUBLISHED.values():
        # Of two versions of one model the first stands in the paper's row.
        name = entry.paper if entry.paper not in here else f"{entry.paper} ({entry.name})"
        network = NETWORKS[entry.layout]
        here[name] = {
            "hub id": entry.hub_id,
            "revision": entry.revision,
            "class": entry.architecture,
            "network": network,
            "text layout": entry.template,
            "licence": entry.licence,
            "parameters": None,
        }
        row = printed[entry.paper]
        base = next((built for word, built in _BASES.items() if row["base"].startswith(word)), None)
        if base is not None and base != network:
            unlike[name] = (row["base"], network)
        if not re.search(rf"(?<!\d){row['size']}\b", entry.hub_id, re.IGNORECASE):
            sizes.append(name)
        if entry.revision is None:
            unknown.append(name)
    here |= _shipped()
    return RewardModels(printed, here, unlike, tuple(sizes), tuple(unknown))


def _shipped() -> dict[str, dict[str, Any]]:
    from rws_decode.checkpoints.files import locate
    from rws_decode.checkpoints.weights import read_headers
    from rws_decode.rewards.registry import SHIPPED

    rows: dict[str, dict[str, Any]] = {}
    for name in SHIPPED:
        checkpoint = locate("reward", name, SHIPPED)
        config = checkpoint.read_json("config.json")
        rows[name] = {
            "class": config["architectures"][0],
            "text layout": checkpoint.read_json("reward.json").get("template", "pair"),
            "licence": "apache-2.0",
            "parameters": sum(math.prod(header.shape) for header in read_headers("reward", checkpoint).values()),
        }
    return rows | {"exact": {"class": "ExactReward: the story language's own rules", "parameters": 0}}


def table(models: RewardModels) -> Table:
    """Return the printed table beside the registry and the shipped reward models."""
    columns = {"name": "model", "size": "size", "base": "base"}
    printed = {name: {label: row[field] for field, label in columns.items()} for name, row in models.printed.items()}
    text = {
        name: {
            **({"revision": row["revision"][:10]} if row.get("revision") else {}),
            **({"parameters": f"{row['parameters']:,}"} if row.get("parameters") is not None else {}),
        }
        for name, row in models.here.items()
    }
    caption = (
        f"Left: {printed_in(_STEM)['where']}. Right: what this package's registry knows; revisions are shortened, the "
        "CSV has them whole. Network: transformers' own on which the checkpoint is loaded, without remote code. The "
        "registry holds no config.json and hence no count of parameters; those of the shipped reward models (mini, "
        "mini-judge) are counted from the header of their weights, and exact has none. The paper does not say which of "
        "Skywork's two versions it ran."
    )
    return beside(_STEM, "reward model", printed, models.here, caption, text)


def exhibit(runs: Path) -> Exhibit:
    """Return Table 9; `runs` is not read."""
    models = compute()
    count = len(models.printed)
    lines = [
        f"The hub ids name the printed size for all {count} reward models"
        + (f" but {', '.join(models.sizes)}." if models.sizes else "."),
        f"For {count - len(models.unlike)} of {count} the printed base is the network that the "
        "checkpoint is loaded on"
        + "".join(
            f"; {name} is printed as built on {base}, and its checkpoint's class is loaded on {network}'s network"
            for name, (base, network) in models.unlike.items()
        )
        + ".",
    ]
    if models.unknown:
        names = ", ".join(models.unknown)
        lines.append(f"The paper names no revisions, and the registry knows none of {names}.")
    return Exhibit("Table 9: the reward models", tables=(table(models),), conclusions=tuple(lines))
