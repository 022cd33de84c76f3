"""Options that commands which decode one prompt share."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rws_decode.predictors import HFMaskPredictor
    from rws_decode.rewards import RewardModel

from rws_decode.common.files import parse_json

__all__ = [
    "add_answer",
    "add_loading",
    "add_policies",
    "add_prompt",
    "add_reward_loading",
    "add_threads",
    "predictor_of",
    "prompt_of",
    "reward_of",
    "threads_of",
    "token_ids",
]

_NAMED = 8  # words at most


def add_prompt(parser: argparse.ArgumentParser) -> None:
    """Add the model and the three ways to name a prompt."""
    parser.add_argument("--model", default="mini", help="mask predictor: shipped name, directory or hub id (mini)")
    prompt = parser.add_mutually_exclusive_group(required=True)
    prompt.add_argument("--prompt", metavar="TEXT", help="the prompt")
    prompt.add_argument("--input-ids", metavar="JSON", help="the prompt as a JSON list of token ids, used as they are")
    prompt.add_argument("--example", type=int, metavar="N", help="the model's N-th held-out prompt, from 0")


def add_loading(parser: argparse.ArgumentParser, *, mask: bool = True) -> None:
    """Add where and how the mask predictor is loaded."""
    if mask:
        parser.add_argument("--mask-id", type=int, help="mask token, for a model that does not name its own")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, ... (cpu)")
    parser.add_argument(
        "--dtype", metavar="NAME", help="of the weights (float32; bfloat16 for LLaDA and Dream on a CUDA device)"
    )
    parser.add_argument("--device-map", metavar="MAP", help="transformers' placement, e.g. auto, in place of --device")
    parser.add_argument("--revision", metavar="COMMIT", help="of a model on the hub")
    parser.add_argument(
        "--chat",
        action=argparse.BooleanOptionalAction,
        help="read a prompt's text as a message of the model's chat template, or not (as the model says)",
    )


def add_reward_loading(parser: argparse.ArgumentParser) -> None:
    """Add where and how the reward model is loaded."""
    parser.add_argument("--reward", metavar="NAME", help="reward model: shipped name (exact too), directory or hub id")
    parser.add_argument("--reward-device", metavar="NAME", help="of the reward model (--device)")
    parser.add_argument("--reward-dtype", default="float32", metavar="NAME", help="of its weights (float32)")
    parser.add_argument("--reward-revision", metavar="COMMIT", help="of a reward model on the hub")


def predictor_of(args: argparse.Namespace, mask_id: int | None = None) -> HFMaskPredictor:
    """Load the mask predictor that the options name; mask_id: in place of theirs."""
    from rws_decode.predictors import load_predictor

    return load_predictor(
        args.model,
        args.device,
        mask_id=getattr(args, "mask_id", None) if mask_id is None else mask_id,
        dtype=args.dtype,
        device_map=args.device_map,
        revision=args.revision,
        chat=args.chat,
        progress=_is_large(args.model),
    )


def reward_of(args: argparse.Namespace) -> RewardModel:
    """Load the reward model that the options name."""
    from rws_decode.rewards import load_reward

    return load_reward(
        args.reward,
        args.reward_device or args.device,
        dtype=args.reward_dtype,
        revision=args.reward_revision,
        progress=_is_large(args.reward),
    )


def _is_large(name: str) -> bool:
    """Return whether a model may take long to load: the shipped ones do not."""
    from rws_decode.checkpoints.files import shipped
    from rws_decode.rewards.classifier import SHIPPED

    return name not in {*shipped("ForMaskedLM"), *SHIPPED}


def add_policies(parser: argparse.ArgumentParser) -> None:
    """Add guidance and the end-of-text policy."""
    parser.add_argument("--cfg", type=float, default=0.0, metavar="S", help="classifier-free guidance scale (0: none)")
    parser.add_argument(
        "--end-of-text",
        choices=["none", "suppress", "defer"],
        default="none",
        help="end-of-text tokens: as they come, never, or once nothing else in the block is masked (none)",
    )


def add_answer(parser: argparse.ArgumentParser) -> None:
    """Add the shape of the answer."""
    parser.add_argument("--length", type=int, default=64, help="answer tokens (64); a multiple of --block")
    parser.add_argument("--steps", type=int, default=32, help="forwards (32); a multiple of the number of blocks")
    parser.add_argument("--block", type=int, default=32, help="tokens per block (32)")


def add_threads(parser: argparse.ArgumentParser) -> None:
    """Add the number of PyTorch's threads; `threads_of` reads it."""
    parser.add_argument(
        "--threads", type=int, metavar="N", help="PyTorch threads (1); others may change last digits, and be faster"
    )


def threads_of(args: argparse.Namespace) -> int | None:
    """Return --threads for `torch_threads`; ValueError for a number below 1."""
    if args.threads is not None and args.threads < 1:
        raise ValueError(f"--threads is {args.threads}: at least 1 is needed")
    return args.threads


def token_ids(text: str) -> list[int]:
    """Return the ids of --input-ids; ValueError unless it is a JSON list of whole numbers."""
    try:
        ids = parse_json(text)
    except ValueError as error:
        raise ValueError(f"--input-ids is {text!r}: not JSON ({error})") from error
    if not isinstance(ids, list) or any(type(token) is not int for token in ids):
        raise ValueError(f"--input-ids is {text!r}: a JSON list of whole numbers is needed")
    return ids


def prompt_of(args: argparse.Namespace, predictor: HFMaskPredictor) -> str | list[int]:
    """Return the prompt that the options name; ValueError for ids that are none, or an example that is not there."""
    if args.input_ids is not None:
        return token_ids(args.input_ids)
    if args.prompt is not None:
        _note_unknown(predictor, args.prompt)
        return args.prompt
    examples = predictor.examples
    if not 0 <= args.example < len(examples):
        raise ValueError(f"--example is {args.example}: {predictor.name} ships {len(examples)} examples, from 0")
    return examples[args.example]["prompt"]


def _note_unknown(predictor: HFMaskPredictor, text: str) -> None:
    """Name on standard error the words of a prompt for which the model has no token but that of unknown words."""
    from rws_decode.predictors.prompts import plain_ids

    unknown = getattr(predictor.tokenizer, "unk_token_id", None)
    if unknown is None or unknown not in predictor.encode_prompt(text):
        return
    words = list(dict.fromkeys(word for word in text.split() if unknown in plain_ids(predictor.tokenizer, word)))
    named = " ".join(words[:_NAMED]) + (f" and {len(words) - _NAMED} more" if len(words) > _NAMED else "")
    print(f"note: {predictor.name} knows no such words and reads each as unknown: {named}", file=sys.stderr)
