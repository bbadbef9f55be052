"""Every test here needs the simulated device; each starts with an empty one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pinlab import sim


@pytest.fixture(autouse=True)
def device() -> Iterator[str]:
    sim.install()
    yield "sim"
    sim.reset()
