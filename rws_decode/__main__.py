"""Command line: `python -m rws_decode COMMAND`, one module per command, imported when its command is called."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rws_theory.commands.line import Command, run_line

DESCRIPTION = "Decode text with masked diffusion language models."

COMMANDS: dict[str, Command] = {
    "generate": Command("rws_decode.commands.generate", "decode the answer to one prompt"),
    "compare": Command("rws_decode.commands.compare", "decode one prompt by several strategies, side by side"),
    "strategies": Command("rws_decode.commands.strategies", "say what each strategy does, in a line"),
    "models": Command("rws_decode.commands.models", "list the models that can be named, and how to have each"),
    "presets": Command("rws_decode.commands.presets", "say what published loops set, and where it is printed"),
    "scale-path": Command(
        "rws_decode.commands.scale_path",
        "list every output of any constant factor, or any reward scale, for one prompt",
    ),
    "replay": Command("rws_decode.commands.replay", "repeat a run from its trace and say where it differs"),
    "diff": Command("rws_decode.commands.diff", "say from their traces where two runs part, and why"),
    "check": Command("rws_decode.commands.check", "say whether a model answers alike elsewhere, or what differs"),
    "fragility": Command("rws_decode.commands.fragility", "say which answers, and which score, hinge on a near-tie"),
    "import": Command("rws_decode.commands.import_", "make traces of the step maps that a serving engine returns"),
    "view": Command("rws_decode.commands.view", "write a page to scrub, or an animated picture, of a run or of two"),
    "convert": Command(
        "rws_decode.commands.convert", "write a LLaDA, Dream or A2D checkpoint under transformers' names"
    ),
}

# Installed packages add commands by entry points of this group: see `rws_decode.commands`.
GROUP = "rws_decode.commands"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status (`rws_theory.commands.exits.ended`)."""
    return run_line("python -m rws_decode", DESCRIPTION, COMMANDS, argv, group=GROUP)


if __name__ == "__main__":
    sys.exit(main())
