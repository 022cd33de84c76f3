"""The LLM judge, against a real HTTP server that answers and fails."""

import itertools
import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from command_lines import figures as main
from command_lines import outcome
from json_files import write_json
from judge_server import Behaviour, JudgeServer, Rule, answers, completion, cuts, fails, longer, sends
from misuse import refused

from paper_figures.extra.judging import CacheWarning, LLMJudge, PairVerdict, Verdict, compare, judge_messages
from paper_figures.extra.judging.judge import KEY_VARIABLE
from paper_figures.extra.judging.rates import judge_rates
from paper_figures.extra.judging.verdicts import Choice, parse_choice

SECRET = "sk-very-'secret'-0123456789"
PAIRS = [("Why?", "a long answer", "short"), ("Who?", "me", "you and I"), ("When?", "now", "then, later")]


Serve = Callable[..., JudgeServer]
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv(KEY_VARIABLE, SECRET)
    # The client waits for half a second and longer between its tries.
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stack:
        yield lambda rule=longer: stack.enter_context(JudgeServer(rule))


def judge_at(server: JudgeServer, **options: Any) -> LLMJudge:
    return LLMJudge("judge", server.url, **{"concurrency": 1, **options})


def ask(server: JudgeServer, folder: Path, pairs: Any = PAIRS, **options: Any) -> list[PairVerdict]:
    return compare(judge_at(server, **options), pairs, folder, progress=False)


def outcomes(pairs: list[PairVerdict]) -> list[str]:
    return [pair.outcome for pair in pairs]


def in_turn(*steps: str | Behaviour) -> Rule:
    return lambda number, body: steps[number] if number < len(steps) else longer(number, body)


def verdict(choice: Choice) -> Verdict:
    return Verdict(choice, choice, "judge", 1, 50, 1, 0.1, False)


def test_the_papers_prompt_is_the_printed_one_without_the_question() -> None:
    system, user = judge_messages("paper", "Why is the sky blue?", "It {is} {second}.", "Green: {first}")
    assert system == {
        "role": "system",
        "content": "You are a strict evaluator. Decide which answer (1 or 2) is higher quality.\n"
        "If answer 1 is better, respond with 1.\nIf answer 2 is better, respond with 2.\n"
        "Respond ONLY with one character: 1 or 2.",
    }
    assert user == {"role": "user", "content": "Answer 1:\nIt {is} {second}.\n\nAnswer 2:\nGreen: {first}"}


NONE = ["", "3", "1..", '"1', "1'", "12", "1 or 2", "Answer 1", "**1**", "one", "No 1.", "\u0661", "\uff11"]
SAID = {"1": ["1", " 1\n", '"1"', "`1`"], "2": ["2", "2.", "'2.'", "“2”"], None: NONE}


def test_only_the_digit_is_a_verdict() -> None:
    assert [(choice, raw) for choice, replies in SAID.items() for raw in replies if parse_choice(raw) != choice] == []


def test_outcomes_of_both_orders_are_fastchats_and_rates_average_the_orders() -> None:
    choices = get_args(Choice)
    pairs = [PairVerdict(verdict(a), verdict(b)) for a, b in itertools.product(choices, choices) if "tie" not in (a, b)]
    pairs.append(PairVerdict(verdict("tie"), verdict("tie")))
    draws = {(choice, choice): "draw" for choice in ("1", "2", "tie")}
    expected = draws | {("1", "2"): "win", ("2", "1"): "loss"}
    for pair in pairs:
        assert pair.outcome == expected.get((pair.forward.choice, pair.backward.choice), "invalid")
    rates = judge_rates([*pairs, pairs[1]], np.random.default_rng(0))
    assert (rates.both.wins, rates.both.draws, rates.both.losses, rates.both.invalid) == (2, 3, 1, 5)
    assert rates.both.win is not None and rates.both.win.mean == pytest.approx(2 / 6)
    # The mean over orders of what each gives, draws as halves: Table 2 from Table 10.
    per_order = [(tally.wins + tally.draws / 2) / 6 for tally in (rates.forward, rates.backward)]
    assert rates.score is not None and rates.score.mean == pytest.approx(np.mean(per_order))
    assert (rates.identical, rates.agreement) == (1, 3 / 5)
    always_one = judge_rates([PairVerdict(verdict("1"), verdict("1"))] * 3, np.random.default_rng(0))
    assert (always_one.first_chosen, always_one.agreement, always_one.both.draws) == (1.0, 0.0, 3)
    assert (always_one.forward.wins, always_one.backward.losses) == (3, 3)


