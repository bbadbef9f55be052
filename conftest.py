"""What every test run shares: one thread, headless matplotlib, seeded properties, GPU skips."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections import Counter

import pytest
from hypothesis import settings

# Before anything imports torch: sums depend on the thread count, and workers share the cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "agg")  # kernels of lessons do not inherit it
os.environ.setdefault("PINLAB_PROGRESS", "0")  # on a slow machine a bar would be an output

# jsonschema, for nbformat, builds 38 grammars of web addresses with it: two seconds a process.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # None: cannot be imported

# A shell's background job, or `nohup`, hands on that Ctrl-C is ignored; tests press it.
if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    and threading.current_thread() is threading.main_thread()
):
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples on each run, and no failure because the machine was busy.
settings.register_profile("pinlab", derandomize=True, deadline=None)
settings.load_profile("pinlab")

pytest_plugins = ["nbval.plugin", "tools.nbval_strict"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first; ``gpu`` skips, with the reason, where torch finds no CUDA device."""
    _long_files_first(items)
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import torch

    if not torch.cuda.is_available():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device; torch finds none here"))


def pytest_collection_finish() -> None:
    """What is imported by now lives as long as the process: no collection need look at it again."""
    gc.collect()
    gc.freeze()


def _long_files_first(items: list[pytest.Item]) -> None:
    """Workers take a file at a time: a long one that is taken last keeps the others waiting."""
    count = Counter(item.path for item in items)
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(
        key=lambda item: (
            item.path not in slow and item.path.suffix != ".ipynb",
            -count[item.path],
        )
    )
