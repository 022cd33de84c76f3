"""`rws view`: the page or the picture that it writes."""

from pathlib import Path

import pytest
from command_lines import decoding as main
from command_lines import outcome
from interactive_pages import data_of
from table_models import run

from rws_decode import Page, load_trace


@pytest.fixture
def traces(tmp_path: Path) -> list[Path]:
    rules = enumerate(("default", "temperature:6"))
    return [run(rule).save(tmp_path / f"{number}.parquet") for number, rule in rules]


def viewed(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    status, out, err = outcome(main, ["view", *words], capsys)
    assert out == ""
    return status, err


def test_traces_become_a_page(traces: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "page.html"
    for count in (1, 2):
        assert viewed(capsys, *traces[:count], "-o", out) == (0, f"page: {out}\n")
        assert len(data_of(Page(out.read_text(encoding="utf-8")))["runs"]) == count


def test_a_suffix_chooses_what_is_made(traces: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "decodes.GIF"
    assert viewed(capsys, *traces, "-o", out) == (0, f"picture: {out}\n")
    assert out.read_bytes() == load_trace(traces[0]).animate(load_trace(traces[1])).gif
    for name in ("decodes.png", "decodes", "gif"):
        status, err = viewed(capsys, *traces, "-o", tmp_path / name)
        assert (status, err.count("\n")) == (2, 1) and "FILE.html, a page, or FILE.gif, an animated picture" in err
        assert not (tmp_path / name).exists()
