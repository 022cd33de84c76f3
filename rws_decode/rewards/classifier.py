"""Any sequence classifier of transformers with one output as a reward model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from rws_decode.common.threads import torch_threads
from rws_decode.rewards.network import Frame, NetworkReward, check_one_output
from rws_decode.rewards.templates import pair_ids
from rws_decode.text.dialogue import Dialogue, as_dialogue, check_text


class SequenceClassifierReward(NetworkReward):
    """A transformers sequence classifier with one output (num_labels 1): the raw score is its logit, no sigmoid.

    The tokenizer reads prompt and answer as a pair, e.g. [CLS] prompt [SEP] answer [EOS]. A dialogue is read as its
    plain text, and a special token's name as text. Batches are padded on the right with an attention mask; without a
    padding token, texts are read one by one. options: as in `NetworkReward`. ValueError for other outputs.
    """

    reads_turns = False

    def __init__(self, model: Any, tokenizer: Any, *, name: str = "reward", **options: Any) -> None:
        check_one_output(name, model)
        super().__init__(model, tokenizer, self._pair, name=name, template="pair", **options)

    def _pair(self, prompt: str | Dialogue, answer: str) -> list[int]:
        return pair_ids(self.tokenizer, [prompt], [answer])[0]

    def score(self, prompts: Sequence[str | Dialogue], answers: Sequence[str]) -> list[float]:
        """Return the logit of each pair; ValueError for a pair that is longer than the model reads."""
        scores: list[float] = []
        size = 1 if self.tokenizer.pad_token_id is None else self.batch_size
        for start in range(0, len(prompts), size):
            texts = [as_dialogue(prompt).text for prompt in prompts[start : start + size]]
            said = [check_text("answer", answer) for answer in answers[start : start + size]]
            options = {"padding": size > 1, "padding_side": "right", "split_special_tokens": True}
            encoded = self.tokenizer(texts, said, **options, return_tensors="pt")
            self.check_length(encoded["input_ids"].shape[1])
            with torch_threads(), torch.inference_mode():
                logits = self.model(**encoded.to(self.model.device)).logits  # [batch, 1]
            scores += logits[:, 0].double().tolist()
        return scores

    def raw(self, prompt: str | Dialogue, frame: Frame, count: int) -> Tensor:
        """Return the logit of the frame's ids with its answer's token so many times."""
        text, begin = as_dialogue(prompt).text, frame.begin
        encoded = self.tokenizer([text], [frame.answer], split_special_tokens=True, return_tensors="pt")
        fields = {  # token types, too
            name: torch.cat([field[:, :begin], field[:, [begin] * count], field[:, begin + 1 :]], dim=1)
            for name, field in encoded.to(self.model.device).items()
        }
        return self.model(**fields).logits[0, 0]
