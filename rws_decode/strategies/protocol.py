"""What a strategy is: a rule for the factor of all logits, or for the order of positions; and what it may also do."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, Literal, NamedTuple, Protocol, cast, runtime_checkable

from rws_decode.common.later import Floats, NDArray, Tensor, np, torch
from rws_theory.show import one_line

_NONE = cast("Tensor", None)  # what a strategy with a factor alone does not look at


class Look(Protocol):
    """What the canvas would look like after commits: hypotheses, none of them made, each by a forward of its own.

    forwards: int64 [b], how many hypotheses of each row of the batch were looked at; calls: the forwards of the
    predictor that they took together.
    """

    forwards: Tensor
    calls: int

    def __call__(self, row: Tensor, chosen: Tensor, scale: Tensor) -> Tensor:
        """Return the entropy of what each of H hypotheses leaves masked, in nats, float64 [H, length], 0 elsewhere.

        row: int64 [H], the prompt; chosen: bool [H, length], the positions that take their candidates; scale: float64
        [H], the factor of the logits. A row's hypotheses may stand in any order.
        """
        ...


class MaskedPositions(NamedTuple):
    """What a strategy sees of a step: the N masked positions of the current block, over all B rows.

    step: from 0; rows: B, the prompts of the decode; length: answer tokens; row and position: int64 [N], the prompt
    and the place in its answer of each; logits: [N, V], in the model's dtype, -inf for tokens that cannot be committed;
    candidate: int64 [N], the token that each would commit; reward: normalised, float64 [B], None where not asked.
    Rows must not be mixed, or a prompt's answer would depend on its batch.

    masked: bool [B, length], the answers' positions without a token, also those outside the block. before: the logits
    of the same positions one step before, two steps, ..., [N, V] each, as many as a `Remembering` strategy asks for and
    the row has done.

    Where positions are ranked, counted or chosen: scale, float64 [N], the factor of their logits; log_odds, float64
    [N], of the confidence that ranks them; leeway, float64 [N], by how much more certain, in scaled logits, each is
    taken to be than its logits say (0, but where rounding is asked about).

    commits: how many positions of a row the schedule commits in the step; waits: bool [N], the positions that go only
    once no other of their block is left. look: asks what the canvas would be after some commits, for a
    `LookingStrategy`; None for others.
    """

    step: int
    rows: int
    length: int = 0
    row: Tensor = _NONE
    position: Tensor = _NONE
    logits: Tensor = _NONE
    candidate: Tensor = _NONE
    reward: NDArray[np.float64] | None = None
    masked: Tensor = _NONE
    before: tuple[Tensor, ...] = ()
    log_odds: Tensor = _NONE
    scale: Tensor = _NONE
    leeway: Tensor = _NONE
    commits: int = 0
    waits: Tensor = _NONE
    look: Look | None = None

    __repr__ = one_line


class CommittedPositions(NamedTuple):
    """What a revising strategy sees of a step: the M committed positions of the current block, over all B rows.

    step, rows, length, row, position: as in `MaskedPositions`, int64 [M] the last two; token: int64 [M], what stands
    there; log_p: float64 [M], nats that the predictor gives this token now, under the scaled logits, by the strategy's
    `evidence`, 0 for "none". committed: int64 [M], the step that committed it; log_p_committed: float64 [M], nats that
    it had then. commits: how many positions of a row the schedule commits in the step; masked: the block's masked
    positions, with their log_odds. Prompts, other blocks, and rows in the last step of their block are not among them.
    """

    step: int
    rows: int
    length: int
    row: Tensor
    position: Tensor
    token: Tensor
    log_p: Tensor
    committed: Tensor
    log_p_committed: Tensor
    commits: int
    masked: MaskedPositions

    __repr__ = one_line


@runtime_checkable
class FactorStrategy(Protocol):
    """A rule for the factor c that multiplies all logits of a row; positions are then committed by confidence.

    `name` goes into traces. `needs_reward` says whether the completed text is scored; `AsksAtSteps` says at which
    steps. Strategies are frozen dataclasses; `describe` puts their numbers into the trace.
    """

    @property
    def name(self) -> str: ...

    @property
    def needs_reward(self) -> bool: ...

    def factor(self, view: MaskedPositions) -> Floats:
        """Return each row's factor, float64 [rows], positive. Rows that have left the batch are not looked at."""
        ...


