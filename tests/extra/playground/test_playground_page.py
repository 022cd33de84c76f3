"""The playground in a browser: what a reader does on it, what it says of bad input, how it looks, what it asks for."""

import base64
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from chromium import CONTRASTS, Chromium, Tab

from rws_decode import Options, Shape, decode, load_predictor, load_reward, load_trace
from rws_decode.__main__ import main
from rws_decode.extra.playground.page import playground_page

PROMPT = "our commerce and manufactures have been prosecuted with energy"
DECODED = "document.getElementById('answer').dataset.tokens"
COMMITTED = "document.getElementById('answer').dataset.commitStep"
DIVERGES = "#prompt=the%20means%20at%20the%20command%20of%20the%20local&length=16&steps=8&strategy=rws:8"
DRAGGED = (
    "(field => {{ field.value = {}; field.dispatchEvent(new Event('input')); }})(document.getElementById('factor'))"
)
TYPED = "(field => {{ field.value = {}; field.dispatchEvent(new Event('input')); }})(document.getElementById('prompt'))"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    return playground_page().save(tmp_path_factory.mktemp("page") / "playground.html").as_uri()


def opened(browser: Chromium, address: str, width: int = 1280, **how: Any) -> Tab:
    tab = browser.open(address, width=width, **how)
    tab.until(DECODED)
    return tab


def text(tab: Tab, element: str) -> str:
    return tab.evaluate(f"document.getElementById('{element}').textContent")


def click(tab: Tab, element: str) -> None:
    tab.evaluate(f"document.getElementById('{element}').click()")


def test_the_command_writes_a_page_within_its_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["playground", "-o", str(tmp_path / "page.html")]) == 0
    assert (tmp_path / "page.html").stat().st_size < 4e6
    assert main(["playground", "-o", str(tmp_path / "page.txt")]) == 2
    assert "FILE.html" in capsys.readouterr().err


def test_the_fragment_is_decoded_at_load_and_nothing_is_asked_of_a_network(browser: Chromium, address: str) -> None:
    tab = opened(browser, f"{address}#prompt={quote(PROMPT)}&length=16&steps=16&strategy=rws:8")
    (trace,) = decode(load_predictor("english"), [PROMPT], "rws:8", Shape(16, 16), reward=load_reward("era"))
    assert json.loads(tab.evaluate(DECODED)) == trace.tokens.tolist()
    assert json.loads(tab.evaluate(COMMITTED)) == trace.commit_step.tolist()
    assert tab.messages == [] and [url for url in tab.requests if not url.startswith("file:")] == []


BAD = {
    "prompt=%E0%A4%A": "broken",
    "length=many": "whole number",
    "length=0": "from 1 to",
    "length=999": "at most 64",
    "length=16&steps=17": "steps is 17",
    "strategy=wino:0.6": "strategy",
    "strategy=rws:-1": "positive number",
    "strategy=%3Cimg%20src=x%20onerror=alert(1)%3E": "<img",
    "reward=keywords:zzzz": "does not know the keyword",
    "reward=mini": "reward is",
    "colour=red": "colour",
    f"prompt={'peace%20' * 10000}": "characters",
    f"prompt={'a%20' * 10000}": "10,000 words",
    "prompt=%5BMASK:3%5D": "gaps",
}


def test_bad_input_gets_a_line_and_the_page_goes_on(browser: Chromium, address: str) -> None:
    tab = browser.open(f"{address}#{next(iter(BAD))}", width=390)
    for fragment, message in BAD.items():
        tab.evaluate(f"location.hash = {json.dumps(fragment)}")
        tab.until("!document.getElementById('problem').hidden")
        assert message in text(tab, "problem") and len(text(tab, "problem")) < 250, fragment
        assert tab.evaluate("document.images.length") == 0 and tab.messages == []
        tab.evaluate("location.hash = 'prompt=peace&length=2&steps=2&strategy=default'")
        tab.until(f"document.getElementById('problem').hidden && {DECODED}")


