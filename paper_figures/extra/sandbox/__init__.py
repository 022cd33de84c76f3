"""Generated programs run under bubblewrap, within limits, against checks that they cannot reach; and HumanEval."""

from __future__ import annotations

from paper_figures.extra.sandbox.bubblewrap import Limits, check_bubblewrap
from paper_figures.extra.sandbox.completion import humaneval_prompt, program_of
from paper_figures.extra.sandbox.programs import EXECUTE, program_settings, run_programs
from paper_figures.extra.sandbox.run import STATUSES, Execution, Status, execute

__all__ = [
    "EXECUTE",
    "STATUSES",
    "Execution",
    "Limits",
    "Status",
    "check_bubblewrap",
    "execute",
    "humaneval_prompt",
    "program_of",
    "program_settings",
    "run_programs",
]
