"""Every torch operator on device tensors arrives here.

A *kernel* is queued and its output returned at once; a *view* is made at once, on metadata; an
operator whose output size depends on data waits for the stream and runs (`immediate`). Which of
these an operator is, its schema says; `plan` reads it once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from pinlab.sim import copies
from pinlab.sim.arguments import Arguments, collect
from pinlab.sim.generator import next_seed
from pinlab.sim.memory import empty_tensor, new_tensor
from pinlab.sim.operation import Operation
from pinlab.sim.quiet import quiet
from pinlab.sim.schema import Plan, read_schema
from pinlab.sim.shapes import Layout, NoInferenceError
from pinlab.sim.state import accelerator, shape_cache
from pinlab.sim.streams import current_queue
from pinlab.sim.tensor import SimTensor, wrap

_plans: dict[Any, tuple[Plan, Callable[..., Any]]] = {}


def dispatch(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run or queue one operator call in which at least one argument is a `SimTensor`."""
    known = _plans.get(func)
    if known is None:
        known = _plans[func] = _choose(func)
    plan, handle = known
    return handle(plan, args, kwargs)


def _choose(func: Any) -> tuple[Plan, Callable[..., Any]]:
    plan = read_schema(func)
    special = _SPECIAL.get(func.name())
    if special is not None:
        return plan, special
    if plan.composite:
        return plan, lambda plan, args, kwargs: plan.func.decompose(*args, **kwargs)
    if plan.moves_metadata:
        return plan, _move_metadata
    if plan.is_view:
        return plan, _view
    if plan.immediate:
        return plan, _immediate
    return plan, _mutate if plan.mutates else _kernel


# -- kernels ------------------------------------------------------------------------------------


