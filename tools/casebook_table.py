"""Measures what each tool sees of each case and writes the page docs/casebook.md."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pinlab import sim
from pinlab.casebook import KINDS, Case, Kind, cases
from pinlab.casebook.gaps import TOOLS, why_unseen
from pinlab.detect.fence import fence
from pinlab.detect.hazards import Findings, hazards
from pinlab.detect.lint import Finding, lint_text
from pinlab.schedules import Report

PAGE = Path(__file__).resolve().parents[1] / "docs" / "casebook.md"
MODES = {
    "eager": ("eager", {}),
    "lazy": ("lazy", {"order": "creation"}),
    "lazy, reversed": ("lazy", {"order": "reversed"}),
}
HIDDEN = "–"
Book = Sequence[Case]


@dataclass(frozen=True)
class Seen:
    """What came out when one form of a case met every tool.

    Attributes:
        observed: by mode, what the program saw.
        report: of the explorer.
        findings: of the hazard tracker, line by line.
        lint: its findings in the form's lines.
    """

    expected: object
    observed: dict[str, object]
    report: Report
    findings: Findings
    lint: list[Finding]


def measure(case: Case, form: str = "broken") -> Seen:
    """Put one form before every tool; measured once in a process."""
    return _measure(case.id, form)


@functools.cache
def _measure(id: str, form: str) -> Seen:
    case = next(one for one in cases() if one.id == id)
    return Seen(
        case.expected,
        {name: _observed(case, form, name) for name in MODES},
        case.explore(form),
        _findings(case, form),
        _lint(case, form),
    )


def fenced(case: Case, form: str = "broken") -> Findings:
    """What the write fence stops in a form; it runs in child processes, on Linux only."""
    return _fenced(case.id, form)


@functools.cache
def _fenced(id: str, form: str) -> Findings:
    case = next(one for one in cases() if one.id == id)
    sim.reset()
    return fence(case.program(form)).hazards


def _observed(case: Case, form: str, name: str) -> object:
    sim.reset()
    mode, options = MODES[name]
    with sim.mode(mode, **options):
        return case.run(form)[0]


def _findings(case: Case, form: str) -> Findings:
    sim.reset()
    with sim.mode("lazy"), hazards(lines=True) as found:
        case.run(form)
    return found


def _lint(case: Case, form: str) -> list[Finding]:
    """Findings in the case's file: within the fixed form, or anywhere else."""
    source = inspect.getsource(sys.modules[case.broken.__module__])
    fixed = range(0)
    if case.fixed is not None:
        lines, start = inspect.getsourcelines(case.fixed)
        fixed = range(start, start + len(lines))
    return [one for one in lint_text(source) if (one.line in fixed) == (form == "fixed")]


def names_culprit(case: Case, findings: Findings) -> bool:
    """Whether one of the findings names the line that does the damage."""
    places = (finding.written_at for finding in findings)
    return any(isinstance(at, sim.Place) and case.culprit in at.source for at in places)


def cells(case: Case) -> dict[str, str]:
    """One row of the coverage table, by tool."""
    seen = measure(case)
    row = {}
    for name in MODES:
        right = seen.observed[name] == seen.expected
        row[name] = ("right" if right else "WRONG") if case.control else _mark("shown", not right)
    found = seen.report.counterexample is not None
    row["explore"] = ("WRONG" if found else "right") if case.control else _mark("shown", found)
    row["hazards"] = _alarm(case, bool(seen.findings), _where(case, seen.findings))
    stopped = fenced(case)
    row["fence"] = _alarm(case, bool(stopped), _where(case, stopped))
    rules = ", ".join(sorted({finding.rule for finding in seen.lint}))
    row["lint"] = _alarm(case, bool(rules), rules)
    return row


def _where(case: Case, findings: Findings) -> str:
    return "line" if names_culprit(case, findings) else "other line"


def _mark(word: str, seen: bool) -> str:
    return word if seen else HIDDEN


def _alarm(case: Case, raised: bool, word: str) -> str:
    if case.control:
        return f"FALSE ALARM {word}" if raised else "silent"
    return _mark(word, raised)


def gaps(book: Book | None = None) -> list[tuple[Case, str, str]]:
    """Each tool that does not see a case, with the reason ("" if nobody has given one)."""
    return [
        (case, tool, why_unseen(tool, case))
        for case in _bugs(cases() if book is None else book)
        for tool, cell in cells(case).items()
        if cell == HIDDEN
    ]


