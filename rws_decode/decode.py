"""The decoder: prompts in, one trace per prompt out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rws_decode.canvas.batches import batches, logit_bytes
from rws_decode.canvas.dialogue import Dialogue
from rws_decode.canvas.end_of_text import EndOfText, end_tokens
from rws_decode.canvas.layout import Padding, Prompt, encode_prompts
from rws_decode.canvas.schedule import block_plan
from rws_decode.common.threads import torch_threads
from rws_decode.predictors.base import MaskPredictor
from rws_decode.rewards.base import RewardModel
from rws_decode.step.candidate import TokenSampler
from rws_decode.step.classifier_free import check_cfg
from rws_decode.step.loop import BatchRun, Loop
from rws_decode.step.order import Precision, Ranking, check_ranking
from rws_decode.step.reward import Scorer, scorer_for
from rws_decode.step.savings import Savings
from rws_decode.strategies.protocol import FactorStrategy, OrderStrategy, Strategy, describe
from rws_decode.trace.trace import NOT_NEEDED, Trace
from rws_decode.view.drafts import StepCallback

__all__ = ["Decoding", "check_models", "decode", "reward_settings", "run_batches"]

_USUAL = Savings()


@dataclass(frozen=True)
class Decoding(Sequence[Trace]):
    """The outcome of a decode: a sequence of one Trace per prompt, in order.

    `forwards`: forwards of the predictor, a batch counting once; `reward_calls`: texts scored; `reward_calls_saved`:
    scores reused or not needed.
    """

    traces: tuple[Trace, ...]
    forwards: int

    def __len__(self) -> int:
        return len(self.traces)

    def __getitem__(self, row: Any) -> Any:
        return self.traces[row]

    def __iter__(self) -> Iterator[Trace]:
        return iter(self.traces)

    @property
    def tokens(self) -> NDArray[np.int64]:
        """Return the answers' token ids, int64 [B, n]."""
        return np.stack([trace.tokens for trace in self.traces])

    @property
    def texts(self) -> list[str | None]:
        """Return the answers' texts, None without a tokenizer."""
        return [trace.text for trace in self.traces]

    @property
    def reward_calls(self) -> int:
        """Return the number of texts scored."""
        return sum(trace.reward_calls for trace in self.traces)

    @property
    def reward_calls_saved(self) -> int:
        """Return the number of scores reused or not needed."""
        return sum(trace.reward_calls_saved for trace in self.traces)


