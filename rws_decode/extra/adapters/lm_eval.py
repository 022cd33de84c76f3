"""A mask predictor, and any strategy, as a model of lm-evaluation-harness (`lm_eval.api.model.LM`).

    python -m rws_decode.extra.adapters.lm_eval --model rws --model_args model=mini,steps=32 --device cpu --tasks NAME

is the harness's own command line with the model `rws` registered; `--model_args` are the arguments of `RWSLM`. (Its
default device is cuda:0.)
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from rws_decode.cli.options import check_writable
from rws_decode.cli.progress import tell
from rws_decode.common.threads import torch_threads
from rws_decode.decode import decode
from rws_decode.extra.adapters.config import RWSGenerationConfig
from rws_decode.extra.log_prob import strategy_log_prob
from rws_decode.predictors import load_predictor
from rws_decode.predictors.base import MaskPredictor, logits_at
from rws_decode.rewards import load_reward
from rws_decode.rewards.base import RewardModel
from rws_decode.settings import Shape
from rws_decode.strategies.factors import Confidence
from rws_decode.text.dialogue import masks_in
from rws_theory.checks import one_of, whole
from rws_theory.extras import required

try:  # The methods work without the harness, on any requests that have `args`; only running its tasks needs it.
    from lm_eval.api.model import LM  # pyright: ignore[reportMissingImports] - the extra may be absent
    from lm_eval.api.registry import register_model  # pyright: ignore[reportMissingImports]
except ImportError:
    LM, register_model = object, None  # type: ignore[assignment,misc]

_KNOWN = ("until", "max_gen_toks", "do_sample", "temperature")
Request = Any  # `lm_eval.api.instance.Instance`: of it `args` is read, a tuple that each method describes


class RWSLM(LM):  # pyright: ignore[reportGeneralTypeIssues] - the harness's class, or object without it
    """The harness's model interface over `decode.decode` and two likelihoods: a bound, or a strategy's own.

    model: a predictor, or the name of one (`predictors.load_predictor`); reward: a reward model or its name, if the
    strategy needs one; preset: its name (`extra.presets`); config and options: of `config.RWSGenerationConfig`
    (strategy, reward_scale, max_new_tokens, steps, ...). likelihood: "bound", a Monte Carlo estimate as in LLaDA's
    evaluation, or "strategy", the exact log-probability of the answer under the config's strategy
    (`log_prob.strategy_log_prob`), with as many tokens a step as max_new_tokens and steps say. batch_size: canvases
    per forward of the bound (all else batches by memory); max_batch_size: the harness passes it, unused. mc_num:
    samples of the bound, 128 as in LLaDA's evaluation; seed: of the bound and of sampling; check_greedy: whether
    `loglikelihood` also decodes, one forward per token, or says False of every answer; encode: text -> ids without
    special tokens, the predictor's tokenizer if None.

    The predictor encodes prompts (`encode_prompt`), in its chat template if it has one: leave the harness's
    --apply_chat_template off. A special token's name in a context or continuation is plain text.
    Same seed, same results up to rounding, whatever the order and batching of the requests.

    ValueError for a bad option, and for what a request asks that this model does not do.

    >>> from types import SimpleNamespace
    >>> from rws_decode.predictors import CallablePredictor
    >>> import torch
    >>> def ids(text):
    ...     return [int(word) for word in text.split()]
    >>> logits = torch.log(torch.tensor([1.0, 3.0, 0.0]))
    >>> predictor = CallablePredictor(
    ...     lambda canvas: logits.expand(*canvas.shape, 3), mask_id=2, encode=ids, decode=lambda row: str(row[0])
    ... )
    >>> model = RWSLM(predictor, encode=ids, max_new_tokens=1, steps=1, block_length=1)
    >>> model.generate_until([SimpleNamespace(args=("1", {"until": ["0"]}))])
    ['1']
    >>> ((bound, greedy),) = model.loglikelihood([SimpleNamespace(args=("0", " 1"))])
    >>> round(math.exp(bound), 3), greedy
    (0.75, True)
    """

    def __init__(
        self,
        model: MaskPredictor | str = "mini",
        *,
        reward: RewardModel | str | None = None,
        config: RWSGenerationConfig | None = None,
        preset: str | None = None,
        device: str | None = None,
        batch_size: int | str | None = 1,
        max_batch_size: int | None = None,
        likelihood: str = "bound",
        mc_num: int = 128,
        seed: int = 0,
        check_greedy: bool = True,
        encode: Any = None,
        traces: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self.predictor: MaskPredictor = load_predictor(model, device or "cpu") if isinstance(model, str) else model
        self.reward = load_reward(reward, device or "cpu") if isinstance(reward, str) else reward
        if preset is not None:
            if config is not None:
                raise ValueError(f"preset is {preset!r} and config is given, too: give one of them")
            config, options = RWSGenerationConfig.from_preset(preset, self.predictor, **options), {}
        self.config = (RWSGenerationConfig() if config is None else config).update(seed=seed, **options)
        if self.config.make_strategy().needs_reward and self.reward is None:
            raise ValueError(f"reward is None: strategy {self.config.strategy} needs a reward model")
        # The harness also gives "auto" and None, and numbers as text.
        size = int(str(batch_size)) if str(batch_size).isdecimal() else 1
        for name, value in (("batch_size", size), ("mc_num", mc_num)):
            whole(name, value)
        one_of("likelihood", likelihood, ("bound", "strategy"))
        self.likelihood, self.batch_size, self.mc_num = likelihood, size, mc_num
        self.seed, self.check_greedy = seed, check_greedy
        if traces is not None:
            check_writable("traces", Path(traces), "directory")
            if any(Path(traces).glob("*.parquet")):
                raise ValueError(f"traces is {traces}: it holds traces already, name a new folder")
        self.traces = traces
        self._answered = 0  # requests of generate_until so far
        tokenizer: Any = getattr(self.predictor, "tokenizer", None)
        if encode is None and tokenizer is None:
            raise ValueError(f"encode is None: predictor {self.predictor.name} has no tokenizer, give text -> ids")
        plain = {"add_special_tokens": False, "split_special_tokens": True}
        self._encode = encode or (lambda text: tokenizer(text, **plain)["input_ids"])

    @property
    def tokenizer_name(self) -> str:
        """Return the predictor's name, which the harness marks its request caches with."""
        return self.predictor.name.replace("/", "__")

    def generate_until(self, requests: Sequence[Request], disable_tqdm: bool = False) -> list[str]:
        """Decode an answer to each request's context, cut before the first of its stop strings.

        A request is (context, options). until: one stop string or several. max_gen_toks: at most so many of the
        answer's tokens are kept; the canvas is max_new_tokens long in any case. temperature: takes the place of the
        config's if do_sample is true. Another option is a ValueError. A context that comes several times, as tasks with
        repeats ask for it, has the seeds `seed`, `seed` + 1, ... in turn.
        """
        contexts = [request.args[0] for request in requests]
        for context in filter(masks_in, contexts):
            raise ValueError(f"context {context[:60]!r} has a gap: the harness asks for what follows it")
        options = [_options(request.args[1]) for request in requests]
        seeds, repeats = [], Counter[str]()
        for context in contexts:
            seeds.append((self.config.seed + repeats[context]) % 2**63)
            repeats[context] += 1
        answers: list[str] = [""] * len(contexts)
        for temperature in dict.fromkeys(option["temperature"] for option in options):
            rows = [row for row, option in enumerate(options) if option["temperature"] == temperature]
            config = self.config if temperature is None else self.config.update(temperature=temperature)
            row_seeds = tuple(seeds[row] for row in rows)
            prompts, strategy = [contexts[row] for row in rows], config.make_strategy(row_seeds)
            traces = decode(self.predictor, prompts, strategy, **config.decode_options(row_seeds), reward=self.reward)
            for row, trace in zip(rows, traces, strict=True):
                text = self.predictor.decode_answer(trace.tokens.tolist()[: options[row]["max_gen_toks"]])
                text, stops = text or "", options[row]["until"]
                answers[row] = text[: min([len(text), *(text.find(stop) for stop in stops if stop and stop in text)])]
                if self.traces is not None:
                    trace.save(Path(self.traces) / f"{self._answered + row:06d}.parquet")
        self._answered += len(requests)
        for request, answer in zip(requests, answers, strict=True):
            self._remember("generate_until", request, answer)
        return answers

    def loglikelihood(self, requests: Sequence[Request], disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        """Return the log-likelihood of each (context, continuation), and whether greedy decoding gives it.

        The bound is estimated (`likelihood_bound`) from `mc_num` samples. A strategy's log-probability is exact, at the
        config's temperature, or at 1 where that is 0; what the strategy samples besides tokens follows from the seed.
        Greedy decoding is plain confidence decoding, one token per step. Blanks at the end of the context count to the
        continuation, as in the harness's own models.
        """
        pairs = [self._pair(*request.args) for request in requests]
        log_probs = self._log_probs(pairs)
        greedy = self._greedy(pairs) if self.check_greedy else [False] * len(pairs)
        results = list(zip(log_probs, greedy, strict=True))
        for request, result in zip(requests, results, strict=True):
            self._remember("loglikelihood", request, result)
        return results

    def loglikelihood_rolling(self, requests: Sequence[Request], disable_tqdm: bool = False) -> list[float]:
        """Return the log-likelihood of each (text,), with nothing before it, as `loglikelihood` does.

        A text that is longer than the predictor reads is scored in chunks of half that size, each given as much of the
        text before it as fits. Every token is scored once.
        """
        bounds = []
        limit = self.predictor.max_length
        for request in requests:
            ids = list(self._encode(request.args[0]))
            self._check("text", request.args[0], ids)
            chunk = max(1, len(ids) if limit is None or len(ids) <= limit else limit // 2)
            total = 0.0
            for start in range(0, len(ids), chunk):
                part = ids[start : start + chunk]
                before = ids[:start] if limit is None else ids[max(0, start - (limit - len(part))) : start]
                total += self._log_probs([(before, part)])[0]
            bounds.append(total)
            self._remember("loglikelihood_rolling", request, total)
        return bounds

    def _pair(self, context: str, continuation: str) -> tuple[list[int], list[int]]:
        """Return the ids of prompt and continuation, encoded together where the prompt's ids stay the same."""
        prompt = context.rstrip()
        continuation = context[len(prompt) :] + continuation
        alone, together = list(self._encode(prompt)), list(self._encode(prompt + continuation))
        follows = together[: len(alone)] == alone
        answer = together[len(alone) :] if follows else list(self._encode(continuation))
        self._check("continuation", continuation, answer)
        ids = self.predictor.encode_prompt(prompt)
        self._check("context", context, ids)
        return ids, answer

    def _check(self, part: str, text: str, ids: Sequence[int]) -> None:
        if self.predictor.mask_id in ids:
            raise ValueError(f"{part} {text[:60]!r} encodes to the mask token {self.predictor.mask_id}")

    def _log_probs(self, pairs: Sequence[tuple[list[int], list[int]]]) -> list[float]:
        """Return the log-likelihood of each answer given its prompt, in nats: the bound, or the strategy's own."""
        if self.likelihood == "bound":
            options = {"samples": self.mc_num, "batch": self.batch_size, "seed": self.seed}
            return [likelihood_bound(self.predictor, prompt, answer, **options) for prompt, answer in pairs]
        config = self.config.update(temperature=self.config.temperature or 1.0)
        log_probs = [0.0] * len(pairs)
        for rows, prompts, length in self._by_length(pairs):
            seeds = (config.seed,) * len(rows)  # a seed for each row, so that no answer depends on the others
            block = config.block_length if length % config.block_length == 0 else length
            steps = length // block * -(-block * config.steps // config.max_new_tokens)
            forced = strategy_log_prob(
                self.predictor,
                prompts,
                [pairs[row][1] for row in rows],
                config.make_strategy(seeds),
                Shape(length, steps, block),
                reward=self.reward,
                options=replace(config.decode_options(seeds)["options"], drawing="commit"),
            )
            for row, value in zip(rows, forced.log_prob.tolist(), strict=True):
                log_probs[row] = value
        return log_probs

    def _by_length(
        self, pairs: Sequence[tuple[list[int], list[int]]]
    ) -> Iterator[tuple[list[int], list[list[int]], int]]:
        """Yield the rows of each answer length above 0, the ends of their prompts that fit, and the length."""
        for length in sorted({len(answer) for _, answer in pairs if answer}):
            rows = [row for row, (_, answer) in enumerate(pairs) if len(answer) == length]
            room = math.inf if self.predictor.max_length is None else self.predictor.max_length - length
            yield rows, [pairs[row][0][max(0, len(pairs[row][0]) - int(min(room, 2**62))) :] for row in rows], length

    def _greedy(self, pairs: Sequence[tuple[list[int], list[int]]]) -> list[bool]:
        """Return whether confidence decoding, a token per step, gives each answer; batches are of equal length."""
        equal = [not answer for _, answer in pairs]
        for rows, prompts, length in self._by_length(pairs):
            traces = decode(self.predictor, prompts, Confidence(), Shape(length=length, steps=length, block=length))
            for row, trace in zip(rows, traces, strict=True):
                equal[row] = trace.tokens.tolist() == pairs[row][1]
        return equal

    def _remember(self, method: str, request: Request, result: Any) -> None:
        hook = getattr(self, "cache_hook", None)
        if hook is not None:
            hook.add_partial(method, request.args, result)


if register_model is not None:
    RWSLM = register_model("rws")(RWSLM)  # type: ignore[misc]


def likelihood_bound(
    predictor: MaskPredictor, prompt: Sequence[int], answer: Sequence[int], *, samples: int, batch: int, seed: int
) -> float:
    """Estimate a bound on log p(answer | prompt), in nats, from `samples` masked canvases, `batch` at a time.

    With L tokens of answer: E over l uniform on 1 .. L and a uniform set of l masked positions of (L / l) sum over the
    set of log p(token | prompt, tokens that are not masked) <= log p (Nie et al. 2025, Equation 14 and Appendix B.5,
    LLaDA's own evaluation). The values of l are spread evenly from a random start, which keeps each uniform. Exact for
    L = 1, and 0.0 for no tokens. Probabilities are over the whole vocabulary.

    prompt, answer: token ids; a prompt that does not fit loses its beginning. Same ids and seed, same estimate.
    ValueError for an answer that is longer than the predictor reads, and for logits that are not a number.

    >>> from rws_decode.predictors import CallablePredictor
    >>> predictor = CallablePredictor(lambda canvas: torch.zeros(*canvas.shape, 4), mask_id=3)
    >>> round(math.exp(likelihood_bound(predictor, [0], [1, 2], samples=8, batch=4, seed=0)), 6)  # 1/4 each
    0.0625
    """
    length, limit = len(answer), predictor.max_length
    if not length:
        return 0.0
    if limit is not None and len(prompt) + length > limit:
        if length > limit:
            raise ValueError(f"continuation has {length} tokens: {predictor.name} reads at most {limit}")
        prompt = list(prompt)[len(prompt) + length - limit :]
    rng = np.random.default_rng([seed, len(prompt), *prompt, *answer])
    start = int(rng.integers(length))
    counts = [(start + sample * length // samples) % length + 1 for sample in range(samples)]
    text = torch.tensor([*prompt, *answer], dtype=torch.int64, device=predictor.device)
    total = 0.0
    for begin in range(0, samples, batch):
        part = counts[begin : begin + batch]
        masked = torch.zeros(len(part), len(text), dtype=torch.bool)
        for row, count in enumerate(part):
            masked[row, len(prompt) + torch.from_numpy(rng.permutation(length)[:count])] = True
        masked = masked.to(text.device)
        row, column = masked.nonzero(as_tuple=True)
        canvas = torch.where(masked, predictor.mask_id, text)
        with torch_threads(), torch.inference_mode():
            logits = logits_at(predictor, canvas, None, row, column)
            nll = F.cross_entropy(logits.double(), text[column], reduction="none")
        weight = length / torch.tensor(part, dtype=torch.float64, device=text.device)
        total -= float((nll * weight[row]).sum())
    if math.isnan(total):
        raise ValueError(f"predictor {predictor.name} gives a continuation the log-likelihood nan")
    return total / samples


def _options(request: dict[str, Any]) -> dict[str, Any]:
    """Return a request's options, checked, in one shape."""
    for name in request:
        if name not in _KNOWN:
            raise ValueError(f"{name} is {request[name]!r}: of generation options {', '.join(_KNOWN)} are known")
    until = request.get("until") or []
    temperature = request.get("temperature") if request.get("do_sample") else None
    stops = [until] if isinstance(until, str) else list(until)
    return {"until": stops, "max_gen_toks": request.get("max_gen_toks"), "temperature": temperature}


if __name__ == "__main__":
    try:
        harness = required("lm_eval", "python -m rws_decode.extra.adapters.lm_eval")
    except ValueError as error:
        tell(str(error))
        sys.exit(2)
    import_module(f"{harness.__name__}.__main__").cli_evaluate()
