"""`rws models`: the models that can be named, what each is for, and how to have it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from textwrap import wrap

from rws_decode.checkpoints.files import models_directory
from rws_decode.checkpoints.packages import PACKAGED, PEPTIDES, install_command, is_installed
from rws_decode.commands.shown import print_json
from rws_decode.common.files import read_json
from rws_decode.common.plugins import hook, names, package_of
from rws_decode.rewards.registry import PUBLISHED, SHIPPED, SKYWORK_V2

GROUP = "Decode"
_RDKIT = 'pip install "rws-toolkit[chemistry]"'


@dataclass(frozen=True)
class Known:
    """A model that can be named.

    kind: "model", a mask predictor; "reward"; or "causal", a model of texts from left to right. bytes: of its files or
    of the package that brings it, None where a hub holds it. install: the command that brings it, None if it ships.
    """

    name: str
    kind: str
    licence: str | None
    bytes: int | None
    installed: bool
    install: str | None
    about: str


def known_models() -> Iterator[Known]:
    """Yield the models that ship, those that pip installs, the hub's that are known by name, and other packages'."""
    named = {folder: name for name, folder in SHIPPED.items()}
    on_hub, shipped = [], []
    for row in read_json(Path(__file__).with_suffix(".json")):
        (on_hub if row.pop("hub", False) else shipped).append(row)
    for row in shipped:
        files = [path for path in (models_directory() / row["name"]).glob("*") if path.is_file()]
        facts = {"licence": "Apache-2.0", "bytes": sum(path.stat().st_size for path in files), "installed": True}
        yield Known(**row | {"name": named.get(row["name"], row["name"])}, **facts, install=None)
    sequences = hook("sequences")
    for entry in (*PACKAGED.values(), PEPTIDES):
        model = Known(
            entry.name, entry.kind, entry.licence, entry.size, is_installed(entry), install_command(), entry.about
        )
        yield model
        if entry.name == "antibody" and sequences is not None:
            others = ", ".join(f"species:{name}" for name in sequences.SPECIES if name != "human")
            yield replace(model, name="human", kind="reward", about=f"the species that AntiBERTy reads; {others} too")
        if entry.kind == "causal":
            yield replace(model, kind="reward", about="its log-likelihood of the answer per token, nats")
    facts = ("reward", "BSD-3-Clause", None, find_spec("rdkit") is not None, _RDKIT)
    for name, reward in ({} if sequences is None else sequences.CHEMISTRY).items():
        yield Known(name, *facts, reward.about)
    for row in on_hub:
        facts = {"licence": None, "bytes": None, "installed": _is_cached(row["name"])}
        yield Known(**row, **facts, install=f"hf download {row['name']}")
    for reward in (*PUBLISHED.values(), *SKYWORK_V2.values()):
        about = f"{reward.hub_id}, the paper's {reward.paper}" if reward.paper else reward.hub_id
        fetch = f"hf download {reward.hub_id}" + (f" --revision {reward.revision}" if reward.revision else "")
        yield Known(reward.name, "reward", reward.licence or None, None, _is_cached(reward.hub_id), fetch, about)
    for name in names("rws.predictors"):
        yield Known(name, "model", None, None, True, f"package {package_of('rws.predictors', name)}", "")


def _is_cached(hub_id: str) -> bool:
    """Return whether some revision's config.json lies in the hub's cache, which is all that is looked at."""
    from huggingface_hub import constants

    folder = "models--" + hub_id.replace("/", "--")
    return any((Path(constants.HF_HUB_CACHE) / folder).glob("snapshots/*/config.json"))


def models(*, json: bool = False) -> None:
    """List the models that can be named, and how to have each.

    Parameters
    ----------
    json
        print the result as JSON on standard output
    """
    rows = list(known_models())
    if json:
        print_json([{key: value for key, value in asdict(model).items() if key != "about"} for model in rows])
        return
    width = max(len(model.name) for model in rows)
    title = {"": "shipped", "python": f"installed by {install_command()}", "pip": f"RDKit's, by {_RDKIT}"}
    title |= {"hf": "on the hub, by hf download", "package": "offered by other packages that are installed"}
    for how, models in groupby(rows, lambda model: (model.install or "").split(" ")[0]):
        print(f"{title[how]}\n")
        for model in models:
            about = model.about or model.install
            size = "" if not model.bytes else f"{model.bytes / 1e6:.3g} MB"
            print(f"  {model.name:{width}}  {model.kind:6}  {size:>8}  {'here' if model.installed else '-'}")
            text = "; ".join(filter(None, (about, model.licence)))
            print(*wrap(text, 80, initial_indent=" " * 6, subsequent_indent=" " * 6), sep="\n")
        print()
    print("Sizes are of files, or of the package.")
    print("Licences are as the package or the page of the weights names them.")
