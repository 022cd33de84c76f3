"""Generated programs run under bubblewrap, within limits, against checks that they cannot reach; and HumanEval."""

from __future__ import annotations

from paper_figures.sandbox.bubblewrap import Limits, check_bubblewrap
from paper_figures.sandbox.run import STATUSES, Execution, Status, execute

__all__ = ["STATUSES", "Execution", "Limits", "Status", "check_bubblewrap", "execute"]
