"""Several processes that a launcher started, and prompts of your own decoded by all of them together.

With this as `mine.py`, `accelerate launch --num_processes 4 mine.py` decodes on four GPUs, and `python mine.py` on one:

    from accelerate import PartialState
    from rws_decode import RWS, load_predictor, load_reward
    from rws_decode.decode import decode
    from rws_decode.distributed import decode_distributed

    state = PartialState()
    predictor, reward = (load("mini", state.device) for load in (load_predictor, load_reward))
    prompts = [example["prompt"] for example in predictor.examples[:8]]
    traces = decode_distributed(lambda own: decode(predictor, own, RWS(8.0), reward=reward), prompts)
    if state.is_main_process:
        print(*(trace.text for trace in traces), sep="\\n")

Without a GPU it is `PartialState(cpu=True)` and `accelerate launch --multi_gpu --num_processes 2 mine.py`: `--cpu`
starts one process where there is no MPI.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rws_decode.trace import Trace

__all__ = ["Place", "decode_distributed", "launched"]

# The slowest share may take this much longer than the quickest; a process that ends is noticed at once.
_PATIENCE = timedelta(days=7)


class Place(NamedTuple):
    """Which of `size` processes this is, from 0, and which of those on its machine."""

    rank: int
    local: int
    size: int


def launched(environment: Mapping[str, str] | None = None) -> Place | None:
    """Return this process's place among those of a launcher; None where it is the only one.

    >>> launched({"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "4", "MASTER_ADDR": "gpu0", "MASTER_PORT": "29500"})
    Place(rank=3, local=1, size=4)
    """
    found = os.environ if environment is None else environment
    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    if any(name not in found for name in names) or int(found["WORLD_SIZE"]) == 1:
        return None
    return Place(*(int(found[name]) for name in names[:3]))


def decode_distributed(
    decode: Callable[..., Iterable[Trace]], prompts: Sequence[Any], *columns: Sequence[Any]
) -> list[Trace]:
    """Return a trace per prompt, in order and in every process, each process having decoded its share.

    decode: called with this process's share, every N-th prompt of N processes, and the same places of `columns` (seeds,
    say), not at all where that is none; it returns a trace per prompt. Every process must call this with the same
    prompts. Where this process is the only one, it decodes all.

    A process whose `decode` raises raises that; the others raise RuntimeError with its message, and none waits in vain.
    ValueError for columns of another length, or another number of traces than of prompts.

    >>> from rws_decode import Confidence, load_predictor
    >>> from rws_decode.decode import decode
    >>> predictor = load_predictor("mini")
    >>> shape = {"length": 4, "steps": 2, "block": 4}
    >>> prompts = ["write a short science story with meteor .", "write a short story ."]
    >>> traces = decode_distributed(lambda own: decode(predictor, own, Confidence(), **shape), prompts)
    >>> [trace.prompt_text for trace in traces] == prompts
    True
    """
    lengths = [len(column) for column in (prompts, *columns)]
    if len(set(lengths)) > 1:
        raise ValueError(f"columns are {lengths[1:]} long: one entry per prompt, {lengths[0]}, is needed")
    place = launched()
    if place is None:
        return _share(decode, range(len(prompts)), prompts, *columns)
    from torch import distributed

    if not distributed.is_initialized():
        distributed.init_process_group("gloo", timeout=_PATIENCE)
    # Traces are on the CPU, and the group that the processes of GPUs have waits for ten minutes at most.
    group: Any = distributed.new_group(backend="gloo", timeout=_PATIENCE)
    traces, failure = [], None
    try:
        traces = _share(decode, range(place.rank, len(prompts), place.size), prompts, *columns)
    except Exception as error:
        failure = error
    told = None if failure is None else f"process {place.rank} failed: {type(failure).__name__}: {failure}"
    gathered: list[Any] = [None] * place.size
    distributed.all_gather_object(gathered, (told, traces), group=group)
    distributed.destroy_process_group(group)
    if failure is not None:
        raise failure
    for problem, _ in gathered:
        if problem is not None:
            raise RuntimeError(problem)
    return [gathered[number % place.size][1][number // place.size] for number in range(len(prompts))]


def _share(decode: Callable[..., Iterable[Trace]], places: range, *columns: Sequence[Any]) -> list[Trace]:
    if not places:
        return []
    traces = list(decode(*([column[place] for place in places] for column in columns)))
    if len(traces) != len(places):
        raise ValueError(f"decode returned {len(traces)} traces for {len(places)} prompts")
    return traces