def decode(
    predictor: MaskPredictor,
    prompts: Sequence[str | Dialogue | Sequence[int]],
    strategy: Strategy,
    *,
    length: int = 64,
    steps: int = 32,
    block: int = 32,
    reward: RewardModel | None = None,
    ranking: Ranking = "log-odds",
    precision: Precision = "float64",
    padding: Padding = "right",
    sampling_temperature: float = 0.0,
    seed: int | Sequence[int] = 0,
    cfg: float = 0.0,
    end_of_text: EndOfText = "none",
    end_ids: Sequence[int] | None = None,
    savings: Savings = _USUAL,
    finished: Callable[[int, Trace], None] | None = None,
    callback: StepCallback | None = None,
) -> Decoding:
    """Decode an answer of `length` tokens to each prompt, block by block, and record every step.

    The paper's algorithm (Section "Reward-Weighted Sampling Algorithm"), in each of `steps` steps: (1) one forward
    over the whole canvas and the greedy completion of all masked positions; (2) if the strategy asks, the reward of
    prompt and completed answer, normalised to r = (raw - mean) / std; (3) all logits times the strategy's factor;
    (4) commit the most confident positions of the current block (`schedule.block_plan`, `order.rank_values`,
    `order.select_top`). A strategy with an order of its own takes the place of (3) and of the confidence in (4).

    prompts: text, a `dialogue.Dialogue` of several turns, or the token ids that stand before the answer; lengths may
    differ (rows are padded on one side, `padding`, under an attention mask, and no mask is passed where none is
    padded). A reward model sees the text or the dialogue itself, or for ids their decoded text.

    ranking, precision: log-odds in float64 order as the exact probability does; "probability" is softmax in
    `precision`, ties leftmost; "topk" is what public decoders compute: softmax over the whole vocabulary, forbidden
    tokens too, and `torch.topk` over the canvas. sampling_temperature: above 0, the completion is drawn by Gumbel-max
    (`candidate.TokenSampler`) and the confidence is that of the drawn token without the noise; seed: one number, or one
    per row. cfg: scale of classifier-free guidance (`classifier_free.guided_logits`). end_of_text: "none", "suppress"
    or "defer" (`end_of_text.end_tokens`); end_ids: the tokens that it is about, the predictor's end_id if None.

    savings: what is left out, and the memory that the logits of a batch may take (`savings.Savings`); prompts are
    decoded in batches of like length, as many at a time as fit. finished: called with a prompt's number and its trace
    as soon as its batch is done, so that what is done can be kept. callback: called with a `drafts.StepView` after
    each step of each batch; where it returns what is true, the batch ends there. Its rows' traces are of the steps run:
    positions left masked have `commit_step` -1 and hold the mask id, and the text is that of the committed tokens.

    Guarantees: one forward per step for all rows of a batch; logits are asked of masked positions alone; [MASK],
    padding and the predictor's forbidden ids are never candidates; prompt positions and committed tokens never change;
    ties go to the leftmost position (but for "topk") and are counted; nothing is drawn but from `seed` and the
    strategy's own; a row's answer follows from its prompt and seed, not from the rest of the batch, as far as the
    predictor's arithmetic does (`Trace.near_ties`). ValueError names the argument that is wrong, or the model whose
    output is not finite.

    >>> from rws_decode.strategies.factors import Confidence
    >>> from rws_decode.predictors import CallablePredictor
    >>> table = torch.tensor([[9.0, 1.0, 0.0], [9.0, 0.0, 3.0], [9.0, 0.0, 2.0]])
    >>> predictor = CallablePredictor(lambda canvas: table[: canvas.shape[1]].expand(len(canvas), -1, -1), mask_id=0)
    >>> (trace,) = decode(predictor, [[1]], Confidence(), length=2, steps=2, block=2)
    >>> trace.tokens.tolist(), trace.commit_step.tolist()
    ([2, 2], [0, 1])
    """
    plan = block_plan(length, steps, block)
    check_ranking(ranking, precision)
    check_cfg(cfg)
    check_models(predictor, reward)
    if not isinstance(savings, Savings):
        raise ValueError(f"savings is {savings!r}: a Savings is needed")
    if isinstance(strategy, type) or not isinstance(strategy, FactorStrategy | OrderStrategy):
        raise ValueError(f"strategy is {strategy!r}: name, needs_reward and a method factor or order are needed")
    own_order = isinstance(strategy, OrderStrategy)
    if own_order and ranking != "log-odds":
        raise ValueError(f"ranking is {ranking!r}: strategy {strategy.name} ranks by its own values, leave it out")
    encoded = encode_prompts(predictor, prompts, length)
    ending = end_tokens(predictor, end_of_text, end_ids)
    sampler = TokenSampler(sampling_temperature, seed, len(encoded))
    scorer = scorer_for(predictor, strategy, reward, encoded, reuse=savings.reuse, cache=savings.cache)
    loop = Loop(
        predictor=predictor,
        strategy=strategy,
        plan=plan,
        rows=len(encoded),
        padding=padding,
        ranking=ranking,
        precision=precision,
        sampler=sampler,
        cfg=cfg,
        policy=end_of_text,
        ending=ending,
        scorer=scorer,
        savings=savings,
        callback=callback,
    )
    settings: dict[str, Any] = {
        "length": length,
        "steps": steps,
        "block": block,
        "ranking": "order" if own_order else ranking,
        "precision": precision,
        "strategy": describe(strategy),
        "predictor": predictor.name,
        "reward_model": None if scorer is None else scorer.model.name,
        "savings": asdict(savings),
        "reward_settings": {} if scorer is None else reward_settings(scorer.model),
        "mask_id": predictor.mask_id,
        "padding": padding,
        "sampling_temperature": sampler.temperature,
        "cfg": float(cfg),
        "end_of_text": end_of_text,
        "end_ids": ending if end_of_text != "none" else [],
    }
    row_bytes = None
    if predictor.vocab_size is not None:
        # A predictor without logits_at computes those of the prompt as well.
        whole = 0 if hasattr(predictor, "logits_at") else max(len(prompt.ids) for prompt in encoded)
        copies = {"guided": cfg != 0, "published": ranking == "topk"}
        row_bytes = logit_bytes(length, predictor.vocab_size, width=whole, **copies)
    widths = [len(prompt.ids) + length for prompt in encoded]
    groups = batches(widths, row_bytes, savings.memory, savings.spread)
    return run_batches(loop.run, groups, predictor, encoded, scorer, settings, sampler.seeds, finished)


