"""Results of experiments made by hand, for tests of figures, and what every exhibit has to have."""

import csv
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from json_files import write_json
from matplotlib.text import Text
from tiny_models import fixed_predictor
from torch import Tensor

from paper_figures.exhibits import Exhibit, Picture
from rws_decode import RWS, Confidence, RewardModel, Shape, Strategy, decode

Row = dict[str, Any]
MASK, END = 0, 1
SETTINGS: Row = {"data": "stories:keywords", "model": "tiny", "rewards": ["second", "grm"], "length": 16, "steps": 8}
SETTINGS |= {"repetitions": 2, "timing_prompts": 2, "device": "cpu"}


def write_run(runs: Path, experiment: str, tables: Mapping[str, Sequence[Row]], **settings: Any) -> Path:
    """Write an experiment's results.json below `runs` and return `runs`."""
    results: Row = {"settings": SETTINGS | settings, "prompts": {"source": "made up", "test": 4, "validation": 2}}
    results |= {"selection": {"second": 8.0, "grm": 2.0}, "units": "units-1", "seconds": 12.5}
    results["tables"] = {name: {"caption": "", "rows": rows, "shown": rows} for name, rows in tables.items()}
    write_json(runs / experiment / "results.json", results)
    return runs


def write_commit_order(
    runs: Path, logits: Tensor, prompts: Mapping[int, str], guide: RewardModel, scale: float, *, steps: int, block: int
) -> Path:
    """Write a commit-order run of a table of logits: of two tokens of prompt and the answer's positions."""
    texts = {"encode": lambda text: [2, 3], "decode": lambda ids: " ".join(map(str, ids))}
    predictor = fixed_predictor(logits, mask_id=MASK, end_id=END, name="tiny", **texts)
    length = len(logits) - 2
    variants: dict[str, tuple[Strategy, int]] = {
        "left-to-right": (Confidence(), length // steps),
        "default": (Confidence(), block),
        "rws": (RWS(scale), block),
    }
    model, folder, rows = runs.parent / "tiny", runs / "commit-order", []
    write_json(model / "config.json", {"eos_token_id": END})
    for (index, prompt), (name, (strategy, parts)) in product(prompts.items(), variants.items()):
        (trace,) = decode(predictor, [prompt], strategy, Shape(length=length, steps=steps, block=parts), reward=guide)
        path = trace.save(folder / f"{name}-{index}.parquet")
        rows.append({"method": name, "example": index, "trace": path.name})
    write_json(folder / "results.json", {"settings": {"model": str(model)}, "rows": rows})
    return runs


def summary_row(guide: str, method: str, measure: str, mean: float | None, minus: Sequence[float] = ()) -> Row:
    """Return a row as `means.summarise` has it; minus: the method minus RWS, low, high, and Holm's p."""
    row: Row = {"guide": guide, "reward_scale": 8.0 if guide == "second" else 2.0, "method": method}
    row |= {"measure": measure, "n": 4, "mean": mean}
    row |= {"low": None if mean is None else mean - 0.25, "high": None if mean is None else mean + 0.5}
    row |= {"pairs": 4 if minus else None, "p": None}
    names = ("difference", "difference_low", "difference_high", "p_holm")
    return row | (dict(zip(names, minus, strict=True)) if minus else dict.fromkeys(names))


def read_csv(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def assert_whole(exhibit: Exhibit, widest: float = 6.6) -> None:
    """Assert that an exhibit has conclusions, readable pictures of at most `widest` inches, and complete tables."""
    assert exhibit.conclusions, "the exhibit concludes nothing: give Exhibit its conclusions"
    for line in exhibit.conclusions:
        assert line.endswith(".") and "nan" not in line.split(), f"end this conclusion in '.', without nan: {line!r}"
    for picture in exhibit.pictures:
        _assert_readable(picture, widest)
    for table in exhibit.tables:
        where = f"table {table.name!r}"
        assert table.rows and table.shown and table.caption, f"{where}: give it rows and a caption"
        assert len({tuple(row) for row in table.shown}) == 1, f"{where}: give every row the same columns, in one order"
        absent = [row for row in table.shown if any(str(value) == "nan" for value in row.values())]
        assert not absent, f"{where}: show None or a word in place of nan, in {absent[0]}"


def _assert_readable(picture: Picture, widest: float) -> None:
    where, size = f"picture {picture.stem!r}", picture.figure.get_size_inches()
    for part, words in (("alt text", picture.alt), ("caption", picture.caption)):
        assert len(words) > 40, f"{where}: its {part} has {len(words)} characters, write more than 40"
    texts = [text for text in picture.figure.findobj(Text) if text.get_text().strip() and text.get_visible()]
    assert texts, f"{where} has no text: label its axes"
    least = min(texts, key=lambda text: text.get_fontsize())
    points = f"{least.get_text()!r} has {least.get_fontsize():g} pt"
    assert least.get_fontsize() >= 8.0, f"{where}: make every text at least 8 pt, {points}"
    picture.figure.draw_without_rendering()
    box = picture.figure.get_tightbbox()
    inside = box.x0 >= -0.02 and box.y0 >= -0.02 and box.x1 <= size[0] + 0.02 and box.y1 <= size[1] + 0.02
    assert inside, f"{where}: something is cut off at an edge, make the figure larger or move it inwards"
    assert size[0] <= widest, f"{where}: make it at most {widest:g} inches wide, it has {size[0]:g}"
