"""One cell of the precision experiment: one batched decode at one scale, ranked in one way."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from rws_decode.decode import decode
from rws_decode.files import write_json
from rws_decode.guidance import Temperature
from rws_decode.predictors import HFMaskPredictor, load_predictor
from rws_decode.ranking import Precision, Ranking

__all__ = ["RANKINGS", "Cell", "Settings", "run_cell"]

# Ways to rank by their names in the results: what decode is asked for.
RANKINGS: dict[str, tuple[Ranking, Precision]] = {
    "exact": ("log-odds", "float64"),
    "float32": ("probability", "float32"),
    "bfloat16": ("probability", "bfloat16"),
}


@dataclass(frozen=True)
class Settings:
    """What all cells share: the model's name and how it is decoded."""

    model: str = "mini"
    mask_id: int | None = None
    length: int = 64
    steps: int = 32
    block: int = 32
    device: str = "cpu"


class Cell(NamedTuple):
    """A ranking of `RANKINGS` at a factor c."""

    ranking: str
    scale: float

    @property
    def name(self) -> str:
        """Return the stem of the cell's file.

        >>> Cell("exact", 8.0).name
        'exact-8'
        """
        return f"{self.ranking}-{str(self.scale).removesuffix('.0')}"


@lru_cache(maxsize=1)
def _predictor(settings: Settings, sources: str) -> HFMaskPredictor:
    """Load the model once per process; `sources` is its digest, so that changed files are loaded again."""
    return load_predictor(settings.model, settings.device, mask_id=settings.mask_id, progress=False)


def run_cell(task: tuple[Path, Cell, Settings, list[str], str, str]) -> None:
    """Decode all prompts as one batch and write the cell's JSON.

    task: folder, cell, settings, prompts, fingerprint, digest of the sources. Everything but "seconds" follows from
    them and the model's files, on one machine and number of threads.
    """
    folder, cell, settings, prompts, fingerprint, sources = task
    started = time.perf_counter()
    ranking, precision = RANKINGS[cell.ranking]
    done = decode(
        _predictor(settings, sources),
        prompts,
        Temperature(cell.scale),
        length=settings.length,
        steps=settings.steps,
        block=settings.block,
        ranking=ranking,
        precision=precision,
    )
    rows = [
        {
            "ranking": cell.ranking,
            "scale": cell.scale,
            "index": index,
            "prompt": trace.prompt_text,
            "text": trace.text,
            "tokens": trace.tokens.tolist(),
            "commit_step": trace.commit_step.tolist(),
            "god_tokens": trace.god_tokens,
            "god_steps": trace.god_steps,
            "steps": trace.steps,
            "inexact": int(trace.inexact.sum()),
            "tied": int((trace.ties > 0).sum()),
            "near_tied": int((trace.near_ties > 0).sum()),
            "saturated": int(trace.saturated.sum()),
            "eligible": int(trace.eligible.sum()),
        }
        for index, trace in enumerate(done)
    ]
    header = {"schema": "rws_decode.experiment.precision", "version": 1, "fingerprint": fingerprint}
    header |= {"ranking": cell.ranking, "scale": cell.scale, "settings": asdict(settings)}
    seconds = round(time.perf_counter() - started, 3)
    write_json(folder / f"{cell.name}.json", header | {"seconds": seconds, "rows": rows}, indent=1)
