"""What every test run shares: one thread, headless matplotlib, seeded properties, GPU skips."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# Before anything imports torch: sums depend on the thread count, and workers share the cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "agg")  # kernels of lessons do not inherit it
os.environ.setdefault("PINLAB_PROGRESS", "0")  # on a slow machine a bar would be an output

# The same examples on each run, and no failure because the machine was busy.
settings.register_profile("pinlab", derandomize=True, deadline=None)
settings.load_profile("pinlab")

pytest_plugins = ["tools.nbval_strict"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests marked ``gpu``, with the reason, where torch finds no CUDA device."""
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import torch

    if not torch.cuda.is_available():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device; torch finds none here"))
