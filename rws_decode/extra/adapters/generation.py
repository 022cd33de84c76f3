"""`generate` as transformers has it: prompts and a config in, sequences and traces out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rws_decode.decode import decode
from rws_decode.extra.adapters.config import RWSGenerationConfig
from rws_decode.extra.drafts import Feed, Streamer
from rws_decode.job import Prompts, as_prompts
from rws_decode.predictors.base import MaskPredictor, prompt_ids
from rws_decode.rewards.base import RewardModel
from rws_decode.step.callback import StepCallback, StepView
from rws_decode.trace.decoding import Decoding


@dataclass(frozen=True, eq=False, repr=False)
class RWSGenerationOutput(Decoding):
    """What `generate` returns: the decoding, with `texts`, `traces`, `forwards` and `reward_calls`, and its tokens.

    sequences: int64 [B, n], all tokens of the answers without the prompts, also those after an end of text, as in
    diffusers' block refinement. tokens_per_forward: float64 [B], as `Trace.tokens_per_forward`.
    """

    sequences: Tensor
    tokens_per_forward: NDArray[np.float64]


def generate(
    predictor: MaskPredictor,
    prompts: Prompts,
    config: RWSGenerationConfig | None = None,
    *,
    reward: RewardModel | None = None,
    generator: torch.Generator | None = None,
    streamer: Streamer | None = None,
    callback: StepCallback | None = None,
    return_dict: bool = True,
    **overrides: Any,
) -> RWSGenerationOutput | Tensor:
    """Decode an answer to each prompt by `decode.decode`, as a config says.

    prompts, reward: as in `decode.decode`. config: the defaults if None; overrides: options of the config with other
    values for this call. generator: gives each row a seed, in place of the config's; it moves on, so that a second
    call samples others. streamer: shown a decode of one prompt as it goes (`drafts.Streamer`), and closed whatever
    happens. callback: called after each step; it can end a batch (`callback.StepCallback`). return_dict: False for the
    sequences alone.

    Guarantee: the same config, models, prompts and generator state give the same output, and the same as `decode` does.
    ValueError for an unknown option, a bad value, a generator together with a seed, or a streamer of several prompts.

    >>> from rws_decode.predictors import CallablePredictor
    >>> predictor = CallablePredictor(lambda canvas: torch.eye(4)[3 - canvas], mask_id=0)
    >>> output = generate(predictor, [[2]], max_new_tokens=3, steps=3, block_length=3)
    >>> output.sequences.tolist(), output.tokens_per_forward.tolist()
    ([[3, 3, 3]], [1.0])
    """
    chosen = (RWSGenerationConfig() if config is None else config).update(**overrides)
    if generator is not None and "seed" in overrides:
        raise ValueError(f"seed is {overrides['seed']}: the generator gives the seeds, leave one of them out")
    prompts = as_prompts(prompts)
    seeds: int | tuple[int, ...] = chosen.seed
    if generator is not None:
        numbers = torch.randint(2**63 - 1, (len(prompts),), generator=generator, device=generator.device)
        seeds = tuple(numbers.tolist())
    strategy = chosen.make_strategy(seeds)
    options = chosen.decode_options(seeds)
    if streamer is None:
        decoding = decode(predictor, prompts, strategy, **options, reward=reward, callback=callback)
    else:
        if len(prompts) != 1:
            raise ValueError(f"streamer shows one prompt at a time: prompts holds {len(prompts)}")
        feed = Feed(streamer, predictor, chosen.block_length)

        def both(view: StepView) -> bool | None:
            feed(view)
            return None if callback is None else callback(view)

        try:
            (prompt,) = prompts
            streamer.put(torch.tensor(prompt if isinstance(prompt, list) else prompt_ids(predictor, prompt)))
            decoding = decode(predictor, prompts, strategy, **options, reward=reward, callback=both)
            feed.finish(decoding[0].tokens.tolist())
        finally:
            streamer.end()
    sequences = torch.from_numpy(decoding.tokens).to(predictor.device)
    if not return_dict:
        return sequences
    per_forward = np.array([trace.tokens_per_forward for trace in decoding])
    return RWSGenerationOutput(decoding.traces, decoding.forwards, sequences, per_forward)
