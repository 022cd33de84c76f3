"""`rws fragility`: which answers rounding can change, and between what values their score lies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rws_decode.checkpoints.files import locate_model
from rws_decode.cli.options import group, json_option, option
from rws_decode.cli.progress import loading
from rws_decode.commands.options import LoadingOptions, RewardOptions
from rws_decode.common.files import check_trace_file, json_lines

GROUP = "Inspect"


@dataclass(frozen=True)
class FragilityOptions:
    """The traces of the answers, their scores, and what decodes them again."""

    traces: tuple[Path, ...] = option(
        help="trace of an answer, or a folder of them, in the order of their names", metavar="TRACE", positional=True
    )
    scores: Path | None = option(
        None,
        "a line for each trace, in their order: a number between 0 and 1, or an object of JSON with --field",
        metavar="FILE",
    )
    field: str = option("score", "of the objects in --scores, such as exact_match", metavar="NAME")
    flip: int | None = option(
        None,
        "decode fragile answers N times again, logits moved by rounding (with --model)",
        metavar="N",
        least=1,
    )
    model: str | None = option(None, "mask predictor of the runs", metavar="NAME")
    reward: RewardOptions = group(RewardOptions)
    loading: LoadingOptions = group(LoadingOptions)
    seed: int = option(0, "of the moves", least=0)
    json: bool = json_option()

    def __post_init__(self) -> None:
        if not self.files:
            given = f"is {self.traces[0]}, a folder without traces" if self.traces else "is missing"
            raise ValueError(f"TRACE {given}: FILE.parquet, or a folder of them, is needed")
        for file in self.files:
            check_trace_file(file)
        if self.scores is not None and not self.scores.is_file():
            raise FileNotFoundError(f"no scores at {self.scores}")
        if (self.flip is None) != (self.model is None):
            raise ValueError("--flip N and --model NAME go together: the model decodes the fragile answers again")
        if self.reward.reward is not None and self.flip is None:
            raise ValueError(f"--reward is {self.reward.reward}: give --flip N --model NAME too, or leave it out")
        if self.model is not None:
            locate_model(self.model)

    @property
    def files(self) -> list[Path]:
        """The files of the traces, those of a folder by name."""
        found = [sorted(path.glob("*.parquet")) if path.is_dir() else [path] for path in self.traces]
        return [file for files in found for file in files]


def fragility(options: FragilityOptions) -> None:
    """Say which answers, and which score, hinge on a near-tie."""
    scores = None if options.scores is None else list(_scores(options.scores, options.field))

    from rws_decode.trace.trace import load_trace

    traces = [load_trace(file) for file in options.files]
    predictor = reward = None
    if options.model is not None:
        loading("fragility", options.model)
        predictor = options.loading.load(options.model, traces[0].mask_id)
        reward = None if options.reward.reward is None else options.reward.load(options.loading.device)

    from paper_figures.extra.fragility.answers import fragility

    found = fragility(traces, scores, predictor=predictor, reward=reward, decodes=options.flip or 1, seed=options.seed)
    if options.json:
        print(json.dumps(found.as_json(), allow_nan=False))
        return
    print(found)
    for file, step, fragile in zip(options.files, found.first_step, found.fragile, strict=True):
        if fragile:
            print(f"  {file.name}: from step {step} on")


def _scores(path: Path, field: str) -> Iterator[float]:
    """Yield the score of each line that is not empty; ValueError, naming the line, for one that has none."""
    for where, value in json_lines(path):
        value = value.get(field) if isinstance(value, dict) else value
        if not isinstance(value, int | float):
            raise ValueError(f"{where}: a number, or an object with {field!r}, is needed")
        yield float(value)
