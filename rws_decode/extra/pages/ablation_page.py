"""The page of an ablation: verdict, picture, table, and pairs of texts with their runs to scrub."""

from __future__ import annotations

import io
from base64 import b64encode
from html import escape
from typing import TYPE_CHECKING

from rws_decode.common.page import Page
from rws_decode.extra.pages.decode_page import runs_page
from rws_theory.show import table_html

if TYPE_CHECKING:
    from rws_decode.ablation.result import Ablation

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #111; }
table { border-collapse: collapse; } td, th { padding: 2px 12px 2px 0; text-align: left; }
td { font-variant-numeric: tabular-nums; } img { max-width: 100%; }
pre { white-space: pre-wrap; font: inherit; color: #505050; }
iframe { width: 100%; height: 900px; border: 1px solid #e2e2e2; }
blockquote { margin: 0.3rem 0; padding-left: 0.8rem; border-left: 3px solid #e2e2e2; }
"""


def ablation_page(result: Ablation) -> Page:
    """Return one HTML file of an ablation, which asks no network for anything; `Ablation.page` makes it."""
    picture = io.BytesIO()
    result.plot().savefig(picture, format="png", dpi=150)
    image = b64encode(picture.getvalue()).decode("ascii")
    rows = [
        [each.twin, f"{each.difference:+.2f}", f"[{each.low:+.2f}, {each.high:+.2f}]", each.verdict, f"{each.n}"]
        for each in result.comparisons
    ]
    head = ["twin", "difference [SD]", "interval", "verdict", "prompts"]
    parts = [
        f"<h1>{escape(result.line())}</h1>",
        f"<p>{escape(result.strategy)} with the reward {escape(result.reward)}, minus each of its twins.</p>",
        f'<img alt="differences and intervals, as in the table" src="data:image/png;base64,{image}">',
        table_html(head, rows),
        f"<pre>{escape(result.limits())}</pre>",
        "<h2>The twins</h2>",
        "".join(f"<p>{escape(line)}</p>" for line in result.explain().splitlines()),
    ]
    if result.examples:
        parts.append(f"<h2>Texts that differ from those of {escape(result.examples_of)}</h2>")
    for mine, other in result.examples:
        texts = "".join(
            f"<p>{escape(name)}</p><blockquote>{escape(trace.text or '')}</blockquote>"
            for name, trace in ((result.strategy, mine), (result.examples_of, other))
        )
        inside = runs_page([mine, other]).html.replace("&", "&amp;").replace("'", "&#39;")
        prompt = escape(mine.prompt_text or "")
        parts.append(f"<h3>{prompt}</h3>{texts}<iframe title='the two runs, step by step' srcdoc='{inside}'></iframe>")
    body = "\n".join(parts)
    return Page(
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{escape(result.line())}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>{body}</body></html>'
    )
