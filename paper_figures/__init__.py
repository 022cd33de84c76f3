"""Figures and tables of the paper, drawn from traces and results beside what the paper printed.

One module per figure or table; `python -m paper_figures [NAME ...] [--runs DIR] [--out DIR]` writes them and a page
that shows them all. Nothing here decodes or measures: `python -m rws_decode experiment NAME` does.
"""

from __future__ import annotations
