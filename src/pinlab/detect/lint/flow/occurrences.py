"""What the walk notices. The rules decide what is worth reporting, and how loudly."""

from __future__ import annotations

from dataclasses import dataclass

from pinlab.detect.lint.flow.atoms import Array
from pinlab.detect.lint.flow.pending import Pending


@dataclass(frozen=True, slots=True)
class Spot:
    """Where it happened: the line in the checked file, and the function that was walked."""

    line: int
    function: str
    path: str


@dataclass(frozen=True, slots=True)
class Escape:
    """A view leaves the function.

    `how` completes "it leaves …": ``returned``, ``stored in `self.meta` ``. `guarded`: an event
    goes with it. `lent`: handed out for the length of a ``with`` block or by a container's own
    protocol. `renewed`: this call itself made the buffer. `own`: stored in the holder's own
    attribute.
    """

    spot: Spot
    array: Array
    how: str
    guarded: bool = False
    lent: bool = False
    own: bool = False
    doubtful: bool = False


@dataclass(frozen=True, slots=True)
class HostWrite:
    """The host writes memory that a copy in flight reads (`pending.up`) or writes."""

    spot: Spot
    array: Array
    how: str
    pending: Pending


@dataclass(frozen=True, slots=True)
class HostRead:
    """The host reads memory that a download in flight has yet to write.

    `certain` is false where the memory is only passed on or returned.
    """

    spot: Spot
    array: Array
    how: str
    pending: Pending
    certain: bool


@dataclass(frozen=True, slots=True)
class RowSwap:
    """Rows exchanged through views of themselves. `certain`: the indices are known numbers."""

    spot: Spot
    array: Array
    text: str
    certain: bool


@dataclass(frozen=True, slots=True)
class OwnStreamRecord:
    """``record_stream`` with the stream that the tensor was made on."""

    spot: Spot
    array: Array
    text: str


@dataclass(frozen=True, slots=True)
class RawDrop:
    """A pinned temporary is dropped while a copy by address may still read it."""

    spot: Spot
    pending: Pending


Occurrence = Escape | HostWrite | HostRead | RowSwap | OwnStreamRecord | RawDrop
