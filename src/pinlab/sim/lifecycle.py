"""Beginnings and ends: a reset, a fork, the interpreter's exit."""

from __future__ import annotations

import sys
import threading

from pinlab.sim import generator, streams
from pinlab.sim.accelerator import Accelerator
from pinlab.sim.errors import SimError, text_of
from pinlab.sim.modes import Mode
from pinlab.sim.state import accelerator, device_memory, host_memory

PATIENCE = 30.0  # seconds for a thread at exit: it may be in the middle of one operation


def reset() -> None:
    """Forget queued work, streams, caches, held gates and failures; seed the generator with 0.

    For tests and for the explorer. Tensors that are alive stay usable, streams and events too: a
    stream is numbered anew when it is used again, and what an event recorded counts as reached.
    A thread that waits meanwhile gets a `SimError`: what it waits for will not come.
    """
    device = accelerator()
    device.check_process()
    if device.mode.exclusive:
        raise SimError(f"reset() would spoil the {device.mode} run that is going on")
    with device.lock:
        device.resets += 1
        _drop_work(device)
        for stream in device.streams[1:]:
            stream.listed = False
            stream.wake.notify_all()  # its thread ends
        del device.streams[1:]
        device.holds.clear()
        for capture in device.captures:
            capture.abandon()
        device.captures.clear()
        device.errors.clear()
        device.changed.notify_all()
        streams.reset_pool()
        device_memory.reset()
        host_memory.reset()
        generator.manual_seed(0)


def _drop_work(device: Accelerator) -> None:
    """Empty every queue; what runs just now, on a thread of its own, is waited for."""
    while True:
        for stream in device.streams:
            stream.clear()
        if not any(stream.running for stream in device.streams):
            return
        device.wait_a_moment((device.default, device.default.submitted))


def after_fork() -> None:
    """In the child: no thread came along that could release a lock, and none that runs a queue."""
    device = accelerator()
    device.forked = host_memory.forked = True
    device.lock = threading.RLock()
    device.changed = threading.Condition(device.lock)
    device_memory.lock = host_memory.lock = threading.RLock()


def stop() -> None:
    """At exit: end the threads, drop what is queued, name the failures that nobody heard of.

    A thread that is inside torch when the interpreter goes down brings the process down with it.
    """
    device = accelerator()
    if device.forked:
        return
    device.stopping.set()
    with device.lock:
        device.changed.notify_all()
        for stream in device.streams:
            stream.wake.notify_all()
        workers = [stream.worker for stream in device.streams if stream.worker is not None]
        workers += [thread for thread in device.waiting if thread.daemon and _can_be_joined(thread)]
    for worker in workers:
        worker.join(PATIENCE)
    device.mode = Mode()  # whoever still waits, in another exit handler say, runs the work itself
    for failed in device.errors:
        print(
            f"pinlab.sim: nobody waited after {failed!r}: {text_of(failed.error)}", file=sys.stderr
        )


def _can_be_joined(thread: threading.Thread) -> bool:
    """Python did not start autograd's threads and cannot join them."""
    return not isinstance(thread, threading._DummyThread)
