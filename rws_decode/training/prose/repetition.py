"""Against loops: unlikelihood of the model's own repetitions (Welleck et al. 2020, sequence level), for mask predictors.

A small mask predictor under greedy decoding writes "and vice president and vice president". The model decodes
training prompts; in what it wrote, every token that completed a pair of adjacent tokens already present is
guilty; and on the canvas where it was committed its probability p is pushed down by the loss -log(1 - p).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import BertForMaskedLM

from rws_decode.training.prose.decode import decode
from rws_decode.training.prose.windows import EOS, MASK


def guilty_places(tokens: Sequence[int], committed: Sequence[int]) -> list[int]:
    """Places whose token completed a repeated pair, rising; `committed[i]` is the step that wrote token i, -1 in the prompt.

    A pair of adjacent tokens is complete when the later of the two is committed. Of equal pairs the first complete
    one is innocent; in each other one the later token (the right one of two committed together) is guilty. A token
    beside its own copy is guilty at once. Pairs inside the prompt and pairs with [EOS] are never guilty.

    >>> guilty_places([6, 7, 8, 6, 7], [-1, -1, 0, 2, 1])
    [3]
    >>> guilty_places([6, 7, 7], [-1, 0, 1])
    [2]
    """
    pairs = sorted(
        (max(committed[i], committed[i + 1]), i) for i in range(len(tokens) - 1) if EOS not in (tokens[i], tokens[i + 1])
    )
    seen: set[tuple[int, int]] = set()
    guilty: set[int] = set()
    for step, i in pairs:
        pair = (tokens[i], tokens[i + 1])
        if step >= 0 and (pair in seen or pair[0] == pair[1]):
            guilty.add(i + 1 if committed[i + 1] >= committed[i] else i)
        seen.add(pair)
    return sorted(guilty)


def repetition_loss(
    model: BertForMaskedLM, prompts: Tensor, generator: torch.Generator, *, per_step: int = 4, canvases: int = 4,
) -> Tensor:
    """Mean -log(1 - p) (nats) over guilty tokens of the model's own answers to `prompts` (rows, n); 0 where there is none.

    At most `canvases` commit steps are drawn per row. Decoding runs without gradient and leaves the model in training mode.
    """
    answers, steps = decode(model, prompts, per_step=per_step)
    model.train()
    rows, start = prompts.shape
    states: list[Tensor] = []
    places: list[tuple[int, int]] = []
    written: list[int] = []
    for row in range(rows):
        tokens = torch.cat([prompts[row], answers[row]])
        committed = torch.cat([torch.full((start,), -1), steps[row]])
        guilty = guilty_places(tokens.tolist(), committed.tolist())
        moments = sorted({int(committed[i]) for i in guilty})
        chosen = torch.randperm(len(moments), generator=generator)[:canvases].tolist()
        for moment in (moments[c] for c in chosen):
            here = [i for i in guilty if int(committed[i]) == moment]
            places.extend((len(states), i) for i in here)
            written.extend(int(tokens[i]) for i in here)
            states.append(tokens.masked_fill(committed >= moment, MASK))
    if not states:
        return torch.zeros(())
    where = torch.tensor(places)
    hidden = model.bert(torch.stack(states)).last_hidden_state[where[:, 0], where[:, 1]]
    logits = model.cls(hidden)
    others = logits.scatter(1, torch.tensor(written).unsqueeze(1), -torch.inf)
    # -log(1 - p) as a difference of two log-sum-exps: finite, with a gradient, however near p is to 1.
    return (logits.logsumexp(-1) - others.logsumexp(-1)).mean()
