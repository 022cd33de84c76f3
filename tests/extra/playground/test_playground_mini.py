"""The network in the page against Python's: tokens and commit steps but for float32's near-ties, and rewards."""

import json
from typing import Any

import numpy as np
import pytest
import torch
from chromium import Chromium
from proved_crossings import missed_crossings
from test_playground_engine import DECODE

from rws_decode import Shape, decode, load_predictor, load_reward
from rws_decode.extra.playground.page import playground_page
from rws_decode.predictors import forbidden_ids


def compare(browser: Chromium, folder: pytest.TempPathFactory, examples: list[int], shapes: list[Shape]) -> int:
    predictor: Any = load_predictor("mini")
    reward = load_reward("mini")
    page = playground_page("mini")
    assert len(page.html.encode()) < 12e6
    tab = browser.open(page.save(folder.mktemp("mini") / "mini.html").as_uri(), width=1280)
    texts = ["Write a Story, zzz .", "who: was [MASK] the [EOS]?", "a\u2003b\tc", ""]
    read = tab.evaluate(f"loadModel().then(model => {json.dumps(texts)}.map(text => model.read(text).ids))")
    assert read == [predictor.encode_prompt(text)[1:-1] for text in texts]
    prompts, otherwise, missed = [predictor.prompts[example] for example in examples], 0, 0
    for shape in shapes:
        for strategy in ("default", "rws:8"):
            run = decode(predictor, prompts, strategy, shape, reward=reward)
            for prompt, trace in zip(prompts, run, strict=True):
                job = {"prompt": prompt, "strategy": strategy, "reward": "mini", "length": shape.length}
                job |= {"steps": trace.steps, "block": trace.block}
                found = tab.evaluate(f"({DECODE})({json.dumps(job)})")
                same = found["tokens"] == trace.tokens.tolist() and found["commit"] == trace.commit_step.tolist()
                assert same or any(found["near"]) or trace.near_ties.any() or trace.near_tokens.any(), (
                    prompt,
                    strategy,
                )
                otherwise += not same
                if same:
                    assert trace.final_reward is not None
                    np.testing.assert_allclose(found["reward"], trace.final_reward["raw"], atol=1e-4)
                    ids = predictor.encode_prompt(prompt)
                    logits = predictor.logits(torch.tensor([[*ids, *found["before"]]]), None)[0, len(ids) :]
                    logits = logits.detach().index_fill(1, torch.tensor(forbidden_ids(predictor)), -torch.inf)
                    rows = logits[found["places"][:4]].double().numpy()
                    missed += missed_crossings(rows, found["crossings"], rtol=1e-3)
    assert tab.messages == [] and missed <= 1
    return otherwise


def test_the_network_decodes_as_python_does(browser: Chromium, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert compare(browser, tmp_path_factory, [0, 70], [Shape(16, 4)]) == 0


@pytest.mark.long
def test_the_network_decodes_as_python_does_at_length(
    browser: Chromium, tmp_path_factory: pytest.TempPathFactory
) -> None:
    otherwise = compare(browser, tmp_path_factory, list(range(0, 112, 8)), [Shape(32, 16), Shape(64, 32)])
    assert otherwise <= 3
