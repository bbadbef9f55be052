"""Operators between host and device, and those that take host tensors beside device tensors."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.sim import copies
from pinlab.sim.arguments import Arguments, mismatch
from pinlab.sim.immediate import immediate
from pinlab.sim.kernels import in_place, kernel, writing_kernel
from pinlab.sim.schema import Plan
from pinlab.sim.streams import check_device
from pinlab.sim.tensor import SimTensor

_MASKS = (torch.bool, torch.uint8)


def copy_(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``target.copy_(source)`` within the device, to it, or from it."""
    target, source, *rest = args
    non_blocking = bool(rest[0]) if rest else bool(kwargs.get("non_blocking", False))
    if isinstance(target, SimTensor) and isinstance(source, SimTensor):
        return in_place(plan, (target, source, non_blocking), {})
    if isinstance(target, SimTensor):
        return copies.upload(target, source, non_blocking)
    return copies.download(target, source, non_blocking)


def foreach_copy_(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Lists of copies: one by one where some cross, as on CUDA outside the fused route."""
    targets, sources, *rest = args
    if len(targets) != len(sources):
        raise RuntimeError(f"_foreach_copy_: {len(targets)} targets, {len(sources)} sources")
    if all(isinstance(one, SimTensor) for one in (*targets, *sources)):
        writing_kernel(plan, args, kwargs)
        return
    non_blocking = bool(rest[0]) if rest else bool(kwargs.get("non_blocking", False))
    for target, source in zip(targets, sources, strict=True):
        target.copy_(source, non_blocking)


def to_copy(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``tensor.to(…)`` where something changes: the device, the dtype or the memory format."""
    source = args[0]
    if "device" not in kwargs and len(kwargs) == 1:  # another dtype, as a rule
        return kernel(plan, args, {} if "non_blocking" in kwargs else kwargs)
    rest = {k: v for k, v in kwargs.items() if k not in ("device", "pin_memory")}
    device = kwargs.get("device")
    if device is None or device.type == "sim":
        check_device(device)
        return kernel(plan, args, {k: v for k, v in rest.items() if k != "non_blocking"})
    if device.type != "cpu":
        raise mismatch("aten._to_copy", device)
    non_blocking = bool(rest.get("non_blocking"))
    return copies.to_cpu(source, rest.get("dtype"), non_blocking, rest.get("memory_format"))


def item(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``tensor.item()``: wait for the stream, read."""
    return copies.to_cpu(args[0], None, False, None).item()


def index(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Indexing by tensors: those on the host are uploaded first, as on CUDA."""
    tensor, indices, *rest = args
    if isinstance(tensor, SimTensor):
        there = [i if type(i) is SimTensor else _brought(i) for i in indices]
        args = (tensor, there, *rest)
        if not plan.writes:
            for i in there:
                if i is not None and i.dtype in _MASKS:  # how many are chosen?
                    return immediate(plan, args, kwargs)
    return (writing_kernel if plan.writes else kernel)(plan, args, kwargs)


def _brought(index: Any) -> Any:
    return index.to("sim") if isinstance(index, torch.Tensor) else index


def pack_padded_sequence(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Lengths and batch sizes stay on the host, and sizes follow from them: no need to wait."""
    padded, lengths, batch_first = args
    if not isinstance(padded, SimTensor) or isinstance(lengths, SimTensor):
        raise mismatch(plan.name, padded.device)
    like = padded._layout.filled(0)
    _, batch_sizes = plan.run(like, lengths, batch_first)
    steps = padded.transpose(0, 1) if batch_first else padded
    rows = [steps[at, :n] for at, n in enumerate(batch_sizes.tolist())]
    return torch.cat(rows), batch_sizes


def elsewhere(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``torch.zeros_like(tensor, device="cpu")`` and its like: only the layout counts."""
    call = Arguments(plan, args, kwargs)
    on_meta, named = call.stand_ins("meta")
    return plan.func(*on_meta, **{**named, "device": kwargs["device"]})


def refuse_pinning(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``tensor.pin_memory()`` of a device tensor."""
    raise RuntimeError(f"cannot pin '{args[0].type()}' only dense CPU tensors can be pinned")


def is_pinned(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Device memory is not pinned host memory."""
    return False
