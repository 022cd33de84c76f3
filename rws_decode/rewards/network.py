"""What reward models share that read token ids with a network of transformers, and any sequence classifier as one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from rws_decode.common.reward_facts import Normalised, parameters_of
from rws_decode.common.threads import torch_threads
from rws_decode.rewards.templates import Template, text_encoder
from rws_decode.text.dialogue import Dialogue, as_dialogue, check_text
from rws_decode.text.prompt_ids import encoded


class NetworkReward(Normalised):
    """A network, its tokenizer, the layout of its texts, and the normalisation of its scores.

    encode: prompt, answer -> token ids (`templates.text_encoder`), laid out as `template` says. batch_size: texts that
    are read at once. `max_length`: the longest text that is read, in tokens. ValueError as in `Normalised`.
    """

    reads_turns = True

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        encode: Callable[[str | Dialogue, str], list[int]],
        *,
        mean: float,
        std: float,
        name: str = "reward",
        template: Template,
        batch_size: int = 32,
    ) -> None:
        super().__init__(name, mean, std, head_bounds(model))
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.encode = encode
        self.template: Template = template
        self.batch_size = batch_size
        limits = (getattr(model.config, "max_position_embeddings", None), tokenizer.model_max_length)
        self.max_length = min(limit for limit in limits if limit is not None)
        self.network = f", {parameters_of(model)}, {template} text"

    def score(self, prompts: Sequence[str | Dialogue], answers: Sequence[str]) -> list[float]:
        """Return the raw score of each pair; up to rounding, a batch has the scores of its pairs alone.

        ValueError for a pair that is longer than the model reads: nothing is cut off.
        """
        return self.score_ids([self.ids(*pair) for pair in zip(prompts, answers, strict=True)])

    def score_ids(self, texts: Sequence[list[int]]) -> list[float]:
        """Return the raw score of each text by its token ids, read in batches."""
        scores: list[float] = []
        for start in range(0, len(texts), self.batch_size):
            with torch_threads(), torch.inference_mode():
                scores += self.read(texts[start : start + self.batch_size]).double().tolist()
        return scores

    def read(self, texts: Sequence[list[int]]) -> Tensor:
        """Return the raw scores [B] of a batch of texts by their token ids; not needed where `score` is overridden."""
        raise NotImplementedError

    def ids(self, prompt: str | Dialogue, answer: str) -> list[int]:
        """Return the token ids of a pair; ValueError for none, or more than the model reads: nothing is cut off."""
        ids = self.encode(prompt, answer)
        self.check_length(len(ids))
        return ids

    def check_length(self, tokens: int) -> None:
        """Raise ValueError unless the model reads a text of so many tokens."""
        if not 0 < tokens <= self.max_length:
            raise ValueError(
                f"prompt and answer make {tokens} tokens: reward model {self.name} reads 1 to {self.max_length}"
            )


def check_one_output(name: str, model: Any) -> None:
    """Raise ValueError, naming the reward model, unless its network has one output."""
    if model.config.num_labels != 1:
        raise ValueError(f"reward model {name} has {model.config.num_labels} outputs: 1 is needed")


class SequenceClassifierReward(NetworkReward):
    """A transformers sequence classifier with one output (num_labels 1): the raw score is its logit, no sigmoid.

    The tokenizer reads prompt and answer as a pair, e.g. [CLS] prompt [SEP] answer [EOS]. A dialogue is read as its
    plain text, and a special token's name as text. Batches are padded on the right with an attention mask; without a
    padding token, texts are read one by one. options: as in `NetworkReward`. ValueError for other outputs.
    """

    reads_turns = False

    def __init__(self, model: Any, tokenizer: Any, *, name: str = "reward", **options: Any) -> None:
        check_one_output(name, model)
        super().__init__(model, tokenizer, text_encoder(name, tokenizer, "pair"), name=name, template="pair", **options)

    def score(self, prompts: Sequence[str | Dialogue], answers: Sequence[str]) -> list[float]:
        """Return the logit of each pair; ValueError for a pair that is longer than the model reads."""
        scores: list[float] = []
        size = 1 if self.tokenizer.pad_token_id is None else self.batch_size
        for start in range(0, len(prompts), size):
            texts = [as_dialogue(prompt).text for prompt in prompts[start : start + size]]
            replies = [check_text("answer", answer) for answer in answers[start : start + size]]
            options = {"padding": size > 1, "padding_side": "right", "split_special_tokens": True}
            fields = encoded(self.tokenizer, texts, replies, **options, return_tensors="pt")
            self.check_length(fields["input_ids"].shape[1])
            with torch_threads(), torch.inference_mode():
                logits = self.model(**fields.to(self.model.device)).logits  # [batch, 1]
            scores += logits[:, 0].double().tolist()
        return scores


def hidden_states(model: Any, texts: Sequence[list[int]]) -> Tensor:
    """Return a causal network's last hidden states [B, L, h] of texts given by ids, read in one batch.

    Texts are filled up on the right. No token before the padding sees it, so any id will do, without a mask.
    """
    rows = [torch.tensor(ids, device=model.device) for ids in texts]
    padded = nn.utils.rnn.pad_sequence(rows, batch_first=True)
    return model.base_model(input_ids=padded, use_cache=False).last_hidden_state


# Norms whose output is weight * x / sqrt(mean(x^2) + eps), and so at most sqrt(d) long before the weight.
_RMS_NORMS = ("LlamaRMSNorm", "MistralRMSNorm", "Qwen2RMSNorm", "Qwen3RMSNorm")


@torch_threads()
def head_bounds(model: Any) -> tuple[float, float] | None:
    """Return (low, high) between which every score of a one-output classifier lies; None if no bounds are known.

    They follow from the normalisation before the head (docs/theory.md, eq. (T57)). Known are ModernBERT's head
    (LayerNorm), Llama's, Mistral's and Qwen's (RMSNorm), and BERT's pooler (tanh). Guarantee: for the weights as they
    are, with the rounding of their dtype outside, sums taken in float32 at least.

    >>> from transformers import BertConfig, BertForSequenceClassification
    >>> config = BertConfig(vocab_size=8, hidden_size=4, num_hidden_layers=1, num_attention_heads=1, num_labels=1)
    >>> model = BertForSequenceClassification(config)
    >>> low, high = head_bounds(model)
    >>> low < 0 < high < 1
    True
    """
    linear = getattr(model, "classifier", None) or getattr(model, "score", None)
    if not isinstance(linear, nn.Linear) or linear.out_features != 1:
        return None
    weight = linear.weight[0].detach().double()
    offset = 0.0 if linear.bias is None else float(linear.bias[0].detach())
    kind = type(model).__name__
    if kind == "BertForSequenceClassification":
        return _around(offset, float(weight.abs().sum()), linear.weight)
    if kind == "ModernBertForSequenceClassification":
        norm = model.head.norm
    else:
        norm = getattr(model.base_model, "norm", None)
        if norm is None or type(norm).__name__ not in _RMS_NORMS:
            return None
    scaled = weight * norm.weight.detach().double()
    if isinstance(norm, nn.LayerNorm):
        if norm.bias is not None:
            offset += float(weight @ norm.bias.detach().double())
        scaled = scaled - scaled.mean()
    return _around(offset, float(scaled.norm()) * math.sqrt(len(scaled)), linear.weight)


def _around(centre: float, reach: float, weight: Tensor) -> tuple[float, float]:
    # Terms are rounded to the dtype a few times each, and at most len(weight) of them summed in float32.
    rounding = 8 * torch.finfo(weight.dtype).eps + (weight.numel() + 32) * torch.finfo(torch.float32).eps
    reach += 4 * rounding * (reach + abs(centre) + float(weight.detach().abs().max()))
    return centre - reach, centre + reach
