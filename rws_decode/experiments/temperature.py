"""Temperature against reward on keyword prompts: the paper's scaling table (Appendix "Full Results of Softmax
Temperature Scaling") and its keyword figure, with the controls that tell a reward's effect from that of its factor.

Methods, at every scale of the grid: `temperature`, the constant factor c; `temperature-bf16`, the same ranked by
softmax in bfloat16 as public decoders do, so that the two differ by rounding alone; `rws`, factor from the guide's
reward, s_R; `constant`, each prompt's mean factor of its rws run; `shuffled`, its rws rewards permuted over the steps;
and `default`, once.

Files below OUT/temperature: `METHOD-SCALE.json`, one per cell; `traces/METHOD-SCALE/INDEX.parquet` for default,
temperature and rws; `results.json` with everything; `summary.csv|md`, a row per method and scale; `controls.csv|md`,
rws minus each other method on the same prompts.

Fields of a row, one answer: `perplexity` = exp(nll / (answer_tokens + 1)) under the causal model, the end of text
counted (`metrics.answer_scores`); `log_probability`, the exact log P(answer | prompt) of the language in nats, null for
an incoherent answer: its probability is zero and its true perplexity infinite, so `true_perplexity` is a mean over
coherent answers only and must be read with the share `coherent`; `reward`, raw score of the guide; `judge`, that of the
other reward model; `exact`, minus the number of violations; `ended`, an end of text was committed; `ties`, `saturated`
and `eligible`, sums over the steps (see `trace.Trace`), `saturated_share` their ratio.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rws_decode.experiments.pool import executor

if TYPE_CHECKING:
    from rws_decode.experiments.temperature_cell import Cell, Settings

__all__ = ["SCALES", "add_arguments", "run", "run_temperature"]

SCALES = (0.01, 0.1, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)  # the paper's grid
_CAPTION = (
    "Perplexity: mean over texts under the causal model, given the prompt, with a 95 % bootstrap interval; pooled: "
    "over all tokens. True perplexity: that of the language itself, over the n coherent answers only, as an incoherent "
    "one has probability zero. Coherent: share, Wilson 95 % interval. Keywords: mean number used. Exact: minus the "
    "rules broken. Saturated: share of candidate positions whose probability is 1.0 in the precision of the "
    "ranking.\n\n"
)
_CONTROLS_CAPTION = (
    "Mean difference over the same prompts, rws minus the other method at the same scale (default: at 1), with a 95 % "
    "bootstrap interval over prompts, each on its own: no correction for their number.\n\n"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the experiment's options to a parser."""
    parser.add_argument("--out", required=True, metavar="DIR", help="results go to DIR/temperature")
    parser.add_argument("--prompts", type=int, default=32, metavar="N", help="the first N keyword prompts (32)")
    parser.add_argument("--model", default="mini", help="mask predictor: shipped name or directory (mini)")
    parser.add_argument("--reward", default="mini", help="reward model that guides (mini)")
    parser.add_argument("--judge", default="mini-judge", help="reward model that judges (mini-judge)")
    parser.add_argument("--causal", default="mini-causal", help="causal model for perplexity (mini-causal)")
    parser.add_argument("--scales", type=float, nargs="+", default=list(SCALES), metavar="C", help="the paper's grid")
    parser.add_argument("--length", type=int, default=64, help="answer tokens (64)")
    parser.add_argument("--steps", type=int, default=32, help="forwards per answer (32)")
    parser.add_argument("--block", type=int, default=32, help="tokens per block (32)")
    parser.add_argument("--seed", type=int, default=0, help="of shuffles and bootstrap (0)")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes that cells are spread over (1)")
    parser.add_argument("--threads", type=int, metavar="N", help="PyTorch threads per process (as PyTorch is set up)")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, ... (cpu)")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Run the experiment from parsed options; return what `--json` prints."""
    for name in ("prompts", "workers", "threads"):
        value = getattr(args, name)
        if value is not None and value < 1:
            raise ValueError(f"--{name} is {value}: at least 1 is needed")
    if not 0 <= args.seed < 2**63:
        raise ValueError(f"--seed is {args.seed}: at least 0 and below 2**63 is needed")
    positive = all(math.isfinite(scale) and scale > 0 for scale in args.scales)
    if not positive or len(set(args.scales)) < len(args.scales):
        raise ValueError(f"--scales is {args.scales}: different positive finite numbers are needed")
    if Path(args.out).exists() and not Path(args.out).is_dir():
        raise ValueError(f"--out is {args.out}: a file; a directory is needed")

    from rws_decode.experiments.temperature_cell import Settings

    names = ("model", "reward", "judge", "causal", "prompts", "length", "steps", "block", "seed", "device")
    settings = Settings(**{name: getattr(args, name) for name in names})
    with executor(args.workers, args.threads) as pool:
        results = run_temperature(Path(args.out), settings, args.scales, pool)
    folder = Path(args.out) / "temperature"
    return {
        "experiment": "temperature",
        "folder": str(folder),
        **{key: results[key] for key in ("fingerprint", "settings", "summary", "controls")},
        "message": (folder / "summary.md").read_text(encoding="utf-8") + f"\nresults: {folder}",
    }


