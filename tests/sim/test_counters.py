"""The operating system's counters, against what is asked of the operating system."""

from __future__ import annotations

import mmap
import sys
from pathlib import Path

import pytest
import torch

from pinlab import sim
from pinlab.sim import counters
from pinlab.sim.counters import Reading, is_locked, lock_limit, locked_bytes, minor_faults
from pinlab.sim.pinned import PinnedBlock
from pinlab.sim.state import host_memory

MiB = 1 << 20
linux = pytest.mark.skipif(sys.platform != "linux", reason="VmLck is Linux's")


@pytest.fixture(autouse=True)
def _device() -> None:
    sim.install()


def test_a_difference_of_readings_has_a_value_only_if_both_have_one() -> None:
    assert Reading(9, "bytes") - Reading(4, "bytes") == Reading(5, "bytes")
    unknown = Reading(None, "bytes", "because")
    assert (unknown - Reading(4, "bytes")).value is None
    assert (Reading(4, "bytes") - unknown).reason == "because"
    with pytest.raises(ValueError, match="page faults from bytes"):
        Reading(9, "bytes") - Reading(4, "page faults")


def test_a_reading_is_written_as_a_number_with_its_unit_or_as_the_reason() -> None:
    assert str(Reading(1234567, "bytes")) == "1,234,567 bytes"
    assert repr(Reading(None, "bytes", "no /proc")) == "not readable (no /proc)"


def blocks() -> list[PinnedBlock]:
    """Every block that the allocator has ever made."""
    return host_memory.known[1]


@linux
def test_locked_bytes_move_by_the_block_of_a_new_pinned_tensor_and_not_by_its_clone() -> None:
    before = locked_bytes()
    kept = [torch.zeros(3 * MiB // 4, dtype=torch.uint8, pin_memory=True) for _ in range(2)]
    moved = locked_bytes() - before
    holding = {host_memory.find(t.data_ptr()) for t in kept}
    # A block may come from the cache, locked before; a new one is a power of two in size.
    assert moved.value in ([0, MiB, 2 * MiB] if is_locked(kept[0]) else [0])
    assert {b.pages.size for b in holding if b is not None} == {MiB}
    after = locked_bytes()
    copies = [t.clone() for t in kept]
    assert (locked_bytes() - after).value == 0
    assert not any(is_locked(c) for c in copies)


@linux
def test_locked_bytes_agree_with_the_allocators_own_account() -> None:
    before, known = locked_bytes(), sum(b.pages.size for b in blocks() if b.pages.locked)
    fresh = torch.empty(2 * MiB, dtype=torch.uint8, pin_memory=True)
    now = sum(b.pages.size for b in blocks() if b.pages.locked)
    assert (locked_bytes() - before).value == now - known
    del fresh


@linux
def test_touching_fresh_pages_counts_as_minor_faults() -> None:
    pages = 64
    mapping = mmap.mmap(-1, pages * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        mapping.madvise(mmap.MADV_NOHUGEPAGE)
    before = minor_faults()
    for page in range(pages):
        mapping[page * mmap.PAGESIZE] = 1
    faults = (minor_faults() - before).value
    assert faults is not None
    assert faults >= pages
    before = minor_faults()
    for page in range(pages):
        mapping[page * mmap.PAGESIZE] = 2
    again = (minor_faults() - before).value
    assert again is not None
    assert again < pages


def test_a_view_of_locked_memory_is_locked_and_ordinary_memory_is_not() -> None:
    row = torch.arange(8, pin_memory=True)
    block = host_memory.find(row.data_ptr())
    assert block is not None
    assert is_locked(row) == is_locked(row[3:]) == block.pages.locked
    assert not is_locked(torch.arange(8))
    assert not is_locked(torch.zeros(2, device="sim"))


def test_a_refused_lock_is_told_apart_from_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pinlab.sim.pages.lock_pages", lambda address, size: False)
    size = 1 + max((b.pages.size for b in blocks()), default=MiB)
    before = locked_bytes()
    row = torch.empty(size, dtype=torch.uint8, pin_memory=True)  # larger than any cached block
    assert row.is_pinned()
    assert not is_locked(row)
    assert (locked_bytes() - before).value in (0, None)


def test_without_proc_the_reading_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(counters, "STATUS", tmp_path / "status")
    monkeypatch.setattr(counters, "COMPACTION", tmp_path / "compact")
    reading = locked_bytes()
    assert reading.value is None
    assert sys.platform in reading.reason
    assert "No such file" in reading.reason
    assert counters.locked_pages_may_move() is None


def test_a_status_file_without_the_line_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "status").write_text("VmRSS:\t 12 kB\n")
    monkeypatch.setattr(counters, "STATUS", tmp_path / "status")
    assert "no VmLck" in locked_bytes().reason
    (tmp_path / "status").write_text("VmRSS:\t 12 kB\nVmLck:\t 40 kB\n")
    assert locked_bytes() == Reading(40960, "bytes")


@pytest.mark.parametrize(("text", "known"), [("1\n", True), ("0\n", False)])
def test_whether_locked_pages_may_move_is_read_from_the_kernels_setting(
    text: str, known: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "compact").write_text(text)
    monkeypatch.setattr(counters, "COMPACTION", tmp_path / "compact")
    assert counters.locked_pages_may_move() is known


def test_without_the_resource_module_limit_and_faults_have_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "resource", None)
    assert "no such limit" in lock_limit().reason
    assert "not counted" in minor_faults().reason


@linux
def test_the_limit_is_the_one_that_the_process_runs_under() -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    try:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, hard))
        assert lock_limit() == Reading(0, "bytes")
    finally:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (soft, hard))
