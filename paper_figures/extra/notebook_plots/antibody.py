"""Notebook 12: half of a mouse's heavy chain, filled by five methods, and every answer that a factor can give.

What it shows lies in antibody_answers/: traces, paths over all factors, and what judges say. `record` writes them.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from paper_figures.data.prompt_sources import fill_gaps
from paper_figures.studies.prompts import prompts_of
from rws_decode import Shape, Trace, compare, load_predictor, load_reward
from rws_decode.common.files import write_bytes, write_json
from rws_decode.final_text import FinalReward
from rws_decode.trace.trace import load_trace

if TYPE_CHECKING:
    from rws_decode.extra.scale_paths.path import Over, ScalePath

FOLDER = Path(__file__).with_name("antibody_answers")
METHODS = ("default", "temperature:4", "rws:4", "rws:8", "best-of:16")
_MASKS, SHAPE = 64, Shape(64, 16, 64)
_RANGE, _BUDGET = (0.1, 10.0), 1500  # factors, and forwards of a path


def asked() -> tuple[str, str]:
    """Return the first prompt of the studies, a chain with 64 residues as gaps, and these residues."""
    prompt = prompts_of(f"antibodies:{_MASKS}", 1).test[0]
    return prompt.text, prompt.labels["answer"]


def runs() -> dict[str, Trace]:
    """Return the recorded traces by their methods; a gap of the prompt is shown as a line."""
    shown = fill_gaps(asked()[0], "_" * _MASKS)
    return {name: replace(load_trace(_file(name)), prompt_text=shown) for name in METHODS}


def path(over: Over) -> ScalePath:
    """Return the recorded path over all factors or over all reward scales; a gap is shown as a line."""
    from rws_decode.extra.scale_paths.path import Breakpoint, ScalePath, ScalePiece, Unexplored

    row = json.loads(gzip.decompress((FOLDER / f"{over}.json.gz").read_bytes()))
    pieces = [
        ScalePiece(**piece | {key: tuple(piece[key]) for key in ("tokens", "commit_step")})
        for piece in (each | {"final_reward": FinalReward(*each["final_reward"])} for each in row.pop("pieces"))
    ]
    parts = {"unexplored": Unexplored, "breakpoints": Breakpoint}
    made = {key: tuple(kind(**each) for each in row[key]) for key, kind in parts.items()}
    row |= made | {"prompt_text": fill_gaps(asked()[0], "_" * _MASKS)}
    return ScalePath(pieces=tuple(pieces), **row)


def record(folder: Path = FOLDER) -> None:
    """Decode, follow the paths and judge, with the networks that `make real` installs; what is there is kept."""
    from rws_decode.extra.scale_paths.path import scale_path
    from rws_decode.extra.sequences.rewards import humanness

    predictor, reward = load_predictor("antibody", progress=False), load_reward("human")
    folder.mkdir(parents=True, exist_ok=True)
    text, answer = asked()
    chains = {"mouse": fill_gaps(text, answer)}
    for name in METHODS:
        if not _file(name, folder).exists():
            compare(predictor, text, [name], SHAPE, reward=reward)[name][0].save(_file(name, folder))
        trace = load_trace(_file(name, folder))
        chains[name] = fill_gaps(text, "".join(trace.words(trace.tokens)))
    scores = {
        n: {"log-odds of human": reward.score([""], [c])[0], "humanness": humanness(c)} for n, c in chains.items()
    }
    write_json(folder / "judges.json", scores)
    overs: tuple[Over, ...] = ("temperature", "reward-scale")
    for over in overs:
        if not (file := folder / f"{over}.json.gz").exists():
            found = scale_path(predictor, text, *_RANGE, SHAPE, over=over, reward=reward, budget=_BUDGET)
            write_bytes(file, gzip.compress(json.dumps(asdict(found)).encode(), mtime=0))


def _file(name: str, folder: Path = FOLDER) -> Path:
    return folder / f"{name.replace(':', '-')}.parquet"
