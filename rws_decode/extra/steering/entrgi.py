"""Tokens by the gradient of the reward: logits moved up it (EntRGi, arXiv 2602.05000), particles sampled by it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from rws_decode.extra.steering.ensemble import Ensemble
from rws_decode.extra.steering.particles import Floats, Particles
from rws_decode.extra.steering.protocol import Choice
from rws_decode.extra.steering.soft_rewards import soft_reward
from rws_decode.predictors.base import MaskPredictor, before_end, ends_of, forbidden_ids, pieces_of
from rws_decode.predictors.world import WorldPredictor
from rws_decode.rewards.base import RewardModel
from rws_decode.strategies.numbers import check_numbers, number
from rws_decode.strategies.protocol import abilities_of, gives_order
from rws_decode.text.dialogue import Dialogue, filled
from rws_theory.checks import one_of

Mix = Literal["entropy", "soft", "hard"]
Update = Literal["adam", "plain"]

# Adam's numbers, as PyTorch and the authors' code have them.
_FIRST, _SECOND, _TINY = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class GradientGuidance:
    r"""Before each commit, move the logits of all masked positions up the gradient of the reward (EntRGi, 2602.05000).

    Algorithm 1 of the paper. At each masked position q = softmax(psi / T), x ~ q, and w = H(q) / ln K, K the number of
    tokens but the mask. With its embeddings E the reward model reads e = sum_i q_i E_i + sg(w (E_x - sum_i q_i E_i));
    no gradient goes through sg (Eq. 1). A reward that is a sum over tokens is its expectation instead. In each step psi
    begins at the predictor's logits and moves `gradients` times, psi <- psi + eta dR/dpsi. Then the step commits by it.

    mix: "entropy" as above. "soft" has w = 0, the continuous relaxation; "hard" has w = 1, the straight-through
    estimator (APS, 2510.02291). update: "plain" is the line above. "adam" (by default) is what the authors' code does
    in its place: Adam, begun anew in each step. Their 3 gradients and eta of 0.5 belong to it. Adam moves a logit by
    about eta whatever the size of its gradient, also those of unlikely tokens.

    No guarantee: the answer's distribution is not p exp(beta R) / Z, whatever the numbers, and the reward need not
    rise. A network reads nothing beyond the likeliest end of text, so positions there stay as they are. The authors'
    code differs in more: H at T = 1, the mask among the K tokens, positions chosen by the predictor's own logits, and
    tokens from the top 0.95 of q. Here the strategy sees the moved logits, as in Algorithm 1.

    Predictor and reward share a vocabulary (`SoftAnswers`). A gradient costs a forward and a backward of the reward
    model, counted in `Cost.gradients`; answers are read one by one. step_size: eta, in logits with Adam, else in logits
    per unit of the raw reward and of q; 0 is the plain decode.
    """

    gradients: int = number("gradients of a step", metavar="N", usual=3, least=1, example="GradientGuidance(3)")
    step_size: float = number(
        "how far a gradient moves the logits", metavar="ETA", default=0.5, least=0, example="GradientGuidance(3)"
    )
    mix: Mix = number(
        "what the reward model reads: entropy, soft or hard",
        metavar="NAME",
        default="entropy",
        check=one_of,
        choices=get_args(Mix),
    )
    update: Update = number("adam or plain", metavar="NAME", default="adam", check=one_of, choices=get_args(Update))
    name = "gradient-guidance"
    follows_gradient = True
    about = "logits moved by N gradients of the reward (EntRGi)"
    draws = True
    orders = False
    copies = 1
    __post_init__ = check_numbers

    def forwards(self, steps: int) -> int:
        """Return the forwards of a prompt: one a step, however many gradients there are."""
        return steps

    def reward_calls(self, steps: int) -> int:
        """Return the gradients of a prompt."""
        return self.gradients * steps

    def run(self, ensemble: Ensemble) -> Choice:
        answers = SoftAnswers(ensemble.decoder.predictor, ensemble.scorer.model)
        temperature = ensemble.decoder.options.sampling_temperature
        while ensemble.unfinished:
            moved = []
            for slot, (logits, score) in enumerate(scores(ensemble, answers)):
                moved.append(self.climb(logits, score, temperature, ensemble.rngs[slot]) if len(logits) else logits)
                ensemble.gradients[slot] += self.gradients * bool(len(logits))
            ensemble.guide(torch.cat(moved).to(ensemble.look().logits.dtype))
            ensemble.step()
        return Choice(np.zeros(len(ensemble.rngs), np.int64))

    def climb(
        self, logits: Tensor, score: Callable[[Tensor], Tensor], temperature: float, rng: np.random.Generator
    ) -> Tensor:
        """Return the logits [N, V] of one answer's masked positions, moved `gradients` times.

        score: the raw reward of mixtures [N, V]; rng: samples the hard tokens, a number for each position and gradient.
        """
        with torch.inference_mode(False), torch.enable_grad():
            psi = logits.detach().to(torch.promote_types(logits.dtype, torch.float32), copy=True)
            first, second = torch.zeros_like(psi), torch.zeros_like(psi)
            for count in range(1, self.gradients + 1):
                psi.requires_grad_()
                reward = score(self.mixtures(psi, temperature, rng))
                slope = torch.zeros_like(psi)
                if reward.requires_grad:
                    (slope,) = torch.autograd.grad(reward, psi, allow_unused=True, materialize_grads=True)
                if self.update == "adam":
                    first = _FIRST * first + (1 - _FIRST) * slope
                    second = _SECOND * second + (1 - _SECOND) * slope**2
                    size = (second / (1 - _SECOND**count)).sqrt() + _TINY
                    slope = first / (1 - _FIRST**count) / size
                psi = (psi + self.step_size * slope).detach()
            return psi

    def mixtures(self, psi: Tensor, temperature: float, rng: np.random.Generator) -> Tensor:
        """Return the shares [N, V] that the reward model reads: (1 - w) q + w times the hard token."""
        q = torch.softmax(psi / temperature, dim=-1)
        if self.mix == "soft":
            return q
        shares = q.detach()
        ends = shares.double().cumsum(dim=-1)
        points = torch.from_numpy(rng.random((len(shares), 1))).to(ends.device) * ends[:, -1:]
        token = torch.searchsorted(ends, points, right=True).clamp(max=shares.shape[1] - 1)
        difference = torch.zeros_like(shares).scatter(1, token, 1.0) - shares
        if self.mix == "entropy":
            tokens = max(shares.shape[1] - 1, 2)
            difference = torch.special.entr(shares).sum(dim=-1, keepdim=True) / math.log(tokens) * difference
        return q + difference


def scores(ensemble: Ensemble, answers: SoftAnswers) -> Iterator[tuple[Tensor, Callable[[Tensor], Tensor]]]:
    """Yield each slot's logits [N, V] at its masked positions, and the raw reward of its answer by mixtures [N, V]."""
    look, canvas, scorer = ensemble.look(), ensemble.state.canvas, ensemble.scorer
    tokens = canvas.ids.gather(1, canvas.answer).tolist()
    counts = torch.bincount(look.row, minlength=len(tokens)).tolist()
    parts = zip(look.logits.split(counts), look.position.split(counts), strict=True)
    for row, own, (logits, positions) in zip(ensemble.rows[ensemble.prompt].tolist(), tokens, parts, strict=True):
        yield logits, partial(answers.score, scorer.prompts[row], scorer.rests[row], own, positions.tolist())


