"""Pictures of what the decoder and the theory return, drawn with matplotlib: `rws_decode.plots`.

Each function takes an object and returns a figure; the caption below it says, in words, what it shows (`caption`).

- `order` : when each position of an answer was committed, of one trace or of two side by side.
- `order_map` : when each position was committed, over many prompts, a strategy beside others.
- `order_spread`, `entropy_left` : one text in several orders; what is open as tokens are committed.
- `step`, `steps` : what one step ranked and committed; the reward and the factor of every step.
- `confidence_curves` : the exact confidence of positions at every scale, with the proved crossings.
- `selection` : which positions are among the k most confident at each scale.
- `scale_path` : every answer that any temperature or reward scale gives, in lanes.
- `reward_against_scale` : the reward of these answers along the axis.
- `stability` : how far the scale may move at each step before other positions are chosen.
- `threshold_counts` : how many positions reach a threshold at each scale.
- `frontier` : how far texts lie from the best log-probability of their reward, in an exact world.
- `intervals` : numbers with their intervals against another number, a line for each series.
- `reversal_shares` : how often the order of two positions reverses, with intervals and limits.

A figure belongs to no window and changes no setting of matplotlib. A notebook shows it as the value of its cell, and
`figure.savefig("order.pdf")` writes it. `axes=` draws into axes of a figure of your own instead, in its style and
without a caption. Colours can be told apart by colour-blind readers, and never stand alone.

>>> from rws_decode import plots
>>> from rws_theory import selection_path
>>> figure = plots.selection(selection_path([[1.1, 0.6, 0.3], [1.0, 0.4, 0.4]], 1, 0.1, 10.0), words=["cat", "dog"])
>>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
['cat  0', 'dog  1']
"""

from __future__ import annotations

from rws_decode.view.plots.commit_order import order
from rws_decode.view.plots.decode_steps import step, steps
from rws_decode.view.plots.frontiers import frontier
from rws_decode.view.plots.intervals import intervals, reversal_shares
from rws_decode.view.plots.order_maps import entropy_left, order_map, order_spread
from rws_decode.view.plots.scales.curves import confidence_curves
from rws_decode.view.plots.scales.scale_paths import reward_against_scale, scale_path
from rws_decode.view.plots.scales.selected import selection, stability, threshold_counts
from rws_decode.view.plots.sheet import caption

__all__ = [
    "caption",
    "confidence_curves",
    "entropy_left",
    "frontier",
    "intervals",
    "order",
    "order_map",
    "order_spread",
    "reversal_shares",
    "reward_against_scale",
    "scale_path",
    "selection",
    "stability",
    "step",
    "steps",
    "threshold_counts",
]
