"""Work whose bytes must not depend on the process: `python alike.py MODELS OUT WORKERS` writes them below OUT."""

import contextlib
import io
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

from grouped import grouped
from study_runs import SHAPE

STRATEGIES: dict[str, tuple[str, ...]] = {
    "default": (),
    "rws": ("--reward-scale", "8"),
    "rws-random": ("--reward-scale", "8", "--seed", "3"),
    "random-order": ("--seed", "5"),
    "temperature": ("--scale", "3", "--sampling-temperature", "0.7", "--seed", "2"),
    "entropy": ("--cfg", "0.5"),
}


def printed(run: Callable[[list[str]], int], words: list[str], path: Path) -> None:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        assert run(words) == 0, words
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(output.getvalue(), encoding="utf-8")


def shipped(out: Path) -> None:
    from rws_decode import RWS, decode, decode_compact, load_predictor, load_reward

    predictor, reward = load_predictor("mini"), load_reward("mini")
    prompts = [example["prompt"] for example in predictor.examples[:3]]
    shape = {"length": 32, "steps": 8, "block": 32}
    for name, run in (("batch", decode), ("compact", decode_compact)):
        for row, trace in enumerate(run(predictor, prompts, RWS(8.0), reward=reward, **grouped(**shape))):
            trace.save(out / name / f"{row}.parquet")
    decode(predictor, prompts[:1], RWS(8.0), reward=reward, **grouped(**shape))[0].save(out / "alone.parquet")


def tiny(models: Path, out: Path) -> None:
    from command_lines import decoding as main

    shared = ["--model", str(models / "model"), "--prompt", "the cat sat on a mat ."]
    shared += [word for name, value in SHAPE.items() for word in (f"--{name}", str(value))]
    for name, more in STRATEGIES.items():
        reward_options = ["--reward", str(models / "guide")] if name.startswith("rws") else []
        for kind, flags in {"text": [], "json": ["--json", "--trace", str(out / name)]}.items():
            printed(
                main, ["generate", "--strategy", name, *shared, *more, *reward_options, *flags], out / f"{name}-{kind}"
            )
    for precision in ("bfloat16", "float32", "float64"):
        ranked = ["--ranking", "probability", "--precision", precision, "--trace", str(out / precision)]
        printed(main, ["generate", *shared, *ranked, "--json"], out / f"{precision}.json")
    fast = ["--compact", "--strategy", "rws", "--reward", str(models / "guide"), "--reward-scale", "8"]
    printed(main, ["generate", *shared, *fast, "--json", "--trace", str(out / "compact")], out / "compact.json")
    path = ["--scale-min", "0.1", "--scale-max", "8", "--json"]
    printed(main, ["scale-path", *shared, *path], out / "path.json")


def study(options: list[str], out: Path, workers: str) -> None:
    from command_lines import figures as main

    few = ["--prompts", "2", "--rewards", options[options.index("--rewards") + 1]]
    words = ["experiment", "controls", "--out", str(out), *options, *few, "--traces", "--workers", workers, "--json"]
    printed(main, words, out / "printed.json")
    printed(main, ["summarize", str(out), "--json"], out / "summary.json")


def theory(out: Path) -> None:
    import numpy as np
    from command_lines import theory as main

    pair = [str(np.random.default_rng(row).normal(size=12).round(2).tolist()) for row in range(2)]
    printed(main, ["crossings", *pair, "--json"], out / "crossings.json")
    np.save(out / "logits.npy", np.random.default_rng(0).normal(size=(8, 64)) * 3)
    path = ["--k", "3", "--scale-min", "0.01", "--scale-max", "32", "--json"]
    printed(main, ["path", str(out / "logits.npy"), *path], out / "path.json")
    printed(main, ["claims", "C1-printed", "TAB-winrate-mean", "D-crossing", "--json"], out / "claims.json")


def figures(out: Path) -> None:
    from command_lines import figures as main

    words = ["device_cost", "table9_reward_models", "--runs", str(out / "none"), "--out", str(out), "--workers", "0"]
    printed(main, words, out / "printed.txt")


def work(models: Path, out: Path, workers: str) -> None:
    shipped(out / "shipped")
    tiny(models, out / "tiny")
    study((models / "options").read_text(encoding="utf-8").split("\n"), out / "study", workers)
    theory(out / "theory")
    figures(out / "figures")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    work(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
