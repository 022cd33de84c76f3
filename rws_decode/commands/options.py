"""Options that several commands share: the models, the prompt, and the shape of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rws_decode.checkpoints.files import locate_model, shipped
from rws_decode.checkpoints.packages import PACKAGED
from rws_decode.cli.options import fixed, group, option
from rws_decode.cli.progress import tell
from rws_decode.common import plugins
from rws_decode.common.files import parse_json
from rws_decode.common.threads import MOST_THREADS
from rws_decode.rewards.base import OWN_REWARDS
from rws_decode.rewards.registry import SHIPPED, check_reward_name
from rws_decode.settings import Shape
from rws_decode.text.dialogue import masks_in

if TYPE_CHECKING:
    from rws_decode.predictors.loading import LoadedPredictor
    from rws_decode.rewards import RewardModel

_USUAL = Shape()
_UNNAMED = 0.1  # share of tokens without a word, as fill up an embedding, that no note is made of

# Help of the options whose types and defaults are those of `rws_decode.settings`.
SHAPE = {
    "length": "answer tokens; a multiple of --block",
    "steps": "forwards; a multiple of the number of blocks",
    "block": "tokens per block",
}
COUNTS = "tokens of each step, in place of --steps and --block"
GUIDANCE = "scale of classifier-free guidance; 0 for none"
END_OF_TEXT = (
    "end-of-text tokens: leave them, never commit them, or only when nothing else in the block is masked (defer; "
    "defer-published: as the code of LLaDA's flag has it)"
)


def threads_option() -> Any:
    """Declare the number of PyTorch's threads."""
    about = "PyTorch threads (default: 1); another number may be faster and change last digits"
    return option(None, about, least=1, most=MOST_THREADS)


@dataclass(frozen=True)
class LoadingOptions:
    """Where and how a mask predictor is loaded."""

    device: str = option("cpu", "cpu, cuda, ...")
    dtype: str | None = option(
        None, "of the weights (default: float32; bfloat16 for LLaDA and its like on CUDA)", metavar="NAME"
    )
    device_map: str | None = option(None, "placement by transformers, e.g. auto, instead of --device", metavar="MAP")
    revision: str | None = option(None, "of a model on the hub", metavar="COMMIT")
    chat: bool | None = option(
        None, "read the text of a prompt as a message of the model's chat template, or not (default: as the model says)"
    )
    adapter: str | None = option(None, "LoRA of the model, as peft writes it, unmerged", metavar="DIR")

    def load(self, model: str, mask_id: int | None = None) -> LoadedPredictor:
        """Load a mask predictor; mask_id: its mask token, for a model that does not name it."""
        from rws_decode.predictors import load_predictor

        return load_predictor(model, mask_id=mask_id, progress=_is_large(model), **vars(self))


@dataclass(frozen=True)
class PredictorOptions:
    """The mask predictor."""

    model: str = option(
        "mini", "mask predictor: a name that the command models lists, directory or hub id", metavar="NAME"
    )
    mask_id: int | None = option(None, "mask token, for a model that does not name its own")
    loading: LoadingOptions = group(LoadingOptions)

    def __post_init__(self) -> None:
        if self.model not in plugins.names("rws.predictors"):
            locate_model(self.model)

    def load(self) -> LoadedPredictor:
        """Load the mask predictor, and say on standard error if many of its tokens have no word."""
        predictor = self.loading.load(self.model, self.mask_id)
        _note_unnamed_tokens(predictor)
        return predictor


@dataclass(frozen=True)
class RewardOptions:
    """The reward model."""

    reward: str | None = option(
        None,
        "reward model: a name that the command models lists (keywords:WORD,... and species:NAME too), directory, hub "
        "id, or MODULE:NAME, yours (default: the model's usual one where one is needed)",
        metavar="NAME",
    )
    reward_device: str | None = option(None, "of the reward model (default: --device)", metavar="NAME")
    reward_dtype: str = option("float32", "of the weights of the reward model", metavar="NAME")
    reward_revision: str | None = option(None, "of a reward model on the hub", metavar="COMMIT")
    reward_statistics: str | None = option(
        None, "mean and SD of the reward, as calibrate writes them (default: beside the weights)", metavar="FILE"
    )

    usual_of: str = fixed("")  # the model whose usual reward it is, where none was given

    def __post_init__(self) -> None:
        if self.reward is not None:
            check_reward_name(self.reward)

    def needed(self, model: str, what: str) -> RewardOptions:
        """Return the options, with the usual reward of the model where none is given; ValueError where it has none."""
        if self.reward is not None:
            return self
        if model not in OWN_REWARDS:
            call = "--reward MODULE:NAME, yours, or one that the command models lists"
            raise ValueError(f"--reward is missing: {what} needs it, and {model} has none of its own; give {call}")
        return replace(self, reward=OWN_REWARDS[model][0], usual_of=model)

    def load(self, device: str, mean: float | None = None, std: float | None = None) -> RewardModel:
        """Load the reward model, onto `device` unless --reward-device names another; ValueError if none is named."""
        from rws_decode.rewards import load_reward

        if self.reward is None:
            raise ValueError("--reward is missing: name a reward model")
        if self.usual_of:
            tell(f"note: --reward is not given: it is {self.reward}, the usual reward of {self.usual_of}")
        return load_reward(
            self.reward,
            self.reward_device or device,
            dtype=self.reward_dtype,
            revision=self.reward_revision,
            statistics=self.reward_statistics,
            mean=mean,
            std=std,
            progress=_is_large(self.reward),
        )


