"""Programs that a careless search certifies wrongly; each is found, and checked against all runs.

`racy` states the outcomes that exist; the full search must see the same.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from pinlab import sim
from pinlab.schedules import Blocked, Outcome, Raised, explore, replay

from . import helpers_elsewhere as elsewhere

gpu: Any = None


@pytest.fixture(autouse=True)
def _device() -> None:
    global gpu
    sim.install()
    gpu = torch.get_device_module("sim")


def racy(program: Callable[[], Any], *outcomes: Any, **options: Any) -> None:
    """Both searches find exactly these outcomes, and a token of each replays it."""
    report = explore(program, **options)
    full = explore(program, full=True, max_schedules=2_000, **options)
    assert report.complete
    assert full.complete
    assert set(report.outcomes) == set(full.outcomes)
    for outcome in outcomes:
        assert outcome in report.outcomes
        token = str(report.outcomes[outcome][0])
        assert Outcome(replay(program, token, **options)) == outcome
    assert len(report.outcomes) == len(outcomes)


def pinned(*values: int) -> torch.Tensor:
    return torch.tensor(values, pin_memory=True)


def on_device(*values: int) -> torch.Tensor:
    there = torch.tensor(values, device="sim")
    gpu.synchronize()
    return there


# -- host and device ------------------------------------------------------------------------------


def test_a_download_that_is_read_early() -> None:
    def program() -> Any:
        landing = pinned(0, 0)
        landing.copy_(on_device(5, 7), non_blocking=True)
        return int(landing.sum())

    racy(program, 0, 12)


def test_a_download_that_is_submitted_and_read_in_one_line() -> None:
    def program() -> Any:
        there = on_device(5)
        return int(there.to("cpu", non_blocking=True)[0])

    racy(program, 5, -3617008641903833651)  # 0xCD in each byte: nothing has arrived


def test_a_pending_destination_that_is_returned() -> None:
    def program() -> Any:
        landing, there = pinned(0), on_device(5)
        return landing.copy_(there, non_blocking=True)

    racy(program, torch.tensor([0]), torch.tensor([5]))


def test_a_pending_destination_that_is_returned_by_a_nested_function() -> None:
    def fetch(landing: torch.Tensor, there: torch.Tensor) -> torch.Tensor:
        return landing.copy_(there, non_blocking=True)

    def program() -> Any:
        landing, there = pinned(0), on_device(5)
        return fetch(landing, there).tolist()

    racy(program, [0], [5])


def test_two_statements_on_one_line() -> None:
    def program() -> Any:
        row = pinned(5, 7)
        there = row.to("sim", non_blocking=True); row[1] = 40  # noqa: E702  # fmt: skip
        return there.tolist()

    racy(program, [5, 7], [5, 40])


def test_a_rewrite_within_the_line_that_waits_for_something_else() -> None:
    def program() -> Any:
        row, side = pinned(5), gpu.Stream()
        there = row.to("sim", non_blocking=True)
        row[0] = 6; side.synchronize(); row[0] = 7  # noqa: E702  # fmt: skip
        return there.tolist()

    racy(program, [5], [6], [7])


def test_a_rewrite_within_the_line_before_another_stream_is_waited_for() -> None:
    def program() -> Any:
        row, there, side = pinned(5), on_device(0), gpu.Stream()
        there.add_(1)
        with gpu.stream(side):
            there.copy_(row, non_blocking=True)
        row[0] = 6; gpu.default_stream().synchronize()  # noqa: E702  # fmt: skip
        side.synchronize()
        return there.tolist()

    # The copy may come between the new value and the addition that the line waits for.
    racy(program, [5], [6], [7])


def test_a_rewrite_before_a_blocking_copy_in_one_line() -> None:
    def program() -> Any:
        row, there, side = pinned(5), on_device(0), gpu.Stream()
        with gpu.stream(side):
            there.copy_(row, non_blocking=True)
        return [row.fill_(6), there.tolist()][1]

    racy(program, [0], [5], [6])


def test_an_untraced_helper_that_uploads_and_rewrites() -> None:
    def program() -> Any:
        row = pinned(5, 7)
        there = elsewhere.upload_and_rewrite(row, 40)
        return there.tolist()

    racy(program, [5, 7], [40, 7])
    racy(program, [5, 7], [40, 7], trace=[elsewhere])
    racy(program, [5, 7], [40, 7], trace=[elsewhere.upload_and_rewrite])


def test_an_untraced_helper_that_puts_the_bytes_back() -> None:
    def program() -> Any:
        row, other = pinned(5, 7), on_device(0, 0)
        there = row.to("sim", non_blocking=True)
        elsewhere.rewrite_upload_rewrite(row, other)
        return there.tolist()

    racy(program, [5, 7], [40, 7])


def test_a_nested_function_that_returns_into_the_middle_of_a_line() -> None:
    def upload(row: torch.Tensor) -> torch.Tensor:
        return row.to("sim", non_blocking=True)

    def program() -> Any:
        row = pinned(5)
        return [upload(row), row.fill_(6)][0].tolist()

    racy(program, [5], [6])


def test_a_function_that_untraced_code_calls() -> None:
    def program() -> Any:
        row = pinned(5)
        there = elsewhere.call_then_write(lambda: row.to("sim", non_blocking=True), row)
        return there.tolist()

    racy(program, [5], [60])


def test_an_untraced_helper_that_downloads_and_reads() -> None:
    def program() -> Any:
        return elsewhere.download_and_read(on_device(5)) == 5

    racy(program, True, False)


def test_the_lines_of_a_comprehension() -> None:
    def program() -> Any:
        row = pinned(0)
        there = [row.fill_(n).to("sim", non_blocking=True) for n in range(3)]
        return [int(item) for item in there]

    racy(program, [0, 1, 2], [0, 2, 2], [1, 1, 2], [1, 2, 2], [2, 2, 2])


def test_a_generator_between_two_lines() -> None:
    def rows(row: torch.Tensor) -> Any:
        for n in range(2):
            row[0] = n
            yield row.to("sim", non_blocking=True)

    def program() -> Any:
        return [int(item) for item in list(rows(pinned(9)))]

    racy(program, [0, 1], [1, 1])


def test_a_buffer_in_a_closure() -> None:
    row = pinned(5)

    def write() -> None:
        row[0] = 40

    def program() -> Any:
        there = row.to("sim", non_blocking=True)
        write()
        return there.tolist()

    racy(program, [5], [40])
    assert row.tolist() == [5]  # put back


def test_buffers_that_were_made_before_the_program() -> None:
    row, there = pinned(5, 7), on_device(1, 1)

    def program() -> Any:
        row[1] += 1  # would grow from run to run
        there.add_(row.to("sim", non_blocking=True))
        row[0] = 40
        return there.tolist()

    racy(program, [6, 9], [41, 9])
    assert (row.tolist(), there.tolist()) == ([5, 7], [1, 1])


def test_work_that_was_queued_before_the_program_is_done_before_it() -> None:
    with sim.mode("lazy"):
        there = pinned(5).to("sim", non_blocking=True)

        def program() -> Any:
            return there.tolist()

        racy(program, [5])


def test_nan_outcomes_are_equal_to_each_other_only() -> None:
    def program() -> Any:
        row = torch.tensor([1.0], pin_memory=True)
        there = row.to("sim", non_blocking=True)
        row[0] = math.nan
        return there.item()

    report = explore(program, expect=math.nan)
    assert len(report.outcomes) == 2
    assert not report.deterministic
    assert report.outcomes[math.nan]
    assert report.outcomes[1.0]


def test_nan_alone_is_one_outcome() -> None:
    def program() -> Any:
        row = torch.tensor([math.nan, 1.0], pin_memory=True)
        there = row.to("sim", non_blocking=True)
        row[1] = 2.0
        row[1] = 3.0
        return [there[0].item(), (there * math.nan).cpu()]

    assert explore(program, expect=[math.nan, torch.tensor([math.nan] * 2)]).correct


def test_a_write_that_puts_the_same_bytes_back_is_no_conflict() -> None:
    def program() -> Any:
        row = pinned(5, 7)
        there = row.to("sim", non_blocking=True)
        row[1] = 7
        return there.tolist()

    report = explore(program, expect=[5, 7])
    assert report.correct
    assert report.explored == 1


def test_bytes_that_change_and_come_back_line_by_line() -> None:
    def program() -> Any:
        row = pinned(5)
        there = row.to("sim", non_blocking=True)
        row[0] = 6
        row[0] = 5
        return there.tolist()

    racy(program, [5], [6])


def test_numpy_writes() -> None:
    def program() -> Any:
        row = pinned(5, 7)
        face = row.numpy()
        there = row.to("sim", non_blocking=True)
        np.multiply(face, 2, out=face)
        return there.tolist()

    racy(program, [5, 7], [10, 14])


def test_a_torn_copy_mixes_two_rows() -> None:
    def program() -> Any:
        row = pinned(1, 1)
        there = row.to("sim", non_blocking=True)
        row[:] = 2
        return there.tolist()

    racy(program, [1, 1], [2, 2])
    racy(program, [1, 1], [1, 2], [2, 2], pieces=2)


def test_opcodes_tear_a_line_apart() -> None:
    def program() -> Any:
        row = pinned(1)
        there = row.to("sim", non_blocking=True)
        [row.fill_(2), row.fill_(3)]
        return there.tolist()

    racy(program, [1], [3])
    racy(program, [1], [2], [3], granularity="opcode")


# -- progress that the host sees ------------------------------------------------------------------


def test_a_branch_on_a_query() -> None:
    def program() -> Any:
        row = pinned(5)
        there = row.to("sim", non_blocking=True)
        done = gpu.current_stream().record_event().query()
        if done:
            return "early"
        return there.tolist()

    racy(program, "early", [5])


def test_a_query_and_a_write_on_one_line() -> None:
    def program() -> Any:
        row = pinned(5)
        there = row.to("sim", non_blocking=True)
        event = gpu.current_stream().record_event()
        seen = event.query() or row.fill_(6)
        return seen is True, there.tolist()

    racy(program, (True, [5]), (False, [5]), (False, [6]))


def test_a_polling_loop_ends() -> None:
    def program() -> Any:
        row, polls = pinned(5), 0
        there = row.to("sim", non_blocking=True)
        event = gpu.current_stream().record_event()
        while not event.query():
            polls += 1
        return polls, there.tolist()

    report = explore(program)
    assert report.complete
    assert {outcome.value[0] for outcome in report.outcomes} == set(range(9))


def test_a_loop_that_watches_the_bytes_ends() -> None:
    def program() -> Any:
        landing, there, turns = pinned(0), on_device(5), 0
        landing.copy_(there, non_blocking=True)
        while landing[0] == 0 and turns < 3_000:
            turns += 1
        return landing.tolist()

    assert explore(program, max_schedules=20).outcomes[[5]]
    assert replay(program, "h") == [5]


def test_elapsed_time_is_an_observation() -> None:
    def program() -> Any:
        start, end = gpu.Event(enable_timing=True), gpu.Event(enable_timing=True)
        start.record()
        pinned(5).to("sim", non_blocking=True)
        end.record()
        try:
            return start.elapsed_time(end) >= 0
        except RuntimeError:
            return "too early"

    racy(program, True, "too early")


def test_a_pinned_allocation_that_may_recycle_a_block() -> None:
    def program() -> Any:
        row = torch.zeros(1024, dtype=torch.int64, pin_memory=True)
        address = row.data_ptr()
        there = row.to("sim", non_blocking=True)
        del row
        again = torch.zeros(1024, dtype=torch.int64, pin_memory=True)
        recycled = again.data_ptr() == address
        return recycled, int(there[0])

    racy(program, (True, 0), (False, 0))


# -- memory that is given back --------------------------------------------------------------------


def test_a_pinned_block_that_the_allocator_does_not_track() -> None:
    def program() -> Any:
        row = torch.full((1024,), 5, dtype=torch.int64).pin_memory()
        there = row.to("sim", non_blocking=True)
        del row
        again = torch.full((1024,), 6, dtype=torch.int64, pin_memory=True)
        return int(there[0]), int(again[0])

    racy(program, (5, 6))
    with sim.platform(sim.Platform(host_allocator_tracks=False)):
        # The fill of the new block and its first value are one step: a call into C code.
        racy(program, (5, 6), (6, 6))


def test_a_device_block_that_is_recycled_under_another_stream() -> None:
    def program(record: bool) -> Any:
        side, landing = gpu.Stream(), pinned(0)
        there = on_device(5)
        with gpu.stream(side):
            landing.copy_(there, non_blocking=True)
        if record:
            there.record_stream(side)
        del there
        again = torch.full((1,), 6, device="sim")
        gpu.synchronize()
        return landing.tolist(), again.tolist()

    racy(lambda: program(record=False), ([5], [6]), ([6], [6]))
    racy(lambda: program(record=True), ([5], [6]))


def test_a_recycled_device_block_that_nobody_writes() -> None:
    def program(reads: bool) -> Any:
        side, landing = gpu.Stream(), pinned(0)
        there = on_device(5)
        with gpu.stream(side):
            landing.copy_(there, non_blocking=True)
        del there
        again = torch.empty(1, dtype=torch.int64, device="sim")
        gpu.synchronize()
        return landing.tolist(), again.tolist() if reads else None

    fill = -3617008641903833651  # 0xCD in each byte, once nobody uses the block
    assert explore(lambda: program(reads=False), expect=([5], None)).correct
    racy(lambda: program(reads=True), ([5], [5]), ([5], [fill]))


def test_a_recycled_device_block_that_is_ordered_before_its_next_write() -> None:
    def program(ordered: bool) -> Any:
        side, main, source = gpu.Stream(), gpu.current_stream(), pinned(7)
        with gpu.stream(side):
            there = on_device(5)
        main.wait_stream(side)
        result = there + 0
        del there
        with gpu.stream(side):
            again = torch.empty(1, dtype=torch.int64, device="sim")
        if ordered:
            side.wait_stream(main)
        with gpu.stream(side):
            again.copy_(source, non_blocking=True)
        gpu.synchronize()
        return result.tolist(), again.tolist()

    assert explore(lambda: program(ordered=True), expect=([5], [7])).correct
    racy(lambda: program(ordered=False), ([5], [7]), ([7], [7]))


def test_a_recycled_device_block_that_gets_a_result_of_unknown_size() -> None:
    def program() -> Any:
        side, ones = gpu.Stream(), on_device(0, 1)
        there = on_device(5)
        with gpu.stream(side):
            more = there + 1
        del there
        where = ones.nonzero()  # waits, then writes its result into the recycled block
        gpu.synchronize()
        return more.tolist(), where.tolist()

    racy(program, ([6], [[1]]), ([2], [[1]]))


def test_a_platform_that_reads_pageable_memory_late() -> None:
    def program() -> Any:
        row = torch.tensor([5])
        there = row.to("sim", non_blocking=True)
        row[0] = 6
        return there.tolist()

    racy(program, [5])
    with sim.platform(sim.Platform(stage_pageable_uploads=False)):
        racy(program, [5], [6])


def test_a_platform_that_writes_pageable_memory_late() -> None:
    def program() -> Any:
        landing = torch.tensor([0])
        landing.copy_(on_device(5), non_blocking=True)
        return landing.tolist()

    racy(program, [5])
    with sim.platform(sim.Platform(pageable_downloads_block=False)):
        racy(program, [5], [0])


def test_streams_and_events_that_were_made_before_the_program() -> None:
    side, other, event, there = gpu.Stream(), gpu.Stream(), gpu.Event(), on_device(0)
    event.record(side)

    def program() -> Any:
        event.synchronize()
        other.synchronize()
        row = pinned(5)
        with gpu.stream(side):
            there.copy_(row, non_blocking=True)
            event.record()
        row[0] = 6
        event.synchronize()
        row[0] = 7
        return there.tolist()

    racy(program, [5], [6])


# -- several streams ------------------------------------------------------------------------------


def test_two_streams_on_one_tensor() -> None:
    def program(ordered: bool) -> Any:
        side, there = gpu.Stream(), on_device(1)
        there.add_(1)
        if ordered:
            side.wait_stream(gpu.current_stream())
        with gpu.stream(side):
            there.mul_(10)
        gpu.synchronize()
        return there.tolist()

    racy(lambda: program(ordered=False), [20], [11])
    racy(lambda: program(ordered=True), [20])


def test_three_streams_interleave_in_every_way() -> None:
    def program() -> Any:
        streams, there = [gpu.Stream() for _ in range(3)], on_device(1)
        for n, stream in enumerate(streams):
            with gpu.stream(stream):
                there.mul_(10).add_(n)
        gpu.synchronize()
        return int(there)

    expected = set()
    for order in set(itertools.permutations([0, 0, 1, 1, 2, 2])):
        value, half = 1, [False] * 3
        for n in order:
            value = value + n if half[n] else value * 10
            half[n] = True
        expected.add(value)
    report = explore(program)
    assert {outcome.value for outcome in report.outcomes} == expected


def test_an_event_on_a_stream_that_itself_waits() -> None:
    def program() -> Any:
        first, second, there = gpu.Stream(), gpu.Stream(), on_device(1)
        row = pinned(2)
        there.copy_(row, non_blocking=True)
        first.wait_stream(gpu.current_stream())
        second.wait_stream(first)  # nothing else on `first`
        with gpu.stream(second):
            there.mul_(10)
        row[0] = 3
        gpu.synchronize()
        return there.tolist()

    racy(program, [20], [30])


def test_an_event_behind_a_hold() -> None:
    def program() -> Any:
        first, second, row = gpu.Stream(), gpu.Stream(), pinned(2)
        with sim.hold(first):
            second.wait_stream(first)
            with gpu.stream(second):
                there = row.to("sim", non_blocking=True)
            row[0] = 3
        gpu.synchronize()
        return there.tolist()

    racy(program, [3])


# -- holds, waits, errors -------------------------------------------------------------------------


def test_a_held_stream_reads_what_the_host_wrote() -> None:
    def program() -> Any:
        row = pinned(5)
        with sim.hold():
            there = row.to("sim", non_blocking=True)
            row[0] = 6
        row[0] = 7
        return there.tolist()

    racy(program, [6], [7])


def test_a_hold_that_time_opens_is_no_order() -> None:
    def program() -> Any:
        row = pinned(5)
        with sim.hold(release_after=0.05):
            there = row.to("sim", non_blocking=True)
            row[0] = 6
            return there.tolist()

    racy(program, [5], [6])


def test_a_wait_inside_a_hold_is_blocked() -> None:
    def program() -> Any:
        row = pinned(5)
        with sim.hold():
            there = row.to("sim", non_blocking=True)
            return there.tolist()

    line = program.__code__.co_firstlineno + 2
    report = explore(program)
    (outcome,) = report.outcomes
    assert isinstance(outcome.value, Blocked)
    assert outcome.value.hold == f"test_traps.py:{line}"
    assert repr(outcome) == f"Blocked(by the hold at test_traps.py:{line})"


def test_a_loop_on_a_query_inside_a_hold_is_blocked() -> None:
    def program() -> Any:
        with sim.hold():
            event = pinned(5).to("sim", non_blocking=True) is not None
            event = gpu.current_stream().record_event()
            while not event.query():
                pass
        return "never"

    (outcome,) = explore(program).outcomes
    assert isinstance(outcome.value, Blocked)


def test_blocked_only_in_some_schedules() -> None:
    def program() -> Any:
        row, side = pinned(5), gpu.Stream()
        there = row.to("sim", non_blocking=True)
        with sim.hold(side):
            event = gpu.current_stream().record_event()
            if not event.query():
                with gpu.stream(side):
                    return row.to("sim").tolist()
        return there.tolist()

    report = explore(program)
    assert [5] in report.outcomes
    assert any(isinstance(outcome.value, Blocked) for outcome in report.outcomes)
    assert len(report.outcomes) == 2


def test_blocking_copies_wait() -> None:
    def program() -> Any:
        row, there = pinned(5), on_device(0)
        there.copy_(row)
        row[0] = 6
        row.copy_(there)
        return row.tolist()

    assert explore(program, expect=[5]).correct


def test_exceptions_are_outcomes() -> None:
    def program() -> Any:
        landing, there = pinned(0), on_device(5)
        landing.copy_(there, non_blocking=True)
        if landing[0] != 5:
            raise ValueError(f"row {int(landing[0])}")
        return "fine"

    # It lands before the test, between the test and the message, or after both.
    racy(program, "fine", Raised(ValueError, "row 5"), Raised(ValueError, "row 0"))


def test_a_kernel_that_raises_is_heard_of_at_the_next_wait_whichever() -> None:
    def program() -> Any:
        there, bad, side, said = on_device(1, 2), on_device(9), gpu.Stream(), []
        there.index_select(0, bad)
        for _ in range(2):
            try:
                side.synchronize()
            except RuntimeError:
                said.append("side")
        try:
            gpu.synchronize()
        except RuntimeError:
            said.append("all")
        return said

    racy(program, ["side"], ["all"])


def test_a_kernel_that_raises_and_is_not_caught() -> None:
    def program() -> Any:
        return on_device(1, 2).index_select(0, on_device(9)).tolist()

    (outcome,) = explore(program).outcomes
    assert isinstance(outcome.value, Raised)
    assert outcome.value.type.__name__ == "QueuedOperationError"
    assert "index_select" in outcome.value.message


def test_a_program_that_catches_everything_cannot_hide_a_bad_schedule() -> None:
    def program() -> Any:
        try:
            there = pinned(5).to("sim", non_blocking=True)
            return there.tolist()
        except Exception:
            return "caught"

    with pytest.raises(ValueError, match="nothing of stream 0 can run"):
        replay(program, "h1.d1")


# -- what else a program may do -------------------------------------------------------------------


def test_autograd_in_the_program() -> None:
    def program() -> Any:
        row = torch.tensor([1.0, 2.0], pin_memory=True)
        weight = torch.tensor([3.0, 4.0], device="sim", requires_grad=True)
        (weight * row.to("sim", non_blocking=True)).sum().backward()
        row[0] = 9.0
        assert weight.grad is not None
        return weight.grad.tolist()

    racy(program, [1.0, 2.0], [9.0, 2.0])


def test_a_program_cannot_reset_the_device_or_change_its_mode() -> None:
    def switches() -> Any:
        with sim.mode("eager"):
            return pinned(5).to("sim", non_blocking=True).tolist()

    for program in (sim.reset, switches):
        (outcome,) = explore(lambda program=program: program()).outcomes
        assert isinstance(outcome.value, Raised)


def test_a_program_that_replaces_the_tracer_is_refused() -> None:
    def program() -> Any:
        row = pinned(5)
        sys.settrace(None)
        there = row.to("sim", non_blocking=True)
        row[0] = 6
        return there.tolist()

    with pytest.raises(sim.SimError, match="replaced the line tracer"):
        explore(program)


def test_a_recording_in_the_program_goes_along() -> None:
    def program() -> Any:
        row = pinned(5)
        with sim.record(row=row):
            there = row.to("sim", non_blocking=True)
            row[0] = 6
        return there.tolist()

    report = explore(program)
    assert {tuple(outcome.value) for outcome in report.outcomes} == {(5,), (6,)}


def test_seeded_random_numbers() -> None:
    def program() -> Any:
        torch.manual_seed(3)
        noise = torch.rand(2, device="sim")
        host = torch.rand(2)
        row = pinned(5)
        there = row.to("sim", non_blocking=True)
        row[0] = 6
        return noise.tolist(), host, there.tolist()

    report = explore(program)
    assert len(report.outcomes) == 2


def test_a_program_with_a_context_manager_and_a_finally() -> None:
    def program() -> Any:
        row = pinned(5)
        try:
            with torch.no_grad():
                there = row.to("sim", non_blocking=True)
            row[0] = 6
        finally:
            row[0] = 7
        return there.tolist()

    racy(program, [5], [6], [7])
