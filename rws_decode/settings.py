"""The settings of a decode: its shape, its options, and the savings that it may use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal, get_args

from rws_decode.canvas.schedule import EndOfText, Padding, PlannedStep, block_plan
from rws_decode.common.arguments import check_seeds, is_id, nearest, use_plain_numbers
from rws_theory.checks import finite, one_of, whole
from rws_theory.show import one_line, quoted

Ranking = Literal["log-odds", "probability", "topk"]
Precision = Literal["model", "bfloat16", "float32", "float64"]
Drawing = Literal["completion", "commit"]
Kept = Literal["full", "tokens"]


@dataclass(frozen=True)
class Shape:
    """The size of an answer and how it is filled: `length` tokens in `steps` steps, block by block.

    The fields hold what was given, None where nothing was; `resolved` has all numbers, and a decode records them.

    block: tokens per block; blocks are filled from left to right. If it is not given, it is the largest divisor of
    length from 8 to 32, or else the length. If steps is not given, a step commits two tokens; a strategy that counts
    itself then has as many steps as it asks for, at most one for each token (`one_by_one`). ValueError unless
    length % block == 0, steps % (length // block) == 0 and steps <= length <= 2**20 (`schedule.block_plan`).

    counts: the tokens of each step, in place of steps; the answer is then one block. Those of
    `rws_theory.worlds.best_schedule` are the best in random order. ValueError unless they are positive and sum to
    length, and for other steps or blocks beside them.

    >>> Shape(length=4, steps=2, block=4).plan
    [PlannedStep(start=0, stop=4, commits=2), PlannedStep(start=0, stop=4, commits=2)]
    >>> Shape(37), Shape(8, counts=(1, 2, 5)), Shape(37).steps is None
    (Shape(length=37), Shape(length=8, counts=(1, 2, 5)), True)
    >>> Shape().resolved(), Shape(100).resolved().steps
    (ResolvedShape(length=64, steps=32, block=32), 52)
    """

    length: int = 64
    steps: int | None = None
    block: int | None = None
    counts: Sequence[int] | None = None

    def __repr__(self) -> str:
        given = (f"{name}={value}" for name, value in vars(self).items() if value is not None)
        return f"{type(self).__name__}({', '.join(given)})"

    def __post_init__(self) -> None:
        use_plain_numbers(self)
        if self.counts is not None:
            counts: object = self.counts
            object.__setattr__(self, "counts", tuple(counts) if isinstance(counts, Iterable) else (counts,))
        block_plan(self.length, *self._sizes(), self.counts)

    def _sizes(self) -> tuple[int, int]:
        """Return steps and block, the usual ones where none are given."""
        steps, block = self.steps, self.block
        if block is None:
            block = _usual_block(self.length) if self.counts is None else self.length
        if steps is None:
            steps = _usual_steps(self.length, block) if self.counts is None else len(self.counts)
        return steps, block

    def resolved(self) -> ResolvedShape:
        """Return the shape with all its numbers, the usual ones where none were given."""
        return ResolvedShape(self.length, *self._sizes(), self.counts)

    def one_by_one(self) -> Shape:
        """Return the shape with a step for each token where no number of steps was given, else the shape itself."""
        if self.counts is not None:
            raise ValueError(f"counts are {self.counts}: a strategy that counts itself is given none, leave them out")
        return replace(self, steps=self.length) if self.steps is None else self

    def nested(self, block: int | None, name: str) -> Shape:
        """Return the shape for a predictor that fills `block` tokens at a time; None: the shape itself.

        A block that was not given is that one. name: of the predictor. ValueError for blocks that do not lie within its
        own, whole or cut into equal parts.
        """
        if block is None:
            return self
        if self.length > block and self.length % block:
            near = nearest(self.length, range(block, self.length + block + 1, block))
            raise ValueError(
                f"length is {self.length}: {name} fills blocks of {block}, give {near}, or less than {block}"
            )
        most = min(block, self.length)
        if self.block is None and self.counts is None:
            return replace(self, block=most)
        own = self.resolved().block
        if most % own:
            raise ValueError(f"block is {own}: {name} fills blocks of {block}, give {most} or a divisor of it")
        return self

    @property
    def plan(self) -> list[PlannedStep]:
        """Return every step: where it commits, and how many positions."""
        return block_plan(self.length, *self._sizes(), self.counts)


@dataclass(frozen=True, repr=False)
class ResolvedShape(Shape):
    """A shape with all its numbers, as `Shape.resolved` gives it: what a decode runs by, and its trace records."""

    steps: int = 0
    block: int = 0


def _usual_block(length: int) -> int:
    """Return the block of an answer that names none: the largest divisor of length from 8 to 32, or else the length."""
    right = isinstance(length, int) and not isinstance(length, bool)  # else `block_plan` refuses it
    return next((block for block in range(32, 7, -1) if right and length % block == 0), length)


def _usual_steps(length: int, block: int) -> int:
    """Return the steps of an answer that names none: each commits two tokens, a block's last one the rest."""
    whole = all(isinstance(value, int) and value > 0 for value in (length, block))
    return length // block * -(-block // 2) if whole else 1


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a decode ranks, samples, pads and ends. The defaults are greedy and exact.

    ranking, precision: log-odds in float64 order positions as the exact probability does. "probability" is softmax in
    `precision`, ties leftmost. "topk" is what public decoders compute: softmax over the whole vocabulary, forbidden
    tokens too, and `torch.topk` over the canvas.

    sampling_temperature: above 0, tokens are sampled by Gumbel-max (`completion.TokenSampler`). drawing: "completion"
    samples all positions before they are ranked, as public decoders do; the confidence is that of the sampled token
    without the noise. "commit" ranks the best tokens, and samples at the chosen positions only: `strategy_log_prob`
    computes this sampler's distribution. top_p, top_k: they cut which tokens can be sampled (`completion.cut`), not the
    order; 1 and None cut nothing. seed: one number, or one per row. cfg: the scale of classifier-free guidance
    (`completion.guided_logits`), 0 for none. end_of_text: "none", "suppress", "defer" or "defer-published"
    (`end_of_text.end_tokens`); end_ids: the tokens that it is about, the predictor's own if None. padding: the side on
    which shorter rows are padded, under an attention mask. key_cache: "prefix", "dual" and "delayed:N" keep keys
    and values from step to step (`kept_keys.keeping`); that changes the logits, so it is no saving. record: "tokens"
    keeps what each step committed, completed and was rewarded with, and leaves out what a trace says besides: ranking
    values, ties, rounding, and what factor 1 would have committed (`Trace.missing`).

    ValueError names the option that is wrong.

    >>> Options(ranking="probability", precision="float32").cfg
    0.0
    """

    ranking: Ranking = "log-odds"
    precision: Precision = "float64"
    sampling_temperature: float = 0.0
    drawing: Drawing = "completion"
    top_p: float = 1.0
    top_k: int | None = None
    seed: int | tuple[int, ...] = 0
    cfg: float = 0.0
    end_of_text: EndOfText = "none"
    end_ids: Sequence[int] | None = None
    padding: Padding = "right"
    key_cache: str = "none"
    record: Kept = "full"

    __repr__ = one_line

    def __post_init__(self) -> None:
        use_plain_numbers(self)
        check_seeds("seed", self.seed)
        finite("cfg", self.cfg, least=0)
        finite("sampling_temperature", self.sampling_temperature, least=0)
        finite("top_p", self.top_p, above=0, most=1)
        if self.top_k is not None:
            whole("top_k", self.top_k)
        for name, usual in (("top_p", 1), ("top_k", None)):
            if self.sampling_temperature == 0 and (value := getattr(self, name)) != usual:
                raise ValueError(
                    f"{name} is {quoted(value)}: at sampling_temperature 0 nothing is drawn, give a temperature above "
                    f"0 or leave {name} out"
                )
        if self.end_ids is not None and not (isinstance(self.end_ids, Iterable) and all(map(is_id, self.end_ids))):
            raise ValueError(f"end_ids is {quoted(self.end_ids)}: token ids, whole numbers, are needed")
        kinds = {"ranking": Ranking, "precision": Precision, "drawing": Drawing, "record": Kept}
        for name, kind in (kinds | {"end_of_text": EndOfText, "padding": Padding}).items():
            one_of(name, getattr(self, name), get_args(kind))
        if not re.fullmatch("none|prefix|dual|delayed:([2-9]|[1-9][0-9]{1,8})", str(self.key_cache)):
            raise ValueError(
                f"key_cache is {quoted(self.key_cache)}: none, prefix, dual, or delayed:N, which renews all keys every "
                "N steps, at least 2, is needed"
            )

    def only(self, who: str, *names: str) -> None:
        """Raise ValueError, naming the option, where another than these is not at its default."""
        for option in fields(self):
            value = getattr(self, option.name)
            if option.name not in names and value != option.default:
                raise ValueError(f"{option.name} is {value!r}: {who} has {option.default!r} alone")


@dataclass(frozen=True)
class Savings:
    """Work that a decode leaves out, and how much memory it takes.

    The text is the same with each of them on or off, and so are the tokens up to its end; `settled` alone changes what
    stands after it. A saving is off by default if it leaves something out of the trace or splits batches.

    reuse: a text that was scored before for the same row is not scored again. cache: a causal reward model keeps its
    keys and values up to the first token that changed (`rewards.RewardSession`). certain: the reward is not asked at a
    step that commits the same positions whatever the reward (`savings.unless_certain`); the trace says so, and has no
    factor there. block_only: without a reward, only the current block is completed, and the trace has no other
    candidates (`savings.block_alone`). settled: a row ends once its text cannot change (`savings.leave_settled`);
    what is left is filled with the token that ended it. spread: by how large a share a row may be longer than the
    shortest of its batch, as padding is computed in vain; None for no limit. memory: bytes that the logits of a batch
    may take (`job.batches`), at least 1.

    batch_invariant: every prompt is a batch of its own, so that no bit of its trace depends on the other prompts. In a
    larger batch the last digits of logits and rewards do, as kernels sum in another order for other shapes. It costs
    what a batch saves.

    >>> Savings().reuse, Savings().settled, Savings.everything().settled
    (True, False, True)
    """

    reuse: bool = True
    cache: bool = True
    certain: bool = False
    block_only: bool = False
    settled: bool = False
    spread: float | None = None
    memory: int = 2**30
    batch_invariant: bool = False

    __repr__ = one_line

    def __post_init__(self) -> None:
        use_plain_numbers(self)
        whole("memory", self.memory)
        if self.spread is not None:
            finite("spread", self.spread, least=0)

    @classmethod
    def everything(cls, memory: int = 2**30) -> Savings:
        """Return all savings at once."""
        return cls(certain=True, block_only=True, settled=True, spread=0.125, memory=memory)

    @classmethod
    def nothing(cls, memory: int = 2**30) -> Savings:
        """Return no saving at all."""
        return cls(reuse=False, cache=False, memory=memory)
