"""The kinds of fault that the cases are sorted into: who touched which memory too early."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """One kind of fault.

    Attributes:
        letter: its class, one capital letter.
        name: a few words.
        meaning: what goes wrong, one sentence.
    """

    letter: str
    name: str
    meaning: str

    def __str__(self) -> str:
        return f"{self.letter}, {self.name}"


HOST_ALIAS = Kind(
    "A",
    "host alias",
    "A view or a shared object changes before its reader on the host comes to it; "
    "no device is needed.",
)
EDITED_SOURCE = Kind(
    "B",
    "source edited",
    "The pinned source of an upload is edited after the upload was queued, within one step.",
)
REFILLED_BUFFER = Kind(
    "C",
    "buffer refilled",
    "A host buffer that lives from step to step is refilled while the device has still to read "
    "what the previous step put there.",
)
READ_TOO_EARLY = Kind(
    "D",
    "download read early",
    "The host reads the destination of a download before the bytes have arrived.",
)
LIVE_DESTINATION = Kind(
    "W",
    "live destination",
    "The host writes into the destination of a download in flight, and the late bytes land on it.",
)
FREED_TOO_EARLY = Kind(
    "E",
    "freed early",
    "Host memory is freed, pooled or handed out again while a copy still uses it.",
)
STREAMS_UNORDERED = Kind(
    "F",
    "streams unordered",
    "Two streams share memory, and the event that would order them is missing, at the wrong "
    "stream or taken at the wrong moment.",
)
PLATFORM_ASSUMED = Kind(
    "G",
    "platform assumed",
    "The code relies on a rule that another platform, or another configuration, does not have.",
)
DEVICE_BUFFER = Kind(
    "H",
    "device buffer rewritten",
    "The next step rewrites a single device buffer before a late reader of this step ran.",
)
OWNERSHIP_LOST = Kind(
    "I",
    "ownership lost",
    "At a border between libraries a read-only flag or an owner gets lost, and a writer changes "
    "what others share.",
)
CAPTURED_ADDRESS = Kind(
    "J",
    "captured address",
    "A captured graph stores a host address, and the host edits what stands there before a replay.",
)
SHARED_MEMORY = Kind(
    "K",
    "shared between processes",
    "Two processes share memory, and it is acknowledged or overwritten before all have read it.",
)

KINDS: dict[str, Kind] = {
    kind.letter: kind
    for kind in (
        HOST_ALIAS,
        EDITED_SOURCE,
        REFILLED_BUFFER,
        READ_TOO_EARLY,
        LIVE_DESTINATION,
        FREED_TOO_EARLY,
        STREAMS_UNORDERED,
        PLATFORM_ASSUMED,
        DEVICE_BUFFER,
        OWNERSHIP_LOST,
        CAPTURED_ADDRESS,
        SHARED_MEMORY,
    )
}


def kind_of(wanted: str | Kind) -> Kind:
    """A kind by its letter or its name.

    Raises:
        ValueError: naming the letters and names that are known.

    >>> kind_of("C").name, kind_of("buffer refilled").letter
    ('buffer refilled', 'C')
    """
    if isinstance(wanted, Kind):
        return wanted
    for kind in KINDS.values():
        if wanted in (kind.letter, kind.name):
            return kind
    known = "; ".join(str(kind) for kind in KINDS.values())
    raise ValueError(f"no kind {wanted!r}; known are {known}")
