"""The table that ``make bench`` prints."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.collect import Measured
from benchmarks.compare import Compared
from benchmarks.record import Record

HEAD = ("measurement", "value", "limit", "committed", "change", "")


def compared(found: Sequence[Measured], committed: Record | None) -> dict[str, list[Compared]]:
    """Each script's rows beside the committed ones."""
    return {
        each.script: [
            Compared(row, committed.like(each.script, row) if committed else None)
            for row in each.rows
        ]
        for each in found
    }


def table(found: Sequence[Measured], committed: Record | None) -> list[str]:
    """Lines in columns, a block for each script; a script that failed says so."""
    blocks = compared(found, committed)
    cells = [HEAD, *(_cells(each) for block in blocks.values() for each in block)]
    wide = [max(len(row[column]) for row in cells) for column in range(len(HEAD))]
    lines = [_line(HEAD, wide)]
    for each in found:
        lines += ["", f"{each.script} ({each.took})"]
        lines += [_line(_cells(one), wide) for one in blocks[each.script]]
        if each.failure:
            lines.append(f"  FAILED: {each.failure}")
        lines += [f"  {name}: committed, not measured" for name in lost(each, committed)]
    return lines


def lost(each: Measured, committed: Record | None) -> list[str]:
    """Committed rows of a script that it did not give this time."""
    if committed is None or each.script not in committed.scripts or not each.rows:
        return []
    here = {(row.name, row.unit) for row in each.rows}
    rows = committed.scripts[each.script].rows
    return [f"{row.name}, {row.unit}" for row in rows if (row.name, row.unit) not in here]


def _cells(each: Compared) -> tuple[str, ...]:
    before = each.before.shown if each.before and each.row.kind != "reading" else ""
    return each.row.name, each.row.shown, each.row.limit, before, each.moved, each.verdict


def _line(cells: Sequence[str], wide: Sequence[int]) -> str:
    first, *others = [cell.ljust(width) for cell, width in zip(cells, wide, strict=True)]
    return "  ".join(["", first, *others]).rstrip()


def summary(found: Sequence[Measured], committed: Record | None) -> list[str]:
    """What is to be looked at, a line each, and a closing line."""
    every = [each for block in compared(found, committed).values() for each in block]
    failed = [each for each in found if each.failure]
    over = [each for each in every if not each.row.kept]
    worse = [each for each in every if each.regressed]
    changed = [each for each in every if each.changed]
    lines = [f"failed: {each.script}: {each.failure}" for each in failed]
    lines += [f"over its limit: {each.row}" for each in over]
    lines += [f"worse by over 20 %: {each.row.name} {each.moved}" for each in worse]
    lines += [f"another count: {each.row.name} {each.moved}" for each in changed]
    seconds, cpu = sum(each.seconds for each in found), sum(each.cpu for each in found)
    lines.append(
        f"{len(every)} rows of {len(found)} scripts in {seconds:.0f} s ({cpu:.0f} s of processor): "
        f"{len(failed)} scripts failed, "
        f"{len(over)} limits exceeded, {len(worse)} ratios worse by over 20 %, "
        f"{len(changed)} counts changed"
    )
    return lines


def status(found: Sequence[Measured], committed: Record | None, strict: bool) -> int:
    """1 for a script that failed or a limit exceeded; with `strict` for what moved, too."""
    every = [each for block in compared(found, committed).values() for each in block]
    bad = any(each.failure for each in found) or any(not each.row.kept for each in every)
    moved = any(each.regressed or each.changed for each in every)
    return int(bad or (strict and moved))