def page(book: Book | None = None) -> str:
    """The whole page, of all cases or of those in `book`."""
    book = cases() if book is None else book
    parts = [
        HEAD,
        *(_kind_section(kind, book) for kind in KINDS.values()),
        _controls(book),
        _coverage(book),
        _why(book),
        TAIL,
    ]
    return "\n".join(part for part in parts if part)


def unlisted(text: str) -> list[Case]:
    """The cases that a page does not have yet: their files are newer than it."""
    return [case for case in cases() if f"\n### {case.id}: " not in text]


def current() -> str:
    """The committed page; measured and written anew if a case has come since."""
    text = PAGE.read_text(encoding="utf-8")
    if not unlisted(text):
        return text
    sim.install()
    return page()


def _bugs(book: Book) -> list[Case]:
    return [case for case in book if not case.control]


HEAD = """\
# The casebook

Public bugs of this family, each retold as two small programs, and reports that are no bugs. This
page is written by `tools/casebook_table.py` from `src/pinlab/casebook`; a test compares it. The
programs run on the simulated device. None of them was measured on a GPU. What a report says about
its own system is told as its authors tell it. [The field guide](field_guide.md) is the page to
print.
"""

TAIL = """\
## Adding a case

A case is one file, `src/pinlab/casebook/zNN_what.py` (`cNN_what.py` for a control), with `broken`,
`fixed` and `CASE`. Nothing else lists it, and nothing else must change: `python -m pytest
tests/casebook` puts it before every tool, and `make site` shows it on this page. To have it in the
committed page too, run `python -m tools.casebook_table`.
"""


def _kind_section(kind: Kind, book: Book) -> str:
    of_kind = [case for case in _bugs(book) if case.kind == kind]
    if not of_kind:
        return ""
    return "\n".join(
        [f"## {kind.letter}: {kind.name}\n", f"{kind.meaning}\n", *map(_told, of_kind)]
    )


def _told(case: Case) -> str:
    return "\n".join(
        [
            f"### {case.id}: {case.title}\n",
            f"Report: [{case.public_id}]({case.url})\n",
            f"- **Symptom.** {case.symptom}",
            f"- **Mechanism.** {case.mechanism}",
            f"- **Repair.** {case.repair}",
            f"- **Right:** `{measure(case).expected}`, **observed:** `{case.wrong}`, at the line "
            f"`{case.culprit}`\n",
        ]
    )


def _controls(book: Book) -> str:
    return "\n".join(
        [
            "## Controls: reports that are no bugs\n",
            "Each was suspected of the kind that is named. Its program is right in every schedule, "
            "and no tool may complain about it.\n",
            *(_told_control(case) for case in book if case.control),
        ]
    )


def _told_control(case: Case) -> str:
    return "\n".join(
        [
            f"### {case.id}: {case.title}\n",
            f"Report: [{case.public_id}]({case.url}), suspected of {case.kind}\n",
            f"- **Claim.** {case.symptom}",
            f"- **Why it is none.** {case.mechanism}",
            f"- **Repair.** {case.repair}\n",
        ]
    )


def _coverage(book: Book) -> str:
    return "\n".join(
        [
            "## Coverage: which tool sees which case\n",
            "*eager*, *lazy* and *lazy, reversed* are single runs of the broken form in these "
            "modes: does the wrong value show? *explore*: does some schedule show it? *hazards*: "
            "does the tracker name the line that does the damage? *fence*: do protected pages stop "
            "that line? *lint*: which rules report the "
            f"broken form? {HIDDEN} means: not seen, with the reason below. The fixed forms are "
            "right in every schedule, and no tool reports them.\n",
            _table(["case", "kind", *TOOLS], [_row(case) for case in book]),
            "",
        ]
    )


def _row(case: Case) -> list[str]:
    row = cells(case)
    return [case.id, case.kind.letter, *(row[tool] for tool in TOOLS)]


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _why(book: Book) -> str:
    reasons: dict[tuple[str, str], list[str]] = {}
    for case, tool, reason in gaps(book):
        reasons.setdefault((tool, reason), []).append(case.id)
    rows = [[tool, ", ".join(ids), reason] for (tool, reason), ids in reasons.items()]
    rows.sort(key=lambda row: TOOLS.index(row[0]))
    table = _table(["tool", "does not see", "because"], rows)
    return f"## Why a tool does not see a case\n\n{table}\n"


if __name__ == "__main__":
    sim.install()
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE.name}: {len(cases(control=False))} bugs, {len(cases(control=True))} controls")
