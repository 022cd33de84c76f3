"""Table 9: the paper's reward models beside what our registry knows of them, and the shipped reward models.

Shows: name, size and base as printed, beside hub id, revision, class, network, text layout and licence. For the shipped
models, the parameters are counted from the header of their weights.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from paper_figures.exhibits.shared.exhibit import Exhibit
from paper_figures.exhibits.shared.results import beside
from paper_figures.table import Column, Table
from rws_decode.checkpoints.files import locate
from rws_decode.checkpoints.weights import read_headers
from rws_decode.rewards.registry import PUBLISHED, SHIPPED, Layout
from rws_theory.printed import printed_in

NEEDS: tuple[str, ...] = ()
_STEM = "table9_reward_models"

# On which of transformers' networks `rws_decode.rewards.layouts` loads a layout.
NETWORKS: dict[Layout, str] = {"plain": "Llama", "internlm2": "Llama", "eurus": "Mistral", "quantile": "Llama"}
# What a printed base is built of: InternLM's reward model is Llama's network under other names.
_BASES = {"LLaMA": "Llama", "InternLM": "Llama"}
_COLUMNS = (
    Column("hub id"),
    Column("revision", form=lambda row: row["revision"][:10] if row.get("revision") else None),
    Column("class"),
    Column("network"),
    Column("text layout"),
    Column("licence"),
    Column("parameters", form=",.0f"),
)


def compute() -> dict[str, dict[str, Any]]:
    """Return reward model -> what the registry, or the header of its weights, knows; the paper's have its names."""
    here: dict[str, dict[str, Any]] = {}
    for entry in PUBLISHED.values():
        # Of two versions of one model the first stands in the paper's row.
        name = f"{entry.paper}" if entry.paper not in here else f"{entry.paper} ({entry.name})"
        known = {"hub id": entry.hub_id, "revision": entry.revision, "class": entry.architecture}
        known |= {"network": NETWORKS[entry.layout], "text layout": entry.template, "licence": entry.licence}
        here[name] = known
    for name in SHIPPED:
        checkpoint = locate("reward", name, SHIPPED)
        headers = read_headers(checkpoint).values()
        known = {"class": checkpoint.read_json("config.json")["architectures"][0], "licence": "apache-2.0"}
        known |= {"text layout": checkpoint.read_json("reward.json").get("template", "pair")}
        here[name] = known | {"parameters": sum(math.prod(header.shape) for header in headers)}
    return here | {"exact": {"class": "ExactReward: the story language's own rules", "parameters": 0}}


def table(here: dict[str, dict[str, Any]]) -> Table:
    """Return the printed table beside the registry and the shipped reward models."""
    paper = printed_in(_STEM)
    printed = {row["model"]: {"model": row["name"], "size": row["size"], "base": row["base"]} for row in paper["rows"]}
    caption = (
        f"Left: {paper['where']}. Right: what this package's registry knows; revisions are shortened, the "
        "CSV has them whole. Network: transformers' own on which the checkpoint is loaded, without remote code. The "
        "registry holds no config.json and hence no count of parameters; those of the shipped reward models (mini, "
        "mini-judge) are counted from the header of their weights, and exact has none. The paper does not say which of "
        "Skywork's two versions it ran."
    )
    return beside(_STEM, "reward model", printed, here, caption, _COLUMNS)


def exhibit(runs: Path) -> Exhibit:
    """Return Table 9; `runs` is not read."""
    here, rows = compute(), printed_in(_STEM)["rows"]
    built = {row["model"]: [_BASES[word] for word in _BASES if row["base"].startswith(word)] for row in rows}
    odd = [row for row in rows if built[row["model"]] and here[row["model"]]["network"] not in built[row["model"]]]
    summary = (
        f"For {len(rows) - len(odd)} of {len(rows)} the printed base is the network that the checkpoint is loaded on"
    )
    for row in odd:
        network = here[row["model"]]["network"]
        summary += f"; {row['model']} is printed as built on {row['base']}, and is loaded on {network}'s network"
    return Exhibit("Table 9: the reward models", tables=(table(here),), conclusions=(f"{summary}.",))
