"""Hypothesis strategies of what the decoder works on: shapes of decodes, exact models, logits of any dtype, texts.

Those of numbers alone are in :mod:`rws_theory.testing`. Needs Hypothesis: `pip install "rws-toolkit[hypothesis]"`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from rws_decode.extra.testing.exact import exact_predictor
from rws_decode.extra.testing.networks import WORDS
from rws_decode.predictors.callable import CallablePredictor
from rws_decode.settings import Shape
from rws_theory.extras import not_installed
from rws_theory.worlds.joint_table import JointTable

try:
    from hypothesis import strategies as st

    from rws_theory.testing import random_chain, random_table
except ModuleNotFoundError as error:
    if error.name != "hypothesis":
        raise
    raise ModuleNotFoundError(f"{__name__}: {not_installed('hypothesis')}", name="hypothesis") from None

_DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


@st.composite
def shapes(draw: st.DrawFn, length: int | None = None, max_length: int = 12) -> Shape:
    """Shapes of decodes: blocks of one size, any number of steps that fits. length: of the answer, where it is given.

    >>> from hypothesis import find
    >>> shape = find(shapes(), lambda shape: shape.length > shape.block > 1 and shape.steps < shape.length)
    >>> shape.length % shape.block, shape.steps % (shape.length // shape.block)
    (0, 0)
    """
    length = draw(st.integers(1, max_length)) if length is None else length
    block = draw(st.sampled_from([size for size in range(1, length + 1) if length % size == 0]))
    steps = draw(st.sampled_from(range(length // block, length + 1, length // block)))
    return Shape(length=length, steps=steps, block=block)


@st.composite
def mask_predictors(draw: st.DrawFn) -> tuple[CallablePredictor, int]:
    """Small mask predictors whose logits are known as floats, and the length of their answers.

    Joint tables, some the same in any order of the positions, and Markov chains, with exact conditionals; and tables of
    pairs of positions in multiples of 1/4, where ties and crossings abound. Prompts are empty.

    >>> from hypothesis import given, settings
    >>> from rws_decode import decode
    >>> @settings(derandomize=True, deadline=None, max_examples=20)
    ... @given(st.data())
    ... def test_a_step_commits_what_its_shape_says(data):
    ...     predictor, length = data.draw(mask_predictors())
    ...     shape = data.draw(shapes(length))
    ...     (trace,) = decode(predictor, [[]], "default", shape)
    ...     assert trace.chosen.sum(axis=1).tolist() == [step.commits for step in shape.plan]
    >>> test_a_step_commits_what_its_shape_says()
    """
    kind = draw(st.sampled_from(["table", "symmetric", "chain", "coarse"]))
    seed, words = draw(st.integers(0, 2**32)), draw(st.integers(2, 3))
    length = draw(st.integers(2, 5 if kind != "coarse" else 6))
    if kind == "chain":
        return exact_predictor(random_chain(seed, words)), length
    if kind != "coarse":
        table = random_table(seed, length, words)
        if kind == "symmetric":  # the same whatever the order of the positions
            log_p = np.array([table.log_p[tuple(sorted(x))] for x in np.ndindex(table.log_p.shape)])
            table = JointTable(log_p.reshape(table.log_p.shape))
        return exact_predictor(table), length
    rng = np.random.default_rng(seed)
    weight = torch.from_numpy(rng.integers(-4, 5, size=(length, words + 1, length, words + 1)) / 4.0)
    if draw(st.booleans()):
        weight[...] = weight[0, :, 0][:, None][None]  # all positions are alike
    weight[..., words] = -torch.inf

    def logits(canvas: Tensor) -> Tensor:
        return torch.stack([weight[torch.arange(length), row].sum(dim=0) for row in canvas])

    return CallablePredictor(
        logits, mask_id=words, vocab_size=words + 1, encode=lambda text: [], decode=lambda ids: " ".join(map(str, ids))
    ), length


@st.composite
def logit_tensors(draw: st.DrawFn, dtypes: Sequence[torch.dtype] = _DTYPES, max_size: int = 150) -> Tensor:
    """Logits [1 or 2, V] in one of the dtypes: tied, large, forbidden (-inf), one finite logit in each row at least.

    >>> from hypothesis import given, settings
    >>> @settings(derandomize=True, deadline=None)
    ... @given(logit_tensors())
    ... def test_softmax_is_a_distribution(logits):
    ...     assert (logits.double().softmax(-1).sum(-1) - 1).abs().max() < 1e-12
    >>> test_softmax_is_a_distribution()
    """
    entries = st.one_of(st.floats(-30, 30, width=16), st.sampled_from([0.0, 1.0, 1.5, -torch.inf, 3e4, -3e4, 2.0**-14]))
    width, count = draw(st.integers(1, max_size)), draw(st.integers(1, 2))
    few = draw(st.lists(entries, min_size=1, max_size=8))
    rows = [draw(st.lists(st.sampled_from(few), min_size=width, max_size=width)) for _ in range(count)]
    logits = torch.tensor(rows, dtype=draw(st.sampled_from(list(dtypes))))
    logits[(logits == -torch.inf).all(dim=1), draw(st.integers(0, width - 1))] = -2.5
    return logits


@st.composite
def edited_texts(draw: st.DrawFn, words: Sequence[str] = WORDS) -> list[str]:
    """A text and its successors: other words, cut, grown, changed at the first word, or the same again.

    They are what a reward model sees of one answer, step by step: a cache of what was read must not change its scores.

    >>> from hypothesis import find
    >>> texts = find(edited_texts(("so",)), lambda texts: len(texts) == 3 and texts[1] != texts[2])
    >>> {word for text in texts for word in text.split()}
    {'so'}
    """
    text = draw(st.lists(st.sampled_from(words), min_size=1, max_size=12))
    versions = [list(text)]
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(["replace", "first", "cut", "grow", "same", "empty"]))
        word = draw(st.sampled_from(words))
        if kind == "replace" and text:
            text[draw(st.integers(0, len(text) - 1))] = word
        elif kind == "first" and text:
            text[0] = word
        elif kind == "cut":
            text = text[: draw(st.integers(0, len(text)))]
        elif kind == "grow":
            text = text + draw(st.lists(st.sampled_from(words), min_size=1, max_size=8))
        elif kind == "empty":
            text = []
        versions.append(list(text))
    return [" ".join(version) for version in versions]
