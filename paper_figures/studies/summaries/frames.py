"""Data frames as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import pandas

__all__ = ["records"]


def records(frame: pandas.DataFrame) -> list[dict[str, Any]]:
    """Return a frame's rows, each as column name -> value; the names are text.

    >>> import pandas as pd
    >>> records(pd.DataFrame({"a": [1, 2]}))
    [{'a': 1}, {'a': 2}]
    """
    return cast("list[dict[str, Any]]", frame.to_dict("records"))
