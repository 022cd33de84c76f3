"""`rws verify`: compute a sample of the recorded answers again, and say how many are equal."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from rws_decode.cli.progress import progress, tell
from rws_decode.commands.shown import print_json

if TYPE_CHECKING:
    from paper_figures.extra.verify.again import Verified


GROUP = "Maintain"


def verify(
    *,
    sample: Annotated[int, Parameter(validator=Number(gte=1))] = 40,
    seed: Annotated[int, Parameter(validator=Number(gte=0))] = 0,
    study: Literal["evidence", "laws", "antibody", "antibody-laws", "reactions", "smollm2"] = "evidence",
    record: Path | None = None,
    json: bool = False,
) -> int:
    """Compute a sample of the recorded answers again, and say how many are equal.

    The status is 0 if none differs beyond a near-tie, else 1. `--json`: `checked`, `equal`, `near_ties` and `differ`,
    as `paper_figures.extra.verify.again.Verified` has them.

    Parameters
    ----------
    sample
        how many answers, sampled without replacement
    seed
        of the sample
    study
        whose record
    record
        the record (default: the one that ships)
    json
        print the result as JSON on standard output
    """
    from paper_figures.recorded import FOLDERS, read_recorded

    recorded = read_recorded(record or FOLDERS[study])
    tell("verify: loading the models of the record ...")
    from paper_figures.extra.verify.again import Verified, sample_of
    from paper_figures.extra.verify.again import verify as compute

    drawn = sample_of(recorded, sample, seed)
    outcome = Verified(0, 0, 0, ())
    with progress("verify", len(drawn), "answer") as shown:
        for now in compute(recorded, drawn):
            shown.advance(now.checked - outcome.checked)
            outcome = now
    if json:
        print_json(asdict(outcome))
    else:
        print(_text(outcome, recorded.about["date"]))
    return 1 if outcome.differ else 0


def _text(outcome: Verified, date: str) -> str:
    lines = [f"{outcome.equal} of {outcome.checked} recorded answers of {date} are computed again with equal tokens."]
    if outcome.near_ties:
        lines.append(f"{outcome.near_ties} have other tokens after a near-tie, where last digits of logits decide.")
    for row in outcome.differ:
        lines += [f"{row.world}, prompt {row.prompt}, {row.answer} differs:"]
        lines += [f"  recorded: {row.recorded_text}", f"  computed: {row.text}"]
    return "\n".join(lines)