@runtime_checkable
class OrderStrategy(Protocol):
    """A rule for the order in which positions are committed, largest value first.

    The factor is 1, but for one that is a `FactorStrategy` too: its order sees that factor as `view.scale`.
    """

    @property
    def name(self) -> str: ...

    @property
    def needs_reward(self) -> bool: ...

    def order(self, view: MaskedPositions) -> Tensor:
        """Return a ranking value for each of the N positions, [N], not NaN; ties go to the leftmost."""
        ...


Strategy = FactorStrategy | OrderStrategy


@runtime_checkable
class CountingStrategy(Protocol):
    """A strategy that says itself how many positions of each row a step commits, in place of the schedule.

    A step commits at least one position of a row, and in the last step that the schedule gives a block all that is
    left of it. A block that is done before is followed by the next at once. A row that is done takes no more forwards.
    """

    def count(self, view: MaskedPositions) -> Tensor:
        """Return how many positions of each row go, int64 [rows], the most confident first."""
        ...


@runtime_checkable
class ChoosingStrategy(Protocol):
    """A strategy that says itself which positions a step commits; where none is, the most confident one of a row goes.

    Steps, blocks and rows as for `CountingStrategy`.
    """

    def choose(self, view: MaskedPositions) -> Tensor:
        """Return whether each position goes, bool [N]."""
        ...


OwnCount = CountingStrategy | ChoosingStrategy  # what commits as many positions as it says itself


Evidence = Literal["none", "visible", "left-out"]  # of what a predictor says of a committed token


@runtime_checkable
class RevisingStrategy(Protocol):
    """A strategy that masks committed tokens of the current block again, before a step commits others.

    A step commits as many positions as the schedule says, and one more for each token that it masks again; or as many
    as the strategy counts. A token that is masked again is not committed in the same step. The last step that the
    schedule has for a block masks nothing again, and a block without masks is done.
    """

    @property
    def evidence(self) -> Evidence:
        """What `CommittedPositions.log_p` is: 0 for "none"; "visible" or "left-out".

        "visible": of the step's own logits at the position, whose token the predictor sees; always 0 nats for an exact
        world. "left-out": of the logits with this token masked and all others as they are, at the cost of a forward of
        one more row for each committed token, but for those that `AsksEvidence` leaves out.
        """
        ...

    def revise(self, view: CommittedPositions) -> Tensor:
        """Return whether each token is masked again, bool [M]. Rows must not be mixed."""
        ...


@runtime_checkable
class AsksEvidence(Protocol):
    """A revising strategy that needs the "left-out" evidence of some tokens only; of others, log_p is 0 nats."""

    def asks_evidence(self, view: CommittedPositions) -> Tensor:
        """Return whose log_p is needed, bool [M]; `view.log_p` is not known yet."""
        ...


@runtime_checkable
class EditingStrategy(Protocol):
    """A strategy that replaces committed tokens of the current block, at each step and when the block is full.

    A token gives way to the candidate at its position, the best token there or a drawn one.
    """

    @property
    def after(self) -> int:
        """How many forwards more a block without masks takes, at most; the first that replaces nothing is the last."""
        ...

    def edits(self, log_odds: Tensor) -> Tensor:
        """Return whether candidates of these log-odds, under the scaled logits, replace other tokens, bool [M]."""
        ...


Changing = RevisingStrategy | EditingStrategy  # what takes committed tokens away

# What a description says of a strategy that counts or chooses itself, masks again, or replaces tokens.
MARKS = {"counts": OwnCount, "chooses": ChoosingStrategy, "revises": RevisingStrategy, "edits": EditingStrategy}


@runtime_checkable
class Remembering(Protocol):
    """A strategy that compares steps: `memory` says how many steps back `view.before` goes."""

    @property
    def memory(self) -> int: ...


@runtime_checkable
class LookingStrategy(Protocol):
    """A strategy that looks at what the canvas would be: `view.look` takes at most `hypotheses` forwards a row.

    Its order, or its choice, looks once in a step; a choice is also asked without, for what rounding may change.
    """

    @property
    def hypotheses(self) -> int: ...


