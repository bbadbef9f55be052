"""What `explore` found, as an object, as a certificate in words, and as a table in a notebook."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from pinlab.schedules.schedule import Schedule
from pinlab.schedules.values import Outcome, Outcomes

if TYPE_CHECKING:
    from pinlab.schedules.run import Runner

DOWNLOAD_RULE = (
    "a pending download conflicts with every host line (a read leaves no trace in the bytes)"
)
CLAIM = "no observable race: a write that leaves the bytes as they were is not a conflict"


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
        return "\n".join([self._verdict(), *self._facts(), *self._rows()])

    def _verdict(self) -> str:
        if self.interrupted:
            return f"{self.name}: interrupted, nothing is claimed"
        if not self.complete:
            return f"{self.name}: the limit was reached before the end, nothing is claimed"
        if self.correct:
            return f"{self.name}: correct in every schedule"
        if self.deterministic:
            word = "wrong in every schedule" if self.expected else "one outcome in every schedule"
            return f"{self.name}: {word}"
        return f"{self.name}: {len(self.outcomes)} different outcomes"

    def _facts(self) -> list[str]:
        of = "of an unknown number" if self.total is None else f"of {self.total:,}"
        how = "all, without reduction" if self.full else "reduced by the bytes that work touches"
        grain = f"between host {self.runner.granularity}s"
        torn = f", copies torn into {self.runner.pieces}" if self.runner.pieces > 1 else ""
        return [
            f"  schedules   {self.explored:,} run {of} ({how})",
            f"  varied      when queued device work runs {grain}{torn}",
            f"  downloads   {DOWNLOAD_RULE}",
            f"  claim       {CLAIM}",
            f"  reference   {self.reference!r} ({self._reference_is()})",
        ]

    def _reference_is(self) -> str:
        return "expected" if self.expected else "if each operation runs at submission"

    def _rows(self) -> list[str]:
        return [
            f"  {'right' if value == self.reference else 'WRONG':<6}"
            f"{len(ways):>6,} ×  {_short(value)}   {ways[0]}"
            for value, ways in self.outcomes.items()
        ]

    def __str__(self) -> str:
        return self.certificate()

    def __repr__(self) -> str:
        worst = self.counterexample
        found = "" if worst is None else f", counterexample {worst}"
        return f"<{self._verdict()}: {self.explored:,} schedules run{found}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{'right' if value == self.reference else '<b>wrong</b>'}</td>"
            f"<td>{len(ways):,}</td><td><code>{html.escape(_short(value))}</code></td>"
            f"<td><code>{ways[0]}</code></td></tr>"
            for value, ways in self.outcomes.items()
        )
        facts = "<br>".join(html.escape(fact.strip()) for fact in self._facts())
        return (
            f"<p><b>{html.escape(self._verdict())}</b></p><table><thead><tr><th></th>"
            "<th>schedules</th><th>outcome</th><th>shortest schedule</th></tr></thead>"
            f"<tbody>{rows}</tbody></table><p><small>{facts}</small></p>"
        )


def _length(schedule: Schedule) -> tuple[int, int, str]:
    return schedule.steps, len(str(schedule)), str(schedule)


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "…"
