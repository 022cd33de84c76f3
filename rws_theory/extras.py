"""Name the package to install if a library is absent that only a part of this package needs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# The name that is imported, and the extra of pyproject.toml that brings it.
_DECODE = ("huggingface_hub", "pandas", "pyarrow", "safetensors", "tokenizers", "torch", "transformers")
EXTRAS = {
    **dict.fromkeys(_DECODE, "decode"),
    **dict.fromkeys(("PIL", "jinja2", "markupsafe", "matplotlib"), "figures"),
    "accelerate": "multi-gpu",
    "datasets": "benchmarks",
    "distributed": "cluster",
    "gguf": "gguf",
    "hypothesis": "hypothesis",
    "lm_eval": "eval",
    "openai": "judge",
    "peft": "lora",
    "rdkit": "chemistry",
    "triton": "gpu",
}


def not_installed(package: str) -> str:
    """Return the line that names an absent package and the command that installs it, by its extra if it is of EXTRAS.

    >>> not_installed("torch")
    'the package torch is not installed; run pip install "rws-toolkit[decode]"'
    """
    extra = f"[{EXTRAS[package]}]" if package in EXTRAS else ""
    return f'the package {package} is not installed; run pip install "rws-toolkit{extra}"'


def required(package: str, what: str) -> Any:
    """Import and return a package of EXTRAS; `what` asks for it, and begins the message where it is absent.

    ValueError in one line (`not_installed`) where it is absent; one that is there and broken raises its own error.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise ValueError(f"{what}: {not_installed(package)}") from error
