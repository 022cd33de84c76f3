"""The page's HTML and style, with places for what `report` fills in; it names nothing outside its own directory."""

from __future__ import annotations

__all__ = ["PAGE"]

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Reward-weighted sampling: figures and tables</title>
<style>
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #ffffff; --rule: #d5d5d5; --soft: #f3f4f6; --link: #0a58a8;
  --printed: #f6efdc; --here: #e6f0f8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --paper: #16181b; --rule: #43474d; --soft: #22252a; --link: #8cc4ff; --printed: #3a3320;
    --here: #1c3040; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 66rem; color: var(--ink); background: var(--paper);
  font: 1rem/1.55 system-ui, "DejaVu Sans", sans-serif; overflow-wrap: break-word; }
a { color: var(--link); }
h1 { font-size: 1.6rem; line-height: 1.25; }
h2 { margin-top: 2.5rem; padding-top: .5rem; border-top: 1px solid var(--rule); font-size: 1.3rem; }
h3 { font-size: 1rem; margin-bottom: .3rem; }
nav a { display: inline-block; margin-right: 1.2rem; padding: .3rem 0; }
figure { margin: 1.2rem 0; }
.wide { overflow-x: auto; margin: 1.2rem 0; }
.wide img { display: block; width: 100%; min-width: 36rem; max-width: 50rem; margin: 0 auto; background: #ffffff;
  border-radius: .3rem; }
figcaption, caption { font-size: .92rem; text-align: left; }
caption { padding-bottom: .5rem; max-width: 60rem; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--rule); text-align: left; white-space: nowrap; }
thead th { background: var(--soft); vertical-align: bottom; white-space: normal; }
thead th.paper, td.paper { background: var(--printed); }
thead th.here, td.here { background: var(--here); }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: .15rem 1.5rem; margin: 0;
  font-size: .9rem; }
dl div { display: flex; gap: .6rem; min-width: 0; }
dt { color: inherit; opacity: .75; flex: none; }
dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
li { margin-bottom: .35rem; }
@media (max-width: 40rem) { body { padding: .7rem; } h1 { font-size: 1.35rem; } ul { padding-left: 1.2rem; }
  caption { max-width: 88vw; } }
</style>
</head>
<body>
<h1>Reward-weighted sampling: figures and tables, beside what the paper printed</h1>
<p>Every number on this page was computed from the runs listed below, or is marked as printed in the paper. Wide figures
and tables scroll sideways on a narrow screen.</p>
<nav>$contents <a href="#runs">Runs</a></nav>
<section>
<h2>What the runs show</h2>
<p>Each line is generated from the data; what it says follows from whether an interval excludes zero.</p>
$conclusions
</section>
$sections
<section id="runs">
<h2>Runs</h2>
$runs
<h3>Results and traces</h3>
$traces
<h3>Made with</h3>
$provenance
</section>
</body>
</html>
"""
