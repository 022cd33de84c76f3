"""Muon in float32.

`torch.optim.Muon` orthogonalises in bfloat16, which a CPU without bfloat16 units runs some fifty times slower than
float32; the update here is the same (Jordan 2024), in the parameters' own precision.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn


def orthogonalise(matrix: Tensor, steps: int = 5) -> Tensor:
    """Return an approximately orthogonal matrix with the singular vectors of `matrix`, by quintic Newton-Schulz steps.

    Singular values end in about [0.7, 1.2] (Jordan 2024); the iteration is on the smaller side's Gram matrix.

    >>> q = orthogonalise(torch.diag(torch.tensor([3.0, 1.0])))
    >>> bool(((q.diagonal() > 0.6) & (q.diagonal() < 1.3)).all())
    True
    """
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if tall else x


class Muon(torch.optim.Optimizer):
    """Momentum, orthogonalised per matrix; the step's root mean square matches AdamW's (Liu et al. 2025)."""

    def __init__(self, params: Iterable[nn.Parameter], lr: float, momentum: float = 0.95, weight_decay: float = 0.02):
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                if "buffer" not in state:
                    state["buffer"] = torch.zeros_like(parameter)
                buffer = state["buffer"].lerp_(parameter.grad, 1 - group["momentum"])
                update = orthogonalise(parameter.grad.lerp(buffer, group["momentum"]))
                scale = 0.2 * max(parameter.shape) ** 0.5
                parameter.mul_(1 - group["lr"] * group["weight_decay"]).add_(update, alpha=-group["lr"] * scale)