def run_temperature(
    out: Path, settings: Settings, scales: Sequence[float] = SCALES, executor: Executor | None = None
) -> dict[str, Any]:
    """Run, resume or reuse the experiment below out/temperature and return what results.json holds.

    A cell is reused where its file names the same fingerprint (settings, prompts, files of the models, code and library
    versions) and its traces are there; others run again, so an interrupted run goes on where it stopped, and a finished
    one touches no file. executor: where cells run, here if None; all write below `out`, which its workers must see.
    ValueError for settings that do not fit, before anything is decoded.
    """
    from rws_decode import metrics
    from rws_decode.checkpoints import shipped
    from rws_decode.experiments.sources import Example, digest, examples_of, read_result, sources
    from rws_decode.experiments.temperature_cell import CONTROLS, METHODS, TRACED, Cell, run_cell
    from rws_decode.rewards import classifier
    from rws_decode.schedule import block_plan

    block_plan(settings.length, settings.steps, settings.block)
    examples = [
        Example(place, stored["prompt"], tuple(stored.get("keywords", ())))
        for place, stored in enumerate(examples_of(settings.model))
        if stored.get("kind") == "keywords"
    ]
    if settings.prompts > len(examples):
        raise ValueError(f"prompts is {settings.prompts}: {settings.model} ships {len(examples)} keyword prompts")
    examples = examples[: settings.prompts]
    origin = sources(
        model=(settings.model, {name: name for name in shipped("ForMaskedLM")}),
        reward=(settings.reward, classifier.SHIPPED),
        judge=(settings.judge, classifier.SHIPPED),
        causal=(settings.causal, metrics.SHIPPED),
    )
    folder = out / "temperature"
    cells = [Cell("default", 1.0)]
    cells += [Cell(method, float(scale)) for method in METHODS[1:] for scale in scales]

    def fingerprint(cell: Cell) -> str:
        shared = asdict(settings) | ({} if cell.method == "shuffled" else {"seed": None})
        return digest({"cell": cell, "settings": shared, "sources": origin, "examples": examples})

    fingerprints = {cell: fingerprint(cell) for cell in cells}
    whole = digest([settings.seed, [fingerprints[cell] for cell in cells]])

    def stored(cell: Cell) -> dict[str, Any] | None:
        found = read_result(folder / f"{cell.name}.json", fingerprints[cell])
        traces = [row["trace"] for row in found["rows"]] if found else []
        return None if cell.method in TRACED and not all((folder / trace).is_file() for trace in traces) else found

    wanted = [cell for cell in cells if stored(cell) is None]
    # A control whose rws run is done again is done again too: it reads that run's traces.
    again = {cell.scale for cell in wanted if cell.method == "rws"}
    wanted = [cell for cell in cells if cell in wanted or (cell.method in CONTROLS and cell.scale in again)]
    finished = read_result(folder / "results.json", whole)
    tables = [folder / f"{table}.{kind}" for table in ("summary", "controls") for kind in ("csv", "md")]
    if not wanted and finished and all(path.is_file() for path in tables):
        return finished

    work = partial(run_cell, folder, settings=settings, examples=examples, sources=digest(origin))
    _run_all(wanted, lambda cell: partial(work, cell, fingerprint=fingerprints[cell]), executor)
    documents = {}
    for cell in cells:
        found = stored(cell)
        if found is None:
            raise ValueError(f"out is {out}: {cell.name}.json or its traces were changed while the experiment ran")
        documents[cell] = found
    header = {"schema": "rws_decode.experiment.temperature.results", "version": 1, "fingerprint": whole}
    header |= {"settings": asdict(settings) | {"scales": [float(scale) for scale in scales]}, "sources": origin}
    return _write(folder, header, documents, settings.seed)


def _run_all(cells: Sequence[Cell], work: Callable[[Cell], Callable[[], None]], executor: Executor | None) -> None:
    """Run every cell, a control after the rws run of its scale, with a progress bar on standard error."""
    from tqdm import tqdm

    from rws_decode.experiments.temperature_cell import CONTROLS, Cell

    with tqdm(total=len(cells), desc="temperature", unit="cell", file=sys.stderr, disable=not cells) as bar:
        if executor is None:
            for cell in cells:
                bar.set_postfix_str(cell.name)
                work(cell)()
                bar.update()
            return
        left, running = list(cells), dict[Future[None], Cell]()
        while left or running:
            busy = {*left, *running.values()}
            ready = [cell for cell in left if cell.method not in CONTROLS or Cell("rws", cell.scale) not in busy]
            # What others wait for goes first.
            for cell in sorted(ready, key=lambda cell: cell.method != "rws"):
                running[executor.submit(work(cell))] = cell
                left.remove(cell)
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                bar.set_postfix_str(running.pop(future).name)
                future.result()
                bar.update()


def _write(folder: Path, header: dict[str, Any], documents: dict[Cell, dict[str, Any]], seed: int) -> dict[str, Any]:
    """Write the tables and, last, results.json; files that hold the same already are left alone."""
    import json

    from rws_decode.experiments import temperature_summary as summaries
    from rws_decode.experiments.sources import write_changed
    from rws_decode.experiments.tables import to_csv, to_markdown

    rows = {(cell.method, cell.scale): found["rows"] for cell, found in documents.items()}
    summary, controls = summaries.summarise(rows, seed), summaries.compare(rows, seed)
    write_changed(folder / "summary.csv", to_csv(summary))
    write_changed(folder / "summary.md", _CAPTION + to_markdown(summaries.summary_markdown_rows(summary)))
    write_changed(folder / "controls.csv", to_csv(controls))
    write_changed(folder / "controls.md", _CONTROLS_CAPTION + to_markdown(summaries.controls_markdown_rows(controls)))
    results = header | {
        "seconds": round(sum(found["seconds"] for found in documents.values()), 3),
        "summary": summary,
        "controls": controls,
        "rows": [row for part in rows.values() for row in part],
    }
    write_changed(folder / "results.json", json.dumps(results, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    return results
