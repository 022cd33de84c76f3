"""What can any temperature reach, what can any reward scale reach, what only one of them: prompt by prompt, complete.

Each prompt gets two complete scale paths (`rws_decode.scale_path`), over the constant factor c and over s_R of
Reward-Weighted Sampling, both over the one range that is given and nothing beyond it, and their distinct answers are
compared. The factors of RWS at s_R lie in [s_R sqrt(eps), s_R sqrt(1 + eps)], eps = 1e-5, and vary from step to step.

Files below OUT/reach: `prompt-NNNN.json`, one per prompt, with both paths; `results.json` with the summary and every
prompt's outputs; `summary.csv|md`.

Columns of the summary, per prompt and added up ("all"): `temperature`, `reward_scale`, the distinct answers that any
factor, any reward scale in the range gives; `shared`, those that both give; `only_temperature`, `only_reward_scale`,
those that the other axis is proved not to give; `open`, those of which that is not known, as a budget left parts
unexplored (`temperature_unexplored`, `reward_scale_unexplored`, ln of upper / lower); `..._width`, how much of the
axis, ln of upper / lower, leads to what only it gives; `certified`, how many of the paths are whole and certified;
`forwards`, canvases evaluated for both paths; `grid_forwards`, what decoding at a grid of as many points as the paths
have pieces would take; `reward_calls`, texts scored; `near_tokens`, candidates that rounding may change.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import sys
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rws_decode.experiments.pool import executor

if TYPE_CHECKING:
    from rws_decode.experiments.reach_cell import Settings

__all__ = ["add_arguments", "run", "run_reach"]

_CAPTION = (
    "Distinct answers, by tokens, that any constant factor c and any reward scale s_R gives; c and s_R in [{low:g}, "
    "{high:g}], nothing beyond it; an RWS factor lies in [s_R sqrt(eps), s_R sqrt(1 + eps)], eps = 1e-5. Only: the "
    "other axis is proved not to give it (with the ln of upper / lower of the scales that do). Open: not known, as a "
    "budget left parts unexplored. Forwards: canvases evaluated for both paths; grid: forwards of decoding at as many "
    "scales as the paths have pieces.\n\n"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the experiment's options to a parser."""
    parser.add_argument("--out", required=True, metavar="DIR", help="results go to DIR/reach")
    parser.add_argument("--prompts", type=int, default=16, metavar="N", help="the model's first N examples (16)")
    parser.add_argument("--model", default="mini", help="mask predictor: shipped name, directory or hub id (mini)")
    parser.add_argument("--reward", default="mini", help="reward model: shipped name, directory or hub id (mini)")
    parser.add_argument("--mask-id", type=int, help="mask token, for a model that does not name its own")
    parser.add_argument("--scale-min", type=float, default=0.01, metavar="X", help="least c and s_R (0.01)")
    parser.add_argument("--scale-max", type=float, default=32.0, metavar="Y", help="greatest c and s_R (32)")
    parser.add_argument("--budget", type=int, metavar="N", help="canvases that each path may evaluate (no limit)")
    parser.add_argument("--length", type=int, default=32, help="answer tokens (32)")
    parser.add_argument("--steps", type=int, default=16, help="forwards per answer (16)")
    parser.add_argument("--block", type=int, default=32, help="tokens per block (32)")
    parser.add_argument(
        "--workers", type=int, default=2, metavar="N", help="processes that prompts are spread over (2)"
    )
    parser.add_argument("--device", default="cpu", help="cpu, cuda, ... (cpu)")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Run the experiment from parsed options; return what `--json` prints."""
    for name in ("prompts", "workers"):
        if getattr(args, name) < 1:
            raise ValueError(f"--{name} is {getattr(args, name)}: at least 1 is needed")
    if not 0 < args.scale_min < args.scale_max < math.inf:
        ends = f"{args.scale_min} and {args.scale_max}"
        raise ValueError(f"--scale-min and --scale-max are {ends}: 0 < min < max < inf is needed")
    if args.budget is not None and args.budget < args.steps:
        raise ValueError(f"--budget is {args.budget}: at least --steps, {args.steps}, is needed")
    if Path(args.out).exists() and not Path(args.out).is_dir():
        raise ValueError(f"--out is {args.out}: a file; a directory is needed")

    from rws_decode.experiments.reach_cell import Settings
    from rws_decode.experiments.sources import examples_of

    settings = Settings(**{field.name: getattr(args, field.name) for field in fields(Settings)})
    prompts = [example["prompt"] for example in examples_of(args.model)]
    if len(prompts) < args.prompts:
        raise ValueError(f"--prompts is {args.prompts}: the examples of {args.model} hold {len(prompts)}")
    with executor(args.workers) as pool:
        results = run_reach(Path(args.out), settings, prompts[: args.prompts], executor=pool)
    folder = Path(args.out) / "reach"
    return {
        "experiment": "reach",
        "folder": str(folder),
        **{key: results[key] for key in ("fingerprint", "settings", "summary")},
        "message": (folder / "summary.md").read_text(encoding="utf-8") + f"\nresults: {folder}",
    }


def run_reach(
    out: Path, settings: Settings, prompts: Sequence[str], *, executor: Executor | None = None
) -> dict[str, Any]:
    """Run, resume or reuse the experiment below out/reach and return what results.json holds.

    A prompt is reused where its file names the same fingerprint (settings, prompt, files of the models, code and
    library versions); a finished experiment touches no file. executor: where prompts run, here if None.
    """
    from tqdm import tqdm

    from rws_decode.checkpoints import shipped
    from rws_decode.experiments.reach_cell import cell_name, run_cell
    from rws_decode.experiments.sources import digest, read_result, sources
    from rws_decode.experiments.tables import to_csv, to_markdown
    from rws_decode.files import write_json, write_text
    from rws_decode.rewards import classifier
    from rws_decode.schedule import block_plan

    block_plan(settings.length, settings.steps, settings.block)
    folder = out / "reach"
    origin = sources(
        model=(settings.model, {name: name for name in shipped("ForMaskedLM")}),
        reward=(settings.reward, classifier.SHIPPED),
    ) | {"theory": _theory()}
    fingerprints = [digest([asdict(settings), index, prompt, origin]) for index, prompt in enumerate(prompts)]
    whole = digest(fingerprints)

    def stored(index: int) -> dict[str, Any] | None:
        return read_result(folder / f"{cell_name(index)}.json", fingerprints[index])

    wanted = [index for index in range(len(prompts)) if stored(index) is None]
    finished = read_result(folder / "results.json", whole)
    if not wanted and finished and all((folder / f"summary.{kind}").is_file() for kind in ("csv", "md")):
        return finished
    tasks = [(folder, index, prompts[index], settings, fingerprints[index], digest(origin)) for index in wanted]
    done = map(run_cell, tasks) if executor is None else executor.map(run_cell, tasks)
    for _ in tqdm(done, total=len(tasks), desc="reach", unit="prompt", file=sys.stderr, disable=not tasks):
        pass
    documents = []
    for index in range(len(prompts)):
        found = stored(index)
        if found is None:
            raise ValueError(f"out is {out}: {cell_name(index)}.json was changed while the experiment ran")
        documents.append(found)
    rows = [document["row"] for document in documents]
    total = {name: sum(row[name] for row in rows) for name in rows[0]} | {"prompt": "all"}
    summary = [*rows, total]
    results: dict[str, Any] = {"schema": "rws_decode.experiment.reach.results", "version": 1, "fingerprint": whole}
    results |= {"settings": asdict(settings), "sources": origin, "summary": summary}
    names = ("index", "prompt", "outputs")
    results |= {"prompts": [{name: document[name] for name in names} for document in documents]}
    write_text(folder / "summary.csv", to_csv(summary))
    caption = _CAPTION.format(low=settings.scale_min, high=settings.scale_max)
    write_text(folder / "summary.md", caption + to_markdown(_shown(summary)))
    write_json(folder / "results.json", results, indent=1)
    return results


def _theory() -> str:
    """Return the digest of the mathematics below, which `sources` leaves out."""
    import rws_theory

    files = sorted(Path(str(rws_theory.__file__)).parent.glob("*.py"))
    return hashlib.sha256(b"\0".join(path.name.encode() + path.read_bytes() for path in files)).hexdigest()


def _shown(summary: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "prompt": row["prompt"],
            "temperature": row["temperature"],
            "reward scale": row["reward_scale"],
            "shared": row["shared"],
            "only temperature": f"{row['only_temperature']} ({row['only_temperature_width']:.2f})",
            "only reward scale": f"{row['only_reward_scale']} ({row['only_reward_scale_width']:.2f})",
            "open": row["open"],
            "certified paths": row["certified"],
            "forwards": row["forwards"],
            "grid": row["grid_forwards"],
            "reward calls": row["reward_calls"],
        }
        for row in summary
    ]
