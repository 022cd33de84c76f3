"""Execution of generated programs: limits, isolation, checks out of the program's reach, and HumanEval."""

from __future__ import annotations

from paper_figures.sandbox.isolation import ISOLATIONS, Isolation, Limits, available_isolations
from paper_figures.sandbox.run import STATUSES, Execution, Status, execute

__all__ = ["ISOLATIONS", "STATUSES", "Execution", "Isolation", "Limits", "Status", "available_isolations", "execute"]
