"""From the host to the device without waiting."""

from __future__ import annotations

import torch
from torch import Tensor


def sent(host: Tensor, device: torch.device) -> Tensor:
    """Return a tensor of the host on the device; nobody waits for what runs there.

    >>> sent(torch.tensor([1, 2]), torch.device("cpu")).tolist()
    [1, 2]
    """
    # From ordinary memory a copy waits until the device has come so far.
    return host.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else host.to(device)
