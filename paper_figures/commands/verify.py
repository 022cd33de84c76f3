"""`rws verify`: compute a sample of the recorded answers again, and say how many are equal."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rws_theory.commands.options import json_option, option
from rws_theory.commands.progress import progress, tell

if TYPE_CHECKING:
    from paper_figures.recorded.again import Verified


@dataclass(frozen=True)
class VerifyOptions:
    """Which recorded answers are computed again."""

    sample: int = option(40, "how many answers, drawn without replacement", least=1)
    seed: int = option(0, "of the draw", least=0)
    study: str = option(
        "evidence", "whose record", choices=("evidence", "laws", "antibody", "antibody-laws", "reactions", "smollm2")
    )
    record: Path | None = option(None, "the record (default: the one that ships)", metavar="DIR")
    json: bool = json_option()


def run(options: VerifyOptions) -> int:
    """Compute the answers, print what became of them, and return 0 if none differs beyond a near-tie, else 1.

    `--json`: `checked`, `equal`, `near_ties` and `differ`, as `paper_figures.recorded.again.Verified` has them.
    """
    from paper_figures.recorded import FOLDERS, read_recorded

    record = read_recorded(options.record or FOLDERS[options.study])
    tell("verify: loading the models of the record ...")
    from paper_figures.recorded.again import Verified, sample_of, verify

    sample = sample_of(record, options.sample, options.seed)
    outcome = Verified(0, 0, 0, ())
    with progress("verify", len(sample), "answer") as shown:
        for now in verify(record, sample):
            shown.advance(now.checked - outcome.checked)
            outcome = now
    print(json.dumps(asdict(outcome), allow_nan=False) if options.json else _text(outcome, record.about["date"]))
    return 1 if outcome.differ else 0


def _text(outcome: Verified, date: str) -> str:
    lines = [f"{outcome.equal} of {outcome.checked} recorded answers of {date} are computed again with equal tokens."]
    if outcome.near_ties:
        lines.append(f"{outcome.near_ties} have other tokens after a near-tie, where last digits of logits decide.")
    for row in outcome.differ:
        lines += [f"{row.world}, prompt {row.prompt}, {row.answer} differs:"]
        lines += [f"  recorded: {row.recorded_text}", f"  computed: {row.text}"]
    return "\n".join(lines)
