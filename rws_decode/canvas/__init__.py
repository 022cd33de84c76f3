"""What a decode starts from: prompts as ids, masks and padding, blocks and schedules, end of text, batches."""

from typing import Literal

__all__ = ["EndOfText", "Padding"]

# Here, as nothing in this file waits for PyTorch: options on the command line name them.
Padding = Literal["right", "left"]
EndOfText = Literal["none", "suppress", "defer", "defer-published"]
