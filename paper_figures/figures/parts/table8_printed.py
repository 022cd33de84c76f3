"""The paper's Table 8 as a picture: GOD against perplexity as printed, with what is printed of RWS and the default."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from paper_figures.exhibits.evidence_looks import FAMILIES
from paper_figures.exhibits.keyword_ranges import printed_range
from paper_figures.exhibits.labels import Label
from rws_theory.printed import printed_in

_HALF_BOX = 0.1  # of GOD: the paper prints one number, and a box is seen better than a line


def draw_printed(axes: Axes) -> list[Label]:
    """Draw the printed temperatures, the box in which RWS lies, and the default's GOD; return the labels of points."""
    rows = sorted(printed_in("table8_temperature")["rows"], key=lambda row: row["scale"])
    color, rws = FAMILIES["temperature"].color, FAMILIES["rws"].color
    axes.plot([row["god"] for row in rows], [row["perplexity"] for row in rows], "o", color=color, markersize=5.5)
    worst, god = printed_range("worst perplexity of RWS")[0], printed_range("GOD of RWS at every step")[0]
    default = printed_range("GOD of the default")[0]
    low, high = axes.get_ylim()
    low = min(low, worst - 0.9)
    axes.set_ylim(low, high)
    axes.set_xlim(0.5, 2.75)
    axes.add_patch(Rectangle((god - _HALF_BOX, low), 2 * _HALF_BOX, worst - low, color=rws, alpha=0.3, linewidth=0))
    axes.text(god - _HALF_BOX - 0.04, low + 0.05, f"RWS: GOD {god:g},\nperplexity\nat most {worst:g}", color=rws,
              fontsize=8.5, ha="right", va="bottom")  # fmt: skip
    axes.axvline(default, color="black", linewidth=1.0, linestyle=(0, (1, 1)))
    axes.text(default + 0.03, high, f"default: GOD {default:g}", fontsize=8.5, va="top")
    return [Label(row["god"], row["perplexity"], f"c {row['scale']:g}", color) for row in rows]


def printed_pattern() -> str:
    """Return which printed temperatures raise GOD and lower perplexity, and where the paper's numbers disagree."""
    rows = {row["scale"]: row for row in printed_in("table8_temperature")["rows"]}
    default = printed_range("GOD of the default")[0]
    both = [c for c, row in rows.items() if row["god"] > default and row["perplexity"] < rows[1.0]["perplexity"]]
    least = min(both)
    which = f"{least:g} and more" if set(both) == {c for c in rows if c >= least} else ", ".join(f"{c:g}" for c in both)
    return (
        f"On LLaDA, temperatures c of {which} raise GOD and lower perplexity too. The paper prints GOD "
        f"{rows[1.0]['god']:g} for c = 1 and {default:g} for its default, which should be the same."
    )