def test_texts_arrive_unaltered_and_the_request_is_what_the_judge_says(serve: Serve, tmp_path: Path) -> None:
    server = serve(lambda number, body: "1")
    strange = "é \U0001f600 \u202eright\u202c \x00 \r\n\t \u2028 {first} %s \\u0041 </s>"
    pairs = [("Ünï?", strange, "long " * 200_000)]
    judge = judge_at(server, prompt="with-question", seed=7, temperature=0.5, extra={"top_p": 0.9})
    compare(judge, pairs, tmp_path, progress=False)
    bodies = [arrival.body for arrival in server.arrivals]
    question, first, second = pairs[0]
    assert bodies == [judge.body(question, first, second), judge.body(question, second, first)]
    assert all(strange in body["messages"][1]["content"] for body in bodies)
    assert [bodies[0][name] for name in ("seed", "temperature", "top_p", "max_tokens")] == [7, 0.5, 0.9, 16]
    assert server.arrivals[0].headers["authorization"] == f"Bearer {SECRET}"


@pytest.mark.parametrize("reply", ["3", "", "Answer 1"])
def test_no_verdict_is_asked_again_then_invalid_and_never_guessed(reply: str, serve: Serve, tmp_path: Path) -> None:
    server = serve(lambda number, body: reply if answers(body)[0] == "short" else longer(number, body))
    judge = judge_at(server, repeats=2, seed=5)
    judged = compare(judge, PAIRS[:2], tmp_path, progress=False)
    assert outcomes(judged) == ["invalid", "loss"]
    assert (judged[0].forward.choice, judged[0].backward.choice) == ("1", "invalid")
    invalid = judged[0].backward
    assert (invalid.raw, invalid.attempts, invalid.tokens_in, invalid.tokens_out) == (reply, 3, 150, 3)
    assert [arrival.body["seed"] for arrival in server.arrivals] == [5, 5, 6, 7, 5, 5]
    compare(judge, PAIRS[:2], tmp_path, progress=False)
    assert len(server.arrivals) == 6
    # More repeats ask on from where it stopped; the server still gives no verdict.
    again = ask(server, tmp_path, PAIRS[:2], repeats=3, seed=5)
    assert len(server.arrivals) == 7 and again[0].backward.attempts == 4


def test_a_verdict_at_the_second_asking_counts_and_refusals_have_their_words(serve: Serve, tmp_path: Path) -> None:
    server = serve(in_turn(sends(completion(None, refusal="I will not.")), "2.", sends(completion(None)), "'1'"))
    (judged,) = ask(server, tmp_path, PAIRS[:1])
    assert (judged.forward.choice, judged.forward.attempts) == ("2", 2)
    assert (judged.backward.choice, judged.backward.attempts) == ("1", 2)
    assert judged.outcome == "loss"


def test_what_pairs_have_in_common_is_asked_once(serve: Serve, tmp_path: Path) -> None:
    server = serve()
    question, first, second = PAIRS[0]
    pairs = [PAIRS[0], PAIRS[0], (question, second, first), ("another question, not shown", first, second)]
    judged = ask(server, tmp_path, pairs, concurrency=4)
    assert outcomes(judged) == ["win", "win", "loss", "win"] and len(server.arrivals) == 2


