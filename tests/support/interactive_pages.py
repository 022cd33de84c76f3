"""What is inside an interactive page: its data, its elements, and models whose words try to break it."""

import json
from typing import Any

import torch
from tiny_models import fixed_predictor

from rws_decode import CallablePredictor, Page

HOSTILE = (
    "</script><script>document.title='broken'</script>",
    "<img src=http://example.invalid/x onerror=\"document.title='broken'\">",
    "<!--<script>",
    "&lt;b&gt;'\"",
    "line\nend\t",
    "\u202eesrever\u2028",
    "  ",
    "",
)


def data_of(page: Page) -> Any:
    _, _, rest = page.html.partition('<script type="application/json" id="data">')
    return json.loads(rest.partition("</script>")[0])


def written(values: list[Any]) -> dict[int, Any]:
    return dict(zip(values[::2], values[1::2], strict=True))


def hostile_predictor(length: int = 8) -> CallablePredictor:
    """A predictor whose words are markup, blanks and marks that turn the direction of a text."""
    generator = torch.Generator().manual_seed(5)
    table = torch.randn(length, len(HOSTILE) + 1, generator=generator, dtype=torch.float64)
    texts = {"encode": lambda text: [], "decode": lambda ids: "".join((*HOSTILE, "?")[token] for token in ids)}
    return fixed_predictor(table, mask_id=len(HOSTILE), name="<i>hostile</i>", **texts)
