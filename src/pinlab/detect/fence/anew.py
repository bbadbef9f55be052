"""The one place where the simulated device goes on after a fork: anew, in a child of its own."""

from __future__ import annotations

import gc
import os
import sys
import threading
import warnings
from collections.abc import Callable
from typing import NoReturn

import torch

from pinlab import sim
from pinlab.sim.state import accelerator, host_memory


def fork_anew(child: Callable[[], NoReturn]) -> int:
    """Fork; run `child` there, on a device without queued work; return its process id.

    The device is brought to rest first and its lock is held across the fork, so no thread is in
    the middle of anything of the device's. Of the parent's threads only this one goes on.
    """
    sim.install()
    device = accelerator()
    torch.empty(0, device="sim").view(
        0
    )  # imports what torch loads late, once and not in each child
    sys.stdout.flush()
    sys.stderr.flush()
    with device.lock:
        if device.mode.exclusive:
            raise RuntimeError(f"fence cannot run within a {device.mode} run")
        device.quiesce()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # "this process is multi-threaded"
            lock = device.lock
            process = os.fork()
        if process == 0:
            try:
                _begin_again(lock)
                child()
            finally:
                os._exit(70)  # never back into the parent's stack
    return process


def _begin_again(lock: threading.RLock) -> None:
    """Undo `after_fork`: this child may use the device, with nothing of the parent's queued."""
    sys.settrace(None)
    gc.freeze()  # a search through the parent's objects would copy all their pages
    torch.set_num_threads(1)  # the parent's pool of threads did not come along
    device = accelerator()
    device.lock, device.changed = lock, threading.Condition(lock)
    device.forked = host_memory.forked = False
    device.waiting.clear()
    device.observers.clear()
    for stream in device.streams:
        stream.worker = stream.running = None
        stream.wake = threading.Condition(lock)
    sim.reset()
    lock.release()
