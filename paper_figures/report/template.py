"""The page's HTML, with places for what `report` fills in; it names nothing outside its own directory."""

from __future__ import annotations

from importlib.resources import files

__all__ = ["PAGE", "style"]


def style() -> str:
    """Return the page's style sheet, which becomes part of it."""
    return files("paper_figures.report").joinpath("page.css").read_text(encoding="utf-8")


# The policy refuses whatever a browser might fetch: the page is read without a network, and says so itself.
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>Reward-weighted sampling: the paper's figures and tables, and ours</title>
<link rel="icon" href="data:,">
<style>
$style</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
<h1>Reward-weighted sampling: the paper's figures and tables, and ours</h1>
<p>$setting Every number here was computed, or is marked as printed in the paper.
<a href="#contents">Contents</a>, <a href="#provenance">where the numbers come from</a>.</p>
</header>
<main id="main" tabindex="-1">
<section id="conclusions" aria-labelledby="conclusions-title">
<h2 id="conclusions-title">In plain words</h2>
<p>Each line is generated from the data of the exhibit that it links to; intervals and further findings stand there.
A difference is <em>shown</em> where its 95 % interval excludes zero and its p, corrected over guides or scales where
these are several, is at most 0.05. None shown is not none: intervals say how large it may still be.</p>
<details>
<summary>Words used here</summary>
<dl class="words">
<div><dt>RWS</dt><dd>reward-weighted sampling: at each step all logits are multiplied by one factor, which rises with a
reward model's score of the text so far, up to s_R, the reward scale.</dd></div>
<div><dt>default</dt><dd>confidence decoding: the factor is 1, the most confident positions are committed.</dd></div>
<div><dt>temperature</dt><dd>the same constant factor, or scale, at every step of every answer.</dd></div>
<div><dt>constant of equal mean</dt><dd>a control: at every step the mean of the factors that RWS used in that
answer; what it reaches too is not the reward's doing.</dd></div>
<div><dt>guide, judge</dt><dd>the guide is the reward model that RWS asks; a judge says which of two answers is better:
the guide itself, as in the paper's Table 1, another reward model, or an LLM.</dd></div>
<div><dt>net win rate</dt><dd>prompts won minus prompts lost, in percent of all.</dd></div>
<div><dt>GOD</dt><dd>Generation Order Deviation: how far the order in which tokens are committed is from left to right,
0 where it is that; in tokens or in steps.</dd></div>
<div><dt>coherent</dt><dd>of the story language of the shipped models: no rule of it is broken.</dd></div>
</dl>
</details>
$conclusions
</section>
<nav id="contents" aria-labelledby="contents-title">
<h2 id="contents-title">Contents</h2>
$contents
</nav>
$sections
<section id="provenance" aria-labelledby="provenance-title">
<h2 id="provenance-title">Where the numbers come from</h2>
$provenance
</section>
</main>
<footer>
<p>One file: pictures and tables are part of it, and it needs no network. Links to files (PNG, PDF, CSV, Markdown,
LaTeX, results, traces) lead to the folders beside it.</p>
</footer>
</body>
</html>
"""