@pytest.mark.parametrize(
    ("ask", "prompt"), [("document.getElementById('away').click()", "peace"), (TYPED.format("'we ask '"), "we%20ask")]
)
def test_what_is_asked_during_the_first_decode_is_kept(ask: str, prompt: str, browser: Chromium, address: str) -> None:
    tab = browser.open(f"{address}#prompt=peace&length=32&steps=32&strategy=rws:8", width=1280)
    assert tab.evaluate(f"{DECODED} === undefined")
    tab.evaluate(ask)
    tab.until(f"location.hash.includes('{prompt}') && {DECODED}")
    assert f"prompt={prompt}" in tab.evaluate("location.hash") and "length=32" in tab.evaluate("location.hash")
    assert tab.evaluate("document.getElementById('problem').hidden") and tab.messages == []


def test_unknown_words_and_markup_are_named_and_shown_as_text(browser: Chromium, address: str) -> None:
    tab = opened(browser, f"{address}#prompt={quote('<b>zyzzyva</b> of the people')}&length=8&steps=8&strategy=default")
    assert "zyzzyva" in text(tab, "known") and "does not know" in text(tab, "known")
    assert tab.evaluate("document.querySelector('#known b, #python b') === null")
    strange = "peace \U0001f54a and \u043c\u0438\u0440"
    tab = opened(browser, f"{address}#prompt={quote(strange)}&length=8&steps=8")
    assert "ignores \u201c\U0001f54a\u201d, \u201c\u043c\u0438\u0440\u201d" in text(tab, "known")
    tab = opened(browser, f"{address}#prompt={'x' * 31}&length=8&steps=8")
    assert f"\u201c{'x' * 30}\u2026\u201d" in text(tab, "known")
    tab = opened(browser, f"{address}#prompt=&length=8&steps=8")
    assert text(tab, "known") == "The prompt is empty: the text begins freely."


def test_half_a_character_and_too_many_words_can_be_typed(browser: Chromium, address: str) -> None:
    tab = opened(browser, address)
    tab.evaluate(TYPED.format("'peace \\ud800 and'"))
    tab.until(f"location.hash.includes('%EF%BF%BD') && {DECODED}")
    tab.evaluate(TYPED.format("'war '.repeat(4000)"))
    tab.until("document.getElementById('problem').textContent.includes('4,000 words')")
    assert tab.messages == []


def test_words_complete_as_one_types(browser: Chromium, address: str) -> None:
    tab = opened(browser, address)
    tab.evaluate(
        "(field => { field.value = 'we ask cong'; field.selectionStart = 11; field.focus();"
        "field.dispatchEvent(new Event('input')); })(document.getElementById('prompt'))"
    )
    assert text(tab, "completions").startswith("congress")
    # Half a word is neither decoded nor complained of, until its field is left; what stands below keeps its place.
    typed = TYPED.format("'we ask congr'")
    waits = f"(real => {{ const all = []; setTimeout = (run, ms) => {{ all.push(ms); return real(run, ms); }}; {typed};"
    waits += "document.querySelector('#completions button').focus();"
    assert 250 not in tab.evaluate(f"{waits} setTimeout = real; return all; }})(setTimeout)")
    top = "document.getElementById('settings').getBoundingClientRect().top"
    before = tab.evaluate(top)
    tab.evaluate("document.activeElement.blur()")
    tab.until("document.getElementById('known').textContent.includes('does not know')")
    assert tab.evaluate(top) == pytest.approx(before, abs=1)
    tab.evaluate("document.querySelector('#completions button').click()")
    assert tab.evaluate("document.getElementById('prompt').value") == "we ask congress "
    tab.until("location.hash.includes('we%20ask%20congress')")


