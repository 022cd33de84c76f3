"""What a judge said: replies, the verdict in one order, and both verdicts on a pair."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from rws_decode.common.files import read_json, write_json

Choice = Literal["1", "2", "tie", "invalid"]
Outcome = Literal["win", "draw", "loss", "invalid"]

# The digit alone, one full stop after it, or a pair of quotes around it.
_REPLY = re.compile(r"""(?P<quote>["'`])?(?P<digit>[12])\.?(?(quote)(?P=quote))|[“\u2018](?P<other>[12])\.?[”\u2019]""")


@dataclass(frozen=True)
class Reply:
    """What one request gave: the text as it came, the model that the server says it is, and what it cost.

    finish: the server's reason for stopping ("stop", "length", ...); tokens: as the server counts, None where it does
    not say; seconds: of the try that gave the reply, from sending to its last byte.
    """

    raw: str
    model: str
    finish: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Verdict:
    """A judge's decision on two answers in one order.

    choice: "1" or "2", the better answer; "tie", the texts are the same and nobody was asked; "invalid", no reply was
    a verdict. raw, model, finish: of the last reply. attempts: replies asked for, repeats included; tokens and seconds:
    of all of them, None where the server does not count. cached: no request was made for it in this run.
    """

    choice: Choice
    raw: str
    model: str
    attempts: int
    tokens_in: int | None
    tokens_out: int | None
    seconds: float
    cached: bool
    finish: str | None = None


@dataclass(frozen=True)
class PairVerdict:
    """Two texts judged in both orders: `forward` with the first text as answer 1, `backward` with it as answer 2.

    >>> def said(choice): return Verdict(choice, choice, "judge", 1, 9, 1, 0.1, False)
    >>> always_one, better = PairVerdict(said("1"), said("1")), PairVerdict(said("1"), said("2"))
    >>> (always_one.outcome, better.outcome), (always_one.forward_outcome, always_one.backward_outcome)
    (('draw', 'win'), ('win', 'loss'))
    """

    forward: Verdict
    backward: Verdict

    @property
    def forward_outcome(self) -> Outcome:
        """Return the first text's outcome where it was shown first."""
        return _OF_ANSWER_1[self.forward.choice]

    @property
    def backward_outcome(self) -> Outcome:
        """Return the first text's outcome where it was shown second."""
        return _OF_ANSWER_2[self.backward.choice]

    @property
    def outcome(self) -> Outcome:
        """Return the first text's outcome over both orders: a disagreement is a draw (FastChat's rule).

        "invalid" where either order is: such a pair belongs in no rate.
        """
        forward, backward = self.forward_outcome, self.backward_outcome
        if "invalid" in (forward, backward):
            return "invalid"
        return forward if forward == backward else "draw"


_OF_ANSWER_1: dict[Choice, Outcome] = {"1": "win", "2": "loss", "tie": "draw", "invalid": "invalid"}
_OF_ANSWER_2: dict[Choice, Outcome] = {"1": "loss", "2": "win", "tie": "draw", "invalid": "invalid"}


def parse_choice(raw: str) -> Literal["1", "2"] | None:
    """Return the answer that a reply names, None for everything but the digit itself: nothing is guessed.

    White space around it, one full stop after it, or a pair of quotes around it are allowed.

    >>> [parse_choice(raw) for raw in ("1", " 2.\\n", '"1"', "3", "", "Answer 1", "1 or 2", "11")]
    ['1', '2', '1', None, None, None, None, None]
    """
    match = _REPLY.fullmatch(raw.strip())
    if match is None:
        return None
    return "1" if (match["digit"] or match["other"]) == "1" else "2"


def verdict_of(replies: Sequence[Reply], *, cached: bool) -> Verdict:
    """Return the verdict that replies to one question come to, in the order they were asked for; at least one.

    The last decides: asking stops at the first that is a verdict. If it is none, the verdict is "invalid".
    """
    last = replies[-1]
    return Verdict(
        parse_choice(last.raw) or "invalid",
        last.raw,
        last.model,
        len(replies),
        _total([reply.tokens_in for reply in replies]),
        _total([reply.tokens_out for reply in replies]),
        sum(reply.seconds for reply in replies),
        cached,
        last.finish,
    )


def same_text(model: str) -> Verdict:
    """Return the verdict on two texts that are the same, for which no judge was asked."""
    return Verdict("tie", "", model, 0, 0, 0, 0.0, cached=False)


def _total(counts: Sequence[int | None]) -> int | None:
    return None if None in counts else sum(count for count in counts if count is not None)


class CacheWarning(UserWarning):
    """A file of the cache that cannot be used; its reply is asked for again."""


@dataclass(frozen=True)
class ReplyCache:
    """A folder with one small JSON file per reply, FOLDER/ab/<hash>.json, written whole or not at all.

    The file holds the reply and where it is from, not the texts that were compared.
    """

    folder: Path

    def path(self, key: str) -> Path:
        """Return where the reply of this key is kept."""
        return self.folder / key[:2] / f"{key}.json"

    def read(self, key: str) -> Reply | None:
        """Return the stored reply, None where there is none; a broken file is none either, with a CacheWarning."""
        path = self.path(key)
        try:
            record = read_json(path)
            if record["key"] != key or not isinstance(record["reply"]["raw"], str):
                raise ValueError("not the record of this reply")
            return Reply(**record["reply"])
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            warnings.warn(f"{path}: {error}; its verdict is asked again", CacheWarning, stacklevel=2)
            return None

    def write(self, key: str, reply: Reply, *, endpoint: str, model: str, attempt: int) -> None:
        """Store a reply; OSError where the file system refuses."""
        about = {"key": key, "endpoint": endpoint, "asked": model, "attempt": attempt}
        write_json(self.path(key), {**about, "reply": asdict(reply)})


def cache_in(folder: str | os.PathLike[str]) -> ReplyCache:
    """Return the cache in a folder, which need not be there yet; ValueError for a file."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise ValueError(f"cache is {folder}: a file; a directory is needed")
    return ReplyCache(path)
