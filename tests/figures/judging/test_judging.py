"""The LLM judge, against a real HTTP server that answers, stalls, errs and dies."""

from __future__ import annotations

import io
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judge_server import (
    Behaviour,
    JudgeServer,
    Rule,
    answers,
    completion,
    cuts,
    dies,
    drips,
    fails,
    longer,
    sends,
    stalls,
)

from paper_figures.judging import (
    CacheWarning,
    Comparison,
    LLMJudge,
    Verdict,
    compare,
    comparing,
    estimate_cost,
    judge_messages,
)
from paper_figures.judging.client import JudgeSession
from paper_figures.judging.judge import KEY_VARIABLE
from paper_figures.judging.rates import judge_rates
from paper_figures.judging.retries import LONGEST_WAIT, RateLimiter
from paper_figures.judging.verdicts import Choice, parse_choice
from rws_decode.__main__ import main
from rws_decode.checkpoints.files import models_directory
from rws_decode.common.files import write_json

SECRET = "sk-very-'secret'-0123456789"
PAIRS = [("Why?", "a long answer", "short"), ("Who?", "me", "you and I"), ("When?", "now", "then, later")]


class FakeClock:
    """Time that passes in sleeps alone."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sleeps: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv(KEY_VARIABLE, SECRET)


@pytest.fixture
def serve() -> Iterator[Callable[..., JudgeServer]]:
    servers: list[JudgeServer] = []

    def started(rule: Rule = longer, **options: Any) -> JudgeServer:
        servers.append(JudgeServer(rule, **options))
        return servers[-1]

    yield started
    for server in servers:
        server.__exit__()


def judge_at(server: JudgeServer, clock: FakeClock | None = None, **options: Any) -> LLMJudge:
    """A judge that asks one at a time and waits in no real time."""
    time = clock or FakeClock()
    return LLMJudge("judge", server.url, **{"concurrency": 1, "clock": time, "sleep": time.sleep, **options})


def outcomes(comparisons: list[Comparison]) -> list[str]:
    return [held.outcome for held in comparisons]


def in_turn(*steps: str | Behaviour) -> Rule:
    """Do the steps in turn, then answer."""
    return lambda number, body: steps[number] if number < len(steps) else longer(number, body)


def verdict(choice: Choice) -> Verdict:
    return Verdict(choice, choice, "judge", 1, 50, 1, 0.1, False)


# Prompts, replies, verdicts ---------------------------------------------------------------------------------------


def test_the_papers_prompt_is_the_printed_one_without_the_question() -> None:
    system, user = judge_messages("paper", "Why is the sky blue?", "It {is} {second}.", "Green: {first}")
    assert system == {
        "role": "system",
        "content": "You are a strict evaluator. Decide which answer (1 or 2) is higher quality.\n"
        "If answer 1 is better, respond with 1.\nIf answer 2 is better, respond with 2.\n"
        "Respond ONLY with one character: 1 or 2.",
    }
    assert user == {"role": "user", "content": "Answer 1:\nIt {is} {second}.\n\nAnswer 2:\nGreen: {first}"}


def test_our_prompt_shows_the_conversation() -> None:
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}]
    text = judge_messages("with-question", turns, "A", "B")[1]["content"]
    assert text.index("User: Hi\n\nAssistant: Yes?") < text.index("A") < text.rindex("B")
    for wrong in ("", [{"role": "robot", "content": "x"}], [{"role": "user"}]):
        with pytest.raises(ValueError, match="question"):
            judge_messages("with-question", wrong, "A", "B")


@pytest.mark.parametrize(
    ("raw", "choice"),
    [
        ("1", "1"),
        ("2", "2"),
        (" 1\n", "1"),
        ("2.", "2"),
        ('"1"', "1"),
        ("'2.'", "2"),
        ("`1`", "1"),
        ("“2”", "2"),
        ("", None),
        ("3", None),
        ("1..", None),
        ('"1', None),
        ("1'", None),
        ("12", None),
        ("1 or 2", None),
        ("Answer 1", None),
        ("**1**", None),
        ("one", None),
        ("I cannot choose 1.", None),
        ("\u0661", None),
        ("\uff11", None),
    ],
)
def test_only_the_digit_is_a_verdict(raw: str, choice: str | None) -> None:
    assert parse_choice(raw) == choice


@given(st.text(alphabet="12 .\"'`\n3aA", max_size=6))
def test_a_verdict_holds_one_digit_and_nothing_else_that_says_something(raw: str) -> None:
    choice = parse_choice(raw)
    if choice is not None:
        assert re.sub(r"[\s.\"'`]", "", raw) == choice


def test_outcomes_of_both_orders_are_fastchats_and_rates_average_the_orders() -> None:
    choices = get_args(Choice)
    held = [Comparison(verdict(a), verdict(b)) for a, b in itertools.product(choices, choices) if "tie" not in (a, b)]
    held.append(Comparison(verdict("tie"), verdict("tie")))
    expected = {
        ("1", "2"): "win",
        ("2", "1"): "loss",
        ("1", "1"): "draw",
        ("2", "2"): "draw",
        ("tie", "tie"): "draw",
    }
    for one in held:
        assert one.outcome == expected.get((one.forward.choice, one.backward.choice), "invalid")
    found = judge_rates([*held, held[1]], np.random.default_rng(0))
    assert (found.both.wins, found.both.draws, found.both.losses, found.both.invalid) == (2, 3, 1, 5)
    assert found.both.win is not None and found.both.win.mean == pytest.approx(2 / 6)
    # The mean over orders of what each gives, draws as halves: Table 2 from Table 10.
    per_order = [(tally.wins + tally.draws / 2) / 6 for tally in (found.forward, found.backward)]
    assert found.score is not None and found.score.mean == pytest.approx(np.mean(per_order))
    assert (found.identical, found.agreement) == (1, 3 / 5)
    assert found.forward.invalid == found.backward.invalid == 3


def test_rates_of_nothing_valid_are_none() -> None:
    found = judge_rates([Comparison(verdict("1"), verdict("invalid"))], np.random.default_rng(0))
    assert (found.both.invalid, found.both.win, found.score, found.agreement, found.first_chosen) == (1, *[None] * 4)
    assert (found.forward.invalid, found.backward.invalid, found.forward.wins) == (0, 1, 0)


# What is asked ----------------------------------------------------------------------------------------------------


def test_both_orders_are_asked_and_results_keep_the_order_of_the_pairs(
    serve: Callable[..., JudgeServer], tmp_path: Path
) -> None:
    server = serve()
    found = compare(judge_at(server, concurrency=3), PAIRS, tmp_path, progress=False)
    assert outcomes(found) == ["win", "loss", "loss"]
    wanted = {order for _, a, b in PAIRS for order in ((a, b), (b, a))}
    assert sorted(answers(held.body) for held in server.arrivals) == sorted(wanted)
    assert (found[0].forward.choice, found[0].backward.choice) == ("1", "2")
    one = found[0].forward
    assert (one.model, one.attempts, one.tokens_in, one.tokens_out) == ("judge-2025-01-01", 1, 50, 1)
    assert not one.cached and one.finish == "stop"


def test_texts_arrive_unaltered_and_the_request_is_what_the_judge_says(
    serve: Callable[..., JudgeServer], tmp_path: Path
) -> None:
    server = serve(lambda number, body: "1")
    strange = "é \U0001f600 \u202eright\u202c \x00 \r\n\t \u2028 {first} %s \\u0041 </s>"
    pairs = [("Ünï?", strange, "long " * 200_000)]
    judge = judge_at(server, prompt="with-question", seed=7, temperature=0.5, extra={"top_p": 0.9})
    compare(judge, pairs, tmp_path, progress=False)
    bodies = [held.body for held in server.arrivals]
    question, first, second = pairs[0]
    assert bodies == [judge.body(question, first, second), judge.body(question, second, first)]
    assert all(strange in body["messages"][1]["content"] for body in bodies)
    sent = [bodies[0][name] for name in ("seed", "temperature", "top_p", "max_tokens")]
    assert sent == [7, 0.5, 0.9, 16]
    assert server.arrivals[0].headers["authorization"] == f"Bearer {SECRET}"


def test_a_judge_that_always_says_one_gives_draws(serve: Callable[..., JudgeServer], tmp_path: Path) -> None:
    server = serve(lambda number, body: "1")
    found = compare(judge_at(server), PAIRS, tmp_path, progress=False)
    assert outcomes(found) == ["draw"] * 3
    rates = judge_rates(found, np.random.default_rng(0))
    assert (rates.first_chosen, rates.agreement) == (1.0, 0.0)
    assert (rates.forward.wins, rates.backward.losses) == (3, 3)


@pytest.mark.parametrize("reply", ["3", "", "Answer 1"])
def test_no_verdict_is_asked_again_then_invalid_and_never_guessed(
    reply: str, serve: Callable[..., JudgeServer], tmp_path: Path
) -> None:
    server = serve(lambda number, body: reply if answers(body)[0] == "short" else longer(number, body))
    judge = judge_at(server, repeats=2, seed=5)
    found = compare(judge, PAIRS[:2], tmp_path, progress=False)
    assert outcomes(found) == ["invalid", "loss"]
    assert (found[0].forward.choice, found[0].backward.choice) == ("1", "invalid")
    held = found[0].backward
    assert (held.raw, held.attempts, held.tokens_in, held.tokens_out) == (reply, 3, 150, 3)
    assert [arrival.body["seed"] for arrival in server.arrivals] == [5, 5, 6, 7, 5, 5]
    compare(judge, PAIRS[:2], tmp_path, progress=False)
    assert len(server.arrivals) == 6
    # More repeats ask on from where it stopped; the server still gives no verdict.
    again = compare(judge_at(server, repeats=3, seed=5), PAIRS[:2], tmp_path, progress=False)
    assert len(server.arrivals) == 7 and again[0].backward.attempts == 4


def test_a_verdict_at_the_second_asking_counts_and_refusals_have_their_words(
    serve: Callable[..., JudgeServer], tmp_path: Path
) -> None:
    server = serve(in_turn(sends(completion(None, refusal="I will not.")), "2.", sends(completion(None)), "'1'"))
    (found,) = compare(judge_at(server), PAIRS[:1], tmp_path, progress=False)
    assert (found.forward.choice, found.forward.attempts) == ("2", 2)
    assert (found.backward.choice, found.backward.attempts) == ("1", 2)
    assert found.outcome == "loss"


def test_the_same_text_is_a_draw_without_asking_unless_told(serve: Callable[..., JudgeServer], tmp_path: Path) -> None:
    server = serve(lambda number, body: "2")
    pairs = [("Why?", "same", "same")]
    judge = judge_at(server)
    (found,) = compare(judge, pairs, tmp_path, progress=False)
    assert (found.outcome, found.forward.choice, found.forward.attempts) == ("draw", "tie", 0)
    assert not server.arrivals
    (found,) = compare(judge, pairs, tmp_path, ask_identical=True, progress=False)
    assert (found.outcome, found.forward.choice, found.backward.choice) == ("draw", "2", "2")
    assert len(server.arrivals) == 1  # both orders are one request


def test_what_pairs_have_in_common_is_asked_once(serve: Callable[..., JudgeServer], tmp_path: Path) -> None:
    server = serve()
    question, first, second = PAIRS[0]
    pairs = [PAIRS[0], PAIRS[0], (question, second, first), ("another question, not shown", first, second)]
    found = compare(judge_at(server, concurrency=4), pairs, tmp_path, progress=False)
    assert outcomes(found) == ["win", "win", "loss", "win"] and len(server.arrivals) == 2


@pytest.fixture(scope="module")
def lasting() -> Iterator[JudgeServer]:
    with JudgeServer(longer) as server:
        yield server


@settings(max_examples=15)
@given(
    pairs=st.lists(st.tuples(st.just("?"), st.text(max_size=3), st.text(max_size=3)), min_size=1, max_size=4),
    salt=st.integers(0, 10**6),
)
def test_swapping_the_texts_swaps_wins_and_losses(
    lasting: JudgeServer, pairs: list[tuple[str, str, str]], salt: int
) -> None:
    def rule(number: int, body: dict[str, Any]) -> str:
        # Any deterministic judge: of no sense, swayed by order, now and then without a verdict.
        return "11122223"[np.random.default_rng([salt, *body["messages"][1]["content"].encode()]).integers(8)]

    turned = {"win": "loss", "loss": "win"}
    lasting.rule = rule
    with TemporaryDirectory() as folder:
        judge = judge_at(lasting, concurrency=2, repeats=0)
        found = compare(judge, pairs, folder, progress=False)
        asked = len(lasting.arrivals)
        swapped = compare(judge, [(q, b, a) for q, a, b in pairs], folder, progress=False)
        assert outcomes(swapped) == [turned.get(held.outcome, held.outcome) for held in found]
        assert [held.forward.choice for held in swapped] == [held.backward.choice for held in found]
        assert len(lasting.arrivals) == asked


# Failures of the server -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "failure",
    [
        fails(408),
        fails(409),
        fails(429),
        fails(500),
        fails(503),
        cuts,
        sends(b'{"choices": ['),
        sends(b"<html>busy</html>", 200, {"Content-Type": "text/html"}),
        sends(b'{"choices": []}'),
        sends(b'{"error": {"message": "busy"}}'),
        sends(b'{"choices": [{"message": {"content": 1}}]}'),
        sends(b"\xff\xfe"),
        sends(b"[" * 100_000),
    ],
    ids="408 409 429 500 503 cut broken html empty error number bytes deep".split(),
)
def test_failures_that_pass_are_tried_again(
    failure: Behaviour, serve: Callable[..., JudgeServer], tmp_path: Path
) -> None:
    clock = FakeClock()
    server = serve(in_turn(failure, failure))
    found = compare(judge_at(server, clock, max_retries=2), PAIRS, tmp_path, progress=False)
    assert outcomes(found) == ["win", "loss", "loss"] and len(server.arrivals) == 8
    assert [0.5 <= clock.sleeps[0] <= 1.0, 1.0 <= clock.sleeps[1] <= 2.0, len(clock.sleeps)] == [True, True, 2]
    assert found[0].forward.attempts == 1  # tries are not repeats: nothing was replied


def test_waits_are_the_seeds(serve: Callable[..., JudgeServer], tmp_path: Path) -> None:
    waits: list[list[float]] = []
    server = serve(lambda number, body: fails(500) if number % 5 < 3 else longer(number, body))
    for run, seed in enumerate((1, 1, 2)):
        clock = FakeClock()
        compare(judge_at(server, clock, seed=seed), PAIRS[:1], tmp_path / str(run), progress=False)
        waits.append(clock.sleeps)
    assert [len(sleeps) for sleeps in waits] == [3, 3, 3]
    assert waits[0] == waits[1] and waits[0] != waits[2]


def test_retry_after_is_honoured(serve: Callable[..., JudgeServer], tmp_path: Path) -> None:
    clock = FakeClock()
    date = {"Date": "Fri, 31 Dec 1999 23:59:19 GMT", "Retry_After": "Fri, 31 Dec 1999 23:59:59 GMT"}
    server = serve(in_turn(fails(429, Retry_After="7"), fails(503, **date)), clock=clock)
    compare(judge_at(server, clock), PAIRS, tmp_path, progress=False)
    arrived = [held.at for held in server.arrivals]
    assert arrived[1] - arrived[0] >= 7 and arrived[2] - arrived[1] >= 40
    assert arrived[2:] == [arrived[2]] * 6


def test_a_wait_of_an_hour_is_an_error_not_a_wait(serve: Callable[..., JudgeServer], tmp_path: Path) -> None:
    clock = FakeClock()
    server = serve(lambda number, body: fails(429, "later", Retry_After="3600"))
    with pytest.raises(ConnectionError, match="asks to wait 3600 seconds"):
        compare(judge_at(server, clock), PAIRS, tmp_path, progress=False)
    assert sum(clock.sleeps) < LONGEST_WAIT and len(server.arrivals) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_failures_that_stay_are_told_at_once_in_one_line_without_the_key(
    status: int, serve: Callable[..., JudgeServer], tmp_path: Path
) -> None:
    def rule(number: int, body: dict[str, Any]) -> str | Behaviour:
        escaped = SECRET.replace("'", "\\u0027")
        said = f"no\n{SECRET!r} {SECRET} {[SECRET, chr(34)]} {escaped} {json.dumps(repr(SECRET))} {'x' * 50}{SECRET}"
        return longer(number, body) if number < 3 else fails(status, said)

    clock = FakeClock()
    server = serve(rule)
    said = rf"judge judge at http\S+: HTTP {status}.*3 of 6 verdicts are stored"
    with pytest.raises(ValueError, match=said) as caught:
        compare(judge_at(server, clock), PAIRS, tmp_path, progress=False)
    assert len(server.arrivals) == 4 and not clock.sleeps
    text = str(caught.value)
    assert "\n" not in text and "0123456789" not in text and "pairs[1], its first text as answer 2" in text
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


def test_a_quota_that_is_used_up_is_not_waited_for(serve: Callable[..., JudgeServer], tmp_path: Path) -> None:
    server = serve(lambda number, body: fails(429, "You exceeded your quota", "insufficient_quota"))
    with pytest.raises(ValueError, match="exceeded your quota"):
        compare(judge_at(server), PAIRS, tmp_path, progress=False)
    assert len(server.arrivals) == 1


@pytest.mark.parametrize("failure", [stalls, drips], ids=["stalls", "drips"])
def test_a_request_has_one_deadline(failure: Behaviour, serve: Callable[..., JudgeServer], tmp_path: Path) -> None:
    judge: dict[str, Any] = {"timeout": 0.4, "max_retries": 1}
    server = serve(lambda number, body: failure)
    with pytest.raises(ConnectionError, match=r"2 tries \(last: no reply within 0.4 seconds\).*0 of 2 verdicts"):
        compare(judge_at(server, **judge), PAIRS[:1], tmp_path, progress=False)
    assert len(server.arrivals) == 2
    server.rule = in_turn("1", "1", failure)  # the third request stalls, those after it are answered
    later = judge_at(server, timeout=1.0, max_retries=9)
    assert outcomes(compare(later, PAIRS[:1], tmp_path, progress=False)) == ["win"]


def test_a_server_that_dies_midway_and_comes_back(serve: Callable[..., JudgeServer], tmp_path: Path) -> None:
    server = serve(lambda number, body: dies if number == 3 else longer(number, body))
    judge = judge_at(server, max_retries=2)
    said = r"3 tries \(last: no connection, Connect.*3 of 6 verdicts are stored"
    with pytest.raises(ConnectionError, match=said) as error:
        compare(judge, PAIRS, tmp_path, progress=False)
    assert "\n" not in str(error.value) and str(tmp_path) in str(error.value)
    assert len(list(tmp_path.rglob("*.json"))) == 3
    server.start()
    found = compare(judge, PAIRS, tmp_path, progress=False)
    assert outcomes(found) == ["win", "loss", "loss"] and len(server.arrivals) == 4 + 3
    assert [held.cached for one in found for held in (one.forward, one.backward)] == [True] * 3 + [False] * 3


def test_a_failure_stops_the_others_at_once_and_is_what_is_told(
    serve: Callable[..., JudgeServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(futures: list[Future[Any]]) -> Iterator[Future[Any]]:
        # The failure is seen after all else has ended, and the last of what it stopped is seen first.
        wait(futures)
        return reversed(futures)

    monkeypatch.setattr(comparing, "as_completed", late)
    server = serve(in_turn("1", fails(404)))
    with pytest.raises(ValueError, match=r"HTTP 404.* 1 of 6 verdicts are stored"):
        compare(judge_at(server), PAIRS, tmp_path, progress=False)
    assert len(server.arrivals) == 2


def test_what_is_under_way_when_another_request_fails_is_stored(
    serve: Callable[..., JudgeServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    halted, arrived = threading.Event(), threading.Event()
    halt = JudgeSession.halt

    def seen(session: JudgeSession, **options: bool) -> None:
        halt(session, **options)
        if threading.current_thread() is threading.main_thread():
            halted.set()

    def late(handler: Any) -> None:
        arrived.set()
        assert halted.wait(20)
        handler.send(completion("1"), 200, {})

    def refused(handler: Any) -> None:
        assert arrived.wait(20)
        fails(404)(handler)

    monkeypatch.setattr(JudgeSession, "halt", seen)
    server = serve(lambda number, body: refused if answers(body)[0] == "short" else late)
    with pytest.raises(ValueError, match=r"HTTP 404.* 1 of 6 verdicts are stored"):
        compare(judge_at(server, concurrency=2), PAIRS, tmp_path, progress=False)
    assert len(server.arrivals) == 2 and len(list(tmp_path.rglob("*.json"))) == 1


SCRIPT = """
import signal, sys
from paper_figures.judging import LLMJudge, compare
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell runs in the background
pairs = [("?", "a" * n, "b") for n in range(2, 6)]
judge = LLMJudge("judge", sys.argv[1], concurrency=int(sys.argv[3]), timeout=600.0)
print([held.outcome for held in compare(judge, pairs, sys.argv[2], progress=False)])
"""


@contextmanager
def running(server: JudgeServer, folder: Path, concurrency: int) -> Iterator[subprocess.Popen[bytes]]:
    words = [sys.executable, "-c", SCRIPT, server.url, str(folder), str(concurrency)]
    root = str(Path(__file__).parents[3])
    environment = os.environ | {"PYTHONPATH": root}
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_a_run_that_is_stopped_keeps_whole_files_and_goes_on(
    how: signal.Signals, serve: Callable[..., JudgeServer], tmp_path: Path
) -> None:
    reached = threading.Event()

    def hangs(handler: Any) -> None:
        reached.set()
        stalls(handler)

    server = serve(lambda number, body: hangs if number == 5 else longer(number, body))
    with running(server, tmp_path, concurrency=1) as process:
        assert reached.wait(60)
        process.send_signal(how)
        process.communicate(timeout=60)  # far below the request's own 600 seconds
        assert process.returncode != 0
    files = list(tmp_path.rglob("*.json"))
    assert len(files) == 5 and all(json.loads(path.read_text())["reply"]["raw"] in "12" for path in files)
    pairs = [("?", "a" * n, "b") for n in range(2, 6)]
    judge = LLMJudge("judge", server.url)
    assert estimate_cost(judge, pairs, tmp_path).requests == 3
    assert outcomes(compare(judge, pairs, tmp_path, progress=False)) == ["win"] * 4
    assert len(server.arrivals) == 6 + 3


# Limits -----------------------------------------------------------------------------------------------------------


def test_as_many_requests_at_a_time_as_said(serve: Callable[..., JudgeServer], tmp_path: Path) -> None:
    # None is answered before three are there, so that fewer at a time would fail; a fourth has time to come.
    release = threading.Event()

    def rule(number: int, body: dict[str, Any]) -> str:
        if number == 2:
            threading.Timer(0.3, release.set).start()
        assert release.wait(20)
        return longer(number, body)

    server = serve(rule)
    pairs = [("?", "a" * n, "b") for n in range(2, 8)]
    assert outcomes(compare(judge_at(server, concurrency=3), pairs, tmp_path, progress=False)) == ["win"] * 6
    assert server.most_active == 3 and len(server.arrivals) == 12


def test_requests_start_as_far_apart_as_the_rate_says(serve: Callable[..., JudgeServer], tmp_path: Path) -> None:
    clock = FakeClock()
    server = serve(in_turn(fails(500)), clock=clock)
    compare(judge_at(server, clock, requests_per_minute=12), PAIRS, tmp_path, progress=False)
    arrived = [held.at for held in server.arrivals]
    assert len(arrived) == 7
    assert all(later - earlier >= 5 for earlier, later in itertools.pairwise(arrived))
    assert arrived[2:] == [arrived[1] + 5 * n for n in range(1, 6)]


def test_the_rate_is_of_all_threads_and_a_server_can_hold_it() -> None:
    clock = FakeClock()
    limiter = RateLimiter(60, clock)
    found: list[float] = []
    threads = [threading.Thread(target=lambda: found.append(limiter.reserve())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [float(n) for n in range(8)]
    limiter.hold(30)
    assert [limiter.reserve(), limiter.reserve()] == [30, 31]
    unlimited = RateLimiter(None, clock)
    assert [unlimited.reserve() for _ in range(3)] == [0, 0, 0]
    unlimited.hold(5)
    assert unlimited.reserve() == 5


# Cache, key, cost -------------------------------------------------------------------------------------------------


def test_nothing_is_asked_twice(serve: Callable[..., JudgeServer], tmp_path: Path) -> None:
    server = serve()
    first = compare(judge_at(server), PAIRS, tmp_path, progress=False)
    # Neither how it is asked nor the form of a number is what is asked.
    other = judge_at(server, temperature=0, timeout=9, max_retries=0, concurrency=2, requests_per_minute=5, repeats=7)
    second = compare(other, PAIRS, tmp_path, progress=False)
    assert len(server.arrivals) == 6
    assert outcomes(second) == outcomes(first)
    assert all(held.cached for one in second for held in (one.forward, one.backward))
    assert [one.forward.seconds for one in first] == [one.forward.seconds for one in second]


def test_the_address_of_a_reply_is_that_of_older_versions() -> None:
    judge = LLMJudge("judge", "http://localhost:8000/v1/", seed=1)
    body = {
        "model": "judge",
        "messages": [
            {
                "role": "system",
                "content": "You are a strict evaluator. Decide which answer (1 or 2) is higher quality.\n"
                "If answer 1 is better, respond with 1.\nIf answer 2 is better, respond with 2.\n"
                "Respond ONLY with one character: 1 or 2.",
            },
            {"role": "user", "content": "Answer 1:\nä\n\nAnswer 2:\nb"},
        ],
        "temperature": 0.0,
        "max_tokens": 16,
        "seed": 1,
    }
    assert judge.body("?", "ä", "b") == body
    # Paid replies are found under it: a change of it would have them asked again.
    assert judge.key(body, 0) == "e6c6c136249e1dcd23bab2b6bc3ac1634f1c26f671de97480990cefbbdde3290"


@pytest.mark.parametrize(
    "other",
    [
        {"model": "judge-2"},
        {"base_url": "http://localhost:8001/v1"},
        {"temperature": 0.5},
        {"temperature": None},
        {"max_tokens": 1},
        {"max_tokens": None},
        {"seed": 0},
        {"extra": {"top_p": 0.5}},
        {"prompt": "with-question"},
    ],
    ids=lambda other: "-".join(f"{name}={value}" for name, value in other.items()),
)
def test_all_that_determines_a_reply_is_in_its_address(other: dict[str, Any]) -> None:
    plain: dict[str, Any] = {"model": "judge", "base_url": "http://localhost:8000/v1"}
    names = set()
    for judge in (LLMJudge(**plain), LLMJudge(**plain | other)):
        asked = (("x", "y", 0), ("y", "x", 0), ("x", "y", 1))
        names |= {judge.key(judge.body("?", a, b), attempt) for a, b, attempt in asked}
    assert len(names) == 6


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(path.read_bytes()[:30]),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"\xff\xff"),
        lambda path: path.write_bytes(b"[" * 100_000),
        lambda path: write_json(path, ["1"]),
        lambda path: write_json(path, json.loads(path.read_text()) | {"key": "0" * 64}),
        lambda path: write_json(path, json.loads(path.read_text()) | {"reply": {"raw": 1}}),
    ],
    ids="cut empty bytes deep list moved field".split(),
)
def test_a_broken_file_is_asked_again_with_a_note(
    damage: Callable[[Path], object], serve: Callable[..., JudgeServer], tmp_path: Path
) -> None:
    server = serve()
    judge = judge_at(server)
    compare(judge, PAIRS, tmp_path, progress=False)
    path = sorted(tmp_path.rglob("*.json"))[2]
    assert path.parent.name == path.name[:2] and len(path.name) == 64 + 5
    before = json.loads(path.read_text())["reply"]
    damage(path)
    with pytest.warns(CacheWarning, match=f"{path.name}.*asked again"):
        found = compare(judge, PAIRS, tmp_path, progress=False)
    assert outcomes(found) == ["win", "loss", "loss"] and len(server.arrivals) == 7
    assert json.loads(path.read_text())["reply"] == before


def test_no_key_is_written_or_shown(
    serve: Callable[..., JudgeServer], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    server = serve(lambda number, body: f"You sent {SECRET}, {json.dumps(SECRET)}, {SECRET!r}")
    judge = judge_at(server, repeats=1)
    (found,) = compare(judge, PAIRS[:1], tmp_path)
    assert "0123456789" not in repr(judge) + repr(found) and found.forward.raw.startswith("You sent [key]")
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or "0123456789" not in path.read_text()
    assert "0123456789" not in "".join(capfd.readouterr())


def test_a_key_that_is_a_digit_leaves_verdicts_alone(
    serve: Callable[..., JudgeServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "1")
    server = serve(lambda number, body: "1")
    assert compare(judge_at(server), PAIRS[:1], tmp_path, progress=False)[0].forward.choice == "1"
    assert compare(judge_at(server), PAIRS[:1], tmp_path, progress=False)[0].forward.choice == "1"


def test_a_server_on_this_machine_needs_no_key_and_others_do(
    serve: Callable[..., JudgeServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY_VARIABLE)
    server = serve()
    compare(judge_at(server), PAIRS[:1], tmp_path, progress=False)
    assert server.arrivals[0].headers["authorization"] == "Bearer no-key"
    for url in (None, "https://judges.example.com/v1"):
        with pytest.raises(ValueError, match=rf"{KEY_VARIABLE} is not set.*0 of 2 verdicts"):
            compare(LLMJudge("judge", url), PAIRS[:1], tmp_path, progress=False)
    for url in ("http://localhost/v1", "http://a.localhost:1/v1", "http://127.0.0.2/v1", "http://[::1]:8000/v1"):
        assert LLMJudge("judge", url).secret() is None
    server.rule = lambda number, body: fails(401)
    with pytest.raises(ValueError, match=f"HTTP 401, {KEY_VARIABLE} is not set"):
        compare(judge_at(server), PAIRS, tmp_path, progress=False)
    monkeypatch.setenv(KEY_VARIABLE, "sk-\u00e9\u00e9")
    with pytest.raises(ValueError, match="not shown") as caught:
        compare(LLMJudge("judge"), PAIRS[:1], tmp_path, progress=False)
    assert "\u00e9" not in str(caught.value)


def test_proxies_and_addresses_of_the_environment_do_not_matter(
    serve: Callable[..., JudgeServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
        monkeypatch.setenv(name.lower(), "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer another")
    server = serve()
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    compare(judge_at(server), PAIRS[:1], tmp_path, progress=False)
    assert server.arrivals[0].headers["authorization"] == f"Bearer {SECRET}"
    assert LLMJudge("judge").endpoint == "http://127.0.0.1:9/v1"  # as the client itself reads it


def test_without_the_client_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ValueError, match=r'pip install "rws-toolkit\[judge\]"'):
        compare(LLMJudge("judge", "http://localhost/v1"), PAIRS, tmp_path, progress=False)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"model": " "}, "model"),
        ({"base_url": "localhost:8000"}, "base_url"),
        ({"base_url": "ftp://host/v1"}, "base_url"),
        ({"base_url": "http://"}, "base_url"),
        ({"base_url": "http://host:port/v1"}, "base_url"),
        ({"base_url": "http://ho st/v1"}, "base_url"),
        ({"base_url": "https://user:hunter2@host/v1"}, "base_url"),
        ({"base_url": "https://host/v1?api-key=hunter2"}, "base_url"),
        ({"prompt": "my own"}, "prompt"),
        ({"temperature": float("nan")}, "temperature"),
        ({"temperature": -1}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"timeout": 0}, "timeout"),
        ({"max_retries": -1}, "max_retries"),
        ({"repeats": 1.5}, "repeats"),
        ({"requests_per_minute": 0}, "requests_per_minute"),
        ({"concurrency": 0}, "concurrency"),
        ({"seed": True}, "seed"),
        ({"extra": {"model": "x"}}, "extra"),
        ({"extra": {"x": float("nan")}}, "extra"),
    ],
    ids=lambda value: value if isinstance(value, str) else str(next(iter(value.values())))[:12],
)
def test_settings_out_of_range_are_named(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=f"^{named} ") as caught:
        LLMJudge(**{"model": "judge", "base_url": "http://localhost/v1", **wrong})
    assert "hunter2" not in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("pair", "named"),
    [
        (("?", "a"), r"pairs\[1\] is not"),
        ("abc", r"pairs\[1\] is not"),
        (("?", "a", None), r"pairs\[1\]: second"),
        (("?", "a", "\ud800"), r"pairs\[1\].*surrogate"),
        (([{"role": "x"}], "a", "b"), r"pairs\[1\]: question"),
    ],
    ids="two text none surrogate role".split(),
)
def test_pairs_that_are_none_are_named(pair: Any, named: str, tmp_path: Path) -> None:
    judge = LLMJudge("judge", "http://localhost/v1", prompt="with-question")
    with pytest.raises(ValueError, match=named):
        compare(judge, [PAIRS[0], pair], tmp_path, progress=False)
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"cache is .*: a file"):
        compare(judge, PAIRS, tmp_path / "file", progress=False)


def test_the_estimate_is_of_what_is_missing(serve: Callable[..., JudgeServer], tmp_path: Path) -> None:
    server = serve()
    judge = judge_at(server, max_tokens=10, repeats=1)
    pairs = [*PAIRS, ("?", "same", "same")]
    found = estimate_cost(judge, pairs, tmp_path, price_in=2.0, price_out=8.0)
    sizes = [
        sum(-(-len(message["content"].encode()) // 4) for message in judge_messages("paper", q, *texts))
        for q, a, b in PAIRS
        for texts in ((a, b), (b, a))
    ]
    assert (found.requests, found.cached, found.counted_by) == (6, 0, "bytes / 4")
    assert (found.prompt_tokens, found.reply_tokens) == (sum(sizes), 60)
    assert found.cost == pytest.approx((sum(sizes) * 2 + 60 * 8) / 1e6)
    assert not server.arrivals
    compare(judge, PAIRS[:2], tmp_path, progress=False)
    rest = estimate_cost(judge, pairs, tmp_path, count=len, counted_by="characters")
    wanted = sum(len(m["content"]) for m in judge_messages("paper", *PAIRS[2]))
    assert (rest.requests, rest.cached, rest.cost, rest.prompt_tokens) == (2, 4, None, 2 * wanted)
    assert rest.reply_tokens == 20
    assert "by characters" in str(rest) and "up to 2 times" in str(rest)
    assert estimate_cost(judge_at(server, max_tokens=None), pairs, tmp_path).reply_tokens is None
    for prices in ({"price_in": 1.0}, {"price_in": -1.0, "price_out": 1.0}, {"price_in": 1.0, "price_out": np.inf}):
        with pytest.raises(ValueError, match="price_"):
            estimate_cost(judge, pairs, tmp_path, **prices)


# The command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    rows = [{"id": n, "question": q, "first": a, "second": b} for n, (q, a, b) in enumerate(PAIRS)]
    file = tmp_path / "pairs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def ran(url: str, *options: str) -> tuple[int, str, str]:
        words = [str(file), "--judge-model", "judge", "--base-url", url, "--cache", str(tmp_path / "cache"), *options]
        status = main(["judge", *words])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return ran


def test_the_command_prints_rates_and_nothing_else(
    command: Callable[..., tuple[int, str, str]], serve: Callable[..., JudgeServer]
) -> None:
    server = serve()
    prices = ("--price-in", "2", "--price-out", "8")
    status, out, err = command(server.url, "--dry-run", *prices)
    assert (status, out, len(server.arrivals)) == (0, "", 0)
    assert "6 requests (0 verdicts are stored)" in err and "bytes / 4" in err and "cost at most" in err
    mini = str(models_directory() / "mini")
    status, out, err = command(server.url, "--dry-run", "--json", "--tokenizer", mini)
    estimate = json.loads(out)["estimate"]
    assert (estimate["requests"], estimate["counted_by"], estimate["cost"]) == (6, mini, None)
    status, out, err = command(server.url)
    assert (status, out, len(server.arrivals)) == (2, "", 0) and "--yes is missing" in err
    status, out, err = command(server.url, "--max-cost", "0.0001", *prices, "--yes")
    assert (status, out, len(server.arrivals)) == (2, "", 0) and "--max-cost" in err.splitlines()[-1]
    assert command(server.url, "--max-cost", "1", "--yes")[0] == 2
    status, out, err = command(server.url, "--json", "--yes", "--max-cost", "1", *prices)
    found = json.loads(out)
    assert (status, len(server.arrivals)) == (0, 6)
    assert [row["outcome"] for row in found["comparisons"]] == ["win", "loss", "loss"]
    assert [row["id"] for row in found["comparisons"]] == [0, 1, 2]
    both = found["rates"]["both"]
    assert (both["wins"], both["draws"], both["losses"], both["invalid"]) == (1, 0, 2, 0)
    assert found["rates"]["score"]["mean"] == pytest.approx(1 / 3)
    # All is stored: no --yes, no server.
    server.die()
    status, out, err = command(server.url)
    assert status == 0 and "| both | 1 | 0 | 2 | 0 | 0.333 [" in out and "the orders agree in 100.0%" in out


def test_the_command_says_what_is_wrong_in_one_line(
    command: Callable[..., tuple[int, str, str]], serve: Callable[..., JudgeServer], tmp_path: Path
) -> None:
    server = serve(lambda number, body: fails(404, "no such model"))
    for options, named in (
        (["--yes"], r"HTTP 404.*0 of 6 verdicts"),
        (["--temperature", "warm"], "--temperature"),
        (["--extra", "[]"], "--extra"),
        (["--seed", "-1"], "--seed"),
        (["--tokenizer", "/nowhere"], "--tokenizer"),
    ):
        status, out, err = command(server.url, *options)
        assert (status, out) == (2, "") and re.search(named, err.splitlines()[-1])
    file = tmp_path / "pairs.jsonl"
    turns = [{"role": "user", "content": "Hi"}]
    for row, named in (
        ({"question": "?", "first": "a", "second": "b"}, "row 1: id is None"),
        ({"id": 1, "question": 3, "first": "a", "second": "b"}, "row 1: question"),
        ({"id": 1, "question": "?", "first": "a"}, "row 1: second is missing"),
        ({"id": 1, "first": "a", "second": "b"}, "row 1: question"),
        ({"id": 1, "question": "", "first": "a", "second": "b"}, "pairs[0]: question is empty"),
        ({"id": 1, "question": turns, "first": "a", "second": "b"}, "--yes is missing: 2 requests"),
    ):
        file.write_text(json.dumps(row))
        status, out, err = command(server.url, "--prompt", "with-question")
        assert (status, out) == (2, "") and named in err.splitlines()[-1]


@pytest.mark.parametrize(("said", "asked"), [("y\n", 6), ("n\n", 0), ("", 0)], ids="yes no end".split())
def test_at_a_terminal_the_command_asks_before_it_spends(
    said: str,
    asked: int,
    command: Callable[..., tuple[int, str, str]],
    serve: Callable[..., JudgeServer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal(said))
    server = serve()
    status, _, err = command(server.url)
    assert (status, len(server.arrivals)) == (0 if asked else 2, asked) and "make 6 requests? [y/N]" in err


def test_the_command_says_what_was_invalid_and_which_files_were_broken(
    command: Callable[..., tuple[int, str, str]], serve: Callable[..., JudgeServer], tmp_path: Path
) -> None:
    server = serve(lambda number, body: "Both are fine" if "short" in answers(body) else longer(number, body))
    status, out, err = command(server.url, "--yes", "--repeats", "0", "--concurrency", "1")
    assert status == 0 and "| both | 0 | 0 | 2 | 1 |" in out
    assert "2 verdicts are invalid; a reply was 'Both are fine'" in err
    sorted((tmp_path / "cache").rglob("*.json"))[0].write_text("{")
    status, out, err = command(server.url, "--yes", "--repeats", "0")
    assert status == 0 and len(re.findall(r"note: .*asked again", err)) == 1 and len(server.arrivals) == 7
