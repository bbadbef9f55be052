"""The tests of the search can fail: each rule left out certifies a racy program.

Every case takes one rule away, shows that the search now claims "one outcome" of a program that has
two, and that the real search does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from pinlab import sim
from pinlab.schedules import alternatives, explore, values

Rules = alternatives.Alternatives


@pytest.fixture
def gpu() -> Any:
    return torch.get_device_module("sim")


def nothing(self: Any, *args: Any) -> None:
    """A rule that is left out."""


def careless_and_careful(
    program: Callable[[], Any], monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, rule: Any
) -> tuple[bool, bool]:
    """Is it "deterministic", without the rule and with it?"""
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, rule)
        careless = explore(program).deterministic
    return careless, explore(program).deterministic


def test_without_the_rule_for_downloads(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def program() -> Any:
        landing = torch.zeros(1, pin_memory=True)
        landing.copy_(torch.ones(1, device="sim"), non_blocking=True)
        return landing.item()

    assert careless_and_careful(program, monkeypatch, Rules, "downloads", nothing) == (True, False)


def test_without_the_rule_for_changed_bytes(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def program() -> Any:
        row = torch.zeros(1, pin_memory=True)
        there = row.to("sim", non_blocking=True)
        row[0] = 1
        return there.item()

    assert careless_and_careful(program, monkeypatch, Rules, "look", nothing) == (True, False)


def test_when_only_the_bytes_at_the_end_are_compared(
    gpu: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def program() -> Any:
        row = torch.zeros(1, pin_memory=True)
        there = row.to("sim", non_blocking=True)
        row[0] = 1
        row[0] = 0
        return there.item()

    look = Rules.look

    def only_at_waits(self: Rules) -> None:
        if self.history.moments and self.history.moments[-1].position == (4, 0):
            look(self)

    careless = careless_and_careful(program, monkeypatch, Rules, "look", only_at_waits)
    assert careless == (True, False)


def test_without_the_rule_for_queries(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def program() -> Any:
        torch.zeros(1, pin_memory=True).to("sim", non_blocking=True)
        return gpu.current_stream().query()

    assert careless_and_careful(program, monkeypatch, Rules, "progress", nothing) == (True, False)


def test_without_the_rule_for_streams(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def program() -> Any:
        side, there = gpu.Stream(), torch.ones(1, device="sim")
        gpu.synchronize()
        there.add_(1)
        with gpu.stream(side):
            there.mul_(10)
        gpu.synchronize()
        return there.item()

    assert careless_and_careful(program, monkeypatch, Rules, "streams", nothing) == (True, False)


def test_without_the_rule_for_recycled_blocks(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def program() -> Any:
        side, there = gpu.Stream(), torch.ones(1, device="sim")
        gpu.synchronize()
        with gpu.stream(side):
            _more = there + 1
        del there
        again = torch.empty(1, device="sim")  # filled, unless the side stream still needs it
        gpu.synchronize()
        return again.item()

    assert careless_and_careful(program, monkeypatch, Rules, "filling", nothing) == (True, False)


def test_without_the_rule_for_failures(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def program() -> Any:
        there, bad = torch.ones(2, device="sim"), torch.tensor([9], device="sim")
        side = gpu.Stream()
        gpu.synchronize()
        there.index_select(0, bad)
        try:
            side.synchronize()
        except RuntimeError:
            return "early"
        return "fine"

    assert careless_and_careful(program, monkeypatch, Rules, "failure", nothing) == (True, False)


def test_without_moments_within_a_line(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def program() -> Any:
        row = torch.zeros(1, pin_memory=True)
        there = row.to("sim", non_blocking=True); row[0] = 1  # noqa: E702  # fmt: skip
        return there.item()

    def before_the_line(self: Rules) -> None:
        """Blame the line, not the moment: the upload was not queued before the line."""
        moments = self.history.moments
        inner = [moment for moment in moments if moment.position[1]]
        for moment in inner:
            moments.remove(moment)
        look(self)

    look = Rules.look
    careless = careless_and_careful(program, monkeypatch, Rules, "look", before_the_line)
    assert careless == (True, False)


def test_when_values_are_compared_with_the_equals_sign(
    gpu: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def program() -> Any:
        landing = torch.zeros(1, pin_memory=True)
        landing.copy_(torch.ones(1, device="sim"), non_blocking=True)
        return True if landing.item() else 1

    def by_equality(value: Any) -> Any:
        return value

    careless = careless_and_careful(program, monkeypatch, values, "freeze", by_equality)
    assert careless == (True, False)


def test_the_device_is_clean_after_a_careless_search() -> None:
    assert sim.pending() == []
