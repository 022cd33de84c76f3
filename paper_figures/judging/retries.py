"""When to ask again, and when not to ask yet: backoff, Retry-After, and a limit on requests per minute."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

__all__ = ["LONGEST_WAIT", "RateLimiter", "backoff", "is_passing", "retry_after"]

# A server that asks for a longer wait is as good as away: the caller is told, and can run again later.
LONGEST_WAIT = 300.0
_FIRST, _MOST = 1.0, 60.0


def is_passing(status: int) -> bool:
    """Return whether an HTTP status may pass if the request is made again: 408, 409, 429 and 5xx.

    >>> [is_passing(status) for status in (400, 401, 403, 404, 408, 409, 429, 500, 503)]
    [False, False, False, False, True, True, True, True, True]
    """
    return status in (408, 409, 429) or 500 <= status <= 599


def backoff(failures: int, rng: random.Random) -> float:
    """Return the seconds to wait after the n-th failure in a row, from 0: half to all of min(60, 2^n), drawn evenly.

    >>> [0.5 * 2**n <= backoff(n, random.Random(0)) <= 2**n for n in range(6)]
    [True, True, True, True, True, True]
    """
    longest = min(_MOST, _FIRST * 2.0 ** min(failures, 30))
    return longest * (0.5 + 0.5 * rng.random())


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the header Retry-After asks for (RFC 9110, 10.2.3), None where it asks for none.

    headers: names in lower case, or case-insensitive. A date counts from the response's own Date, so that clocks that
    differ do not matter, and from this machine's without one. What is past is 0.0; what cannot be read is None.

    >>> retry_after({"retry-after": "7"}), retry_after({"retry-after": "soon"}), retry_after({})
    (7.0, None, None)
    >>> dates = {"retry-after": "Fri, 31 Dec 1999 23:59:59 GMT", "date": "Fri, 31 Dec 1999 23:59:29 GMT"}
    >>> retry_after(dates)
    30.0
    """
    text = headers.get("retry-after")
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        until = _date(text)
        if until is None:
            return None
        seconds = (until - (_date(headers.get("date")) or datetime.now(UTC))).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _date(text: str | None) -> datetime | None:
    try:
        found = parsedate_to_datetime(text) if text is not None else None
    except (ValueError, OverflowError):
        return None
    return found.replace(tzinfo=UTC) if found is not None and found.tzinfo is None else found


class RateLimiter:
    """Starts of requests, at least 60 / `per_minute` seconds apart whatever the number of threads.

    per_minute: None for no limit. Starts are even, without bursts: any 60 seconds hold at most `per_minute` of them.
    """

    def __init__(self, per_minute: float | None, clock: Callable[[], float]) -> None:
        self._interval = 60.0 / per_minute if per_minute is not None else 0.0
        self._clock = clock
        self._lock = threading.Lock()
        self._next = -math.inf

    def reserve(self) -> float:
        """Take the next start and return the seconds until then, 0.0 or more.

        >>> limiter = RateLimiter(30.0, clock=lambda: 100.0)
        >>> [limiter.reserve() for _ in range(3)]
        [0.0, 2.0, 4.0]
        """
        with self._lock:
            now = self._clock()
            start = max(now, self._next)
            self._next = start + self._interval
            return start - now

    def hold(self, seconds: float) -> None:
        """Let nothing that has not been reserved start within so many seconds: a server asked for the wait."""
        with self._lock:
            self._next = max(self._next, self._clock() + seconds)
