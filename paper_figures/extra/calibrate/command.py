"""`rws calibrate`: mean and SD of a reward model's raw scores on a sample of pairs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rws_decode.cli.options import json_option, option
from rws_decode.cli.progress import loading
from rws_decode.cli.progress import progress as shown_progress

GROUP = "Maintain"
RESUMES = True
NECTAR = "berkeley-nest/Nectar"
_SAMPLE = 1000


@dataclass(frozen=True)
class CalibrateOptions:
    """The reward model, the pairs that it scores, and where the statistics go."""

    reward: str = option(help="reward model: name, directory or hub id", metavar="NAME")
    published: str | None = option(None, "the paper's reward model that the directory holds", metavar="NAME")
    revision: str | None = option(None, "of a hub id", metavar="COMMIT")
    data: str | None = option(
        None, f"pairs as .jsonl, .json or .parquet (default: {NECTAR}, by the library datasets)", metavar="FILE"
    )
    prompt_field: str | None = option(None, "of the data (default: prompt)", metavar="FIELD")
    answer_field: str | None = option(None, "of the data (default: answers, chosen and rejected, ...)", metavar="FIELD")
    sample: int | None = option(None, f"pairs to score (default: {_SAMPLE}, or all if fewer)", least=2)
    seed: int = option(0, "of the sample", least=0)
    skip_long: bool = option(False, "leave out pairs that are longer than the model reads")
    out: Path | None = option(
        None, "write reward.json there, and resume from where a run stopped", metavar="FILE", writes="file"
    )
    batch: int = option(32, "pairs per forward", least=1)
    device: str = option("cpu", "cpu, cuda, ...")
    dtype: str = option("float32", "of the network: float32, bfloat16, ...", metavar="NAME")
    json: bool = json_option()

    def __post_init__(self) -> None:
        if self.seed >= 2**63:
            raise ValueError(f"--seed is {self.seed}: at least 0 and below 2**63 is needed")


def calibrate(options: CalibrateOptions) -> None:
    """Measure mean and SD of a reward model's scores.

    The file and `--json` hold `mean`, `std` and `template`, which `load_reward` reads, and `calibration`, how they came
    about: `std_kind`, `n`, `rows`, `standard_error` (of the mean, by rows), `seed`, `pairs` (all there are), `chosen`
    ([row, answer] of each pair scored, from 0, or "all"), `skipped`, `data` (its name and digest), `reward`,
    `revision`, `dtype`.
    """

    from paper_figures.data.pairs import read_pairs
    from paper_figures.extra.calibrate.calibration import sampled, score_pairs, statistics
    from rws_decode.common.files import write_json
    from rws_decode.job import warn_of_unread_words
    from rws_decode.rewards import known_reward, load_reward

    rows, data = _data(options)
    pairs = read_pairs(rows, options.prompt_field, options.answer_field)
    if options.sample is not None and options.sample > len(pairs):
        raise ValueError(f"--sample is {options.sample}: the data hold {len(pairs)} pairs")
    loading("calibrate", options.reward)
    model: Any = load_reward(
        options.reward,
        options.device,
        mean=0.0,
        std=1.0,
        dtype=options.dtype,
        revision=options.revision,
        published=options.published,
    )
    template = "pair"
    if hasattr(model, "ids"):
        model.batch_size, template = options.batch, model.template
    chosen = sampled(pairs, _SAMPLE if options.sample is None else options.sample, options.seed)
    fitting = [pair for pair in chosen if reads_whole(model, pair.prompt, pair.answer)]
    if len(fitting) < len(chosen) and not options.skip_long:
        raise ValueError(
            f"{len(chosen) - len(fitting)} of {len(chosen)} pairs are longer than {model.name} reads: "
            "--skip-long leaves them out"
        )
    entry = known_reward(options.reward)
    about: dict[str, Any] = {
        "reward": model.name,
        "revision": options.revision if entry is None or options.revision is not None else entry.revision,
        "dtype": options.dtype,
        "data": data,
        "seed": options.seed,
        "pairs": len(pairs),
        "chosen": "all" if len(chosen) == len(pairs) else [[pair.row, pair.number] for pair in chosen],
        "skipped": len(chosen) - len(fitting),
    }
    warn_of_unread_words(model, (f"{pair.prompt} {pair.answer}" for pair in fitting))
    progress = None if options.out is None else Path(f"{options.out}.progress")
    key = about | {
        "files": _files(options.reward),
        "fields": [options.prompt_field, options.answer_field],
        "template": template,
    }
    with shown_progress("calibrate", len(fitting), "pair") as bar:
        scores = score_pairs(model, fitting, batch=options.batch, progress=progress, key=key, advance=bar.advance)
    sample = statistics(scores, [pair.row for pair in fitting])
    result = {
        "mean": sample.mean,
        "std": sample.std,
        "template": template,
        "calibration": {
            "std_kind": "sample (n - 1)",
            "n": sample.n,
            "rows": sample.rows,
            "standard_error": sample.standard_error,
            **about,
        },
    }
    if options.out is not None:
        write_json(options.out, result)
    if progress is not None:
        progress.unlink(missing_ok=True)
    print(
        json.dumps(result, allow_nan=False)
        if options.json
        else _summary(model.name, sample, len(chosen) - len(fitting))
    )


def _data(options: CalibrateOptions) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    from paper_figures.data.rows import hub_rows, local_rows

    if options.data is not None:
        rows, origin = local_rows(options.data)
        return rows, {"file": origin.name, "sha256": origin.sha256}
    # Nectar has no other split: the seeded sample of it stands for the paper's validation split.
    rows, origin = hub_rows(NECTAR, "train")
    return rows, {"dataset": NECTAR, "split": "train", "fingerprint": origin.fingerprint}


def _files(reward: str) -> list[list[Any]]:
    # What tells one checkpoint from its successor in the same place, without reading all of it.
    folder = Path(reward)
    if not folder.is_dir():
        return []
    kinds = ("*.safetensors", "config.json", "tokenizer*", "chat_template*")
    files = sorted({path for kind in kinds for path in folder.glob(kind)})
    return [[path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in files]


def _summary(name: str, sample: Any, skipped: int) -> str:
    left = f"; {skipped} longer pairs left out" if skipped else ""
    return (
        f"{name}: mean {sample.mean:.6g} (standard error {sample.standard_error:.2g}), "
        f"sample deviation {sample.std:.6g}, over {sample.n} pairs of {sample.rows} rows{left}"
    )


def reads_whole(model: Any, prompt: Any, answer: str) -> bool:
    """Return whether a pair is short enough for the model; True if the model does not read tokens."""
    try:
        getattr(model, "ids", lambda *pair: None)(prompt, answer)
    except ValueError:
        return False
    return True
