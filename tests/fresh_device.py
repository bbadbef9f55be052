"""A device with nothing on it, before and after each test of a folder that asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pinlab import sim


@pytest.fixture(autouse=True)
def fresh_device() -> Iterator[None]:
    """Nothing queued, no streams but the default one, no failure that nobody heard of."""
    sim.install()
    sim.reset()
    sim.fill()
    yield
    sim.reset()
    sim.fill()
