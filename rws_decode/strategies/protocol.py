"""What a strategy is: a rule for the factor of all logits, or for the order of positions; and what it may also do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from inspect import getattr_static
from math import inf
from typing import Any, Literal, NamedTuple, Protocol, TypeGuard, cast, get_args

from rws_decode.common.later import Floats, NDArray, Tensor, np, torch
from rws_theory.checks import finite, one_of, whole
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
    of the same positions one step before, two steps, ..., [N, V] each, as many as the strategy's `memory` and as
    the row has done.

    Where positions are ranked, counted or chosen: scale, float64 [N], the factor of their logits; log_odds, float64
    [N], of the confidence that ranks them; leeway, float64 [N], by how much more certain, in scaled logits, each is
    taken to be than its logits say (0, but where rounding is asked about).

    commits: how many positions of a row the schedule commits in the step; waits: bool [N], the positions that go only
    once no other of their block is left. look: asks what the canvas would be after some commits, for
    `hypotheses`; None for others.
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
    there; log_p: float64 [M], nats that the predictor gives this token now, under the scaled logits, by what the
    strategy's `revises` says, 0 for "none". committed: int64 [M], the step that committed it; log_p_committed: float64
    [M], nats that it had then. commits: how many positions of a row the schedule commits in the step; masked: the
    block's masked positions, with their log_odds. Prompts, other blocks, and rows in the last step of their block are
    not among them.
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


class FactorStrategy(Protocol):
    """A rule for the factor c that multiplies all logits of a row; positions are then committed by confidence.

    `name` goes into traces. `needs_reward` says whether the completed text is scored, `abilities` what the
    strategy does besides. Strategies are frozen dataclasses; `describe` puts their numbers into the trace.
    """

    @property
    def name(self) -> str: ...

    @property
    def needs_reward(self) -> bool: ...

    def factor(self, view: MaskedPositions) -> Floats:
        """Return each row's factor, float64 [rows], positive. Rows that have left the batch are not looked at."""
        ...


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


def gives_factor(strategy: object) -> TypeGuard[FactorStrategy]:
    """Return whether an object is a `FactorStrategy`: one with a method `factor`."""
    return callable(getattr(strategy, "factor", None)) and _is_strategy(strategy)


def gives_order(strategy: object) -> TypeGuard[OrderStrategy]:
    """Return whether an object is an `OrderStrategy`: one with a method `order`, whatever its fields are called."""
    return callable(getattr(strategy, "order", None)) and _is_strategy(strategy)


def _is_strategy(strategy: object) -> bool:
    return not isinstance(strategy, type) and hasattr(strategy, "name") and hasattr(strategy, "needs_reward")


Evidence = Literal["none", "visible", "left-out"]  # of what a predictor says of a committed token
MARKS = ("counts", "chooses", "revises", "edits")  # what a description says besides of a strategy with these abilities


@dataclass(frozen=True)
class Abilities:
    """What a strategy does besides giving factors or an order, stated in its `abilities`: by default nothing.

    A strategy without `abilities` has none, whatever its methods and fields are called. ValueError for other values
    than these.

    counts: `count(view)` says how many positions of each row go, int64 [rows], the most confident first, in place of
    the schedule. A step commits at least one position of a row, and in the last step that the schedule gives a block
    all that is left of it. A block that is done before is followed by the next at once. A row that is done takes no
    more forwards. chooses: `choose(view)` says which positions go, bool [N]; where none does, the most confident one
    goes. Steps, blocks and rows as for counts. doubts: `doubts(low, high)` says which positions rounding could add to a
    choice or take away, bool [N], or to what an order looks at; all are less certain in the first view, and more
    certain in the second, as far as rounding reaches. Without it those are the positions which one of two choices has.

    revises: `revise(view)` says of a `CommittedPositions` which tokens are masked again, bool [M], before a step
    commits others. The value says what `view.log_p` is. "none": 0. "visible": of the step's own logits at the position,
    whose token the predictor sees; always 0 nats for an exact model. "left-out": of the logits with this token masked
    and all others as they are, at the cost of a forward of one more row for each committed token. A step commits as
    many positions as the schedule says, and one more for each token that it masks again; or as many as the strategy
    counts. A token that is masked again is not committed in the same step. The last step that the schedule has for a
    block masks nothing again, and a block without masks is done. asks_evidence: `asks_evidence(view)` says which tokens
    need "left-out" evidence, bool [M]; of others, and as it is asked, log_p is 0 nats.

    edits: `edits(log_odds)` says whether candidates of these log-odds, under the scaled logits, replace other committed
    tokens of the block, bool [M], at each step and when the block is full. The value is how many forwards more a block
    without masks takes at most; the first that replaces nothing is the last.

    memory: how many steps back `view.before` goes. hypotheses: how many forwards of a row `view.look` takes at most;
    an order, or a choice, looks once in a step, and a choice is also asked without. asks_at_steps: `asks_reward(step)`
    says at which steps, from 0, the completed text is scored. factor_range: `factor_range(low, high)` gives the least
    and greatest factor of normalised rewards in [low, high], rounded outward: the factor follows from the reward alone,
    and `savings.unless_certain` leaves out rewards that cannot matter. tensor_factor: `tensor_factor(reward)` gives the
    factors of normalised rewards on their device, NaN of NaN, so that a GPU does not wait for the host. sensitivity: by
    how much an order's value moves, at most, if every logit of its position moves by at most 1; that of a difference of
    two logits is 2.

    >>> Abilities(counts=True, memory=2).own_count, Abilities(memory=2).plain, Abilities(factor_range=True).plain
    (True, False, True)
    """

    counts: bool = False
    chooses: bool = False
    doubts: bool = False
    revises: Evidence | None = None
    asks_evidence: bool = False
    edits: int | None = None
    memory: int = 0
    hypotheses: int = 0
    asks_at_steps: bool = False
    factor_range: bool = False
    tensor_factor: bool = False
    sensitivity: float = 2.0

    __repr__ = one_line

    def __post_init__(self) -> None:
        one_of("revises", self.revises, (None, *get_args(Evidence)))
        whole("edits", self.edits or 0, 0)
        whole("memory", self.memory, 0)
        whole("hypotheses", self.hypotheses, 0)
        finite("sensitivity", self.sensitivity, least=0)

    @property
    def own_count(self) -> bool:
        """Whether as many positions go as the strategy says itself."""
        return self.counts or self.chooses

    @property
    def changes(self) -> bool:
        """Whether committed tokens are taken away."""
        return self.revises is not None or self.edits is not None

    @property
    def plain(self) -> bool:
        """Whether the schedule says how many positions go, and a step sees its own logits alone."""
        return not (self.own_count or self.doubts or self.changes or self.memory or self.hypotheses)


