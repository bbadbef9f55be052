"""The series as data: what each lesson needs, gives and says, and which beliefs it meets."""

from __future__ import annotations

from dataclasses import dataclass

from pinlab.classroom.beliefs import BELIEFS


@dataclass(frozen=True)
class Lesson:
    """One lesson.

    Attributes:
        number: ``"00"`` to ``"09"``. title: its short name.
        needs: ideas of earlier lessons that it stands on.
        gives: ideas that it adds; each is given by one lesson.
        take_home: what a learner should still know next month.
        beliefs: ids of the beliefs that its predictions and checks meet.
    """

    number: str
    title: str
    needs: tuple[str, ...]
    gives: tuple[str, ...]
    take_home: str
    beliefs: tuple[str, ...]

    def __post_init__(self) -> None:
        unknown = [belief for belief in self.beliefs if belief not in BELIEFS]
        if unknown:
            raise ValueError(f"lesson {self.number} names beliefs that do not exist: {unknown}")


SERIES = (
    Lesson(
        "00",
        "start here",
        (),
        ("five orders",),
        "The same program gave five answers; with the same schedule it gives the same bits.",
        ("M8",),
    ),
    Lesson(
        "01",
        "views",
        ("five orders",),
        ("alias",),
        "Two names may mean one memory, and only a write in place shows it.",
        ("M1", "M2"),
    ),
    Lesson(
        "02",
        "pinned memory",
        ("five orders",),
        ("pinned bytes",),
        "Pinning decides who may read your bytes and when; being faster is the smaller part.",
        ("M2", "M5", "M6", "M9", "M12"),
    ),
    Lesson(
        "03",
        "non_blocking",
        ("pinned bytes",),
        ("late reader",),
        "From the call until a wait that covers the copy, your pinned bytes are not yours.",
        ("M3", "M4", "M5", "M7", "M11"),
    ),
    Lesson(
        "04",
        "the batch",
        ("five orders",),
        ("hasty writer",),
        "The next step rewrites the rows in place, and only one division reads them late.",
        ("M2", "M14"),
    ),
    Lesson(
        "05",
        "the race",
        ("alias", "late reader", "hasty writer"),
        ("bad schedule",),
        "Alias, late reader, hasty writer: three right lines make a wrong result, plausible and "
        "one step too early.",
        ("M3", "M5", "M8", "M9", "M13", "M14"),
    ),
    Lesson(
        "06",
        "the fixes",
        ("bad schedule",),
        ("snapshot or ordering",),
        "Copy the source before the call, or make its next writer wait; all schedules prove it.",
        ("M2", "M10", "M11", "M12"),
    ),
    Lesson(
        "07",
        "tests that catch it",
        ("bad schedule",),
        ("test without luck",),
        "A test that needs luck is no test: look for the alias, or at every schedule.",
        ("M2", "M8", "M9", "M11", "M14"),
    ),
    Lesson(
        "08",
        "designing it out",
        ("bad schedule",),
        ("safe by type",),
        "Make the wrong use impossible to write, or loud when it happens.",
        ("M2", "M3", "M7", "M11"),
    ),
    Lesson(
        "09",
        "casebook",
        ("snapshot or ordering", "test without luck", "safe by type"),
        (),
        "Ask of each report: which bytes, who reads them late, who writes them, what waits where?",
        ("M2", "M3", "M4", "M5", "M6", "M7", "M8", "M11", "M13", "M14"),
    ),
)
"""All lessons, in order."""
