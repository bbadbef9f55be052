"""Why a tool cannot see a kind of fault: what the coverage table says beside each gap."""

from __future__ import annotations

from pinlab.casebook.case import Case

TOOLS = ("eager", "lazy", "lazy, reversed", "explore", "hazards", "fence", "lint")

_AT_ONCE = "Each operation runs at submission, before the host's or another stream's next access."
_ONE_ORDER = (
    "A device-wide wait takes the streams in one order out of two, and this is the harmless one."
)
_NOTHING_QUEUED = (
    "Everything happens on the host, in program order: no queued operation is involved."
)

_BY_TOOL: dict[str, dict[str, str]] = {
    "eager": dict.fromkeys("BCDWEFGHJ", _AT_ONCE),
    "lazy": dict.fromkeys("FGH", _ONE_ORDER),
    "lazy, reversed": dict.fromkeys("FGH", _ONE_ORDER),
    "explore": {},
    "hazards": dict.fromkeys("AIK", _NOTHING_QUEUED),
    "fence": {
        **dict.fromkeys("AIK", _NOTHING_QUEUED),
        "F": "It stops the host. Here work of two streams meets, and the device has its own pages.",
        "G": "It guards pinned pages, and these are pageable.",
        "H": "It stops the host. Here work of two streams meets in device memory.",
    },
    "lint": {
        "A": "Its rules ask for a view that leaves its function or for a swap of rows; "
        "when a reader comes to shared memory is not in the source.",
        "C": "It takes a wait under a condition for a wait, and does not count steps in flight.",
        "E": "Who frees or recycles a block is decided by the allocator, not by the source.",
        "F": "It has one rule about streams (PIN007); which events order them is not in its model.",
        "G": "The source does not say which platform's rules hold.",
        "H": "It follows host buffers only.",
        "I": "Whether an array may be written is known when the program runs.",
        "J": "It has no rule about graphs.",
        "K": "The other process is not in the source.",
    },
}


def why_unseen(tool: str, case: Case) -> str:
    """Why `tool` cannot see `case`; empty if nothing is known against its seeing it.

    >>> from pinlab.casebook import case
    >>> why_unseen("hazards", case("Z02"))
    'Everything happens on the host, in program order: no queued operation is involved.'
    """
    return case.unseen.get(tool) or _BY_TOOL[tool].get(case.kind.letter, "")
