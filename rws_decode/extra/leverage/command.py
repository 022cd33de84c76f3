"""`rws factor-paths`: how much the factor of RWS would vary, by how poor the first drafts are."""

from __future__ import annotations

GROUP = "Theory"


def factor_paths(
    *, start: tuple[float, ...] = (0.0, -1.0, -2.0, -4.0), noise: float = 0.5, reward_scale: float = 8.0
) -> None:
    """Simulate how much the factor of RWS varies within a run, from the reward statistics that the paper prints.

    Parameters
    ----------
    start
        normalised rewards of the first draft, in SD; the last draft's have mean 0 and SD 1
    noise
        by how many SD a draft lies off the line from first to last
    reward_scale
        s_R
    """
    from rws_decode.extra.leverage.factor_paths import factor_paths as simulated
    from rws_decode.extra.leverage.factor_paths import first_drafts

    for number in start:
        print(simulated(number, noise=noise, reward_scale=reward_scale))
    raw = ", ".join(f"{name} {value:g}" for name, value in first_drafts(min(start)).items())
    print(f"raw reward of a first draft at {min(start):+g} SD: {raw}")
