"""The published loop of DiffusionGemma, a model of uniform noise: what `decode_uniform` does unless told otherwise."""

from __future__ import annotations

from rws_decode.presets.preset import Preset, Setting

_LOOP = "huggingface/transformers 5493ccf src/transformers/models/diffusion_gemma/generation_diffusion_gemma.py"
_DEFAULTS = f"{_LOOP} lines 222-230"

PRESETS: tuple[Preset, ...] = (
    Preset(
        "diffusion-gemma",
        "DiffusionGemma-26B-A4B, uniform noise",
        (
            Setting("max_denoising_steps = 48", _DEFAULTS, "steps", 48),
            Setting("entropy_bound = 0.1", f"{_DEFAULTS}; arXiv 2505.24857", "entropy_bound", 0.1),
            Setting("t_max = 0.8", _DEFAULTS, "t_max", 0.8),
            Setting("t_min = 0.4", _DEFAULTS, "t_min", 0.4),
            Setting("stability_threshold = 1", _DEFAULTS, "stability", 1),
            Setting("confidence_threshold = 0.005", _DEFAULTS, "confidence", 0.005),
            Setting("max_new_tokens = 256", _DEFAULTS, "canvases", 1, note="the published canvas has 256 tokens"),
        ),
        process="uniform",
    ),
)
