"""What a long command says on standard error: lines now and then, and nothing if not asked."""

import pytest

from rws_decode.cli import progress as progress_module
from rws_decode.cli.progress import each, progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now[-1])
    return now


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err.splitlines()


def test_a_line_every_ten_seconds_and_one_at_the_end(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with progress("decode", 8, "prompt", done=2) as shown:
        for second in (4.0, 8.0, 12.0, 16.0, 20.0):
            clock.append(second)
            shown.advance()
        shown.remark("1 failed")
        clock.append(21.0)
        shown.advance()
    assert lines(capsys) == [
        "decode: 2 of 8 prompts",
        "decode: 5 of 8 prompts, 12 s, about 12 s left",
        "decode: 8 of 8 prompts, 1 failed, 21 s",
    ]


def test_where_nothing_was_done_or_asked_no_line_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(each([], "grid", 0, "strategy")) == []
    with pytest.raises(ValueError), progress("figures", 1, "exhibit"):
        raise ValueError
    with progress("decode", 3, "prompt", shown=False) as shown:
        shown.advance(3)
        shown.remark("late")
    assert lines(capsys) == []
