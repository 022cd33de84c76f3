"""EntRGi (Tejaswi et al. 2026, arXiv 2602.05000): the logits of each step climb the gradient of the reward."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from rws_decode.steering.ensemble import Ensemble
from rws_decode.steering.protocol import Choice
from rws_decode.steering.soft_answers import SoftAnswers
from rws_decode.strategies.numbers import number
from rws_theory.checks import finite, one_of, whole

__all__ = ["GradientGuidance", "Mix", "Update"]

Mix = Literal["entropy", "soft", "hard"]
Update = Literal["adam", "plain"]

# Adam's numbers, as PyTorch and the authors' code have them.
_FIRST, _SECOND, _TINY = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class GradientGuidance:
    r"""Before each commit, move the logits of all masked positions up the gradient of the reward (EntRGi, 2602.05000).

    Algorithm 1 of the paper. At each masked position q = softmax(psi / T), x ~ q, and w = H(q) / ln K, K the number of
    tokens but the mask. With its embeddings E the reward model reads e = sum_i q_i E_i + sg(w (E_x - sum_i q_i E_i));
    no gradient goes through sg (Eq. 1). A reward that is a sum over words is its expectation instead. psi begins at the
    predictor's logits in each step, and moves `gradients` times, psi <- psi + eta dR/dpsi. Then the step commits by it.

    mix: "entropy" as above. "soft" has w = 0, the continuous relaxation; "hard" has w = 1, the straight-through
    estimator (APS, 2510.02291). update: "plain" is the line above. "adam", the default, is what the authors' code does
    in its place: Adam, begun anew in each step. Their 3 gradients and eta of 0.5 belong to it. Adam moves a logit by
    about eta whatever the size of its gradient, also those of unlikely tokens.

    No guarantee: the law of the answer is not the tilt p exp(beta R) / Z, whatever the numbers, and the reward need not
    rise. A network reads nothing beyond the likeliest end of text, so positions there stay as they are. The authors'
    code differs in more: H at T = 1, the mask among the K tokens, positions chosen by the predictor's own logits, and
    tokens from the top 0.95 of q. Here the strategy sees the moved logits, as in Algorithm 1.

    Predictor and reward share a vocabulary (`soft_answers.SoftAnswers`). A gradient costs a forward and a backward of
    the reward model, counted in `Cost.gradients`; answers are read one by one. gradients: at least 1. step_size: eta,
    at least 0; 0 is the plain decode. In logits with Adam, else in logits per unit of the raw reward and of q.
    ValueError for others.
    """

    gradients: int = number("gradients of a step", metavar="N", usual=3)
    step_size: float = number("how far a gradient moves the logits", metavar="ETA", default=0.5)
    mix: Mix = number("what the reward model reads: entropy, soft or hard", metavar="NAME", default="entropy")
    update: Update = number("adam or plain", metavar="NAME", default="adam")
    name = "gradient-guidance"
    draws = True
    copies = 1

    def __post_init__(self) -> None:
        whole("gradients", self.gradients, example="GradientGuidance(3)")
        finite("step_size", self.step_size, least=0, example="GradientGuidance(3)")
        for name, value, known in (("mix", self.mix, get_args(Mix)), ("update", self.update, get_args(Update))):
            one_of(name, value, known)

    def forwards(self, steps: int) -> int:
        """Return the forwards of a prompt: one a step, however many gradients there are."""
        return steps

    def run(self, ensemble: Ensemble) -> Choice:
        """Decode to the end, moving the logits of each step."""
        answers = SoftAnswers(ensemble.decoder.predictor, ensemble.scorer.model)
        while ensemble.unfinished:
            ensemble.guide(self._guided(ensemble, answers))
            ensemble.step()
        return Choice(np.zeros(len(ensemble.rngs), np.int64))

    def _guided(self, ensemble: Ensemble, answers: SoftAnswers) -> Tensor:
        """Return the logits of all masked positions, [N, V], each prompt's moved by the reward of its own answer."""
        seen, canvas, scorer = ensemble.look(), ensemble.state.canvas, ensemble.scorer
        tokens = canvas.ids.gather(1, canvas.answer).tolist()
        counts = torch.bincount(seen.row, minlength=len(tokens)).tolist()
        temperature = ensemble.decoder.options.sampling_temperature
        moved = []
        parts = zip(seen.logits.split(counts), seen.position.split(counts), strict=True)
        for slot, (logits, positions) in enumerate(parts):
            row = int(ensemble.rows[slot])
            rest = scorer.rests[row] if scorer.rests else ()
            score = partial(answers.score, scorer.prompts[row], rest, tokens[slot], positions.tolist())
            moved.append(self.climb(logits, score, temperature, ensemble.rngs[slot]) if len(logits) else logits)
            ensemble.gradients += self.gradients * bool(len(logits))
        return torch.cat(moved).to(seen.logits.dtype)

    def climb(
        self, logits: Tensor, score: Callable[[Tensor], Tensor], temperature: float, rng: np.random.Generator
    ) -> Tensor:
        """Return the logits [N, V] of one answer's masked positions, moved `gradients` times.

        score: of mixtures [N, V], the raw reward; rng: draws the hard tokens, a number for each position and gradient.
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
        """Return the shares [N, V] that the reward model reads: q, and as far as w says the hard token."""
        q = torch.softmax(psi / temperature, dim=-1)
        if self.mix == "soft":
            return q
        shares = q.detach()
        ends = shares.double().cumsum(dim=-1)
        points = torch.from_numpy(rng.random((len(shares), 1))).to(ends.device) * ends[:, -1:]
        token = torch.searchsorted(ends, points, right=True).clamp(max=shares.shape[1] - 1)
        away = torch.zeros_like(shares).scatter(1, token, 1.0) - shares
        if self.mix == "entropy":
            tokens = max(shares.shape[1] - 1, 2)
            away = torch.special.entr(shares).sum(dim=-1, keepdim=True) / math.log(tokens) * away
        return q + away
