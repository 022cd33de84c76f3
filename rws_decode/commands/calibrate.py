"""`python -m rws_decode calibrate`: mean and deviation of a reward model's raw scores on a sample of pairs."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

__all__ = ["NECTAR", "add_arguments", "run"]

NECTAR = "berkeley-nest/Nectar"
_SAMPLE = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `calibrate` to a parser."""
    parser.add_argument("--reward", required=True, metavar="NAME", help="reward model: name, directory or hub id")
    parser.add_argument("--published", metavar="NAME", help="the paper's reward model that the directory holds")
    parser.add_argument("--revision", metavar="COMMIT", help="of a hub id")
    parser.add_argument(
        "--data", metavar="FILE", help=f"pairs as .jsonl, .json or .parquet ({NECTAR}, by the library datasets)"
    )
    parser.add_argument("--prompt-field", metavar="FIELD", help="of the data (prompt)")
    parser.add_argument("--answer-field", metavar="FIELD", help="of the data (answers, chosen and rejected, ...)")
    parser.add_argument("--sample", type=int, metavar="N", help=f"pairs to score ({_SAMPLE}, or all if fewer)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (0)")
    parser.add_argument("--skip-long", action="store_true", help="leave out pairs that are longer than the model reads")
    parser.add_argument("--out", metavar="FILE", help="write reward.json there, and go on from where a run stopped")
    parser.add_argument("--batch", type=int, default=32, metavar="N", help="pairs per forward (32)")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, ... (cpu)")
    parser.add_argument("--dtype", default="float32", help="of the network: float32, bfloat16, ... (float32)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON on standard output")


def run(args: argparse.Namespace) -> int:
    """Score a sample, print its statistics and write them; ValueError for input that cannot be used.

    The file and `--json`: `mean`, `std` and `template`, which `load_reward` reads, and `calibration`, how they came
    about: `std_kind`, `n`, `rows`, `standard_error` (of the mean, by rows), `seed`, `pairs` (all there are), `chosen`
    ([row, answer] of each pair scored, from 0, or "all"), `skipped`, `data` (its name and digest), `reward`,
    `revision`, `dtype`.
    """
    if args.sample is not None and args.sample < 2:
        raise ValueError(f"--sample is {args.sample}: at least 2 is needed")
    if args.batch < 1:
        raise ValueError(f"--batch is {args.batch}: at least 1 is needed")
    if not 0 <= args.seed < 2**63:
        raise ValueError(f"--seed is {args.seed}: at least 0 and below 2**63 is needed")
    if args.out is not None and Path(args.out).is_dir():
        raise ValueError(f"--out is {args.out}: a directory; a file such as {args.out}/reward.json is needed")

    from tqdm import tqdm

    from rws_decode.common.files import write_json
    from rws_decode.rewards import load_reward, published_reward
    from rws_decode.rewards.base import ReadsTokens, reads_whole
    from rws_decode.rewards.calibration import read_pairs, sampled, score_pairs, statistics

    rows, data = _data(args)
    pairs = read_pairs(rows, args.prompt_field, args.answer_field)
    if args.sample is not None and args.sample > len(pairs):
        raise ValueError(f"--sample is {args.sample}: the data hold {len(pairs)} pairs")
    model = load_reward(
        args.reward,
        args.device,
        mean=0.0,
        std=1.0,
        dtype=args.dtype,
        revision=args.revision,
        published=args.published,
    )
    template = "pair"
    if isinstance(model, ReadsTokens):
        model.batch_size, template = args.batch, model.template
    chosen = sampled(pairs, _SAMPLE if args.sample is None else args.sample, args.seed)
    fitting = [pair for pair in chosen if reads_whole(model, pair.prompt, pair.answer)]
    if len(fitting) < len(chosen) and not args.skip_long:
        raise ValueError(
            f"{len(chosen) - len(fitting)} of {len(chosen)} pairs are longer than {model.name} reads: "
            "--skip-long leaves them out"
        )
    entry = published_reward(args.reward)
    about: dict[str, Any] = {
        "reward": model.name,
        "revision": args.revision if entry is None or args.revision is not None else entry.revision,
        "dtype": args.dtype,
        "data": data,
        "seed": args.seed,
        "pairs": len(pairs),
        "chosen": "all" if len(chosen) == len(pairs) else [[pair.row, pair.number] for pair in chosen],
        "skipped": len(chosen) - len(fitting),
    }
    progress = None if args.out is None else Path(f"{args.out}.progress")
    key = about | {"files": _files(args.reward), "fields": [args.prompt_field, args.answer_field], "template": template}
    with tqdm(total=len(fitting), desc="calibrate", unit="pair", file=sys.stderr) as bar:
        scores = score_pairs(model, fitting, batch=args.batch, progress=progress, key=key, advance=bar.update)
    found = statistics(scores, [pair.row for pair in fitting])
    result = {
        "mean": found.mean,
        "std": found.std,
        "template": template,
        "calibration": {
            "std_kind": "sample (n - 1)",
            "n": found.n,
            "rows": found.rows,
            "standard_error": found.standard_error,
            **about,
        },
    }
    if args.out is not None:
        write_json(args.out, result)
    if progress is not None:
        progress.unlink(missing_ok=True)
    print(json.dumps(result, allow_nan=False) if args.json else _summary(model.name, found, len(chosen) - len(fitting)))
    return 0


def _data(args: argparse.Namespace) -> tuple[Any, dict[str, Any]]:
    from rws_decode.common.extras import required
    from rws_decode.rewards.calibration import digest, read_rows

    if args.data is not None:
        rows = read_rows(args.data)
        return rows, {"file": Path(args.data).name, "sha256": digest(args.data)}
    datasets = required("datasets", f"--data is missing, and {NECTAR} is loaded by the library datasets")
    # Nectar has no other split: the seeded sample of it stands for the paper's validation split.
    nectar = datasets.load_dataset(NECTAR, split="train")
    return nectar, {"dataset": NECTAR, "split": "train", "fingerprint": nectar._fingerprint}


def _files(reward: str) -> list[list[Any]]:
    # What tells one checkpoint from its successor in the same place, without reading all of it.
    folder = Path(reward)
    if not folder.is_dir():
        return []
    kinds = ("*.safetensors", "config.json", "tokenizer*", "chat_template*")
    files = sorted({path for kind in kinds for path in folder.glob(kind)})
    return [[path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in files]


def _summary(name: str, found: Any, skipped: int) -> str:
    left = f"; {skipped} longer pairs left out" if skipped else ""
    return (
        f"{name}: mean {found.mean:.6g} (standard error {found.standard_error:.2g}), sample deviation {found.std:.6g}, "
        f"over {found.n} pairs of {found.rows} rows{left}"
    )
