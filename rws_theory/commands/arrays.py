"""Arrays on the command line: read from .npy files without ever unpickling, and errors that show what was given."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray


def read_npy(text: str, name: str) -> NDArray[np.generic]:
    """Array in the .npy file at path `text`; ValueError names the argument and says what would be right."""
    if not text.endswith(".npy"):
        raise ValueError(f"{name} must be the path of a .npy file, got {shown(text)}")
    try:
        if os.path.exists(text) and not os.path.isfile(text):
            raise ValueError("no regular file")  # a pipe would be waited for
        with open(text, "rb") as file:
            return np.lib.format.read_array(file, allow_pickle=False)  # unlike np.load: never an archive or a pickle
    except Exception as error:  # NumPy passes on what its tokenizer of a header raises, which is of many kinds
        reason = " ".join(str(error).split())
        raise ValueError(f"{name} must be a readable .npy file of numbers, got {shown(text)}: {reason}") from None


def shown(text: str) -> str:
    """Argument `text` as an error message quotes it, cut after 60 characters."""
    return repr(text if len(text) <= 60 else text[:57] + "...")
