"""Replies on disk, addressed by what was asked: no reply is paid for twice."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from paper_figures.judging.verdicts import Reply
from paper_figures.runner.digests import digest
from rws_decode.common.files import read_json, write_json


class CacheWarning(UserWarning):
    """A file of the cache that cannot be used; its reply is asked for again."""


def request_key(endpoint: str, body: Mapping[str, Any], attempt: int) -> str:
    """Return the SHA-256 that a reply is stored under: of the endpoint, the request's body and the attempt alone.

    Neither the version of this package nor the key is in it. The same body sent again as a repeat is another attempt.

    >>> request_key("http://localhost/v1", {"model": "judge", "messages": []}, 0)[:12]
    '0fd7a454573b'
    """
    return digest({"endpoint": endpoint, "body": dict(body), "attempt": attempt})


@dataclass(frozen=True)
class ReplyCache:
    """A folder with one small JSON file per reply, FOLDER/ab/<hash>.json, written whole or not at all.

    The file holds the reply and where it is from, not the texts that were compared.
    """

    folder: Path

    def path(self, key: str) -> Path:
        """Return where the reply of this key is kept."""
        return self.folder / key[:2] / f"{key}.json"

    def read(self, key: str) -> Reply | None:
        """Return the stored reply, None where there is none; a broken file is none either, with a CacheWarning."""
        path = self.path(key)
        try:
            return _reply(read_json(path), key)
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError) as error:
            warnings.warn(f"{path}: {error}; its verdict is asked again", CacheWarning, stacklevel=2)
            return None

    def write(self, key: str, reply: Reply, *, endpoint: str, model: str, attempt: int) -> None:
        """Store a reply; OSError where the file system refuses."""
        about = {"key": key, "endpoint": endpoint, "asked": model, "attempt": attempt}
        write_json(self.path(key), {**about, "reply": asdict(reply)})


def cache_in(folder: str | os.PathLike[str]) -> ReplyCache:
    """Return the cache in a folder, which need not be there yet; ValueError for a file."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise ValueError(f"cache is {folder}: a file; a directory is needed")
    return ReplyCache(path)


def _reply(record: Any, key: str) -> Reply:
    if not isinstance(record, dict) or record.get("key") != key or not isinstance(record.get("reply"), dict):
        raise ValueError("not the record of this reply")
    reply = record["reply"]
    counts = [reply.get("tokens_in"), reply.get("tokens_out")]
    seconds = reply.get("seconds")
    if (
        not isinstance(reply.get("raw"), str)
        or not isinstance(reply.get("model"), str)
        or not isinstance(reply.get("finish"), str | None)
        or any(count is not None and (type(count) is not int or count < 0) for count in counts)
        or type(seconds) not in (int, float)
        or not math.isfinite(seconds)
    ):
        raise ValueError("the record of a reply is incomplete")
    return Reply(reply["raw"], reply["model"], reply.get("finish"), counts[0], counts[1], float(seconds))
