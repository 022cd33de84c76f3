"""`python -m rws_decode generate`: decode the answer to one prompt."""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rws_decode.canvas.schedule import block_plan
from rws_decode.commands._options import (
    add_answer,
    add_loading,
    add_policies,
    add_prompt,
    add_reward_loading,
    add_threads,
    predictor_of,
    prompt_of,
    reward_of,
    threads_of,
    token_ids,
)
from rws_decode.strategies.table import OFFERED, STRATEGIES, strategy_named

if TYPE_CHECKING:
    from rws_decode.trace.trace import Trace

__all__ = ["STRATEGIES", "add_arguments", "result", "run"]

_OPTIONS = ("scale", "reward", "reward_scale", "every", "run")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `generate` to a parser."""
    add_prompt(parser)
    parser.add_argument(
        "--strategy",
        choices=OFFERED,
        default="default",
        help="how logits are scaled, or positions ordered (default)",
    )
    parser.add_argument("--scale", type=float, metavar="C", help="factor of --strategy temperature")
    add_reward_loading(parser)
    parser.add_argument("--reward-scale", type=float, metavar="S", help="reward scale s_R of the rws strategies")
    parser.add_argument("--every", type=int, metavar="N", help="rws-every: ask the reward every N steps")
    parser.add_argument(
        "--run", metavar="FILE", help="trace of the rws run that schedule repeats, constant averages, shuffled permutes"
    )
    parser.add_argument(
        "--sampling-temperature", type=float, default=0.0, metavar="T", help="draw tokens by Gumbel-max (0: greedy)"
    )
    add_policies(parser)
    add_answer(parser)
    parser.add_argument(
        "--ranking",
        choices=["log-odds", "probability", "topk"],
        default="log-odds",
        help="what ranks positions; topk is torch.topk of the probability, as public decoders do",
    )
    parser.add_argument(
        "--precision",
        choices=["model", "bfloat16", "float32", "float64"],
        default="float64",
        help="of the ranking; model is the model's own (float64)",
    )
    parser.add_argument(
        "--savings",
        choices=["usual", "everything", "nothing"],
        default="usual",
        help="leave out what cannot change the text: repeated scores alone, all that one device can, nothing (usual)",
    )
    parser.add_argument(
        "--compact",
        action="store_true",
        help="use the compact decoder, meant for a GPU: the same tokens; for greedy decoding of scaled logits",
    )
    parser.add_argument("--seed", type=int, default=0, help="of sampling, random-order, rws-random and shuffled (0)")
    add_loading(parser)
    add_threads(parser)
    parser.add_argument("--trace", metavar="DIR", help="write the trace to DIR/trace.parquet")
    parser.add_argument("--json", action="store_true", help="print the result as JSON on standard output")


def run(args: argparse.Namespace) -> int:
    """Decode and print; ValueError for input that cannot be used."""
    missing = [option for option in STRATEGIES[args.strategy].reads if getattr(args, option) is None]
    if missing:
        names, one = " and ".join(f"--{option.replace('_', '-')}" for option in missing), len(missing) == 1
        raise ValueError(
            f"{names} {'is' if one else 'are'} missing: --strategy {args.strategy} needs {'it' if one else 'them'}"
        )
    for option in _OPTIONS:
        if getattr(args, option) is not None and option not in STRATEGIES[args.strategy].reads:
            print(f"note: --strategy {args.strategy} does not use --{option.replace('_', '-')}", file=sys.stderr)
    if args.trace is not None and Path(args.trace).exists() and not Path(args.trace).is_dir():
        raise ValueError(f"--trace is {args.trace}: a file; a directory is needed")
    if not 0 <= args.seed < 2**63:
        raise ValueError(f"--seed is {args.seed}: at least 0 and below 2**63 is needed")
    if args.compact:
        _check_compact(args)
    threads = threads_of(args)
    block_plan(args.length, args.steps, args.block)
    if args.input_ids is not None:
        token_ids(args.input_ids)

    from rws_decode.common.threads import torch_threads
    from rws_decode.decode import decode
    from rws_decode.gpu import CompactSavings, decode_compact
    from rws_decode.step.savings import Savings

    options = {option: getattr(args, option) for option in ("scale", "reward_scale", "every", "seed")}
    strategy: Any = strategy_named(args.strategy, **options, run=_run(args))
    predictor = predictor_of(args)
    prompts = [prompt_of(args, predictor)]
    shared: dict[str, Any] = {"length": args.length, "steps": args.steps, "block": args.block}
    shared |= {"reward": reward_of(args) if strategy.needs_reward else None, "end_of_text": args.end_of_text}
    if args.compact:
        kinds = {"usual": CompactSavings.usual, "everything": CompactSavings, "nothing": CompactSavings.nothing}
        with torch_threads(threads):
            (trace,) = decode_compact(predictor, prompts, strategy, savings=kinds[args.savings](), **shared)
    else:
        savings = {"usual": Savings, "everything": Savings.everything, "nothing": Savings.nothing}[args.savings]()
        with torch_threads(threads):
            (trace,) = decode(
                predictor,
                prompts,
                strategy,
                ranking=args.ranking,
                precision=args.precision,
                sampling_temperature=args.sampling_temperature,
                seed=args.seed,
                cfg=args.cfg,
                savings=savings,
                **shared,
            )
    if args.trace is not None:
        print(f"trace: {trace.save(Path(args.trace) / 'trace.parquet')}", file=sys.stderr)
    print(json.dumps(result(trace), allow_nan=False) if args.json else _summary(trace))
    return 0


def _check_compact(args: argparse.Namespace) -> None:
    """Raise ValueError, naming it, for an option that the compact decoder does not know."""
    known = {"ranking": "log-odds", "precision": "float64", "sampling_temperature": 0.0, "cfg": 0.0}
    other = [name for name, value in known.items() if getattr(args, name) != value]
    other += ["end_of_text"] if args.end_of_text == "defer" else []
    if other:
        option = f"--{other[0].replace('_', '-')}"
        raise ValueError(f"{option} is {getattr(args, other[0])}: --compact decodes without it, choose one")


def result(trace: Trace) -> dict[str, Any]:
    """Return what `--json` prints; `scales` are the factors, `rewards` the raw ones, None where there is none."""
    return {
        "tokens": trace.tokens.tolist(),
        "text": trace.text,
        "commit_step": trace.commit_step.tolist(),
        "god_tokens": trace.god_tokens,
        "god_steps": trace.god_steps,
        "forwards": trace.forwards,
        "reward_calls": trace.reward_calls,
        "reward_calls_saved": trace.reward_calls_saved,
        "scales": [None if math.isnan(factor) else factor for factor in trace.factor.tolist()],
        "rewards": [None if math.isnan(reward) else reward for reward in trace.reward_raw.tolist()],
        "ties": trace.ties.tolist(),
    }


def _summary(trace: Trace) -> str:
    text = json.dumps(trace.tokens.tolist()) if trace.text is None else trace.text
    return (
        f"{text}\n\n"
        f"generation order deviation: {trace.god_tokens:.3f} tokens, {trace.god_steps:.3f} steps\n"
        f"forwards: {trace.forwards}; reward calls: {trace.reward_calls}, saved: {trace.reward_calls_saved}; "
        f"ties at the cut: {int(trace.ties.sum())}"
    )


def _run(args: argparse.Namespace) -> Trace | None:
    from rws_decode.trace.trace import load

    if "run" not in STRATEGIES[args.strategy].reads:
        return None
    trace = load(args.run)
    if trace.steps != args.steps:
        raise ValueError(f"--run is {args.run}: a run of {trace.steps} steps, --steps is {args.steps}")
    return trace
