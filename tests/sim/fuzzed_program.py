"""A random program as source text, with what it gives on the CPU; run on the device, compared."""

from __future__ import annotations

import textwrap
import warnings
from dataclasses import dataclass
from typing import Any

import torch

from pinlab import sim

OPENING = """\
import torch
from pinlab import sim

sim.install()
gpu = torch.get_device_module("sim")
main, side = gpu.current_stream(), gpu.Stream()
seen = []


def keep(*tensors):  # a stream uses them that did not allocate them
    for tensor in tensors:
        if tensor.device.type == "sim":
            tensor.record_stream(side)


def kind(error):  # a late error names the operator's own as its cause
    name = type(error.__cause__ or error).__name__
    return name.replace("NotImplementedError", "RuntimeError")  # where two things are wrong at once


def settle():  # operators may fail in turn for want of the first one's result
    try:
        gpu.synchronize()
    except Exception:
        settle()


"""
_OPENING = compile(OPENING, "<opening>", "exec")


def opened(device: str) -> dict[str, Any]:
    """The names that a program begins with."""
    names: dict[str, Any] = {"device": device}
    exec(_OPENING, names)
    return names


@dataclass
class Program:
    """Lines, and what they give on the CPU: the tensors alive at the end, and what was read."""

    lines: list[str]
    tensors: dict[str, torch.Tensor]
    seen: list[Any]

    def source(self, mode: str) -> str:
        """A whole script, which runs as it is; `mode` e.g. ``"'random', seed=3"``."""
        body = textwrap.indent("\n".join([*self.lines, "gpu.synchronize()"]), "    ")
        return f'{OPENING}device = "sim"\nwith sim.mode({mode}):\n{body}\n'

    def difference(self, mode: str) -> str:
        """Run it in one mode of the device; what differs, and the script; empty if nothing does."""
        sim.reset()
        names = opened("sim")
        try:
            exec(compile(self.source(mode).removeprefix(OPENING), "<program>", "exec"), names)
            problem = self._compared(names)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        return f"in mode {mode}, {problem}; the program:\n\n{self.source(mode)}" if problem else ""

    def _compared(self, names: dict[str, Any]) -> str:
        if repr(names["seen"]) != repr(self.seen):
            return f"it saw {names['seen']} instead of {self.seen}"
        for name, expected in self.tensors.items():
            if problem := _differ(expected, names[name]):
                return f"{name}: {problem}"
        alike = {name: tensor.untyped_storage()._cdata for name, tensor in self.tensors.items()}
        found = {name: _storage(names[name]) for name in self.tensors}
        if _groups(alike) != _groups(found):
            return f"memory is shared by {_groups(found)} instead of {_groups(alike)}"
        return ""


def _storage(tensor: Any) -> int:
    return id(tensor._memory) if tensor.device.type == "sim" else tensor.untyped_storage()._cdata


def _groups(storages: dict[str, int]) -> list[list[str]]:
    """Which names look at common memory."""
    groups: dict[int, list[str]] = {}
    for name, storage in storages.items():
        groups.setdefault(storage, []).append(name)
    return list(groups.values())


def _differ(expected: torch.Tensor, found: torch.Tensor) -> str:
    """Empty if the same: layout, bits of the header, values."""
    if _header(found) != _header(expected):
        return f"{_header(found)} instead of {_header(expected)}"
    value = found._inner if found.device.type == "sim" else found  # device memory, as it is now
    if value.dtype == torch.complex32:  # few operators know it
        value, expected = value.to(torch.complex64), expected.to(torch.complex64)
    if torch.equal(value, expected):
        return ""
    try:
        torch.testing.assert_close(value, expected, equal_nan=True)
    except AssertionError:
        return f"{value} instead of {expected}"
    return ""


def _header(tensor: torch.Tensor) -> tuple[Any, ...]:
    """Shape, dtype, where the elements lie; strides where a dimension is stepped along."""
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    place = [tensor.storage_offset(), *(step for length, step in steps if length > 1)]
    bits = tensor.is_conj(), tensor.is_neg()
    return tuple(tensor.shape), tensor.dtype, place if tensor.numel() else [], bits


def quietly(work: Any) -> Any:
    """Without torch's warnings about outputs that grow and the like."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work()
