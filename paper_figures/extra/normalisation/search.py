"""Choose what normalises the reward, and a fixed factor, by as many tries on the same validation prompts."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rws_decode.common.later import np, pd

if TYPE_CHECKING:
    from rws_decode import Shape
    from rws_decode.ablation.arms import Models

SCALES = (0.5, 1.0, 1.5, 2.0, 4.0, 8.0)  # s_R
RUNGS = ((84, 6), (28, 18), (8, 48))  # how many settings are tried on how many validation prompts


class Setting(NamedTuple):
    """What normalises the reward, in words, and the same for `ablate`: strategy, mean and SD; those of a factor too."""

    centre: str
    spread: str
    strategy: str
    mean: float
    sd: float

    @property
    def name(self) -> str:
        return f"{self.centre} {self.spread} {self.strategy}".strip()


def rws_settings(mean: float, sd: float, rewards: Sequence[float], drafts: Sequence[Sequence[float]]) -> list[Setting]:
    """Return all settings of RWS: what the reward's mean and SD are those of, and s_R.

    mean, sd: published; rewards: of confidence texts; drafts: of each run's drafts. The SD of drafts is the mean over
    runs of the SD within a run, at least a thousandth of that of texts.
    """
    texts = float(np.std(rewards))
    within = max(float(np.mean([np.std(run) for run in drafts])), texts / 1000)
    spreads = {"SD of texts": texts, "SD of drafts": within, "third of it": within / 3}
    centres = {
        "published": mean,
        "texts": float(np.mean(rewards)),
        "drafts": float(np.mean([np.mean(run) for run in drafts])),
    }
    found = []
    for scale in SCALES:
        found.append(Setting("published", "published SD", f"rws:{scale:g}", mean, sd))
        for spread, own in spreads.items():
            found += [Setting(centre, spread, f"rws:{scale:g}", mean_of, own) for centre, mean_of in centres.items()]
            found.append(Setting("running", spread, f"rws-centred:{scale:g}+sd:{own / sd:.6g}", mean, sd))
        found.append(Setting("running", "running SD", f"rws-centred:{scale:g}", mean, sd))
    return found


def factor_settings(count: int) -> list[Setting]:
    """Return as many fixed factors, from 0.1 to 32 at equal ratios."""
    return [Setting("", "", f"temperature:{c:.6g}", np.nan, np.nan) for c in np.geomspace(0.1, 32, count)]


def described(name: str) -> str:
    """Return the name of a setting of RWS in words.

    >>> described("texts third of it rws:2"), described("running running SD rws-centred:0.5")
    ('s_R 2, mean of texts, SD of drafts / 3', 's_R 0.5, running mean, running SD')
    """
    centre, *spread, strategy = name.split()
    mean = f"{centre} mean" if centre in ("published", "running") else f"mean of {centre}"
    sd = " ".join(spread).replace("third of it", "SD of drafts / 3")
    return f"s_R {strategy.partition(':')[2].partition('+')[0]}, {mean}, {sd}"


class Search:
    """The tries of a cell on its validation prompts, kept in a folder."""

    def __init__(self, models: Models, texts: Sequence[str], shape: Shape, seed: int, folder: Path) -> None:
        from rws_decode.ablation.result import AblationRows

        self.models, self.texts, self.shape, self.seed = models, texts, shape, seed
        parts = [models.predictor.name, models.reward.name, repr(shape), seed, *texts]
        self.rows = AblationRows(folder, hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16])
        self.settings: dict[str, Setting] = {}

    def decode(self, setting: Setting, rows: Sequence[int], arm: str = "") -> list[dict[str, Any]]:
        """Return what the texts of some prompts by a setting are and are worth."""
        from rws_decode import Options, Savings
        from rws_decode.ablation.arms import Models, Task, run_tasks
        from rws_decode.strategies.table import as_strategy

        arm = arm or setting.name
        if new := tuple(row for row in rows if not self.rows.has(row, arm)):
            known = self.models
            if not np.isnan(setting.mean):
                reward = renormalised(known.reward, setting.mean, setting.sd)
                known = Models.of(known.predictor, reward, known.judge, None)
            prompts = tuple(self.texts[row] for row in new)
            how = as_strategy(setting.strategy)
            task = Task(arm, new, prompts, how, self.shape, Options(), Savings(), self.seed)
            run_tasks([task], known, None, self.rows.add)
        self.settings[arm] = setting
        return [self.rows.get(row, arm) for row in rows]

    def chosen(self, most: int | None = None) -> tuple[Setting, Setting]:
        """Return the best setting of RWS and the best fixed factor, each of as many tries on the same prompts."""
        every, reward = range(len(self.texts)), self.models.reward
        plain = Setting("published", "published SD", "default", reward.mean, reward.std)
        finals = [row["reward"] for row in self.decode(plain, every)]
        runs = self.decode(plain._replace(strategy="rws:1"), every, "strategy")
        drafts = [(np.array(run["rewards"]) * reward.std + reward.mean).tolist() for run in runs]
        found = rws_settings(reward.mean, reward.std, finals, drafts)[:most]
        return self._best(found), self._best(factor_settings(len(found)))

    def _best(self, tried: list[Setting]) -> Setting:
        for kept, prompts in RUNGS:
            tried = tried[:kept]
            means = [np.mean([row["reward"] for row in self.decode(each, range(prompts))]) for each in tried]
            tried = [tried[place] for place in np.argsort(-np.array(means), kind="stable")]
        return tried[0]

    def frame(self) -> pd.DataFrame:
        """Return a row for each try of a setting on a prompt."""
        rows = [row for row in self.rows if row["arm"] != "strategy"]
        frame = pd.DataFrame(measured(row) for row in rows).assign(setting=[row["arm"] for row in rows])
        settings = pd.DataFrame([self.settings[name] for name in frame["setting"]], index=frame.index)
        return frame.assign(**{name: settings[name] for name in ("strategy", "mean", "sd")})


def renormalised(reward: Any, mean: float, sd: float) -> Any:
    """Return the same reward model with another mean and SD."""
    other = copy.copy(reward)
    other.mean, other.std = mean, sd
    return other


def measured(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a text is worth and cost, with mean and variation of its run's factors."""
    factors = np.array(row.get("factors") or [np.nan])
    kept = {name: row[name] for name in ("prompt", "arm", "reward", "judge", "log_prob", "forwards", "reward_calls")}
    kept["log_prob"] = np.nan if row["log_prob"] is None else row["log_prob"]
    return kept | {
        "tokens": tuple(row["tokens"]),
        "factor": factors.mean(),
        "variation": factors.std() / factors.mean(),
    }
