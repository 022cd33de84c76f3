"""Pictures of what the decoder and the theory return, made with matplotlib: `rws_decode.plots`.

Each function takes an object and returns a figure; the caption below it says, in words, what it shows (`caption`).

A figure belongs to no window and changes no setting of matplotlib. A notebook shows it as the value of its cell, and
`figure.savefig("order.pdf")` writes it. `axes=` draws into axes of a figure of your own instead, in its style and
without a caption. Colours can be told apart by colour-blind readers, and never stand alone.

>>> from rws_decode import plots
>>> from rws_theory import selection_path
>>> figure = plots.selection(selection_path([[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]], 1, 0.1, 10.0), words=["cat", "dog"])
>>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
['cat  0', 'dog  1']
"""

from typing import Any

from rws_decode.common.plugins import NAMES, names, public_name
from rws_decode.view.plots.ablation import ablation
from rws_decode.view.plots.commit_order import order
from rws_decode.view.plots.decode_steps import step, steps
from rws_decode.view.plots.sheet import caption

__all__ = [
    "ablation",
    "caption",
    "order",
    "step",
    "steps",
]


def __getattr__(name: str) -> Any:
    return public_name(__name__, f"plots.{name}")  # what extras draw


def __dir__() -> list[str]:
    extra = (name.partition("plots.") for name in names(NAMES))
    return [*__all__, *(name for before, dot, name in extra if dot and not before)]
