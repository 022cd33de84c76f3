"""Command line: `python -m rws_theory COMMAND`, one module per command, imported when its command is called."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rws_theory.commands.line import Command, run_line

DESCRIPTION = "Mathematics of logit scaling in masked diffusion decoding."

COMMANDS: dict[str, Command] = {
    "claims": Command("rws_theory.commands.claims", "check the paper's statements and give a verdict on each"),
    "crossings": Command(
        "rws_theory.commands.crossings", "find the scales at which two positions swap the order of their confidences"
    ),
    "path": Command(
        "rws_theory.commands.path", "list the k most confident positions at every scale of a range, with proof"
    ),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status (`rws_theory.commands.exits.ended`)."""
    return run_line("python -m rws_theory", DESCRIPTION, COMMANDS, argv)


if __name__ == "__main__":
    sys.exit(main())
