"""A backoff chain as a few small arrays, and back: the content of the file of an n-gram model."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rws_theory.worlds.backoff import Backoff, Floats, Ints, Level
from rws_theory.worlds.ngram import NGram
from rws_theory.worlds.tilts import no_tilt

__all__ = ["pack", "unpack", "world_of"]


def pack(chain: Backoff) -> dict[str, NDArray[np.generic]]:
    """Return the arrays that determine a chain: the share of each listed n-gram, as float32, and its place.

    unigram [V], float64; and by length n of the state: states_n, the arc of the level below that leads to each state (n
    > 1); arcs_n, how many arcs each state has; word_n and share_n of each arc.
    """
    arrays: dict[str, NDArray[np.generic]] = {"unigram": chain.unigram}
    for below, level in zip((None, *chain.levels), chain.levels, strict=False):
        if below is not None:
            arc = np.flatnonzero(below.target >= level.first)  # arcs that lead to a longer state
            order = np.argsort(below.target[arc], kind="stable")
            arrays[f"states_{level.length}"] = _small(arc[order])
        arrays[f"arcs_{level.length}"] = _small(np.diff(level.begin))
        arrays[f"word_{level.length}"] = _small(level.word)
        arrays[f"share_{level.length}"] = level.share.astype(np.float32)
    return arrays


def unpack(arrays: Mapping[str, NDArray[np.generic]]) -> Backoff:
    """Return the chain of packed arrays; the probabilities of each state sum to 1 within rounding.

    ValueError for arrays that do not fit each other.
    """
    try:
        top = sum(name.startswith("arcs_") for name in arrays)
        names = {f"{part}_{length}" for length in range(1, top + 1) for part in ("arcs", "word", "share")}
        names |= {"unigram", *(f"states_{length}" for length in range(2, top + 1))}
        if odd := sorted(names.symmetric_difference(arrays)):
            raise ValueError(f"{', '.join(odd)}: there and not needed, or needed and not there")
        if odd := [name for name in names if arrays[name].ndim != 1 or arrays[name].dtype.kind not in "uif"]:
            raise ValueError(f"{odd[0]} is no list of numbers")
        unigram = np.asarray(arrays["unigram"], dtype=np.float64)
        leads = [_whole(arrays[f"states_{length}"]) for length in range(2, top + 1)]
        firsts = np.cumsum([0, unigram.size, *(lead.size for lead in leads)])
        levels: list[Level] = []
        for length in range(1, top + 1):
            fields = (_whole(arrays[f"arcs_{length}"]), _whole(arrays[f"word_{length}"]))
            share = np.asarray(arrays[f"share_{length}"], dtype=np.float64)
            levels.append(_level(length, *fields, share, unigram, levels, leads, firsts))
        last = [np.arange(unigram.size), *(level.word[lead] for level, lead in zip(levels, leads, strict=False))]
    except (KeyError, IndexError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"arrays are not those of `pack`: they do not fit each other ({reason})") from error
    order = top + 1 if levels[0].word.size else 1
    return Backoff(order, unigram, tuple(levels), np.concatenate(last))


def world_of(arrays: Mapping[str, NDArray[np.generic]]) -> NGram:
    """Return the n-gram model of packed arrays; ValueError as in `unpack`."""
    chain = unpack(arrays)
    return NGram(chain, no_tilt(chain.vocabulary))


def _level(
    length: int,
    arcs: Ints,
    word: Ints,
    share: Floats,
    unigram: Floats,
    levels: list[Level],
    leads: list[Ints],
    firsts: Ints,
) -> Level:
    vocabulary, count = unigram.size, int(firsts[length] - firsts[length - 1])
    if arcs.size != count or not word.size == share.size == arcs.sum() or not (word < vocabulary).all():
        raise ValueError(f"level {length}")
    source = np.repeat(np.arange(count), arcs)
    kept = 1.0 - np.asarray(np.bincount(source, weights=share, minlength=count), dtype=np.float64)
    if not ((share >= 0).all() and (kept >= 0).all()):
        raise ValueError(f"shares of level {length} are no probabilities")
    if length == 1:
        suffix, lower = np.full(count, firsts[-1]), word
        below, target = unigram[word], word
    else:
        # An arc leads to the state; the same word leads from the shorter state one level down to its suffix.
        down, lead = levels[-1], leads[length - 2]
        suffix = down.word[lead] if length == 2 else levels[-2].target[down.lower[lead]]
        lower = _arc_of(down, suffix[source] - down.first, word, vocabulary)
        below, target = down.full[lower], down.target[lower]
    leading = np.arange(word.size) if length - 1 < len(leads) else np.zeros(0, np.int64)
    if leading.size:
        target = target.copy()
        target[leads[length - 1]] = firsts[length] + np.arange(leads[length - 1].size)
    begin = np.concatenate([[0], np.cumsum(arcs)])
    full = share + kept[source] * below
    return Level(length, int(firsts[length - 1]), suffix, kept, begin, word, share, full, target, lower)


def _arc_of(level: Level, state: Ints, word: Ints, vocabulary: int) -> Ints:
    """Return the arcs of some words at some states of a level, counted within it; IndexError for one that is not."""
    keys = level.source * vocabulary + level.word
    arc = np.searchsorted(keys, state * vocabulary + word)
    if not np.array_equal(keys[np.minimum(arc, keys.size - 1)], state * vocabulary + word):
        raise IndexError("an n-gram is listed whose last words are not")
    return arc


def _small(numbers: Ints) -> NDArray[np.generic]:
    return numbers.astype(np.uint16 if not numbers.size or numbers.max() < 2**16 else np.uint32)


def _whole(numbers: NDArray[np.generic]) -> Ints:
    return np.asarray(numbers).astype(np.int64)
