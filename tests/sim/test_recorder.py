"""What a recording says: which line wrote which bytes, who waited, what was in flight."""

from __future__ import annotations

import inspect
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from pinlab import sim
from pinlab.schedules import explore
from pinlab.sim.recorder import Recording
from pinlab.sim.state import accelerator
from tests.kernels import run_cells
from tools.nursery import run_script


@pytest.fixture(autouse=True)
def _fresh_device():
    sim.install()
    sim.reset()
    yield
    assert accelerator().observers == []


def here() -> int:
    """The line that calls this."""
    return inspect.currentframe().f_back.f_lineno


def writes(run: Recording) -> list[tuple[str, int]]:
    return [(event.label, event.place.lineno) for event in run.host if event.kind == "write"]


def pinned(*values: int) -> torch.Tensor:
    return torch.tensor(values, pin_memory=True)


def on_device(n: int) -> torch.Tensor:
    return torch.zeros(n, dtype=torch.int64, device="sim")


# -- writes ----------------------------------------------------------------------------------------


def test_a_write_is_noted_with_its_line_whatever_way_it_is_written() -> None:
    row = pinned(1, 2, 3)
    face = row.numpy()
    with sim.record(row=row) as run:
        first = here() + 1
        row[0] = 5
        face[1] = 6
        row.fill_(7)
        row.add_(0)  # changes nothing
        _ = row.sum()
        face += 1
    assert writes(run) == [("row", first + k) for k in (0, 1, 2, 5)]


def test_the_last_line_of_the_block_counts_and_the_line_after_it_does_not() -> None:
    row = pinned(1, 2)
    with sim.record(row=row) as run:
        row[0] = 5
        line = here() + 1
        row[1] = 5
    row[0] = 9
    assert writes(run) == [("row", line - 2), ("row", line)]


def test_a_write_in_a_called_function_has_the_line_of_that_function() -> None:
    row = pinned(1, 2, 3)

    def inner() -> int:
        row[0] = 10
        return 20

    body = inspect.getsourcelines(inner)[1]
    with sim.record(row=row) as run:
        line = here() + 1
        row[1] = inner()
        row[2] = sum(inner() + k for k in range(2))
    assert writes(run) == [("row", body + 1), ("row", line), ("row", line + 1)]


def test_writes_before_and_after_an_operation_on_one_line_are_told_apart() -> None:
    row, there = pinned(1, 2), on_device(2)
    with sim.mode("lazy"), sim.record(row=row) as run:
        row[0] = 5; there.copy_(row, non_blocking=True); row[1] = 6  # fmt: skip  # noqa: E702
    (copy,) = run.operations
    before, after = (event.time for event in run.host if event.kind == "write")
    assert before <= copy.queued < after
    assert [event.time for event, _ in run.clashes()] == [after]


def test_an_exception_is_passed_on_and_the_write_that_raised_it_is_noted() -> None:
    row = pinned(1, 2)
    before = sys.gettrace()

    def fail() -> None:
        row[0] = 3
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"), sim.record(row=row) as run:
        fail()
    assert writes(run) == [("row", inspect.getsourcelines(fail)[1] + 1)]
    assert sys.gettrace() is before
    assert run.ended > run.began


def test_several_buffers_a_column_and_a_numpy_array_are_watched_by_their_own_bytes() -> None:
    grid, other = torch.zeros(3, 4), np.zeros(4, dtype=np.int32)
    with sim.record(column=grid[:, 1], whole=grid, other=other) as run:
        grid[1, 0] = 1
        grid[2, 1] = 1
        other[::2] = 1
    assert [event.label for event in run.host] == ["whole", "column", "whole", "other"]
    assert [stop - start for start, stop in run.host[-1].touched] == [1, 1]


def test_a_download_into_a_watched_buffer_is_no_write_of_the_host() -> None:
    there = on_device(3) + 4
    for mode in ("lazy", "eager", "threaded"):
        out = pinned(0, 0, 0)
        with sim.mode(mode), sim.record(out=out) as run:
            out.copy_(there, non_blocking=True)
            torch.get_device_module("sim").synchronize()
            line = here() + 1
            out[2] = 5
        assert writes(run) == [("out", line)], mode
        assert out.tolist() == [4, 4, 5]