def doubts_of(strategy: Any, low: MaskedPositions, high: MaskedPositions) -> Tensor:
    """Return which positions rounding could add to a strategy's choice or take away, bool [N]; views as for doubts."""
    return strategy.doubts(low, high) if strategy.abilities.doubts else strategy.choose(low) != strategy.choose(high)


_NO_ABILITIES = Abilities()
_METHODS = {"counts": "count", "chooses": "choose", "revises": "revise", "asks_at_steps": "asks_reward"}


def abilities_of(strategy: object) -> Abilities:
    """Return what a strategy declares that it does besides: nothing where it declares nothing.

    >>> from rws_decode.strategies.counted import Threshold
    >>> abilities_of(Threshold(0.9)).counts, abilities_of(0.9) == Abilities()
    (True, True)
    """
    return getattr(strategy, "abilities", _NO_ABILITIES)


def check_abilities(strategy: Strategy) -> Abilities:
    """Return what a strategy declares; ValueError where that are no `Abilities`, or a method of theirs is missing."""
    able = _NO_ABILITIES if getattr_static(strategy, "abilities", None) is None else cast("Any", strategy).abilities
    if not isinstance(able, Abilities):
        raise ValueError(f"abilities is {able!r:.100}: strategy {strategy.name} needs such as Abilities(counts=True)")
    for part in fields(able):
        value, method = getattr(able, part.name), _METHODS.get(part.name, part.name)
        needed = isinstance(part.default, bool | None) and value is not part.default
        if needed and not callable(getattr(strategy, method, None)):
            raise ValueError(f"{part.name} is {value!r}: strategy {strategy.name} has no method {method}, write it")
    return able


def factor_alone(strategy: object) -> TypeGuard[FactorStrategy]:
    """Return whether a strategy gives factors, and leaves all else of a step to the decoder; it is checked."""
    return gives_factor(strategy) and not gives_order(strategy) and check_abilities(strategy).plain


def asks_reward(strategy: Strategy, step: int) -> bool:
    """Return whether the completed text is scored at a step.

    >>> from rws_decode.strategies.factors import RWS, Confidence
    >>> [asks_reward(rule, 0) for rule in (Confidence(), RWS(8.0))]
    [False, True]
    """
    rule: Any = strategy
    return rule.needs_reward and (not abilities_of(rule).asks_at_steps or bool(rule.asks_reward(step)))


def factors_of(strategy: Strategy, view: MaskedPositions) -> Floats:
    """Return the factor of every row, float64 [rows]; ones for an order without one. ValueError for another shape.

    >>> from rws_decode.strategies.factors import Temperature
    >>> factors_of(Temperature(2.0), MaskedPositions(step=0, rows=2)).tolist()
    [2.0, 2.0]
    """
    if not gives_factor(strategy):
        return np.ones(view.rows)
    factor = np.asarray(strategy.factor(view), np.float64)
    if factor.shape not in ((), (view.rows,)):
        raise ValueError(
            f"strategy {strategy.name} gives factors of shape {factor.shape}: one for each of {view.rows} rows "
            "is needed"
        )
    return factor if factor.ndim else np.full(view.rows, factor)


def checked_factors(strategy: Strategy, view: MaskedPositions, rows: Sequence[int]) -> Floats:
    """Return the factors of some rows, float64 [len(rows)]; ValueError unless they are positive and finite."""
    factor = factors_of(strategy, view)[rows]
    if not all(0 < value < inf for value in factor.tolist()):
        raise ValueError(f"factor is {factor.tolist()}: it must be positive and finite")
    return factor


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
    inside another by its own description. `MARKS` say what it does besides; a field of such a name is left out.

    >>> from rws_decode.strategies.factors import RWS
    >>> describe(RWS(8.0))
    {'name': 'rws', 'reward_scale': 8.0, 'eps': 1e-05}
    """
    described: dict[str, Any] = {"name": strategy.name}
    able = abilities_of(strategy)
    marks = (able.own_count, able.chooses, able.revises is not None, able.edits is not None)
    described |= {mark: True for mark, holds in zip(MARKS, marks, strict=True) if holds}
    for part in fields(strategy) if is_dataclass(strategy) else ():
        value = getattr(strategy, part.name)
        if part.name in MARKS:
            continue
        if isinstance(value, int | float | str):
            described[part.name] = value
        elif gives_factor(value) or gives_order(value):
            described[part.name] = describe(value)
    return described
