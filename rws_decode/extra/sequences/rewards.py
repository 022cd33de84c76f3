"""Rewards of protein sequences: charge, hydropathy and humanness, exact, and the species that AntiBERTy reads.

They read prompt and answer as one sequence of residues, the parts around a gap too. Means and SDs are those of 128
texts that AntiBERTy wrote from 119 masks in 30 steps, sampled at the commit at sampling temperature 1, with seeds 0 to
127. Many of them mix parts of heavy and of light chains.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rws_decode.checkpoints.files import Checkpoint, device_named, dtype_named, fetch
from rws_decode.checkpoints.packages import PACKAGED, PEPTIDES, distribution_of, quiet
from rws_decode.common.later import np, torch
from rws_decode.common.threads import torch_threads
from rws_decode.extra.packages import read_file
from rws_decode.extra.sequences.alphabets import RESIDUES, alphabet_of
from rws_decode.extra.sequences.chemistry import CHEMISTRY, Entry, check_prompt
from rws_decode.rewards.callable import CallableReward
from rws_decode.rewards.registry import NamedReward
from rws_decode.text.dialogue import Dialogue, as_dialogue
from rws_theory.extras import required

__all__ = ["SPECIES", "charge", "humanness", "hydropathy", "sequence_reward_named", "species_of", "statistics_of"]

# Kyte and Doolittle 1982 (doi:10.1016/0022-2836(82)90515-0), Table 2.
_HYDROPATHY = {
    **{"A": 1.8, "R": -4.5, "N": -3.5, "D": -3.5, "C": 2.5, "Q": -3.5, "E": -3.5, "G": -0.4, "H": -3.2, "I": 4.5},
    **{"L": 3.8, "K": -3.9, "M": 1.9, "F": 2.8, "P": -1.6, "S": -0.8, "T": -0.7, "W": -0.9, "Y": -1.3, "V": 4.2},
}
# pK of the groups that gain a proton, and of those that lose one: the table Epk.dat of EMBOSS (Rice, Longden and
# Bleasby 2000, doi:10.1016/S0168-9525(00)02024-2).
_BASIC, _AMINO_END = {"K": 10.8, "R": 12.5, "H": 6.5}, 8.6
_ACID, _CARBOXYL_END = {"D": 3.9, "E": 4.1, "C": 8.5, "Y": 10.1}, 3.6
_PH = 7.0

# The rows of AntiBERTy's head, in its order, with mean and SD of their log-odds.
SPECIES = {
    **{"camel": (-13.85, 2.79), "human": (2.68, 5.45), "mouse": (-5.25, 5.1)},
    **{"rabbit": (-22.38, 2.77), "rat": (-13.38, 4.54), "rhesus": (-6.7, 5.01)},
}


def charge(sequence: str) -> float:
    """Return the net charge of a protein at pH 7, in elementary charges, each group by itself.

    sum over groups of sign / (1 + 10^(sign (pH - pK))), both ends of the chain among them (Henderson and Hasselbalch).
    ValueError for other characters than residues.
    """
    residues = _residues("charge", sequence)
    basic = [_AMINO_END, *(_BASIC[each] for each in residues if each in _BASIC)]
    acid = [_CARBOXYL_END, *(_ACID[each] for each in residues if each in _ACID)]
    return sum(1 / (1 + 10 ** (_PH - pk)) for pk in basic) - sum(1 / (1 + 10 ** (pk - _PH)) for pk in acid)


def hydropathy(sequence: str) -> float:
    """Return the mean hydropathy of a protein's residues by Kyte and Doolittle, between -4.5 and 4.5 (GRAVY).

    ValueError for other characters than residues.
    """
    residues = _residues("hydropathy", sequence)
    return sum(_HYDROPATHY[each] for each in residues) / len(residues)


def humanness(sequence: str) -> float:
    """Return the share of an antibody's peptides of 9 residues that human antibodies have, between 0 and 1.

    Those are the peptides that a tenth of the human subjects of the Observed Antibody Space have: OASis, by Prihoda et
    al. 2022 (doi:10.1080/19420862.2021.2020203), a table in the package promb. No network is in it. ValueError for what
    is no residue, for fewer than 9, and where promb is not installed.
    """
    residues = _residues("humanness", sequence)
    if len(residues) < 9:
        raise ValueError(f"reward humanness reads {residues!r}: at least 9 residues are needed")
    human = _peptides()
    peptides = np.array([f"{residues[start : start + 9]}\n" for start in range(len(residues) - 8)], dtype=human.dtype)
    return float((human[np.searchsorted(human, peptides).clip(max=len(human) - 1)] == peptides).mean())


@cache
def _peptides() -> Any:
    """Return the peptides, each with the end of its line, in order, as they lie in the file."""
    (path,) = PEPTIDES.files
    data = read_file("reward", PEPTIDES, distribution_of("reward", PEPTIDES), path)
    return np.frombuffer(gzip.decompress(data), dtype="S10")


def species_of(name: str) -> int:
    """Return the row of AntiBERTy's head for `human`, or `species:X` with a name or a number; ValueError for others."""
    species = name.removeprefix("species:")
    if species in SPECIES:
        return list(SPECIES).index(species)
    if species not in map(str, range(len(SPECIES))):
        choices = ", ".join(f"{number} {each}" for number, each in enumerate(SPECIES))
        raise ValueError(f"reward is {name!r:.80}: species:NAME or species:NUMBER is needed, of {choices}")
    return int(species)


