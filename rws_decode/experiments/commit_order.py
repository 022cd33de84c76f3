"""In what order positions are committed: left to right, by confidence, and by RWS, for a few held-out prompts.

Files below OUT/commit-order: `METHOD-EXAMPLE.parquet`, the traces (left-to-right, default, rws), and
`results.json`.

Left to right is confidence decoding in blocks of length / steps tokens, the number that a step commits, so that every
step commits the whole block at once: strictly from left to right in groups of that size (pairs at length 64 and 32
steps, inside which there is no order). GOD is 0 in both readings, with as many forwards as the other two methods.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["add_arguments", "run", "run_commit_order"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the experiment's options to a parser."""
    parser.add_argument("--out", required=True, metavar="DIR", help="traces go to DIR/commit-order")
    parser.add_argument(
        "--examples", type=int, nargs="+", default=[3], metavar="N", help="held-out prompts, from 0 (3)"
    )
    parser.add_argument("--model", default="mini", help="mask predictor: shipped name or directory (mini)")
    parser.add_argument("--reward", default="mini", help="reward model that guides rws (mini)")
    parser.add_argument("--reward-scale", type=float, default=8.0, metavar="S", help="s_R of rws (8)")
    parser.add_argument("--length", type=int, default=64, help="answer tokens (64), a multiple of --steps")
    parser.add_argument("--steps", type=int, default=32, help="forwards (32)")
    parser.add_argument("--block", type=int, default=32, help="tokens per block of default and rws (32)")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, ... (cpu)")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Run the experiment from parsed options; return what `--json` prints."""
    if Path(args.out).exists() and not Path(args.out).is_dir():
        raise ValueError(f"--out is {args.out}: a file; a directory is needed")
    results = run_commit_order(
        Path(args.out),
        args.examples,
        model=args.model,
        reward=args.reward,
        reward_scale=args.reward_scale,
        length=args.length,
        steps=args.steps,
        block=args.block,
        device=args.device,
    )
    folder = Path(args.out) / "commit-order"
    lines = [
        f"{row['method']} {row['example']}: "
        f"GOD {row['god_tokens']:.2f} tokens, {row['god_steps']:.2f} steps: {row['text']}"
        for row in results["rows"]
    ]
    return {
        "experiment": "commit-order",
        "folder": str(folder),
        **results,
        "message": "\n".join([*lines, f"\n{folder}"]),
    }


def run_commit_order(
    out: Path,
    examples: Sequence[int] = (3,),
    *,
    model: str = "mini",
    reward: str = "mini",
    reward_scale: float = 8.0,
    length: int = 64,
    steps: int = 32,
    block: int = 32,
    device: str = "cpu",
) -> dict[str, Any]:
    """Decode each example by the three methods, one prompt at a time, and return what results.json holds.

    What is there from the same settings, models and code is left as it is. ValueError for an example that the model
    does not ship, or a length that steps do not divide.
    """
    from tqdm import tqdm

    from rws_decode.checkpoints import shipped
    from rws_decode.decode import decode
    from rws_decode.experiments.sources import digest, examples_of, read_result, sources
    from rws_decode.files import write_json
    from rws_decode.guidance import RWS, Confidence, Strategy
    from rws_decode.predictors import load_predictor
    from rws_decode.rewards import classifier, load_reward
    from rws_decode.schedule import block_plan
    from rws_decode.stories.answers import judge

    block_plan(length, steps, block)
    if length % steps:
        raise ValueError(
            f"steps is {steps}: it must divide length, {length}, to commit equal groups from left to right"
        )
    group = length // steps
    plans: dict[str, tuple[Strategy, int]] = {
        "left-to-right": (Confidence(), group),
        "default": (Confidence(), block),
        "rws": (RWS(reward_scale), block),
    }
    stored = examples_of(model)
    for example in examples:
        if not 0 <= example < len(stored):
            raise ValueError(f"examples holds {example}: {model} ships {len(stored)} examples, from 0")
    settings = {
        "model": model,
        "reward": reward,
        "reward_scale": reward_scale,
        "length": length,
        "steps": steps,
        "block": block,
        "group": group,
        "device": device,
    }
    known = {name: name for name in shipped("ForMaskedLM")}
    origin = sources(model=(model, known), reward=(reward, classifier.SHIPPED))
    fingerprint = digest([settings, list(examples), origin])
    folder = out / "commit-order"
    finished = read_result(folder / "results.json", fingerprint)
    if finished and all((folder / row["trace"]).is_file() for row in finished["rows"]):
        return finished

    predictor, guide = load_predictor(model, device, progress=False), load_reward(reward, device, progress=False)
    # Results stand for the traces they name, so old ones go first.
    (folder / "results.json").unlink(missing_ok=True)
    rows = []
    wanted = [(example, method) for example in examples for method in plans]
    for example, method in tqdm(wanted, desc="commit-order", unit="decode"):
        strategy, size = plans[method]
        prompt = stored[example]["prompt"]
        (trace,) = decode(predictor, [prompt], strategy, length=length, steps=steps, block=size, reward=guide)
        path = trace.save(folder / f"{method}-{example}.parquet")
        judgement = judge(prompt, trace.text or "")
        row = {"method": method, "example": example, "prompt": prompt, "text": trace.text, "block": size}
        row |= {"god_tokens": trace.god_tokens, "god_steps": trace.god_steps, "coherent": judgement.coherent}
        row |= {"violations": [violation.kind for violation in judgement.violations], "trace": path.name}
        rows.append(row | {"commit_step": trace.commit_step.tolist(), "factors": trace.factor.tolist()})
    results = {"schema": "rws_decode.experiment.commit-order", "version": 1, "fingerprint": fingerprint}
    results |= {"settings": settings, "sources": origin, "rows": rows}
    write_json(folder / "results.json", results, indent=1)
    return results
