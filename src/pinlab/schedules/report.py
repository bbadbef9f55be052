"""What `explore` found, as an object, as a certificate in words, and as a table in a notebook."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from pinlab.schedules.execution import PATIENCE, SLEEP
from pinlab.schedules.schedule import Schedule
from pinlab.schedules.values import Outcome, Outcomes

if TYPE_CHECKING:
    from pinlab.schedules.run import Runner

DOWNLOAD_RULE = "a pending one conflicts with every host line: a read leaves no trace in the bytes"
QUERY_RULE = (
    f'one answers "not yet" at most {PATIENCE} times in a row; '
    f"the device sleeps through at most {SLEEP:,} host lines"
)
CLAIM = "about what can be observed: a write that leaves the bytes as they were is no conflict"


class Report:
    """Outcomes of a program over its schedules.

    Attributes:
        outcomes: distinct values, most frequent first, each with its schedules, shortest first.
        explored: schedules run. total: size of the full space, None where it is not known exactly.
        complete: whether the search ended by itself; if not, nothing is claimed.
        reference: the value that was expected, or without one, the value if each operation runs at
            submission.
    """

    def __init__(
        self,
        found: dict[Outcome, list[Schedule]],
        explored: int,
        total: int | None,
        complete: bool,
        interrupted: bool,
        reference: Outcome,
        expected: bool,
        full: bool,
        runner: Runner,
    ) -> None:
        ordered = sorted(found.items(), key=lambda pair: -len(pair[1]))
        self.outcomes = Outcomes(
            (value, [way.of(runner) for way in sorted(ways, key=_length)])
            for value, ways in ordered
        )
        self.explored = explored
        self.total = total
        self.complete = complete
        self.interrupted = interrupted
        self.reference = reference
        self.expected = expected
        self.full = full
        self.runner = runner

    @property
    def deterministic(self) -> bool:
        """Every schedule gives the same outcome, and the search was complete."""
        return self.complete and len(self.outcomes) == 1

    @property
    def correct(self) -> bool:
        """Deterministic, and the outcome is the expected one. False if nothing was expected."""
        return self.expected and self.deterministic and self.reference in self.outcomes

    @property
    def counterexample(self) -> Schedule | None:
        """The shortest schedule whose outcome differs from `reference`; None if there is none."""
        wrong = [ways[0] for value, ways in self.outcomes.items() if value != self.reference]
        return min(wrong, key=_length, default=None)

    @property
    def name(self) -> str:
        """The program's name."""
        return getattr(self.runner.program, "__name__", type(self.runner.program).__name__)

    def certificate(self) -> str:
        """The report in words: what was varied, what was assumed, how many of how many."""
        facts = [f"  {name:<11} {text}" for name, text in self._facts()]
        return "\n".join([self.verdict, *facts, *self._rows()])

    @property
    def verdict(self) -> str:
        """One line: the program's name and what can be said of it."""
        return f"{self.name}: {self._claim()}"

    def _claim(self) -> str:
        if self.interrupted:
            return "interrupted, so this is only a part; nothing is claimed"
        if not self.complete:
            return "the limit was reached before the end; nothing is claimed"
        if self.correct:
            return "correct in every schedule"
        if self.deterministic:
            return "wrong in every schedule" if self.expected else "one outcome in every schedule"
        return f"{len(self.outcomes)} different outcomes"

    def _facts(self) -> list[tuple[str, str]]:
        of = "of a number not known exactly" if self.total is None else f"of {self.total:,}"
        how = "all of them, no reduction" if self.full else "the others can only repeat these"
        return [
            ("schedules", f"{self.explored:,} run {of}" + (f" ({how})" if self.complete else "")),
            ("varied", f"when queued device work runs: {self._where()}"),
            ("host lines", f"those of {self.runner.scope}; other code is one step per call"),
            ("downloads", DOWNLOAD_RULE),
            ("queries", QUERY_RULE),
            ("claim", CLAIM),
            ("reference", f"{_short(self.reference)}, {self._reference_is()}"),
        ]

    def _where(self) -> str:
        grain = {"line": "between two host lines", "opcode": "between two Python instructions"}
        torn = f"; each copy in {self.runner.pieces} parts" if self.runner.pieces > 1 else ""
        return f"{grain[self.runner.granularity]}, and within one after a call to the device{torn}"

    def _reference_is(self) -> str:
        return "the expected value" if self.expected else "as if each operation ran at submission"

    def _rows(self) -> list[str]:
        return [
            f"  {self._mark(value):<6}{len(ways):>6,} ×  {_short(value)}   {ways[0]}"
            for value, ways in self.outcomes.items()
        ]

    def _mark(self, value: Outcome) -> str:
        if value == self.reference:
            return "right" if self.expected else "same"
        return "WRONG" if self.expected else "OTHER"

    def replay_call(self, schedule: Schedule) -> str:
        """The call that runs one schedule again, as text."""
        pieces = f", pieces={self.runner.pieces}" if self.runner.pieces > 1 else ""
        grain = ', granularity="opcode"' if self.runner.granularity == "opcode" else ""
        return f'replay({self.name}, "{schedule}"{pieces}{grain})'

    def __str__(self) -> str:
        return self.certificate()

    def __repr__(self) -> str:
        worst = self.counterexample
        found = "" if worst is None else f", counterexample {worst}"
        return f"<{self.verdict}: {self.explored:,} schedules run{found}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{self._mark(value)}</td><td>{len(ways):,}</td>"
            f"<td><code>{html.escape(_short(value))}</code></td><td><code>{ways[0]}</code></td></tr>"
            for value, ways in self.outcomes.items()
        )
        facts = "".join(
            f"<tr><th style='text-align:left'>{name}</th>"
            f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
            for name, text in self._facts()
        )
        return (
            f"<p><b>{html.escape(self.verdict)}</b></p><table><thead><tr><th></th>"
            "<th>schedules</th><th>outcome</th><th>shortest schedule</th></tr></thead>"
            f"<tbody>{rows}</tbody></table>"
            "<details><summary>what was varied and assumed</summary>"
            f"<table>{facts}</table></details>"
        )


def _length(schedule: Schedule) -> tuple[int, int, str]:
    return schedule.steps, len(str(schedule)), str(schedule)


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "…"
