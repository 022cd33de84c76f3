"""Particles whose words are drawn by the gradient of the reward: the locally optimal proposal, to first order."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rws_decode.steering.ensemble import Ensemble
from rws_decode.steering.entrgi import SoftAnswers, scores
from rws_decode.steering.particles import Floats, Particles
from rws_decode.steering.protocol import Choice
from rws_decode.strategies.protocol import OrderStrategy, sensitivity_of

__all__ = ["GuidedParticles"]


@dataclass(frozen=True)
class GuidedParticles(Particles):
    r"""Particles that draw from q = p exp(beta dR) / C in place of p, and weigh by p / q (Ou et al. 2025, 2505.22524).

    The locally optimal proposal is p exp(beta V) / C. dR is its first-order form: the derivative of the raw reward by
    the share of a token at a masked position, at the greedy completion, whose reward V also is. The weight of a step is
    exp(beta (V_t - V_{t-1})) p / q of the words that it commits. So the limit is the tilt of `particles.Particles`, and
    the estimate of Z has no bias, however rough dR is; a good one needs fewer copies. The authors' code has this
    derivative as an option; its usual one also goes backward through the predictor, from a drawn completion.

    Predictor and reward share a vocabulary (`entrgi.SoftAnswers`). Each canvas costs a forward and a backward of the
    reward model, counted in `Cost.gradients`. ValueError for a strategy whose order looks at logits, for top_p, top_k
    and end-of-text tokens that wait: there p of a step is not that of its words. Numbers: as for `Particles`.
    """

    name = "guided-particles"

    def reward_calls(self, steps: int) -> int:
        """Return the most texts of a prompt, and one gradient for each forward."""
        return super().reward_calls(steps) + self.forwards(steps)

    def run(self, ensemble: Ensemble) -> Choice:
        """Decode to the end, weighing; draw the answer. The estimate of Z has no bias."""
        decoder = ensemble.decoder
        options, strategy = decoder.options, decoder.strategy
        if not isinstance(strategy, OrderStrategy) or sensitivity_of(strategy) > 0:
            raise ValueError(f"strategy is {strategy!r}: {self.name} needs an order without logits, like random-order")
        for name, value, usual in (("top_p", options.top_p, 1.0), ("top_k", options.top_k, None)):
            if value != usual:
                raise ValueError(f"{name} is {value!r}: {self.name} draws from all tokens, leave it out")
        if decoder.ends.defers:
            raise ValueError(f"end_of_text is {decoder.ends.policy!r}: {self.name} lets no position wait, use 'none'")
        return super().run(ensemble)

    def step(self, ensemble: Ensemble) -> Floats:
        """Draw from q; return ln p / q of what each copy committed, [P, N]."""
        seen, masked = ensemble.look(), ensemble.state.masked
        temperature = ensemble.decoder.options.sampling_temperature
        guided = seen.logits + (temperature * self.beta * slopes(ensemble)).to(seen.logits.dtype)
        ensemble.guide(guided)
        ensemble.step()
        gone = (masked & ~ensemble.state.masked)[seen.row, seen.position]
        row, canvas = seen.row[gone], ensemble.state.canvas
        token = canvas.ids.gather(1, canvas.answer)[row, seen.position[gone], None]
        log_p, log_q = (
            (logits[gone].double() / temperature).log_softmax(dim=-1).gather(1, token)[:, 0]
            for logits in (seen.logits, guided)
        )
        ratio = log_p.new_zeros(len(masked)).index_add(0, row, log_p - log_q)
        return ratio.reshape(-1, self.n).cpu().numpy()


def slopes(ensemble: Ensemble) -> Tensor:
    """Return the reward's derivatives by the shares of tokens, [N, V], where each copy's text is its best tokens."""
    answers = SoftAnswers(ensemble.decoder.predictor, ensemble.scorer.model)
    known: dict[tuple[int, bytes], Tensor] = {}
    parts = []
    keys = zip(ensemble.prompt.tolist(), ensemble.state.canvas.ids.cpu().numpy(), strict=True)
    for (prompt, ids), (logits, score) in zip(keys, scores(ensemble, answers), strict=True):
        key = (prompt, ids.tobytes())
        if key not in known:
            with torch.inference_mode(False), torch.enable_grad():
                best = torch.zeros_like(logits, dtype=torch.promote_types(logits.dtype, torch.float32))
                shares = best.scatter(1, logits.argmax(dim=-1, keepdim=True).clone(), 1.0).requires_grad_()
                reward = score(shares)
                known[key] = torch.zeros_like(best)
                if reward.requires_grad:
                    (known[key],) = torch.autograd.grad(reward, shares, allow_unused=True, materialize_grads=True)
            ensemble.gradients[prompt] += bool(len(logits))
        parts.append(known[key])
    return torch.cat(parts)