def test_the_line_changes_what_is_committed_as_it_passes_a_crossing(browser: Chromium, address: str) -> None:
    tab = opened(browser, f"{address}#prompt={quote(PROMPT)}&length=16&steps=8&strategy=rws:8")
    click(tab, "forward")
    marked = "[...document.querySelectorAll('#answer .word.new')].map(box => box.dataset.position).join()"
    before, crossing = tab.evaluate(marked), float(text(tab, "changes").split("going up past ")[1].split(",")[0])
    tab.evaluate(DRAGGED.format(40 * (np.log2(crossing) + 4) - 2))
    assert tab.evaluate(marked) != before and "passed a crossing" in text(tab, "set")
    click(tab, "own")
    assert tab.evaluate(marked) == before
    tab.evaluate(DRAGGED.format(270))
    click(tab, "fix")
    tab.until(f"location.hash.includes('=temperature') && {DECODED}")
    said = r"Fixed factor [\d.]+ wrote (another text than RWS \((\d+) of 16 words differ\)|the same text as RWS)\. "
    found = re.match(said, text(tab, "differ"))
    tokens = json.loads(tab.evaluate(DECODED))
    tab.evaluate("document.querySelector('#differ button').click()")
    tab.until(f"location.hash.includes('=rws:8') && {DECODED}")
    differ = sum(a != b for a, b in zip(tokens, json.loads(tab.evaluate(DECODED)), strict=True))
    assert found and int(found[2] or 0) == differ and tab.evaluate("document.getElementById('differ').hidden")
    tab.press("ArrowLeft")
    x, y = tab.middle("document.querySelector('#chart svg')")
    tab.point(x, y, click=True)
    assert tab.evaluate("document.getElementById('factor-said').textContent") != "4.572"


def test_a_minimum_spacing_has_its_rings(browser: Chromium, address: str) -> None:
    tab = opened(browser, f"{address}#prompt=peace&length=16&steps=8&strategy=default%2Bspacing:3")
    click(tab, "forward")
    (crossing,) = re.findall(r"going up past (1\.\d+), position 7", text(tab, "changes"))
    for beside, said in ((-1, "committed the same"), (1, "passed a crossing")):
        tab.evaluate(DRAGGED.format(40 * (np.log2(float(crossing)) + 4) + beside))
        assert said in text(tab, "set")


def test_the_chart_leads_to_the_nearest_crossing_and_rests_at_the_last_factor(browser: Chromium, address: str) -> None:
    tab = opened(browser, f"{address}#prompt={quote(PROMPT)}&length=16&steps=8&strategy=rws:8")
    click(tab, "nearest")
    tab.until("document.getElementById('set').textContent.includes('nearest')")
    factor, crossing = map(float, re.findall(r"factor, ([\d.]+): at ([\d.]+)\.", text(tab, "set"))[0])
    assert 0.98 < factor / crossing < 1.02 and text(tab, "factor-said") == f"{factor:g}"
    (trace,) = decode(load_predictor("english"), [PROMPT], "rws:8", Shape(16, 8), reward=load_reward("era"))
    assert f"step {np.abs(trace.factor - factor).argmin()} " in text(tab, "where")
    tab.press("End")
    assert text(tab, "factor-said") == f"{trace.factor[-1]:.4g}"
    said = f"lies between 0 and s_R = 8; on this prompt it was {trace.factor.min():.3g} to {trace.factor.max():.3g}."
    assert said in text(tab, "about")


def test_eight_positions_of_a_step_have_names_that_do_not_overlap(browser: Chromium, address: str) -> None:
    tab = opened(browser, f"{address}#prompt=peace&length=64&steps=8&strategy=rws:32")
    click(tab, "forward")
    names = tab.evaluate(
        "[...document.querySelectorAll('#chart .place')].map(name => name.getBoundingClientRect().toJSON())"
    )
    assert len(names) > 4
    for n, one in enumerate(names):
        for other in names[:n]:
            apart = abs(one["y"] - other["y"]) >= 12 or one["right"] < other["left"] or other["right"] < one["left"]
            assert apart, (one, other)
    assert text(tab, "changes-said") == "7 crossings, scroll for all:"


