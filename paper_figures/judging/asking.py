"""Ask a judge about pairs, in both orders; what is stored is not asked again."""

from __future__ import annotations

import os
from collections.abc import Iterable

from paper_figures.judging.endpoint import Endpoint, endpoint_of
from paper_figures.judging.inquiries import Inquiry, Pair, inquiries_of
from paper_figures.judging.judge import LLMJudge
from paper_figures.judging.verdicts import PairVerdict, ReplyCache, cache_in, same_text, verdict_of
from rws_theory.commands.progress import progress as shown_progress

__all__ = ["compare"]


def compare(
    judge: LLMJudge,
    pairs: Iterable[Pair],
    cache: str | os.PathLike[str],
    *,
    ask_identical: bool = False,
    progress: bool = True,
) -> list[PairVerdict]:
    """Return a judge's verdicts on each pair (question, first, second), in the order of the pairs.

    Both orders are asked. question: a text, or messages with role and content; the prompt "paper" does not show it.
    Two texts that are the same are a draw, and nobody is asked. With `ask_identical` the judge is asked: then both
    orders are one request, and the pair is still a draw, or invalid. A reply that is no verdict is asked again
    `judge.repeats` times; after that the pair is "invalid".

    cache: a folder. Every reply is stored as it comes, under all that determines it. Another run asks only what is
    missing, also after a stop or a dead server. A repeated call gives the same verdicts, even if the model behind the
    endpoint would answer differently by then.

    ValueError, in one line, for input that cannot be used and for what the endpoint refuses; ConnectionError, in one
    line, where it does not answer. Then no further request is made, those under way are finished and stored, and the
    line says how many verdicts are stored. progress: show how many are settled on standard error.
    """
    store = cache_in(cache)
    asked = inquiries_of(judge, pairs, store, ask_identical=ask_identical)
    pending = asked.pending(judge)
    settled = _settle_all(endpoint_of(judge), pending, store, len(asked.by_name), progress) if pending else {}
    verdicts = {
        name: verdict_of(settled.get(name, inquiry).replies, cached=name not in settled)
        for name, inquiry in asked.by_name.items()
    }
    same = same_text(judge.model)
    return [
        PairVerdict(same, same) if names is None else PairVerdict(verdicts[names[0]], verdicts[names[1]])
        for names in asked.orders
    ]


def _settle_all(
    endpoint: Endpoint, pending: list[Inquiry], store: ReplyCache, total: int, progress: bool
) -> dict[str, Inquiry]:
    """Settle every inquiry, `concurrency` at a time, and return them by name; total: with those that are stored."""
    from anyio import create_task_group
    from anyio.from_thread import start_blocking_portal

    settled: dict[str, Inquiry] = {}
    failures: list[Exception] = []
    stored = total - len(pending)
    queue = iter(pending)

    async def settle_in_turn() -> None:
        for inquiry in queue:
            if failures:
                return
            try:
                settled[inquiry.name] = await _settle(endpoint, inquiry, store)
                bar.advance()
            except (ValueError, ConnectionError) as error:
                failures.append(_same_kind(error, f"{error}, asked for {inquiry.where}"))
            except Exception as error:
                failures.append(error)

    async def settle_all() -> None:
        async with endpoint.client, create_task_group() as group:
            for _ in range(endpoint.judge.concurrency):
                group.start_soon(settle_in_turn)

    # On an event loop in a thread of its own: notebooks can call this, and an interrupt cuts requests off.
    shown = shown_progress("judge", total, "verdict", done=stored, shown=progress)
    with shown as bar, start_blocking_portal("asyncio") as portal:
        portal.call(settle_all)
    if not failures:
        return settled
    told = f"{stored + len(settled)} of {total} verdicts are stored in {store.folder}, another run asks only the rest"
    if isinstance(failures[0], ValueError | ConnectionError):
        raise _same_kind(failures[0], f"{failures[0]}; {told}")
    raise failures[0]


async def _settle(endpoint: Endpoint, inquiry: Inquiry, store: ReplyCache) -> Inquiry:
    """Ask until there is a verdict or no repeat remains; each reply is stored before the next is asked for."""
    judge = endpoint.judge
    while not inquiry.is_settled(judge):
        body, attempt = inquiry.body(judge), len(inquiry.replies)
        key = judge.key(body, attempt)
        reply = store.read(key) if attempt else None
        if reply is None:
            reply = await endpoint.ask(body)
            store.write(key, reply, endpoint=judge.endpoint, model=judge.model, attempt=attempt)
        inquiry = inquiry.following(reply)
    return inquiry


def _same_kind(error: Exception, line: str) -> Exception:
    # Not type(error)(line): subclasses such as UnicodeError take other arguments.
    return ConnectionError(line) if isinstance(error, ConnectionError) else ValueError(line)
