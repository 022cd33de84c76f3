"""DiffusionGemma, a model of uniform noise: transformers' own network behind what `uniform.decode_uniform` asks."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rws_decode.checkpoints.config import Config, config_of
from rws_decode.checkpoints.files import device_named, dtype_named, fetch, locate_model, refuse_vocabulary
from rws_decode.checkpoints.weights import read_headers
from rws_decode.common.reward_facts import parameters_of
from rws_decode.common.threads import torch_threads
from rws_decode.predictors.families import load_tokenizer
from rws_decode.predictors.loading import from_pretrained, refuse_unusable
from rws_decode.predictors.masked_language_model import Spoken
from rws_decode.text.dialogue import Dialogue, as_dialogue
from rws_theory.show import quoted

__all__ = ["DiffusionGemma", "load_uniform"]

MODEL_TYPE = "diffusion_gemma"
# Of `uniform.UniformOptions` -> of generation_config.json.
_SETTINGS = {
    "steps": "max_denoising_steps",
    "t_max": "t_max",
    "t_min": "t_min",
    "stability": "stability_threshold",
    "confidence": "confidence_threshold",
}


class DiffusionGemma(Spoken):
    """A transformers DiffusionGemmaForBlockDiffusion, with its tokenizer if it has one.

    It has no mask: it reads a canvas of `canvas_length` words, any of which may be noise, and gives logits of all.
    `uniform.decode_uniform` takes any object with these members. settings, caps: those of its generation_config.json.
    `max_length`: the tokens that it reads. chat: whether a prompt's text is one message of the tokenizer's chat
    template. ValueError for chat without a template.
    """

    def __init__(self, model: Any, tokenizer: Any = None, *, name: str = "model", chat: bool = False) -> None:
        super().__init__(model, tokenizer, name, chat, {})
        self.canvas_length: int = model.config.canvas_length
        text, generation = model.config.text_config, model.generation_config
        self.vocab_size: int = text.vocab_size
        self.max_length: int = text.max_position_embeddings
        new, total = generation.max_new_tokens, generation.max_length
        # In transformers a max_length goes before its default of 256 new tokens, also where that is written.
        caps = {"max_new_tokens": None if total and new == 256 else new, "max_length": total}
        self.caps: dict[str, int] = {name: cap for name, cap in caps.items() if cap is not None}
        ends = text.eos_token_id if generation.eos_token_id is None else generation.eos_token_id
        self.end_ids = () if ends is None else (ends,) if isinstance(ends, int) else tuple(ends)
        self.pad_id: int | None = text.pad_token_id if generation.pad_token_id is None else generation.pad_token_id
        own = {option: getattr(generation, field) for option, field in _SETTINGS.items()}
        own["entropy_bound"] = getattr(generation.sampler_config, "entropy_bound", None)
        self.settings = {name: value for name, value in own.items() if value is not None}

    def __repr__(self) -> str:
        size = f"{parameters_of(self.model)}, {self.vocab_size:,} tokens, canvas of {self.canvas_length}"
        return f"{type(self).__name__}({quoted(self.name, 40)}, {size})"

    @torch_threads()
    def prefix(self, ids: Tensor, before: Any = None) -> Any:
        """Return what the canvas reads of the tokens before it: keys and values of its encoder.

        ids: int64 [1, n], those that follow what `before`, an earlier result, holds; it is extended.
        """
        from transformers import DynamicCache

        cache = DynamicCache(config=self.model.config.get_text_config(decoder=True)) if before is None else before
        length = cache.get_seq_length()
        positions = torch.arange(length, length + ids.shape[1], device=ids.device)[None]
        return self.model.model.encoder(input_ids=ids, past_key_values=cache, position_ids=positions).past_key_values

    @torch_threads()
    def logits(self, prefix: Any, canvas: Tensor, last: Tensor | None) -> Tensor:
        """Return logits float32 [1, L, V] of a canvas int64 [1, L], each within (-30, 30), the published soft cap.

        last: the scaled logits of the step before, for self-conditioning; None at the first step.
        """
        length = prefix.get_seq_length()
        return self.model(
            decoder_input_ids=canvas,
            past_key_values=prefix,
            self_conditioning_logits=None if last is None else last.to(self.model.dtype),
            decoder_position_ids=torch.arange(length, length + canvas.shape[1], device=canvas.device)[None],
        ).logits

    def encode_prompt(self, text: str | Dialogue) -> list[int]:
        """Return the ids before the canvas: those of a chat, or of the plain text."""
        return self.dialogue_ids(as_dialogue(text))


def load_uniform(
    name: str,
    device: str | torch.device = "cpu",
    *,
    dtype: str | torch.dtype | None = None,
    device_map: Any = None,
    quantization: Any = None,
    revision: str | None = None,
    chat: bool | None = None,
    progress: bool = True,
) -> DiffusionGemma:
    """Load a model of uniform noise, DiffusionGemma, by directory or hub id.

    The options are those of `load_predictor`; dtype None is float32, and bfloat16 on CUDA. The class of the network is
    transformers' own: safetensors only, no remote code. ValueError in one line as there, and for another model's type.

    >>> from tempfile import TemporaryDirectory
    >>> from rws_decode.extra.testing import tiny_checkpoint
    >>> with TemporaryDirectory() as folder:
    ...     load_uniform(str(tiny_checkpoint("diffusion-gemma", folder)), progress=False).canvas_length
    12
    """
    device = device_named(device)
    kind = None if dtype is None else dtype_named(dtype)
    checkpoint = fetch(locate_model(name), revision)
    raw = config_of(checkpoint)
    if raw.get("model_type") != MODEL_TYPE:
        raise ValueError(
            f"model {checkpoint.name} is of the type {raw.get('model_type')!r}: load_uniform reads {MODEL_TYPE}, use "
            "load_predictor"
        )
    stored = read_headers(checkpoint)
    for part in (raw, raw.get("text_config"), raw.get("vision_config")):
        Config(part if isinstance(part, dict) else {}, checkpoint).refuse_sizes(stored)
    on_cuda = device.type == "cuda" or (device_map is not None and torch.cuda.is_available())
    options: dict[str, Any] = {"dtype": kind or (torch.bfloat16 if on_cuda else torch.float32)}
    placing = {"device_map": device_map, "quantization_config": quantization}
    options |= {key: value for key, value in placing.items() if value is not None}
    refuse_unusable(checkpoint, stored, device, options)
    from transformers import DiffusionGemmaForBlockDiffusion

    model = from_pretrained(DiffusionGemmaForBlockDiffusion, checkpoint, device, progress, options)
    tokenizer = load_tokenizer(checkpoint, None)
    if tokenizer is not None:
        refuse_vocabulary(checkpoint, tokenizer, model.config.text_config.vocab_size)
    if chat is None:
        chat = getattr(tokenizer, "chat_template", None) is not None
    return DiffusionGemma(model, tokenizer, name=checkpoint.name, chat=chat)