class SoftAnswers:
    """Scores of answers of mixed tokens, in the vocabulary that a predictor and a reward model share.

    Tokens are matched by their names. The shares of special tokens that the reward model lacks count for nothing.
    ValueError for a reward model that reads no mixtures (`soft_reward`), for one that lacks a token which the predictor
    writes, and for a predictor without a vocabulary, or whose words are in another order than those of its text.

    >>> from rws_decode import load_predictor, load_reward
    >>> answers = SoftAnswers(load_predictor("english"), load_reward("keywords:peace"))
    >>> shares = torch.zeros(1, answers.predictor.vocab_size)
    >>> shares[0, answers.predictor.encode_prompt("peace war")] = torch.tensor([0.25, 0.75])
    >>> float(answers.score("we want", [], answers.predictor.encode_prompt("war and war"), [2], shares))
    0.25
    """

    def __init__(self, predictor: MaskPredictor, reward: RewardModel) -> None:
        soft = soft_reward(reward)
        if soft is None:
            raise ValueError(
                f"reward is {reward.name}: gradients need one that reads mixtures of tokens "
                "(steering.SoftReward), such as load_reward('era')"
            )
        self.predictor, self.reward = predictor, soft
        self._reward_ids = _shared(predictor, reward.name, soft.vocabulary)
        self._width = max(soft.vocabulary.values()) + 1
        self._writes: dict[int, bool] = {}
        # Tensors of inference mode would not do for autograd.
        with torch.inference_mode(False):
            self._columns = torch.tensor(list(self._reward_ids), device=predictor.device)
            self._ids = torch.tensor(list(self._reward_ids.values()), device=predictor.device)

    def score(
        self,
        prompt: str | Dialogue,
        rest: Sequence[int],
        tokens: Sequence[int],
        positions: Sequence[int],
        mixtures: Tensor,
    ) -> Tensor:
        """Return the raw score of an answer, a scalar that autograd follows.

        rest: the text after the first gap of a prompt, as `Scorer` has it; tokens: the answer's n ids, of which those
        at `positions` do not count; mixtures: [N, V], the shares of the predictor's tokens at these N positions. The
        text ends where the likeliest tokens end it.
        """
        likely = [int(token) for token in tokens]
        for position, token in zip(positions, mixtures.argmax(dim=-1).tolist(), strict=True):
            likely[position] = token
        # Answer positions as negative numbers: no id is one.
        answer = [-1 - position for position in range(len(likely))]
        places = filled(rest, answer, self.predictor.mask_id) if rest else answer
        text = [likely[-1 - place] if place < 0 else place for place in places]
        until = len(before_end(text, ends_of(self.predictor)))
        written = [column < until and self._is_written(token) for column, token in enumerate(text)]
        mixed = {-1 - position: index for index, position in enumerate(positions)}
        shares = mixtures.new_zeros(len(text), self._width)
        for column, (place, token) in enumerate(zip(places, text, strict=True)):
            if place not in mixed and token in self._reward_ids:
                shares[column, self._reward_ids[token]] = 1.0
        own = mixtures.new_zeros(len(mixtures), self._width).index_add(1, self._ids, mixtures[:, self._columns])
        columns = [column for column, place in enumerate(places) if place in mixed]
        index = [mixed[places[column]] for column in columns]
        shares = shares.index_put((torch.tensor(columns, device=shares.device),), own[index])
        return self.reward.soft_score(prompt, shares, torch.tensor(written, device=shares.device))

    def _is_written(self, token: int) -> bool:
        if token not in self._writes:
            self._writes[token] = token in self._reward_ids and bool(self.predictor.decode_answer([token]))
        return self._writes[token]


