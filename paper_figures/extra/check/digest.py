"""The digest of a model on a machine: what it is, and what it gave for fixed prompts. A small file of JSON."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass, is_dataclass
from html import escape
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from rws_decode.common.files import parse_json, write_text
from rws_decode.settings import Shape
from rws_theory.show import clipped, figures, printable

FORMAT = 1
_LARGEST = 2**23  # bytes of a file that is read
_LONGEST, _PROMPTS = 2**14, 256
Fact = str | int | float | bool | None
# Facts of the models that stand among those of the machine: old digests, which lack them, are still read.
STORED = "dtype of the checkpoint's files"
SCALE = "reward's mean and deviation"
REWARD_WEIGHTS = "hash of the reward's weights"


@dataclass(frozen=True)
class CheckpointPrint:
    """What the files of a checkpoint hold. weights: a hash by part, a layer or a tensor; config: text by key.

    read: "files" of a checkpoint, "memory" where the network has no files, "nothing" where there is no network.
    """

    name: str
    read: str
    weights: dict[str, str]
    config: dict[str, str]


@dataclass(frozen=True)
class TokenizerPrint:
    """size: how many tokens have names. vocabulary: a hash by the first id of a range. texts: ids of `task.TEXTS`."""

    size: int
    vocabulary: dict[str, str]
    texts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class TemplatePrint:
    """How prompts are laid out. chat: as messages. texts: ids of `task.TEXTS` as prompts, and of `task.TURNS`, last."""

    chat: bool | None
    texts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class EndOfTextPrint:
    """Which tokens are special, and how text is cut.

    cuts: the texts of two words with nothing, each of the ends, and padding between them.
    """

    mask: int
    pad: int | None
    ends: tuple[int, ...]
    forbidden: int
    forbidden_hash: str
    cuts: tuple[str | None, ...]


@dataclass(frozen=True)
class CanvasLogits:
    """Logits at some masked positions of a fixed canvas.

    canvas: hash of its ids and of the positions; bits: hash of all logits there; quantiles: of the finite ones, from
    least to largest; ids, logits: of the largest ones of each position, as many digits as their dtype needs; error: by
    how much rounding may change a logit (`rounding.logit_error`, the largest).
    """

    prompt: int
    kind: str
    canvas: str
    bits: str
    quantiles: tuple[float, ...]
    ids: tuple[tuple[int, ...], ...]
    logits: tuple[tuple[float, ...], ...]
    error: float


@dataclass(frozen=True)
class DecodedRow:
    """A decode of a prompt. near: positions and candidates at a tie or near-tie, by step. reward: of the final text."""

    prompt: int
    strategy: str
    tokens: tuple[int, ...]
    commit_step: tuple[int, ...]
    near: tuple[int, ...]
    reward: float | None


@dataclass(frozen=True)
class ScoredText:
    """The raw reward of a fixed text: the prompt and the answer, as numbers of `Digest.prompts`."""

    prompt: int
    answer: int
    reward: float


@dataclass(frozen=True, repr=False)
class Digest:
    """What a model is and what it gave on a machine, as `check_digest` makes it.

    machine: versions, device, dtype and the like. prompts: text, or ids; prompt_ids: of each. logits, decodes, rewards:
    what came out. reward_model: its name; reward_error: by how much rounding may change a reward. words: the text of
    each token id that is held here. `save` and `load_digest` keep every bit.
    """

    machine: dict[str, Fact]
    checkpoint: CheckpointPrint
    tokenizer: TokenizerPrint | None
    template: TemplatePrint | None
    end_of_text: EndOfTextPrint
    prompts: tuple[str | tuple[int, ...], ...]
    prompt_ids: tuple[tuple[int, ...], ...]
    length: int
    steps: int
    block: int
    decodes: tuple[DecodedRow, ...]
    logits: tuple[CanvasLogits, ...]
    reward_model: str | None
    reward_error: float
    rewards: tuple[ScoredText, ...]
    words: dict[str, str]

    def __post_init__(self) -> None:
        if not 0 < self.steps <= self.length <= _LONGEST or not 0 < len(self.prompts) <= _PROMPTS:
            raise ValueError(f"at most {_PROMPTS} prompts and {_LONGEST} steps and tokens are read")
        shape, rows = Shape(self.length, self.steps, self.block), range(len(self.prompts))
        for decoded in self.decodes:
            whole = len(decoded.tokens) == len(decoded.commit_step) == shape.length
            ran = all(0 <= step < len(decoded.near) for step in decoded.commit_step)
            if not (whole and ran and decoded.prompt in rows):
                raise ValueError("a decode does not fit the prompts, the length or the steps")
        if len(self.prompt_ids) != len(self.prompts):
            raise ValueError("prompt_ids and prompts are not as many")
        if len(self.end_of_text.cuts) != 2 + len(self.end_of_text.ends):
            raise ValueError("cuts are one for no special token, for each of the ends and for the padding")
        if any(each.prompt not in rows for each in self.logits):
            raise ValueError("logits are of a prompt that is not there")
        for each in self.logits:
            if len(each.ids) != len(each.logits) or [*map(len, each.ids)] != [*map(len, each.logits)]:
                raise ValueError("logits and their ids are not as many")
        if any(each.prompt not in rows or each.answer not in rows for each in self.rewards):
            raise ValueError("rewards are of a prompt that is not there")

    @property
    def shape(self) -> Shape:
        """Return the shape of the answers."""
        return Shape(self.length, self.steps, self.block)

    @property
    def near_steps(self) -> float:
        """Return the share of all steps that have a tie or near-tie."""
        steps = [count > 0 for decoded in self.decodes for count in decoded.near]
        return sum(steps) / max(len(steps), 1)

    def __repr__(self) -> str:
        machine = self.machine
        where = f"on {machine.get('device')} in {machine.get('dtype')}"
        return clipped(f"Digest({self.checkpoint.name!r} {where}, {len(self.decodes)} decodes)")

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def __str__(self) -> str:
        """Say in some lines what the digest holds."""
        margins = [row[0] - row[1] for each in self.logits for row in each.logits if len(row) > 1]
        rewards = "no reward model" if self.reward_model is None else f"rewards of {self.reward_model}"
        lead = f"; the best token leads the next by at least {figures(min(margins))}" if margins else ""
        prompts = "1 prompt" if len(self.prompts) == 1 else f"{len(self.prompts)} prompts"
        lines = [
            f"{self.checkpoint.name}: {len(self.decodes)} decodes of {prompts}, {rewards}",
            f"  near-ties: {self.near_steps:.1%} of all steps",
            f"  logits: {len(self.logits)} canvases{lead}",
            *(f"  {name}: {value}" for name, value in self.machine.items() if value is not None),
        ]
        return "\n".join(map(printable, lines))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the digest as JSON, atomically, and return the path; equal digests give equal bytes."""
        lines = (f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in self.as_data().items())
        return write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")

    def as_data(self) -> dict[str, Any]:
        """Return what JSON holds."""
        return {"digest": FORMAT} | asdict(self)


