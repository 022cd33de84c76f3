"""`rws factor-paths`: how much the factor of RWS would vary within a run, by how poor the first drafts are."""

from __future__ import annotations

from rws_decode.commands.shown import print_json

GROUP = "Theory"


def factor_paths(
    *,
    start: tuple[float, ...] = (0.0, -1.0, -2.0, -4.0),
    noise: float = 0.5,
    reward_scale: float = 8.0,
    json: bool = False,
) -> None:
    """Simulate how much the factor of RWS varies within a run whose drafts begin poor, for the paper's reward models.

    Parameters
    ----------
    start
        normalised rewards of the first draft, in SD; those of last drafts have mean 0 and SD 1
    noise
        by how many SD a draft lies off the line from first to last
    reward_scale
        s_R
    json
        print the result as JSON on standard output
    """
    from rws_decode.extra.leverage.factor_paths import factor_paths as simulated
    from rws_decode.extra.leverage.factor_paths import first_drafts

    results = [simulated(number, noise=noise, reward_scale=reward_scale) for number in start]
    if json:
        print_json([paths.as_json() | {"first_drafts": first_drafts(paths.start)} for paths in results])
        return
    for paths in results:
        print(paths)
    raw = ", ".join(f"{name} {value:g}" for name, value in first_drafts(min(start)).items())
    print(f"raw reward of a first draft at {min(start):+g} SD: {raw}")