def _shared(predictor: MaskPredictor, reward: str, vocabulary: Mapping[str, int]) -> dict[int, int]:
    """Return the reward model's id of each token of the predictor; vocabulary: of the reward model."""
    named, silent = _vocabulary(predictor), set(forbidden_ids(predictor))
    for name, token in sorted(named.items(), key=itemgetter(1)):
        if name not in vocabulary and token not in silent and predictor.decode_answer([token]):
            raise ValueError(
                f"reward is {reward}: it must share the vocabulary of predictor {predictor.name}, and lacks "
                f"its token {name!r}"
            )
    return {token: vocabulary[name] for name, token in named.items() if name in vocabulary}


def _vocabulary(predictor: MaskPredictor) -> Mapping[str, int]:
    """Return the id of each token of the predictor by its name."""
    if isinstance(predictor, WorldPredictor):
        return {word: number for number, word in enumerate(predictor.words.words)}
    codec = getattr(predictor, "tokenizer", None)
    if codec is not None:
        return codec.get_vocab()
    named = {piece: int(token) for token, piece in pieces_of(predictor, range(predictor.vocab_size or 0)).items()}
    if not named or len(named) != predictor.vocab_size:
        raise ValueError(f"predictor is {predictor.name}: it has no tokenizer, and gradients need its vocabulary")
    return named


