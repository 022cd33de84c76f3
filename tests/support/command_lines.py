"""The commands of the three packages, run in this process: what they print, and how they refuse bad input."""

from typing import Any

import pytest

from paper_figures.__main__ import main as figures  # noqa: F401 - for tests
from rws_decode.__main__ import main as decoding
from rws_decode.__main__ import rws as rws
from rws_theory.__main__ import main as theory  # noqa: F401


def outcome(main: Any, words: Any, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Run a command; return its status, and what it prints on standard output and standard error."""
    capsys.readouterr()
    return main([str(word) for word in words]), *capsys.readouterr()


def printed(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    status, out, _ = outcome(decoding, words, capsys)
    assert status == 0
    return out


def refusal(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """Run a command on bad input, which exits with 2 and prints nothing, and return the last line of its error."""
    status, out, err = outcome(decoding, words, capsys)
    assert (status, out) == (2, "") and "Traceback" not in err
    last = err.strip().splitlines()[-1]
    assert last.startswith(f"python -m rws_decode {words[0]}: ")
    return last
