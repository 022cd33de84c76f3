"""The loop of a model of uniform noise: tokens are accepted or sampled anew, after the reward scales all logits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rws_decode.common.threads import torch_threads
from rws_decode.job import Prompts, as_prompts, warn_of_unread_words
from rws_decode.predictors.base import answer_room
from rws_decode.rewards.base import RewardModel, score_checked
from rws_decode.rewards.callable import normalised_reward
from rws_decode.strategies.numbers import check_numbers, checked
from rws_decode.strategies.protocol import FactorStrategy, MaskedPositions, asks_reward, factor_alone, factors_of
from rws_decode.strategies.table import as_strategy
from rws_decode.text.dialogue import Dialogue, as_dialogue
from rws_decode.trace.trace import Trace
from rws_theory.checks import finite, whole
from rws_theory.gain import normalise
from rws_theory.show import clipped, quoted

if TYPE_CHECKING:
    from rws_decode.extra.uniform.diffusion_gemma import DiffusionGemma


@dataclass(frozen=True)
class UniformOptions:
    """Settings of the loop; the defaults are those that DiffusionGemma publishes (preset "diffusion-gemma").

    steps: forwards of a canvas, at most. entropy_bound: nats, as in `accepted`. t_max, t_min: the temperature falls
    linearly from the first, with N steps left of N, towards the second. stability, confidence: a canvas is done if its
    best tokens are those of the last `stability` steps, and the mean entropy of a position is below so many nats;
    confidence None: never before the last step. canvases: how many may follow one another; None: as many as the
    checkpoint's max_new_tokens and max_length, or 256 tokens, and the model allow. seed: of all samples.
    """

    steps: int = checked(48)
    entropy_bound: float = checked(0.1, least=0)
    t_max: float = checked(0.8, above=0)
    t_min: float = 0.4
    stability: int = checked(1, least=0)
    confidence: float | None = 0.005
    canvases: int | None = None
    seed: int = checked(0, least=0)

    def __post_init__(self) -> None:
        check_numbers(self)
        finite("t_min", self.t_min, above=0, most=self.t_max)
        if self.confidence is not None:
            finite("confidence", self.confidence, above=0)
        if self.canvases is not None:
            whole("canvases", self.canvases)


@dataclass(frozen=True, eq=False)
class UniformDecode:
    """One answer, and the record of each of its S forwards on a canvas of L tokens.

    prompt, tokens: int64; text: before the first end, None without a tokenizer. canvas: int64 [S], the canvas of each
    forward. draft: int64 [S, L], its best tokens. accepted: bool [S, L], the tokens that the next step keeps. entropy:
    float64 [S, L], nats, of the distributions sampled from. factor, reward_raw, reward: float64 [S], the last two NaN
    where the reward was not asked; `reward` is normalised.
    """

    model: str
    prompt: NDArray[np.int64]
    prompt_text: str | None
    tokens: NDArray[np.int64]
    text: str | None
    canvas: NDArray[np.int64]
    draft: NDArray[np.int64]
    accepted: NDArray[np.bool_]
    entropy: NDArray[np.float64]
    factor: NDArray[np.float64]
    reward_raw: NDArray[np.float64]
    reward: NDArray[np.float64]

    def __repr__(self) -> str:
        text = "" if self.text is None else f", {quoted(self.text)}"
        return clipped(f"UniformDecode({len(self.tokens)} tokens in {self.forwards} forwards{text})")

    @property
    def forwards(self) -> int:
        """The number of forwards of the canvas."""
        return len(self.canvas)

    @property
    def settled(self) -> NDArray[np.int64]:
        """Return for each token the first forward from which on the draft held it, int64 [n]."""
        parts = []
        for number in range(int(self.canvas[-1]) + 1):
            own = np.flatnonzero(self.canvas == number)
            same = self.draft[own] == self.draft[own[-1]]
            parts.append(own[0] + len(own) - np.logical_and.accumulate(same[::-1]).sum(axis=0))
        return np.concatenate(parts)

    def trace(self, tokenizer: Any = None) -> Trace:
        """Return the trace of a step map, for players, comparisons and plots: each token at the step that settled it.

        Steps that settled no token are not counted. tokenizer: decodes the tokens.
        """
        steps = np.unique(self.settled, return_inverse=True)[1]
        labels = {"prompt": self.prompt_text, "prompt_ids": self.prompt.tolist(), "model": self.model}
        return Trace.from_step_map(self.tokens.tolist(), steps.tolist(), **labels, tokenizer=tokenizer)


def decode_uniform(
    predictor: DiffusionGemma,
    prompts: Prompts,
    strategy: FactorStrategy | str = "default",
    *,
    reward: RewardModel | Callable[..., float] | None = None,
    options: UniformOptions | None = None,
    **numbers: Any,
) -> tuple[UniformDecode, ...]:
    """Decode prompts with a model of uniform noise, each by itself, and return what happened.

    A canvas begins as uniform tokens. Each step samples a token for every position from softmax(c z / T), keeps those
    that `accepted` chooses, and replaces the others by uniform tokens. The best tokens of the last step are the answer.
    This is the loop of transformers' `DiffusionGemmaForBlockDiffusion.generate`, and gives its tokens for the same
    seed. After an end of text the rest of the canvas is padding, and no canvas follows.

    strategy: one that is a factor c alone: "default", "temperature:C", "rws:S" and its controls. The reward is that of
    the answer with the best tokens of this step; c multiplies the logits before sampling and accepting. So RWS changes
    tokens here, and not only their order (docs/theory.md, section 23). options: None for those of the model's
    generation_config.json, and the published ones where it has none. prompts, reward, numbers: as in `decode`.

    ValueError for an order strategy, a reward that is missing, logits that are not finite, and canvases that end beyond
    what the model reads (max_position_embeddings).

    >>> from tempfile import TemporaryDirectory
    >>> from rws_decode.extra.testing import tiny_checkpoint
    >>> from rws_decode.extra.uniform.diffusion_gemma import load_uniform
    >>> with TemporaryDirectory() as folder:
    ...     predictor = load_uniform(str(tiny_checkpoint("diffusion-gemma", folder)), progress=False)
    >>> (decoded,) = decode_uniform(predictor, "the cat", options=UniformOptions(steps=3, canvases=1))
    >>> decoded.forwards, decoded.draft.shape
    (3, (3, 12))
    """
    if not hasattr(predictor, "canvas_length"):
        raise ValueError(f"predictor is {quoted(predictor)}: one of uniform noise is needed, load_uniform(name)")
    options = UniformOptions(**predictor.settings) if options is None else options
    rule = as_strategy(strategy, seed=options.seed, **numbers)
    if not factor_alone(rule):
        raise ValueError(
            f"strategy is {rule.name}: without masks there is no order, use default, temperature:4 or rws:8"
        )
    scored = normalised_reward(reward, f"strategy {rule.name}", predictor.name) if rule.needs_reward else None
    if scored is not None and predictor.decode_answer([]) is None:
        raise ValueError(f"reward {scored.name} reads text: predictor {predictor.name} has no tokenizer")
    decodes = []
    with torch_threads(), torch.inference_mode():
        for number, prompt in enumerate(as_prompts(prompts)):
            ids = prompt if isinstance(prompt, list) else predictor.encode_prompt(prompt)
            if not ids or any(not 0 <= token < predictor.vocab_size for token in ids):
                raise ValueError(
                    f"prompts[{number}] is {quoted(prompt)}: text, or token ids from 0 to {predictor.vocab_size - 1}, "
                    "is needed"
                )
            prompt_text = predictor.decode_prompt(ids) if isinstance(prompt, list) else prompt
            counted = replace(options, canvases=_canvases(predictor, options, f"prompts[{number}]", len(ids)))
            decodes.append(_decode(predictor, ids, prompt_text, rule, scored, counted))
        if scored is not None:
            warn_of_unread_words(scored, (f"{each.prompt_text or ''} {each.text}" for each in decodes), predictor.name)
    return tuple(decodes)


def accepted(entropy: Tensor, bound: float) -> Tensor:
    """Return the accepted positions of each row, bool [B, L]: the k of least entropy, k as large as the bound allows.

    Their entropies, in nats, without the largest, sum to the bound at most: this bounds the mutual information of the k
    tokens (arXiv 2505.24857). So one position is accepted at least.

    >>> accepted(torch.tensor([[0.08, 2.0, 0.05, 0.01]]), 0.1).tolist()
    [[True, False, True, True]]
    """
    rising, order = entropy.sort(dim=-1)
    return torch.zeros_like(order, dtype=torch.bool).scatter(-1, order, rising.cumsum(dim=-1) - rising <= bound)


def _canvases(predictor: DiffusionGemma, options: UniformOptions, prompt: str, tokens: int) -> int:
    """Return how many canvases may follow a prompt of `tokens` tokens; ValueError for none, or more than are read."""
    size, room = predictor.canvas_length, answer_room(predictor, tokens) if predictor.caps else 256
    most, allowed = max((predictor.max_length - tokens) // size, 0), max(ceil(room / size), 0)
    count = options.canvases or min(most, allowed)
    if not 0 < count <= most:
        right = f"options=UniformOptions(canvases={most})" if most else "a shorter prompt"
        raise ValueError(
            f"canvases is {options.canvases}: after the {tokens} tokens of {prompt} {predictor.name} reads {most} more "
            f"of {size} tokens, and its caps leave {allowed}, give {right}"
        )
    return count


def _decode(
    predictor: DiffusionGemma,
    ids: list[int],
    prompt_text: str | Dialogue | None,
    strategy: FactorStrategy,
    reward: RewardModel | None,
    options: UniformOptions,
) -> UniformDecode:
    device, size = predictor.device, (1, predictor.canvas_length)
    generator = torch.Generator(device).manual_seed(options.seed)
    rows, answer, prefix, ends = list[tuple[Any, ...]](), list[int](), None, set(predictor.end_ids)
    unread = torch.tensor([ids], device=device)

    def noise() -> Tensor:
        return torch.randint(predictor.vocab_size, size, generator=generator, device=device)

    for number in range(options.canvases or 1):
        prefix, canvas, last, drafts = predictor.prefix(unread, prefix), noise(), None, list[list[int]]()
        for steps_left in range(options.steps, 0, -1):
            raw = predictor.logits(prefix, canvas, last)
            if not bool(raw.isfinite().all()):
                raise ValueError(f"predictor {predictor.name} gives logits that are not finite: load it in float32")
            # Step 2 and 3 of the paper: the reward of the best words, and the factor of all logits.
            score, normalised = np.nan, np.nan
            if reward is not None and asks_reward(strategy, len(rows)):
                best = predictor.decode_answer([*answer, *raw[0].argmax(dim=-1).tolist()]) or ""
                (score,) = score_checked(reward, [prompt_text or ""], [best])
                normalised = float(normalise(score, reward.mean, reward.std))
            view = MaskedPositions(len(rows), 1, len(answer) + size[1], reward=np.array([normalised]))
            factor = float(factors_of(strategy, view)[0])
            # In float32, as transformers has it: other last digits may accept other tokens.
            share = torch.tensor(steps_left, dtype=torch.int32, device=device) / options.steps
            z = raw * factor / (options.t_min + (options.t_max - options.t_min) * share)
            sampled = torch.multinomial(z.softmax(dim=-1, dtype=torch.float32)[0], 1, generator=generator).T
            entropy = torch.distributions.Categorical(logits=z).entropy()
            keep = accepted(entropy, options.entropy_bound)
            canvas, last = torch.where(keep, sampled, noise()), z
            draft = z[0].argmax(dim=-1).tolist()
            drafts.append(draft)
            stable = len(drafts) > options.stability and all(each == draft for each in drafts[-1 - options.stability :])
            rows.append((number, draft, keep[0].tolist(), entropy[0].double().tolist(), factor, score, normalised))
            if stable and options.confidence is not None and bool(entropy.mean() < options.confidence):
                break
        draft = drafts[-1]
        end = next((place for place, token in enumerate(draft) if token in ends), None)
        padded = draft
        if end is not None and predictor.pad_id is not None:
            padded = [*draft[: end + 1], *[predictor.pad_id] * (len(draft) - end - 1)]
        answer += padded
        unread = torch.tensor([padded], device=device)
        if end is not None:
            break
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    text, prompt = predictor.decode_answer(answer), None if prompt_text is None else as_dialogue(prompt_text).text
    return UniformDecode(predictor.name, np.array(ids), prompt, np.array(answer), text, *columns)
