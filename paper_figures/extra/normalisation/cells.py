"""The cells of the normalisation study, their prompts, and the comparison that all of its parts make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from paper_figures.extra.normalisation.search import RUNGS
from paper_figures.studies.prompts import Prompts, prompts_of
from rws_decode.common.later import np

if TYPE_CHECKING:
    from rws_decode.ablation.result import Ablation, AblationRows

NAME = "normalisation"
MARGIN, LEVEL, BOUND = 0.1, 0.95, 3.0  # SD of the reward over confidence texts; of all intervals; as in `ablate`
TEST_PROMPTS, LOOK = 400, 10  # of a cell; after how many it is asked whether the intervals decide
DECIDED = ("better", "worse", "equivalent")
LEVERAGE = ("attainable", "observed")
PRIMARY = ("confidence", "fixed factor", "tuned fixed factor", "best of N")


class Cell(NamedTuple):
    """A model, its reward and judge, the source of its prompts, the shape of an answer, and its first test prompts.

    The plan's first parts had `first` test prompts, in the order of their source; its third part has others besides.
    """

    model: str
    reward: str
    judge: str
    data: str
    length: int
    steps: int
    first: int

    @property
    def name(self) -> str:
        return f"{self.model}:{self.reward}/{self.length}/{self.steps}"


CELLS = {
    cell.name: cell
    for cell in (
        Cell("english", "era", "keywords", "openings", 16, 8, 200),
        Cell("english", "era", "keywords", "openings", 32, 16, 300),
        Cell("mini", "mini", "mini-judge", "stories:keywords", 32, 16, 100),
        Cell("english", "era", "keywords", "openings", 16, 16, 150),
        Cell("english", "era", "keywords", "openings", 32, 8, 150),
        Cell("english", "era", "keywords", "openings", 32, 32, 100),
        Cell("english", "era", "keywords", "openings", 64, 32, 100),
        Cell("reactions", "balanced", "valid", "reactions:16", 16, 8, 150),
        Cell("english", "smollm2", "era", "openings", 16, 8, 100),
        Cell("antibody", "human", "humanness", "antibodies:32", 32, 16, 100),
    )
}


def cell_prompts(cell: Cell, count: int, seed: int) -> Prompts:
    """Return validation and test prompts of a cell: the first ones, then others in random order, `count` in all."""
    validation = RUNGS[-1][1]
    found = prompts_of(cell.data, min(cell.first, count), validation, seed=seed, model=cell.model)
    if count > cell.first:
        there = {prompt.text for prompt in (*found.validation, *found.test)}
        pool = prompts_of(cell.data, TEST_PROMPTS + validation, seed=seed, model=cell.model).test
        other = [prompt for prompt in pool if prompt.text not in there]
        order = np.random.default_rng(seed).permutation(len(other))[: count - cell.first]
        found = replace(found, test=(*found.test, *(other[place] for place in order)))
    return found


def order_of(cell: Cell, count: int, seed: int) -> list[int]:
    """Return the test prompts in the order in which they are compared: the first ones shuffled, the others as they are.

    Confidence sequences need an order that is random.
    """
    first = min(cell.first, count)
    return [*np.random.default_rng(seed).permutation(first).tolist(), *range(first, count)]


def is_primary(twin: str) -> bool:
    """Return whether a comparison is one of the plan's four."""
    return twin in PRIMARY or twin.startswith("best of")


def compared_cell(rows: AblationRows, order: Sequence[int], about: dict[str, Any]) -> Ablation:
    """Return what `ablate` says of decoded prompts in their order; about: as `Trial.about` gives it."""
    from rws_decode.ablation.result import compared
    from rws_decode.ablation.twins import BLIND

    twins = about["twins"]
    settings = {"margin": MARGIN, "level": LEVEL, "corrected": 1 - (1 - LEVEL) / len(twins), "bound": BOUND}
    return compared(rows, [[row] for row in order], about, settings | {"blind": [arm for arm in twins if arm in BLIND]})
