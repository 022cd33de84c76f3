"""How a scale path shows itself in a notebook: each different answer once, and at which scales it is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rws_decode.trace.face import known_columns

if TYPE_CHECKING:
    from rws_decode.scales.path import ScalePath


def path_html(path: ScalePath) -> str:
    """Return a scale path as a table of its different answers: scales, share of the axis, reward, order, text."""
    rows = []
    for number, (tokens, pieces) in enumerate(path.answers.items(), start=1):
        first = pieces[0]
        orders = sorted({round(piece.god_steps, 2) for piece in pieces})
        rows.append(
            [
                str(number),
                ", ".join(f"{piece.lower:.4g} to {piece.upper:.4g}" for piece in pieces),
                "" if first.final_reward is None else f"{first.final_reward.raw:.3g}",
                "" if first.log_prob is None else f"{first.log_prob:.2f}",
                " to ".join(f"{order:g}" for order in dict.fromkeys((orders[0], orders[-1]))),
                str(list(tokens)) if first.text is None else first.text,
            ]
        )
    return known_columns(["", "scales", "reward", "log p", "GOD [steps]", "text"], rows, repr(path))
