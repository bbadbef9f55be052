"""What a chronicle is made of: steps, spans from one step to another, marks at one."""

from __future__ import annotations

from dataclasses import dataclass, field

from pinlab.sim import Place

NAN = float("nan")


@dataclass
class Step:
    """One thing that happened.

    Attributes:
        who: ``"host"``, ``"copy"`` or ``"compute"``; with several streams ``"copy s1"``.
        text: what, in words.
        place: the source line, for steps of the host.
        time: seconds since the recording began.
        number: 1 for the first.
    """

    who: str
    text: str
    time: float
    place: Place | None = None
    number: int = 0

    @property
    def line(self) -> str:
        """Place and text of the source line; empty for steps of the device."""
        if self.place is None:
            return ""
        return f"{self.place}  {self.place.source}".rstrip()


@dataclass
class Span:
    """An operation, a wait or a hold from one step to another.

    Attributes:
        label: ``"1 upload row"``, ``"waits"``, ``"held"``.
        kind: ``"upload"``, ``"download"``, ``"kernel"``, ``"wait"`` or ``"hold"``.
        stream: index of the stream; for a wait -1.
        opened: the step of the host that began it.
        started: for an operation, the step in which it began to run.
        ended: the last step of it; None if it did not come to an end.
        times: seconds since the recording began: opened, started, ended; nan if unknown.
        clashes: host accesses to its bytes while it was in flight.
    """

    label: str
    kind: str
    stream: int
    opened: Step
    started: Step | None = None
    ended: Step | None = None
    times: tuple[float, float, float] = (NAN, NAN, NAN)
    clashes: list[Mark] = field(default_factory=list)

    @property
    def place(self) -> Place | None:
        return self.opened.place


@dataclass
class Mark:
    """A moment on the host: ``label`` names the buffer or is the remark.

    ``kind`` is ``"write"``, ``"read"``, ``"note"``, ``"query"``, ``"record"`` (of an event) or
    ``"order"`` (a stream is told to wait for one). ``late`` names the operations that had yet to
    use these bytes, ``hits`` counts them.
    """

    kind: str
    label: str
    step: Step
    late: str = ""
    hits: int = 0

    @property
    def clash(self) -> bool:
        return self.hits > 0