@pytest.mark.parametrize("failure", [fails(408), fails(429, Retry_After="0.01"), fails(500), cuts])
def test_failures_that_pass_are_tried_again(failure: Behaviour, serve: Serve, tmp_path: Path) -> None:
    server = serve(in_turn(failure, failure))
    judged = ask(server, tmp_path, max_retries=2)
    assert outcomes(judged) == ["win", "loss", "loss"] and len(server.arrivals) == 8
    assert judged[0].forward.attempts == 1  # tries are not repeats: nothing was replied


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (sends(b"<html>busy</html>"), "no chat completion, <html>busy</html>"),
        (sends(b'{"choices": [{"message": {"content": 1}}]}'), "the reply's text is int"),
        (sends(b"[" * 100_000), "no chat completion"),
        (cuts, r"no answer in 1 tries \(last: no connection, "),
    ],
    ids="html number deep cut".split(),
)
def test_what_is_no_completion_is_not_stored(failure: Behaviour, message: str, serve: Serve, tmp_path: Path) -> None:
    server = serve(in_turn("1", failure))
    with pytest.raises(ConnectionError, match=rf"{message}.* 1 of 6 verdicts are stored") as error:
        ask(server, tmp_path, max_retries=0)
    assert len(str(error.value)) < 600 and "\n" not in str(error.value)
    assert outcomes(ask(server, tmp_path)) == ["win", "loss", "loss"]


def test_an_interrupt_ends_what_waits_and_keeps_what_is_stored(serve: Serve, tmp_path: Path) -> None:
    over = threading.Event()

    def hangs(handler: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        over.wait(60)

    server = serve(lambda number, body: hangs if number == 3 else longer(number, body))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what runs in the background
    try:
        with pytest.raises(KeyboardInterrupt):
            ask(server, tmp_path, timeout=600.0)
    finally:
        signal.signal(signal.SIGINT, before)
        over.set()
    assert len(list(tmp_path.rglob("*.json"))) == 3
    assert outcomes(ask(server, tmp_path)) == ["win", "loss", "loss"] and len(server.arrivals) == 4 + 3


def test_failures_that_stay_are_told_at_once_in_one_line_without_the_key(serve: Serve, tmp_path: Path) -> None:
    server = serve(lambda n, body: longer(n, body) if n < 3 else fails(401, f"no\n{SECRET} {'x' * 150}{SECRET}"))
    with pytest.raises(ValueError, match=r"judge judge at http\S+: HTTP 401.*3 of 6 verdicts are stored") as caught:
        ask(server, tmp_path)
    assert len(server.arrivals) == 4
    text = str(caught.value)
    assert "\n" not in text and "0123456789" not in text and "pairs[1], its first text as answer 2" in text


def test_what_is_under_way_when_another_request_fails_is_stored(serve: Serve, tmp_path: Path) -> None:
    arrived, refusing = threading.Event(), threading.Event()

    def late(handler: Any) -> None:
        arrived.set()
        assert refusing.wait(20)
        time.sleep(0.3)
        handler.send(completion("1"), 200, {})

    def refuses(handler: Any) -> None:
        assert arrived.wait(20)
        fails(404)(handler)
        refusing.set()

    server = serve(lambda number, body: refuses if answers(body)[0] == "short" else late)
    refused(lambda: ask(server, tmp_path, concurrency=2), "HTTP 404 ... 1 of 6 verdicts are stored")
    assert len(server.arrivals) == 2 and len(list(tmp_path.rglob("*.json"))) == 1


def test_as_many_requests_at_a_time_as_said(serve: Serve, tmp_path: Path) -> None:
    # None is answered before three are there, so that fewer at a time would fail; a fourth has time to come.
    release = threading.Event()

    def rule(number: int, body: dict[str, Any]) -> str:
        if number == 2:
            threading.Timer(0.3, release.set).start()
        assert release.wait(20)
        return longer(number, body)

    server = serve(rule)
    pairs = [("?", "a" * n, "b") for n in range(2, 8)]
    assert outcomes(ask(server, tmp_path, pairs, concurrency=3)) == ["win"] * 6
    assert server.most_active == 3 and len(server.arrivals) == 12


def test_both_orders_are_asked_once_and_results_keep_the_order_of_the_pairs(serve: Serve, tmp_path: Path) -> None:
    server = serve()
    first = ask(server, tmp_path, concurrency=3)
    assert outcomes(first) == ["win", "loss", "loss"]
    orders = {order for _, a, b in PAIRS for order in ((a, b), (b, a))}
    assert sorted(answers(arrival.body) for arrival in server.arrivals) == sorted(orders)
    one = first[0].forward
    assert (one.choice, first[0].backward.choice, one.model) == ("1", "2", "judge-2025-01-01")
    assert (one.attempts, one.tokens_in, one.tokens_out, one.cached, one.finish) == (1, 50, 1, False, "stop")
    # Neither how it is asked nor the form of a number is what is asked.
    other = judge_at(server, temperature=0, timeout=9, max_retries=0, concurrency=2, repeats=7)
    second = compare(other, PAIRS, tmp_path, progress=False)
    assert len(server.arrivals) == 6 and outcomes(second) == outcomes(first)
    assert all(side.cached for pair in second for side in (pair.forward, pair.backward))
    assert [pair.forward.seconds for pair in first] == [pair.forward.seconds for pair in second]


def test_the_address_of_a_reply_is_that_of_older_versions() -> None:
    judge = LLMJudge("judge", "http://localhost:8000/v1/", seed=1)
    # Paid replies are found under it: a change of it would have them asked again.
    assert judge.key(judge.body("?", "ä", "b"), 0) == "e6c6c136249e1dcd23bab2b6bc3ac1634f1c26f671de97480990cefbbdde3290"


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(path.read_bytes()[:30]),
        lambda path: path.write_bytes(b"[" * 100_000),
        lambda path: write_json(path, json.loads(path.read_text()) | {"key": "0" * 64}),
        lambda path: write_json(path, json.loads(path.read_text()) | {"reply": {"raw": 1}}),
    ],
    ids="cut deep moved field".split(),
)
def test_a_broken_file_is_asked_again_and_noted(damage: Callable[[Path], object], serve: Serve, tmp_path: Path) -> None:
    server = serve()
    judge = judge_at(server)
    compare(judge, PAIRS, tmp_path, progress=False)
    path = sorted(tmp_path.rglob("*.json"))[2]
    assert path.parent.name == path.name[:2] and len(path.name) == 64 + 5
    before = json.loads(path.read_text())["reply"]
    damage(path)
    with pytest.warns(CacheWarning, match=f"{path.name}.*asked again"):
        judged = compare(judge, PAIRS, tmp_path, progress=False)
    assert outcomes(judged) == ["win", "loss", "loss"] and len(server.arrivals) == 7
    after = json.loads(path.read_text())["reply"]
    assert after == before | {"seconds": after["seconds"]}


