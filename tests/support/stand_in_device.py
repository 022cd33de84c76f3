"""A second device on a machine that has but one: tensors that are computed on the CPU and refuse to meet its own.

Inside `stand_in()` the device "meta" holds numbers, and an operation that mixes it with a tensor of the CPU raises
`MixedDevices`, but for what PyTorch allows between devices: copies, numbers without dimension, indices on the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

DEVICE = "meta"
_COPIES = ("aten::copy_", "aten::_to_copy")
_INDEXED = ("aten::index.Tensor", "aten::index_put", "aten::index_put_")


class MixedDevices(Exception):
    pass


class Elsewhere(Tensor):
    """A tensor of the stand-in; `numbers` has what it holds."""

    numbers: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, numbers: Tensor) -> Elsewhere:
        tensor = Tensor._make_wrapper_subclass(
            cls, numbers.shape, strides=numbers.stride(), dtype=numbers.dtype, device=DEVICE, requires_grad=False
        )
        tensor.numbers = numbers
        return tensor

    def tolist(self) -> Any:
        return self.numbers.tolist()

    def numpy(self, *, force: bool = False) -> Any:
        assert force, "a copy to the host is asked for by force"
        return self.numbers.numpy()

    @classmethod
    def __torch_dispatch__(cls, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(operation, args, kwargs or {})


class _Dispatch(TorchDispatchMode):
    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(operation, args, kwargs or {})


class _Made(TorchFunctionMode):
    """What would make an empty tensor of "meta" before anything is dispatched: torch.tensor, and lists as indices."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        if function in (torch.tensor, torch.as_tensor) and _is_elsewhere(named.get("device")):
            return function(*args, **(named | {"device": "cpu"})).to(DEVICE)
        if function in (Tensor.__getitem__, Tensor.__setitem__) and isinstance(args[1], tuple):
            index = (torch.tensor(part, dtype=torch.int64) if isinstance(part, list) else part for part in args[1])
            args = (args[0], tuple(index), *args[2:])
        return function(*args, **named)


def _is_elsewhere(device: Any) -> bool:
    return device is not None and torch.device(device).type == DEVICE


def _elsewhere(value: Any) -> Any:
    return Elsewhere(value) if isinstance(value, Tensor) and value.device.type != DEVICE else value


def _run(operation: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    devices = set()

    def plain(value: Any) -> Any:
        if isinstance(value, Tensor) and (value.dim() or isinstance(value, Elsewhere)):
            devices.add(isinstance(value, Elsewhere))
        if isinstance(value, Tensor) and not isinstance(value, Elsewhere) and value.device.type == DEVICE:
            raise MixedDevices(f"{operation.name()} was given a tensor that holds nothing")
        return value.numbers if isinstance(value, Elsewhere) else value

    if operation.name() in _INDEXED and isinstance(args[0], Elsewhere):
        args = (args[0], tree_map(_elsewhere, args[1]), *args[2:])
    bare, named = tree_map(plain, (args, kwargs))
    if len(devices) == 2 and not operation.name().startswith(_COPIES):
        raise MixedDevices(operation.name())
    device = kwargs.get("device")
    elsewhere = True in devices if device is None else _is_elsewhere(device)
    result = operation(*bare, **(named if device is None else named | {"device": "cpu"}))
    if operation._schema.is_mutable and isinstance(result, Tensor):
        return kwargs.get("out", args[0])  # in place: what it holds has changed
    return tree_map(_elsewhere, result) if elsewhere else result


@contextmanager
def stand_in() -> Iterator[None]:
    """Let "meta" hold numbers, in this thread."""
    with pytest.MonkeyPatch.context() as patch, _Dispatch(), _Made():
        patch.setattr(torch, "inference_mode", lambda mode=True: torch.no_grad())
        yield


def move(model: nn.Module) -> None:
    for module in model.modules():
        for table in (module._parameters, module._buffers):
            for name, value in table.items():
                if value is not None:
                    moved = Elsewhere(value.detach())
                    table[name] = nn.Parameter(moved, requires_grad=False) if table is module._parameters else moved
