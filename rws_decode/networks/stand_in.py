"""A network of ours and its tokenizer in the place of transformers' own, until somebody asks for these; its size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn


class StandIn:
    """What computes, `network` and `codec`, and transformers' model and tokenizer, `model` and `tokenizer`.

    network, codec: transformers' own, or those of `networks.standalone.Standalone`. originals: then loads
    transformers' own, when `model` or `tokenizer` is first asked for. From there on they are what computes, so that
    what is done to them counts; the bits of results stay the same.
    """

    def __init__(self, network: Any, codec: Any, originals: Callable[[], tuple[Any, Any]] | None = None) -> None:
        self._originals = originals
        self._take(network, codec)

    @property
    def model(self) -> Any:
        """Return the model of transformers."""
        self._ask_for_originals()
        return self.network

    @property
    def tokenizer(self) -> Any:
        """Return the tokenizer of transformers, None without one."""
        self._ask_for_originals()
        return self.codec

    def _ask_for_originals(self) -> None:
        if self._originals is not None:
            network, codec = self._originals()
            self._originals = None
            self._take(network, codec)

    def _take(self, network: Any, codec: Any) -> None:
        self.network = network.eval()
        self.codec = codec


def parameters_of(model: nn.Module) -> str:
    """Return the number of a network's parameters in three digits; tied ones count once.

    >>> parameters_of(nn.Linear(1000, 1200)), parameters_of(nn.Linear(2, 3))
    ('1.2M parameters', '9 parameters')
    """
    count = float(sum(parameter.numel() for parameter in model.parameters()))
    for unit in ("", "k", "M", "B"):
        if count < 999.5 or unit == "B":
            break
        count /= 1000
    return f"{count:.3g}{unit} parameters" if count < 999.5 else f"{count:,.0f}{unit} parameters"
