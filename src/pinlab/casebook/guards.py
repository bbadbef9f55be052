"""Where the guard was missing: the copy, wait, edge or longer life that would have kept it right.

A guard is beside the buffer if the function that queued the work could have held it. All other
places are far: whoever reads only the lines round the buffer does not see that something is amiss.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Guard:
    """One place.

    Attributes:
        name: a few words.
        meaning: what is found there, one sentence.
        far: whether the lines that queue the work do not show it.
    """

    name: str
    meaning: str
    far: bool = True

    def __str__(self) -> str:
        return self.name


BESIDE = Guard(
    "beside it",
    "One function queues the work and touches the memory, and nothing stands between.",
    far=False,
)
OTHER_STEP = Guard(
    "other step",
    "The access comes with the next step, call or replay, and the guard belongs to its beginning.",
)
OTHER_PART = Guard(
    "other part",
    "The access comes from another method, object or thread, which knows nothing of the work.",
)
MISPLACED = Guard(
    "misplaced",
    "A guard is there, but at the wrong moment or for the wrong stream.",
)
ONE_PATH = Guard(
    "one path",
    "A guard is there, and one flag, caller or kind of step goes round it.",
)
PLATFORM = Guard(
    "platform",
    "A rule of the library or the platform was taken for the guard, and does not hold there.",
)

GUARDS: dict[str, Guard] = {
    guard.name: guard for guard in (BESIDE, OTHER_STEP, OTHER_PART, MISPLACED, ONE_PATH, PLATFORM)
}
"""All places by name.

>>> GUARDS["one path"].far, GUARDS["beside it"].far
(True, False)
"""
