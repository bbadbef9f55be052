"""Streams and events: what is ordered, and what is not.

Sources: ``c10/cuda/CUDAEvent.h`` (an event that was never recorded is complete and blocks nobody),
``c10/cuda/CUDAStream.cpp`` (pools of 32 streams, handed out in turn), and the reference of
``cudaStreamWaitEvent`` (it waits for the recording made last at the time of the call).
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from pinlab.device.conformance.check import RELEASE, check, expect, expect_values, pinned, zeros
from pinlab.device.hold import hold


@check
def one_stream_runs_in_order(device: torch.device) -> None:
    """Work of one stream runs in the order in which it was queued."""
    there = zeros(device, 3)
    for _ in range(50):
        there.add_(1).mul_(3).remainder_(101)
    wanted = 0
    for _ in range(50):
        wanted = (wanted + 1) * 3 % 101
    expect_values(there, [wanted] * 3, "on the device")


@check
def streams_do_not_wait_for_each_other(device: torch.device) -> None:
    """Without an event, a stream goes on while another is held."""
    gpu = torch.get_device_module(device)
    row, there, free = pinned(5, 7, 9), zeros(device, 3), gpu.Stream()
    with hold() as gate:
        with gpu.stream(free):
            there.copy_(row, non_blocking=True)
        free.synchronize()
        expect(not gate.released, "the other stream waited for the held one")
        row.fill_(0)
    expect_values(there, [5, 7, 9], "on the device")


@check
def an_event_never_recorded_is_complete(device: torch.device) -> None:
    """A never-recorded event is complete: query is true, waits return, streams do not stop."""
    gpu = torch.get_device_module(device)
    event, row, there, free = gpu.Event(), pinned(5, 7, 9), zeros(device, 3), gpu.Stream()
    with hold() as gate:
        expect(event.query(), "query() is false")
        event.synchronize()
        free.wait_event(event)
        with gpu.stream(free):
            there.copy_(row, non_blocking=True)
        free.synchronize()
        expect(not gate.released, "it waited for the held stream")


@check
def query_is_false_until_the_work_is_done(device: torch.device) -> None:
    """`query()` of an event and of a stream is false while the work before it is not done."""
    gpu = torch.get_device_module(device)
    row, there, event = pinned(5, 7, 9), zeros(device, 3), gpu.Event()
    stream = gpu.current_stream()
    with hold():
        there.copy_(row, non_blocking=True)
        event.record()
        expect(not event.query(), "the event is complete while the stream is held")
        expect(not stream.query(), "the stream is idle while it is held")
    event.synchronize()
    stream.synchronize()
    expect(event.query() and stream.query(), "not complete after a wait")


@check
def recording_again_does_not_change_an_earlier_wait(device: torch.device) -> None:
    """A stream that waits for an event goes on waiting for that recording."""
    gpu = torch.get_device_module(device)
    row, there, event = pinned(5, 7, 9), zeros(device, 3), gpu.Event()
    held, waiting, idle = gpu.Stream(), gpu.Stream(), gpu.Stream()
    with hold(held) as gate:
        event.record(held)
        waiting.wait_event(event)
        event.record(idle)
        event.synchronize()
        expect(event.query(), "the second recording, on an idle stream, is not complete")
        with gpu.stream(waiting):
            there.copy_(row, non_blocking=True)
        expect(not waiting.query(), "the wait moved on to the second recording")
        expect(not gate.released, "a call waited for the held stream")
        row[1] = 40
    waiting.synchronize()
    expect_values(there, [5, 40, 9], "on the device")


@check
def wait_stream_orders_two_streams(device: torch.device) -> None:
    """`wait_stream` puts later work behind what the other stream has queued now."""
    gpu = torch.get_device_module(device)
    row, there = pinned(5, 7, 9), zeros(device, 3)
    held, waiting = gpu.Stream(), gpu.Stream()
    with hold(held) as gate:
        waiting.wait_stream(held)
        with gpu.stream(waiting):
            there.copy_(row, non_blocking=True)
        expect(not waiting.query(), "the waiting stream went on")
        expect(not gate.released, "a call waited for the held stream")
        row[1] = 40
    waiting.synchronize()
    expect_values(there, [5, 40, 9], "on the device")


@check
def record_event_gives_an_event_to_wait_for(device: torch.device) -> None:
    """`record_event` returns an event, `wait_event` takes it."""
    gpu = torch.get_device_module(device)
    row, there = pinned(5, 7, 9), zeros(device, 3)
    held, waiting = gpu.Stream(), gpu.Stream()
    with hold(held):
        event = held.record_event()
        waiting.wait_event(event)
        with gpu.stream(waiting):
            there.copy_(row, non_blocking=True)
        expect(not event.query(), "the event is complete while its stream is held")
        row[1] = 40
    waiting.synchronize()
    expect(event.query(), "the event is not complete after the wait")
    expect_values(there, [5, 40, 9], "on the device")


@check
def synchronize_waits_for_every_stream(device: torch.device) -> None:
    """A device-wide wait covers streams that are not current."""
    gpu = torch.get_device_module(device)
    host, there, other = pinned(0, 0, 0), zeros(device, 3).fill_(8), gpu.Stream()
    gpu.synchronize()
    with hold(other, release_after=RELEASE) as gate:
        with gpu.stream(other):
            host.copy_(there, non_blocking=True)
        gpu.synchronize()
        expect(gate.released, "it returned while a stream was held")
        expect_values(host, [8, 8, 8], "on the host")


@check
def elapsed_time_covers_the_work_between(device: torch.device) -> None:
    """`elapsed_time` is in milliseconds and covers what ran between the two events."""
    gpu = torch.get_device_module(device)
    first, last, plain = gpu.Event(enable_timing=True), gpu.Event(enable_timing=True), gpu.Event()
    first.record()
    plain.record()
    with hold():
        last.record()
        _expect_raises(lambda: first.elapsed_time(last), "an event that is not complete")
        time.sleep(RELEASE)
    gpu.synchronize()
    elapsed = first.elapsed_time(last)
    expect(0.9e3 * RELEASE < elapsed < 30e3, f"{elapsed} ms instead of {1e3 * RELEASE} or more")
    _expect_raises(lambda: first.elapsed_time(plain), "an event without timing")
    never = gpu.Event(enable_timing=True)
    _expect_raises(lambda: first.elapsed_time(never), "an event that was never recorded")


def _expect_raises(call: Callable[[], object], what: str) -> None:
    try:
        call()
    except (RuntimeError, ValueError):
        return
    expect(False, f"elapsed_time accepted {what}")


@check
def streams_come_from_a_pool_of_32(device: torch.device) -> None:
    """The 33rd stream is the first again."""
    gpu = torch.get_device_module(device)
    streams = [gpu.Stream() for _ in range(33)]
    expect(streams[0] == streams[32], "the 33rd stream is a new one")
    expect(all(streams[0] != other for other in streams[1:32]), "the first came back before")


@check
def the_current_stream_is_put_back(device: torch.device) -> None:
    """`stream(…)` blocks nest, and each puts back the stream that was current before."""
    gpu = torch.get_device_module(device)
    outer, inner, before = gpu.Stream(), gpu.Stream(), gpu.current_stream()
    with gpu.stream(outer):
        with gpu.stream(inner):
            expect(gpu.current_stream() == inner, "the inner stream is not current")
        expect(gpu.current_stream() == outer, "the outer stream is not current again")
    expect(gpu.current_stream() == before, "the first stream is not current again")
