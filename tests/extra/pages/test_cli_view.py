"""`rws view`, and `scale-path --view`: the file that they write, and their one-line refusals."""

from pathlib import Path

import pytest
from interactive_pages import data_of
from table_models import table_predictor

from rws_decode import Page, Shape, decode, decode_page, load_predictor, load_trace
from rws_decode.__main__ import main
from rws_decode.extra.testing import tiny_checkpoint


@pytest.fixture
def traces(tmp_path: Path) -> list[Path]:
    rules = ("default", "temperature:6")
    runs = [decode(table_predictor(5), "", rule, Shape(length=8, steps=4, block=8))[0] for rule in rules]
    return [run.save(tmp_path / f"{number}.parquet") for number, run in enumerate(runs)]


def viewed(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    status = main(["view", *map(str, words)])
    captured = capsys.readouterr()
    assert captured.out == ""
    return status, captured.err


def test_traces_become_a_page(traces: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "page.html"
    for count in (1, 2):
        assert viewed(capsys, *traces[:count], "-o", out) == (0, f"page: {out}\n")
        assert len(data_of(Page(out.read_text(encoding="utf-8")))["runs"]) == count


def test_the_suffix_chooses_what_is_made(
    traces: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "decodes.GIF"
    assert viewed(capsys, *traces, "-o", out) == (0, f"picture: {out}\n")
    assert out.read_bytes() == load_trace(traces[0]).animate(load_trace(traces[1])).gif
    for name in ("decodes.png", "decodes", "gif"):
        status, err = viewed(capsys, *traces, "-o", tmp_path / name)
        assert (status, err.count("\n")) == (2, 1) and "FILE.html, a page, or FILE.gif, an animated picture" in err
        assert not (tmp_path / name).exists()


def test_a_model_proves_why_runs_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny_checkpoint("bert", tmp_path / "tiny")
    predictor, shape = load_predictor(str(tmp_path / "tiny")), Shape(length=12, steps=6, block=12)
    runs = [decode(predictor, "the cat sat", rule, shape)[0] for rule in ("default", "temperature:6")]
    files = [run.save(tmp_path / f"{number}.parquet") for number, run in enumerate(runs)]
    capsys.readouterr()
    assert viewed(capsys, *files, "--model", tmp_path / "tiny", "--out", tmp_path / "page.html")[0] == 0
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert html == decode_page(runs[0], runs[1], predictor).html and "proved to a relative width of" in html


def test_refusals_write_nothing(traces: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    foreign = tmp_path / "foreign.parquet"
    foreign.write_text("no trace", encoding="utf-8")
    before = traces[0].read_bytes()
    for words, said in (
        ((foreign,), "foreign.parquet: not a whole Parquet file"),
        ((*traces, traces[0]), "3 traces are given"),
        ((traces[0], "--model", "mini"), "--model proves why two runs part: a second trace is missing"),
    ):
        status, err = viewed(capsys, *words, "--out", tmp_path / "page.html")
        assert (status, err.count("\n")) == (2, 1) and said in err, err
    status, err = viewed(capsys, traces[0], "--out", traces[0])
    assert status == 2 and "a trace: the page needs a file of its own" in err
    assert traces[0].read_bytes() == before and not (tmp_path / "page.html").exists()


def test_scale_path_writes_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny_checkpoint("bert", tmp_path / "tiny")
    tiny_checkpoint("classifier", tmp_path / "reward")
    words = ["scale-path", "--model", str(tmp_path / "tiny"), "--prompt", "the cat", "--scale-min", "0.05"]
    words += ["--reward", str(tmp_path / "reward"), *"--scale-max 20 --length 8 --steps 4 --block 8".split()]
    out = tmp_path / "path.html"
    assert main([*words, "--view", str(out), "--grid", "1", "3"]) == 0
    captured = capsys.readouterr()
    assert f"page: {out}\n" in captured.err and "pieces" in captured.out
    data = data_of(Page(out.read_text(encoding="utf-8")))
    assert data["grid"] == [1.0, 3.0] and all(answer["reward"] is not None for answer in data["answers"])
    for more, said in (
        (["--grid", "1"], "--view FILE.html is missing"),
        (["--view", str(out), "--grid", "0"], "--grid holds 0.0"),
    ):
        assert main([*words, *more]) == 2
        assert said in capsys.readouterr().err
