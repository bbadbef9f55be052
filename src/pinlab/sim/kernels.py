"""Kernels: operators that are queued, and whose results' layouts are known before they ran."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from pinlab.sim.arguments import Arguments, mismatch
from pinlab.sim.draws import seeded
from pinlab.sim.immediate import immediate
from pinlab.sim.memory import new_tensor, resize
from pinlab.sim.operation import Operation
from pinlab.sim.results import check_promise, flat, new_tensors, packed, store
from pinlab.sim.schema import Plan
from pinlab.sim.shapes import UNKNOWN, Layout
from pinlab.sim.state import accelerator, shape_cache
from pinlab.sim.streams import current_queue
from pinlab.sim.tensor import SimTensor

Work = Callable[[], object]
FROM_DISPATCH = 3  # a kernel's function, `dispatch` and what called it


def kernel(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An operator that only makes new tensors: queue it, return them; their bytes come later."""
    call = Arguments(plan, args, kwargs)
    layouts = shape_cache.infer(plan, call)
    if layouts is UNKNOWN:
        return immediate(plan, args, kwargs)
    stream = current_queue()
    named = {**call.kwargs, "generator": seeded()} if plan.random else call.kwargs
    if type(layouts) is Layout:
        result: Any = new_tensor(layouts, stream)
        outputs: tuple[torch.Tensor, ...] = (result._inner,)
        work: Work = partial(_one_result, plan.run, call.args, named, result._inner)
    else:
        result = new_tensors(layouts, stream)
        outputs = tuple([tensor._inner for tensor in flat(result)])
        work = _many_results(plan.run, call.args, named, outputs)
    accelerator().submit(
        Operation(plan.name, "kernel", stream, work, tuple(call.inner), outputs), FROM_DISPATCH
    )
    return result


def in_place(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The common case of `writing_kernel`: the first argument is written, and returned."""
    target = args[0]
    if type(target) is not SimTensor:
        return writing_kernel(plan, args, kwargs)
    call = Arguments(plan, args, kwargs)
    layouts = shape_cache.infer(plan, call)
    if layouts is UNKNOWN or layouts[1] != (target._layout,):  # it must wait, or it is an error
        return writing_kernel(plan, args, kwargs)
    work = partial(plan.run, *call.args, **call.kwargs)
    written = (target._inner,)
    device, stream = accelerator(), current_queue()
    device.submit(
        Operation(plan.name, "kernel", stream, work, tuple(call.inner), written), FROM_DISPATCH
    )
    return target


def writing_kernel(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """In-place operators, ``out=`` forms, and those that write and also make new tensors."""
    targets = plan.written(args, kwargs)
    for target in plan.mutated(args, kwargs):
        if not isinstance(target, SimTensor):
            raise mismatch(plan.name, target.device)
    call = Arguments(plan, args, kwargs)
    layouts = shape_cache.infer(plan, call)
    if layouts is UNKNOWN:
        return immediate(plan, args, kwargs)
    layouts, afterwards = layouts
    if _resize_all(plan, flat(targets), flat(afterwards)):
        call = Arguments(plan, args, kwargs)
    stream = current_queue()
    parts = layouts if isinstance(layouts, tuple) else (layouts,)
    results = [
        new_tensors(layout, stream) if rank is None else targets[rank]
        for rank, layout in zip(plan.results, parts, strict=False)
    ]
    fresh = [r for r, rank in zip(results, plan.results, strict=True) if rank is None]
    made = tuple([tensor._inner for tensor in flat(fresh)])
    written = (*[tensor._inner for tensor in flat(targets)], *made)
    work = _writing(plan, call, made)
    accelerator().submit(
        Operation(plan.name, "kernel", stream, work, tuple(call.inner), written), FROM_DISPATCH
    )
    return packed(results)


def by_copy(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An ``out=`` form by way of the other one, for operators whose own does not write `out`."""
    target = kwargs["out"]
    inputs = {name: value for name, value in kwargs.items() if name != "out"}
    result = getattr(torch.ops.aten, plan.name.split(".")[1])(*args, **inputs)
    if target.shape != result.shape:
        resize(target, result.shape, result.stride())
    return target.copy_(result)


def _resize_all(plan: Plan, targets: list[SimTensor], layouts: list[Layout]) -> bool:
    """Give outputs the size that they will need; whether any had another one."""
    resized = False
    for target, layout in zip(targets, layouts, strict=True):
        if target.shape != layout.shape:
            if not plan.is_out:
                raise RuntimeError(
                    f"{plan.name} would change the shape {tuple(target.shape)} of the tensor that "
                    f"it works on to {tuple(layout.shape)}"
                )
            resize(target, layout.shape, layout.stride)
            resized = True
    return resized


# -- the work itself, done later ------------------------------------------------------------------


def _one_result(run: Any, args: Any, kwargs: Any, output: torch.Tensor) -> None:
    result = run(*args, **kwargs)
    if result.shape != output.shape or result.dtype != output.dtype:
        check_promise(result, output)
    output.copy_(result)


def _many_results(run: Any, args: Any, kwargs: Any, outputs: tuple[torch.Tensor, ...]) -> Work:
    return lambda: store(flat(run(*args, **kwargs)), outputs)


def _writing(plan: Plan, call: Arguments, made: tuple[torch.Tensor, ...]) -> Work:
    run, args, kwargs = plan.run, call.args, call.kwargs
    headers: list[tuple[torch.Tensor, torch.Tensor]] = []
    if plan.random:
        kwargs = {**kwargs, "generator": seeded()}
    if plan.is_out:
        kwargs = {**kwargs, **_own_headers(plan, kwargs, headers)}

    def work() -> None:
        result = run(*args, **kwargs)
        for header, output in headers:
            check_promise(header, output)
        if made:
            parts = result if isinstance(result, tuple) else (result,)
            kept = [p for p, rank in zip(parts, plan.results, strict=True) if rank is None]
            store(flat(kept), made)

    return work


def _own_headers(plan: Plan, kwargs: dict[str, Any], pairs: list[Any]) -> dict[str, Any]:
    """Outputs under headers of their own: torch may resize them, which must be noticed."""

    def header(output: Any) -> Any:
        if isinstance(output, list):
            return [header(part) for part in output]
        pairs.append((output.detach(), output))
        return pairs[-1][0]

    return {name: header(kwargs[name]) for _, name in plan.writes if name in kwargs}
