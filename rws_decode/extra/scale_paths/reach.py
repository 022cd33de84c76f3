"""Compare the answers of any temperature with those of any reward scale: two complete scale paths of one prompt."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

from rws_decode.extra.scale_paths.path import ScalePath
from rws_theory.show import quoted, shortened


@dataclass(frozen=True)
class Output:
    """An answer that some scale gives, on which axis, and the width of its scales there, in log scale (nats).

    by_temperature, by_reward_scale: whether a scale of the axis gives it; None if no piece does, but the path is not
    certified. Widths are 0.0 where no piece gives it.
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
    """The result of :func:`compare_reach`.

    outputs: every answer of either path, once, by its tokens, in the order of their scales, the temperature path first.
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

    The paths are those of one prompt, model and shape over "temperature" and over "reward-scale"; "only" means within
    their ranges. The factors of RWS at s_R lie in [s_R sqrt(eps), s_R sqrt(1 + eps)] and differ from step to step, so
    that neither range contains the other's factors; the paper compares equal ranges of c and s_R.

    Answers are compared by their tokens, not their order. That an axis does not reach an answer is stated only if its
    path is certified, and holds outside its certified intervals (relative width below 1e-12). The width of an answer is
    the sum of ln(upper / lower) over its pieces. ValueError for other axes, or answers of different lengths.
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
