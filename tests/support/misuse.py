"""What misuse must be told by: a ValueError of one short line that names the argument and its value."""

from collections.abc import Callable

import pytest


def refused(call: Callable[[], object], said: str) -> None:
    """Assert that a call raises a ValueError of one short line with all parts of `said`, which " ... " divides."""
    with pytest.raises(ValueError) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text and len(text) <= 300 and all(part in text for part in said.split(" ... ")), text
