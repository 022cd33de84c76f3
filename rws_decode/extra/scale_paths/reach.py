"""What any temperature reaches and what any reward scale reaches: two complete scale paths of one prompt compared."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

from rws_decode.extra.scale_paths.path import ScalePath
from rws_theory.show import quoted, shortened


@dataclass(frozen=True)
class Output:
    """An answer that some scale leads to, on which axis, and how wide its scales are there, in log scale (nats).

    ``by_temperature``, ``by_reward_scale``: whether the axis leads there; None where no piece does, but a part of the
    axis is unexplored or not certified. Widths are 0.0 where no piece leads there.
    """

    tokens: tuple[int, ...]
    text: str | None
    by_temperature: bool | None
    by_reward_scale: bool | None
    temperature_width: float
    reward_width: float

    def __repr__(self) -> str:
        axes = (("temperature", self.by_temperature), ("reward scale", self.by_reward_scale))
        reached = " and ".join(name for name, by in axes if by)
        text = shortened(self.tokens) if self.text is None else quoted(self.text, 64)
        return f"Output(by {reached or 'neither'}: {text})"


@dataclass(frozen=True)
class Reach:
    """What :func:`compare_reach` found.

    outputs: every answer that a piece of either path holds, each once, by its tokens, in the order of their scales;
    those of the temperature path first.
    """

    outputs: tuple[Output, ...]

    def __repr__(self) -> str:
        alone = (
            f"{len(self.only_temperature)} by temperature alone, {len(self.only_reward_scale)} by reward scale alone"
        )
        open_ = f", {len(self.open)} open" if self.open else ""
        return f"Reach({len(self.outputs)} answers: {len(self.shared)} by both, {alone}{open_})"

    @property
    def temperature(self) -> tuple[Output, ...]:
        """Answers that some temperature reaches."""
        return tuple(output for output in self.outputs if output.by_temperature)

    @property
    def reward_scale(self) -> tuple[Output, ...]:
        """Answers that some reward scale reaches."""
        return tuple(output for output in self.outputs if output.by_reward_scale)

    @property
    def shared(self) -> tuple[Output, ...]:
        """Answers that both reach."""
        return tuple(output for output in self.outputs if output.by_temperature and output.by_reward_scale)

    @property
    def only_temperature(self) -> tuple[Output, ...]:
        """Answers that some temperature reaches and no reward scale of the whole range does."""
        return tuple(output for output in self.outputs if output.by_reward_scale is False)

    @property
    def only_reward_scale(self) -> tuple[Output, ...]:
        """Answers that some reward scale reaches and no temperature of the whole range does."""
        return tuple(output for output in self.outputs if output.by_temperature is False)

    @property
    def open(self) -> tuple[Output, ...]:
        """Answers that one axis reaches, while it is open whether the other does."""
        return tuple(output for output in self.outputs if None in (output.by_temperature, output.by_reward_scale))


def compare_reach(temperature_path: ScalePath, reward_path: ScalePath) -> Reach:
    """Return which answers any temperature reaches, any reward scale, both, or only one of them.

    The paths are those of one prompt and model over "temperature" and over "reward-scale", decoded in one shape. Both
    axes are the ranges that the paths were given, nothing beyond: "only" means over those. The factors of RWS at s_R
    lie in [s_R sqrt(eps), s_R sqrt(1 + eps)] and differ from step to step, so that neither range contains the other's
    factors; equal ranges of c and s_R are what the paper compares.

    Answers are compared by their tokens; the order in which they were committed may differ. That an axis does not reach
    an answer is claimed only where its path is certified, and holds outside its enclosures, relatively narrower than
    1e-12 each. An answer's width is the sum of ln(upper / lower) over its pieces: its share of the range, were scales
    drawn evenly in their logarithm.

    ValueError for paths over other axes, or with answers of different lengths.

    >>> from rws_decode.extra.scale_paths.path import ScalePiece
    >>> common = dict(unexplored=(), breakpoints=(), certified=True, states=1, forwards=1, batches=1, grid_forwards=1)
    >>> common |= dict(reward_calls=0, near_tokens=0)
    >>> one = ScalePath("temperature", 1.0, 2.0, (ScalePiece(1.0, 2.0, (7,), None, (0,)),), **common)
    >>> two = ScalePath("reward-scale", 1.0, 2.0, (ScalePiece(1.0, 2.0, (8,), None, (0,)),), **common)
    >>> reach = compare_reach(one, two)
    >>> [output.tokens for output in reach.only_temperature], [output.tokens for output in reach.only_reward_scale]
    ([(7,)], [(8,)])
    """
    for name, path, over in (
        ("temperature_path", temperature_path, "temperature"),
        ("reward_path", reward_path, "reward-scale"),
    ):
        if path.over != over:
            raise ValueError(f"{name} is over {path.over!r}: a path over {over!r} is needed")
    texts = {piece.tokens: piece.text for path in (temperature_path, reward_path) for piece in path.pieces}
    if len({len(tokens) for tokens in texts}) > 1:
        raise ValueError("temperature_path and reward_path have answers of different lengths: one prompt is needed")
    factors, scales = _widths(temperature_path), _widths(reward_path)
    outputs = (
        Output(
            tokens,
            text,
            tokens in factors or (False if temperature_path.certified else None),
            tokens in scales or (False if reward_path.certified else None),
            factors.get(tokens, 0.0),
            scales.get(tokens, 0.0),
        )
        for tokens, text in texts.items()
    )
    return Reach(tuple(outputs))


def _widths(path: ScalePath) -> dict[tuple[int, ...], float]:
    widths: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for piece in path.pieces:
        widths[piece.tokens] += math.log(piece.upper / piece.lower)
    return dict(widths)
