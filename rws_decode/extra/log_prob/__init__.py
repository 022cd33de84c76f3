"""The sampling distribution of a strategy: the log-probability of given texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rws_decode.common.threads import torch_threads
from rws_decode.job import Job, Prompts, as_prompts, check_arguments, prepare, warn_of_unread_words
from rws_decode.predictors.base import MaskPredictor
from rws_decode.rewards.base import RewardModel
from rws_decode.settings import Options, Shape
from rws_decode.step.cached_reward import Scorer
from rws_decode.step.completion import TokenSampler, cut
from rws_decode.step.layers import layered, with_words
from rws_decode.step.step import Decoder, run
from rws_decode.strategies.protocol import Strategy
from rws_decode.text.prompt_ids import encoded
from rws_theory.show import quoted

_DRAWN = Options(sampling_temperature=1.0, drawing="commit")
_MEMORY = 2**30  # bytes that the logits of a batch may take


@dataclass(frozen=True, eq=False)
class TextLaw:
    """The log-probability of each of B texts of n tokens under a strategy.

    log_prob: float64 [B], nats, -inf for a text that it cannot write; step_log_prob: float64 [B, steps], the term of
    each step, 0 where a step commits nothing; commit_step: int64 [B, n], the step, from 0, that commits each token.
    """

    log_prob: NDArray[np.float64]
    step_log_prob: NDArray[np.float64]
    commit_step: NDArray[np.int64]

    def __repr__(self) -> str:
        count, length = self.commit_step.shape
        return f"TextLaw({count} texts of {length} tokens, mean log q {self.log_prob.mean():.2f} nats)"


def strategy_log_prob(
    predictor: MaskPredictor,
    prompts: Prompts | None,
    answers: Prompts,
    strategy: Strategy | str = "default",
    shape: Shape | None = None,
    *,
    canvas: Prompts | Sequence[int] | None = None,
    reward: RewardModel | Callable[..., float] | None = None,
    options: Options = _DRAWN,
    **numbers: Any,
) -> TextLaw:
    r"""Return the log-probability of given answers under a strategy, in nats.

    Each answer is revealed along the strategy's own path. Its log-probability is the sum, over steps t and the
    positions S_t that step t commits, of log softmax(z_i / T)[x_i]: the logits z at the moment of the commit, T the
    sampling temperature; a token that top_p or top_k cuts off has -inf. (For fixed orders: DUEL, arXiv 2603.01367.) The
    probabilities of all texts sum to one (docs/theory.md, "The sampling distribution").

    The sampler chooses positions by the best tokens and then samples the tokens of these positions,
    `Options(drawing="commit")`, as `decode` does with the same options. At T = 0 one text has probability 1. Several
    tokens a step, blocks, gaps, guidance, suppressed and forbidden tokens are included, and so is a reward that moves
    positions. Other random numbers of a strategy (random-order, rws-random) follow from `options.seed`: the
    distribution is conditional on them.

    prompts, canvas, strategy, reward, numbers: as in `decode`; one prompt serves all answers. answers: ids [B, n], or B
    texts of n tokens each. shape: Shape(n) unless given. ValueError for answers of other lengths, for ids that cannot
    be written, for a strategy that masks tokens again, and for options that sample before they choose: then samples
    move the positions, and the probability is no such sum.

    >>> from rws_decode.extra.testing.exact import exact_predictor
    >>> from rws_theory.worlds.joint_table import JointTable
    >>> predictor = exact_predictor(JointTable(np.log([[3.0, 1.0], [1.0, 5.0]])))
    >>> texts = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> for steps in (2, 1):
    ...     np.exp(strategy_log_prob(predictor, [[]], texts, shape=Shape(2, steps, 2)).log_prob).round(2).tolist()
    [0.3, 0.1, 0.1, 0.5]
    [0.16, 0.24, 0.24, 0.36]
    """
    check_arguments(predictor, options, shape)
    if options.drawing != "commit":
        raise ValueError(
            f"drawing is {options.drawing!r}: words that are drawn before positions are chosen move the choice, use "
            "Options(sampling_temperature=1.0, drawing='commit')"
        )
    ids = _ids(predictor, answers)
    shape = Shape(ids.shape[1]) if shape is None else shape
    if ids.shape[1] != shape.length:
        raise ValueError(f"answers have {ids.shape[1]} tokens: shape has length {shape.length}, give as many")
    prompts, canvas = (_for_each(name, rows, len(ids)) for name, rows in (("prompts", prompts), ("canvas", canvas)))
    return _law(prepare(predictor, prompts, strategy, shape, reward, options, numbers, canvas), ids, options)


def _for_each(name: str, values: Any, count: int) -> Any:
    """Return as many prompts, or canvases, as there are answers: a single one is repeated."""
    if values is None:
        return None
    rows = as_prompts(values, name)
    if len(rows) not in (1, count):
        raise ValueError(f"answers are {count}: one for each of {len(rows)} prompts, or one prompt, is needed")
    return rows * (count if len(rows) == 1 else 1)


def _law(job: Job, answers: Tensor, options: Options) -> TextLaw:
    """Return the result of a checked call. answers: int64 [B, n]."""
    predictor, count = job.predictor, len(job.prompts)
    log_p = torch.zeros(count, job.shape.steps, dtype=torch.float64)
    when = torch.full(answers.shape, -1)

    def forced(step: int, row: Tensor, position: Tensor, logits: Tensor) -> Tensor:
        token = answers[row.cpu(), position.cpu()].to(logits.device)
        if bool((token >= logits.shape[-1]).any()):
            raise ValueError(f"answers hold {int(token.max())}: {predictor.name} has ids 0 to {logits.shape[-1] - 1}")
        if (temperature := options.sampling_temperature) > 0:
            logits = cut(logits, temperature, options.top_p, options.top_k).double() / temperature
            nats = logits.log_softmax(dim=-1).gather(1, token[:, None])[:, 0]
        else:
            nats = torch.where(logits.double().max(dim=-1).indices == token, 0.0, -torch.inf).double()
        log_p[:, step].index_add_(0, row.cpu(), nats.cpu())
        when[row.cpu(), position.cpu()] = step
        return token

    sampler = TokenSampler(0.0, 0, count)
    scorer = None if job.asked is None else Scorer(predictor, job.asked, job.prompts)
    decoder = Decoder(predictor, job.strategy, job.shape.plan, options, job.ends, sampler, scorer, count)
    decoder = layered(with_words(decoder, forced))
    for rows in job.batches(options, _MEMORY):
        with torch_threads(), torch.inference_mode():
            run(decoder, decoder.init(rows, [job.prompts[row].ids for row in rows]))
    if job.asked is not None:
        texts = map("{0.text} {1}".format, job.prompts, map(predictor.decode_answer, answers.tolist()))
        warn_of_unread_words(job.asked, texts, predictor.name)
    return TextLaw(log_p.sum(dim=1).numpy(), log_p.numpy(), when.numpy())


def answer_ids(predictor: Any, text: str) -> list[int]:
    """Return the ids of an answer's text by itself, without special tokens."""
    if hasattr(predictor, "unknown_words") and (unknown := predictor.unknown_words(text)):
        raise ValueError(f"answers hold {' '.join(unknown)}: {predictor.name} does not know these words, use others")
    tokenizer = getattr(predictor, "tokenizer", None)
    if tokenizer is None:
        return predictor.encode_prompt(text)
    return list(encoded(tokenizer, text, add_special_tokens=False, split_special_tokens=True)["input_ids"])


def _ids(predictor: MaskPredictor, answers: Any) -> Tensor:
    """Return answers as int64 [B, n]; ValueError, naming one, if they are no ids, or of several lengths."""
    texts = as_prompts(answers, "answers")
    rows: list[Any] = [answer_ids(predictor, one) if isinstance(one, str) else one for one in texts]
    for number, row in enumerate(rows):
        if not isinstance(row, list) or not row or min(row) < 0:
            raise ValueError(f"answers[{number}] is {quoted(texts[number])}: a text, or token ids, are needed")
        if len(row) != len(rows[0]):
            raise ValueError(
                f"answers[{number}] has {len(row)} tokens and answers[0] {len(rows[0])}: one length is needed"
            )
    return torch.tensor(rows)
