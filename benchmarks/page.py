"""The page docs/benchmarks.md, from the committed record: tables, and plots with their words.

python -m benchmarks.page
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.collect import ROOT
from benchmarks.figures import Points, bars, curves
from benchmarks.machine import in_words
from benchmarks.record import COMMITTED, Record, Script, load
from pinlab.figures.show import png
from pinlab.figures.style import Drawing

PAGE = ROOT / "docs" / "benchmarks.md"
IMAGES = ROOT / "docs" / "img"
TITLES = {
    "bench_launch": "Launching an operation",
    "bench_cpu_lines": "Ordinary CPU lines after `install()`",
    "bench_queue": "Queue, hold and link",
    "bench_explore": "Exploring",
    "bench_scaling": "How exploring grows",
    "bench_serving": "Repairs in the serving engine",
    "bench_rerank": "The race, free-running",
    "bench_witness": "The same race on a queue that nobody here wrote",
    "bench_hazards": "Watching a program",
    "bench_lint": "The lint",
    "bench_operators": "PyTorch's operator database",
    "bench_import": "Import",
    "bench_lessons": "Each lesson's kernel",
    "bench_series": "The whole series",
}


@dataclass(frozen=True)
class Bars:
    """Which rows of a script make a picture of bars: those in one unit."""

    script: str
    unit: str
    title: str
    name: str  # of the file, without its ending


BARS = (
    Bars("bench_launch", "times plain", "launch on the device against the CPU", "bench_launch"),
    Bars(
        "bench_serving",
        "times the aliasing step",
        "a step of the engine, processor time",
        "bench_repairs",
    ),
    Bars("bench_serving", "ns a step", "the shipped fixes and a numpy step", "bench_fixes"),
    Bars("bench_scaling", "executions a second", "one search, shared", "bench_workers"),
    Bars("bench_lessons", "s", "Run All of a lesson", "bench_lesson_times"),
    Bars("bench_lessons", "MB", "a lesson's kernel, most memory", "bench_lesson_memory"),
)
HEAD = """\
# Benchmarks

What `make bench` measured, written by `python -m benchmarks --write`. A *ratio* compares two things
in one run, and may be held against another machine's. A *count* is exact. A *reading* is a time or
a size of this machine on that day. None of it was measured on a GPU.

`make bench` prints the same table with the change since; it fails if a script fails or a limit is
exceeded. A ratio that got worse by over 20 %, and a count that changed, are reported; with
`python -m benchmarks --strict` they fail as well.
"""


def pictures(script: str, record: Record) -> Iterator[tuple[str, Drawing]]:
    """Names and drawings of one script's plots."""
    there = record.scripts[script]
    for each in BARS:
        rows = [row for row in there.rows if row.unit == each.unit]
        if each.script == script and rows:
            yield each.name, bars(each.title, each.unit, rows)
    for (title, x, y), lines in growth(there.series).items():
        yield f"{script}_{title.rpartition(' ')[2]}", curves(title, x, y, lines)


def growth(series: Mapping[str, Points]) -> dict[tuple[str, str, str], dict[str, Points]]:
    """Series that are plotted together, by title and both axes.

    "seconds by …" of all that varies share a picture; anything else is counted, and what grows with
    the same thing shares one. Numbers of 0 have no place on an axis that grows by factors.

    >>> growth({"runs by lines": [(1, 2), (2, 4)], "seconds by lines": [(1, 3), (2, 6)]})
    {('growth with lines', 'lines', 'how many'): {'runs': [(1, 2), (2, 4)]},
     ('growth of seconds', 'how many', 'seconds'): {'lines': [(1, 3), (2, 6)]}}
    """
    found: dict[tuple[str, str, str], dict[str, Points]] = {}
    for name, points in series.items():
        what, _, by = name.partition(" by ")
        if any(not value > 0 for point in points for value in point):
            continue
        if what == "seconds":
            found.setdefault(("growth of seconds", "how many", what), {})[by] = points
        else:
            found.setdefault((f"growth with {by}", by, "how many"), {})[what] = points
    return found


def text(record: Record) -> str:
    """The whole page."""
    versions = ", ".join(f"{k} {v}" for k, v in record.versions.items() if k != "pinlab")
    parts = [HEAD, f"Machine: {in_words(record.machine)}. Versions: {versions}.\n"]
    order = [*TITLES, *record.scripts]  # scripts without a title come last
    for name in dict.fromkeys(name for name in order if name in record.scripts):
        parts.append(_section(name, record))
    return "\n".join(parts)


def _section(name: str, record: Record) -> str:
    script = record.scripts[name]
    at = f", commit {script.commit}" if script.commit else ""
    lines = [
        f"## {TITLES.get(name, name)}\n",
        f"`benchmarks/{name}.py`, {script.date}{at}, {script.seconds:.0f} s.\n",
        _table(script),
        "",
    ]
    for file, drawing in pictures(name, record):
        lines += [f"![{drawing.alt}](img/{file}.png)\n", "```text", *drawing.twin, "```", ""]
    return "\n".join(lines)


def _table(script: Script) -> str:
    lines = ["| measurement | value | kind | limit | remark |", "|---|---|---|---|---|"]
    kinds = {"ratio": "ratio", "exact": "count", "reading": "reading"}
    for row in script.rows:
        limit = row.limit + ("" if row.kept else ", **exceeded**")
        cells = [row.name, row.shown, kinds[row.kind], limit, row.note]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def write(record: Record) -> list[Path]:
    """Write page and pictures; what was written. Pictures of scripts that are gone are removed."""
    PAGE.write_text(text(record), encoding="utf-8")
    written = [PAGE]
    for old in IMAGES.glob("bench_*.png"):
        old.unlink()
    for script in record.scripts:
        for name, drawing in pictures(script, record):
            written.append(IMAGES / f"{name}.png")
            written[-1].write_bytes(png(drawing))
    return written


if __name__ == "__main__":
    there = load(COMMITTED)
    assert there is not None, (
        f"{COMMITTED.name} is not there; python -m benchmarks --write makes it"
    )
    print(*(path.relative_to(ROOT) for path in write(there)), sep="\n")