def test_a_host_write_beside_a_pending_download_is_still_a_write() -> None:
    there, out = on_device(2), pinned(7, 7, 7, 7)
    with sim.mode("lazy"), sim.record(out=out) as run:
        out[:2].copy_(there, non_blocking=True)
        out[3] = 1; torch.get_device_module("sim").synchronize()  # fmt: skip  # noqa: E702
    assert writes(run) == [("out", here() - 1)]
    assert run.clashes() == []


def test_another_thread_s_lines_are_left_alone() -> None:
    row = pinned(1, 2)
    seen = []
    with sim.record(row=row):
        thread = threading.Thread(target=lambda: seen.append(sys.gettrace()))
        thread.start()
        thread.join()
    assert seen == [None]


def test_device_memory_cannot_be_watched_and_nothing_is_left_behind() -> None:
    before = sys.gettrace()
    with pytest.raises(TypeError, match="not a tensor on sim:0"), sim.record(there=on_device(2)):
        pass
    assert sys.gettrace() is before


# -- tracers ---------------------------------------------------------------------------------------


def test_the_previous_tracer_is_called_during_the_block_and_restored() -> None:
    lines, row = [], pinned(1, 2)

    def outer(frame, event, arg):
        if frame.f_code.co_filename == __file__:
            lines.append((frame.f_code.co_name, event, frame.f_lineno))
        return outer

    def helper() -> None:
        row[0] = 3

    def body() -> None:
        with sim.record(row=row) as run:
            helper()
            row[1] = 4
        row[0] = 5
        assert len(writes(run)) == 2

    before = sys.gettrace()
    sys.settrace(outer)
    try:
        body()
        kept = sys.gettrace()
    finally:
        sys.settrace(before)
    assert kept is outer
    start = inspect.getsourcelines(body)[1]
    ran = {line - start for name, event, line in lines if name == "body" and event == "line"}
    assert ran == {1, 2, 3, 4, 5}
    assert ("helper", "line", inspect.getsourcelines(helper)[1] + 1) in lines


def test_recordings_may_be_nested() -> None:
    row = pinned(1, 2)
    before = sys.gettrace()
    with sim.record(row=row) as outside:
        row[0] = 3
        with sim.record(row=row) as inside:
            row[1] = 4
        row[0] = 5
    assert [line for _, line in writes(outside)] == [here() - k for k in (4, 2, 1)]
    assert [line for _, line in writes(inside)] == [here() - 3]
    assert sys.gettrace() is before


def test_a_program_that_records_is_explored_like_one_that_does_not() -> None:
    def program() -> list[int]:
        row, there = pinned(3, 5), on_device(2)
        there.copy_(row, non_blocking=True)
        row[0] = 7
        row[1] = 8
        return there.tolist()

    def recorded() -> list[int]:
        row, there = pinned(3, 5), on_device(2)
        with sim.record(row=row) as run:
            there.copy_(row, non_blocking=True)
            row[0] = 7
            row[1] = 8
            arrived = there.tolist()
        assert [label for label, _ in writes(run)] == ["row", "row"]
        return arrived

    both = [explore(either) for either in (program, recorded)]
    found = [sorted(outcome.value for outcome in report.outcomes) for report in both]
    assert found[0] == found[1] == [[3, 5], [7, 5], [7, 8]]
    assert all(report.complete for report in both)


PROGRAM = """\
import torch
from pinlab import sim
sim.install()
row = torch.zeros(2, pin_memory=True)

def inside():
    row[0] = 1

def after(flag):
    if flag:
        return 3
    return 4

with sim.record(row=row) as run:
    inside()
done = after(True)
assert [event.place.lineno for event in run.host] == [7], run.host
"""


def test_under_coverage_the_lines_after_the_block_are_measured(tmp_path: Path) -> None:
    pytest.importorskip("coverage")
    (tmp_path / "program.py").write_text(PROGRAM)
    code = (
        "import sys\nfrom coverage.cmdline import main\n"
        "sys.exit(main(['run', 'program.py']) or "
        "main(['report', '-m', '--include=program.py']))"
    )
    report = run_script(code, cwd=tmp_path, check=True).stdout
    missing = report.strip().splitlines()[-1].split("%")[-1] if "TOTAL" not in report else report
    assert "12" in missing  # `return 4` did not run
    assert " 11" not in missing  # `return 3` did, after the block


# -- operations, waits, clashes --------------------------------------------------------------------


