"""What the tests of `hazards()` share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pinlab import sim


@pytest.fixture(params=["eager", "lazy", "threaded"])
def each_mode(request: pytest.FixtureRequest) -> Iterator[None]:
    """The test runs in each mode of the device, from a fresh start."""
    sim.reset()
    with sim.mode(request.param):
        yield
