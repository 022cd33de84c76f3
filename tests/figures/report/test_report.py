"""The report page: one file that stands alone, says where its numbers come from, and can be read by everyone."""

import base64
import hashlib
import io
import json
import re
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
from command_lines import figures as main
from json_files import write_json
from PIL import Image
from report_pages import elements_of, results, small_page
from report_pages import page as page
from report_pages import small as small

from paper_figures.exhibits import NAMES
from paper_figures.report.page import QUESTIONS
from paper_figures.report.provenance import run_facts

ROOT = Path(__file__).parents[3]
LARGEST = 10_000_000
MOST_WORDS = 2_560  # before the appendix


def test_the_page_is_one_file_that_asks_for_nothing(page: Path) -> None:
    parsed, text = elements_of(page), page.read_text(encoding="utf-8")
    assert len(text.encode()) < LARGEST
    own = re.sub(r"srcdoc='[^']*'", "", text)
    assert not re.search(r"https?:|\bsrc=\"(?!data:)|@import|url\(|<script", own)
    (policy,) = (element["content"] or "" for element in parsed.named("meta") if "http-equiv" in element)
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-")
    assert "unsafe-inline" not in policy.partition("script-src")[2]
    frames = " ".join(frame["srcdoc"] or "" for frame in parsed.named("iframe"))
    scripts = re.findall(r"<script>(.*?)</script>", frames, re.DOTALL)
    digests = {base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts}
    assert scripts and {f"'sha256-{digest}'" for digest in digests} == set(policy.partition("script-src ")[2].split())
    (icon,) = parsed.named("link")
    assert icon["href"] == "data:,"  # else browsers ask for one
    assert str(page.parent) not in text and str(Path.home()) not in text


def test_pictures_are_in_the_page_whole_and_described(page: Path) -> None:
    images = elements_of(page).named("img")
    assert images
    for image in images:
        kind, _, data = (image["src"] or "").partition(",")
        assert kind == "data:image/png;base64"
        with Image.open(io.BytesIO(base64.b64decode(data, validate=True))) as opened:
            opened.load()
            assert [str(side) for side in opened.size] == [image["width"], image["height"]]
        assert len(image["alt"] or "") > 40


def test_every_link_leads_somewhere(page: Path) -> None:
    parsed = elements_of(page)
    ids = [attributes["id"] for _, attributes in parsed.all if attributes.get("id")]
    assert len(ids) == len(set(ids))
    for link in parsed.links:
        assert link[1:] in ids if link.startswith("#") else (page.parent / link).exists(), link
    named = [attributes.get("aria-labelledby") for _, attributes in parsed.all]
    assert {name for name in named if name} <= set(ids)
    # What is not to be read aloud without a name has one.
    assert all(element.get("aria-labelledby") or element.get("aria-label") for element in parsed.named("table"))
    assert {element.get("scope") for element in parsed.named("th")} <= {"row", "col", "colgroup"}
    boxes = [each for each in parsed.named("div", "pre") if "wide" in (each.get("class") or "") or each.get("role")]
    assert all(element["tabindex"] == "0" and element["role"] == "group" and element["aria-label"] for element in boxes)


def test_headings_nest_and_landmarks_are_there(page: Path) -> None:
    html = elements_of(page)
    levels = [int(tag[1]) for tag, _ in html.all if re.fullmatch(r"h\d", tag)]
    assert levels.count(1) == 1 and levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert [len(html.named(tag)) for tag in ("header", "nav", "main", "footer")] == [1] * 4
    body = [tag for tag, _ in html.all].index("body")
    assert html.all[body + 1] == ("a", {"class": "skip", "href": "#main"})
    assert html.named("html")[0]["lang"] == "en" and html.named("main")[0]["id"] == "main"


def test_what_comes_before_the_appendix_is_short(figure_page: Path) -> None:
    text = figure_page.read_text(encoding="utf-8")
    before = text[text.index("<body>") : text.index('<section id="appendix"')]
    bare = re.sub(r"srcdoc='[^']*'|src=\"[^\"]*\"", "", before)
    assert 1_000 < len(re.sub(r"<[^>]*>", " ", bare).split()) <= MOST_WORDS
    parsed = elements_of(figure_page)
    sections = {element.get("id") for element in parsed.named("section")}
    assert {question.anchor for question in QUESTIONS} <= sections and "appendix" in sections
    assert len(parsed.named("iframe")) == 3
    for name in NAMES:
        record = json.loads((figure_page.parent / "figures" / f"{name}.json").read_text(encoding="utf-8"))
        assert len(record["conclusions"][0].split()) <= 60, f"the headline of {name} is more than one plain finding"
    assert "RWS" in [text for path, text in parsed.texts if path[-1:] == ("dt",)]