def shape_help(usual: Shape) -> dict[str, str]:
    """Return the help of `ShapeOptions`; usual: the shape after a prompt without gaps."""
    shape = {
        "length": f"{usual.length}; in gaps their masks",
        "steps": "two tokens a step",
        "block": "at most 32, a divisor of --length; gaps are one block",
    }
    help = {name: f"{text} (default: {shape[name]})" for name, text in SHAPE.items()}
    return help | {"counts": COUNTS}


@dataclass(frozen=True)
class ShapeOptions:
    """The shape of the answer, as far as it is given."""

    length: int | None = None
    steps: int | None = None
    block: int | None = None
    counts: tuple[int, ...] | None = None

    def make(self, prompt: str | Sequence[int], mask_id: int = -1, usual: Shape = _USUAL) -> Shape:
        """Return the shape, by default `usual`, and that of a prompt's gaps where it has some; ValueError if none fits.

        What is not given follows from what is, as in `settings.Shape`.
        """
        masks = masks_in(prompt) if isinstance(prompt, str) else list(prompt).count(mask_id)
        if masks and self.length not in (None, masks):
            raise ValueError(f"--length is {self.length}: the gaps of the prompt have length {masks}, leave it out")
        given: dict[str, Any] = {name: value for name, value in vars(self).items() if value is not None}
        if self.counts is not None:
            given.setdefault("length", masks or sum(self.counts))
            return Shape(**given)
        if masks:
            usual = Shape(masks, block=masks if self.block is None else self.block)
            return usual if self.steps is None else replace(usual, steps=self.steps)
        if "length" in given or "block" in given or usual == _USUAL:
            return Shape(**{"length": usual.length, **given})
        return replace(usual, **given) if given else usual


@dataclass(frozen=True)
class PromptOptions:
    """The prompt, named in one of four ways."""

    prompt: str | None = option(None, "the prompt", metavar="TEXT")
    infill: str | None = option(None, "a text with gaps to fill, each [MASK:n] of n tokens", metavar="TEXT")
    input_ids: str | None = option(None, "the prompt as a JSON list of token ids, used as they are", metavar="JSON")
    example: int | None = option(None, "the N-th held-out prompt of the model, from 0")

    def __post_init__(self) -> None:
        if self.input_ids is not None:
            parse_token_ids(self.input_ids)
        if self.infill is not None and not masks_in(self.infill):
            raise ValueError(f"--infill is {self.infill!r}: a gap is needed, such as [MASK:3]")

    @property
    def text(self) -> str | None:
        """Return the text that is given, None for ids and examples."""
        return self.prompt if self.infill is None else self.infill

    def read(self, predictor: LoadedPredictor) -> str | list[int]:
        """Return the prompt as `decode` takes it; ValueError for an example that the model does not have."""
        if self.input_ids is not None:
            return parse_token_ids(self.input_ids)
        if self.text is not None:
            return self.text
        examples = predictor.examples
        if self.example is None or not 0 <= self.example < len(examples):
            number, name = len(examples), predictor.name
            known = f"{number} examples, choose 0 to {number - 1}" if number > 1 else "1 example, choose 0"
            if not number:
                known = "no examples, give --prompt TEXT or --input-ids JSON"
            raise ValueError(f"--example is {self.example}: {name} ships {known}")
        return examples[self.example]["prompt"]


def _is_large(name: str) -> bool:
    """Return whether a model may take long to load; the shipped ones do not."""
    return name not in {*shipped("ForMaskedLM"), *SHIPPED, *PACKAGED}


def parse_token_ids(text: str, option: str = "--input-ids") -> list[int]:
    """Return the ids of a JSON list; ValueError, naming the option, for anything else."""
    try:
        ids = parse_json(text)
    except ValueError as error:
        raise ValueError(f"{option} is {text!r}: not JSON ({error})") from error
    if not isinstance(ids, list) or any(type(token) is not int for token in ids):
        raise ValueError(f"{option} is {text!r}: a JSON list of whole numbers is needed")
    return ids


def _note_unnamed_tokens(predictor: LoadedPredictor) -> None:
    """Say on standard error if more tokens are without a word than those that fill up an embedding."""
    unnamed, tokens = len(predictor.forbidden_ids), predictor.vocab_size
    if hasattr(predictor, "alphabet"):
        return  # these have names, and stand in no sequence
    if unnamed > _UNNAMED * tokens:
        tell(
            f"note: {unnamed} of the {tokens} tokens of {predictor.name} have no word in its tokenizer and are never "
            "written"
        )