@dataclass(frozen=True)
class GuidedParticles(Particles):
    r"""Particles sampled from q = p exp(beta dR) / C in place of p, weighted by p / q (Ou et al. 2025, 2505.22524).

    The locally optimal proposal is p exp(beta V) / C. dR is its first-order form: the derivative of the raw reward by
    the share of a token at a masked position, at the greedy completion, whose reward V also is. The weight of a step is
    exp(beta (V_t - V_{t-1})) p / q of the tokens that it commits. So the limit is that of `particles.Particles`, and
    the estimate of Z has no bias, however rough dR is; a good dR needs fewer copies. The authors' code has this
    derivative as an option; its usual one also goes backward through the predictor, from a sampled completion.

    Predictor and reward share a vocabulary (`SoftAnswers`). Each canvas costs a forward and a backward of the
    reward model, counted in `Cost.gradients`. ValueError for a strategy whose order depends on logits, for top_p, top_k
    and end-of-text tokens that wait: there p of a step is not that of its tokens.
    """

    name = "guided-particles"
    follows_gradient = True
    about = "particles drawn by the reward's gradient (optimal proposal)"

    def reward_calls(self, steps: int) -> int:
        """Return the most texts of a prompt, and one gradient for each forward."""
        return super().reward_calls(steps) + self.forwards(steps)

    def run(self, ensemble: Ensemble) -> Choice:
        decoder = ensemble.decoder
        options, strategy = decoder.options, decoder.strategy
        if not gives_order(strategy) or abilities_of(strategy).sensitivity > 0:
            raise ValueError(f"strategy is {strategy!r}: {self.name} needs an order without logits, like random-order")
        for name, value, usual in (("top_p", options.top_p, 1.0), ("top_k", options.top_k, None)):
            if value != usual:
                raise ValueError(f"{name} is {value!r}: {self.name} draws from all tokens, leave it out")
        if decoder.ends.defers:
            raise ValueError(f"end_of_text is {decoder.ends.policy!r}: {self.name} lets no position wait, use 'none'")
        return super().run(ensemble)

    def step(self, ensemble: Ensemble) -> Floats:
        """Sample from q; return ln p / q of what each copy committed, [P, N]."""
        look, masked = ensemble.look(), ensemble.state.masked
        temperature = ensemble.decoder.options.sampling_temperature
        guided = look.logits + (temperature * self.beta * slopes(ensemble)).to(look.logits.dtype)
        ensemble.guide(guided)
        ensemble.step()
        committed = (masked & ~ensemble.state.masked)[look.row, look.position]
        row, canvas = look.row[committed], ensemble.state.canvas
        token = canvas.ids.gather(1, canvas.answer)[row, look.position[committed], None]
        log_p, log_q = (
            (logits[committed].double() / temperature).log_softmax(dim=-1).gather(1, token)[:, 0]
            for logits in (look.logits, guided)
        )
        ratio = log_p.new_zeros(len(masked)).index_add(0, row, log_p - log_q)
        return ratio.reshape(-1, self.n).cpu().numpy()


def slopes(ensemble: Ensemble) -> Tensor:
    """Return the reward's derivatives by the shares of tokens, [N, V], where each copy's text is its best tokens."""
    answers = SoftAnswers(ensemble.decoder.predictor, ensemble.scorer.model)
    slope_of: dict[tuple[int, bytes], Tensor] = {}
    parts = []
    keys = zip(ensemble.prompt.tolist(), ensemble.state.canvas.ids.cpu().numpy(), strict=True)
    for (prompt, ids), (logits, score) in zip(keys, scores(ensemble, answers), strict=True):
        key = (prompt, ids.tobytes())
        if key not in slope_of:
            with torch.inference_mode(False), torch.enable_grad():
                best = torch.zeros_like(logits, dtype=torch.promote_types(logits.dtype, torch.float32))
                shares = best.scatter(1, logits.argmax(dim=-1, keepdim=True).clone(), 1.0).requires_grad_()
                reward = score(shares)
                slope_of[key] = torch.zeros_like(best)
                if reward.requires_grad:
                    (slope_of[key],) = torch.autograd.grad(reward, shares, allow_unused=True, materialize_grads=True)
            ensemble.gradients[prompt] += bool(len(logits))
        parts.append(slope_of[key])
    return torch.cat(parts)
