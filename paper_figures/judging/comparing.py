"""Pairs judged in both orders, with what is stored used and what is asked stored at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed

from paper_figures.judging.cache import ReplyCache, cache_in
from paper_figures.judging.client import JudgeSession, Stopped
from paper_figures.judging.judge import LLMJudge
from paper_figures.judging.plan import Inquiry, Pair, Plan, plan_pairs
from paper_figures.judging.verdicts import Comparison, same_text, verdict_of

__all__ = ["compare"]


def compare(
    judge: LLMJudge,
    pairs: Iterable[Pair],
    cache: str | os.PathLike[str],
    *,
    ask_identical: bool = False,
    progress: bool = True,
) -> list[Comparison]:
    """Return a judge's comparison of each pair (question, first, second), in the order of the pairs.

    Both orders are asked. question: a text, or messages with role and content; the prompt "paper" does not show it.
    Two texts that are the same are a draw, for which nobody is asked unless `ask_identical`; then both orders are one
    request, and the pair a draw still, or invalid. A reply that is no verdict is asked again `judge.repeats` times,
    then the comparison is "invalid".

    cache: a folder. Every reply is stored as it comes, under all that determines it: another run, of these pairs or
    others, asks only what is missing, and a run that was stopped, or whose server died, goes on. So a repeated call
    gives the same verdicts, also where the model behind the endpoint would say something else by then.

    ValueError, in one line, for input that cannot be used and for what the endpoint refuses; ConnectionError, in one
    line, where it does not answer. Both say how many verdicts are stored. progress: show a bar on standard error.
    """
    given, store = list(pairs), cache_in(cache)
    plan = plan_pairs(judge, given, store, ask_identical=ask_identical)
    asked = plan.open(judge)
    answered = _ask_all(judge, plan, asked, store, progress) if asked else {}
    verdicts = {
        name: verdict_of(answered.get(name, inquiry).replies, cached=name not in answered)
        for name, inquiry in plan.inquiries.items()
    }
    same = same_text(judge.model)
    return [
        Comparison(same, same) if names is None else Comparison(verdicts[names[0]], verdicts[names[1]])
        for names in plan.orders
    ]


def _ask_all(
    judge: LLMJudge, plan: Plan, asked: list[Inquiry], store: ReplyCache, progress: bool
) -> dict[str, Inquiry]:
    from tqdm import tqdm

    total = len(plan.inquiries)
    bar = tqdm(
        total=total, initial=total - len(asked), desc="judge", unit="verdict", file=sys.stderr, disable=not progress
    )
    futures: list[Future[Inquiry]] = []
    try:
        with bar, JudgeSession(judge) as session, ThreadPoolExecutor(judge.concurrency) as pool:
            futures += [pool.submit(_settle, session, inquiry, store) for inquiry in asked]
            try:
                for future in as_completed(futures):
                    # What was stopped says nothing: the request that stopped it does, in its own future.
                    if not isinstance(future.exception(), Stopped):
                        future.result()
                        bar.update()
            except BaseException as error:
                session.halt(abort=not isinstance(error, Exception))
                for future in futures:
                    future.cancel()
                raise
    except (ValueError, ConnectionError) as error:
        done = total - len(asked) + sum(_is_stored(future) for future in futures)
        raise _of_kind(
            error, f"{error}; {done} of {total} verdicts are stored in {store.folder}, another run asks only the rest"
        ) from None
    return {inquiry.name: inquiry for inquiry in (future.result() for future in futures)}


def _is_stored(future: Future[Inquiry]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def _of_kind(error: Exception, line: str) -> Exception:
    # Not type(error)(line): subclasses such as UnicodeError take other arguments.
    return ConnectionError(line) if isinstance(error, ConnectionError) else ValueError(line)


def _settle(session: JudgeSession, inquiry: Inquiry, store: ReplyCache) -> Inquiry:
    """Ask until there is a verdict; each reply is stored before the next is asked for. A failure stops the session."""
    judge = session.judge
    try:
        while not inquiry.is_settled(judge):
            body, attempt = inquiry.body(judge), len(inquiry.replies)
            key = judge.key(body, attempt)
            reply = store.read(key) if attempt else None
            if reply is None:
                reply = session.ask(body)
                store.write(key, reply, endpoint=judge.endpoint, model=judge.model, attempt=attempt)
            inquiry = inquiry.following(reply)
    except BaseException as error:
        # Here, not where the failure is seen: a wrong key must not be tried on the next pair meanwhile.
        session.halt()
        if isinstance(error, ValueError | ConnectionError):
            raise _of_kind(error, f"{error}, asked for {inquiry.where}") from None
        raise
    return inquiry
