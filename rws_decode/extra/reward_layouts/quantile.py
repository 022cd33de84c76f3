"""QRM (Dorka 2024): a reward model that predicts quantiles of several objectives, weighed by a gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from rws_decode.checkpoints.config import Config
from rws_decode.checkpoints.weights import Stored, refuse_other_layout, shapes_of
from rws_decode.extra.reward_layouts.tensors import model_of, read_tensor
from rws_decode.rewards.layouts import network_sizes
from rws_decode.rewards.network import NetworkReward, hidden_states
from rws_decode.rewards.templates import text_encoder

# Where the assistant's turn begins in Llama 3's chat template: the gate reads the first of these tokens.
_TURN = "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"


class QuantileHead(nn.Module):
    """The head of QRM (Dorka 2024): quantiles of several objectives, weighed by a gate that reads the prompt.

    score = g(h_gate)^T M^T mean_q(W h_last), g(h) = s softmax(f(h) / T): h_last, the last token's hidden state
    [hidden]; h_gate, that of the first token of the header before the answer; W [objectives * quantiles, hidden]; M
    [objectives, objectives]; f, `gating_n_hidden` layers of linear, ReLU, batch normalisation, and a linear one.
    Always in evaluation mode, in float32.
    """

    def __init__(
        self,
        *,
        hidden_size: int,
        num_objectives: int,
        num_quantiles: int,
        gating_hidden_dim: int,
        gating_n_hidden: int,
        gating_temperature: float,
    ) -> None:
        super().__init__()
        self.objectives, self.temperature = num_objectives, gating_temperature
        self.regression_layer = nn.Linear(hidden_size, num_objectives * num_quantiles, bias=False)
        self.reward_transform_matrix = nn.Parameter(torch.eye(num_objectives))
        self.gating = _Gate(hidden_size, gating_hidden_dim, gating_n_hidden, num_objectives)
        self.requires_grad_(False)

    def forward(self, last: Tensor, gate: Tensor) -> Tensor:
        """Return the scores [B] of hidden states [B, hidden] at the last token and at the gate's."""
        weights = torch.softmax(self.gating(gate) / self.temperature, dim=-1) * self.gating.logit_scale
        expected = self.regression_layer(last).unflatten(-1, (self.objectives, -1)).mean(-1)  # [B, objectives]
        return (weights * (expected @ self.reward_transform_matrix)).sum(-1)

    def reward(self, model: Any, tokenizer: Any, **options: Any) -> QuantileReward:
        """Return the reward model of this head on its network."""
        return QuantileReward(model, self, tokenizer, **options)


class _Gate(nn.Module):
    def __init__(self, hidden: int, width: int, depth: int, objectives: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for size in [hidden] + [width] * (depth - 1):
            layers += [nn.Linear(size, width, bias=False), nn.ReLU(), nn.BatchNorm1d(width)]
        self.layers = nn.Sequential(*layers, nn.Linear(width, objectives))
        self.logit_scale = nn.Parameter(torch.ones(1))

    def forward(self, hidden: Tensor) -> Tensor:
        return self.layers(hidden)


class QuantileReward(NetworkReward):
    """QRM: a Llama network with a `QuantileHead`; the raw score is the gated mean of its quantiles.

    The text is the chat template's, with one beginning-of-text token. The gate reads the last position where the header
    of an assistant's turn begins, so a text without one is refused. options: as in `NetworkReward`.
    """

    def __init__(self, model: Any, head: QuantileHead, tokenizer: Any, *, name: str = "reward", **options: Any) -> None:
        encode = text_encoder(name, tokenizer, "chat", always_begin=True)
        super().__init__(model, tokenizer, encode, name=name, template="chat", **options)
        self.head = head.eval()
        self.turn: list[int] = tokenizer(_TURN, add_special_tokens=False)["input_ids"]

    def gate(self, ids: Sequence[int]) -> int:
        """Return where the last header of an assistant's turn begins; ValueError if there is none."""
        size = len(self.turn)
        for start in range(len(ids) - size, -1, -1):
            if list(ids[start : start + size]) == self.turn:
                return start
        raise ValueError(
            f"a text for reward model {self.name} has no assistant's turn, which its gate reads: {_TURN.strip()!r} "
            "is not in its chat template"
        )

    def read(self, texts: Sequence[list[int]]) -> Tensor:
        row, device = torch.arange(len(texts)), self.head.reward_transform_matrix.device
        hidden = hidden_states(self.model, texts)
        places = [len(ids) - 1 for ids in texts], [self.gate(ids) for ids in texts]
        return self.head(*(hidden[row, torch.tensor(columns)].to(device, torch.float32) for columns in places))


def load_quantile(
    config: Config, stored: Mapping[str, Stored], **options: Any
) -> tuple[Any, dict[str, Any], QuantileHead]:
    """Return QRM's Llama network without a head, transformers' report of its loading, and the head, in float32.

    ValueError for a config.json or tensors of another layout; one without quantiles is ArmoRM's.
    """
    from transformers import LlamaConfig, LlamaModel

    raw = {"num_objectives": 19, "gating_hidden_dim": 1024, "gating_n_hidden": 3, "gating_temperature": 10.0, **config}
    checkpoint, filled = config.checkpoint, Config(raw, config.checkpoint)
    fields = "hidden_size", "num_objectives", "num_quantiles", "gating_hidden_dim", "gating_n_hidden"
    sizes = {key: filled.whole(key) for key in fields}
    make_head = partial(QuantileHead, **sizes, gating_temperature=filled.number("gating_temperature"))
    network = LlamaConfig.from_dict(network_sizes(config))
    shapes = {f"model.{name}": shape for name, shape in shapes_of(LlamaModel, network).items()}
    with torch.device("meta"):  # no memory for what the file may not hold
        tensors = make_head().state_dict()
    # How often batch normalisation was updated in training: a whole number, which no score depends on.
    counts = {name for name in tensors if name.endswith("num_batches_tracked")}
    of_head = {name: tuple(tensor.shape) for name, tensor in tensors.items() if name not in counts}
    read = {name: tensor for name, tensor in stored.items() if name not in counts}
    refuse_other_layout(checkpoint, read, shapes | of_head)
    head = make_head()
    head.load_state_dict({name: read_tensor(checkpoint, stored, name) for name in of_head}, strict=False)
    weights = {name.removeprefix("model."): read_tensor(checkpoint, stored, name) for name in shapes}
    return *model_of(LlamaModel, network, weights, **options), head.eval()
