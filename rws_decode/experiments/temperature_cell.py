"""One cell of the temperature experiment: one batched decode by one method at one scale, measured answer by answer."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rws_decode.decode import Decoding, decode
from rws_decode.experiments.sources import Example
from rws_decode.files import write_json
from rws_decode.guidance import RWS, Confidence, Strategy, Temperature, constant_of, shuffled
from rws_decode.metrics import CausalScorer, answer_scores, load_causal
from rws_decode.predictors import HFMaskPredictor, load_predictor
from rws_decode.ranking import Precision, Ranking
from rws_decode.rewards import RewardModel, load_reward
from rws_decode.rewards.base import score_checked
from rws_decode.stories.answers import judge as judge_story
from rws_decode.stories.answers import keyword_inclusion, tokens_of
from rws_decode.trace import Trace, load

__all__ = ["CONTROLS", "METHODS", "TRACED", "Cell", "Settings", "answer_rows", "run_cell"]

SCHEMA, VERSION = "rws_decode.experiment.temperature", 1

# Methods in the order they run in: the controls read the traces of the rws run of their scale.
METHODS = ("default", "temperature", "temperature-bf16", "rws", "constant", "shuffled")
CONTROLS = ("constant", "shuffled")
TRACED = ("default", "temperature", "rws")


@dataclass(frozen=True)
class Settings:
    """What all cells share: model names, `prompts`, how many, and how they are decoded; `seed` of the shuffles."""

    model: str = "mini"
    reward: str = "mini"
    judge: str = "mini-judge"
    causal: str = "mini-causal"
    prompts: int = 32
    length: int = 64
    steps: int = 32
    block: int = 32
    seed: int = 0
    device: str = "cpu"


class Cell(NamedTuple):
    """A method at a scale: the factor c for temperatures, s_R for rws and its controls, 1 for default."""

    method: str
    scale: float

    @property
    def name(self) -> str:
        """Return the stem of the cell's files.

        >>> Cell("rws", 8.0).name, Cell("temperature", 0.01).name
        ('rws-8', 'temperature-0.01')
        """
        return f"{self.method}-{str(float(self.scale)).removesuffix('.0')}"

    @property
    def ranking(self) -> tuple[Ranking, Precision]:
        """Return how the cell ranks positions: exact log-odds, or what public decoders do."""
        return ("probability", "bfloat16") if self.method == "temperature-bf16" else ("log-odds", "float64")


class _Models(NamedTuple):
    predictor: HFMaskPredictor
    reward: RewardModel
    judge: RewardModel
    causal: CausalScorer


@lru_cache(maxsize=1)
def _models(settings: Settings, sources: str) -> _Models:
    """Load the models once per process; `sources` is their digest, so that changed files are loaded again."""
    return _Models(
        load_predictor(settings.model, settings.device, progress=False),
        load_reward(settings.reward, settings.device, progress=False),
        load_reward(settings.judge, settings.device, progress=False),
        load_causal(settings.causal, settings.device),
    )


def run_cell(
    folder: Path, cell: Cell, settings: Settings, examples: Sequence[Example], fingerprint: str, sources: str
) -> None:
    """Decode all prompts as one batch, write the traces of a `TRACED` method, and last the cell's JSON.

    The JSON stands for the whole cell: an old one is removed before any trace is written. Everything but "seconds"
    follows from the arguments and the models' files, on one machine and number of threads.
    """
    started = time.perf_counter()
    models = _models(settings, sources)
    path = folder / f"{cell.name}.json"
    path.unlink(missing_ok=True)
    ranking, precision = cell.ranking
    done = decode(
        models.predictor,
        [example.prompt for example in examples],
        _strategy(folder, cell, settings, len(examples)),
        length=settings.length,
        steps=settings.steps,
        block=settings.block,
        reward=models.reward,
        ranking=ranking,
        precision=precision,
    )
    rows = answer_rows(done, examples, models.predictor.end_id, models.reward, models.judge, models.causal)
    for index, (row, trace) in enumerate(zip(rows, done, strict=True)):
        if cell.method in TRACED:
            row["trace"] = trace.save(_trace_path(folder, cell, index)).relative_to(folder).as_posix()
    shown = asdict(settings) | {"ranking": ranking, "precision": precision}
    if cell.method != "shuffled":
        del shown["seed"]
    stored: dict[str, Any] = {"schema": SCHEMA, "version": VERSION, "fingerprint": fingerprint}
    stored |= {"method": cell.method, "scale": cell.scale, "settings": shown}
    rows = [{"method": cell.method, "scale": cell.scale} | row for row in rows]
    write_json(path, stored | {"seconds": round(time.perf_counter() - started, 3), "rows": rows}, indent=1)


def _trace_path(folder: Path, cell: Cell, index: int) -> Path:
    return folder / "traces" / cell.name / f"{index}.parquet"


def _strategy(folder: Path, cell: Cell, settings: Settings, prompts: int) -> Strategy:
    if cell.method == "default":
        return Confidence()
    if cell.method == "rws":
        return RWS(cell.scale)
    if cell.method not in CONTROLS:
        return Temperature(cell.scale)
    runs = [load(_trace_path(folder, Cell("rws", cell.scale), index)) for index in range(prompts)]
    if cell.method == "constant":
        return constant_of(runs)
    # The generator is the cell's own: other scales in the grid do not change what it draws.
    return shuffled(runs, np.random.default_rng([settings.seed, int(np.float64(cell.scale).view(np.uint64))]))


def answer_rows(
    done: Decoding | Sequence[Trace],
    examples: Sequence[Example],
    end_id: int | None,
    reward: RewardModel,
    judge: RewardModel,
    causal: CausalScorer,
) -> list[dict[str, Any]]:
    """Measure every answer of a decode; the module `temperature` says what each field means."""
    prompts, texts = [example.prompt for example in examples], [trace.text or "" for trace in done]
    scores = answer_scores(causal, prompts, texts)
    rewards = score_checked(reward, prompts, texts), score_checked(judge, prompts, texts)
    rows = []
    for index, (example, trace, score) in enumerate(zip(examples, done, scores, strict=True)):
        judgement = judge_story(example.prompt, texts[index])
        log_probability = judgement.log_probability
        if log_probability is not None and not math.isfinite(log_probability):
            log_probability = None  # a text that the language cannot produce
        rows.append(
            {
                "index": index,
                "example": example.example,
                "prompt": example.prompt,
                "text": texts[index],
                "ended": end_id is not None and end_id in trace.tokens.tolist(),
                "god_tokens": trace.god_tokens,
                "god_steps": trace.god_steps,
                "coherent": judgement.coherent,
                "violations": [violation.kind for violation in judgement.violations],
                "keywords": list(example.keywords),
                "keywords_included": keyword_inclusion(example.keywords, tokens_of(texts[index])),
                "answer_tokens": score.tokens - 1,
                "log_probability": log_probability,
                "true_perplexity": None if log_probability is None else math.exp(-log_probability / score.tokens),
                "nll": score.nll,
                "perplexity": score.perplexity,
                "reward": rewards[0][index],
                "judge": rewards[1][index],
                "exact": -float(len(judgement.violations)),
                "mean_factor": float(trace.factor.mean()),
                "factors": trace.factor.tolist(),
                "reward_calls": trace.reward_calls,
                "reward_calls_saved": trace.reward_calls_saved,
                "ties": int(trace.ties.sum()),
                "saturated": int(trace.saturated.sum()),
                "eligible": int(trace.eligible.sum()),
                "forwards": trace.forwards,
                "trace": None,
            }
        )
    return rows