def test_the_same_decode_without_the_reward_runs_in_lock_step(browser: Chromium, address: str) -> None:
    tab = opened(browser, f"{address}#prompt={quote(PROMPT)}&length=16&steps=8&strategy=rws:8")
    click(tab, "away")
    tab.until("document.querySelectorAll('#answer-b .word').length === 16")
    (trace,) = decode(load_predictor("english"), [PROMPT], "rws:8", Shape(16, 8), reward=load_reward("era"))
    fixed, (low, high) = f"{trace.factor.mean():.4g}", (f"{trace.factor.min():.3g}", f"{trace.factor.max():.3g}")
    assert fixed in text(tab, "name-b")
    (plain,) = decode(load_predictor("english"), [PROMPT], "default", Shape(16, 8))
    words = int((trace.tokens != plain.tokens).sum())
    assert text(tab, "differ") == (
        f"Both texts are the same. RWS\u2019s factor went from {low} to {high}. At no step does a crossing lie between "
        f"its factor and the fixed factor {fixed}, so the reward could not change the text. "
        f"Confidence decoding (factor 1) writes another: {words} of 16 words differ. "
    )
    click(tab, "nearest")
    tab.until("document.getElementById('set').textContent.includes('nearest')")
    ends = "['given', 'fixed', 'used'].map(name => document.querySelector(`#chart .${name}`).getBoundingClientRect())"
    given, line, shaded = tab.evaluate(f"{ends}.map(box => box.toJSON())")
    width = abs(given["x"] - line["x"])
    assert shaded["x"] <= min(given["x"], line["x"]) and width <= shaded["width"] < width + 5
    (beside,) = re.findall(
        r"The nearest crossing, ([\d.]+), is not between RWS\u2019s ([\d.]+) and .*", text(tab, "set")
    )
    assert f"the fixed {fixed}, so both commit the same here. A factor just above {beside[0]}" in text(tab, "set")
    click(tab, "away")
    tab.until(f"document.getElementById('differ').hidden && {DECODED}")
    assert text(tab, "away") == "Take the reward away"


def test_where_two_texts_diverge_is_said_and_marked(browser: Chromium, address: str) -> None:
    tab = opened(browser, f"{address}{DIVERGES}", calm=True)
    click(tab, "away")
    tab.until("!document.getElementById('differ').hidden")
    assert "At 1 of 8 steps a crossing lies" in text(tab, "differ")
    assert "A and B diverge at step 6." in text(tab, "differ") and "A (with the reward) has more" in text(tab, "differ")
    assert tab.evaluate("moreReward(0.5, 0.505)") == "Both have practically the same reward: 0.5 and 0.505."
    tab.evaluate("document.querySelector('#differ button').click()")
    assert text(tab, "where").startswith("step 6")
    said = (
        r"RWS ([\d.]+), fixed ([\d.]+): the crossing ([\d.]+) lies between. Below it position \d+ goes first, above it"
    )
    ((rws, fixed, crossing),) = re.findall(said, text(tab, "set"))
    assert f"the crossing {crossing} lies between" in text(tab, "said-a")
    assert min(float(rws), float(fixed)) < float(crossing) < max(float(rws), float(fixed))
    listed = "[...document.querySelectorAll('#changes .decides')].map(line => line.textContent).join()"
    assert f"going up past {crossing}," in tab.evaluate(listed)
    assert tab.evaluate("document.querySelectorAll('#chart .decides').length") == 1
    marked = "[...document.querySelectorAll('.differs[data-position]')].map(box => box.dataset.position).join()"
    assert tab.evaluate(marked) == ""
    tab.press("End")
    texts = (
        "[...document.querySelectorAll('.text:not(#yours)')].map(one => [...one.children].map(box => box.innerText))"
    )
    first, second = tab.evaluate(texts)
    differ = [str(place) for place, (a, b) in enumerate(zip(first, second, strict=True)) if a != b]
    assert len(differ) == 1 and tab.evaluate(marked) == ",".join(differ * 2)


