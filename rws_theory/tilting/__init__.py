"""Compare how tilting by a reward and scaling the logits change a distribution.

Tilting gives p e^{rR} / Z (the paper's Theorem 2), scaling gives p^c / Z (what RWS does). With A(r) = log sum_x p(x)
e^{rR(x)}, A'(r) = E_{p_r}[R] and A''(r) = Var_{p_r}[R]. Scaling is tilting by the "reward" log p at r = c - 1: it knows
nothing of R. Proofs: docs/theory.md, section 8.

States are the last axis. `log_p` are log-probabilities up to a constant (-inf: an impossible state, whose reward is
ignored). `reward` has the shape of `log_p` or broadcasts with it; r and c broadcast with the leading axes. Errors are
stated for n states with eps = 2^-52. M is the largest move m(x) = |log p(x) - log p(x*)| + |r (R(x) - R(x*))| of the
states of probability 1e-320 or more, x* the likeliest state of p_r. A probability is within about eps (n + M) of
itself, whatever constants are added to log p or R.
"""

from __future__ import annotations

import lazy_loader

# The names are in __init__.pyi, once; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