def test_the_findings_of_the_results_page_are_those_of_the_page(figure_page: Path) -> None:
    readme = (ROOT / "docs/evidence-findings.md").read_text(encoding="utf-8")
    found = " ".join(readme.split())
    records = {
        name: json.loads((figure_page.parent / "figures" / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("at_a_glance", "evidence", "order_quality", "law_frontier")
    }
    _, headline = records["at_a_glance"]["conclusions"]
    pattern = r"all three .*?in (\w+) of (\d+) settings.*? all three in (\w+), "
    pattern += r"not better in (\w+), worse in (\w+); the other (\d+)"
    matches = [re.search(pattern, text) for text in (found, headline)]
    assert matches[0] and matches[1] and matches[0].groups() == matches[1].groups() and matches[0][1] == "none"
    table = pd.read_csv(figure_page.parent / "tables/evidence_comparisons.csv")
    rows = table.query("measure == 'reward'")
    constant, best = (rows[rows["minus"].str.startswith(name)]["verdict"] for name in ("fixed factor", "best of 4"))
    assert len(best) == len(constant) and (constant == "better").sum() == 1
    assert f"in {(constant == 'equivalent').sum()} of {len(constant)} settings, and better in one; best of 4," in found
    assert f"has more in {(best == 'worse').sum()}, not at the chosen s_R = 1." in found
    (orders,) = re.findall(
        r"(\d+) pairs of (\d+) .*; (\d+) of them differ in log p, (\d+) by .* (\d+) of those",
        records["order_quality"]["conclusions"][0],
    )
    pairs, every, apart, beyond, own = orders
    assert f"of {pairs} pairs of orders of equal GOD {apart} differ in log p" in found
    assert apart == own
    document = " ".join((ROOT / "docs/evidence-limits.md").read_text(encoding="utf-8").split())
    assert f"Of {every} orders in `english`, {pairs} pairs have the same GOD" in document
    assert f"{apart} of these differ in log p, {beyond} by more than the margin; all {own} are" in document
    (laws,) = records["law_frontier"]["conclusions"]
    (gained,) = re.findall(r"how many nats of KL\?(.*?)- \*\*", found)
    numbers = re.findall(r"\d\.\d\d", laws)
    assert re.findall(r"\d\.\d\d", gained)[: len(numbers)] == numbers  # in the same order
    (by_speech,) = (line for line in records["evidence"]["conclusions"] if "one speech" in line)
    decided, count, speeches, left = re.findall(r"(\d+)", by_speech)
    assert f"{decided} of {count} comparisons are decided; with the {speeches} speeches as units [{left} are]" in found
    assert f"{decided} of {count} comparisons are decided with prompts as units, {left} with speeches" in document
    statistics = " ".join((ROOT / "docs/evidence-statistics.md").read_text(encoding="utf-8").split())
    counts = table["verdict"].value_counts()
    assert (
        f"Of the {len(table)} comparisons of both models {counts['better']} are better, "
        f"{counts['equivalent']} equivalent, "
        f"{counts['not better']} not better, {counts['worse']} worse and {counts['undecided']} undecided."
    ) in statistics
    repeated = (table["distinct pairs"] < table["prompts"]).sum()
    assert f"In {repeated} of the {len(table)} comparisons of the record pairs repeat" in document


def test_every_exhibit_is_shown_with_its_files(figure_page: Path) -> None:
    parsed, out = elements_of(figure_page), figure_page.parent
    sections = [element["id"] for element in parsed.named("section")]
    assert [name for name in sections if name in NAMES] == list(NAMES)
    records = {name: json.loads((out / "figures" / f"{name}.json").read_text(encoding="utf-8")) for name in NAMES}
    wanted = {
        f"{folder}/{item['stem']}.{suffix}"
        for record in records.values()
        for folder, part, suffixes in (
            ("figures", "pictures", ("png", "pdf")),
            ("tables", "tables", ("csv", "md", "tex")),
        )
        for item in record[part]
        for suffix in suffixes
    }
    assert wanted <= set(parsed.links)
    assert {f"pages/{record['interactive']['stem']}.html" for record in records.values() if record["interactive"]} <= {
        path.relative_to(out).as_posix() for path in (out / "pages").iterdir()
    }
    assert len(parsed.named("img")) == sum(len(record["pictures"]) for record in records.values())


def test_nothing_of_the_data_is_taken_for_markup(small: Path) -> None:
    text = small.read_text(encoding="utf-8")
    assert "&lt;b&gt;" in text and "<b>" not in text


def test_a_run_says_how_long_what_by_and_what_is_to_be_known(small: Path) -> None:
    text = small.read_text(encoding="utf-8")
    part = text[text.index('id="provenance"') :]
    assert "In all 1 runs: 12 s of work" in part and ">4 + 2 to choose scales<" in part
    assert "made by other code than this checkout&#39;s" in part
    assert "other options than those of" in part and "small sizes: prompts 4 of 32, validation 0 of 16" in part
    assert "<dt>seed</dt><dd>0</dd>" in part and "<dt>traces</dt><dd>yes</dd>" in part, "0 is no no"
    assert "<dt>model</dt><dd>tiny</dd>" in part and "/somewhere" not in text
    assert "abababababababab" in part and "some/hub@id" in part and "Reward scales, chosen" in part
    for link in ("runs/keywords/results.json", "runs/keywords/trace.parquet", "runs/keywords/units-1/traces"):
        assert f'href="{link}"' in part


@pytest.mark.usefixtures("sketched")
def test_a_later_call_keeps_the_others_on_the_page(tmp_path: Path) -> None:
    out = small_page(tmp_path / "out").parent
    path = out / "figures" / "fig3_method.json"
    results(tmp_path / "other", seconds=240.0)
    other = {"keywords": run_facts(tmp_path / "other", "keywords")}
    write_json(path, json.loads(path.read_text()) | {"runs": other})
    assert main(["appendix_d", "--runs", str(out / "runs"), "--out", str(out)]) == 0
    text = (out / "index.html").read_text(encoding="utf-8")
    assert "In all 2 runs: 4.2 min of work" in text and ">4.0 min<" in text and ">12 s<" in text
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    sections = [element["id"] for element in elements_of(out / "index.html").named("section")]
    assert [name for name in sections if name in NAMES] == ["fig3_method", "appendix_d", "table8_temperature", "ledger"]
    assert "fig1_commit_order" in text.split("Not plotted: ")[1]
