"""docs/hazards.md and docs/fence.md: the first example runs, every row of a table has its test."""

from __future__ import annotations

import contextlib
import io
import linecache
import re
from pathlib import Path

import pytest

from pinlab import sim

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests" / "detect"

# Page and heading -> how a row begins, and the tests that hold it.
ROWS = {
    ("hazards", "What is seen"): {
        "torch writes to the source": "torch_write_to_an_uploads torch_write_of_equal_values",
        "numpy, a `memoryview`": "numpy_write_is_seen_between write_through_another_view",
        "a write to neighbouring": "write_beside_the_bytes",
        "torch reads the destination": "download_read_early_by_tolist download_pickled_or_saved",
        "numpy reads it through": "download_read_early_through_a_numpy_face",
        "a view, a slice": "a_view_of_a_downloads_destination a_question_about_a_downloads",
        "the host writes into": "host_write_to_a_downloads_destination",
        "a pinned block is dropped": "pinned_memory_freed_and_reused a_slice_that_the_allocator",
        "two streams touch": "two_streams_without_an_event host_memory_handed_from_one_stream",
        "a device block": "device_block_reused",
        "within a capture": "an_edit_of_a_captured_source_within_the_capture",
        "the host refills": "refilling_between_replays_is_fine",
        "a graph is replayed": "a_source_dropped_within_the_capture_or_before_the_replay",
    },
    ("hazards", "What is not seen"): {
        "numpy reads the destination": "numpy_read_through_a_face_made_before",
        "a `memoryview`": "a_read_through_a_memoryview",
        "numpy writes values equal": "numpy_write_of_equal_values",
        "C code": "c_code_that_reads",
        "another Python thread": "another_threads_write",
        "a write that is undone": "a_write_that_is_undone",
    },
    ("fence", "What is seen"): {
        "torch, numpy or a": "writes_to_an_uploads_source buffers_from_before",
        "C code or a system call": "c_code_and_system_calls",
        "numpy reads the destination": "numpy_reads_of_a_pending_destination",
        "a line touches a neighbour": "a_hit_after_misses",
        "reads and writes of": "reads_beside_a_pending many_writes_to_the_neighbouring_row",
        "the host writes into": "host_writes_to_a_destination",
        "another Python thread": "another_python_threads_write",
        "memory that a kernel": "buffers_from_before_and_kernels",
        "a block is handed out": "a_block_handed_out_while_an_unknown_copy",
        "accesses after a wait": "waits_events_and_true_queries a_block_that_the_allocator",
    },
}


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def rows(text: str, heading: str) -> list[str]:
    """First cells of the first table under a heading."""
    section = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [line.split("|")[1].strip() for line in lines[2:]]


@pytest.mark.parametrize(("name", "heading"), ROWS)
def test_every_row_of_a_table_has_a_test(name: str, heading: str) -> None:
    known = ROWS[name, heading]
    written = rows(page(name), heading)
    unknown = [row for row in written if not any(row.startswith(start) for start in known)]
    assert not unknown, "write a test for the row and name it in ROWS"
    assert len(written) == len(known)
    folder = TESTS / name
    source = "".join(path.read_text(encoding="utf-8") for path in folder.glob("test_*.py"))
    for tests in known.values():
        for test in tests.split():
            assert f"def test_{test}" in source, test


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("hazards", ["write to an upload's source: row (int64[3], 24 bytes)", "[1] = 40"]),
        ("fence", ["1 hazard in", "the operation's bytes: ", "same page, other bytes: "]),
    ],
)
def test_the_first_example_runs_and_prints_what_the_page_says(name: str, shown: list[str]) -> None:
    found = re.search(r"```python\n(.*?)```", page(name), re.DOTALL)
    assert found
    sim.install()
    sim.reset()
    file, code = f"<example of {name}.md>", found[1]
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, file, "exec"), {"__name__": "example"})
    for text in shown:
        assert text in output.getvalue()
