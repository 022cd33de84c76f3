"""RWS whose rewards are centred on those of the run's own drafts, in place of calibrated statistics: rws-centred:1.5.

It needs no calibration of the mean, but its factor does not show how good a run is.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import local

from rws_decode.common.later import Floats, np
from rws_decode.strategies.factors import RWS
from rws_decode.strategies.numbers import check_numbers, checked, number
from rws_decode.strategies.protocol import MaskedPositions

_EQUAL = 1e-9  # calibrated SD: drafts whose rewards lie closer are taken to be equal


class _Past(local):
    """The rewards of the run's steps so far, one array each; every thread and every copy has a list of its own."""

    def __init__(self) -> None:
        self.rewards: list[Floats] = []

    def __reduce__(self) -> tuple[type[_Past], tuple[()]]:
        return _Past, ()


@dataclass(frozen=True)
class RWSCentred:
    """RWS of z = (r - m) / s, with m and s the mean and SD of the rewards of the run's drafts so far, this one's too.

    The factor is s_R sqrt(sigmoid(z) + eps), of each row by itself. s divides by the number of drafts. While all drafts
    have one reward, as the first has, z is 0: the factor is s_R sqrt(1/2 + eps) then.

    reward_scale and eps: as in RWS. sd: 0, or s itself, fixed, in SD of the calibrated reward; the mean runs on.
    Affine changes of the reward change nothing where sd is 0. Steps must come in their order, from 0, as a
    decode's do. ValueError for one that is left out.

    >>> rule = RWSCentred(8.0)
    >>> [rule.factor(MaskedPositions(i, 1, reward=np.array([r]))).round(3).item() for i, r in enumerate([5.0, 7.0])]
    [5.657, 6.84]
    """

    reward_scale: float = number("reward scale s_R, also of what counts", metavar="S", usual=4.0, above=0)
    sd: float = number("SD that divides centred rewards; 0: that of the drafts", metavar="SD", default=0.0, least=0)
    eps: float = checked(1e-5, above=0)
    name = "rws-centred"
    about = "rws of rewards centred on those of the run's own drafts"
    needs_reward = True

    def __post_init__(self) -> None:
        check_numbers(self)
        object.__setattr__(self, "_past", _Past())

    def factor(self, view: MaskedPositions) -> Floats:
        """Return the factor of each row, [rows]; ValueError without rewards, or without those of the steps before."""
        if view.reward is None:
            raise ValueError(f"reward is None: {self.name} needs the normalised reward of every row")
        past: list[Floats] = self._past.rewards  # type: ignore[attr-defined]
        if view.step > len(past) or (view.step and len(past[0]) != view.rows):
            raise ValueError(f"step is {view.step}: {self.name} needs the steps before it, begin a run at step 0")
        past[view.step :] = [np.array(view.reward, np.float64)]
        drafts = np.stack(past)
        centred = drafts[-1] - drafts.mean(axis=0)
        s = np.full(view.rows, self.sd) if self.sd else drafts.std(axis=0)
        z = np.where(s > _EQUAL, centred / np.maximum(s, _EQUAL), 0.0)
        return RWS(self.reward_scale, self.eps).factor(view._replace(reward=z))
