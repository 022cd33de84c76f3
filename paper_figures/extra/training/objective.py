"""The tokenizer of the story language, how a task becomes a row of tokens, and the masked diffusion objective."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from torch import Tensor
from torch.nn import functional as F
from transformers import ModernBertForMaskedLM, PreTrainedTokenizerFast

if TYPE_CHECKING:
    from paper_figures.extra.story_tasks import Task

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[EOS]")


def special_id(tokenizer: PreTrainedTokenizerFast, name: Literal["pad", "cls", "sep", "mask", "eos"]) -> int:
    """Return the id of a special token that every tokenizer of this package has.

    >>> special_id(story_tokenizer(), "mask")
    4
    """
    token = getattr(tokenizer, f"{name}_token_id")
    assert isinstance(token, int)
    return token


def story_tokenizer() -> PreTrainedTokenizerFast:
    """Build the tokenizer: one id per word, `[CLS] prompt [SEP]` alone, `[CLS] prompt [SEP] answer [EOS]` as a pair.

    >>> tok = story_tokenizer()
    >>> tok.convert_ids_to_tokens(tok("Write a short science story.")["input_ids"])
    ['[CLS]', 'write', 'a', 'short', 'science', 'story', '.', '[SEP]']
    """
    from paper_figures.extra.story_tasks import prompt_vocabulary
    from rws_decode.extra.stories.grammar import TEMPLATES
    from rws_decode.extra.stories.lexicon import words

    literal = [
        word for group in TEMPLATES.values() for template in group for word in template.split() if word[0] != "{"
    ]
    pronouns = "she he her his him it them was were".split()
    classes = [word for group in words().values() for word in group]
    vocabulary = list(dict.fromkeys([*SPECIAL, *prompt_vocabulary(), *literal, *pronouns, *classes]))
    core = Tokenizer(models.WordLevel({word: i for i, word in enumerate(vocabulary)}, unk_token="[UNK]"))
    core.normalizer = normalizers.Lowercase()
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex("[.,:?]"), "isolated")]
    )
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B [EOS]",
        special_tokens=[(token, vocabulary.index(token)) for token in ("[CLS]", "[SEP]", "[EOS]")],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        eos_token="[EOS]",
        model_max_length=512,
        clean_up_tokenization_spaces=False,
    )


def encode_tasks(tasks: list[Task], tokenizer: PreTrainedTokenizerFast) -> tuple[Tensor, Tensor, Tensor]:
    """Return ids (B, L), where the answer canvas is (B, L), and the attention mask (B, L).

    The canvas of `task.length` tokens holds the answer and end-of-text up to its end.

    ValueError where an answer leaves no place for an end-of-text token.
    """
    rows, spans = [], []
    for task in tasks:
        prompt = tokenizer(task.prompt)["input_ids"]
        answer = tokenizer(task.answer, add_special_tokens=False)["input_ids"]
        if len(answer) >= task.length:
            raise ValueError(f"length is {task.length}; an answer of {len(answer)} tokens needs {len(answer) + 1}")
        fill = [tokenizer.eos_token_id] * (task.length - len(answer))
        rows.append(prompt + answer + fill)
        spans.append((len(prompt), len(prompt) + task.length))
    width = max(map(len, rows))
    ids = torch.full((len(rows), width), special_id(tokenizer, "pad"))
    canvas, attend = (torch.zeros(len(rows), width, dtype=torch.bool) for _ in range(2))
    for i, (row, (start, stop)) in enumerate(zip(rows, spans, strict=True)):
        ids[i, : len(row)] = torch.tensor(row)
        canvas[i, start:stop] = True
        attend[i, : len(row)] = True
    return ids, canvas, attend


def masked_loss(
    model: ModernBertForMaskedLM,
    ids: Tensor,
    canvas: Tensor,
    attend: Tensor,
    rate: Tensor,
    mask_id: int,
    generator: torch.Generator,
    weighted: bool,
) -> tuple[Tensor, Tensor]:
    """Return the loss (nats per answer token if weighted, else per masked token) and masked accuracy.

    Args:
        rate: mask rate of each row (B,), in (0, 1].
        weighted: 1/t weights over the whole answer (the diffusion objective), else the plain mean over masked tokens.
    """
    masked = canvas & (torch.rand(ids.shape, generator=generator) < rate[:, None])
    if not bool(masked.any()):
        masked = canvas
    losses, accuracy = _losses(model, ids, attend, masked, mask_id)
    if not weighted:
        return losses.mean(), accuracy
    weight = (1.0 / rate)[:, None].expand_as(ids)[masked]
    return (losses * weight).sum() / canvas.sum(), accuracy


def decoding_loss(
    model: ModernBertForMaskedLM,
    ids: Tensor,
    canvas: Tensor,
    attend: Tensor,
    masked: Tensor,
    rate: Tensor,
    mask_id: int,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor]:
    """Return the mean of two losses, and accuracy: even rows by the diffusion objective, odd rows masked by `masked`.

    One forward for both. Odd rows weigh every masked token alike.
    """
    uniform = canvas & (torch.rand(ids.shape, generator=generator) < rate[:, None])
    odd = (torch.arange(len(ids)) % 2 == 1)[:, None].expand_as(ids)
    both = torch.where(odd, masked, uniform)
    losses, accuracy = _losses(model, ids, attend, both, mask_id)
    from_odd = odd[both]
    weight = (1.0 / rate)[:, None].expand_as(ids)[both]
    objective = (losses * weight)[~from_odd].sum() / (canvas & ~odd).sum()
    return (objective + losses[from_odd].sum() / from_odd.sum().clamp(min=1)) / 2, accuracy


def decoding_masks(ids: Tensor, canvas: Tensor, end_id: int, block: int, rng: np.random.Generator) -> Tensor:
    """Return masks (B, L) as block-wise decoding meets them: earlier blocks shown, later ones masked.

    In the current block, sampled uniformly, tokens are masked at a uniform rate, and of its end-of-text tokens the last
    few, a uniform number, are shown: confident and alike, they are committed first.
    """
    masked = torch.zeros_like(canvas)
    for row, answer in enumerate(canvas):
        positions = answer.nonzero()[:, 0].numpy()
        start = block * int(rng.integers(-(-len(positions) // block)))
        current = positions[start : start + block]
        hidden = rng.random(len(current)) < rng.uniform(1 / block, 1.0)
        ends = int((ids[row, current] == end_id).sum())
        if ends:
            hidden[len(current) - int(rng.integers(ends + 1)) :] = False
        masked[row, current[hidden]] = True
        masked[row, positions[start + block :]] = True
    return masked


def _losses(
    model: ModernBertForMaskedLM, ids: Tensor, attend: Tensor, masked: Tensor, mask_id: int
) -> tuple[Tensor, Tensor]:
    inputs = ids.masked_fill(masked, mask_id)
    hidden = model.model(inputs, attention_mask=None if bool(attend.all()) else attend).last_hidden_state
    logits = model.decoder(model.head(hidden[masked]))
    accuracy = (logits.argmax(-1) == ids[masked]).float().mean()
    return F.cross_entropy(logits.float(), ids[masked], reduction="none"), accuracy


def mask_rates(step: int, curriculum: tuple[int, int], batch: int, rng: np.random.Generator) -> tuple[Tensor, bool]:
    """Return the rows' mask rates, stratified over the batch, and whether the true objective applies.

    Rates are 5 to 55 % up to the curriculum's first step, their upper end grows to 1 up to its second.
    """
    first, second = curriculum
    strata = (rng.permutation(batch) + rng.random(batch)) / batch
    if step >= second:
        return torch.tensor(1.0 - strata * (1.0 - 1.0 / 64), dtype=torch.float32), True
    upper = 0.55 + 0.45 * max(0.0, (step - first) / (second - first))
    return torch.tensor(0.05 + strata * (upper - 0.05), dtype=torch.float32), False