def test_a_strategy_that_reads_no_reward_puts_it_back(browser: Chromium, address: str) -> None:
    tab = opened(browser, f"{address}#prompt=peace&length=8&steps=4&strategy=default", calm=True)
    click(tab, "away")
    tab.until(f"location.hash.includes('=rws:8') && {DECODED}")
    assert text(tab, "away") == "Put the reward back" and "Only RWS reads the reward" in text(tab, "differ")
    click(tab, "away")  # brings back what RWS stood in for
    tab.until(f"location.hash.includes('=default') && {DECODED}")
    click(tab, "away")
    tab.until(f"location.hash.includes('=rws:8') && {DECODED}")
    choose = (
        "(field => {{ field.value = '{}'; field.dispatchEvent(new Event('change')); }})(document.getElementById('{}'))"
    )
    tab.evaluate(choose.format("left-to-right", "strategy"))
    tab.until(f"location.hash.includes('=left-to-right') && {DECODED}")
    assert text(tab, "away") == "Take the reward away" and tab.evaluate("document.getElementById('twin').hidden")
    click(tab, "away")
    tab.until(f"location.hash.includes('=rws:8') && {DECODED}")
    tab.evaluate(choose.format("rws", "strategy"))
    click(tab, "away")
    tab.until(f"document.getElementById('twin').hidden && {DECODED}")
    assert "strategy=rws:8" in tab.evaluate("location.hash")


def test_dragging_the_line_pauses(browser: Chromium, address: str) -> None:
    tab = opened(browser, address, calm=True)
    click(tab, "play")
    assert text(tab, "play") == "Pause"
    tab.evaluate(DRAGGED.format(200))
    assert text(tab, "play") == "Play" and text(tab, "said-a").startswith("With the line at factor")


def test_fifty_prompts_are_counted_with_and_without_the_reward(browser: Chromium, address: str) -> None:
    tab = opened(browser, f"{address}#length=6&steps=3&block=6&strategy=rws:2")
    stopped = "document.getElementById('stop-fifty').click()"
    said = tab.evaluate(
        f"document.getElementById('fifty').click(), [document.getElementById('fifty').textContent, {stopped}][0]"
    )
    assert said == "prompt 1 of 50"
    tab.until("!document.getElementById('fifty').disabled")
    assert text(tab, "counted").startswith("Stopped before the first prompt.")
    found = []
    for _ in range(2):  # the prompts are the same
        click(tab, "fifty")
        tab.until("!document.getElementById('fifty').disabled")
        found.append(text(tab, "counted"))
    assert found[0] == found[1]
    same, differ = int(re.findall(r"For (\d+) of 50", found[0])[0]), found[0].count("\u2026")
    assert same + differ == 50 and same > 0 and "RWS, s_R = 2; reward era; 6 words in 3 steps" in found[0]
    ((mean, error),) = re.findall(r": (\u2212?[\d.]+) \u00b1 ([\d.]+) SD", found[0])
    assert differ or (mean, error) == ("0.000", "0.000")
    stale = "document.querySelector('#counted p:last-child')"
    assert tab.evaluate(f"{stale}.hidden")
    tab.evaluate("location.hash = 'prompt=peace&length=8&steps=4&strategy=rws:8&reward=keywords:freedom'")
    tab.until(f"!{stale}.hidden && {DECODED}")
    assert tab.evaluate(f"{stale}.textContent") == "Settings have changed since: count again."
    click(tab, "away")
    advice = (
        "The reward was the same for every draft, so this does not test it: choose words that the model writes, such"
    )
    tab.until(f"document.getElementById('differ').textContent.includes('{advice}')")
    click(tab, "fifty")
    tab.until("!document.getElementById('fifty').disabled")
    assert advice in text(tab, "counted") and "standard error" not in text(tab, "counted")
    assert tab.evaluate("byId('keywords').defaultValue") == "people,government"


def test_a_prompt_whose_text_the_reward_changed_can_be_opened(browser: Chromium, address: str) -> None:
    tab = opened(browser, f"{address}#length=12&steps=6&block=12&strategy=rws:8", calm=True)
    click(tab, "fifty")
    tab.until("document.getElementById('counted').textContent.includes('another text (orange).')")
    assert "standard errors" not in text(tab, "counted")  # no verdict before the end
    click(tab, "stop-fifty")
    tab.until("!document.getElementById('fifty').disabled")
    assert re.match(r"Stopped after \d+ of 50 prompts\. For \d+ of", text(tab, "counted"))
    assert "2 standard errors" in text(tab, "counted")
    assert re.fullmatch(r"(\S+ ){2}\S+\u2026", tab.evaluate("document.querySelector('#counted button').innerText"))
    tab.evaluate("document.querySelector('#counted button').click()")
    tab.until("document.getElementById('differ').textContent.startsWith('The texts differ in')")
    assert tab.evaluate("document.querySelector('#counted p:last-child').hidden")


