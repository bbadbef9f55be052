"""Every test of the device begins and ends with an empty one."""

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
