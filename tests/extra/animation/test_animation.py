"""The animated picture: its frames are those of the traces, each box has the colour of what it holds, bytes repeat."""

import io
from collections.abc import Sequence
from pathlib import Path

import pytest
import readme_pictures
from PIL import Image, ImageColor, ImageSequence
from table_models import run

from paper_figures.extra.animation.animation import animate, layout_of
from paper_figures.extra.animation.lockstep import frames_of, prompt_before
from rws_decode import Animation, Trace, diff
from rws_decode.common.palette import AMBER, BLUE, RULE

WHITE = (255, 255, 255)


def pictures(animation: Animation) -> list[Image.Image]:
    return [frame.convert("RGB") for frame in ImageSequence.Iterator(Image.open(io.BytesIO(animation.gif)))]


def color(name: str) -> tuple[int, ...]:
    return ImageColor.getrgb(name)


def parted_seed() -> int:
    return next(seed for seed in range(50) if not diff(run("default", seed), run("temperature:6", seed)).same)


@pytest.mark.parametrize("strategies", [("rws:4",), ("default", "temperature:6"), ("wino:0.6", "p2:1")])
def test_every_box_of_every_frame_has_the_colour_of_what_it_holds(strategies: Sequence[str]) -> None:
    seed, kinds = parted_seed(), set()
    traces = [run(strategy, seed) for strategy in strategies]
    frames = frames_of(*traces, None if len(traces) == 1 else diff(*traces))
    layout = layout_of(traces, frames, prompt_before(traces[0]))
    drawn = pictures(animate(*traces))
    assert len(drawn) == len(frames) == max(trace.steps_run for trace in traces) + 2
    for picture, frame in zip(drawn, frames, strict=True):
        assert picture.size == layout.size
        for trace, panel, shown in zip(traces, layout.panels, frame.runs, strict=True):
            for slot in panel.slots:
                left, top, right, bottom = slot.box
                assert slot.position is not None and 0 <= left < right <= layout.size[0]
                word, new, marked, _ = shown.look(slot.position)
                chosen = 0 <= frame.step < trace.steps_run and trace.chosen[frame.step, slot.position]
                assert new == chosen
                ground = color(RULE) if word is None else color(AMBER) if new else WHITE
                assert picture.getpixel((left + 1, top + 1)) == picture.getpixel((right - 1, top)) == ground
                assert (picture.getpixel((left, bottom - 1)) == color(BLUE)) == marked
                kinds.add((word is None, new, marked))
    assert {(True, False, False), (False, False, False), (False, True, False)} <= kinds


def standing(trace: Trace, step: int) -> list[str | None]:
    words = zip(trace.words(trace.tokens), trace.commit_step, strict=True)
    return [word if commit <= step else None for word, commit in words]


def test_the_words_are_those_of_the_canvas_and_marks_those_of_one_run_alone() -> None:
    seed = parted_seed()
    traces = run("default", seed), run("temperature:6", seed)
    frames = frames_of(*traces, diff(*traces))
    for frame in frames:
        for trace, other, shown in zip(traces, reversed(traces), frame.runs, strict=True):
            stands, elsewhere = standing(trace, frame.step), standing(other, frame.step)
            assert list(shown.words) == stands
            assert shown.marked == {n for n, word in enumerate(stands) if word is not None and word != elsewhere[n]}
    assert any(shown.marked for frame in frames for shown in frame.runs)


MEGABYTE = 1_000_000


def frames(path: Path) -> list[tuple[int, bytes]]:
    with Image.open(path) as file:
        return [(frame.info["duration"], frame.convert("RGB").tobytes()) for frame in ImageSequence.Iterator(file)]


def test_the_pictures_are_small_and_made_anew(tmp_path: Path) -> None:
    kept = readme_pictures.IMAGES / "decodes.gif"
    readme_pictures.animation(tmp_path, tmp_path / "decodes.gif")
    ours, theirs = frames(tmp_path / "decodes.gif"), frames(kept)
    assert [time for time, _ in ours] == [time for time, _ in theirs]
    stale = [number for number, (new, old) in enumerate(zip(ours, theirs, strict=True)) if new != old]
    assert stale == [], "run make pictures"
    assert kept.stat().st_size < MEGABYTE
    stills = [path.name for path in readme_pictures.IMAGES.glob("*.png")]
    assert {"frontier.png", "ablations.png", "theorems-crossing.png"} < set(stills)
    for name, least, most, size in (
        ("decodes.gif", 900, 1000, MEGABYTE),
        *((n, 700, 1100, MEGABYTE / 5) for n in stills),
    ):
        path = readme_pictures.IMAGES / name
        assert path.stat().st_size < size
        with Image.open(path) as picture:
            assert least <= picture.width <= most
            assert picture.convert("RGBA").getextrema()[3] == (255, 255)  # readers' dark pages do not shine through
