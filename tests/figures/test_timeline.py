"""The timeline draws what was recorded, says the same in words, and stays readable."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from matplotlib.patches import Rectangle

from pinlab import sim
from pinlab.figures.chronicle import Chronicle
from pinlab.figures.lanes import LEFT, LOOKS, RIGHT, WIDTH, Page
from pinlab.figures.style import HAZARD, Drawing
from pinlab.figures.timeline import timeline, timeline_alt, timeline_twin

Readable = Callable[[Drawing], None]


@pytest.fixture(autouse=True)
def _fresh_device() -> None:
    sim.install()
    sim.reset()


def on_device(n: int) -> torch.Tensor:
    return torch.zeros(n, dtype=torch.int64, device="sim")


def pinned(*values: int) -> torch.Tensor:
    return torch.tensor(values, pin_memory=True)


def synchronize() -> None:
    torch.get_device_module("sim").synchronize()


def race(mode: str = "lazy", pin: bool = True) -> sim.Recording:
    gpu = torch.get_device_module("sim")
    row, lens = torch.tensor([3, 5, 2], pin_memory=pin), on_device(3)
    with sim.mode(mode), sim.record(row=row) as run:
        lens.copy_(row, non_blocking=True)
        row[0] = 99
        gpu.synchronize()
    return run


def two_streams() -> sim.Recording:
    gpu = torch.get_device_module("sim")
    lens, out, there, side = pinned(3, 5), pinned(0, 0), on_device(2), gpu.Stream()
    with sim.mode("lazy"), sim.record(prompt_lens=lens, result=out) as run:
        with gpu.stream(side):
            there.copy_(lens, non_blocking=True)
        gpu.current_stream().wait_stream(side)
        doubled = there + 1
        lens[1] = 77
        out.copy_(doubled, non_blocking=True)
        synchronize()
    return run


def loop(n: int, wait: bool) -> sim.Recording:
    row, there = pinned(0, 0, 0, 0), [on_device(4) for _ in range(n)]
    with sim.mode("lazy"), sim.record(a_rather_long_name_for_a_buffer=row) as run:
        for k in range(n):
            row.fill_(k + 1)
            there[k].copy_(row, non_blocking=True)
            if wait:
                synchronize()
        synchronize()
    return run


def boxes(drawing: Drawing, colour: str) -> list[tuple[float, float]]:
    """Left and right edge of the boxes of one face colour, in inches."""
    from matplotlib.colors import to_hex

    patches = [p for p in drawing.axes[0].patches if isinstance(p, Rectangle)]
    chosen = [p for p in patches if to_hex(p.get_facecolor()) == colour.lower()]
    return [(p.get_x(), p.get_x() + p.get_width()) for p in chosen if p.get_width() > 0.25]


# -- what the picture says ------------------------------------------------------------------------


def test_a_bar_reaches_from_the_line_that_queued_to_the_end_and_its_solid_part_is_the_run() -> None:
    drawing = timeline(race())
    cell = (WIDTH - LEFT - RIGHT) / 5
    (flight,) = boxes(drawing, LOOKS["upload"].tint)
    (ran,) = boxes(drawing, LOOKS["upload"].colour)
    assert flight == pytest.approx((LEFT + 0.5 * cell, LEFT + 4 * cell))  # steps 1 to 4
    assert ran == pytest.approx((LEFT + 3 * cell, LEFT + 4 * cell))  # step 4


def test_a_write_inside_the_bar_is_crossed_out_in_colour_by_marker_and_in_words() -> None:
    drawing = timeline(race())
    crosses = [line for line in drawing.axes[0].lines if line.get_marker() == "X"]
    assert {line.get_color() for line in crosses} == {HAZARD}
    assert len(crosses) == 3  # the host's lane, the bar, the legend
    assert crosses[0].get_xdata()[0] == pytest.approx(crosses[1].get_xdata()[0])
    words = [text.get_text() for text in drawing.axes[0].texts]
    assert any(word.startswith("✗ writes row, line ") for word in words)
    assert "host access to bytes in flight" in words


@pytest.mark.parametrize("mode", ["eager", "lazy"])
def test_a_write_after_the_copy_or_beside_its_bytes_is_not_crossed_out(mode: str) -> None:
    rows, there = pinned(1, 2, 3), on_device(2)
    with sim.mode(mode), sim.record(rows=rows) as run:
        there.copy_(rows[:2], non_blocking=True)
        rows[2] = 9  # not a byte of the copy
        synchronize()
        rows[0] = 9  # after it
    drawing = timeline(run)
    assert [line for line in drawing.axes[0].lines if line.get_marker() == "X"] == []
    assert "✗" not in "".join(text.get_text() for text in drawing.axes[0].texts)
    assert drawing.alt.endswith("The host touches no bytes in flight.")


def test_the_pageable_twin_of_the_race_is_staged_and_not_crossed_out() -> None:
    twin = timeline_twin(race(pin=False))
    assert "queues copy 1: upload, 24 bytes, staged in the call" in twin[1]
    assert twin[2].split("  ")[0:2] == [" 2", " host"]
    assert "copy 1 reads the staged bytes" in twin[4]
    assert not any(" ! " in line for line in twin)


def test_lanes_that_nobody_used_are_not_drawn() -> None:
    assert [row.lane for row in Page(Chronicle(race()), False).rows] == ["copy"]
    kernel = on_device(2)
    with sim.mode("lazy"), sim.record() as run:
        kernel.add_(1)
    assert [row.lane for row in Page(Chronicle(run), False).rows] == ["compute"]
    words = {text.get_text() for text in timeline(run).axes[0].texts}
    assert "compute" in words
    assert "copy" not in words


def test_two_streams_have_lanes_each_in_order_of_the_streams() -> None:
    page = Page(Chronicle(two_streams()), False)
    assert [(row.stream, row.lane) for row in page.rows] == [
        (0, "copy"),
        (0, "compute"),
        (1, "copy"),
    ]
    assert [stream for _, stream in page.heads] == [0, 1]


def test_an_operation_that_never_ran_is_open_to_the_edge() -> None:
    row, there = pinned(1, 2), on_device(2)
    with sim.mode("lazy"), sim.hold(), sim.record(row=row) as run:
        there.copy_(row, non_blocking=True)
        row[0] = 5
    drawing = timeline(run)
    assert boxes(drawing, LOOKS["upload"].tint)[0][1] == pytest.approx(WIDTH - RIGHT)
    assert boxes(drawing, LOOKS["upload"].colour) == []


def test_on_the_time_axis_the_bars_are_where_the_clock_put_them() -> None:
    run = race()
    (op,) = run.operations
    flight = boxes(timeline(run, axis="time"), LOOKS["upload"].tint)
    total, width = run.ended - run.began, WIDTH - LEFT - RIGHT
    expected = [LEFT + (moment - run.began) / total * width for moment in (op.queued, op.ended)]
    assert flight == [pytest.approx(expected)] or expected[1] - expected[0] < 0.25


# -- words ----------------------------------------------------------------------------------------


def test_the_twin_tells_every_step_in_order_with_its_line_and_without_seconds() -> None:
    twin = timeline_twin(race())
    assert twin[0] == "timeline: 1 operation on 1 stream in 5 steps"
    told = [" ".join(line.split()) for line in twin[1:]]
    first = race.__code__.co_firstlineno + 4
    assert told == [
        "1 host queues copy 1: upload of row, 24 bytes "
        f"test_timeline.py:{first} lens.copy_(row, non_blocking=…",
        "2 ! host writes row, which copy 1 has yet to read "
        f"test_timeline.py:{first + 1} row[0] = 99",
        f"3 host waits for copy 1 test_timeline.py:{first + 2} gpu.synchronize()",
        "4 copy copy 1 reads row",
        "5 host goes on",
    ]


@pytest.mark.parametrize("make", [race, two_streams, lambda: loop(4, True)])
def test_two_runs_in_lazy_mode_give_the_same_words(make: Callable[[], sim.Recording]) -> None:
    one = make()
    sim.reset()
    two = make()
    assert timeline_twin(one) == timeline_twin(two)
    assert timeline_alt(one) == timeline_alt(two)


def test_a_read_declared_too_early_is_told_and_one_in_time_is_not() -> None:
    there, out = on_device(2) + 1, pinned(0, 0)
    with sim.mode("lazy"), sim.record() as run:
        out.copy_(there, non_blocking=True)
        run.note("out", reads=out)
        synchronize()
        run.note("out", reads=out)
    told = [mark.clash for mark in Chronicle(run).marks]
    assert told == [True, False]
    assert timeline_alt(run) == (
        "Timeline of 1 operation on 1 stream in 6 steps. The host reads out while copy 1 is in "
        "flight."
    )


def test_an_event_s_wait_names_the_work_that_it_is_for() -> None:
    row, there = pinned(1, 2), on_device(2)
    done = torch.get_device_module("sim").Event()
    with sim.mode("lazy"), sim.record(row=row) as run:
        there.copy_(row, non_blocking=True)
        done.record()
        total = there.sum()
        done.synchronize()
        row[0] = 5
        total.item()
    steps = [step.text for step in Chronicle(run).steps]
    assert "waits for copy 1" in steps
    assert steps.index("copy 1 reads row") < steps.index("writes row")
    assert "waits for kernel 2 and copy 3" in steps


def test_many_clashes_are_counted_and_not_told_one_by_one() -> None:
    run = loop(12, wait=False)
    assert timeline_alt(run).endswith("So it does 9 more times.")
    flags = [flag.text for flag in Page(Chronicle(run), False).flags]
    assert any(flag.endswith(", 11 times") for flag in flags)


def test_a_failed_operation_says_so() -> None:
    there, wrong = on_device(2), on_device(1) + 7
    with sim.mode("lazy"), sim.record() as run:
        there.index_select(0, wrong)
        with pytest.raises(sim.QueuedOperationError):
            synchronize()
    assert any(", and fails: " in step.text for step in Chronicle(run).steps)


# -- readable, and bad input ----------------------------------------------------------------------


def test_figures_of_all_sizes_stay_readable(assert_readable: Readable) -> None:
    for run in (two_streams(), loop(11, wait=False), loop(30, wait=True)):
        assert_readable(timeline(run))
    assert_readable(timeline(race(), axis="time"))


def test_holds_notes_and_queries_stay_readable(assert_readable: Readable) -> None:
    row, there, stream = pinned(1, 2), on_device(2), torch.get_device_module("sim").current_stream()
    with sim.mode("lazy"), sim.record(row=row) as run:
        with sim.hold():
            run.note("step 1: the scheduler fills the rows")
            there.copy_(row, non_blocking=True)
            run.note("step 2: it does so again")
            row[0] = 5
        sim.step()
        assert stream.query()
    assert_readable(timeline(run))
    assert [round(x, 3) for x in Page(Chronicle(run), False).reach(Chronicle(run).holds[0])]


def test_too_much_or_nothing_or_an_unknown_axis_is_an_error_that_names_the_limit() -> None:
    with sim.record() as nothing:
        pass
    with pytest.raises(ValueError, match="1 to 60 operations, got 0"):
        timeline(nothing)
    with pytest.raises(ValueError, match="1 to 60 operations, got 61"):
        timeline(loop(61, wait=True))
    with pytest.raises(ValueError, match="axis='seconds'; known are 'steps' and 'time'"):
        timeline(race(), axis="seconds")


def test_a_recording_that_still_goes_on_can_be_drawn(assert_readable: Readable) -> None:
    there = on_device(2)
    with sim.mode("lazy"), sim.record() as run:
        there.add_(1)
        assert math.isnan(run.ended)
        assert_readable(timeline(run, axis="time"))
