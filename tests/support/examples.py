"""How many examples a slow property tries: a tenth at each run, and all with `make explore`."""

from __future__ import annotations

from hypothesis import settings


def examples(count: int) -> int:
    """Return the number of examples for `@settings(max_examples=...)`: `count` in the profile explore, else a tenth.

    At least five are tried, or `count` where that is less.
    """
    return count if settings.get_current_profile_name() == "explore" else min(count, max(5, count // 10))
