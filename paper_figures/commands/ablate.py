"""`rws ablate`: is it the reward, or only the temperature?"""

from __future__ import annotations

from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paper_figures.studies.prompts import prompts_of
from rws_decode import settings
from rws_decode.cli.options import group, json_option, option
from rws_decode.cli.progress import loading
from rws_decode.commands.options import PredictorOptions, RewardOptions, ShapeOptions, shape_help, threads_option
from rws_decode.common.threads import MOST_THREADS
from rws_theory.checks import one_of

GROUP = "Study"
RESUMES = True
_SOURCES = {"english": "openings", "mini": "stories:keywords", "antibody": "antibodies:64", "reactions": "reactions:16"}


@dataclass(frozen=True)
class AblateOptions:
    """The strategy, its reward, the prompts, and what decides."""

    predictor: PredictorOptions = group(
        PredictorOptions, "the mask predictor", default=PredictorOptions(model="english")
    )
    reward: RewardOptions = group(RewardOptions, "the reward model")
    reward_mean: float | None = option(None, "mean to normalise the reward by (default: its own)", metavar="X")
    reward_sd: float | None = option(None, "SD to normalise the reward by (default: its own)", metavar="Y")
    strategy: str = option("rws:8", "strategy or steering method that reads the reward", metavar="NAME[:NUMBER]")
    judge: str | None = option(None, "a second reward, which no decode reads", metavar="NAME")
    data: str | None = option(
        None, "prompts: a file, or a source as of experiment (default: the model's own)", metavar="FILE"
    )
    prompts: int | None = option(None, "most prompts, validation included (default: all)", least=2)
    validation: int | None = option(None, "prompts for SD and factors (default: a fifth, 8 to 32)", least=2)
    record: str | None = option(
        None,
        "decode nothing: the comparison of a study that ships, or of all of them in one table",
        metavar="all|evidence|antibody|reactions|smollm2",
    )
    until: str = option("decided", "stop once the verdict is decided, or after N prompts", metavar="decided|N")
    margin: float = option(0.1, "the difference that matters, in SD of the reward over confidence texts")
    level: float = option(0.95, "of the intervals of all twins together, whenever you stop")
    seed: int = option(0, "of the order of prompts, shuffles and samples", least=0)
    batch: int = option(8, "prompts decoded together", least=1)
    shape: ShapeOptions = group(ShapeOptions, "the answer", help=shape_help(settings.Shape()))
    out: Path | None = option(
        None,
        "write result.json, tables, picture.png and page.html there, and go on from where a run stopped",
        flags=("-o", "--out"),
        metavar="DIR",
        writes="directory",
    )
    workers: int = option(1, "processes that the strategy and its twins are spread over", least=1, most=MOST_THREADS)
    scheduler: str | None = option(
        None, "Dask scheduler or scheduler file, in place of --workers", metavar="ADDRESS", instead_of="workers"
    )
    threads: int | None = threads_option()
    json: bool = json_option()

    def __post_init__(self) -> None:
        if self.until != "decided" and not self.until.isdecimal():
            raise ValueError(f"--until is {self.until}: decided, or how many prompts to compare")
        if (self.reward_mean is None) != (self.reward_sd is None):
            raise ValueError("--reward-mean and --reward-sd: give both, or neither")


def ablate(options: AblateOptions) -> None:
    """Say whether guided decoding uses what the reward says, or a fixed temperature would have done the same."""
    from rws_decode.ablation import ablate
    from rws_decode.cli.progress import tell
    from rws_decode.commands.shown import print_json
    from rws_decode.common.threads import torch_threads

    if options.record is not None:
        _print_records(options.record, options.out, options.json)
        return
    chosen = options.reward.needed(options.predictor.model, "ablate")
    loading("ablate", options.predictor.model, chosen.reward)
    load = LoadNamed(options.predictor, chosen, options.judge, options.reward_mean, options.reward_sd)
    predictor, reward, judge = load()
    source = options.data or _SOURCES.get(options.predictor.model, "examples")
    found = prompts_of(source, options.prompts, seed=options.seed, model=options.predictor.model).test
    with torch_threads(options.threads), _executor(options) as executor:
        result = ablate(
            predictor,
            [prompt.text for prompt in found],
            options.strategy,
            options.shape.make(found[0].text, predictor.mask_id),
            reward=reward,
            judge=judge,
            margin=options.margin,
            level=options.level,
            until="decided" if options.until == "decided" else int(options.until),
            validation=options.validation,
            batch=options.batch,
            seed=options.seed,
            directory=options.out,
            progress=lambda line: tell(f"ablate: {line}"),
            executor=executor,
            load=None if executor is None else load,
        )
    if options.out is not None:
        tell(f"results: {result.save(options.out)}")
    if options.json:
        print_json(result.as_json())
    else:
        print(result)


@dataclass(frozen=True)
class LoadNamed:
    """Load the predictor, reward and judge that the options name, in whatever process."""

    predictor: PredictorOptions
    reward: RewardOptions
    judge: str | None
    mean: float | None
    sd: float | None

    def __call__(self) -> tuple[Any, Any, Any]:
        from rws_decode.rewards import load_reward

        device = self.predictor.loading.device
        judge = None if self.judge is None else load_reward(self.judge, device)
        return self.predictor.load(), self._reward(str(self.reward.reward), device), judge

    def _reward(self, name: str, device: str) -> Any:
        """Return the reward model; a function of a module as it is, where no mean and SD are given."""
        from rws_decode.rewards.callable import module_object
        from rws_decode.rewards.registry import kind_of

        if self.mean is None and kind_of(name) == "module" and not hasattr(found := module_object(name), "score"):
            return found
        return self.reward.load(device, self.mean, self.sd)


def _print_records(name: str, out: Path | None, as_json: bool) -> None:
    from paper_figures.recorded.ablations import RECORDS, ablation_table, recorded_ablations
    from paper_figures.table import write_tables
    from paper_figures.table_text import terminal_text
    from rws_decode.cli.progress import tell
    from rws_decode.commands.shown import print_json

    one_of("--record", name, ("all", *RECORDS))
    found = recorded_ablations(RECORDS if name == "all" else (name,))
    table = ablation_table(found)
    if out is not None:
        tell(f"tables: {', '.join(map(str, write_tables(out, [table])))}")
    if as_json:
        print_json([{"model": model} | result.as_json() for (model, _), result in found.items()])
    elif name == "all":
        print(terminal_text([table]))
    else:
        print("\n\n".join(f"{model}: {result}" for (model, _), result in found.items()))


def _executor(options: AblateOptions) -> AbstractContextManager[Executor | None]:
    from paper_figures.runner.executors import on_cluster, processes

    if options.scheduler is not None:
        return on_cluster(options.scheduler).open()
    return nullcontext() if options.workers == 1 else processes(options.workers, options.threads or 1).open()