def load_digest(path: str | os.PathLike[str]) -> Digest:
    """Read a digest that `Digest.save` wrote; all of it is checked, and nothing in it is run.

    FileNotFoundError for a missing file; ValueError, naming the file, for one that is damaged, none, or of a newer
    format.
    """
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"no digest at {path}")
    try:
        with file.open("rb") as stream:
            content = stream.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise ValueError(f"it has more than {_LARGEST} bytes")
        data = parse_json(content.decode("utf-8"))
        if not isinstance(data, dict) or type(data.get("digest")) is not int:
            raise ValueError("it is not what `check -o` writes")
        if data["digest"] != FORMAT:
            update = "; update this package" if data["digest"] > FORMAT else ""
            raise ValueError(f"it is of format {str(data['digest'])[:20]}, and format {FORMAT} is read here{update}")
        return _read(Digest, {key: value for key, value in data.items() if key != "digest"}, "digest")
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{path} cannot be read as a digest: {' '.join(str(error).split())[:300]}") from None


def _read(kind: Any, value: Any, name: str) -> Any:
    """Return a value of JSON as a dataclass, tuple, dict, number, text or a union; ValueError for another type."""
    union = isinstance(kind, UnionType)
    for each in get_args(kind) if union else (kind,):
        plain = get_origin(each) or each
        if is_dataclass(each) and type(value) is dict:
            hints = get_type_hints(each)
            if missing := [key for key in hints if key not in value]:
                raise ValueError(f"{name} has no {missing[0]}")
            if unknown := [key for key in value if key not in hints]:
                raise ValueError(f"{name} has {str(unknown[0])[:40]!r}, which is unknown")
            return plain(**{key: _read(hint, value[key], key) for key, hint in hints.items()})
        if plain is tuple and type(value) is list:
            return tuple(_read(get_args(each)[0], part, name) for part in value)
        if plain is dict and type(value) is dict:
            return {_read(str, key, name): _read(get_args(each)[1], part, name) for key, part in value.items()}
        # A number without a point is no float in a union, so that what is written is what is read.
        if each is float and type(value) in ((float,) if union else (int, float)) and math.isfinite(float(value)):
            return float(value)
        if each is int and type(value) is int and -(2**63) <= value < 2**63:
            return value
        if each is str and type(value) is str and value.encode("utf-8") is not None:  # refuses surrogates
            return value
        if each in (bool, NoneType) and type(value) is each:
            return value
    needed = " or ".join(map(_called, get_args(kind) if union else (kind,)))
    raise ValueError(f"{name} is {str(value)[:40]!r}: {needed} is needed")


def _called(kind: Any) -> str:
    plain = get_origin(kind) or kind
    names = {tuple: "list", NoneType: "null", dict: "object"}
    return "object" if is_dataclass(kind) else names.get(plain, str(getattr(plain, "__name__", plain)))
