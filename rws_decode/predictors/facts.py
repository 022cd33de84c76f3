"""How mask predictors show themselves in a notebook: what they read, what they commit, and where they run."""

from __future__ import annotations

from rws_decode.predictors.base import LogitsDtype, MaskPredictor, ends_of
from rws_theory.show import facts_html, quoted, shortened


def predictor_html(predictor: MaskPredictor, **more: object) -> str:
    """Return a predictor as a table of what is known of it; more: facts of its kind, by their names.

    >>> from rws_decode.predictors import CallablePredictor
    >>> "mask token" in predictor_html(CallablePredictor(lambda canvas: canvas, mask_id=0, name="<b>"))
    True
    """
    prompts = getattr(predictor, "examples", ())
    dtype = str(predictor.logits_dtype).removeprefix("torch.") if isinstance(predictor, LogitsDtype) else None
    facts: dict[str, object] = {
        "tokens": None if predictor.vocab_size is None else f"{predictor.vocab_size:,}",
        "mask token": str(predictor.mask_id),
        "end-of-text tokens": shortened(ends_of(predictor)) or "none",
        "tokens that are never committed": f"{len(predictor.forbidden_ids):,}" if predictor.forbidden_ids else None,
        "longest canvas": None if predictor.max_length is None else f"{predictor.max_length:,}",
        "device": str(predictor.device),
        "dtype of logits": dtype,
        **{name.replace("_", " "): fact for name, fact in more.items()},
        "shipped prompts": f"{len(prompts)}, as .prompts" if prompts else None,
    }
    return facts_html(f"{type(predictor).__name__}({quoted(predictor.name)})", facts)
