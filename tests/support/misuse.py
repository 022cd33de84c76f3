"""What misuse must be told by: a ValueError of one short line that names the argument and its value."""

import re
from collections.abc import Callable

import pytest


def refused(call: Callable[[], object], message: str) -> None:
    """Check that a call raises a ValueError of one short line, paths aside, with all parts of `message`, at " ... "."""
    with pytest.raises(ValueError) as caught:
        call()
    text = str(caught.value)
    short = len(re.sub(r"/\S+", "", text)) <= 300
    assert "\n" not in text and short and all(part in text for part in message.split(" ... ")), text
