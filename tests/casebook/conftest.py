"""Every test of the casebook begins with an empty device and shows no progress bar."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pinlab import sim


@pytest.fixture(autouse=True)
def fresh_device(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing queued, no streams but the default one, no failure that nobody heard of."""
    monkeypatch.setenv("PINLAB_PROGRESS", "0")
    sim.install()
    sim.reset()
    sim.fill()
    yield
    sim.reset()
