"""`rws import`: traces of runs of which a serving engine returned tokens and steps alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from rws_decode.cli.options import json_option, option
from rws_decode.cli.progress import tell
from rws_decode.commands.shown import answer_text, as_json, prompt_line

GROUP = "Inspect"


@dataclass(frozen=True)
class ImportOptions:
    """The file of step maps, what spells its ids, and what becomes of it."""

    file: Path = option(help="step maps, a line of JSON for each answer", metavar="STEPMAP", positional=True)
    out: Path | None = option(
        None,
        "the trace, FILE.parquet; of several answers a folder, with a file for each line: 0.parquet, ...",
        metavar="TRACE",
        flags=("-o", "--out"),
    )
    tokenizer: str | None = option(
        None, "spells ids that have no texts: a shipped model, a directory or a hub id", metavar="NAME"
    )
    play: bool = option(False, "show how each answer came about, step by step")
    json: bool = json_option()

    def __post_init__(self) -> None:
        if not self.file.is_file():
            raise FileNotFoundError(f"no step maps at {self.file}")
        if self.out is not None and self.out.suffix == ".parquet" and self.out.is_dir():
            raise ValueError(f"--out is {self.out}, a folder: FILE.parquet is needed")
        if self.play and self.json:
            raise ValueError("--play and --json are given: standard output takes one of them")


def import_(options: ImportOptions) -> None:
    """Make traces of the step maps that a serving engine returns.

    JSON: a list of what `generate --json` prints, null where a step map does not tell it, with `missing`, which names
    that in words.
    """
    from rws_decode.checkpoints.files import locate_model
    from rws_decode.extra.step_maps.read import read_step_maps
    from rws_decode.predictors.families import load_tokenizer
    from rws_decode.trace.labels import missing_note
    from rws_decode.trace.trace import Trace

    rows = list(read_step_maps(options.file))
    single = options.out is not None and options.out.suffix == ".parquet"
    if single and len(rows) > 1:
        raise ValueError(f"--out is {options.out}: {options.file} has {len(rows)} answers, a folder is needed")
    tokenizer = None if options.tokenizer is None else load_tokenizer(locate_model(options.tokenizer), None)
    if tokenizer is None and (name := options.tokenizer) is not None:
        raise ValueError(f"--tokenizer is {name}: the model has no tokenizer, give the texts of tokens in the file")
    traces = []
    for number, row in enumerate(rows):
        try:
            traces.append(Trace.from_step_map(**row, tokenizer=tokenizer))
        except ValueError as error:
            raise ValueError(f"{options.file}, answer {number} (from 0): {error}") from error
    if options.json:
        print(json.dumps([as_json(trace) | {"missing": list(trace.missing)} for trace in traces], allow_nan=False))
    for trace in () if options.json else traces:
        print(prompt_line(trace))
        if options.play:
            from rws_decode.extra.drafts import play

            play(trace)
        print(f"answer: {answer_text(trace)}\n  {trace.length} tokens in {trace.steps_run} steps")
        print(f"  generation order deviation: {trace.god_tokens:.3f} tokens, {trace.god_steps:.3f} steps")
        print(f"  {missing_note([trace])}")
    if options.out is not None:
        for number, trace in enumerate(traces):
            tell(f"trace: {trace.save(options.out if single else options.out / f'{number}.parquet')}")