def _kernel(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Queue it; return tensors of the right layout whose bytes come later."""
    given = collect(plan, args, kwargs)
    try:
        layouts = shape_cache.infer(plan.func, given.key, given.meta_args, given.meta_kwargs)
    except NoInferenceError:
        return _immediate(plan, args, kwargs)
    stream = given.stream or current_queue()
    if type(layouts) is Layout:
        result: Any = new_tensor(layouts, stream)
        outputs: tuple[torch.Tensor, ...] = (result._inner,)
    else:
        result = _new_tensors(layouts, stream)
        outputs = tuple(t._inner for t in _flat(result))
    _queue(plan, given, stream, outputs)
    return result


def _queue(plan: Plan, given: Arguments, stream: Any, outputs: tuple[torch.Tensor, ...]) -> None:
    func, args, kwargs = plan.func, given.args, given.kwargs
    if plan.random:
        kwargs = {**kwargs, "generator": torch.Generator().manual_seed(next_seed())}

    def work() -> None:
        _store(func(*args, **kwargs), outputs)

    operation = Operation(plan.name, "kernel", stream, work, given.inner, outputs)
    accelerator().submit(operation)


def _store(result: Any, outputs: tuple[torch.Tensor, ...]) -> None:
    if isinstance(result, torch.Tensor):
        result = (result,)
    found = [tensor for tensor in _flat(result) if tensor is not None]
    for tensor, output in zip(found, outputs, strict=True):
        if tensor.shape != output.shape or tensor.dtype != output.dtype:
            raise RuntimeError(
                f"expected a result of {tuple(output.shape)} {output.dtype}, "
                f"got {tuple(tensor.shape)} {tensor.dtype}"
            )
        output.copy_(tensor)


def _mutate(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """In-place operators and ``out=`` forms: queue them, return the changed arguments."""
    given = collect(plan, args, kwargs)
    targets = plan.mutated(args, kwargs)
    for target in targets:
        if not isinstance(target, SimTensor):
            raise copies.mismatch(plan.name, target.device)
    try:
        layouts = shape_cache.infer(plan.func, given.key, given.meta_args, given.meta_kwargs)
    except NoInferenceError:
        return _immediate(plan, args, kwargs)
    if plan.is_out and _resize_outputs(targets, layouts):
        given = collect(plan, args, kwargs)
    func, inner_args, inner_kwargs = plan.func, given.args, given.kwargs
    if plan.random:
        seeded = torch.Generator().manual_seed(next_seed())
        inner_kwargs = {**inner_kwargs, "generator": seeded}

    def work() -> None:
        func(*inner_args, **inner_kwargs)

    written = tuple(target._inner for target in targets)
    stream = given.stream or current_queue()
    accelerator().submit(Operation(plan.name, "kernel", stream, work, given.inner, written))
    return plan.returned(args, kwargs, targets)


def _resize_outputs(targets: list[Any], layouts: Any) -> bool:
    wanted = [layouts] if type(layouts) is Layout else [x for x in _flat(layouts) if x is not None]
    resized = False
    for target, layout in zip(targets, wanted, strict=True):
        if target.shape != layout.shape:
            target.data = empty_tensor(Layout.get(layout.shape, layout.stride, target.dtype))
            resized = True
    return resized


# -- the rest -----------------------------------------------------------------------------------


def _view(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = collect(plan, args, kwargs)
    base = given.tensors[0]
    result = plan.func(*given.args, **given.kwargs)
    if isinstance(result, torch.Tensor):
        return wrap(result, Layout.of(result), base._memory)
    return type(result)(wrap(part, Layout.of(part), base._memory) for part in result)


def _move_metadata(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """In-place changes of a layout (`t_`, `squeeze_`, …): same bytes, another wrapper inside."""
    given = collect(plan, args, kwargs)
    tensor = given.tensors[0]
    inner = tensor._inner.as_strided(tensor.shape, tensor.stride())
    plan.func(inner, *given.args[1:], **given.kwargs)
    tensor.data = wrap(inner, Layout.of(inner), tensor._memory)
    return tensor


def _immediate(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Queue it, wait for it, then look at what came out."""
    given = collect(plan, args, kwargs)
    stream = given.stream or current_queue()
    box: list[Any] = []
    problems: list[Exception] = []

    def work() -> None:
        try:
            if plan.random and not plan.takes_generator:
                with torch.random.fork_rng(devices=[]):
                    torch.default_generator.manual_seed(seed)
                    box.append(plan.func(*given.args, **given.kwargs))
            else:
                box.append(plan.func(*given.args, **given.kwargs))
        except Exception as error:
            problems.append(error)

    seed = next_seed() if plan.random else 0
    if plan.random and plan.takes_generator:
        given.kwargs = {**given.kwargs, "generator": torch.Generator().manual_seed(seed)}
    written = tuple(t._inner for t in plan.mutated(args, kwargs) if isinstance(t, SimTensor))
    device = accelerator()
    operation = device.submit(Operation(plan.name, "kernel", stream, work, given.inner, written))
    device.wait([(stream, operation.seq)])
    if problems:
        raise problems[0]
    if plan.mutates:
        return plan.returned(args, kwargs, plan.mutated(args, kwargs))
    return _adopt(box[0], given, stream)


def _adopt(result: Any, given: Arguments, stream: Any) -> Any:
    """Move what an immediate operator returned into device memory."""
    if isinstance(result, (list, tuple)):
        parts = [_adopt(part, given, stream) for part in result]
        return type(result)(parts) if type(result) in (list, tuple) else tuple(parts)
    if not isinstance(result, torch.Tensor):
        return result
    if result.layout is not torch.strided:
        raise NotImplementedError(f"the simulated device has no {result.layout} tensors")
    tensor = new_tensor(Layout.of(result), stream)
    with quiet():
        tensor._inner.copy_(result)
    return tensor


def _new_tensors(layouts: Any, stream: Any) -> Any:
    if layouts is None:
        return None
    if type(layouts) is Layout:
        return new_tensor(layouts, stream)
    return tuple(_new_tensors(part, stream) for part in layouts)


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in _flat(part)]
    return [] if value is None else [value]


# -- operators with a rule of their own ---------------------------------------------------------


def _copy_(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    target, source, *rest = args
    non_blocking = bool(rest[0]) if rest else bool(kwargs.get("non_blocking", False))
    if isinstance(target, SimTensor) and isinstance(source, SimTensor):
        return _mutate(plan, (target, source, non_blocking), {})
    if isinstance(target, SimTensor):
        return copies.upload(target, source, non_blocking)
    return copies.download(target, source, non_blocking)


def _to_copy(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    source = args[0]
    device = torch.device(kwargs.pop("device", None) or "sim")
    kwargs.pop("pin_memory", None)
    if device.type == "sim":
        return _kernel(plan, args, {k: v for k, v in kwargs.items() if k != "non_blocking"})
    if device.type != "cpu":
        raise copies.mismatch("aten._to_copy", device)
    return copies.to_cpu(
        source, kwargs.get("dtype"), bool(kwargs.get("non_blocking")), kwargs.get("memory_format")
    )


def _item(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return copies.to_cpu(args[0], None, False, None).item()


def _pin(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    raise RuntimeError("cannot pin a tensor on sim:0: only dense CPU tensors can be pinned")


_SPECIAL: dict[str, Callable[..., Any]] = {
    "aten::_pin_memory": _pin,
    "aten::copy_": _copy_,
    "aten::_to_copy": _to_copy,
    "aten::_local_scalar_dense": _item,
}
SimTensor.handler = staticmethod(dispatch)
