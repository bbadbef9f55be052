"""Values that the device's knobs refuse: the message names them, and the device goes on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
import torch

from pinlab import sim

sim.install()


@pytest.mark.parametrize(
    ("enter", "message"),
    [
        (lambda: sim.mode(None), "mode None; known are"),  # type: ignore[arg-type]
        (lambda: sim.mode("lazy", seed=3), "seed=3: lazy mode takes order"),
        (lambda: sim.mode("eager", order="x"), "order='x': eager mode takes no options"),
        (lambda: sim.mode("random", seed="x"), "seed='x'; it must be a whole number"),
        (lambda: sim.hold(release_after="1"), "release_after='1'"),  # type: ignore[arg-type]
        (lambda: sim.hold(3), "stream=3; it must be a stream"),  # type: ignore[arg-type]
        (lambda: sim.link(latency="1"), "latency is '1'"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_value_is_named_and_nothing_is_switched(
    enter: Callable[[], AbstractContextManager[Any]], message: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=message), enter():
        pass
    assert (torch.ones(2, device="sim") * 2).tolist() == [2.0, 2.0]


def test_switches_are_true_or_false() -> None:
    with pytest.raises(TypeError, match="pinning='no'; it must be True or False"):
        sim.Platform(pinning="no")  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [1.5, 0, "2"])
def test_a_number_of_steps_is_whole_and_positive(n: Any) -> None:
    with sim.mode("lazy"), pytest.raises(ValueError, match="it must be a whole number from 1"):
        sim.step(n)


def test_a_fill_is_a_byte() -> None:
    with pytest.raises(ValueError, match="byte='x'; it must be from 0 to 255"):
        sim.fill("x")  # type: ignore[arg-type]


@pytest.mark.parametrize("non_blocking", [False, True])
def test_lists_of_copies_cross_as_single_copies_do(non_blocking: bool) -> None:
    sources = [torch.tensor([n], pin_memory=True) for n in (1, 2)]
    there = [torch.zeros(1, dtype=torch.int64, device="sim") for _ in sources]
    back = [torch.zeros(1, dtype=torch.int64, pin_memory=True) for _ in sources]
    with sim.mode("lazy"):
        torch._foreach_copy_(there, sources, non_blocking=non_blocking)
        torch._foreach_copy_(back, there, non_blocking=non_blocking)
        assert bool(sim.pending()) == non_blocking
        torch.get_device_module("sim").synchronize()
    assert [one.item() for one in (*there, *back)] == [1, 2, 1, 2]
    with pytest.raises(RuntimeError, match=r"2 targets, 1 sources|same number"):
        torch._foreach_copy_(there, sources[:1])
