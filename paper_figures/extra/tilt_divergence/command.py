"""`rws steering`: how far each method is from the reward-tilted distribution, at budgets of forwards."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, cast

from rws_decode.cli.options import json_option, option
from rws_decode.cli.progress import each
from rws_decode.commands.shown import table
from rws_decode.steering import METHODS
from rws_decode.strategies.table import check_text

if TYPE_CHECKING:
    import pandas

GROUP = "Study"
_USUAL = "default rws:8 random-order best-of soft-best-of particles guided-particles particle-gibbs svdd tree-search"


@dataclass(frozen=True)
class SteeringOptions:
    """The methods, the budgets, and the number of samples."""

    methods: tuple[str, ...] = option(
        tuple(_USUAL.split()), "strategies with their numbers, and steering methods by name alone", metavar="NAME"
    )
    budgets: tuple[int, ...] = option((16, 64), "forwards for one answer of 4 tokens", metavar="F", least=1)
    beta: float = option(1.5, "weight of the reward, per SD of it", metavar="B")
    models: int = option(4, "exact models of 81 texts, sampled by their number", least=2)
    draws: int = option(1000, "answers that each method samples of a model", least=1)
    seed: int = option(0, "of the samples", least=0)
    json: bool = json_option()

    def __post_init__(self) -> None:
        for name in self.methods:
            if name not in METHODS:
                check_text(name, "--methods")


def steering(options: SteeringOptions) -> None:
    """Measure how far methods are from the reward-tilted distribution, at budgets of forwards.

    `--json`: a list of `divergence.Divergence` of this extra, one for each model, method and budget.
    """

    import pandas as pd

    from paper_figures.extra.tilt_divergence.divergence import divergences

    steered = sum(name in METHODS for name in options.methods)
    total = options.models * (1 + len(options.methods) - steered + steered * len(options.budgets))
    made = divergences(
        range(options.models),
        options.methods,
        options.budgets,
        beta=options.beta,
        draws=options.draws,
        seed=options.seed,
    )
    rows = [asdict(row) for row in each(made, "steering", total, "distribution")]
    frame = pd.DataFrame(rows)
    print(json.dumps(rows, allow_nan=False) if options.json else _text(frame, options))


def _text(frame: pandas.DataFrame, options: SteeringOptions) -> str:
    head = (
        f"KL to p exp({options.beta:g} R) / Z in nats, mean over {options.models} models of 81 texts (standard error); "
        "reward in SD over texts of p, log p in nats, forwards and reward calls for one answer, equal canvases of it "
        f"once; budget: the most forwards, if none were equal. Each distribution is that of {options.draws} answers; "
        "exact draws shows the least KL that so many can have."
    )
    lines: list[list[str]] = []
    for key, part in frame.fillna({"budget": 0}).groupby(["method", "budget"], sort=False):
        method, budget = cast("tuple[str, float]", key)
        lines.append([method, str(int(budget)) if budget else "-", *_cells(part)])
    measures = ["budget", "KL", "reward", "log p", "forwards", "reward calls"]
    return "\n".join([*textwrap.wrap(head, 110), "", table(["", *measures], lines)])


def _cells(part: Any) -> list[str]:
    error = part["kl"].std(ddof=1) / len(part) ** 0.5
    means = {name: part[name].mean() for name in ("kl", "reward", "log_prob", "forwards", "reward_calls")}
    kl = f"{means['kl']:.3f} ({error:.3f})"
    return [kl, f"{means['reward']:.2f}", f"{means['log_prob']:.2f}", *(f"{means[n]:.1f}" for n in list(means)[3:])]
