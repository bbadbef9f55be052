"""What is kept of a run: rows, series, machine and versions, as one JSON file.

``build/bench/results.json`` is the last run; ``benchmarks/committed.json`` is the one that later
runs are held against.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.collect import Measured
from benchmarks.machine import machine, versions
from benchmarks.row import Row

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "bench" / "results.json"
COMMITTED = ROOT / "benchmarks" / "committed.json"


@dataclass
class Script:
    """What a record has of one script."""

    date: str
    commit: str
    seconds: float
    rows: list[Row] = field(default_factory=list)
    series: dict[str, Any] = field(default_factory=dict)


@dataclass
class Record:
    """A run, or several runs of different scripts on one machine."""

    machine: dict[str, str | int | float]
    versions: dict[str, str]
    scripts: dict[str, Script] = field(default_factory=dict)

    def like(self, script: str, row: Row) -> Row | None:
        """The row of that name and unit; None if it is not there."""
        there = self.scripts[script].rows if script in self.scripts else []
        return next((one for one in there if (one.name, one.unit) == (row.name, row.unit)), None)

    def save(self, path: Path) -> None:
        """Write the file, its folder too."""
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(asdict(self), indent=1, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")

    def __repr__(self) -> str:
        count = sum(len(script.rows) for script in self.scripts.values())
        return f"<Record: {len(self.scripts)} scripts, {count} rows>"


def record_of(found: Iterable[Measured]) -> Record:
    """The record of what was measured here and now; scripts that failed are left out."""
    record = Record(machine(), versions())
    today = datetime.date.today().isoformat()
    for each in found:
        if not each.failure and each.rows:
            record.scripts[each.script] = Script(
                today,
                record.versions.get("pinlab", ""),
                round(each.seconds, 1),
                [_short(row) for row in each.rows],
                each.series,
            )
    return record


def load(path: Path = COMMITTED) -> Record | None:
    """Read a record; None if there is no file.

    Raises:
        ValueError: for a file that holds none, naming it.
    """
    if not path.exists():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        scripts = {name: _script(each) for name, each in found["scripts"].items()}
        return Record(found["machine"], found["versions"], scripts)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is no record: {type(error).__name__}: {error}") from error


def joined(old: Record | None, new: Record) -> Record:
    """`new`, with the scripts of `old` that it has not.

    Raises:
        ValueError: if they come from different machines or versions: then all are to be run.
    """
    missing = {} if old is None else {k: v for k, v in old.scripts.items() if k not in new.scripts}
    if old is None or not missing:
        return new
    for what, before, now in (
        ("machine", old.machine, new.machine),
        ("versions", _packages(old), _packages(new)),
    ):
        if before != now:
            raise ValueError(f"{what} differ: {before}, here {now}; run every script to write anew")
    scripts = dict(sorted({**missing, **new.scripts}.items()))
    return Record(new.machine, new.versions, scripts)


def _packages(record: Record) -> dict[str, str]:
    return {name: text for name, text in record.versions.items() if name != "pinlab"}


def _script(found: dict[str, Any]) -> Script:
    return Script(**{**found, "rows": [Row(**row) for row in found["rows"]]})


def _short(row: Row) -> Row:
    """Four figures are more than a measurement is worth; counts stay whole."""
    value = row.value if row.kind == "exact" else float(f"{row.value:.4g}")
    return Row(**{**asdict(row), "value": value})
