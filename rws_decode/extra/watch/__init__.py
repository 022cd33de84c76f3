"""Watch the inside of a network: its modules' tensors at each forward, by hooks of torch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

_LAYERS = r".*\.layers?\.\d+"  # of Llama's, Qwen's and ModernBERT's kind, and of BERT's


@contextmanager
def watch(predictor: Any, receive: Callable[[int, str, Tensor], object], modules: str = _LAYERS) -> Iterator[None]:
    """Call `receive(step, name, tensor)` with each output of some modules of the predictor's network.

    modules: a regular expression of whole names in `predictor.model.named_modules()`; if not given the layers, whose
    tensors are the hidden states [B, L, h] of the canvas. step: the forward, counted from 0, which is the step of a
    decode in one batch. A module that gives several tensors gives each under NAME[0], NAME[1], ... In LLaDA, Dream and
    A2D the modules "self_attn" give their output and, as NAME[1], the attention [B, heads, L, L]; in other networks of
    transformers they do where its attention is "eager".

    The tensors are the network's own: a change in place changes the decode. Without one, the tokens are those of a
    decode that is not watched, up to rounding in ModernBERT, such as mini, and in models that fill blocks, which then
    run the whole network. The compact decoder and CUDA graphs run no modules, and `Options.key_cache` is refused.
    ValueError for a predictor without a network of torch, and if no module has such a name.

    >>> from rws_decode import Shape, decode, load_predictor
    >>> mini, seen = load_predictor("mini"), []
    >>> with watch(mini, lambda step, name, tensor: seen.append((step, name, tuple(tensor.shape)))):
    ...     run = decode(mini, "a story", shape=Shape(4, 2, 4))
    >>> seen[0], len(seen)
    ((0, 'model.layers.0', (1, 8, 192)), 10)
    """
    network = getattr(predictor, "model", None)
    if not isinstance(network, nn.Module):
        raise ValueError(f"predictor is {predictor!r:.80}: it has no network of torch, load one such as 'mini'")
    watched = {name: module for name, module in network.named_modules() if re.fullmatch(modules, name)}
    if not watched:
        some = ", ".join([name for name, _ in network.named_modules() if name][:8])
        raise ValueError(f"modules is {modules!r:.80}: no module has such a name, as {some}, ... have")
    step = -1

    def begin(_module: nn.Module, _given: Any) -> None:
        nonlocal step
        step += 1

    def give(name: str, output: Any) -> None:
        if isinstance(output, Tensor):
            receive(step, name, output)
        elif isinstance(output, tuple):
            for number, each in enumerate(output):
                give(f"{name}[{number}]", each)

    hooks = [network.register_forward_pre_hook(begin)]
    hooks += [
        module.register_forward_hook(lambda _module, _given, made, name=name: give(name, made))
        for name, module in watched.items()
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