@runtime_checkable
class AsksAtSteps(Protocol):
    """A strategy that needs the reward at some steps only."""

    def asks_reward(self, step: int) -> bool:
        """Say whether the completed text is scored at a step, counted from 0."""
        ...


@runtime_checkable
class BoundedFactor(Protocol):
    """A strategy whose factor follows from the reward alone, and so has a range.

    `savings.unless_certain` leaves out rewards that cannot matter by it.
    """

    def factor_range(self, low: float, high: float) -> tuple[float, float]:
        """Return the least and greatest factor of normalised rewards in [low, high], rounded outward."""
        ...


@runtime_checkable
class TensorFactor(Protocol):
    """A strategy that computes its factors where the rewards are: on a GPU nothing waits for the host."""

    def tensor_factor(self, reward: Tensor) -> Tensor:
        """Return the factors of normalised rewards on their device; NaN of NaN."""
        ...


@runtime_checkable
class Sensitive(Protocol):
    """An order that says how far a value moves, at most, if every logit of its position moves by at most 1."""

    @property
    def sensitivity(self) -> float: ...


def asks_reward(strategy: Strategy, step: int) -> bool:
    """Return whether the completed text is scored at a step.

    >>> from rws_decode.strategies.factors import RWS, Confidence
    >>> [asks_reward(rule, 0) for rule in (Confidence(), RWS(8.0))]
    [False, True]
    """
    return strategy.needs_reward and (not isinstance(strategy, AsksAtSteps) or bool(strategy.asks_reward(step)))


def sensitivity_of(strategy: OrderStrategy) -> float:
    """Return the strategy's sensitivity; 2, that of a difference of two logits, where it does not say."""
    return strategy.sensitivity if isinstance(strategy, Sensitive) else 2.0


def factors_of(strategy: Strategy, view: MaskedPositions) -> Floats:
    """Return the factor of every row, float64 [rows]; ones for an order without one. ValueError for another shape.

    >>> from rws_decode.strategies.factors import Temperature
    >>> factors_of(Temperature(2.0), MaskedPositions(step=0, rows=2)).tolist()
    [2.0, 2.0]
    """
    if not isinstance(strategy, FactorStrategy):
        return np.ones(view.rows)
    factor = np.asarray(strategy.factor(view), np.float64)
    if factor.shape not in ((), (view.rows,)):
        raise ValueError(
            f"strategy {strategy.name} gives factors of shape {factor.shape}: one for each of {view.rows} rows "
            "is needed"
        )
    return np.broadcast_to(factor, view.rows)


def order_of(strategy: OrderStrategy, view: MaskedPositions) -> Tensor:
    """Return the strategy's own ranking values, float64 [N]; ValueError for another shape and for NaN."""
    given = strategy.order(view)
    if given is None:
        raise ValueError(f"strategy {strategy.name} gives no order: its method order returns None")
    value = torch.as_tensor(given, device=view.position.device)
    if value.is_complex():
        raise ValueError(f"strategy {strategy.name} gives an order of {value.dtype}: real numbers are needed")
    if value.shape != view.position.shape:
        raise ValueError(
            f"strategy {strategy.name} gives an order of shape {tuple(value.shape)}: one number for each of the "
            f"{len(view.position)} positions is needed"
        )
    if bool(value.isnan().any()):
        raise ValueError(f"strategy {strategy.name} gives NaN at step {view.step}: NaN has no rank")
    return value.double()


def describe(strategy: Strategy) -> dict[str, Any]:
    """Return the strategy as JSON-ready data: its name and its numbers.

    What is given per step stays in the trace. A strategy that is not a dataclass is described by its name alone, one
    inside another by its own description. `MARKS` say what it does besides.

    >>> from rws_decode.strategies.factors import RWS
    >>> describe(RWS(8.0))
    {'name': 'rws', 'reward_scale': 8.0, 'eps': 1e-05}
    """
    described: dict[str, Any] = {"name": strategy.name}
    described |= {mark: True for mark, kind in MARKS.items() if isinstance(strategy, kind)}
    for part in fields(strategy) if is_dataclass(strategy) else ():
        value = getattr(strategy, part.name)
        if isinstance(value, int | float | str):
            described[part.name] = value
        elif isinstance(value, FactorStrategy | OrderStrategy):
            described[part.name] = describe(value)
    return described