def test_operations_carry_their_times_and_the_line_that_queued_them() -> None:
    row, there = pinned(1, 2), on_device(2)
    with sim.mode("lazy"), sim.record() as run:
        there.copy_(row, non_blocking=True)
        total = there.sum()
        line = here() + 1
        value = total.item()
    assert value == 3
    assert [op.name for op in run.operations] == ["upload", "aten.sum.default", "download"]
    assert [op.queued_at.lineno for op in run.operations] == [line - 3, line - 2, line]
    assert all(op.queued < op.started <= op.ended for op in run.operations)
    (wait,) = run.host
    assert (wait.kind, wait.label, wait.place.lineno) == ("wait", "stream 0", line)
    last = run.operations[-1]
    assert last.queued < wait.began < last.started < last.ended < wait.time


def test_a_query_that_says_done_is_no_wait_and_one_that_says_not_yet_is_nothing() -> None:
    row, there = pinned(1, 2), on_device(2)
    gpu = torch.get_device_module("sim")
    with sim.mode("lazy"), sim.record() as run:
        there.copy_(row, non_blocking=True)
        gpu.current_stream().query()
        sim.step()
        gpu.current_stream().query()
    assert [event.kind for event in run.host] == ["query"]


def test_holds_events_and_notes_are_recorded_with_their_times() -> None:
    gpu = torch.get_device_module("sim")
    side = gpu.Stream()
    with sim.mode("lazy"), sim.record() as run, sim.hold(side):
        side.wait_event(gpu.current_stream().record_event())
        run.note("halfway")
    assert [mark.kind for mark in run.marks] == ["hold", "record", "wait"]
    hold = run.marks[0]
    (note,) = run.host
    assert (note.kind, note.label) == ("note", "halfway")
    assert hold.queued < note.time < hold.ended < run.ended


def test_only_a_write_to_the_very_bytes_between_queueing_and_end_is_a_clash() -> None:
    rows, there = pinned(1, 2, 3, 4), on_device(2)
    gpu = torch.get_device_module("sim")
    with sim.mode("lazy"), sim.record(rows=rows) as run:
        rows[0] = 10
        there.copy_(rows[:2], non_blocking=True)
        rows[3] = 40
        line = here() + 1
        rows[1] = 20
        gpu.synchronize()
        rows[0] = 30
    assert [(event.place.lineno, op.name) for event, op in run.clashes()] == [(line, "upload")]
    assert run.buffers_of(run.operations[0]) == ["rows"]


def test_a_staged_upload_reads_nothing_later_so_a_write_is_no_clash() -> None:
    row, there = torch.tensor([1, 2]), on_device(2)
    with sim.mode("lazy"), sim.record(row=row) as run:
        there.copy_(row, non_blocking=True)
        row[0] = 9
    assert len(writes(run)) == 1
    assert run.clashes() == []
    assert there.tolist() == [1, 2]


def test_a_read_that_is_declared_clashes_with_a_download_and_not_with_an_upload() -> None:
    there, out, row = on_device(2), pinned(0, 0), pinned(1, 1)
    with sim.mode("lazy"), sim.record() as run:
        out.copy_(there, non_blocking=True)
        there.copy_(row, non_blocking=True)
        run.note("out", reads=out)
        run.note("row", reads=row)
        torch.get_device_module("sim").synchronize()
        run.note("out", reads=out)
    assert [(event.label, op.name) for event, op in run.clashes()] == [("out", "download")]


def test_in_eager_mode_the_same_write_comes_after_the_copy() -> None:
    row, there = pinned(1, 2), on_device(2)
    with sim.mode("eager"), sim.record(row=row) as run:
        there.copy_(row, non_blocking=True)
        row[0] = 9
    assert len(writes(run)) == 1
    assert run.clashes() == []


# -- in a notebook ---------------------------------------------------------------------------------

CELLS = (
    """\
import torch
from pinlab import sim
sim.install()
row = torch.zeros(2, pin_memory=True)
def helper():
    row[1] = 2
""",
    """\
with sim.record(row=row) as run:
    row[0] = 1
    helper()
print(*run.host, sep="\\n")
print(run.host[0].place.source)
""",
)


def test_in_a_notebook_the_lines_are_those_of_the_cells(tmp_path: Path) -> None:
    _, cell = run_cells(CELLS, tmp_path)
    assert cell.outputs[0].text.splitlines() == [
        "write row at In [2]:2",
        "write row at In [1]:6",
        "row[0] = 1",
    ]