def test_a_readers_own_order_is_scored(browser: Chromium, address: str) -> None:
    tab = opened(browser, f"{address}#prompt=peace&length=4&steps=4&strategy=default")
    tab.until("document.querySelectorAll('#board tbody tr').length === 4")
    assert "RWS, s_R = 8, 1 per step" in text(tab, "board") and "(RWS\u2019s mean), 1 per step" in text(tab, "board")
    stars = "[...document.querySelectorAll('#board tr')].map(row => row.textContent.split('\u2605').length - 1)"
    assert tab.evaluate(stars) == [0, 0, 0, 2, 2]  # who wrote the same text shares them
    same = "RWS and the fixed factor wrote the same text: the gain over confidence comes from the size of the factor."
    assert text(tab, "factor-counts") == same
    for _ in range(4):
        tab.evaluate("document.querySelector('#yours button.word').click()")
    assert text(tab, "beaten").startswith("In reward you beat")
    left = decode(load_predictor("english"), ["peace"], "left-to-right", Shape(4, 4), reward=load_reward("era"))[0]
    assert left.log_prob is not None and f"{left.log_prob:.4g}".replace("-", "\u2212") in text(tab, "board")
    click(tab, "undo")
    assert tab.evaluate("document.querySelectorAll('#yours button.word').length") == 1
    click(tab, "hundred")
    tab.until("document.getElementById('board').textContent.includes('best of 100 random orders')")
    tab.evaluate("document.querySelector('#yours button.word').click()")
    said = r"Your reward is higher than that of (\d+) of the 100 random orders, RWS\u2019s than that of (\d+)\."
    (counts,) = re.findall(said, text(tab, "beaten"))
    rewards = tab.evaluate("""(async () => {
      const model = await loadModel(), reward = model.rewardNamed("era"), prompt = model.read("peace").ids;
      const score = rule => reward.score(engine.decode(model, { prompt, reward, length: 4, steps: 4, rule }).canvas);
      const seeds = [...Array(100).keys()];
      return ["left-to-right", "rws:8", ...seeds.map(() => "random-order")].map((name, n) =>
        score(engine.strategy(name, Math.max(0, n - 2))));
    })()""")
    assert [int(count) for count in counts] == [sum(r < one for r in rewards[2:]) for one in rewards[:2]]


@pytest.mark.parametrize("strategy", ["rws:8", "random-order", "default+spacing:3"])
def test_the_trace_is_the_one_of_python(strategy: str, browser: Chromium, address: str, tmp_path: Path) -> None:
    tab = opened(browser, f"{address}#prompt={quote(PROMPT)}&length=16&steps=8&seed=2&strategy={strategy}")
    tab.evaluate("URL.createObjectURL = blob => { window.kept = blob; return 'blob:'; }")
    tab.evaluate("HTMLAnchorElement.prototype.click = () => {}")
    click(tab, "download")
    data = tab.evaluate("kept.arrayBuffer().then(data => btoa(String.fromCharCode(...new Uint8Array(data))))")
    (tmp_path / "trace.parquet").write_bytes(base64.b64decode(data))
    found = load_trace(tmp_path / "trace.parquet")
    given = {"reward": load_reward("era"), "options": Options(seed=2)}
    (mine,) = decode(load_predictor("english"), [PROMPT], strategy, Shape(16, 8), **given)
    mine = load_trace(mine.save(tmp_path / "mine.parquet"))
    for name, array in mine.arrays().items():
        np.testing.assert_allclose(found.arrays()[name], array, rtol=1e-9, err_msg=name)
    differ = {name for name, value in mine.metadata().items() if found.metadata()[name] != value}
    assert differ <= {"savings", "log_prob", "final_reward"}
    assert found.log_prob == pytest.approx(mine.log_prob, abs=1e-9)
    assert main(["view", str(tmp_path / "trace.parquet"), "-o", str(tmp_path / "view.html")]) == 0


