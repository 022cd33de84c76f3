"""Decode the same prompts otherwise, and count the answers that change: the tables of two guides.

    python tests/support/decode_again.py mini stories --reward mini --length 32 --ways alone bfloat16
    python tests/support/decode_again.py reactions reactions:16 --reward balanced --ways alone bfloat16
    python tests/support/decode_again.py reactions reactions:16 --reward balanced --prompts 40 --steps 16 --block 8 \
        --ways prefix dual delayed:8

Ways: alone, each row by itself; a dtype; a key cache; beside batches of 16. --usual FILE keeps those batches' answers,
for a run under another instruction set (SSE of the Makefile), compared by --ways usual.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from paper_figures.extra.fragility.answers import fragility
from paper_figures.studies.prompts import prompts_of
from rws_decode import Options, Savings, Shape, decode, load_predictor, load_reward, strategy_log_prob

DRAWN = Options(sampling_temperature=1.0, drawing="commit")


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("source")
    parser.add_argument("--reward", required=True)
    parser.add_argument("--strategies", nargs="+", default=["default", "rws:8"])
    parser.add_argument("--ways", nargs="+", default=["usual"])
    for name, usual in (("prompts", 100), ("length", 16), ("steps", None), ("block", None)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--flip", type=int, default=0, help="decodes of each fragile answer, logits moved by rounding")
    parser.add_argument("--usual", type=Path)
    return parser


def main(argv: list[str] | None = None) -> None:
    given = options().parse_args(argv)
    shape = Shape(given.length, given.steps or given.length // 2, given.block or given.length)
    texts = [prompt.text for prompt in prompts_of(given.source, given.prompts, seed=0, model=given.model).test]
    reward = load_reward(given.reward)
    known = json.loads(given.usual.read_text()) if given.usual and given.usual.is_file() else {}

    def run(strategy: str, way: str) -> tuple[Any, list[Any]]:
        dtype = {"dtype": way} if way in ("bfloat16", "float16", "float64") else {}
        cache = way if way.startswith(("prefix", "dual", "delayed")) else "none"
        predictor = load_predictor(given.model, **dtype)
        settings: dict[str, Any] = {"reward": reward, "options": Options(key_cache=cache)}
        settings |= {"savings": Savings(batch_invariant=way == "alone")}
        batches = [texts[start : start + 16] for start in range(0, len(texts), 16)]
        return predictor, [trace for each in batches for trace in decode(predictor, each, strategy, shape, **settings)]

    for strategy in given.strategies:
        predictor, usual = run(strategy, "usual")
        tokens = np.array(known.setdefault(strategy, [trace.tokens.tolist() for trace in usual]))
        found = fragility(usual, predictor=predictor if given.flip else None, decodes=given.flip or 8)
        flipped = int(found.changed.sum()) if given.flip else None
        print(json.dumps({"strategy": strategy, "fragile": int(found.fragile.sum()), "flipped": flipped}))
        # Columns without padding; in a prompt with gaps the answer stands within it.
        widths = [len(trace.prompt) + trace.length * (trace.mask_id not in trace.prompt) for trace in usual]
        whole = sum(trace.forwards * width for trace, width in zip(usual, widths, strict=True))
        for way in given.ways:
            _, traces = run(strategy, way) if way != "usual" else (None, usual)
            equal = np.array([trace.tokens for trace in traces]) == tokens
            changed = ~equal.all(axis=1)
            row: dict[str, Any] = {"way": way, "changed": int(changed.sum()), "tokens equal": float(equal.mean())}
            row["changed, fragile"] = int((changed & found.fragile).sum())
            if traces[0].computed_columns is not None:
                others = [
                    (a.commit_step != b.commit_step) | ~same for a, b, same in zip(traces, usual, equal, strict=True)
                ]
                first = [
                    min(np.minimum(a.commit_step, b.commit_step)[other])
                    for a, b, other in zip(traces, usual, others, strict=True)
                    if other.any()
                ]
                gain = np.array(
                    [a.final_reward["raw"] - b.final_reward["raw"] for a, b in zip(traces, usual, strict=True)]
                )
                row |= {"parted": len(first), "at step": float(np.median(first)) if first else None}
                row |= {"reward": gain.mean(), "se": gain.std(ddof=1) / len(gain) ** 0.5}
                row["columns"] = sum(trace.computed_columns for trace in traces) / whole
                laws = [
                    strategy_log_prob(
                        predictor, None, canvas=texts, answers=[*tokens], strategy=strategy, shape=shape,
                        options=replace(DRAWN, key_cache=cache),
                    ).log_prob.mean()
                    for cache in (way, "none")
                ]  # fmt: skip
                row["log q"] = laws[0] - laws[1]
            print(json.dumps(row))
    if given.usual and not given.usual.is_file():
        given.usual.write_text(json.dumps(known))


if __name__ == "__main__":
    main()
