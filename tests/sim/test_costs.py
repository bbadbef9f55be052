"""Measuring what host memory costs."""

from __future__ import annotations

import mmap
import sys
import types

import pytest

from pinlab.sim import costs
from pinlab.sim.costs import Cost, measure
from pinlab.sim.counters import Reading


def test_every_go_is_kept_until_the_last_is_over_or_dropped_at_once() -> None:
    alive: list[int] = []

    class Memory:
        count = 0

        def __init__(self) -> None:
            Memory.count += 1
            alive.append(Memory.count)

        def __del__(self) -> None:
            Memory.count -= 1

    measure("kept", 1, Memory, repeats=3)
    assert alive == [1, 2, 3]
    measure("dropped", 1, Memory, repeats=3, keep=False)
    assert alive[3:] == [1, 1, 1]


def test_the_time_is_the_shortest_and_the_faults_are_the_median(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter([0.0, 1.0, 10.0, 12.0, 20.0, 29.0])
    faults = iter([0, 5, 10, 17, 20, 120])
    now = types.SimpleNamespace(perf_counter=lambda: next(clock))
    monkeypatch.setattr(costs, "time", now)
    monkeypatch.setattr(costs, "minor_faults", lambda: Reading(next(faults), "page faults"))
    assert measure("w", 64, lambda: None, repeats=3) == Cost("w", 64, 1.0, 7)


def test_where_faults_are_not_counted_there_is_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "minor_faults", lambda: Reading(None, "page faults", "no"))
    cost = measure("w", 64, lambda: None)
    assert cost.faults is None
    assert "faults not counted" in repr(cost)


@pytest.mark.skipif(sys.platform != "linux", reason="page faults are counted differently elsewhere")
def test_fresh_pages_fault_once_each_at_the_first_write_and_not_at_the_second() -> None:
    pages = 64
    size = pages * mmap.PAGESIZE

    def touch(mapping: mmap.mmap) -> mmap.mmap:
        for page in range(pages):
            mapping[page * mmap.PAGESIZE] = 1
        return mapping

    def fresh() -> mmap.mmap:
        mapping = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        mapping.madvise(mmap.MADV_NOHUGEPAGE)
        return touch(mapping)

    first, written = measure("first", size, fresh), fresh()
    second = measure("second", size, lambda: touch(written))
    assert first.faults is not None
    assert second.faults is not None
    assert first.faults >= pages > second.faults
    assert repr(first).startswith("<first, 262,144 bytes: ") or mmap.PAGESIZE != 4096


@pytest.mark.parametrize(("nbytes", "repeats", "said"), [(1, 0, "repeats=0"), (-1, 1, "nbytes=-1")])
def test_a_senseless_request_is_refused(nbytes: int, repeats: int, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        measure("w", nbytes, lambda: None, repeats=repeats)
