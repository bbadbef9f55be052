"""Tensors at the edge of what a tensor may be, through every copy and in place: the CPU is right.

Which of them are read or written late is in `tests/sim/test_copies.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from pinlab import sim

sim.install()
gpu: Any = torch.get_device_module(torch.device("sim"))

Make = Callable[[], torch.Tensor]


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    count = int(np.prod(shape))
    if dtype.is_complex:
        return torch.complex(torch.arange(1.0, count + 1), -torch.arange(count) / 2).reshape(shape)
    return torch.arange(1, count + 1).reshape(shape).to(dtype)


# name -> a base and what is made of it, so that a view is a view on either side.
SHAPES: dict[str, tuple[Make, Callable[[torch.Tensor], torch.Tensor]]] = {
    "plain": (lambda: numbers(3, 4), lambda t: t),
    "0 elements": (lambda: numbers(0), lambda t: t),
    "0 rows": (lambda: numbers(3, 4), lambda t: t[1:1]),
    "0 columns of a view": (lambda: numbers(3, 4), lambda t: t.t()[2:2]),
    "no dimension": (lambda: numbers(3, 4), lambda t: t[1, 2]),
    "a column": (lambda: numbers(3, 4), lambda t: t[:, 1]),
    "every second": (lambda: numbers(3, 4), lambda t: t[:, ::2]),
    "transposed": (lambda: numbers(3, 4), lambda t: t.t()),
    "permuted": (lambda: numbers(2, 3, 4), lambda t: t.permute(2, 0, 1)[1:3]),
    "channels last": (
        lambda: numbers(2, 3, 2, 2).to(memory_format=torch.channels_last),
        lambda t: t[:, 1:],
    ),
    "flipped": (lambda: numbers(3, 4), lambda t: t.flip(0)),  # a copy: torch has no negative steps
    "expanded": (lambda: numbers(3, 1), lambda t: t.expand(3, 4)),
    "overlapping": (lambda: numbers(8), lambda t: t.as_strided((5, 3), (1, 1), 1)),
    "a diagonal": (lambda: numbers(4, 4), lambda t: t.diagonal()),
    "bfloat16": (lambda: numbers(3, 4, dtype=torch.bfloat16), lambda t: t[:, 1:]),
    "float16": (lambda: numbers(3, 4, dtype=torch.float16), lambda t: t.t()),
    "bool": (lambda: numbers(3, 4) % 2 == 0, lambda t: t[1:]),
    "uint8": (lambda: numbers(3, 4, dtype=torch.uint8), lambda t: t[:, 3]),
    "bytes of a number": (lambda: numbers(4), lambda t: t.view(torch.uint8)[1:7]),
    "complex": (lambda: numbers(3, 4, dtype=torch.complex64), lambda t: t[:, 1:]),
    "conjugated": (lambda: numbers(3, 4, dtype=torch.complex64), lambda t: t.conj()),
    "conjugated column": (lambda: numbers(3, 4, dtype=torch.complex128), lambda t: t.mH[1]),
    "real part": (lambda: numbers(3, 4, dtype=torch.complex64), lambda t: t.real),
    "imaginary part": (lambda: numbers(3, 4, dtype=torch.complex64), lambda t: t.imag[1:]),
    "negated": (lambda: numbers(3, 4, dtype=torch.complex64), lambda t: t.conj().imag),
    "as pairs": (lambda: numbers(3, dtype=torch.complex64), torch.view_as_real),
}
CAN_BE_WRITTEN = [name for name in SHAPES if name not in ("expanded", "overlapping", "flipped")]


def on_host(make: Make, pinned: bool) -> torch.Tensor:
    base = make()
    if not pinned:
        return base.clone()
    held = torch.empty_strided(base.shape, base.stride(), dtype=base.dtype, pin_memory=True)
    return held.copy_(base)


def same(found: torch.Tensor, wanted: torch.Tensor) -> bool:
    return found.dtype == wanted.dtype and torch.equal(found.resolve_conj(), wanted.resolve_conj())


@pytest.mark.parametrize("mode", ["threaded", "lazy"])
@pytest.mark.parametrize("name", SHAPES)
def test_uploads_and_downloads_carry_it(name: str, mode: str) -> None:
    make, view = SHAPES[name]
    wanted = view(make())
    with sim.mode(mode):
        for pinned in (False, True):
            for non_blocking in (False, True):
                source = view(on_host(make, pinned))
                there = source.to("sim", non_blocking=non_blocking)
                moved = view(on_host(make, pinned).to("sim", non_blocking=non_blocking))
                gpu.synchronize()
                assert there.is_contiguous() == source.to("cpu", copy=True).is_contiguous()
                for device_side in (there, moved):  # viewed there, or before
                    back = device_side.to("cpu", non_blocking=non_blocking)
                    gpu.synchronize()
                    assert same(back, wanted), (pinned, non_blocking)
                    landing = torch.zeros(wanted.shape, dtype=wanted.dtype, pin_memory=pinned)
                    landing.copy_(device_side, non_blocking=non_blocking)
                    gpu.synchronize()
                    assert same(landing, wanted), (pinned, non_blocking)


@pytest.mark.parametrize("mode", ["threaded", "lazy"])
@pytest.mark.parametrize("name", CAN_BE_WRITTEN)
def test_it_can_be_written_on_either_side_and_its_neighbours_stay(name: str, mode: str) -> None:
    make, view = SHAPES[name]
    written = view(make())
    new = torch.full(written.shape, 3, dtype=written.dtype)
    wanted = make()
    view(wanted).copy_(new)
    with sim.mode(mode):
        for pinned in (False, True):
            for non_blocking in (False, True):
                base = on_host(make, pinned)
                view(base).copy_(new.to("sim"), non_blocking=non_blocking)
                there = make().to("sim")
                view(there).copy_(
                    new.pin_memory() if pinned else new.clone(), non_blocking=non_blocking
                )
                within = make().to("sim")
                view(within).copy_(new.to("sim"))
                gpu.synchronize()
                assert same(base, wanted)
                assert same(there.cpu(), wanted)
                assert same(within.cpu(), wanted)


IN_PLACE: dict[str, Callable[[torch.Tensor], Any]] = {
    "fill_": lambda t: t.fill_(1),
    "zero_": lambda t: t.zero_(),
    "add_": lambda t: t.add_(1),
    "mul_": lambda t: t.mul_(2),
    "copy_ of itself": lambda t: t.copy_(t),
    "index": lambda t: t[(0,) * t.dim()].fill_(1),
    "masked": lambda t: t.masked_fill_(torch.ones((), dtype=torch.bool, device=t.device), 1),
}


@pytest.mark.filterwarnings("ignore:Use of masked_fill_ on expanded")
@pytest.mark.parametrize("name", SHAPES)
def test_in_place_operators_do_what_the_cpu_does_or_refuse_what_it_refuses(name: str) -> None:
    make, view = SHAPES[name]
    for what, write in IN_PLACE.items():
        outcomes = []
        for device in ("cpu", "sim"):
            base = make().to(device)
            try:
                write(view(base))
                gpu.synchronize()
                outcomes.append(base.cpu())
            except (RuntimeError, IndexError) as error:
                outcomes.append(type(error))
        here, there = outcomes
        if isinstance(here, torch.Tensor):
            assert isinstance(there, torch.Tensor), (what, there)
            assert same(there, here), what
        else:
            assert not isinstance(there, torch.Tensor), (what, here)


def test_numpys_negative_steps_are_refused_by_torch_with_its_own_words() -> None:
    backwards = np.arange(4)[::-1]
    for make in (torch.from_numpy, torch.as_tensor):
        with pytest.raises(ValueError, match="negative"):
            make(backwards)
    there = torch.from_numpy(backwards.copy()).to("sim")
    assert there.tolist() == [3, 2, 1, 0]


def test_in_place_on_an_expanded_tensor_is_refused_with_the_cpus_words() -> None:
    for device in ("cpu", "sim"):
        target = torch.zeros(3, 1, device=device).expand(3, 4)
        with pytest.raises(RuntimeError, match="single memory location"):
            target.add_(torch.ones(3, 4, device=device))


@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize("non_blocking", [False, True])
def test_copies_onto_an_overlapping_target_are_refused_on_both_sides_of_the_link(
    pinned: bool, non_blocking: bool
) -> None:
    def overlapping(device: str) -> torch.Tensor:
        base = torch.zeros(3, 1, device=device, pin_memory=pinned and device == "cpu")
        return base.expand(3, 4)

    source = torch.ones(3, 4, pin_memory=pinned)
    for target, given in (
        (overlapping("sim"), source),
        (overlapping("cpu"), source.to("sim")),
        (overlapping("cpu"), source),
    ):
        with pytest.raises(RuntimeError, match="single memory location"):
            target.copy_(given, non_blocking=non_blocking)
        gpu.synchronize()
