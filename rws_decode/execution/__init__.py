"""Execution of generated programs: limits, isolation, checks out of the program's reach, and HumanEval."""

from __future__ import annotations

from rws_decode.execution.isolation import ISOLATIONS, Isolation, Limits, available_isolations
from rws_decode.execution.run import STATUSES, Execution, Status, execute

__all__ = ["ISOLATIONS", "STATUSES", "Execution", "Isolation", "Limits", "Status", "available_isolations", "execute"]