def test_the_python_that_is_copied_gives_the_same(browser: Chromium, address: str) -> None:
    tab = opened(browser, f"{address}#prompt={quote(PROMPT)}&length=12&steps=6&strategy=random-order&seed=5")
    space: dict[str, Any] = {}
    exec(text(tab, "python"), space)
    assert json.loads(tab.evaluate(DECODED)) == space["run"][0].tokens.tolist()
    assert not tab.evaluate("document.getElementById('local').hidden")  # a file's link opens nowhere else
    tab = opened(browser, f"{address}#prompt=peace&length=8&steps=4&strategy=temperature:0.737")
    assert '"temperature:0.737",  # a factor: logits times 0.737' in text(tab, "python")


def test_the_first_step_says_why_its_guesses_are_alike(browser: Chromium, address: str) -> None:
    tab = opened(browser, address)
    seen = "getComputedStyle(document.getElementById('first')).visibility"
    assert tab.evaluate(seen) == "visible"
    click(tab, "forward")
    assert tab.evaluate(seen) == "hidden"


@pytest.mark.parametrize("width", [390, 1280])
def test_the_choices_fit_their_boxes(width: int, browser: Chromium, address: str) -> None:
    tab = opened(browser, address, width=width)
    tab.evaluate("document.getElementById('settings').open = true")
    spare = """[...document.querySelectorAll("select")].map(box => {
      const pen = document.createElement("canvas").getContext("2d"), style = getComputedStyle(box);
      pen.font = style.font;
      const text = Math.max(...[...box.options].map(option => pen.measureText(option.text).width));
      return box.clientWidth - 2 * parseFloat(style.paddingLeft) - text;
    })"""
    assert min(tab.evaluate(spare)) > 20  # of the arrow


@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_a_phone_and_can_be_read(dark: bool, browser: Chromium, address: str) -> None:
    tab = opened(browser, address, width=390, dark=dark, calm=True)
    in_sight = "{}.map(id => document.getElementById(id).getBoundingClientRect())"
    in_sight += ".every(box => box.top >= 0 && box.bottom <= innerHeight)"
    tab.evaluate("document.getElementById('play').scrollIntoView({ block: 'end' })")
    box, before = (
        tab.evaluate("document.getElementById('play').getBoundingClientRect().toJSON()"),
        tab.evaluate("scrollY"),
    )
    click(tab, "play")
    assert tab.evaluate(in_sight.format("['play', 'answer']")) and tab.evaluate("scrollY") > before
    # A finger that stays where Play was finds no other button there.
    assert tab.evaluate(f"document.elementFromPoint({box['x'] + 9}, {box['y'] + 9}).closest('#runs, .bar') !== null")
    click(tab, "play")
    tab.evaluate("document.getElementById('away').scrollIntoView()")
    click(tab, "away")
    tab.until("!document.getElementById('differ').hidden")
    tab.until(in_sight.format("['differ', 'answer', 'answer-b']"))
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    low = {name: found for name, found in tab.evaluate(CONTRASTS).items() if found[0] < 4.5 or found[1] < 12}
    assert low == {} and tab.messages == []


def test_keys_step_and_play_and_a_prompt_takes_blanks(browser: Chromium, address: str) -> None:
    tab = opened(browser, address, calm=True)
    tab.evaluate("(field => { field.value = 'peace'; field.focus(); })(document.getElementById('prompt'))")
    tab.press(" ")
    tab.press("ArrowLeft")
    assert tab.evaluate("document.getElementById('prompt').value") == "peace " and text(tab, "play") == "Play"
    tab.until(f"location.hash.includes('=peace') && {DECODED}")
    tab.evaluate("document.activeElement.blur()")
    tab.press("ArrowRight", 2)
    assert text(tab, "where").startswith("step 2")
    tab.press("ArrowLeft")
    assert text(tab, "where").startswith("step 1")
    tab.press(" ")
    tab.until("document.getElementById('where').textContent.startsWith('step 2')")
    tab.press(" ")
    assert text(tab, "play") == "Play"
