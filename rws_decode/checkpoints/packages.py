"""Published networks in packages of the Python index, and a table: which there are, and their files as a directory.

Nothing of a package is imported: its files are read where its metadata says that it is installed. Its weights are
opened only if their SHA-256 is the one in packages.json. The extra that offers `unpacked` then keeps them as
safetensors in a folder of the user's cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

from rws_decode.common.files import read_json

REQUIREMENTS = Path(__file__).with_name("packages.txt")
DIGESTS = "digests.json"  # SHA-256 of the files beside it


@dataclass(frozen=True)
class Packaged:
    """A network or a table in a package: its name here, and what pip knows it by.

    files: those of the checkpoint, by their paths below the place where packages are installed, with the SHA-256 of
    each. size: bytes of the package. about: what it is for. kind: "model", "reward" or "causal".
    """

    name: str
    package: str
    version: str
    licence: str
    size: int
    about: str
    files: Mapping[str, str]
    kind: str = "model"


PACKAGED: dict[str, Packaged] = {
    entry["name"]: Packaged(**entry) for entry in read_json(REQUIREMENTS.with_suffix(".json"))
}
PEPTIDES = PACKAGED.pop("humanness")  # a table, no network


def packaged(kind: str) -> dict[str, Packaged]:
    """Return the networks of a kind by name: "model" or "causal"."""
    return {name: entry for name, entry in PACKAGED.items() if entry.kind == kind}


def install_command() -> str:
    """Return the command that installs these packages, at their versions and with pip's own hashes."""
    return f"python -m pip install --no-deps --require-hashes -r {REQUIREMENTS}"


def distribution_of(argument: str, entry: Packaged) -> Distribution:
    """Return the installed package, from its metadata alone; ValueError where it is absent or of another version."""
    found = next(iter(distributions(name=entry.package)), None)
    if found is None or found.version != entry.version:
        state = "none" if found is None else found.version
        needed = f"{entry.package}=={entry.version} is needed, and {state} is installed"
        raise ValueError(f"{argument} is {entry.name!r}: {needed}; run {install_command()}")
    return found


def is_installed(entry: Packaged) -> bool:
    """Return whether a package is here, at its version."""
    return [found.version for found in distributions(name=entry.package)][:1] == [entry.version]


@contextmanager
def quiet(progress: bool) -> Iterator[None]:
    """Leave out what transformers logs as it loads, as errors say the same in one line; its bar unless `progress`."""
    from transformers.utils import logging

    level, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    if not progress:
        logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bar:
            logging.enable_progress_bar()
