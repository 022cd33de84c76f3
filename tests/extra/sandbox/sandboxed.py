"""Skip tests that run programs where bubblewrap does not work."""

import pytest

from paper_figures.extra.sandbox import check_bubblewrap


def _reason() -> str:
    try:
        check_bubblewrap()
    except ValueError as error:
        return str(error)
    return ""


needs_bubblewrap = pytest.mark.skipif(bool(_reason()), reason=f"bubblewrap: {_reason()}")