EXACT = {
    "charge": Entry(charge, -1.12, 2.5),
    "hydropathy": Entry(hydropathy, -0.363, 0.107),
    "humanness": Entry(humanness, 0.585, 0.0916, (0.0, 1.0)),
    **CHEMISTRY,
}


def check_sequence_reward(name: str) -> None:
    """Raise ValueError for an unknown species, and if the reward's package is not installed."""
    if name == "humanness":
        distribution_of("reward", PEPTIDES)
    elif name in CHEMISTRY:
        required("rdkit", f"reward is {name!r}")
    elif name not in EXACT:
        species_of(name)
        distribution_of("reward", PACKAGED["antibody"])


def statistics_of(name: str) -> tuple[float, float]:
    """Return mean and SD of a sequence's reward, without loading it."""
    return EXACT[name][1:3] if name in EXACT else list(SPECIES.values())[species_of(name)]


def sequence_reward_named(
    name: str, mean: float | None = None, std: float | None = None, *, device: Any = "cpu", dtype: Any = "float32"
) -> CallableReward:
    """Return a reward of proteins or of chemistry by its name, with its own mean and std where none are given.

    ValueError where its package is absent, and as it scores for a prompt with a molecule that does not parse.
    """
    mean, std = (own if value is None else value for own, value in zip(statistics_of(name), (mean, std), strict=True))
    if name not in EXACT:
        return _SpeciesReward(species_of(name), device, dtype, mean, std, name)
    if name in CHEMISTRY:
        required("rdkit", f"reward is {name!r}")

    def score(prompt: str, answer: str) -> float:
        if name in CHEMISTRY:
            check_prompt(name, prompt)
        return EXACT[name].function(prompt + answer)

    return CallableReward(score, mean, std, name, EXACT[name].bounds)


class _SpeciesReward(CallableReward):
    """log p - log(1 - p), p the probability that AntiBERTy's head gives a sequence to be of a species.

    Sequences of one length share a forward, so none is padded.
    """

    def __init__(self, species: int, device: Any, dtype: Any, mean: float, std: float, name: str) -> None:
        import transformers

        from rws_decode.checkpoints.weights import refuse_incomplete

        super().__init__(lambda prompt, answer: self._of([prompt + answer])[0], mean, std, name=name)
        self._species = species
        checkpoint = fetch(Checkpoint("antibody", None, "reward"))
        options = checkpoint.options | {"key_mapping": {r"^cls\.species\.": "classifier."}, "num_labels": len(SPECIES)}
        options |= {"use_safetensors": True, "output_loading_info": True, "dtype": dtype_named(dtype)}
        with quiet(progress=False):
            loaded: Any = transformers.BertForSequenceClassification.from_pretrained(checkpoint.source, **options)
        network, report = loaded
        refuse_incomplete(checkpoint, report)
        alphabet = alphabet_of(Path(checkpoint.source))
        assert alphabet is not None  # its digest was checked
        self._network = network.to(device_named(device)).eval()
        self._tokenizer = alphabet.tokenizer(network.config.max_position_embeddings)

    def score(self, prompts: Sequence[str | Dialogue], answers: Sequence[str]) -> list[float]:
        return self._of([as_dialogue(prompt).text + answer for prompt, answer in zip(prompts, answers, strict=True)])

    @torch_threads()
    def _of(self, sequences: Sequence[str]) -> list[float]:
        name, most = list(SPECIES)[self._species], self._tokenizer.model_max_length - 2
        lengths: dict[int, dict[str, list[int]]] = {}
        for sequence in sequences:
            ids = self._tokenizer(_residues(name, sequence))["input_ids"]
            if len(ids) - 2 > most:
                raise ValueError(f"reward {name} reads {most} residues: the sequence has {len(ids) - 2}")
            lengths.setdefault(len(ids), {})[sequence] = ids
        scores: dict[str, float] = {}
        for rows in lengths.values():
            with torch.inference_mode():
                ids = torch.tensor(list(rows.values()), device=self._network.device)
                logits = self._network(input_ids=ids).logits.double()
            others = torch.cat([logits[:, : self._species], logits[:, self._species + 1 :]], dim=1)
            scores |= zip(rows, (logits[:, self._species] - others.logsumexp(1)).tolist(), strict=True)
        return [scores[sequence] for sequence in sequences]


def _residues(reward: str, sequence: str) -> str:
    """Return a sequence without blanks; ValueError, naming the reward, unless it is made of residues."""
    residues = "".join(sequence.split())
    if not residues or set(residues) - set(RESIDUES):
        raise ValueError(
            f"reward {reward} reads {sequence.strip()[:60]!r}: residues {RESIDUES}, in capitals, are needed"
        )
    return residues


def _source(name: str) -> Any:
    """Return the source of a reward's numbers besides code: RDKit's version, or the files of a package."""
    if name in CHEMISTRY:
        return [name, version("rdkit")]
    if name in ("charge", "hydropathy"):
        return name
    return dict((PEPTIDES if name == "humanness" else PACKAGED["antibody"]).files)


REWARD = NamedReward(sequence_reward_named, check_sequence_reward, _source, statistics_of)
