"""The pictures of README.md are those that `make pictures` makes, and small enough to load at once."""

from __future__ import annotations

from pathlib import Path

import readme_pictures
from PIL import Image, ImageSequence

MEGABYTE = 1_000_000


def frames(path: Path) -> list[tuple[int, bytes]]:
    """Return the milliseconds and the pixels of each frame."""
    with Image.open(path) as file:
        return [(frame.info["duration"], frame.convert("RGB").tobytes()) for frame in ImageSequence.Iterator(file)]


def test_the_animation_is_made_anew(tmp_path: Path) -> None:
    kept = readme_pictures.IMAGES / "decodes.gif"
    readme_pictures.animation(tmp_path, tmp_path / "decodes.gif")
    ours, theirs = frames(tmp_path / "decodes.gif"), frames(kept)
    assert [time for time, _ in ours] == [time for time, _ in theirs]
    stale = [number for number, (new, old) in enumerate(zip(ours, theirs, strict=True)) if new != old]
    assert stale == [], "run make pictures"
    assert kept.stat().st_size < MEGABYTE


def test_both_pictures_are_small_and_have_a_ground_of_their_own() -> None:
    for name, least, most, size in (("decodes.gif", 900, 1000, MEGABYTE), ("frontier.png", 800, 1100, MEGABYTE / 5)):
        path = readme_pictures.IMAGES / name
        assert path.stat().st_size < size
        with Image.open(path) as picture:
            assert least <= picture.width <= most
            assert picture.convert("RGBA").getextrema()[3] == (255, 255)  # readers' dark pages do not shine through
