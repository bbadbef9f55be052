"""Operators whose result's size depends on data, or whose result is no tensor: wait and run."""

from __future__ import annotations

from typing import Any

import torch

from pinlab.sim.arguments import Arguments
from pinlab.sim.draws import seeded
from pinlab.sim.memory import new_tensor, resize
from pinlab.sim.operation import Operation
from pinlab.sim.queue import StreamQueue
from pinlab.sim.quiet import quiet
from pinlab.sim.results import flat, packed
from pinlab.sim.schema import Plan
from pinlab.sim.shapes import Layout
from pinlab.sim.state import accelerator
from pinlab.sim.streams import current_queue
from pinlab.sim.tensor import SimTensor


def immediate(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Queue the operator, wait for it, then look at what came out.

    Raises:
        Exception: the operator's own.
    """
    call = Arguments(plan, args, kwargs)
    targets = plan.written(args, kwargs)
    named = {**call.kwargs, "generator": seeded()} if plan.random else call.kwargs
    if plan.is_out:  # torch will give them the right size
        names = [name for _, name in plan.writes]
        empties = dict(zip(names, map(_empties, targets), strict=True))
        named = {**named, **empties}
    stream = current_queue()
    result = _run(plan, call, named, targets, stream)
    if plan.is_out:
        for target, made in zip(flat(targets), flat(list(empties.values())), strict=True):
            _put(target, made, stream)
    if not plan.writes:
        return _adopt(result, stream)
    parts = result if isinstance(result, tuple) else (result,)
    return packed(
        [
            _adopt(part, stream) if rank is None else targets[rank]
            for part, rank in zip(parts, plan.results, strict=False)
        ]
    )


def _run(
    plan: Plan, call: Arguments, named: dict[str, Any], targets: list[Any], stream: StreamQueue
) -> Any:
    box: list[Any] = []
    problems: list[Exception] = []

    def work() -> None:
        try:
            box.append(plan.run(*call.args, **named))
        except Exception as error:
            problems.append(error)

    written = tuple([tensor._inner for tensor in flat(targets)])
    device = accelerator()
    operation = Operation(plan.name, "kernel", stream, work, tuple(call.inner), written)
    device.submit(operation)
    device.wait([(stream, operation.seq)])
    if problems:
        raise problems[0]
    return box[0]


def _empties(target: Any) -> Any:
    if isinstance(target, (list, tuple)):
        return [_empties(part) for part in target]
    return torch.empty(0, dtype=target.dtype, device="cpu")


def _adopt(result: Any, stream: StreamQueue) -> Any:
    """Move what an operator returned into device memory."""
    if isinstance(result, (list, tuple)):
        parts = [_adopt(part, stream) for part in result]
        return parts if isinstance(result, list) else tuple(parts)
    if not isinstance(result, torch.Tensor):
        return result
    if result.layout is not torch.strided:
        raise NotImplementedError(f"the simulated device has no {result.layout} tensors")
    tensor = new_tensor(Layout.of(result), stream)
    _fill(tensor, result, stream)
    return tensor


def _put(target: SimTensor, made: torch.Tensor, stream: StreamQueue) -> None:
    if target.shape != made.shape:
        resize(target, made.shape, made.stride())
    _fill(target, made, stream)


def _fill(tensor: SimTensor, result: torch.Tensor, stream: StreamQueue) -> None:
    """At once if the stream is idle; else another thread's work may still use these bytes."""
    device, inner = accelerator(), tensor._inner
    with device.lock:
        if stream.idle:
            device.mode.filling(device, stream, (inner, 0), 0)
            with quiet():
                inner.copy_(result)
        else:
            work = lambda: inner.copy_(result)  # noqa: E731
            device.submit(Operation("aten.copy_", "kernel", stream, work, (), (inner,)))
