"""`rws verify`: compute a sample of the recorded answers again, and say how many are equal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from rws_decode.cli.progress import progress, tell
from rws_decode.commands.shown import print_json
from rws_decode.common.plugins import find, names
from rws_theory.checks import one_of

if TYPE_CHECKING:
    from paper_figures.extra.verify.again import Verified


GROUP = "Maintain"
STUDIES = "rws.studies"  # entry points of extras' studies; one with a record offers `again`


def verify(
    *,
    sample: Annotated[int, Parameter(validator=Number(gte=1))] = 40,
    seed: Annotated[int, Parameter(validator=Number(gte=0))] = 0,
    study: str = "evidence",
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
        whose record; an unknown name lists them all
    record
        the record (default: the one that ships)
    json
        print the result as JSON on standard output
    """
    from paper_figures.recorded import FOLDERS

    one_of("--study", study, (*FOLDERS, *names(STUDIES)))
    tell("verify: loading the models of the record ...")
    from paper_figures.extra.verify.again import Verified

    size, date, counts = _again(sample, seed, study, record)
    outcome = Verified(0, 0, 0, ())
    with progress("verify", size, "answer") as shown:
        for now in counts:
            shown.advance(now.checked - outcome.checked)
            outcome = now
    if json:
        print_json(asdict(outcome))
    else:
        print(_text(outcome, date))
    return 1 if outcome.differ else 0


def _again(sample: int, seed: int, study: str, record: Path | None) -> tuple[int, str, Iterator[Verified]]:
    """Return how many answers are computed again, when they were recorded, and the counts as they come."""
    from paper_figures.extra.verify.again import sample_of
    from paper_figures.extra.verify.again import verify as compute
    from paper_figures.recorded import FOLDERS, read_recorded

    if study not in FOLDERS:
        again = getattr(find(STUDIES, study), "again", None)
        if again is None:
            raise ValueError(f"--study is {study}: it has no record to compute again")
        if record is not None:
            raise ValueError(f"--record is {record}: leave it out, as {study} has the record that ships")
        return again(sample, seed)
    recorded = read_recorded(record or FOLDERS[study])
    answers = sample_of(recorded, sample, seed)
    return len(answers), recorded.about["date"], compute(recorded, answers)


def _text(outcome: Verified, date: str) -> str:
    lines = [f"{outcome.equal} of {outcome.checked} recorded answers of {date} are computed again with equal tokens."]
    if outcome.near_ties:
        lines.append(f"{outcome.near_ties} have other tokens after a near-tie, where last digits of logits decide.")
    for row in outcome.differ:
        lines += [f"{row.world}, prompt {row.prompt}, {row.answer} differs:"]
        lines += [f"  recorded: {row.recorded_text}", f"  computed: {row.text}"]
    return "\n".join(lines)
