"""Layers around the step for strategies that mask committed tokens again, or replace them (`Abilities.changes`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from rws_decode.canvas.schedule import current_block, last_steps
from rws_decode.step.completion import Choice, Completion, MaskedLogits, Scheduled
from rws_decode.step.layers import said
from rws_decode.step.rounding import near_ties
from rws_decode.step.select import rank_values
from rws_decode.step.step import Decoder, Done, State, Step, drawn
from rws_decode.strategies.protocol import CommittedPositions, abilities_of

_COPIES = 32  # rows of a forward that leaves tokens out, at least, where the predictor computes single positions


class RowCommits(NamedTuple):
    """The commits of b rows: their step, int64 [b, n], -1 if masked, and log p of the token then, float64, nats."""

    step: Tensor
    log_p: Tensor

    def of(self, rows: Tensor) -> RowCommits:
        return RowCommits(self.step[rows], self.log_p[rows])


class Revision(NamedTuple):
    """The positions that a step masks again: again, bool [b, n]; near, int64 [b], how many of them rounding may change.

    forwards: int64 [b], of each row, besides the step's own; calls: of the batch; before: the commits before the step;
    log_p: float64 [b, n], nats of the candidates.
    """

    again: Tensor
    near: Tensor
    forwards: Tensor
    calls: int
    before: RowCommits
    log_p: Tensor

    def held(self, step: int, chosen: Tensor) -> RowCommits:
        """Return the commits after the step. chosen: bool [b, n], those of the step."""
        when = torch.where(chosen, step, self.before.step).masked_fill(self.again, -1)
        return RowCommits(when, torch.where(chosen, self.log_p, self.before.log_p))


def revising(run: Step) -> Step:
    """Return the step that first masks again the tokens that the strategy names, and commits one more for each."""

    def step(decoder: Decoder, state: State) -> tuple[State, Done]:
        last = last_steps(state.masked, state.step, decoder.plan)
        where = current_block(state.masked, decoder.plan) & ~state.masked & ~last[:, None]
        tokens, revisions = None, list[Revision]()
        if abilities_of(decoder.strategy).revises == "visible" and bool(where.any()):
            both = decoder.forward(decoder, state._replace(masked=state.masked | where))
            stands = where[both.row, both.position]
            masked_logits, tokens = both.at(~stands), both.at(stands)
        else:
            masked_logits = decoder.forward(decoder, state)

        def select(_: Decoder, completion: Completion, factor: Tensor) -> Choice:
            completion, revision = _revise(decoder, state, completion, factor, where, tokens)
            revisions.append(revision)
            return decoder.select(decoder, completion, factor)

        after, done = run(replace(decoder, forward=lambda _decoder, _state: masked_logits, select=select), state)
        (revision,) = revisions
        again, canvas = revision.again, after.canvas
        answer = canvas.ids.gather(1, canvas.answer).masked_fill(again, decoder.predictor.mask_id)
        commits = revision.held(state.step, done.choice.chosen)
        after = after._replace(
            canvas=canvas._replace(ids=canvas.ids.scatter(1, canvas.answer, answer)),
            masked=after.masked | again,
            beside={**after.beside, "held": commits},
        )
        forwards, calls = done.forwards + revision.forwards.to(done.forwards.device), done.calls + revision.calls
        return after, done._replace(masked_again=again, near=revision.near, forwards=forwards, calls=calls)

    return step


def _left_out(decoder: Decoder, state: State, row: Tensor, position: Tensor) -> tuple[Tensor, Tensor, int]:
    """Return logits of M committed positions, each masked in a copy of its row, their errors, and the forwards."""
    most = max(len(state.rows), _COPIES) if hasattr(decoder.predictor, "logits_at") else len(state.rows)
    logits, errors = [], []
    for rows, positions in zip(row.split(most), position.split(most), strict=True):
        canvas, number = state.canvas.of(rows), torch.arange(len(rows), device=rows.device)
        canvas.ids[number, canvas.answer[number, positions]] = decoder.predictor.mask_id
        masked = torch.zeros_like(state.masked[rows])
        masked[number, positions] = True
        masked_logits = decoder.forward(decoder, state._replace(canvas=canvas, masked=masked, rows=state.rows[rows]))
        logits.append(masked_logits.published)
        errors.append(masked_logits.error)
    return torch.cat(logits), torch.cat(errors), len(logits)


def _revise(
    decoder: Decoder, state: State, completion: Completion, factor: Tensor, where: Tensor, tokens: MaskedLogits | None
) -> tuple[Completion, Revision]:
    """Return the step's completion, with as many commits as the revision needs, and the revision.

    factor: float64 [b]; where: bool [b, n], the M tokens that may be masked again; tokens: their logits. ValueError if
    the schedule and the revision together commit more positions than are masked.
    """
    rows, nowhere = state.rows, torch.zeros_like(state.masked)
    strategy: Any = decoder.strategy
    able, view = abilities_of(strategy), completion.view
    scale = factor.to(completion.published.device)[completion.row]
    log_odds = rank_values(completion.published, view.candidate, scale)
    log_p = torch.zeros(nowhere.shape, dtype=torch.float64, device=nowhere.device)
    candidates = log_p.index_put((completion.row, view.position), logsigmoid(log_odds))
    before = state.beside.get("held", RowCommits(nowhere.long() - 1, log_p))
    none = torch.zeros_like(rows)
    revision = Revision(nowhere, none, none, 0, before, candidates)
    row, position = index = where.nonzero(as_tuple=True)
    if not len(row):
        return completion, revision
    places = (rows[row], position)
    commits = decoder.plan[state.step].commits
    record = (completion.before[index], log_p[index], before.step[index], before.log_p[index])
    masked = view._replace(log_odds=log_odds, scale=scale)
    committed = CommittedPositions(view.step, view.rows, view.length, *places, *record, commits, masked)
    now = off = log_p[index]
    if tokens is not None:
        now, off = _nats(tokens.published, tokens.error, committed.token, factor[row.cpu()])
    elif able.revises == "left-out":
        everything = torch.ones_like(row, dtype=torch.bool)
        needed = strategy.asks_evidence(committed) if able.asks_evidence else everything
        if bool(needed.any()):
            logits, error, calls = _left_out(decoder, state, row[needed], position[needed])
            nats, errors = _nats(logits, error, committed.token[needed], factor[row[needed].cpu()])
            now, off = now.masked_scatter(needed, nats), off.masked_scatter(needed, errors)
            forwards = revision.forwards.index_add(0, row, needed.long())
            revision = revision._replace(forwards=forwards, calls=calls)
    committed = committed._replace(log_p=now)
    again = _asked(strategy, committed)
    counts = none.index_add(0, row, again.long())
    if isinstance(completion.commits, Scheduled):
        remaining = completion.block.sum(dim=1) - commits
        if bool((counts > remaining).any()):
            raise ValueError(
                f"strategy {strategy} masks {counts.tolist()} tokens of the rows again at step {state.step}: at most "
                f"the masks that the schedule leaves, {remaining.tolist()}, may be"
            )
        completion = completion._replace(commits=Scheduled(commits + counts))
    near = none
    if bool(off.any()):
        reach = 2 * scale * completion.error
        ends = [
            _asked(
                strategy,
                committed._replace(log_p=now + sign * off, masked=masked._replace(log_odds=log_odds - sign * reach)),
            )
            for sign in (-1, 1)
        ]
        near = near.index_add(0, row, (ends[0] != ends[1]).long())
        low, high = (log_p.index_put(index, -now + sign * off) for sign in (-1, 1))
        eligible, chosen = nowhere.index_put(index, again | True), nowhere.index_put(index, again)
        near = torch.maximum(near, near_ties(low, high, eligible, chosen, None))
    return completion, revision._replace(again=nowhere.index_put(index, again), near=near)


def _nats(logits: Tensor, error: Tensor, token: Tensor, factor: Tensor) -> tuple[Tensor, Tensor]:
    """Return log p of the tokens under the scaled logits, and its error bound; float64 [M]."""
    by = factor.to(logits.device)
    nats = logsigmoid(rank_values(logits, token, by))
    # A token of probability 0 has no log-odds.
    never = logits.gather(1, token[:, None])[:, 0] == -torch.inf
    return nats.masked_fill(never, -torch.inf), 2 * by * error  # both ends of a difference may be off


def _asked(strategy: Any, view: CommittedPositions) -> Tensor:
    return said(strategy, "a revision", strategy.revise(view), view.row.bool())


def editing(run: Step) -> Step:
    """Return the step that also replaces tokens of its block; in a block that it fills, until none changes.

    The trace has the final tokens; the step's factor holds for its further forwards.
    """

    def step(decoder: Decoder, state: State) -> tuple[State, Done]:
        strategy, block = decoder.strategy, current_block(state.masked, decoder.plan)
        stands = block & ~state.masked
        masked_logits = decoder.forward(decoder, state._replace(masked=state.masked | stands))
        token = stands[masked_logits.row, masked_logits.position]
        masked, of_tokens = masked_logits.at(~token), masked_logits.at(token)
        after, done = run(replace(decoder, forward=lambda _decoder, _state: masked), state)
        places = after.canvas.answer
        tokens, _, near = _edited(decoder, state, of_tokens, after.canvas.ids.gather(1, places), done.factor)
        near, forwards, calls = torch.maximum(near, done.near), done.forwards.cpu(), done.calls
        going = ~(after.masked & block).any(dim=1)
        for _ in range(abilities_of(strategy).edits or 0):
            if not bool(going.any()):
                break
            canvas = after.canvas._replace(ids=after.canvas.ids.scatter(1, places, tokens))
            masked_logits = decoder.forward(decoder, state._replace(canvas=canvas, masked=block).of(going))
            masked_logits = masked_logits._replace(row=going.nonzero()[:, 0][masked_logits.row])
            forwards, calls = forwards + going.cpu(), calls + 1
            tokens, changed, more = _edited(decoder, state, masked_logits, tokens, done.factor)
            near, going = torch.maximum(near, more), changed.any(dim=1)
        completion = done.choice.completion
        completion = completion._replace(tokens=torch.where(block & ~after.masked, tokens, completion.tokens))
        after = after._replace(canvas=after.canvas._replace(ids=after.canvas.ids.scatter(1, places, tokens)))
        done = done._replace(choice=done.choice._replace(completion=completion), near=near)
        return after, done._replace(edited=stands & (tokens != completion.before), forwards=forwards, calls=calls)

    return step


def _edited(
    decoder: Decoder, state: State, masked_logits: MaskedLogits, tokens: Tensor, factor: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the answers with tokens replaced, int64 [b, n], the replaced positions, and the near-ties, int64 [b].

    masked_logits: at M tokens; factor: float64 [b], of the step.
    """
    strategy: Any = decoder.strategy
    index, near = (masked_logits.row, masked_logits.position), torch.zeros_like(state.rows)
    nowhere = torch.zeros_like(state.masked)
    if not len(masked_logits.row):
        return tokens, nowhere, near
    token, lead = drawn(decoder, state.step, state.rows[masked_logits.row], masked_logits.logits)
    scale = factor.to(tokens.device)[masked_logits.row]
    log_odds, reach = rank_values(masked_logits.published, token, scale), 2 * scale * masked_logits.error
    other = token != tokens[index]
    low, replaces, high = (strategy.edits(log_odds + by) & other for by in (-reach, 0, reach))
    unsure = (low != high) | (strategy.edits(log_odds + reach) & (lead <= 2 * masked_logits.error))
    changed = nowhere.index_put(index, replaces)
    tokens = tokens.index_put(index, torch.where(replaces, token, tokens[index]))
    return tokens, changed, near.index_add(0, masked_logits.row, unsure.long())