def run_batches(
    run: Callable[[Sequence[int], Sequence[Sequence[int]]], BatchRun],
    groups: Sequence[Sequence[int]],
    predictor: MaskPredictor,
    encoded: Sequence[Prompt],
    scorer: Scorer | None,
    settings: dict[str, Any],
    seeds: Sequence[int],
    finished: Callable[[int, Trace], None] | None,
) -> Decoding:
    """Run the batches, rows of the prompts each, and return what they did, with the settings that all traces share."""
    traces: list[Trace | None] = [None] * len(encoded)
    forwards = 0
    for rows in groups:
        with torch_threads(), torch.inference_mode():
            done = run(rows, [encoded[row].ids for row in rows])
        forwards += done.forwards
        for place, row in enumerate(rows):
            # What stands where no step committed a token: the end of text, or the mask where a run stopped.
            end = None if place in done.stopped else predictor.end_id
            known = settings | done.record.row(place, predictor.mask_id if end is None else end)
            known |= {"logits_dtype": done.logits_dtype, "width": done.width, "offset": done.offsets[place]}
            known |= {"seed": seeds[row], "forwards": known["steps_run"]}
            trace = _trace_of(predictor, encoded[row], scorer, row, known)
            traces[row] = trace
            if finished is not None:
                finished(row, trace)
    return Decoding(tuple(trace for trace in traces if trace is not None), forwards)


def check_models(predictor: object, reward: object) -> None:
    """Raise ValueError, naming the argument, for what is no mask predictor, or no reward model and not None."""
    if not hasattr(predictor, "encode_prompt"):
        raise ValueError(f"predictor is {predictor!r}: a mask predictor is needed, load_predictor(name) gives one")
    if reward is not None and not isinstance(reward, RewardModel):
        raise ValueError(f"reward is {reward!r}: a reward model is needed, load_reward(name) gives one")


def _trace_of(
    predictor: MaskPredictor, prompt: Prompt, scorer: Scorer | None, row: int, known: dict[str, Any]
) -> Trace:
    """Return the trace of a row: what is known of it, with its texts and what its rewards cost."""
    unasked = int((known["reward_use"] == NOT_NEEDED).sum())
    committed = [token for token in known["tokens"].tolist() if token != predictor.mask_id]
    return Trace(
        **known,
        prompt_text=prompt.text,
        text=predictor.decode_answer(committed),
        reward_calls=0 if scorer is None else scorer.calls(row),
        reward_calls_saved=0 if scorer is None else scorer.saved(row) + unasked,
        reward_tokens=0 if scorer is None else scorer.tokens(row),
        reward_tokens_saved=0 if scorer is None else scorer.tokens_saved(row),
        prompt=np.asarray(prompt.ids, dtype=np.int64),
    )


def reward_settings(model: RewardModel) -> dict[str, Any]:
    """Return what a reward's numbers follow from besides the texts."""
    bounds = getattr(model, "bounds", None)
    finite = None if bounds is None else [bound if math.isfinite(bound) else None for bound in bounds]
    return {"mean": model.mean, "std": model.std, "bounds": finite}
