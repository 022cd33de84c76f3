"""Figures and tables of the paper, made from traces and results, beside what the paper printed.

One module per figure or table: `exhibit` computes it from the runs below a directory, draws it and says what follows;
NEEDS names the experiments whose results it reads, of those in `plan.PLAN`. `rws figures [NAME ...] [--runs DIR]
[--out DIR]` writes them and a page that shows them all. Nothing here decodes or measures: the experiments of `rws
experiment NAME` do, and those whose results are absent are run first, in the sizes of `plan.PLAN`.
"""

from __future__ import annotations
