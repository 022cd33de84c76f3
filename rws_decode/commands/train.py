"""`python -m rws_decode train`: train, measure and write the shipped models of the story language."""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["add_arguments", "run"]

_MODELS = ("mini", "mini-causal", "mini-reward", "mini-judge")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `train` to a parser."""
    parser.add_argument("name", choices=_MODELS, help="the model; the rewards need a finished run of mini")
    parser.add_argument(
        "--runs", type=Path, required=True, metavar="DIR", help="checkpoints and logs, one folder a model"
    )
    parser.add_argument("--models", type=Path, metavar="DIR", help="where finished models go (the package's own)")
    parser.add_argument("--seed", type=int, help="another seed than the recipe's")
    parser.add_argument("--every", type=int, default=100, metavar="N", help="steps between checkpoints (100)")
    parser.add_argument("--stop-after", type=int, metavar="N", help="stop at step N, to be resumed later")
    parser.add_argument("--threads", type=int, default=1, help="PyTorch threads (1)")
    parser.add_argument("--export", action="store_true", help="measure the finished run and write model and card")


def run(args: argparse.Namespace) -> int:
    """Train or resume a run; with --export measure it and write it as it ships."""
    import torch

    from rws_decode.mini.training.recipes import export_model, train_model

    for option in ("every", "stop_after", "threads"):
        value = getattr(args, option)
        if value is not None and value < 1:
            raise ValueError(f"--{option.replace('_', '-')} is {value}: it must be at least 1")
    torch.set_num_threads(args.threads)
    if args.export:
        export_model(args.name, args.runs, args.models)
    else:
        train_model(args.name, args.runs, every=args.every, stop_after=args.stop_after, seed=args.seed)
    return 0
