"""A conformance check: a small program in device-neutral torch that must hold on every device.

Checks need neither pytest nor a particular device. Each takes the device, looks at what happened
with `expect`, and may return what it merely observed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

Program = Callable[[torch.device], dict[str, Any] | None]
RELEASE = 0.05  # seconds after which a held stream is let go, where a call may wait for it


class Mismatch(AssertionError):
    """The device did something else than the check says."""


@dataclass(frozen=True)
class Check:
    """One claim. ``claim`` is the first line of the program's docstring."""

    name: str
    group: str
    claim: str
    program: Program = field(repr=False)


@dataclass(frozen=True)
class Result:
    """What came of one check on one device."""

    check: Check
    passed: bool
    message: str
    observed: dict[str, Any]
    seconds: float


CHECKS: dict[str, Check] = {}


def check(program: Program) -> Program:
    """Register a program as a check, under its own name."""
    claim = (program.__doc__ or "").strip().splitlines()[0]
    group = program.__module__.rpartition(".")[2]
    CHECKS[program.__name__] = Check(program.__name__, group, claim, program)
    return program


def expect(condition: object, otherwise: str) -> None:
    """`Mismatch` with the text unless `condition` holds."""
    if not condition:
        raise Mismatch(otherwise)


def expect_values(tensor: torch.Tensor, wanted: list[Any], what: str) -> None:
    """`Mismatch` unless `tensor` holds these values (a device tensor is waited for)."""
    found = tensor.tolist()
    expect(found == wanted, f"{what}: expected {wanted}, found {found}")


def run(check: Check, device: torch.device) -> Result:
    """Run one check; an exception is a failed check."""
    began = time.perf_counter()
    observed: dict[str, Any] = {}
    try:
        observed = check.program(device) or {}
        torch.get_device_module(device).synchronize()
        passed, message = True, ""
    except Exception as error:
        passed, message = False, f"{type(error).__name__}: {error}"
    return Result(check, passed, message, observed, time.perf_counter() - began)


def pinned(*values: Any, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    """A pinned row."""
    return torch.tensor(values, dtype=dtype, pin_memory=True)


def zeros(device: torch.device, *shape: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    """Zeros on the device, there before the check goes on."""
    found = torch.zeros(shape, dtype=dtype, device=device)
    torch.get_device_module(device).synchronize()
    return found
