"""What a digest says of the machine: versions, device, dtype, and what else may change the last digits."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.metadata import PackageNotFoundError, version
from typing import get_args

import torch

from rws_decode.check.digest import Fact
from rws_decode.check.fingerprints import stored_dtypes, weights_hash
from rws_decode.check.settings import Attention
from rws_decode.predictors.base import LogitsDtype, MaskPredictor
from rws_decode.predictors.masked_language_model import HFMaskPredictor
from rws_decode.rewards.base import RewardModel
from rws_decode.rewards.network import NetworkReward
from rws_theory import __version__
from rws_theory.checks import one_of

# Facts of the models that stand among those of the machine: old digests, which lack them, are still read.
STORED = "dtype of the checkpoint's files"
SCALE = "reward's mean and deviation"
REWARD_WEIGHTS = "hash of the reward's weights"


@contextmanager
def attending(attention: Attention) -> Iterator[None]:
    """Compute attention as PyTorch chooses, or by its plain form, "math"; ValueError for another word."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    one_of("attention", attention, get_args(Attention))
    with sdpa_kernel(SDPBackend.MATH) if attention == "math" else nullcontext():
        yield


def machine_facts(
    predictor: MaskPredictor, reward: RewardModel | None, attention: Attention, batch: int, threads: int
) -> dict[str, Fact]:
    """Return what is known of this machine and its settings, what a reader suspects first at the beginning."""
    device = predictor.device
    on_gpu = device.type == "cuda"
    facts: dict[str, Fact] = {
        "dtype": _name(predictor.logits_dtype) if isinstance(predictor, LogitsDtype) else None,
        STORED: stored_dtypes(predictor),
        "device": torch.cuda.get_device_name(device) if on_gpu else device.type,
        "attention": _attention(predictor, attention),
        "batch": batch,
        "threads": None if on_gpu else threads,
        "matmul precision": torch.get_float32_matmul_precision(),
        "CPU instructions": torch.backends.cpu.get_cpu_capability(),
        "reward's dtype": _name(next(reward.model.parameters()).dtype) if isinstance(reward, NetworkReward) else None,
        SCALE: None if reward is None else f"{reward.mean:.7g} and {reward.std:.7g}",
        REWARD_WEIGHTS: weights_hash(reward.model) if isinstance(reward, NetworkReward) else None,
        "PyTorch": torch.__version__,
        "CUDA": torch.version.cuda if on_gpu else None,
        "transformers": _version("transformers"),
        "NumPy": _version("numpy"),
        "Python": platform.python_version(),
        "rws-toolkit": __version__,
        "system": f"{platform.system()} {platform.machine()}",
    }
    return {name: fact for name, fact in facts.items() if fact is not None}


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _attention(predictor: MaskPredictor, attention: Attention) -> str | None:
    if not isinstance(predictor, HFMaskPredictor):
        return None
    chosen = getattr(predictor.model.config, "_attn_implementation", None)
    kernel = "plain kernel" if attention == "math" else "kernel chosen by PyTorch"
    return f"{chosen or 'sdpa'}, {kernel}"


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
