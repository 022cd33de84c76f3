"""The commands of the three packages, run in this process: what they print, and how they refuse bad input."""

import pytest

from paper_figures.__main__ import main as figures  # noqa: F401 - for tests
from rws_decode.__main__ import main as decoding
from rws_decode.__main__ import (
    rws,  # noqa: F401
)
from rws_theory.__main__ import main as theory  # noqa: F401


def printed(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """Run a command of the decoder and return what it prints."""
    capsys.readouterr()
    assert decoding([str(word) for word in words]) == 0
    return capsys.readouterr().out


def refusal(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """Run a command on bad input, which exits with 2 and prints nothing, and return the last line of its error."""
    capsys.readouterr()
    status = decoding([str(word) for word in words])
    out, err = capsys.readouterr()
    assert (status, out) == (2, "") and "Traceback" not in err
    last = err.strip().splitlines()[-1]
    assert last.startswith(f"python -m rws_decode {words[0]}: ")
    return last
