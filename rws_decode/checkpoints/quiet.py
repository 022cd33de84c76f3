"""What transformers prints while a checkpoint loads, left out."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet(progress: bool) -> Iterator[None]:
    """Leave out transformers' load report, since errors say the same in one line, and its bar unless `progress`."""
    from transformers.utils import logging as reports

    modules = ("modeling_utils", "utils.loading_report", "core_model_loading", "distributed.tensor_parallel")
    loggers = [logging.getLogger(f"transformers.{module}") for module in modules]
    levels = [logger.level for logger in loggers]
    bar = reports.is_progress_bar_enabled()
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    if not progress and bar:
        reports.disable_progress_bar()
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if not progress and bar:
            reports.enable_progress_bar()
