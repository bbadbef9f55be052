"""Checks of lesson 09, the casebook: two repairs in class, and any of the others at home."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pinlab.casebook import case
from pinlab.classroom.checks.check import Check
from pinlab.classroom.checks.repair import Work, grade_repair
from pinlab.classroom.checks.verdict import Verdict, not_answered, right, wrong
from pinlab.classroom.deck import DECK
from pinlab.classroom.question import is_open

IN_CLASS = ("Z12", "Z57")
AT_HOME = tuple(
    card.case.id for card in DECK.values() if not card.case.control and card.case.id not in IN_CLASS
)

# --- 09.1 the guard that begins too late (Z12) --------------------------------------------------


def _explain_late(mine: Work, broken: Work) -> tuple[str, str | None]:
    if mine.counts["kernel"] > broken.counts["kernel"]:
        return (
            "You copy on the device, after the upload has read its source, right or not. It is "
            "the source that is overwritten.",
            "M10",
        )
    if mine.waits < broken.waits:
        return (
            "The host does not wait for the upload of a step before it writes its source again; "
            "an event that nobody recorded is reached at once. A reference would keep the memory, "
            "not what is in it.",
            "M7",
        )
    return "There is a wait, but a buffer is refilled before it.", "M11"


def _praise_late(mine: Work, broken: Work) -> str:
    if mine.waits < broken.waits:
        return "The host never waits between the steps: each upload has bytes of its own."
    if mine.waits == broken.waits:
        return "The host waits as often as before, only earlier: the wait was worth nothing there."
    more = mine.waits - broken.waits
    return f"The host waits {more} × more often than the broken form did; is each wait needed?"


def _grade_late(mine: Any) -> Verdict:
    return grade_repair(case("Z12"), mine, _explain_late, _praise_late)


# --- 09.2 the edge between two streams (Z57) ----------------------------------------------------


def _explain_edge(mine: Work, broken: Work) -> tuple[str, str | None]:
    if mine.edges[0] > broken.edges[0]:
        return (
            "You make the main stream wait for the store stream; it is the store that must wait "
            "for the fill.",
            None,
        )
    if mine.edges[1] > broken.edges[1]:
        return (
            "The store waits for an event that does not cover the fill: recorded before it, or on "
            "another stream.",
            "M11",
        )
    if mine.waits > broken.waits:
        return "The host waits, but not for the fill.", "M11"
    return (
        "Nothing makes the store stream wait for the fill. The order of the host's calls is no "
        "order of two streams, and keeping or recording the block keeps its memory only.",
        "M12",
    )


def _praise_edge(mine: Work, broken: Work) -> str:
    if mine.aside < broken.aside:
        return "But the store runs on the main stream now, and no longer beside the next step."
    if mine.waits > broken.waits:
        return "But the host stands still; an edge between the streams costs it nothing."
    return "The host does not wait: only the store does, and only for the fill."


def _grade_edge(mine: Any) -> Verdict:
    return grade_repair(case("Z57"), mine, _explain_edge, _praise_edge)


# --- 09.3 at home -------------------------------------------------------------------------------

_BEHIND = {
    "A": "M2", "B": "M3", "C": "M4", "D": "M3", "W": "M7", "E": "M13", "F": "M11", "G": "M13",
    "H": "M11", "K": "M2",
}  # fmt: skip


def _grade_home(repairs: Any) -> Verdict:
    if not isinstance(repairs, Mapping):
        return wrong('The check takes a dict, case id: function, as in {"Z31": read_in_time}.')
    unknown = [id for id in repairs if id not in AT_HOME]
    if unknown:
        return wrong(f"{unknown[0]!r} is none of {', '.join(AT_HOME)}.")
    verdicts = {
        id: _grade_one(id, mine) for id, mine in repairs.items() if not is_open(mine)
    }  # fmt: skip
    answered = {id: found for id, found in verdicts.items() if found.state != "open"}
    if not answered:
        return not_answered(f"Take one of {', '.join(AT_HOME)}.")
    failed = next((found for found in answered.values() if found.state == "wrong"), None)
    in_order = sorted(answered.items(), key=lambda one: one[1] is failed)  # its belief follows it
    lines = [f"{id}: {found.text}" for id, found in in_order]
    if failed is None:
        return right("\n  ".join([f"{len(answered)} of {len(AT_HOME)} repaired.", *lines]))
    return wrong("\n  ".join(["", *lines]).lstrip(), failed.belief, failed.see)


def _grade_one(id: str, mine: Any) -> Verdict:
    belief = _BEHIND[case(id).kind.letter]
    return grade_repair(
        case(id), mine, lambda mine, broken: ("Not in every schedule.", belief), lambda *_: ""
    )


CHECKS = (
    Check(
        "09.1",
        _grade_late,
        hints=(
            "Which is the first line of a step that writes a pinned buffer?",
            "The wait for the last step's uploads must stand before that line.",
            "uploaded.synchronize() as the first line of the loop; no line where it stood",
        ),
    ),
    Check(
        "09.2",
        _grade_edge,
        hints=(
            "The store stream has to wait, and for something that is queued after the fill.",
            "An event recorded on the main stream behind the fill, or wait_stream after it.",
            "store.wait_stream(gpu.current_stream()) between the fill and the copy",
        ),
    ),
    Check(
        "09.3",
        _grade_home,
        hints=(
            "print(DECK[4]) shows the code; copy its lines into a function of the device.",
            "The field guide (docs/field_guide.md) has the usual repair of each kind.",
            'print(case("Z31").difference()) shows what the maintainers chose.',
        ),
    ),
)
