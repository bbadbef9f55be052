"""The game as plain text: in a terminal, on a static page, in a test."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from pinlab.classroom.game_look import Look
from pinlab.classroom.game_memory import UNWRITTEN, Buffer
from pinlab.classroom.game_source import Listing
from pinlab.classroom.game_state import GameState

WIDTH = 96
NOT_SHOWN = "(not shown)"  # too many values, or of a type that numpy lacks
LEGEND = f"{UNWRITTEN} nothing written yet   * changed by the last step"
NEXT, WITHIN, NONE = "▸", "…", " "  # before a line: it comes next; a part of it has run


def screen(state: GameState) -> str:
    """Everything that there is to see of a state."""
    return "\n".join(_lines(state))


def _lines(state: GameState) -> Iterator[str]:
    yield from heading(state)
    yield ""
    for source in state.look.listings:
        yield from listing_lines(source, state.look)
    yield ""
    yield from queue_lines(state.look)
    yield from memory_lines(state.look.memory)
    yield ""
    yield f"{'last step':10}{state.message}"
    if state.look.over:
        yield f"{'value':10}{state.look.outcome!r}"
    yield f"{'token':10}{state.token}" + torn(state)
    yield f"{'goal':10}{state.goal}"
    yield f"{'':10}{state.verdict}"
    if state.won:
        yield from ["", *wrapped(state.rules.after)]
    if state.report is not None:
        yield from ["", *state.report.certificate().splitlines()]


def heading(state: GameState) -> Iterator[str]:
    """The level's title, and what is to be done."""
    which = " (repaired)" if state.repaired else ""
    yield f"{state.rules.title or 'the scheduler game'}{which}"
    yield from wrapped(state.introduction)


def wrapped(text: str) -> Iterator[str]:
    """A text's paragraphs as lines."""
    for paragraph in text.split("\n\n"):
        yield from textwrap.wrap(paragraph, WIDTH)


def torn(state: GameState) -> str:
    """How the copies are torn, to be said beside the token."""
    pieces = state.played.pieces
    return f"   with pieces={pieces}" if pieces > 1 else ""


def listing_lines(source: Listing, look: Look) -> Iterator[str]:
    """A function's lines with an arrow at the next one."""
    if not source.lines:
        yield f"  {source.function}: its source cannot be read"
    innermost = source is look.listings[-1]
    for number, line in source.shown():
        mark = NONE
        if number == source.next:
            mark = NEXT if innermost and not source.within else WITHIN
        yield f" {mark} {number:3} | {line}".rstrip()
    if innermost and source.next is None and not look.over:
        yield f" {NEXT}     | (returned; its value is about to be read)"


def queue_lines(look: Look) -> Iterator[str]:
    """The queue of each stream, its next operation marked."""
    for stream, queue in enumerate(look.queues):
        head = f"stream {stream}"
        if not queue:
            yield f"{head:10}nothing queued"
        for entry in queue:
            first = entry is queue[0]
            mark = NEXT if first and not entry.blocked else NONE
            why = f" ({entry.blocked})" if first and entry.blocked else ""
            yield f"{head:10}{mark} {entry}{why}"
            head = ""


def memory_lines(memory: tuple[Buffer, ...]) -> Iterator[str]:
    """A row for each name: where its bytes lie, whose they are, what is in them."""
    rows = [(row.name, where_of(row), values_in(row), ", ".join(row.uses)) for row in memory]
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    head = "memory"
    for row in rows:
        cells = "   ".join(f"{cell:{width}}" for cell, width in zip(row, wide, strict=True))
        yield f"{head:10}{cells}".rstrip()
        head = ""
    if any(set(row.values) & {UNWRITTEN} or any(row.changed) for row in memory):
        yield f"{'':10}{LEGEND}"


def values_in(row: Buffer) -> str:
    """The elements, a star behind those that the last step changed."""
    return " ".join(row.marked) or NOT_SHOWN


def where_of(row: Buffer) -> str:
    """Kind of memory and bytes, e.g. ``pinned, bytes [0:8] of rows``."""
    return f"{row.where}, {row.span}" + (f" of {row.owner}" if row.owner else "")
