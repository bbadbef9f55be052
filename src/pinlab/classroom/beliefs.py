"""The fourteen beliefs that make this kind of bug, each with what is true and where to see it.

Predictions, checks and the quiz name a belief by its id, so that a wrong answer is met by the
reason that usually stands behind it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Belief:
    """A wrong belief.

    Attributes:
        id: ``"M1"`` to ``"M14"``.
        wrong: the belief, in the words of somebody who holds it.
        true: what holds instead.
        see: where the series shows it.
    """

    id: str
    wrong: str
    true: str
    see: str

    def __str__(self) -> str:
        return f"{self.id}: “{self.wrong}” {self.true} (See {self.see}.)"


_ALL = (
    Belief(
        "M1",
        "After `a = a + 1`, looking at `b` tells me whether a and b shared memory.",
        "`a = a + 1` makes a new object and binds the name a to it; b keeps what it had, shared or "
        "not. Only a write in place (`a[0] = …`, `a += 1` on an array) shows sharing.",
        "lesson 01, rebinding and writing in place",
    ),
    Belief(
        "M2",
        "from_numpy, .numpy(), a slice or a reshape gives me a copy.",
        "from_numpy, .numpy() and basic slices give a second view of the same bytes, and reshape "
        "does whenever the layout allows.",
        "lesson 01, the fourteen expressions",
    ),
    Belief(
        "M3",
        "When an asynchronous call has returned, it has taken my bytes.",
        "It has only been queued. A copy from pinned memory reads the bytes when the stream gets "
        "there, and a copy into pinned memory fills them then.",
        "lesson 03, the held stream",
    ),
    Belief(
        "M4",
        "A copy from host to device is safe, whatever the source is.",
        "It is safe from pageable memory on CUDA, which stages the bytes before the call returns. "
        "From pinned memory, non_blocking leaves the source in use after the call.",
        "lesson 03, the copy table",
    ),
    Belief(
        "M5",
        "non_blocking=True makes a copy asynchronous.",
        "It permits it. Whether the call returns early depends on where both ends lie: a pageable "
        "end makes it wait or stage.",
        "lesson 03, the copy table",
    ),
    Belief(
        "M6",
        "Pinning memory only makes copies faster.",
        "It also changes when a non_blocking copy reads or writes the host's bytes, so it can make "
        "a correct line wrong.",
        "lesson 02, who can read behind the interpreter's back; lesson 03, the line that pinning "
        "broke",
    ),
    Belief(
        "M7",
        "The stream puts my host writes in order too.",
        "A stream orders what is queued on it. A host write is not queued: it happens at once.",
        "lesson 03, both lanes of the timeline",
    ),
    Belief(
        "M8",
        "A thousand clean runs show that there is no race.",
        "They show that these schedules were clean. After n clean runs, a failure rate of up to "
        "1 − 0.05^(1/n) is still compatible with them at 95 % confidence.",
        "lesson 05, all schedules; lesson 07, the bound",
    ),
    Belief(
        "M9",
        "I have one Python thread and the GIL, so nothing can race.",
        "The copy engine reads host memory without Python. One thread and one device are two "
        "actors.",
        "lesson 02, who can read behind the interpreter's back",
    ),
    Belief(
        "M10",
        "Cloning the destination, or cloning after the call, repairs it.",
        "The source is what is overwritten. A snapshot helps only if it is taken of the source, "
        "before the call.",
        "lesson 06, the repair tournament",
    ),
    Belief(
        "M11",
        "One synchronize() anywhere repairs it.",
        "Only a wait between the copy and the next write of its source does.",
        "lesson 06, the repair tournament",
    ),
    Belief(
        "M12",
        "Keeping a reference to the buffer alive is enough.",
        "A reference keeps the memory, not what is in it. The race is on the bytes.",
        "lesson 06, the repair tournament",
    ),
    Belief(
        "M13",
        "What is safe on one vendor's device is safe on every device.",
        "Whether pageable copies are staged, and what the allocator tracks, differ between "
        "platforms.",
        "lesson 09, the cases with a platform",
    ),
    Belief(
        "M14",
        "Corrupted data looks like noise, or crashes.",
        "It is the next step's data: well formed, plausible, and wrong for this step.",
        "lesson 05, the late device",
    ),
)

BELIEFS: dict[str, Belief] = {belief.id: belief for belief in _ALL}
"""All beliefs by id.

>>> BELIEFS["M12"].wrong
'Keeping a reference to the buffer alive is enough.'
"""
