"""Stopping a program in the middle, looking, and giving up the rest."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from pinlab import sim
from pinlab.schedules import Prefix, Raised, ScheduleError, Stop, explore
from pinlab.sim.state import accelerator

END: list[str] = []


def program() -> Any:
    row = torch.tensor([5, 7], pin_memory=True)
    lens = row.to("sim", non_blocking=True)
    twice = lens * 2
    row[1] = 40
    return twice.tolist()


def text(stop: Stop) -> str:
    return stop.place.source if stop.place is not None else "end"


def test_a_stop_shows_the_next_line_live_values_and_what_waits() -> None:
    def look(stop: Stop) -> Any:
        assert stop.frame is not None
        names = stop.frame.f_locals
        return text(stop), names["row"].tolist(), [w.operation.name for w in stop.waiting]

    prefix = Prefix(program)
    line, row, waiting = prefix.at("h", (3, 0), look)
    assert (line, row) == ("row[1] = 40", [5, 7])
    assert waiting == ["upload", "aten.mul.Tensor"]
    line, row, waiting = prefix.at("h3.d1", (3, 0), look)
    assert waiting == ["aten.mul.Tensor"]


def test_device_bytes_can_be_read_where_the_host_stands() -> None:
    def bytes_there(stop: Stop) -> Any:
        assert stop.frame is not None
        return stop.frame.f_locals["lens"]._inner.tolist()

    prefix = Prefix(program)
    assert prefix.at("h3.d1", (3, 0), bytes_there) == [5, 7]
    assert prefix.at("h3.d1", (3, 0), bytes_there) == [5, 7]  # no run leaves a trace
    assert prefix.at("h", (3, 0), bytes_there) != [5, 7]


def test_walking_forward_visits_each_open_position_once() -> None:
    prefix = Prefix(program)
    position, seen = (-1, 0), []
    for _ in range(20):
        position, line, over = prefix.after(
            "h", position, lambda stop: (stop.position, text(stop), stop.outcome)
        )
        seen.append(line)
        if over is not None:
            break
    assert seen[:4] == [
        "row = torch.tensor([5, 7], pin_memory=True)",
        'lens = row.to("sim", non_blocking=True)',
        "twice = lens * 2",
        "row[1] = 40",
    ]
    assert seen[-2:] == ["end", "end"]  # returned, its value read
    assert over == [10, 80]


def test_a_step_and_then_the_next_line() -> None:
    prefix = Prefix(program)
    schedule = prefix.at("h", (3, 0), lambda stop: stop.with_step(0))
    assert str(schedule) == "h3.d1"
    schedule = prefix.at(schedule, (3, 0), lambda stop: stop.with_step(0))
    assert str(schedule) == "h3.d2"
    assert prefix.end(schedule, lambda stop: stop.outcome.value) == [10, 14]  # type: ignore[union-attr]


def test_steps_are_numbered_placed_and_told_forced_from_chosen() -> None:
    steps = Prefix(program).end("h2.d1", lambda stop: stop.steps)
    device = [(s.name, s.number, s.forced, s.position) for s in steps if not s.is_host]
    assert device == [
        ("upload", 0, False, (2, 0)),
        ("aten.mul.Tensor", 1, True, (4, 1)),
        ("download", 2, True, (4, 1)),
    ]
    assert [s.place.source for s in steps if s.is_host] == [
        "row = torch.tensor([5, 7], pin_memory=True)",
        'lens = row.to("sim", non_blocking=True)',
        "twice = lens * 2",
        "row[1] = 40",
        "return twice.tolist()",
    ]
    upload = next(s for s in steps if s.name == "upload")
    assert upload.place.source == 'lens = row.to("sim", non_blocking=True)'
    assert (upload.lane, upload.kind, upload.piece, upload.pieces) == ("stream 0", "upload", 1, 1)
    assert "upload" in str(upload)
    assert str(steps[0]).startswith("host")


def test_the_schedules_of_a_report_tell_their_steps() -> None:
    report = explore(program)
    for outcome, ways in report.outcomes.items():
        names = [step.name for step in ways[0].steps_taken()]
        assert names.count("upload") == 1
        assert Prefix.of(report).end(ways[0], lambda stop: stop.outcome) == outcome
    assert report.counterexample is not None
    assert len(report.counterexample.steps_taken()) == 8


def test_torn_copies_show_their_parts() -> None:
    prefix = Prefix(program, pieces=2)

    def look(stop: Stop) -> Any:
        return [(w.operation.name, w.done, w.pieces) for w in stop.waiting]

    assert prefix.at("h2.d1", (2, 0), look) == [("upload", 1, 2)]
    steps = prefix.end("h2.d1", lambda stop: [(s.piece, s.pieces) for s in stop.steps])
    assert steps[2] == (1, 2)


def test_blocked_streams_say_why() -> None:
    gpu = torch.get_device_module("sim")

    def held() -> Any:
        side, row = gpu.Stream(), torch.tensor([5], pin_memory=True)
        with sim.hold():
            row.to("sim", non_blocking=True)
            side.wait_stream(gpu.current_stream())
            with gpu.stream(side):
                row.to("sim", non_blocking=True)
                row.to("sim", non_blocking=True)
            row[0] = 1

    stop = Prefix(held).at("h", (8, 0), lambda stop: (stop.waiting, stop.can_step))
    reasons = [waiting.blocked or "next" for waiting in stop[0]]
    assert reasons[0].startswith("it is held at test_prefix.py:")
    assert reasons[1] == "it waits for stream 0"
    assert reasons[2] == "upload comes first on stream 1"
    assert stop[1] == []
    assert "waits: it waits for stream 0" in repr(stop[0][1])


def test_the_end_of_a_program_that_raises_or_blocks() -> None:
    def raises() -> None:
        raise ValueError("row 3")

    def blocks() -> Any:
        with sim.hold():
            return torch.zeros(1, device="sim").item()

    assert Prefix(raises).end("h", lambda stop: stop.outcome) == Raised(ValueError, "row 3")
    assert "Blocked" in Prefix(blocks).end("h", lambda stop: repr(stop.outcome))


def test_a_position_beyond_the_end_is_the_end() -> None:
    stop = Prefix(program).at("h", (99, 0), lambda stop: (stop.outcome, repr(stop)))
    assert stop[0] == [10, 80]
    assert stop[1].startswith("<stop at over")


def test_giving_up_runs_the_finally_blocks_and_no_except_exception() -> None:
    def careful() -> Any:
        try:
            row = torch.tensor([5], pin_memory=True)
            row[0] = 6
        except Exception:
            END.append("except")
        finally:
            END.append("finally")
        return row

    END.clear()
    Prefix(careful).at("h", (2, 0), lambda stop: None)
    assert END == ["finally"]
    assert accelerator().pending() == []


def test_an_error_in_the_look_is_the_callers() -> None:
    def program_that_catches() -> Any:
        try:
            return torch.tensor([5], pin_memory=True).tolist()
        except ZeroDivisionError:
            return "caught"

    mode = accelerator().mode
    with pytest.raises(ZeroDivisionError):
        Prefix(program_that_catches).at("h", (1, 0), lambda stop: 1 / 0)
    assert accelerator().mode is mode


def test_a_schedule_that_does_not_fit_says_so() -> None:
    with pytest.raises(ScheduleError, match="nothing of stream 0 can run"):
        Prefix(program).at("h1.d1", (3, 0), lambda stop: None)
    with pytest.raises(ScheduleError, match="never came to host step 50"):
        Prefix(program).end("h50.d1", lambda stop: None)