def test_no_key_is_written_or_shown(serve: Serve, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    server = serve(lambda number, body: f"You sent {SECRET}, {json.dumps(SECRET)}")
    judge = judge_at(server, repeats=1)
    (judged,) = compare(judge, PAIRS[:1], tmp_path)
    assert "0123456789" not in repr(judge) + repr(judged) and judged.forward.raw.startswith("You sent [key]")
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or "0123456789" not in path.read_text()
    assert "0123456789" not in "".join(capfd.readouterr())


def test_only_servers_elsewhere_need_a_key(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE)
    server = serve()
    ask(server, tmp_path, PAIRS[:1])
    assert server.arrivals[0].headers["authorization"] == "Bearer no-key"
    for url in (None, "https://judges.example.com/v1"):
        with pytest.raises(ValueError, match=rf"{KEY_VARIABLE} is not set"):
            compare(LLMJudge("judge", url), PAIRS[:1], tmp_path, progress=False)
    for url in ("http://localhost/v1", "http://a.localhost:1/v1", "http://127.0.0.2/v1", "http://[::1]:8000/v1"):
        assert LLMJudge("judge", url).secret() is None
    server.rule = lambda number, body: fails(401)
    refused(lambda: ask(server, tmp_path), f"HTTP 401, {KEY_VARIABLE} is not set")
    monkeypatch.setenv(KEY_VARIABLE, os.fsdecode("sk-\u00e9\u00e9".encode()))  # whatever the locale
    with pytest.raises(ValueError, match="not shown") as caught:
        compare(LLMJudge("judge"), PAIRS[:1], tmp_path, progress=False)
    assert os.environ[KEY_VARIABLE][3:] not in str(caught.value)


def test_proxies_and_other_headers_do_not_matter(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
        monkeypatch.setenv(name.lower(), "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer another")
    server = serve()
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    ask(server, tmp_path, PAIRS[:1])
    assert server.arrivals[0].headers["authorization"] == f"Bearer {SECRET}"
    assert LLMJudge("judge").endpoint == "http://127.0.0.1:9/v1"  # as the client itself reads it


@pytest.mark.parametrize("url", ["https://user:hunter2@host/v1", "https://host/v1?api-key=hunter2"])
def test_an_address_with_a_secret_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(ValueError, match=r"base_url ") as caught:
        LLMJudge("judge", url)
    assert "hunter2" not in str(caught.value) and "\n" not in str(caught.value)


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    rows = [{"id": n, "question": q, "first": a, "second": b} for n, (q, a, b) in enumerate(PAIRS)]
    file = tmp_path / "pairs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def ran(url: str, *options: str) -> tuple[int, str, str]:
        words = [str(file), "--judge-model", "judge", "--base-url", url, "--cache", str(tmp_path / "cache"), *options]
        return outcome(main, ["judge", *words], capsys)

    return ran


def test_the_command_prints_rates_and_nothing_else(command: Command, serve: Serve) -> None:
    server = serve()
    assert "6 requests (0 verdicts are stored)" in command(server.url, "--dry-run")[2]
    status, out, err = command(server.url, "--dry-run", "--json")
    assert (status, json.loads(out), len(server.arrivals)) == (0, {"requests": 6, "stored": 0}, 0)
    status, out, err = command(server.url)
    assert (status, out, len(server.arrivals)) == (2, "", 0) and "--yes is missing" in err
    status, out, err = command(server.url, "--json", "--yes")
    result = json.loads(out)
    assert (status, result["requests"], len(server.arrivals)) == (0, 6, 6)
    assert [row["outcome"] for row in result["comparisons"]] == ["win", "loss", "loss"]
    assert [row["id"] for row in result["comparisons"]] == [0, 1, 2]
    both = result["rates"]["both"]
    assert (both["wins"], both["draws"], both["losses"], both["invalid"]) == (1, 0, 2, 0)
    assert result["rates"]["score"]["mean"] == pytest.approx(1 / 3)
    # All is stored: no --yes, and nothing is asked.
    status, out, err = command(server.url)
    assert (status, len(server.arrivals)) == (0, 6)
    assert re.search(r"both +1 +0 +2 +0 +0.333 \[", out) and "the orders agree in 100.0%" in out


def test_the_command_says_what_is_wrong_in_one_line(command: Command, serve: Serve, tmp_path: Path) -> None:
    server = serve(lambda number, body: fails(404, "no such model"))
    for options, named in (
        (["--yes"], r"HTTP 404.*0 of 6 verdicts"),
        (["--settings", '{"temperature": "warm"}'], "temperature is"),
        (["--settings", "[]"], "--settings"),
        (["--seed", "-1"], "--seed"),
    ):
        status, out, err = command(server.url, *options)
        assert (status, out) == (2, "") and re.search(named, err.splitlines()[-1])
    file = tmp_path / "pairs.jsonl"
    turns = [{"role": "user", "content": "Hi"}]
    for row, named in (
        ({"question": "?", "first": "a", "second": "b"}, "row 1: id is None"),
        ({"id": 1, "question": 3, "first": "a", "second": "b"}, "row 1: question"),
        ({"id": 1, "question": "?", "first": "a"}, "row 1: second is missing"),
        ({"id": 1, "question": "", "first": "a", "second": "b"}, "pairs[0]: question is empty"),
        ({"id": 1, "question": turns, "first": "a", "second": "b"}, "--yes is missing: 2 requests"),
    ):
        file.write_text(json.dumps(row))
        status, out, err = command(server.url, "--prompt", "with-question")
        assert (status, out) == (2, "") and named in err.splitlines()[-1]
