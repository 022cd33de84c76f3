"""The page as one HTML text: the model packed into it, the engine, and what shows it."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rws_decode.checkpoints.files import models_directory
from rws_decode.common.page import Page
from rws_decode.extra.pages.template import part, read_part
from rws_theory.checks import one_of

_SHARED = ("shared.js", "lines.js", "axis.js")  # of rws_decode.extra.pages
_SCRIPTS = ("unpack.js", "engine.js", "trace.js", "view.js", "parts.js", "away.js")
_OWN = {"english": ("chain.js", "model_english.js"), "mini": ("network.js", "model_mini.js")}
_KNOWN = {
    "english": "The model is a 4-gram model of speeches of US presidents: 3,000 words and exact probabilities. "
    "It reads the last three words of the prompt.",
    "mini": "The model is a masked diffusion network of 2.2 million weights. It writes stories of a toy language "
    "of 1,616 words, and another network is the reward model. Prompts look like the one above.",
}
_START = {
    "english": {
        "prompt": "our commerce and manufactures have been prosecuted with energy",
        "length": 16,
        "steps": 8,
        "strategy": "rws:8",
        "reward": "era",
    },
    "mini": {
        "prompt": "write a short environment story with reckless , windmills , meadow and frost .",
        "length": 32,
        "steps": 16,
        "strategy": "rws:8",
        "reward": "mini",
    },
}


def playground_page(model: str = "english", other: str | None = None) -> Page:
    """Return the page on which a reader decodes with a shipped model, in the browser and without a network.

    model: "english", the 4-gram model of speeches; or "mini", the network, with its reward model. ValueError for
    another. other: address of the page with the other model, which the page then links to.
    """
    one_of("model", model, tuple(_OWN))
    data = {"english": english, "mini": mini}[model]() | {"start": _START[model]}
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    to_other = "with a network" if model == "english" else "with exact probabilities"
    link = "" if other is None else f' <a href="{escape(other)}">The same {to_other}</a>.'
    log_prob = '<th scope="col">log p [nats]</th>' if model == "english" else ""
    own = [_own(name) for name in (*_SCRIPTS, *_OWN[model], "page.js")]
    html = part(
        "page.html",
        title="Playground: decode it yourself",
        style=read_part("page.css") + _own("page.css"),
        body=Template(_own("page.html")).substitute(known=escape(_KNOWN[model]), log_prob=log_prob, other=link),
        plain="It needs JavaScript: the model runs in your browser.",
        data=text.replace("<", "\\u003c"),
        script="\n".join([*map(read_part, _SHARED), *own]),
    )
    return Page(html)


def site_pages() -> dict[str, str]:
    """Return the pages that the documentation site has of this extra, by their names."""
    first, second = "playground.html", "playground-mini.html"
    return {first: playground_page("english", second).html, second: playground_page("mini", first).html}


def packed(arrays: Mapping[str, NDArray[np.generic]]) -> dict[str, Any]:
    """Return arrays as the page reads them: name, dtype and size of each, and the deflated bytes of all in base64.

    Those of items of 8 bytes come first, then of 4, then of 2, so that each begins at a multiple of its item's size.
    The bytes of an array stand plane by plane, all first bytes before all second ones, which deflates better.
    """
    ordered = sorted(arrays.items(), key=lambda item: -item[1].dtype.itemsize)
    planes = [np.ascontiguousarray(array).view(np.uint8).reshape(array.size, -1).T.tobytes() for _, array in ordered]
    names = [[name, array.dtype.name, array.size] for name, array in ordered]
    return {"arrays": names, "bytes": b64encode(zlib.compress(b"".join(planes), 9)).decode("ascii")}


def english() -> dict[str, Any]:
    """Return the 4-gram model of speeches, its words, its rewards and its prompts."""
    folder = models_directory() / "english"
    with np.load(folder / "world.npz", allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    words, rewards, examples = (
        json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in ("words", "rewards", "examples")
    )
    prompts = [example["prompt"] for example in examples if example["kind"] == "opening"]
    return {"model": "english", "chain": packed(arrays), "words": words, "rewards": rewards, "prompts": prompts}


def mini() -> dict[str, Any]:
    """Return the network of the toy story language, its reward model, its words and its prompts."""
    from safetensors.numpy import load_file

    from rws_decode import load_reward
    from rws_decode.rewards.base import bounds_of

    def weights(name: str) -> dict[str, Any]:
        halves = load_file(models_directory() / name / "model.safetensors")
        return packed({key: array.view(np.uint16).ravel() for key, array in halves.items()})

    config, tokenizer, examples = (
        json.loads((models_directory() / "mini" / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("config", "tokenizer", "examples")
    )
    vocabulary, judge = tokenizer["model"]["vocab"], load_reward("mini")
    return {
        "model": "mini",
        "network": weights("mini"),
        "judge": weights("mini-reward"),
        "heads": config["num_attention_heads"],
        "reward": {"mean": judge.mean, "std": judge.std, "bounds": bounds_of(judge)},
        "words": sorted(vocabulary, key=vocabulary.__getitem__),
        "prompts": [example["prompt"] for example in examples if example["length"] <= 64],
    }


def _own(name: str) -> str:
    return files("rws_decode.extra.playground").joinpath(name).read_text(encoding="utf-8")
